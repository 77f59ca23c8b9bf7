/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steal.c - victim selection and the two-CAS swap of queue slots.
 *
 * Runs on the thief alone. The slots are owned by the executor; the thief may write any slot of its
 * own range and, by one compare-and-swap, one slot of the victim's range. Senders never look at
 * slots, so they go on meanwhile.
 *
 * Invariants:
 *  1. A slot is set to NULL only by the worker of its range, and the next write to it is by the
 *     same worker: every other writer is a thief whose compare-and-swap expects a non-NULL value.
 *  2. So, from the first compare-and-swap to the last store, the thief's slot is its own and needs
 *     no second one.
 *  3. A worker going round its range finds no NULL there, since it is not inside a swap then.
 *  4. Choosing is a guess made without locks. A wrong guess swaps an empty or a busy queue, which
 *     is harmless: the lock and being_processed of the queue itself keep behaviours apart.
 */
#include "steal.h"

/* Any clock that all workers share. */
static uint64_t steal_timestamp(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return executor_now_ns();
#endif
}

/* A number in [0, limit), by xorshift and a multiplication in place of a remainder. */
static unsigned steal_random(struct worker *worker, unsigned limit)
{
    uint64_t x = worker->random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    worker->random = x;
    return (unsigned)(((x >> 32) * limit) >> 32);
}

/* Longest victim: of the other workers the one whose last attempt to steal is the furthest back. */
static unsigned steal_choose_victim(const struct worker *thief)
{
    const struct executor *executor = thief->executor;
    unsigned victim = thief->index == 0 ? 1 : 0;
    uint64_t oldest = UINT64_MAX;
    for (unsigned i = 0; i < executor->workers; i++) {
        if (i == thief->index) {
            continue;
        }
        /* relaxed: a heuristic; a stale stamp makes a poorer choice and nothing worse. */
        uint64_t stamp =
            atomic_load_explicit(&executor->worker[i].last_steal, memory_order_relaxed);
        if (stamp < oldest) {
            oldest = stamp;
            victim = i;
        }
    }
    return victim;
}

/* Swaps the contents of two slots. Wait-free: no lock and no loop; a failed swap is not tried
 * again. */
static bool steal_swap(queue_slot *mine, queue_slot *theirs)
{
    /*
     * relaxed loads: the values are only expectations for the compare-and-swaps. What a slot points
     * to was published by the start of the threads and is guarded by its own lock, so no order
     * comes through the slots.
     */
    struct work_queue *my_queue = atomic_load_explicit(mine, memory_order_relaxed);
    struct work_queue *victim_queue = atomic_load_explicit(theirs, memory_order_relaxed);
    if (victim_queue == NULL) {
        return false; /* the victim is itself swapping this slot */
    }

    /*
     * acq_rel on both, relaxed on failure: the proof needs only that each slot has one order of
     * modifications, which relaxed would give; acq_rel keeps the NULL before the exchange also for
     * those who look at two slots, and costs nothing where a locked instruction is a full fence.
     */
    struct work_queue *expected = my_queue;
    if (!atomic_compare_exchange_strong_explicit(mine, &expected, NULL, memory_order_acq_rel,
                                                 memory_order_relaxed)) {
        return false; /* the thief has just become a victim */
    }
    expected = victim_queue;
    bool swapped = atomic_compare_exchange_strong_explicit(
        theirs, &expected, my_queue, memory_order_acq_rel, memory_order_relaxed);

    /* A store, since the slot holds NULL (invariant 2). release: as above, after the exchange that
     * it completes. */
    atomic_store_explicit(mine, swapped ? victim_queue : my_queue, memory_order_release);
    CROSSING(crossing.swaps += swapped;)
    return swapped;
}

/* A slot of the victim that looks worth stealing, or NULL. The search begins at a random place. */
static queue_slot *steal_find_candidate(struct worker *thief, unsigned victim)
{
    struct executor *executor = thief->executor;
    queue_slot *slots = &executor->slots[executor->worker[victim].first];
    unsigned at = steal_random(thief, executor->range);
    for (unsigned tried = 0; tried < executor->range; tried++) {
        /* acquire: pairs with the release of a swap, before the head of the queue is looked at. */
        struct work_queue *work = atomic_load_explicit(&slots[at], memory_order_acquire);
        CROSSING(crossing.looks++;)
        if (work != NULL && work_queue_is_candidate(work)) {
            return &slots[at];
        }
        at = at + 1 == executor->range ? 0 : at + 1;
    }
    return NULL;
}

/* A slot of the thief with an empty queue to give away, or NULL. */
static queue_slot *steal_find_empty(struct worker *thief)
{
    struct executor *executor = thief->executor;
    queue_slot *slots = &executor->slots[thief->first];
    unsigned at = steal_random(thief, executor->range);
    for (unsigned tried = 0; tried < executor->range; tried++) {
        /* acquire: as in steal_find_candidate(). Not NULL, by invariant 3. */
        struct work_queue *work = atomic_load_explicit(&slots[at], memory_order_acquire);
        if (copy_queue_count(&work->queue) == 0) {
            return &slots[at];
        }
        at = at + 1 == executor->range ? 0 : at + 1;
    }
    return NULL;
}

bool steal_queue(struct worker *thief)
{
    unsigned victim = steal_choose_victim(thief);
    /* relaxed: see steal_choose_victim(). */
    atomic_store_explicit(&thief->last_steal, steal_timestamp(), memory_order_relaxed);
    queue_slot *theirs = steal_find_candidate(thief, victim);
    if (theirs == NULL) {
        return false;
    }
    queue_slot *mine = steal_find_empty(thief);
    return mine != NULL && steal_swap(mine, theirs);
}
