/* SPDX-License-Identifier: Apache-2.0 */
/*
 * executor.h - actors, messages and the message-centric executor that runs them.
 *
 * The executor owns the work queues, the slots that refer to them and the workers. Worker i is
 * bound to slots [i * range, (i + 1) * range) and cycles over them; it never sleeps. Worker 0 is
 * the thread that calls executor_run(), the others are threads made by executor_create(); each is
 * pinned to one processor.
 *
 * Threads: executor_create(), executor_release(), executor_run() and executor_destroy() are called
 * by one driver thread. actor_init() and actor_send() may be called by the driver and by behaviours
 * on any worker.
 *
 * Invariants:
 *  1. An actor has the same work queue for life; queues are dealt out by a round-robin ticket.
 *  2. live is the number of actors begun and not ended. Only a worker brings it to zero, and it
 *     then stays zero, if actors are made before executor_release() or by live actors.
 *  3. done becomes true once, when live has become zero; workers leave when they find it true and
 *     have no work.
 *  4. A slot holds a work queue, or NULL while the worker of that range swaps it; the non-NULL
 *     slots name each queue at most once at any time, and exactly once while no swap is under way.
 */
#ifndef BASELINE_EXECUTOR_H
#define BASELINE_EXECUTOR_H

#include <pthread.h>
#include <stddef.h>

#include "work_queue.h"

/* Head of every actor. */
struct actor {
    struct work_queue *queue;
    void (*destroy)(struct actor *actor); /* or NULL; for DELETE and DESTROY */
};

/* Head of every message. */
struct message {
    void (*destroy)(struct message *message); /* or NULL; for DELETE and DESTROY */
    enum allocation allocation;
};

typedef _Atomic(struct work_queue *) queue_slot;

struct executor;

/* One worker. The first line is read by thieves, the rest is private to the worker. */
struct worker {
    alignas(CACHE_LINE) _Atomic uint64_t last_steal; /* time of its last attempt to steal */
    alignas(CACHE_LINE) struct executor *executor;
    unsigned index;
    unsigned first; /* its first slot */
    uint64_t random;
    struct copy_queue local; /* what it gulped */
    pthread_t thread;
    int cpu;
};

struct executor_options {
    unsigned workers;
    unsigned queues_per_worker;
    bool stealing;
    const int *cpus; /* cpus[i] for worker i; at least `workers` of them */
};

struct executor {
    unsigned workers;
    unsigned range; /* slots of one worker */
    unsigned queues;
    bool stealing;
    struct worker *worker;
    struct work_queue *queue;
    queue_slot *slots;
    alignas(CACHE_LINE) _Atomic uint64_t next_ticket;
    alignas(CACHE_LINE) _Atomic uint64_t live;
    alignas(CACHE_LINE) atomic_bool done;
    atomic_bool go;
    atomic_uint ready;
    uint64_t ended_ns; /* when done became true; read after executor_run() */
};

/* Makes the queues and the workers; the workers are pinned and wait for executor_release(). */
struct executor *executor_create(const struct executor_options *options);

/* Lets workers 1.. run. Worker 0 runs in executor_run(). */
void executor_release(struct executor *executor);

/* Releases the workers if that was not done, and works as worker 0 until no actor is left. */
void executor_run(struct executor *executor);

/* Reports messages that were sent and never received, and frees everything. */
void executor_destroy(struct executor *executor);

/* Zeroed memory aligned to cache lines, for free(); ends the program when there is none. */
__attribute__((returns_nonnull, malloc)) void *executor_alloc(size_t count, size_t size);

/* Monotonic time in nanoseconds. */
uint64_t executor_now_ns(void);

/* Begins an actor on the given queue; for placement by hand. */
static inline void actor_init_at(struct executor *executor, struct actor *actor, unsigned queue)
{
    actor->queue = &executor->queue[queue];
    actor->destroy = NULL;
    /* relaxed: a mere count; it cannot be zero here unless no worker has been released (invariant
     * 2). */
    atomic_fetch_add_explicit(&executor->live, 1, memory_order_relaxed);
}

/* Begins an actor on the queue that the next ticket gives. */
static inline void actor_init(struct executor *executor, struct actor *actor)
{
    /* relaxed: only distinct numbers are wanted. */
    uint64_t ticket = atomic_fetch_add_explicit(&executor->next_ticket, 1, memory_order_relaxed);
    actor_init_at(executor, actor, (unsigned)(ticket % executor->queues));
}

static inline void message_init(struct message *message, enum allocation allocation)
{
    message->destroy = NULL;
    message->allocation = allocation;
}

/* Sends `message` to `actor`, to be received by `behave`. */
static inline void actor_send(struct actor *actor, struct message *message, behaviour *behave)
{
    work_queue_push(actor->queue, actor, message, behave);
}

#endif
