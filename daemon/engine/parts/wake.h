/* SPDX-License-Identifier: Apache-2.0 */
/* What others see of a worker, and set in it (wake.h, steal.h, quiesce.h, reap.h). */
#pragma once

#include <stdalign.h>
#include <stdint.h>

#include "daemon/engine/base/atomic.h"
#include "proto/bounds.h"

/* Written by the worker, read by others. `busy`, which appenders read while somebody sleeps, is
 * alone in its line: a worker that searches writes `passes` all the time. */
struct shown {
    alignas(64) _Atomic uint32_t busy;
    alignas(64) _Atomic uint64_t passes; /* quiescent points */
    _Atomic uint64_t count_seen; /* its commit count at the last stall look, by whoever did that */
    _Atomic uint32_t left;       /* its thread runs nothing any more */
};

/* What tells a thief that there is nothing to take, and what is written by others: one cache
 * line. */
struct called {
    _Atomic uint64_t *ready;  /* anybody sets, owner and thieves clear */
    _Atomic uint64_t summary; /* a bit for each line of `ready` (masks.h): anybody sets, owner
                               * clears */
    /* the worker alone, while it has nothing to do */
    _Atomic uint64_t last_attempt; /* stamp of its last steal attempt */
    _Atomic uint32_t polled; /* source + 1 of the mailbox that it polled last, 0: none (polled.h) */
    _Atomic uint32_t hint;   /* written by the claimer of its sleepers bit before the wake-up */
    _Atomic uint32_t given;
};
