/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of detached actors (own_thread.h). */
#pragma once

#include <sched.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/engine/base/atomic.h"

/* A thread of its own for one actor at a time (own_thread.h). */
struct detached {
    _Atomic uint32_t taken;      /* 0: free, else the actor's type */
    _Atomic uint32_t has_thread; /* claimed by whoever holds `taken`, or engine_start */
    /* futex of the thread: 1 while it sleeps, or is about to */
    alignas(64) _Atomic uint32_t asleep;
    bool ended; /* the thread: its actor has ended */
};

/* Of the engine. */
struct own_threads {
    struct detached *slots; /* [detached_max] */
    /* what they do: own_thread_main(), set when the engine is opened */
    void *(*main)(void *);
    cpu_set_t allowed; /* where the process may run: these threads are made by bound ones */
};
