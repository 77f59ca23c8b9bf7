/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_send.c - static send, dynamic send and ping-pong: the price of one message when few actors
 * exist.
 *
 * static send: one actor sends itself one static message, counting to n.
 * dynamic send: on each message an actor makes a new actor and a new message, sends, and ends; the
 * executor frees
 *   both.
 * ping-pong: two actors and one message each, on one worker (pingpong) or on two (pingpong_cross).
 *
 * The objects are owned by the driver, or by the executor once sent with DELETE. A behaviour
 * touches only its own actor and message, so the queue's exclusion guards them.
 *
 * Invariants:
 *  1. At most one message is in flight.
 *  2. n messages are sent in all (ping-pong rounds n up to even), and the driver's first one, which
 *     is not counted.
 */
#include "bench.h"

#define DEFAULT_MESSAGES 10000000u

static uint64_t send_count(const struct bench_options *options)
{
    return options->n != 0 ? options->n : DEFAULT_MESSAGES;
}

/* ---- static send ---- */

struct static_actor {
    struct actor actor;
    uint64_t limit;
};

struct static_message {
    struct message message;
    uint64_t count;
};

static enum allocation bench_send_static_receive(struct actor *actor, struct message *message)
{
    struct static_actor *self = (struct static_actor *)actor;
    struct static_message *counter = (struct static_message *)message;
    if (counter->count >= self->limit) {
        return ALLOCATION_FINISHED;
    }
    counter->count++;
    actor_send(actor, message, bench_send_static_receive);
    return ALLOCATION_NODELETE;
}

struct bench_result bench_static_send(const struct bench_options *options)
{
    static struct static_actor actor;
    static struct static_message message;
    uint64_t n = send_count(options);
    struct executor *executor = executor_create(&options->executor);

    uint64_t begin = executor_now_ns();
    actor_init(executor, &actor.actor);
    actor.limit = n;
    message_init(&message.message, ALLOCATION_NODELETE);
    message.count = 0;
    actor_send(&actor.actor, &message.message, bench_send_static_receive);
    executor_run(executor);

    struct bench_result result = { .messages = n, .elapsed_ns = executor->ended_ns - begin };
    executor_destroy(executor);
    return result;
}

/* ---- dynamic send ---- */

struct dynamic_actor {
    struct actor actor;
};

struct dynamic_message {
    struct message message;
    uint64_t count;
};

/* Set by the driver before the workers are released, and constant until they have ended. */
static struct executor *dynamic_executor;
static uint64_t dynamic_limit;

static enum allocation bench_send_dynamic_receive(struct actor *actor, struct message *message);

static void bench_send_dynamic_spawn(uint64_t count)
{
    struct dynamic_actor *actor = bench_alloc(sizeof(*actor));
    actor_init(dynamic_executor, &actor->actor);
    struct dynamic_message *message = bench_alloc(sizeof(*message));
    message_init(&message->message, ALLOCATION_DELETE);
    message->count = count;
    actor_send(&actor->actor, &message->message, bench_send_dynamic_receive);
}

static enum allocation bench_send_dynamic_receive(struct actor *actor, struct message *message)
{
    (void)actor;
    uint64_t count = ((struct dynamic_message *)message)->count;
    if (count < dynamic_limit) {
        bench_send_dynamic_spawn(count + 1);
    }
    return ALLOCATION_DELETE;
}

struct bench_result bench_dynamic_send(const struct bench_options *options)
{
    dynamic_limit = send_count(options);
    dynamic_executor = executor_create(&options->executor);

    uint64_t begin = executor_now_ns();
    bench_send_dynamic_spawn(0);
    executor_run(dynamic_executor);

    struct bench_result result = { .messages = dynamic_limit,
                                   .elapsed_ns = dynamic_executor->ended_ns - begin };
    executor_destroy(dynamic_executor);
    return result;
}

/* ---- ping-pong ---- */

/* On a line of its own, so that two workers share no more than the queues and messages make
 * them. */
struct player {
    alignas(CACHE_LINE) struct actor actor;
    struct player *peer;
    struct message ball; /* what this player sends */
    uint64_t left;       /* how many times it still sends */
};

static enum allocation bench_send_ping_receive(struct actor *actor, struct message *message);

/* Answers each message, and ends with its last answer. */
static enum allocation bench_send_pong_receive(struct actor *actor, struct message *message)
{
    (void)message;
    struct player *self = (struct player *)actor;
    self->left--;
    enum allocation fate = self->left == 0 ? ALLOCATION_FINISHED : ALLOCATION_NODELETE;
    actor_send(&self->peer->actor, &self->ball, bench_send_ping_receive);
    return fate;
}

/* Plays the ball again, and ends on the answer to its last one. */
static enum allocation bench_send_ping_receive(struct actor *actor, struct message *message)
{
    (void)message;
    struct player *self = (struct player *)actor;
    if (self->left == 0) {
        return ALLOCATION_FINISHED;
    }
    self->left--;
    actor_send(&self->peer->actor, &self->ball, bench_send_pong_receive);
    return ALLOCATION_NODELETE;
}

static void bench_send_player_init(struct player *self, struct player *peer, uint64_t sends)
{
    self->peer = peer;
    self->left = sends;
    message_init(&self->ball, ALLOCATION_NODELETE);
}

static struct bench_result bench_send_pingpong_run(const struct bench_options *options, bool cross)
{
    static struct player ping;
    static struct player pong;
    uint64_t trips = (send_count(options) + 1) / 2;
    struct executor *executor = executor_create(&options->executor);
    unsigned near = executor->range > 1 ? 1 : 0;
    unsigned pong_queue = cross ? executor->range : near;

    bench_send_player_init(&ping, &pong, trips);
    bench_send_player_init(&pong, &ping, trips);
    uint64_t begin = executor_now_ns();
    actor_init_at(executor, &ping.actor, 0);
    actor_init_at(executor, &pong.actor, pong_queue);
    actor_send(&ping.actor, &pong.ball, bench_send_ping_receive);
    executor_run(executor);

    struct bench_result result = { .messages = 2 * trips,
                                   .elapsed_ns = executor->ended_ns - begin };
    executor_destroy(executor);
    return result;
}

struct bench_result bench_pingpong(const struct bench_options *options)
{
    return bench_send_pingpong_run(options, false);
}

struct bench_result bench_pingpong_cross(const struct bench_options *options)
{
    return bench_send_pingpong_run(options, true);
}
