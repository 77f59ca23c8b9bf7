/* SPDX-License-Identifier: Apache-2.0 */
/* The contended side of a queue's lock: a short spin, then a futex. The waiters bit is kept by
 * whoever had to wait, so that the next waiter is woken, too. */
#include "daemon/engine/segment/queue.h"

#include "daemon/engine/base/futex.h"

enum { LOCK_SPINS = 200 }; /* a group of records is copied within a microsecond or so */

bool queue_lock_slow(struct segment_queue *queue, uint32_t id)
{
    uint32_t expected;
    for (int i = 0; i < LOCK_SPINS; i++) {
        expected = 0;
        if (load_relaxed(&queue->lock) == 0 &&
            atomic_compare_exchange_weak_explicit(&queue->lock, &expected, id + 1,
                                                  memory_order_acquire, memory_order_relaxed))
            return true;
        cpu_relax();
    }
    for (;;) {
        expected = load_relaxed(&queue->lock);
        if (expected == 0) {
            if (atomic_compare_exchange_strong_explicit(&queue->lock, &expected,
                                                        (id + 1) | LOCK_WAITERS,
                                                        memory_order_acquire, memory_order_relaxed))
                return true;
            continue;
        }
        if (!(expected & LOCK_WAITERS) && !atomic_compare_exchange_strong_explicit(
                                              &queue->lock, &expected, expected | LOCK_WAITERS,
                                              memory_order_relaxed, memory_order_relaxed))
            continue;
        futex_wait(&queue->lock, expected | LOCK_WAITERS, NULL);
    }
}

void queue_unlock_slow(struct segment_queue *queue, uint32_t old)
{
    engine_check("queue.Q1", (old & ~LOCK_WAITERS) != 0);
    futex_wake(&queue->lock, 1);
}
