/* SPDX-License-Identifier: Apache-2.0 */
/* The mailbox that a searching worker looks at itself (docs/engine/signal.md, Polled queues).
 *
 * A worker that has nothing to do marks the mailbox that it ran last as polled, in its owner word,
 * and looks for its next record with each look of its search. Who appends to it sets no ready bit,
 * passes no barrier for one, and asks for no sleeper.
 *
 * It looks at the place where that record will lie, not at the queue's length: that is in the line
 * of the queue's lock, and each look would take the line from between a sender's lock and its
 * unlock.
 *
 * polled.PO1  A mailbox is polled by a worker that searches, by nobody else: the mark goes before
 *     any other source is run [POLL_RUN], before the look of help_begin_run [POLL_LATE], and before
 *     the worker is among the sleepers [POLL_PARK]. So a handler that hangs keeps none.
 * polled.PO2  The mark goes by a compare-and-swap, which is a full barrier; behind it the worker
 *     looks at the queues, and sets its own ready bit if there is anything [POLL_FENCE,
 *     POLL_FORGET]: who has read the mark had published before.
 * polled.PO3  Whoever may take a source from its owner may take a polled one: the worker that
 *     polled it finds another word there, and leaves it alone [POLL_BLIND]. A thief looks at what
 *     its victim polls when it finds no bit, so a worker without a processor keeps nothing.
 * polled.PO4  The first word of a buffer that was consumed is 0 (queue_blank) until a record is
 *     written there, whose first word is not. That it is not 0 only says that the queue's words are
 *     to be looked at, and these decide. That it is 0 is believed for a round of looks at most: a
 *     buffer may have been changed over by a thief.
 *
 * Threads: a worker's own; polled_steal_from by a thief.
 */
#pragma once

#include "daemon/engine/core/core.h"
#include "daemon/engine/segment/queue.h"
#include "daemon/engine/signal/urgent.h"

enum { POLLED_NONE = -1 };

/* The mailbox that was run last, if it is idle here. */
void polled_begin(struct worker *w);
/* polled.PO2; nothing if none is. */
void polled_end(struct worker *w);
/* It polls nothing, and has not for a while: thieves need not look. */
void polled_hide(struct worker *w);
/* The polled mailbox, to be run now, with `busy` set before it was taken; -1: there is none, it has
 * no work, or somebody else has taken it. */
int64_t polled_take(struct worker *w);
/* The same of the victim's, by a thief. */
int64_t polled_steal_from(struct worker *thief, uint32_t victim);

static inline bool polled_has_work(const struct worker *w)
{
    int64_t polled = w->loop.polled;
    return polled >= 0 && (queue_has_work(&w->engine->segment.queues[polled]) ||
                           urgent_waits(w->engine, (uint32_t)polled));
}

/* Of each look of a search. This load is in a race with the copy of a record, on purpose: what it
 * says is a hint. */
__attribute__((no_sanitize("thread"))) static inline bool polled_is_written(const struct worker *w)
{
    return *(const volatile uint64_t *)w->loop.ran_next != 0;
}

/* polled.PO4 */
static inline bool polled_shows_work(const struct worker *w)
{
    int64_t polled = w->loop.polled;
    return polled >= 0 &&
           (unlikely(urgent_waits(w->engine, (uint32_t)polled)) ||
            (polled_is_written(w) && queue_has_work(&w->engine->segment.queues[polled])));
}
