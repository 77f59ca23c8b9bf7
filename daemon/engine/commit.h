/* SPDX-License-Identifier: Apache-2.0 */
/* The flip: one store that makes consumption, sends and the end of an actor true together (docs/commit-protocol.md).
 *
 * Threads: a worker's own.  Another thread reads `count` only to tell whether a spawn has been committed (actors.c).
 *
 * F1  Only the spare slot is written; the valid one is slot[count & 1].
 * F2  count goes up by one with a release store behind the slot's stores; crash_order() keeps later stores behind it.
 */
#pragma once

#include "daemon/engine/core.h"
#include "daemon/engine/seed.h"

/* The slot to fill; from then on the other one counts as spare, which it is behind the flip.  The pair lies at a multiple of its
 * size. */
static inline struct segment_commit *commit_take_spare(struct worker *w)
{
    struct segment_commit *slot = w->spare;
    w->spare = (struct segment_commit *)((uintptr_t)slot ^ sizeof(*slot));
    return slot;
}

/* After the count was read from the segment. */
static inline void commit_resume(struct worker *w)
{
    w->count = atomic_load_explicit(&w->durable->count, memory_order_relaxed);
    w->spare = &w->durable->slot[(w->count + 1) & 1];
}

static inline void commit_flip(struct worker *w, uint32_t source, uint64_t cursor, uint64_t tail, uint64_t out, actor_ref redo, uint32_t redo_how)
{
    struct segment_worker *durable = w->durable;
    uint64_t count = w->count + 1;
    struct segment_commit *slot = commit_take_spare(w);
    if (SEEDED(two_stores) && source) { /* wrong: the consumption first, for itself, the sends later */
        w->spare->cursor = cursor;
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

/* While a batch is attached both slots name its source and no redo, so that a message's flip is three stores and the count.
 * Called behind a flip that was written in full: the other slot is the spare one, and may be prepared. */
static inline void commit_prepare_spare(struct worker *w, uint32_t source)
{
    w->spare->source = source;
    w->spare->redo_how = 0;
    w->spare->redo = 0;
}

static inline void commit_message(struct worker *w, uint64_t cursor)
{
    if (SEEDED(two_stores)) {
        commit_flip(w, w->source, cursor, w->tail, w->out, 0, 0);
        return;
    }
    uint64_t count = w->count + 1;
    struct segment_commit *slot = commit_take_spare(w);
    slot->cursor = cursor;
    slot->tail = w->tail;
    slot->out = w->out;
    store_release(&w->durable->count, count); /* F2 */
    crash_order();
    w->count = count;
}
