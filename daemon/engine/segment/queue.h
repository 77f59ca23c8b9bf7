/* SPDX-License-Identifier: Apache-2.0 */
/* A message queue's durable words: lock, gulp, release (docs/engine.md, Queues).
 *
 * Threads: the lock by any worker id; gulp and the batch's words by the worker whose id and running
 * bit are in the source's owner word (owner.h).
 *
 * queue.Q1  The lock word names its holder from the compare-and-swap that took it to the exchange
 *     that gives it up: recovery reads it as evidence.
 * queue.Q2  A length is published (release) after the bytes below it; read (acquire) behind the
 *     gulp.
 * queue.Q3  unlock is a full barrier: what comes after it (reading the owner word, [PUB_OWN]) is
 *     not done before the publish. So is a gulp.
 * queue.Q4  No gulp falls between an appender's lock and its unlock [FLIP_NOLOCK]: it is one
 *     compare-and-swap of lock and `sel`, for they are one word, which fails while somebody has the
 *     lock; then it takes the lock itself.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/engine/base/atomic.h"
#include "daemon/engine/base/points.h"
#include "proto/segment_layout.h"

/* Takes the lock for worker `id`.  True: had to wait for another holder. */
bool queue_lock_slow(struct segment_queue *queue, uint32_t id);
/* `old`: what the lock word was: waiters are there, or nobody had it. */
void queue_unlock_slow(struct segment_queue *queue, uint32_t old);

/* False: somebody has it. */
static inline bool queue_try_lock(struct segment_queue *queue, uint32_t id)
{
    uint32_t expected = 0;
    return atomic_compare_exchange_strong_explicit(&queue->lock, &expected, id + 1,
                                                   memory_order_acquire, memory_order_relaxed);
}

static inline bool queue_lock(struct segment_queue *queue, uint32_t id)
{
    if (likely(queue_try_lock(queue, id)))
        return false;
    return queue_lock_slow(queue, id);
}

static inline void queue_unlock(struct segment_queue *queue)
{
    /* seq_cst: release for the next holder, and queue.Q3 */
    uint32_t old = atomic_exchange_explicit(&queue->lock, 0, memory_order_seq_cst);
    if (unlikely(old - 1 >= LOCK_WAITERS - 1))
        queue_unlock_slow(queue, old);
    full_barrier_after_exchange();
}

static inline unsigned queue_active(uint32_t sel)
{
    return sel & SEL_ACTIVE;
}
static inline bool queue_has_batch(uint32_t sel)
{
    return (sel & SEL_BATCH) != 0;
}

/* A hint unless the caller runs the queue or holds its lock. */
static inline bool queue_has_work(struct segment_queue *queue)
{
    uint32_t sel = load_acquire(&queue->sel);
    return queue_has_batch(sel) || load_acquire(&queue->len[queue_active(sel)]) > 0;
}

static inline uint64_t queue_backlog_bytes(const struct segment_queue *queue)
{
    return load_relaxed(&queue->len[queue_active(load_relaxed(&queue->sel))]);
}

/* Stores `sel` if nobody has the lock; only the runner stores it, so it is what it was. */
static inline bool queue_try_select(struct segment_queue *queue, uint32_t before, uint32_t sel)
{
    uint64_t expected = (uint64_t)before << 32;
    _Atomic uint64_t *both = (void *)&queue->lock;
    static_assert(offsetof(struct segment_queue, lock) % 8 == 0 &&
                      offsetof(struct segment_queue, sel) ==
                          offsetof(struct segment_queue, lock) + 4 &&
                      __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
                  "sel is the upper half of the word that begins with the lock");
    return atomic_compare_exchange_strong_explicit(both, &expected, (uint64_t)sel << 32,
                                                   memory_order_seq_cst, memory_order_relaxed);
}

/* Runner only, no batch present, active buffer not empty: what was active becomes the batch, with
 * one store of sel. The lock is not taken for it where nobody has it: a runner that loses its
 * processor here keeps no sender waiting. A full barrier either way. */
static inline void queue_gulp(struct segment_queue *queue, uint32_t id)
{
    uint32_t sel = load_relaxed(&queue->sel), gulped = (sel ^ SEL_ACTIVE) | SEL_BATCH;
    engine_check("segment_layout.L1",
                 (load_relaxed(&queue->len[queue_active(sel) ^ 1]) | load_relaxed(&queue->cursor) |
                  load_relaxed(&queue->wrap) | (sel & SEL_BATCH)) == 0);
    if (likely(queue_try_select(queue, sel, gulped))) {
        full_barrier_after_exchange();
        return;
    }
    queue_lock(queue, id);
    store_release(&queue->sel, gulped);
    queue_unlock(queue);
}

/* Runner only, no batch present: one of `bytes`, written into the inactive buffer, is. Senders
 * under the lock look at the active bit alone, which stays. */
static inline void queue_begin_batch(struct segment_queue *queue, uint64_t bytes)
{
    uint32_t sel = load_relaxed(&queue->sel);
    store_relaxed(&queue->len[queue_active(sel) ^ 1], bytes);
    store_relaxed(&queue->cursor, 0);
    store_relaxed(&queue->wrap, 0);
    store_relaxed(&queue->ring, 0);
    crash_order();
    store_release(&queue->sel, sel | SEL_BATCH);
}

/* Runner only, the batch is consumed. The order matters to recovery: the batch bit goes last
 * [LEN_LATE]. */
static inline void queue_release_batch(struct segment_queue *queue)
{
    uint32_t sel = load_relaxed(&queue->sel);
    store_relaxed(&queue->len[queue_active(sel) ^ 1], 0);
    store_relaxed(&queue->cursor, 0);
    store_relaxed(&queue->wrap, 0);
    crash_order();
    store_release(&queue->sel, sel & ~(uint32_t)SEL_BATCH);
}

/* What nobody will read goes, in the order of a release: a kill leaves a queue that is whole, or
 * shorter. With the lock, or before there is anybody. */
static inline void queue_drop(struct segment_queue *queue)
{
    if (queue_has_batch(load_relaxed(&queue->sel)))
        queue_release_batch(queue);
    settle_relaxed(&queue->len[queue_active(load_relaxed(&queue->sel))], 0);
    crash_order();
}

/* Runner only, behind the release: what has been consumed from `base` on does not look like a
 * record that is there (polled.PO4). */
static inline void queue_blank(uint8_t *base)
{
    store_relaxed((_Atomic uint64_t *)base, 0);
}

static inline void queue_park_batch(struct segment_queue *queue, uint64_t cursor, uint64_t tail,
                                    uint64_t wrap)
{
    uint32_t sel = load_relaxed(&queue->sel);
    store_relaxed(&queue->len[queue_active(sel) ^ 1], tail);
    store_relaxed(&queue->cursor, cursor);
    store_relaxed(&queue->wrap, wrap);
    crash_order();
}
