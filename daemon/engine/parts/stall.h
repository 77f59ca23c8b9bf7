/* SPDX-License-Identifier: Apache-2.0 */
/* Looking after handlers that do not return: the timers, and what was last seen (stall.h, help.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/engine/base/atomic.h"
#include "daemon/engine/engine.h"

/* How much slower than a machine an instrument runs the engine, for counting under it. */
#ifndef PACE_SLOWDOWN
#define PACE_SLOWDOWN 1
#endif

enum {
    STALL_LOOK_NS = PACE_SLOWDOWN * 1500 * 1000, /* from a worker's look at its clock to ours */
    STALL_NEAR_NS = STALL_LOOK_NS / 8,           /* so little before it is due a look counts */
    STALL_AGAIN_NS = STALL_LOOK_NS / 6,          /* behind one that could not do what is to be */
    STALL_STEP_NS = 8 * 1000 * 1000,             /* so much a look makes a handler older */
};

/* A worker as the control thread last saw it (stall.h). */
struct stall_watch {
    uint64_t count;  /* of its commits */
    uint64_t age_ns; /* for how long that has not changed while its batch runs */
    uint64_t cpu_ns; /* its processor time when that began to be measured, 0: not yet */
    bool overdue, told, condemned;
    bool published;    /* what was run before this handler has been counted */
    bool asked;        /* its thread has been asked to stand still (hold.h) ... */
    uint64_t asked_ns; /* ... for so long */
    uint32_t aside_tries, relieve_tries;
    struct engine_stall overdue_as; /* as it was found, and how setting it aside went */
};

/* Of the engine. */
struct watch {
    _Atomic uint32_t rescue_armed; /* somebody is to look after ports (help.h) */
    int rescue_fd;
    _Atomic uint32_t armed; /* a look at the workers' handlers is due */
    int fd;
    uint64_t looked_ns;          /* control thread, as what follows */
    struct stall_watch *workers; /* [workers_max] */
};
