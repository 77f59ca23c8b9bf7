/* SPDX-License-Identifier: Apache-2.0 */
/* The flip: one store that makes consumption, sends and the end of an actor true together (COMMIT-PROTOCOL 2).
 *
 * Threads: a worker's own.  Another thread reads `count` only to tell whether a spawn has been committed (actors.c).
 *
 * F1  Only the spare slot is written; the valid one is slot[count & 1].
 * F2  count goes up by one with a release store behind the slot's stores; crash_order() keeps later stores behind it.
 */
#pragma once

#include "daemon/engine/core.h"
#include "daemon/engine/seed.h"

static inline void commit_flip(struct worker *w, uint32_t source, uint64_t cursor, uint64_t tail, uint64_t out, actor_ref redo, uint32_t redo_how)
{
    struct segment_worker *durable = w->durable;
    uint64_t count = w->count + 1;
    struct segment_commit *slot = &durable->slot[count & 1];
    if (SEEDED(two_stores) && source) { /* wrong: the consumption first, for itself, the sends later */
        durable->slot[w->count & 1].cursor = cursor;
        crash_order();
        INJECT(HANDLER);
    }
    slot->source = source;
    slot->redo_how = redo_how;
    slot->cursor = cursor;
    slot->tail = tail;
    slot->out = out;
    slot->redo = redo;
    store_release(&durable->count, count); /* read by recovery, and (acquire) by actors_is_committed */
    crash_order();
    w->count = count;
}
