/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/base/lock.h"

void lock_wait(struct lock *lock)
{
    for (int i = 0; i < LOCK_LOOKS; i++) {
        if (load_relaxed(&lock->taken) == LOCK_FREE && lock_try(lock))
            return;
        cpu_relax();
    }
    /* lock.LK2 */
    while (atomic_exchange_explicit(&lock->taken, LOCK_WAITED, memory_order_acquire) != LOCK_FREE)
        futex_wait(&lock->taken, LOCK_WAITED, NULL);
}
