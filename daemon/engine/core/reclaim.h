/* SPDX-License-Identifier: Apache-2.0 */
/* Giving memory back: the pages of a window that its recent use does not need (docs/engine.md,
 * Windows).
 *
 * Threads: a queue's two histories belong to whoever holds its owner word, an outbox's to its
 * worker. Called by the runner behind the detach flip and before it gives the owner word up, never
 * by a sender.
 *
 * reclaim.M1  What is dropped lies beyond every length: of a queue the buffer that is inactive and
 *     empty (no batch, and nobody gulps without the owner word), of an outbox the part behind what
 *     is kept while nothing of it is committed.  A kill in the middle, or before, leaves pages that
 *     nobody reads; recovery knows nothing of this.
 * reclaim.M2  `resident` is never less than what exists, but for the rest of one page of the
 *     machine's, which may be larger than what is counted here.  A new executor does not know: it
 *     takes the whole window for resident.
 * reclaim.M3  At most one system call a run.  The price of a hole, and of touching its pages again,
 *     is paid once in RECLAIM_RUNS runs at most, after a use of more than twice as much; but where
 *     memory is short (budget_is_pressed), behind each run that leaves an empty buffer.
 * reclaim.M4  Both buffers of a queue whose runner finds nothing in it may be given back by him
 *     under its lock: no sender writes there meanwhile.
 * reclaim.M5  Pages that were given back and are touched again are taken off the worker's
 *     allowance, which grows with time. While there is none, runs give nothing back but where
 *     memory is short: a load that needs its windows now and then touches RECLAIM_ALLOWANCE pages
 *     again, and RECLAIM_PAGES_MS a millisecond. What is given back once costs nothing of it.
 */
#pragma once

#include "daemon/engine/base/ticks.h"
#include "daemon/engine/core/budget.h"
#include "daemon/engine/segment/queue.h"

enum {
    RECLAIM_PAGE = BUDGET_PAGE,
    RECLAIM_RUNS = 16,                       /* so many in a row that used less than half */
    RECLAIM_QUEUE_PAGES = BUDGET_FREE_PAGES, /* not worth a system call */
    RECLAIM_OUTBOX_PAGES = 8,
    RECLAIM_ALLOWANCE = 2048, /* pages at most; and at first */
    RECLAIM_PAGES_MS = 1,     /* 1 % of a worker where one costs 10 us */
    /* bytes behind a tail that copying by whole words may touch (outbox.c) */
    RECLAIM_REACH = 1024,
};

int reclaim_open(struct engine *e);
void reclaim_close(struct engine *e);
/* Two windows change places; the caller runs both queues, whose buffers these are not active. */
void reclaim_exchange(struct window_history *a, struct window_history *b);
/* The slow half: the hole. */
void reclaim_queue(struct worker *w, uint32_t queue, unsigned buffer);
void reclaim_outbox(struct worker *w);
/* reclaim.M4.  The caller runs the queue, or the port whose backlog it is; nothing happens if there
 * is something in it.  True: there was memory to give back. */
bool reclaim_idle(struct worker *w, uint32_t queue);
/* A backlog's batch has been consumed and released; its runner. True: as above. */
bool reclaim_backlog(struct worker *w, uint32_t backlog);
/* Before workers run: what no length covers is given back, and what is left is known, and whose it
 * is. */
void reclaim_start(struct engine *e);

static inline uint32_t reclaim_pages(uint64_t bytes)
{
    return (uint32_t)((bytes + RECLAIM_PAGE - 1) / RECLAIM_PAGE);
}

/* The window has grown: reclaim.M5. */
void reclaim_grow(struct worker *w, struct window_history *history, uint32_t touched);

/* One more use.  True: there have been enough small ones. */
static inline bool reclaim_note(struct worker *w, struct window_history *history, uint32_t need,
                                uint32_t touched, uint32_t keep)
{
    if (unlikely(touched > history->resident))
        reclaim_grow(w, history, touched);
    if (likely(history->resident <= keep || 2 * need >= history->resident)) {
        if (unlikely(history->little > 0))
            history->little = history->need = 0;
        return false;
    }
    if (need > history->need)
        history->need = need;
    return ++history->little >= RECLAIM_RUNS;
}

/* Is a buffer that has been emptied to be given back? */
static inline bool reclaim_is_due(struct worker *w, struct window_history *history,
                                  uint32_t touched)
{
    return reclaim_note(w, history, touched - 1, touched, RECLAIM_QUEUE_PAGES) ||
           (unlikely(budget_is_pressed(w->engine)) && history->resident > RECLAIM_QUEUE_PAGES);
}

/* A run of the queue's batch has ended, and the batch goes on (budget.B7). */
static inline bool reclaim_time_passed(struct worker *w, uint32_t id,
                                       const struct segment_queue *queue)
{
    unsigned buffer = queue_active(load_relaxed(&queue->sel)) ^ 1;
    struct window_history *history = &w->engine->windows[2 * id + buffer];
    if (likely(history->n_times == 0))
        return false;
    budget_time_pass(w->engine, history,
                     ticks_to_ns(load_relaxed(&w->pace.looked) - w->pace.began));
    return true;
}

/* The batch of `queue` has been run, and if `done` released; the owner word is still the caller's.
 * How far the batch was touched is told by its ring: what was gulped rounded up to pages, and one
 * page (place_ring_bytes). True: the budget may have room for somebody. */
static inline bool reclaim_after_run(struct worker *w, uint32_t id, struct segment_queue *queue,
                                     bool done)
{
    bool freed = false;
    if (done) {
        struct engine *e = w->engine;
        unsigned buffer = queue_active(load_relaxed(&queue->sel)) ^ 1;
        struct window_history *history = &e->windows[2 * id + buffer];
        uint32_t touched = reclaim_pages(load_relaxed(&queue->ring) + RECLAIM_REACH);
        freed = budget_has_notes(history);
        budget_notes_clear(e, history);
        if (unlikely(reclaim_is_due(w, history, touched))) {
            reclaim_queue(w, id, buffer);
            return true; /* reclaim.M3 */
        }
    } else {
        freed = reclaim_time_passed(w, id, queue);
    }
    uint32_t need = reclaim_pages(w->flush.longest);
    w->flush.longest = 0;
    if (unlikely(reclaim_note(w, &w->flush.window, need, need + 1, RECLAIM_OUTBOX_PAGES)))
        reclaim_outbox(w);
    return freed;
}
