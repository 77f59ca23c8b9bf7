/* SPDX-License-Identifier: Apache-2.0 */
/* Timers as the process knows them: what is free, and what is due next (timers/). All of it is made
 * anew by each start, from the segment's table. */
#pragma once

#include <pthread.h>
#include <stdint.h>

#include "proto/segment_layout.h"

/* When a timer is looked at, and which it is; in the order of `due_ns`, then of `sequence`. */
struct timer_node {
    uint64_t due_ns, sequence;
    uint32_t timer;
};
struct timer_heap {
    struct timer_node *nodes;
    uint32_t *place_of; /* by timer: its node + 1, 0: it has none */
    uint32_t n;
};

/* Numbers that are free: those given back, the one that has waited longest first, then those that
 * were never used. */
struct timer_stock {
    uint32_t *ring; /* [n_max] */
    uint32_t n_max, first, n, fresh;
};

/* Of the engine. Everything under the mutex, by whoever arms or cancels, and by the control
 * thread. */
struct timers {
    pthread_mutex_t mutex;
    int fd;            /* timerfd for the earliest one */
    uint64_t fd_ns;    /* ... which is set to this, 0: to nothing */
    uint64_t sequence; /* of the last one that was armed */
    struct timer_heap heap;
    struct timer_stock numbers, places[TIMER_CLASSES];
    struct timer_stock
        cancelled;  /* a queue: of those whose cancel has perhaps not been committed */
    uint64_t bytes; /* of the messages' places that are taken */
    uint32_t n;     /* armed, those that are being cancelled included */
    uint32_t *n_of; /* by the owner's slot */
};
