/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_queue.h - one shard of the message queue: a copy queue, its lock and the flag of its
 * processor.
 *
 * Owned by the executor, which makes all of them before any worker runs and frees them after all
 * have ended. Every actor points to one work queue for life, so senders need no other structure.
 * Workers reach work queues through the slots of the executor, which stealing swaps (steal.h).
 *
 * Touched by: senders (push), the worker in whose range it lies (gulp, release), thieves (looks
 * without the lock).
 *
 * Invariants:
 *  1. A send takes the lock exactly once, and so does a gulp.
 *  2. being_processed becomes true only under the lock and only from false; only the worker that
 *     set it clears it. So at most one worker runs behaviours out of one queue, wherever the
 *     queue's slot has gone meanwhile.
 *  3. The envelopes of one sender to one actor run in the order sent: one array, gulped whole, run
 *     in order, and not gulped again before that run has ended.
 */
#ifndef BASELINE_WORK_QUEUE_H
#define BASELINE_WORK_QUEUE_H

#include <stdalign.h>
#include <stdbool.h>

#include "copy_queue.h"
#include "crossing.h"
#include "spinlock.h"

#define CACHE_LINE 64

struct work_queue {
    alignas(CACHE_LINE) struct spinlock lock;
    atomic_bool being_processed;
    struct copy_queue queue;   /* guarded by lock */
    CROSSING(unsigned ran_by;) /* the worker whose run was the last, or begins; guarded by lock */
};

static inline void work_queue_init(struct work_queue *work)
{
    spinlock_init(&work->lock);
    atomic_init(&work->being_processed, false);
    copy_queue_init(&work->queue);
}

static inline void work_queue_destroy(struct work_queue *work)
{
    copy_queue_destroy(&work->queue);
}

static inline void work_queue_push(struct work_queue *work, struct actor *actor,
                                   struct message *message, behaviour *behave)
{
    spinlock_acquire(&work->lock);
    copy_queue_push(&work->queue, actor, message, behave);
    CROSSING(crossing.sends++; crossing.across += work->ran_by != crossing.worker;)
    spinlock_release(&work->lock);
}

/* Whether the queue holds work that nobody is running; without the lock, hence a hint. */
static inline bool work_queue_is_candidate(const struct work_queue *work)
{
    if (copy_queue_count(&work->queue) == 0) {
        return false;
    }
    /* relaxed: a hint; work_queue_gulp() looks again under the lock. */
    return !atomic_load_explicit(&work->being_processed, memory_order_relaxed);
}

/*
 * Moves the whole content of the queue to `local`, which must be empty. On success the caller is
 * the processor of the queue until it calls work_queue_release(). Fails if another worker is.
 */
static inline bool work_queue_gulp(struct work_queue *work, struct copy_queue *local)
{
    spinlock_acquire(&work->lock);
    /*
     * acquire: reading false pairs with the release store of the last processor, whose behaviours'
     * writes to the actors of this queue must be seen. The lock does not give that: the flag is
     * cleared without it.
     */
    if (__builtin_expect(atomic_load_explicit(&work->being_processed, memory_order_acquire), 0)) {
        spinlock_release(&work->lock);
        return false;
    }
    /* relaxed: set under the lock, and believed by other gulpers only under the lock, so no
     * exchange is needed. */
    atomic_store_explicit(&work->being_processed, true, memory_order_relaxed);
    copy_queue_swap(&work->queue, local);
    CROSSING(crossing.runs++; crossing.moved += work->ran_by != crossing.worker;
             work->ran_by = crossing.worker;)
    spinlock_release(&work->lock);
    return true;
}

/* Ends the processing that a successful gulp began. */
static inline void work_queue_release(struct work_queue *work)
{
    /* release: hands the state of the actors to the next worker that gulps this queue. */
    atomic_store_explicit(&work->being_processed, false, memory_order_release);
}

#endif
