/* SPDX-License-Identifier: Apache-2.0 */
/* Which of a worker's own ready sources is run next (docs/scheduling.md, Whose turn it is).
 *
 * A source is *left* when the last run that this worker gave it has used up a turn and ended with
 * work in it: the run was cut at one of its limits, or lasted for ROTA_TURN_NS. All others are
 * *fresh*: they have become ready since, come from another worker, or got a little more to do while
 * they were run.
 *
 * rota.RO1  A fresh source is run before those that were left: a call does not wait for the slices
 *     of all that have a lot to do.
 * rota.RO2  One that was left is run all the same, behind ROTA_FRESH_MOST fresh ones in a row, or
 *     when PACE_SLICE_NS have gone by since the last such run.
 * rota.RO3  Each class goes round: a source is run again when all others of its class have been.
 * rota.RO4  The turn of a fresh source ends behind ROTA_TURN_NS and a message while others are
 *     fresh: where many get a lot to do in one moment, each has been run soon, and is told from
 *     those who want little.  The turn of one that was left is a whole one.
 *
 * The marks are hints and the worker's own: a stale one, of a source that somebody else has run
 * meanwhile, costs that source one place in the row. Whether it is run is decided by its ready bit
 * and its owner word.
 *
 * Threads: the worker alone.
 */
#pragma once

#include "daemon/engine/base/ticks.h"
#include "daemon/engine/core/core.h"

enum { ROTA_FRESH_MOST = 64, ROTA_TURN_NS = 1000 * 1000 };

/* A source with a ready bit in the worker's own mask, which the caller clears; -1: none. */
int64_t rota_next(struct worker *w);
/* Nothing is ready: nothing is left, either. */
void rota_forget(struct worker *w);

/* Is the mailbox that is run now to have a short turn? For a run that has lasted for one: it looks
 * through the mask. */
bool rota_is_short(const struct worker *w);

/* Has the run of messages that has just ended lasted for a turn? */
static inline bool rota_turn_is_used(const struct worker *w)
{
    return load_relaxed(&w->pace.looked) - w->pace.began >= ticks_of_ns(ROTA_TURN_NS);
}

/* A run of this source by this worker has ended. */
static inline void rota_note(struct worker *w, uint32_t source, bool left)
{
    uint64_t bit = UINT64_C(1) << (source % 64);
    if (left)
        w->rota.left[source / 64] |= bit;
    else
        w->rota.left[source / 64] &= ~bit;
}
