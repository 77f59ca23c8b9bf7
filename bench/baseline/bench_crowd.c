/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_crowd.c - fan-in and spawn-stop: one actor and a crowd of others.
 *
 * fan-in: senders send n messages to one sink, FAN_BATCH of them in each behaviour, then one step
 * to themselves, which is
 *   not counted. Senders end when they have sent all of theirs, the sink when it has them all.
 * spawn-stop: the driver actor makes SWARM actors and sends each one message; each tells the driver
 * actor, and ends. When
 *   it has heard of all of them it makes the next SWARM, until there were n. Actors and messages
 *   are allocated for each.
 *
 * The driver owns what is in static storage; the executor frees what was sent with DELETE. sent of
 * a sender, left and alive are touched only by the behaviours of their actors.
 */
#include "bench.h"

#define FAN_BATCH        64u
#define DEFAULT_SENDERS  64u
#define DEFAULT_MESSAGES 10000000u
#define SWARM            1024u
#define DEFAULT_ACTORS   2000000u

/* ---- fan-in ---- */

struct fan_sender {
    struct actor actor;
    uint64_t left;
};

struct fan_sink {
    struct actor actor;
    uint64_t left;
    uint64_t end_ns;
};

static struct fan_sink fan_sink;
static struct message fan_message; /* one for all: the sink only counts */

static enum allocation bench_crowd_fan_sink_receive(struct actor *actor, struct message *message)
{
    struct fan_sink *self = (struct fan_sink *)actor;
    (void)message;
    if (--self->left > 0) {
        return ALLOCATION_NODELETE;
    }
    self->end_ns = executor_now_ns();
    return ALLOCATION_FINISHED;
}

static enum allocation bench_crowd_fan_step(struct actor *actor, struct message *message)
{
    struct fan_sender *self = (struct fan_sender *)actor;
    for (uint32_t i = 0; i < FAN_BATCH && self->left > 0; i++, self->left--) {
        actor_send(&fan_sink.actor, &fan_message, bench_crowd_fan_sink_receive);
    }
    if (self->left == 0) {
        return ALLOCATION_FINISHED;
    }
    actor_send(actor, message, bench_crowd_fan_step);
    return ALLOCATION_NODELETE;
}

struct bench_result bench_fan_in(const struct bench_options *options)
{
    uint32_t senders = options->actors != 0 ? options->actors : DEFAULT_SENDERS;
    uint64_t each = ((options->n != 0 ? options->n : DEFAULT_MESSAGES) + senders - 1) / senders;
    struct fan_sender *sender = executor_alloc(senders, sizeof(*sender));
    struct executor *executor = executor_create(&options->executor);
    message_init(&fan_message, ALLOCATION_NODELETE);
    fan_sink.left = each * senders;
    actor_init(executor, &fan_sink.actor);
    for (uint32_t i = 0; i < senders; i++) {
        actor_init(executor, &sender[i].actor);
        sender[i].left = each;
    }
    executor_release(executor);

    uint64_t begin = executor_now_ns();
    for (uint32_t i = 0; i < senders; i++) {
        actor_send(&sender[i].actor, &fan_message, bench_crowd_fan_step);
    }
    executor_run(executor);

    struct bench_result result = { .messages = each * senders,
                                   .elapsed_ns = fan_sink.end_ns - begin };
    executor_destroy(executor);
    free(sender);
    return result;
}

/* ---- spawn-stop ---- */

struct hatcher {
    struct actor actor;
    struct executor *executor;
    uint64_t left;
    uint32_t alive;
};

static struct hatcher hatcher;
static struct message hatcher_message; /* one for all answers */

static enum allocation bench_crowd_hatcher_receive(struct actor *actor, struct message *message);

static enum allocation bench_crowd_mayfly_receive(struct actor *actor, struct message *message)
{
    (void)actor;
    (void)message;
    actor_send(&hatcher.actor, &hatcher_message, bench_crowd_hatcher_receive);
    return ALLOCATION_DELETE;
}

static void bench_crowd_hatcher_swarm(struct hatcher *self)
{
    for (; self->alive < SWARM && self->left > 0; self->alive++, self->left--) {
        struct actor *mayfly = bench_alloc(sizeof(*mayfly));
        actor_init(self->executor, mayfly);
        struct message *message = bench_alloc(sizeof(*message));
        message_init(message, ALLOCATION_DELETE);
        actor_send(mayfly, message, bench_crowd_mayfly_receive);
    }
}

static enum allocation bench_crowd_hatcher_receive(struct actor *actor, struct message *message)
{
    struct hatcher *self = (struct hatcher *)actor;
    (void)message;
    if (--self->alive > 0) {
        return ALLOCATION_NODELETE;
    }
    bench_crowd_hatcher_swarm(self);
    return self->alive > 0 ? ALLOCATION_NODELETE : ALLOCATION_FINISHED;
}

/* The first message stands for the answer of an actor that never was. */
struct bench_result bench_spawn_stop(const struct bench_options *options)
{
    uint64_t n = options->n != 0 ? options->n : DEFAULT_ACTORS;
    struct executor *executor = executor_create(&options->executor);
    message_init(&hatcher_message, ALLOCATION_NODELETE);
    hatcher.executor = executor;
    hatcher.left = n;
    hatcher.alive = 1;

    uint64_t begin = executor_now_ns();
    actor_init(executor, &hatcher.actor);
    actor_send(&hatcher.actor, &hatcher_message, bench_crowd_hatcher_receive);
    executor_run(executor);

    struct bench_result result = { .messages = n, .elapsed_ns = executor->ended_ns - begin };
    executor_destroy(executor);
    return result;
}
