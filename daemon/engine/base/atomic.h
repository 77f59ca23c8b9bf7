/* SPDX-License-Identifier: Apache-2.0 */
/* Names for what the engine does with atomic words.  docs/memory-orders.md lists the pairs.
 *
 * The executor dies between two instructions, so what a crash leaves is decided by the order in
 * which the compiler put the stores. crash_order() keeps it: no store moves across it. It costs no
 * instruction.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#define load_relaxed(p)     atomic_load_explicit((p), memory_order_relaxed)
#define load_acquire(p)     atomic_load_explicit((p), memory_order_acquire)
#define store_relaxed(p, v) atomic_store_explicit((p), (v), memory_order_relaxed)
#define store_release(p, v) atomic_store_explicit((p), (v), memory_order_release)
/* For tables that are mostly right already: a word that is dirties no page and no line. */
#define settle_relaxed(p, v) ((void)(load_relaxed(p) == (v) || (store_relaxed(p, v), 0)))
#define crash_order()        atomic_signal_fence(memory_order_seq_cst)

/* A full barrier behind an atomic exchange or compare-and-swap that was itself seq_cst: x86's
 * locked instructions are one. */
static inline void full_barrier_after_exchange(void)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
    atomic_signal_fence(memory_order_seq_cst);
#else
    atomic_thread_fence(memory_order_seq_cst);
#endif
}

static inline void full_barrier(void)
{
    atomic_thread_fence(memory_order_seq_cst);
}

static inline void cpu_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* A line that is wanted soon. Statements, not calls of a builtin in a function: gcc takes such a
 * function for one without effect, and drops the call. */
static inline __attribute__((always_inline)) void prefetch_read(const void *at)
{
#if defined(__x86_64__) && !defined(ODEON_COUNT)
    __asm__ volatile("prefetcht0 %0" : : "m"(*(const char *)at));
#else
    __builtin_prefetch(at, 0);
#endif
}
/* ... to be written: others lose it. */
static inline __attribute__((always_inline)) void prefetch_write(const void *at)
{
#if defined(__x86_64__) && !defined(ODEON_COUNT)
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)at));
#else
    __builtin_prefetch(at, 1);
#endif
}

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
