/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy_queue.h - the copy queue: a dynamic array of envelopes that is filled by many and emptied by
 * one.
 *
 * An envelope is made on the sender's stack and copied into the array, so a send allocates nothing
 * once the array has reached the size that the load asks for. Nobody pushes while a copy queue is
 * being emptied: its owner has swapped it for another one before. Emptying is therefore a walk over
 * an index and shifts nothing.
 *
 * Each work queue embeds one copy queue (guarded by its lock) and each worker has one of its own
 * (private). Gulping swaps the two; the arrays travel, the structures stay.
 *
 * Invariants:
 *  1. count <= capacity, and envelopes[0..count) are in the order of the pushes.
 *  2. capacity >= COPY_QUEUE_LOW, the size an array starts with and below which it is never cut.
 *  3. envelopes and capacity are touched only by the holder of the lock or by the owning worker;
 *     count is written under the same rule, but read by anyone as a hint.
 */
#ifndef BASELINE_COPY_QUEUE_H
#define BASELINE_COPY_QUEUE_H

#include <stdatomic.h>
#include <stdint.h>

#define COPY_QUEUE_LOW 16u

/* What a behaviour says about its actor, and what a message says about itself, after delivery. */
enum allocation {
    ALLOCATION_NODELETE, /* stays */
    ALLOCATION_DELETE,   /* ended: destroy and free */
    ALLOCATION_DESTROY,  /* ended: destroy, the memory is somebody else's */
    ALLOCATION_FINISHED, /* ended: leave it alone */
};

struct actor;
struct message;

typedef enum allocation behaviour(struct actor *actor, struct message *message);

/* The unit of work. */
struct envelope {
    struct actor *actor;
    struct message *message;
    behaviour *behave;
};

struct copy_queue {
    struct envelope *envelopes;
    uint32_t capacity;
    _Atomic uint32_t count;
};

/* Makes an empty queue of COPY_QUEUE_LOW slots. */
void copy_queue_init(struct copy_queue *queue);

void copy_queue_destroy(struct copy_queue *queue);

/* Doubles the array. */
void copy_queue_grow(struct copy_queue *queue);

/* Cuts the array by one slot. */
void copy_queue_cut(struct copy_queue *queue);

/* The number of envelopes; exact for the holder of the lock and for the owner, a hint for
 * others. */
static inline uint32_t copy_queue_count(const struct copy_queue *queue)
{
    /* relaxed: exact readers are ordered by the lock; the others check again under the lock before
     * they act. */
    return atomic_load_explicit(&queue->count, memory_order_relaxed);
}

static inline void copy_queue_set_count(struct copy_queue *queue, uint32_t count)
{
    /* relaxed: the lock publishes the envelopes; an early or late look at this number is only an
     * early or late hint. */
    atomic_store_explicit(&queue->count, count, memory_order_relaxed);
}

/* Needs the lock. Amortised O(1). */
static inline void copy_queue_push(struct copy_queue *queue, struct actor *actor,
                                   struct message *message, behaviour *behave)
{
    uint32_t count = copy_queue_count(queue);
    if (__builtin_expect(count == queue->capacity, 0)) {
        copy_queue_grow(queue);
    }
    struct envelope *slot = &queue->envelopes[count];
    slot->actor = actor;
    slot->message = message;
    slot->behave = behave;
    copy_queue_set_count(queue, count + 1);
}

/* Needs the lock of `shared` and ownership of `local`. */
static inline void copy_queue_swap(struct copy_queue *shared, struct copy_queue *local)
{
    struct envelope *envelopes = shared->envelopes;
    uint32_t capacity = shared->capacity;
    uint32_t count = copy_queue_count(shared);

    shared->envelopes = local->envelopes;
    shared->capacity = local->capacity;
    copy_queue_set_count(shared, copy_queue_count(local));
    local->envelopes = envelopes;
    local->capacity = capacity;
    copy_queue_set_count(local, count);
}

/*
 * Empties the queue after its envelopes were run, and cuts the array by one slot if less than half
 * of it was used. The half rule keeps a steady load of just over a power of two from being cut and
 * doubled in turns. Owner only.
 */
static inline void copy_queue_reclaim(struct copy_queue *queue, uint32_t used)
{
    copy_queue_set_count(queue, 0);
    if (__builtin_expect(queue->capacity > COPY_QUEUE_LOW, 0) && used < queue->capacity / 2) {
        copy_queue_cut(queue);
    }
}

#endif
