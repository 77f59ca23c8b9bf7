/* SPDX-License-Identifier: Apache-2.0 */
/* The bare ring that measurements are held against: a payload line and an index line, one writer
 * thread and one reader thread, nothing else.
 *
 * Whose it is: the ring belongs to whoever declares it and begins as all zeros, or bare_clear(). An
 * index has one writer; release by it, acquire by the other side.
 */
#pragma once

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { BARE_RECORDS = 4096, BARE_WORDS = 8 };

struct bare_record {
    alignas(64) uint64_t words[BARE_WORDS];
};
struct bare_ring {
    alignas(128) _Atomic uint64_t tail; /* by the writer */
    uint64_t head_seen;                 /* the writer's own: the head when it last looked */
    alignas(128) _Atomic uint64_t head; /* by the reader */
    alignas(128) struct bare_record records[BARE_RECORDS];
};

static inline void bare_clear(struct bare_ring *ring)
{
    atomic_store_explicit(&ring->tail, 0, memory_order_relaxed);
    atomic_store_explicit(&ring->head, 0, memory_order_relaxed);
    ring->head_seen = 0;
}

/* false: the ring is full. */
static inline bool bare_put(struct bare_ring *ring, const struct bare_record *record)
{
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);

    if (tail - ring->head_seen == BARE_RECORDS) {
        ring->head_seen = atomic_load_explicit(&ring->head, memory_order_acquire);
        if (tail - ring->head_seen == BARE_RECORDS)
            return false;
    }
    ring->records[tail % BARE_RECORDS] = *record;
    atomic_store_explicit(&ring->tail, tail + 1, memory_order_release);
    return true;
}

/* false: there is nothing. */
static inline bool bare_take(struct bare_ring *ring, struct bare_record *ret_record)
{
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);

    if (atomic_load_explicit(&ring->tail, memory_order_acquire) == head)
        return false;
    *ret_record = ring->records[head % BARE_RECORDS];
    atomic_store_explicit(&ring->head, head + 1, memory_order_release);
    return true;
}
