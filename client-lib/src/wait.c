/* SPDX-License-Identifier: Apache-2.0 */
/* The one futex call, and the one lock that has a deadline; see wait.h. */
#include "client-lib/src/wait.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

void futex_wait_shared(const _Atomic uint32_t *word, uint32_t seen, int64_t deadline_ns,
                       int64_t slice_ns)
{
    int64_t left_ns = slice_ns;
    struct timespec timeout;

    if (deadline_ns != DEADLINE_NEVER) {
        left_ns = deadline_ns - monotonic_ns();
        if (left_ns <= 0)
            return;
        if (left_ns > slice_ns)
            left_ns = slice_ns;
    }
    timeout = (struct timespec){ .tv_sec = left_ns / 1000000000, .tv_nsec = left_ns % 1000000000 };
    /* not FUTEX_PRIVATE_FLAG: the one who wakes is another process */
    syscall(SYS_futex, (const void *)word, FUTEX_WAIT, seen, &timeout, NULL, 0);
}

void futex_wake_shared(const _Atomic uint32_t *word)
{
    syscall(SYS_futex, (const void *)word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

bool mutex_lock_until(pthread_mutex_t *mutex, int64_t deadline_ns)
{
    struct timespec until = { .tv_sec = deadline_ns / 1000000000,
                              .tv_nsec = deadline_ns % 1000000000 };

    if (pthread_mutex_trylock(mutex) == 0)
        return true;
    if (deadline_ns == DEADLINE_NEVER)
        return pthread_mutex_lock(mutex) == 0;
#ifdef WAIT_HAVE_TSAN /* which does not know pthread_mutex_clocklock() */
    while (monotonic_ns() < deadline_ns) {
        until = (struct timespec){ .tv_nsec = 100000 };
        syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &until, NULL);
        if (pthread_mutex_trylock(mutex) == 0)
            return true;
    }
    return false;
#else
    return pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &until) == 0;
#endif
}
