/* SPDX-License-Identifier: Apache-2.0 */
/* Whose turn it is among a worker's own sources (rota.h). The worker alone. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct rota {
    uint32_t fresh_from, left_from; /* where each class goes on */
    uint32_t fresh_runs;            /* in a row, while something was left */
    bool ran_left;                  /* the last one was of those */
    uint64_t left_ended;            /* about when that was, in ticks (ticks.h) */
    uint64_t *left;                 /* by source, a bit: a run of this worker's left it with work */
};
