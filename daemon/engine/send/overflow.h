/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of a message whose receiver's queue is at its limit: the policy of the receiving
 * actor's type (docs/engine.md, Limits).
 *
 * Threads: overflow_decide() by whoever sends; the rest by whoever runs the port or the queue.
 *
 * overflow.X1  Nothing of this is looked at below the limit: the short ways of sending end at
 *     outbox_look_for_room().
 * overflow.X2  Above its limit a queue takes records of `drop-oldest` types alone, up to twice the
 *     limit; a window has that room, and all outboxes on top (outbox.B4).  The limit is looked at
 *     once per receiver and flush interval, as ever.
 * overflow.X3  The runner drops the oldest before it runs the first record of a batch: it marks
 *     them (ENVELOPE_DROPPED), and a marked record is committed without being run.  A mark is one
 *     byte of the record and is not taken back: a kill leaves some of the marks, and the next
 *     attach, nothing of the batch being consumed yet, counts these and sets the others.
 * overflow.X4  What is not dropped keeps its order: records are left out, never moved.  A stalled
 *     port's record stays in its ring, before those behind it.
 * overflow.X5  A port's `stalled_on` is set before the queue's flag and the queue's length is read
 *     behind a full barrier; the runner empties the buffer, and reads the flag behind one
 *     [STALL_RECHECK]: either the port sees that there is room, or the runner sees the port.
 * overflow.X6  The same for a port that waits for memory, or for its user's time, with the budget
 *     in the queue's place: it sets `stalled_on`, then the budget's flag, and looks again behind a
 *     full barrier; who makes room does that by a full barrier, and reads the flag behind it
 *     [STALL_RECHECK].  Room always comes: what waits is run, what is held for nothing is given
 *     back at the port's own word, and each run makes its batch's times less.
 */
#pragma once

#include "daemon/engine/core/budget.h"
#include "daemon/engine/segment/queue.h"

enum overflow_verdict {
    OVERFLOW_REFUSE, /* -EAGAIN, or a refusal */
    OVERFLOW_TAKE,   /* append it nevertheless */
    OVERFLOW_DROP,   /* forget it: it is counted */
    OVERFLOW_STALL,  /* a port leaves it where it is; others take it for a refusal */
    OVERFLOW_AGAIN,  /* of a port alone: it flushes what it has, and looks again */
};

int overflow_open(struct engine *e);
void overflow_close(struct engine *e);
/* Of a type that has been registered. */
void overflow_set_policy(struct engine *e, uint32_t type, enum engine_overflow policy);

/* `destination`, the queue of `to`, is at its limit. */
enum overflow_verdict overflow_decide(struct worker *w, actor_ref to, uint16_t message_type,
                                      uint32_t destination);
/* The same for a handler's send: 1: append it; 0: dropped; -EAGAIN. */
int overflow_send(struct worker *w, actor_ref to, uint16_t message_type, uint32_t destination);

/* May a message for `to`, which waits in `destination`, be dropped by its runner (overflow.X3)? */
bool overflow_drops_oldest(const struct engine *e, actor_ref to, uint32_t destination);
/* Does the type of `to` say that who sends to it waits, when its queue is at its limit? */
bool overflow_waits(const struct engine *e, actor_ref to, uint32_t destination);

/* The runner of a port stops at a record for this queue.  False: there is room by now. */
bool overflow_stall(struct worker *w, uint32_t port, uint32_t destination);
/* The runner of the queue, behind a gulp: the ports that wait for it go on. */
void overflow_unstall(struct worker *w, uint32_t queue);
/* The runner of the queue, attached, nothing of the batch consumed: overflow.X3. */
void overflow_mark_oldest(struct worker *w, uint32_t queue);

/* The receiver's queue has room for a record of a port's, but the budget has not (budget.h). `why`:
 * there is no memory, or it is its user's time. */
enum overflow_verdict overflow_decide_budget(struct worker *w, actor_ref to, uint16_t message_type,
                                             uint32_t destination, enum turned_away why);
/* The runner of a port stops at a record of so many bytes, which will take so long.  False: there
 * is room by now. */
bool overflow_stall_for_budget(struct worker *w, uint32_t port, uint32_t destination, uint64_t size,
                               uint64_t ns);
/* A port's runner has turned something away: whoever holds memory for nothing gives it back, and
 * the control thread is told.  Not too often. */
void overflow_turned_away(struct worker *w, uint32_t port);
/* Ports that wait for the budget look again. */
void overflow_go_on(struct worker *w);
static inline void overflow_freed(struct worker *w, bool freed)
{
    if (unlikely(freed) && load_relaxed(&w->engine->budget.stalled))
        overflow_go_on(w);
}

/* The queue's batch has been attached; `gulped` just now. */
static inline void overflow_attached(struct worker *w, uint32_t queue, bool gulped)
{
    struct engine *e = w->engine;
    if (gulped && unlikely(load_relaxed(&e->overflow.stalls[queue])))
        overflow_unstall(w, queue);
    if (unlikely(load_relaxed(&e->overflow.drops_oldest)) && w->batch.cursor == 0 &&
        w->batch.wrap == 0 && w->batch.tail > e->segment.header->limit_bytes)
        overflow_mark_oldest(w, queue);
}
