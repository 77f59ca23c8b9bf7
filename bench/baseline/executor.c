/* SPDX-License-Identifier: Apache-2.0 */
/*
 * executor.c - the life of the executor and the loop of its workers.
 *
 * The driver thread makes and frees everything; in between, each worker runs
 * executor_worker_loop().
 * Invariants are those of executor.h, and for the loop:
 *  1. local is empty whenever the worker is not inside executor_worker_process().
 *  2. A worker takes the queue pointer of a slot once and uses this copy from the gulp to the
 *     release; a swap of the slot in between changes whose range the queue is in, and nothing else.
 *  3. A behaviour runs outside of all locks.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* processor affinity */
#endif

#include "executor.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "steal.h"

#define FRUITLESS_ROUNDS 2u

uint64_t executor_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void *executor_alloc(size_t count, size_t size)
{
    size_t bytes = (count * size + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    void *memory = aligned_alloc(CACHE_LINE, bytes);
    if (memory == NULL) {
        fputs("odeon-baseline: out of memory\n", stderr);
        abort();
    }
    memset(memory, 0, bytes);
    return memory;
}

static void executor_pin(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    if (sched_setaffinity(0, sizeof(set), &set) != 0) {
        perror("odeon-baseline: sched_setaffinity");
        exit(EXIT_FAILURE);
    }
}

/* What follows the end of an actor. */
static __attribute__((noinline)) void executor_actor_end(struct executor *executor,
                                                         struct actor *actor, enum allocation how)
{
    if (how != ALLOCATION_FINISHED && actor->destroy != NULL) {
        actor->destroy(actor);
    }
    if (how == ALLOCATION_DELETE) {
        free(actor);
    }
    /*
     * acq_rel: release, so that all this worker did for the actor comes before the zero; acquire,
     * so that whoever reaches zero has seen that of the others too and may say so through done.
     */
    if (atomic_fetch_sub_explicit(&executor->live, 1, memory_order_acq_rel) == 1) {
        executor->ended_ns = executor_now_ns();
        /* release: with the acquire load in executor_worker_loop(), everything before the end is
         * seen after
         * the loop. */
        atomic_store_explicit(&executor->done, true, memory_order_release);
    }
}

static __attribute__((noinline)) void executor_message_end(struct message *message,
                                                           enum allocation how)
{
    if (how != ALLOCATION_FINISHED && message->destroy != NULL) {
        message->destroy(message);
    }
    if (how == ALLOCATION_DELETE) {
        free(message);
    }
}

/* Runs what was gulped. The message is settled before its actor, which may contain it. */
static inline void executor_worker_process(struct worker *worker)
{
    uint32_t count = copy_queue_count(&worker->local);
    const struct envelope *next = worker->local.envelopes;
    const struct envelope *end = next + count;
    for (; next != end; next++) {
        struct actor *actor = next->actor;
        struct message *message = next->message;
        enum allocation actor_fate = next->behave(actor, message);
        enum allocation message_fate = message->allocation;
        if (__builtin_expect(message_fate != ALLOCATION_NODELETE, 0)) {
            executor_message_end(message, message_fate);
        }
        if (__builtin_expect(actor_fate != ALLOCATION_NODELETE, 0)) {
            executor_actor_end(worker->executor, actor, actor_fate);
        }
    }
    copy_queue_reclaim(&worker->local, count);
}

/* Goes once over the worker's range. True if anything was run. */
static inline bool executor_worker_round(struct worker *worker, queue_slot *slots, unsigned range)
{
    bool worked = false;
    for (unsigned i = 0; i < range; i++) {
        /* acquire: pairs with the release of a swap that brought this queue here. */
        struct work_queue *work = atomic_load_explicit(&slots[i], memory_order_acquire);
        if (!work_queue_is_candidate(work) || !work_queue_gulp(work, &worker->local)) {
            continue;
        }
        executor_worker_process(worker);
        work_queue_release(work);
        worked = true;
    }
    return worked;
}

static void executor_worker_loop(struct worker *worker)
{
    struct executor *executor = worker->executor;
    queue_slot *slots = &executor->slots[worker->first];
    unsigned range = executor->range;
    unsigned fruitless = 0;
    for (;;) {
        if (executor_worker_round(worker, slots, range)) {
            fruitless = 0;
            continue;
        }
        /* acquire: pairs with the release in executor_actor_end(). */
        if (atomic_load_explicit(&executor->done, memory_order_acquire)) {
            CROSSING(crossing_add();)
            return;
        }
        if (++fruitless >= FRUITLESS_ROUNDS) {
            fruitless = 0;
            if (executor->stealing) {
                steal_queue(worker);
            }
        }
    }
}

static void *executor_worker_main(void *argument)
{
    struct worker *worker = argument;
    struct executor *executor = worker->executor;
    executor_pin(worker->cpu);
    CROSSING(crossing.worker = worker->index;)
    /* release: pairs with the acquire in executor_create(); nothing but being pinned is told by
     * it. */
    atomic_fetch_add_explicit(&executor->ready, 1, memory_order_release);
    /* acquire: pairs with the release in executor_release(), for the actors that the driver made
     * meanwhile. */
    while (!atomic_load_explicit(&executor->go, memory_order_acquire)) {
        cpu_relax();
    }
    executor_worker_loop(worker);
    return NULL;
}

static void executor_start_worker(struct executor *executor, unsigned index, int cpu)
{
    struct worker *worker = &executor->worker[index];
    atomic_init(&worker->last_steal, 0);
    worker->executor = executor;
    worker->index = index;
    worker->first = index * executor->range;
    worker->random = 0x9e3779b97f4a7c15u * (index + 1u);
    worker->cpu = cpu;
    copy_queue_init(&worker->local);
    if (index == 0) {
        executor_pin(cpu);
        return;
    }
    if (pthread_create(&worker->thread, NULL, executor_worker_main, worker) != 0) {
        fputs("odeon-baseline: no thread for a worker\n", stderr);
        exit(EXIT_FAILURE);
    }
}

struct executor *executor_create(const struct executor_options *options)
{
    struct executor *executor = executor_alloc(1, sizeof(struct executor));
    executor->workers = options->workers;
    executor->range = options->queues_per_worker;
    executor->queues = options->workers * options->queues_per_worker;
    executor->stealing = options->stealing && options->workers > 1;
    executor->queue = executor_alloc(executor->queues, sizeof(struct work_queue));
    executor->slots = executor_alloc(executor->queues, sizeof(queue_slot));
    executor->worker = executor_alloc(executor->workers, sizeof(struct worker));
    for (unsigned i = 0; i < executor->queues; i++) {
        work_queue_init(&executor->queue[i]);
        CROSSING(executor->queue[i].ran_by = i / executor->range;)
        atomic_init(&executor->slots[i], &executor->queue[i]);
    }
    for (unsigned i = 0; i < executor->workers; i++) {
        executor_start_worker(executor, i, options->cpus[i]);
    }
    /* acquire: pairs with the release in executor_worker_main(). */
    while (atomic_load_explicit(&executor->ready, memory_order_acquire) + 1 < executor->workers) {
        sched_yield();
    }
    return executor;
}

void executor_release(struct executor *executor)
{
    /* release: shows the workers the actors and messages that the driver has made. */
    atomic_store_explicit(&executor->go, true, memory_order_release);
}

void executor_run(struct executor *executor)
{
    executor_release(executor);
    executor_worker_loop(&executor->worker[0]);
    for (unsigned i = 1; i < executor->workers; i++) {
        pthread_join(executor->worker[i].thread, NULL);
    }
}

void executor_destroy(struct executor *executor)
{
    uint64_t lost = 0;
    for (unsigned i = 0; i < executor->queues; i++) {
        lost += copy_queue_count(&executor->queue[i].queue);
        work_queue_destroy(&executor->queue[i]);
    }
    if (lost != 0) {
        fprintf(stderr, "odeon-baseline: %llu messages sent but not received\n",
                (unsigned long long)lost);
    }
    for (unsigned i = 0; i < executor->workers; i++) {
        copy_queue_destroy(&executor->worker[i].local);
    }
    free(executor->worker);
    free(executor->slots);
    free(executor->queue);
    free(executor);
}
