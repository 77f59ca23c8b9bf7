/* SPDX-License-Identifier: Apache-2.0 */
/* The urgent lane: messages that overtake what waits for their receiver in its mailbox
 * (docs/engine.md, Urgent messages).
 *
 * Each mailbox has a second message queue for them, under the same owner word: whoever runs the
 * mailbox runs both, and nobody else runs either. Changing from one to the other is parking the
 * batch of the one, which flushes and flips to "none", and attaching the other: the steps of any
 * two sources, with the owner word held all the while, so that a crash finds nothing that it would
 * not find anyhow.
 *
 * Threads: urgent_publish() and urgent_interrupt() by whoever flushes; the rest by whoever runs the
 * mailbox; hints by anybody.
 *
 * urgent.G1  The byte in engine.urgent is set under the queue's lock, behind the publish; the
 *     unlock is the barrier between the two and the look at the owner word.  The runner clears it
 *     before it gulps, which that lock keeps out: either it sees the message, or the byte is set
 *     behind.
 * urgent.G2  A runner sets the byte again when it leaves anything in the urgent queue: a batch that
 *     it parks, or what came behind one that had been parked before.  So the byte of a mailbox that
 *     nobody runs is 1 whenever its urgent queue has anything.
 * urgent.G3  Between two messages of an ordinary batch the runner gives way: who has published
 *     finds the runner in the owner word and asks its loop to look (outbox.wanted = 0); the runner
 *     restores that word before a full barrier and the look at the byte.  A request that is missed
 *     all the same (a newborn's word is put back, turn.h place.U5) costs waiting until the next
 *     look, at the latest the end of the batch.  At least one ordinary message is run between two
 *     urgent batches: nobody starves.  None is run between two slices of one (pace.T4).
 * urgent.G4  Recovery sets the bytes anew.
 * urgent.G5  FIFO holds within each lane.  While an urgent batch runs, nothing is appended to it,
 *     nor to the parked one: sends go through the outbox.
 */
#pragma once

#include "daemon/engine/core/core.h"
#include "daemon/engine/segment/queue.h"

static inline bool urgent_waits(const struct engine *e, uint32_t mailbox)
{
    return load_acquire(&e->urgent[mailbox]) != 0;
}

/* In either lane: a hint unless the caller runs it. */
static inline bool urgent_mailbox_has_work(struct engine *e, uint32_t mailbox)
{
    return queue_has_work(&e->segment.queues[mailbox]) ||
           queue_has_work(&e->segment.queues[segment_urgent_queue(&e->segment, mailbox)]);
}

/* urgent.G1: the caller has published, and holds the lock of that queue. */
static inline void urgent_publish(struct engine *e, uint32_t mailbox)
{
    store_relaxed(&e->urgent[mailbox], 1);
}

/* urgent.G3: behind the unlock. */
static inline void urgent_interrupt(struct engine *e, const struct worker *me, uint32_t mailbox)
{
    uint64_t own = load_acquire(e->sources[mailbox].own);
    if (own_is_running(own) && own_worker(own) != me->id && own_worker(own) < e->control->id)
        store_relaxed(&e->workers[own_worker(own)]->outbox.wanted, 0);
}
