/* SPDX-License-Identifier: Apache-2.0 */
/* Time, pauses, barriers, futexes and turns: what waiting on a word of another process, or for
 * another thread, takes.
 *
 * System calls by their number are no points at which a thread is cancelled (connect.C6).
 *
 * No state.  The futex words lie in memory that this process maps read-only: FUTEX_WAIT only reads.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define DEADLINE_NEVER INT64_MAX

enum {
    WAIT_SPIN_NS = 5000, /* how long a wait looks by itself before it goes to sleep */
    /* how long it sleeps before it looks whether the service still lives, ... */
    WAIT_SLICE_FIRST_NS = 50000000,
    WAIT_SLICE_MAX_NS =
        /* ... doubled each time up to this: a waiting client costs one short look a second */
    1000000000,
};

static inline int64_t monotonic_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Below 0: never; else the moment `timeout_ns` from `began_ns`, or from now. */
static inline int64_t deadline_from(int64_t began_ns, int64_t timeout_ns)
{
    int64_t deadline;

    if (timeout_ns < 0 || __builtin_add_overflow(began_ns, timeout_ns, &deadline))
        return DEADLINE_NEVER;
    return deadline;
}
static inline int64_t deadline_after(int64_t timeout_ns)
{
    return timeout_ns < 0 ? DEADLINE_NEVER : deadline_from(monotonic_ns(), timeout_ns);
}

static inline void cpu_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#else
    atomic_signal_fence(memory_order_seq_cst);
#endif
}

/* The full barrier of port_layout.P4. ThreadSanitizer knows no fences; a read-modify-write orders
 * as much on the machines it runs on. */
#if defined(__SANITIZE_THREAD__)
#define WAIT_HAVE_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WAIT_HAVE_TSAN 1
#endif
#endif
static inline void full_barrier(void)
{
#ifdef WAIT_HAVE_TSAN
    _Atomic int word = 0;

    atomic_fetch_add_explicit(&word, 1, memory_order_seq_cst);
#else
    atomic_thread_fence(memory_order_seq_cst);
#endif
}

/* Sleeps while *word == seen, at most until the deadline and at most slice_ns. Returns early for
 * any reason: the caller looks again at what it waits for. */
void futex_wait_shared(const _Atomic uint32_t *word, uint32_t seen, int64_t deadline_ns,
                       int64_t slice_ns);
/* Whoever sleeps there looks again; the word is as it was. */
void futex_wake_shared(const _Atomic uint32_t *word);
/* False: it was another thread's until the deadline. */
bool mutex_lock_until(pthread_mutex_t *mutex, int64_t deadline_ns);
