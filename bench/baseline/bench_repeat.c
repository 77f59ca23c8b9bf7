/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_repeat.c - one client, many servers, two kinds of request.
 *
 * In each round the client sends each server, in order, an integer request and a string request;
 * the server puts the answer into the request and sends it back. When all answers are in, the
 * client sends itself the start of the next round, and after the last one it stops the servers and
 * ends. Start and stop messages are not counted as messages.
 *
 * The driver owns all objects. A request belongs to the client, from its sending to its receipt to
 * the server, and then to the client again; the queues pass it on.
 *
 * Invariants:
 *  1. pending is the number of requests of this round without an answer; no request is sent again
 *     before it is zero.
 *  2. A server is sent its stop after all its answers were received, and ends on it.
 */
#include "bench.h"

#include <string.h>

struct int_request {
    struct message message;
    int32_t value;
};

struct string_request {
    struct message message;
    char text[4];
};

/* A server and its two requests. */
struct server {
    struct actor actor;
    struct int_request number;
    struct string_request string;
};

struct client {
    struct actor actor;
    struct server *servers;
    uint64_t pending;
    uint32_t server_count;
    uint32_t rounds;
    uint64_t wrong; /* answers that were not what they should be */
    uint64_t end_ns;
};

/* Written by the driver before the run and by the client's behaviours in it. */
static struct client client;
static struct message control;

/* The typed heads come first in their structures, so a request's address is its message's. */
static enum allocation bench_repeat_client_receive_int(struct actor *actor,
                                                       struct message *message);
static enum allocation bench_repeat_client_receive_string(struct actor *actor,
                                                          struct message *message);

static enum allocation bench_repeat_server_receive_int(struct actor *actor, struct message *message)
{
    (void)actor;
    ((struct int_request *)message)->value = 7;
    actor_send(&client.actor, message, bench_repeat_client_receive_int);
    return ALLOCATION_NODELETE;
}

static enum allocation bench_repeat_server_receive_string(struct actor *actor,
                                                          struct message *message)
{
    (void)actor;
    memcpy(((struct string_request *)message)->text, "XYZ", 4);
    actor_send(&client.actor, message, bench_repeat_client_receive_string);
    return ALLOCATION_NODELETE;
}

static enum allocation bench_repeat_server_receive_stop(struct actor *actor,
                                                        struct message *message)
{
    (void)actor;
    (void)message;
    return ALLOCATION_FINISHED;
}

static enum allocation bench_repeat_client_receive_start(struct actor *actor,
                                                         struct message *message)
{
    struct client *self = (struct client *)actor;
    (void)message;
    self->pending = 2ull * self->server_count;
    for (uint32_t i = 0; i < self->server_count; i++) {
        struct server *server = &self->servers[i];
        server->number.value = 0;
        server->string.text[0] = '\0';
        actor_send(&server->actor, &server->number.message, bench_repeat_server_receive_int);
        actor_send(&server->actor, &server->string.message, bench_repeat_server_receive_string);
    }
    return ALLOCATION_NODELETE;
}

/* All answers of the round are in. */
static __attribute__((noinline)) enum allocation bench_repeat_client_end_round(struct client *self)
{
    if (--self->rounds != 0) {
        actor_send(&self->actor, &control, bench_repeat_client_receive_start);
        return ALLOCATION_NODELETE;
    }
    self->end_ns = executor_now_ns();
    for (uint32_t i = 0; i < self->server_count; i++) {
        actor_send(&self->servers[i].actor, &control, bench_repeat_server_receive_stop);
    }
    return ALLOCATION_FINISHED;
}

static inline enum allocation bench_repeat_client_count(struct client *self, bool right)
{
    self->wrong += !right;
    return --self->pending == 0 ? bench_repeat_client_end_round(self) : ALLOCATION_NODELETE;
}

static enum allocation bench_repeat_client_receive_int(struct actor *actor, struct message *message)
{
    return bench_repeat_client_count((struct client *)actor,
                                     ((struct int_request *)message)->value == 7);
}

static enum allocation bench_repeat_client_receive_string(struct actor *actor,
                                                          struct message *message)
{
    return bench_repeat_client_count(
        (struct client *)actor, memcmp(((struct string_request *)message)->text, "XYZ", 4) == 0);
}

static void repeat_init(const struct bench_options *options, struct executor *executor,
                        uint32_t servers)
{
    client.server_count = servers;
    client.rounds = options->rounds != 0 ? options->rounds : 200;
    client.servers = executor_alloc(servers, sizeof(*client.servers));
    client.wrong = 0;
    message_init(&control, ALLOCATION_NODELETE);
    actor_init(executor, &client.actor);
    for (uint32_t i = 0; i < servers; i++) {
        struct server *server = &client.servers[i];
        actor_init(executor, &server->actor);
        message_init(&server->number.message, ALLOCATION_NODELETE);
        message_init(&server->string.message, ALLOCATION_NODELETE);
    }
}

struct bench_result bench_repeat(const struct bench_options *options)
{
    uint32_t servers = options->actors != 0 ? options->actors : 100000;
    struct executor *executor = executor_create(&options->executor);
    repeat_init(options, executor, servers);
    uint64_t messages = 4ull * servers * client.rounds;

    uint64_t begin = executor_now_ns();
    actor_send(&client.actor, &control, bench_repeat_client_receive_start);
    executor_run(executor);

    struct bench_result result = { .messages = messages, .elapsed_ns = client.end_ns - begin };
    if (client.wrong != 0) {
        fprintf(stderr, "odeon-baseline: repeat: %llu wrong answers\n",
                (unsigned long long)client.wrong);
        exit(EXIT_FAILURE);
    }
    executor_destroy(executor);
    free(client.servers);
    return result;
}
