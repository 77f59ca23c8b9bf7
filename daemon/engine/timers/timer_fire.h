/* SPDX-License-Identifier: Apache-2.0 */
/* Timers that are due: the control thread sends their messages, as many as it may between two looks
 * at what else there is to do.
 *
 * A timer whose receiver's queue is full waits, and is late, but not lost: it has been paid for
 * when it was armed. One whose receiver, or owner, has ended goes with it, and is counted.
 *
 * Threads: the control thread. The rules are those of timers.h.
 */
#pragma once

#include "daemon/engine/core/core.h"

enum {
    TIMER_FIRES = 512,            /* of one look */
    TIMER_DEFER_NS = 10000000,    /* of one whose receiver's queue is full */
    TIMER_VAIN_NS = 250000000,    /* of a periodic one whose actor's type is not run */
    TIMER_OPEN_MIN_NS = 200000,   /* of one whose turn goes on; then as long again as it is late, or
                                     a watch has waited */
    TIMER_OPEN_MAX_NS = 64000000, /* ... at most so long */
};

/* Of a question's, which its asker ends: offered again so much later (ask.Q3). */
#define TIMER_AGAIN_NS UINT64_C(60000000000)

/* All that is due at `now_ns` (CLOCK_MONOTONIC), or as much of it as one look takes: true, there is
 * more. */
bool timer_fire_due(struct engine *engine, uint64_t now_ns);

/* Those who watch somebody that has ended with the executor before, or begins anew with this one,
 * are told: before any worker runs (watches.W7). */
void timer_fire_ends(struct engine *engine);
