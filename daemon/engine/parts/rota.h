/* SPDX-License-Identifier: Apache-2.0 */
/* Whose turn it is among a worker's own sources (rota.h). The worker alone. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct rota {
    /* where fresh ones go on, and, [spent], marked ones; how far the rows have come (rota.RO3) */
    uint32_t fresh_from, marked_from[2], row[2];
    uint32_t fresh_runs;   /* in a row, while something was marked */
    bool ran_marked;       /* the last one was of those */
    bool ran_spent;        /* of marked ones the last one was spent (rota.RO6) */
    uint64_t marked_ended; /* about when that was, in ticks (ticks.h) */
    uint64_t began;        /* the run that goes on, in ticks */
    /* the last look at processors (rota.RO5): when it was, in ticks, 0: there was none since there
     * was nothing to do; what the thread had used; for how long it had lacked one, when the kernel
     * was last asked for that */
    uint64_t cpu_at, cpu_ns, lacked_ns;
    uint64_t *marked; /* by source, a bit: its last run by this worker has used up a turn */
};
