/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spinlock.h - a test-and-test-and-set spinlock of one byte.
 *
 * Owned by the work queue that embeds it. Touched by every thread that sends to that queue and by
 * the worker that gulps it; it is held for the copy of one envelope, for a rare doubling of the
 * array, or for one swap of arrays.
 *
 * Invariants:
 *  1. The byte is 1 from a successful exchange to the holder's store of 0, and 0 otherwise.
 *  2. Only the holder stores 0.
 *  3. Nothing a holder wrote before its store of 0 is missed by the next holder.
 */
#ifndef BASELINE_SPINLOCK_H
#define BASELINE_SPINLOCK_H

#include <stdatomic.h>

struct spinlock {
    atomic_uchar held;
};

/* Tells the processor that this is a busy wait. */
static inline void cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

static inline void spinlock_init(struct spinlock *lock)
{
    atomic_init(&lock->held, 0);
}

/*
 * The exchange comes first: the lock is nearly always free, and a leading test would fetch the line
 * twice, once to read and once to own it. Waiters then only read, so they do not take the line from
 * the holder.
 */
static inline void spinlock_acquire(struct spinlock *lock)
{
    /* acquire: pairs with the previous holder's release store, so its writes to the guarded data
     * are seen here. */
    while (__builtin_expect(atomic_exchange_explicit(&lock->held, 1, memory_order_acquire), 0)) {
        /* relaxed: only a hint when to try again; the exchange above does the ordering. */
        while (atomic_load_explicit(&lock->held, memory_order_relaxed)) {
            cpu_relax();
        }
    }
}

static inline void spinlock_release(struct spinlock *lock)
{
    /* release: publishes what was written under the lock to the next exchange that reads 0. */
    atomic_store_explicit(&lock->held, 0, memory_order_release);
}

#endif
