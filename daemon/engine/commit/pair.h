/* SPDX-License-Identifier: Apache-2.0 */
/* Two words that a kill leaves both old or both new.
 *
 * On x86-64 that is one store of 16 bytes: the kernel interrupts between instructions. AArch64
 * promises it of a store of 16 aligned bytes with FEAT_LSE2 only; without, a store of a pair may be
 * two accesses, and the pair is stored by LDXP and STLXP. Whoever is interrupted in between has
 * lost the reservation and stores nothing: he begins again. Both are in every build: what the
 * processor has is asked at the start.
 *
 * Threads: pair_probe() once, before the others begin; pair_store() by the words' only writer.
 *
 * pair.P1  A process that is killed leaves both words of one pair_store().
 * pair.P2  A lost reservation is tried again until the pair is stored.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/engine/base/atomic.h"

#if !defined(__x86_64__) && !defined(__aarch64__)
#error "a commit stores 16 bytes at once: how is that done here?"
#endif

typedef uint64_t pair_words __attribute__((vector_size(16), may_alias));

/* Asks the processor how it stores a pair. Until then the way is taken that each of them has. */
void pair_probe(void);

#if defined(__aarch64__)

/* A store of 16 aligned bytes is one access: FEAT_LSE2. */
extern bool pair_is_one_access;

/* Stores that stand in front of it are seen before it. */
static inline void pair_store_exclusive(pair_words *at, uint64_t first, uint64_t second)
{
    uint64_t was_first, was_second;
    uint32_t lost;

    do
        __asm__ volatile("ldxp %0, %1, %3\n\tstlxp %w2, %4, %5, %3"
                         : "=&r"(was_first), "=&r"(was_second), "=&r"(lost), "+Q"(*at)
                         : "r"(first), "r"(second));
    while (lost); /* pair.P2 */
}

static inline void pair_store(void *at, uint64_t first, uint64_t second)
{
    pair_words *pair = at;

    if (unlikely(!pair_is_one_access)) {
        pair_store_exclusive(pair, first, second);
        return;
    }
    atomic_thread_fence(memory_order_release);
    __asm__ volatile("stp %1, %2, %0" : "=Q"(*pair) : "r"(first), "r"(second));
}

#else

/* The thread sanitizer would see a plain store beside other threads' atomic loads: whoever is read
 * by others tells it of the release (commit.h). */
static inline __attribute__((no_sanitize("thread"))) void pair_store(void *at, uint64_t first,
                                                                     uint64_t second)
{
    *(volatile pair_words *)at = (pair_words){ first, second };
}

#endif
