/* SPDX-License-Identifier: Apache-2.0 */
/* Sleeping on a word, and waking who sleeps on it.
 *
 * Any thread, signal handlers included; nothing is owned here. Whoever waits looks at the word
 * again when a wait returns: it also does so at a signal, or when the word was another already.
 * What orders the word's stores before the wake-up stands with each word (docs/memory-orders.md);
 * these are system calls and no barriers of anybody's.
 */
#pragma once

#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { FUTEX_EVERYBODY = INT_MAX };

/* While the word is `value`; `timeout` NULL: for ever.  Woken by this process only. */
static inline void futex_wait(_Atomic uint32_t *word, uint32_t value,
                              const struct timespec *timeout)
{
    (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, timeout, NULL, 0);
}

/* At most `n` of those who sleep in futex_wait(). */
static inline void futex_wake(_Atomic uint32_t *word, int n)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0);
}

/* All who sleep on a word of shared memory, in whatever process. */
static inline void futex_wake_shared(_Atomic uint32_t *word)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE, FUTEX_EVERYBODY, NULL, NULL, 0);
}
