/* SPDX-License-Identifier: Apache-2.0 */
/* Where a record that is sent goes: behind the batch that runs, or into the outbox (docs/engine.md,
 * Sends); and the init record of an actor that has only just been spawned. Rules turn.U1 and
 * turn.U2 are turn.h's.
 *
 * Threads: a worker's own.
 *
 * place.U3  Tail append only for the queue whose batch runs, and only while nothing that its own
 *     actors have sent to it is in its active buffer, or on the way there. The tail is closed when
 *     a record for the queue goes to the outbox [TAIL_REOPEN], and when an actor comes back from
 *     aside (detour.A4). The source remembers that over a park [TAIL_FORGOT] until the next gulp;
 *     of what an executor before has left nothing is known [TAIL_CRASH]. A batch that is taken up
 *     again then is closed if there is anything in the active buffer [TAIL_RESUMED].
 * place.U4  What a batch that goes on at the beginning of its buffer overwrites is consumed, and
 *     committed as such: appends stay below the committed cursor.
 * place.U5  An actor's init record goes out with the turn that spawns it, behind what that turn has
 *     sent before its next spawn, unless the first of that for the actor's queue goes to the
 *     actor itself, where an init record would have gone, and stays there (overflow.X3): its first
 *     message has it initialised as well; where that one is given up, the turn that does so sends
 *     an init record. While one waits, a commit goes the long way. There is room for it: the spawn
 *     has looked, and what has been sent since leaves OUTBOX_SYSTEM_BYTES.
 * place.U6  What waits in the active buffer behind a batch that is extended waits for PLACE_WAITS
 *     parks, or for a run that was cut by time, or for one by the number of its messages when no
 *     more than PLACE_SHORT_BYTES are left of the batch: then the tail is closed, and the batch
 *     ends. (To end a long one costs more: all that its messages send to the queue goes through the
 *     outbox.)
 */
#pragma once

#include "daemon/engine/commit/commit.h"
#include "daemon/engine/commit/outbox.h"
#include "daemon/engine/core/core.h"
#include "daemon/engine/core/reclaim.h"

/* How far a batch of so many bytes may be extended before it goes on at the beginning of its
 * buffer: it touches a page more than what was gulped, with all that is touched behind its tail,
 * and a busy self-sender recycles warm memory instead of walking through the window. */
enum { RING_PAGE_BYTES = RECLAIM_PAGE };
enum {
    PLACE_WAITS = 128,        /* of quick messages some milliseconds */
    PLACE_SHORT_BYTES = 4096, /* some forty small messages */
};
static inline uint64_t place_ring_bytes(const struct worker *w, uint64_t bytes)
{
    uint64_t ring = ((bytes + RING_PAGE_BYTES - 1) & ~(uint64_t)(RING_PAGE_BYTES - 1)) +
                    RING_PAGE_BYTES - RECLAIM_REACH;
    uint64_t most = w->engine->segment.header->window_bytes - ENVELOPE_SIZE_MAX;
    return ring < most ? ring : most;
}

/* The batch goes on at the beginning of its buffer, or what has been consumed since the last look
 * makes room. False: neither. */
bool place_make_tail_room(struct worker *w, uint64_t size);

/* place.U3.  A closed path has limit 0. */
static inline bool place_can_tail_append(struct worker *w, uint32_t queue, uint64_t size)
{
    return queue == w->batch.queue && (likely(w->batch.tail + size <= w->batch.tail_limit) ||
                                       (w->batch.ring != 0 && place_make_tail_room(w, size)));
}
static inline void place_close_tail(struct worker *w)
{
    w->batch.tail_limit = 0;
    w->batch.ring = 0;
}

/* Is there room for a send, in the outbox and by the receiver's limit? */
static inline bool place_has_room(struct worker *w, uint32_t destination, uint64_t size)
{
    return place_can_tail_append(w, destination, size) ||
           (outbox_fits(w, size) && outbox_look_for_room(w, destination));
}

/* Where the next record for `destination` goes.  The caller has checked that there is room. */
static inline struct envelope *place_record(struct worker *w, uint32_t destination, uint64_t size)
{
    if (likely(place_can_tail_append(w, destination, size))) {
        struct envelope *at = (struct envelope *)(w->batch.base + w->batch.tail);
        w->batch.tail += size;
        w->place.n_tail_appends += ODEON_STATISTICS;
        return at;
    }
    if (destination == w->batch.queue)
        place_close_tail(w);
    return outbox_append(w, destination, size);
}

/* Where an init record for a queue would stand now that there is room for it: behind the batch, at
 * first sight, or in the outbox. */
static inline bool place_newborn_is_behind(const struct worker *w, uint32_t queue)
{
    return queue == w->batch.queue && w->batch.tail + envelope_size(0) <= w->batch.tail_limit;
}
static inline uint64_t *place_newborn_behind(const struct worker *w)
{
    return (uint64_t *)(w->batch.base + w->batch.tail);
}
static inline uint64_t *place_newborn_logged(const struct worker *w, uint32_t queue)
{
    return (uint64_t *)(w->outbox.log + w->outbox.length +
                        (queue == w->outbox.run_destination ? 0 : sizeof(struct outbox_run)));
}
/* A spawn has been made, and there is room for its init record (place.U5), at `first`: whatever lay
 * there before is nobody's reference any more. */
static inline void place_newborn(struct worker *w, actor_ref ref, uint32_t queue, uint64_t *first)
{
    *first = 0;
    w->place.newborn = ref;
    w->place.newborn_first = first;
    w->place.newborn_queue = queue;
    w->place.held_wanted = load_relaxed(&w->outbox.wanted);
    store_relaxed(&w->outbox.wanted, 0);
}
/* Has the first record for the newborn's queue gone to the newborn itself? What stands there when
 * it has gone elsewhere, a run's header or a sender, is never the newborn's reference. Too large a
 * message for what is left behind the batch goes elsewhere, and an init record follows it, which
 * finds nothing to do. */
static inline bool place_newborn_is_sent_to(const struct worker *w)
{
    return *w->place.newborn_first == w->place.newborn;
}
/* Before the next spawn, and before the commit: the init record, unless a message has made it
 * superfluous. */
static inline void place_newborn_settled(struct worker *w)
{
    store_relaxed(&w->outbox.wanted, w->place.held_wanted);
    w->place.newborn = 0;
}
void place_newborn_settle(struct worker *w);

/* The first piece of a batch in two is consumed. */
void place_unwrap(struct worker *w);
