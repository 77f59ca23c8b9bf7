/* SPDX-License-Identifier: Apache-2.0 */
/* The turn: one message run to its commit; and the sends that its behaviour makes (docs/engine.md,
 * The turn; docs/commit-protocol.md, Running).
 *
 * Threads: a worker's own.
 *
 * U1  One message, one flip: what it consumed, what it sent, whom it ended.
 * U2  The durable word `turn` is 1 while the loop of the turns runs handlers, 0 around flushes: at
 *     a crash, an attached batch with turn 1 has been killed inside the handler of the record at
 *     its committed cursor (or in the few instructions between two).
 * U3  Tail append only for the queue whose batch runs, while its active buffer is empty
 *     [TAIL_NONEMPTY] and no record for it has gone to the outbox since the attach [TAIL_REOPEN].
 * U4  What a batch that goes on at the beginning of its buffer overwrites is consumed, and
 *     committed as such: appends stay below the committed cursor.
 * U5  An actor's init record goes out before anything else is sent, unless what is sent next goes
 *     to that actor: its first message has it initialised as well.  While one waits, the short ways
 *     of sending are closed, and a commit goes the long way.
 */
#pragma once

#include "daemon/engine/core.h"
#include "daemon/engine/outbox.h"
#include "daemon/engine/reclaim.h"

/* Runs the attached batch: to its end, to `limit` messages (at least 1), or until told to stop.
 * Flushes on the way; what the last messages sent may be left in the (committed) outbox. Returns
 * the number of messages. */
uint64_t turn_run_batch(struct worker *w, uint64_t limit);
/* Flush and reset flip, when there is something. */
void turn_flush(struct worker *w);

/* How far a batch of so many bytes may be extended before it goes on at the beginning of its
 * buffer: it touches a page more than what was gulped, with all that is touched behind its tail,
 * and a busy self-sender recycles warm memory instead of walking through the window. */
enum { RING_PAGE_BYTES = RECLAIM_PAGE };
static inline uint64_t turn_ring_bytes(const struct worker *w, uint64_t bytes)
{
    uint64_t ring = ((bytes + RING_PAGE_BYTES - 1) & ~(uint64_t)(RING_PAGE_BYTES - 1)) +
                    RING_PAGE_BYTES - RECLAIM_REACH;
    uint64_t most = w->engine->segment.header->window_bytes - ENVELOPE_SIZE_MAX;
    return ring < most ? ring : most;
}

/* The batch goes on at the beginning of its buffer, or what has been consumed since the last look
 * makes room. False: neither. */
bool turn_make_tail_room(struct worker *w, uint64_t size);

/* U3.  A closed path has limit 0. */
static inline bool turn_can_tail_append(struct worker *w, uint32_t queue, uint64_t size)
{
    return queue == w->queue && load_relaxed(w->active_len) == 0 &&
           (likely(w->tail + size <= w->tail_limit) ||
            (w->ring != 0 && turn_make_tail_room(w, size)));
}
static inline void turn_close_tail(struct worker *w)
{
    w->tail_limit = 0;
    w->ring = 0;
}

/* Is there room for a send, in the outbox and by the receiver's limit? */
static inline bool turn_has_room(struct worker *w, uint32_t destination, uint64_t size)
{
    return turn_can_tail_append(w, destination, size) ||
           (outbox_fits(w, size) && outbox_look_for_room(w, destination));
}

/* Where the next record for `destination` goes.  The caller has checked that there is room. */
static inline struct envelope *turn_place(struct worker *w, uint32_t destination, uint64_t size)
{
    if (likely(turn_can_tail_append(w, destination, size))) {
        struct envelope *at = (struct envelope *)(w->batch + w->tail);
        w->tail += size;
        w->n_tail_appends += ODEON_STATISTICS;
        return at;
    }
    if (destination == w->queue)
        turn_close_tail(w);
    return outbox_append(w, destination, size);
}

/* A spawn has been made, and there is room for its init record (U5). */
void turn_newborn(struct worker *w, actor_ref ref, uint32_t queue, actor_ref by);
/* Before anything else is sent, or committed: the init record, unless the next message goes to that
 * actor anyway (`to`). True: it was spared; if that message then cannot be sent,
 * turn_newborn_again() has it wait once more. */
bool turn_newborn_settle(struct worker *w, actor_ref to);
static inline void turn_newborn_again(struct worker *w, actor_ref ref)
{
    turn_newborn(w, ref, w->newborn_queue, w->newborn_by);
}
