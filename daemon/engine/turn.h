/* SPDX-License-Identifier: Apache-2.0 */
/* The turn: one message run to its commit; and the sends that its behaviour makes (docs/engine.md, The turn; docs/commit-protocol.md, Running).
 *
 * Threads: a worker's own.
 *
 * U1  One message, one flip: what it consumed, what it sent, whom it ended.
 * U2  The durable word `turn` is 1 while the loop of the turns runs handlers, 0 around flushes: at a crash, an attached batch with
 *     turn 1 has been killed inside the handler of the record at its committed cursor (or in the few instructions between two).
 * U3  Tail append only for the queue whose batch runs, while its active buffer is empty [TAIL_NONEMPTY] and no record for it
 *     has gone to the outbox since the attach [TAIL_REOPEN].
 */
#pragma once

#include "daemon/engine/core.h"
#include "daemon/engine/outbox.h"

/* Runs the attached batch: to its end, to `limit` messages (at least 1), or until told to stop.  Flushes on the way; what the last
 * messages sent may be left in the (committed) outbox.  Returns the number of messages. */
uint64_t turn_run_batch(struct worker *w, uint64_t limit);
/* Flush and reset flip, when there is something. */
void turn_flush(struct worker *w);

enum { TAIL_APPEND_BYTES = 256 * 1024 }; /* a busy self-sender recycles warm memory instead of walking through the window */

/* U3.  A closed path has limit 0. */
static inline bool turn_can_tail_append(const struct worker *w, uint32_t queue, uint64_t size)
{
    return queue == w->queue && w->tail + size <= w->tail_limit && load_relaxed(w->active_len) == 0;
}

/* The receiver's limit is looked at when a flush interval first sends there: a window has room for all outboxes beyond it (B4). */
static inline bool turn_is_below_limit(const struct worker *w, uint32_t destination)
{
    const struct segment *s = &w->engine->segment;
    return w->group_of[destination] != 0 || destination >= s->n_queues || queue_backlog_bytes(&s->queues[destination]) <= s->header->limit_bytes;
}

/* Is there room for a send, in the outbox and by the receiver's limit? */
static inline bool turn_has_room(const struct worker *w, uint32_t destination, uint64_t size)
{
    return turn_can_tail_append(w, destination, size) || (outbox_fits(w, size) && turn_is_below_limit(w, destination));
}

/* Where the next record for `destination` goes.  The caller has checked that there is room. */
static inline struct envelope *turn_place(struct worker *w, uint32_t destination, uint64_t size)
{
    if (likely(turn_can_tail_append(w, destination, size))) {
        struct envelope *at = (struct envelope *)(w->batch + w->tail);
        w->tail += size;
        w->n_tail_appends++;
        return at;
    }
    if (destination == w->queue)
        w->tail_limit = 0;
    return outbox_append(w, destination, size);
}

/* An envelope without payload. */
static inline void turn_put(struct worker *w, uint32_t destination, const struct envelope *envelope)
{
    *turn_place(w, destination, envelope_size(0)) = *envelope;
}
