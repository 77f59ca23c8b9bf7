/* SPDX-License-Identifier: Apache-2.0 */
/* Whose turn it is among a worker's own sources (rota.h). The worker alone, but for what is atomic.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/engine/base/atomic.h"

struct rota {
    uint32_t fresh_from, left_from; /* where each class goes on */
    uint32_t fresh_runs;            /* in a row, while something was left */
    uint32_t row;                   /* how far the row of what was left has come (rota.RO3) */
    bool ran_left;                  /* the last one was of those */
    uint64_t left_ended;            /* about when that was, in ticks (ticks.h) */
    uint64_t began;                 /* the run that goes on, in ticks */
    /* the last look at processors (rota.RO5): when it was, in ticks, 0: there was none since there
     * was nothing to do; what the thread had used; for how long it had lacked one, when the kernel
     * was last asked for that */
    uint64_t cpu_at, cpu_ns, lacked_ns;
    /* by source, a bit: a run of this worker's left it with work; others read it */
    _Atomic uint64_t *left;
};
