/* SPDX-License-Identifier: Apache-2.0 */
/* A lock for a few stores, by any thread: where nobody else wants it a compare-and-swap and an
 * exchange, in its users, and no call.
 *
 * Threads: any but a signal handler; who has it runs no handler, and sleeps on nothing.
 *
 * lock.LK1  One thread at most has it [LOCK_TRY].
 * lock.LK2  Who sleeps is woken by who gives it back: the word says that somebody may sleep from
 *     before the kernel compares it until it is given back, and who has slept takes it with that
 *     word, for there may be others [LOCK_ALONE]. Nobody sleeps once it says another thing
 *     [LOCK_DEAF].
 * lock.LK3  Who finds it held looks LOCK_LOOKS times, and then sleeps: a holder that is not run
 *     costs nobody a processor.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/engine/base/atomic.h"
#include "daemon/engine/base/futex.h"
#include "daemon/engine/base/points.h"

enum lock_word { LOCK_FREE, LOCK_HELD, LOCK_WAITED /* held, and somebody may sleep */ };
/* All 0: nobody has it. */
struct lock {
    _Atomic uint32_t taken; /* enum lock_word */
};

enum {
#ifdef ODEON_SIMULATE
    LOCK_LOOKS = 2, /* each is a step */
#else
    LOCK_LOOKS = 100,
#endif
};

/* It was held. */
void lock_wait(struct lock *lock);

static inline bool lock_try(struct lock *lock)
{
    uint32_t taken = LOCK_FREE;
    return atomic_compare_exchange_strong_explicit(&lock->taken, &taken, LOCK_HELD,
                                                   memory_order_acquire, memory_order_relaxed);
}
static inline void lock_take(struct lock *lock)
{
    if (unlikely(!lock_try(lock)))
        lock_wait(lock);
}
static inline void lock_give(struct lock *lock)
{
    uint32_t taken = atomic_exchange_explicit(&lock->taken, LOCK_FREE, memory_order_release);
    engine_check("lock.LK1", taken != LOCK_FREE);
    if (unlikely(taken == LOCK_WAITED))
        futex_wake(&lock->taken, 1);
}
