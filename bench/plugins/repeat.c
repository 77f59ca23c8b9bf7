/* SPDX-License-Identifier: Apache-2.0 */
/* repeat: one client actor, many servers, two kinds of request.
 *
 * In each round the client sends each server, in order, an integer request and a string request;
 * the server answers each at once, with 7 and "XYZ". When all answers of a round are in, the client
 * sends itself the start of the next one. Messages: 4 * servers * rounds (starts and stops are not
 * counted). Clock: from the first start until the last answer. Check: every answer has the right
 * value. The driver is the client. Every server has run its init before the clock starts.
 */
#include "driver.h"

#include <stdbool.h>
#include <stdlib.h>

enum { DEFAULT_SERVERS = 100000, DEFAULT_ROUNDS = 10, SERVERS_MAX = 10000000 };

ODEON_MESSAGE(bench_number, 1, { int64_t value; });
ODEON_MESSAGE(bench_string, 1, { char text[8]; });
ODEON_SIGNAL(bench_server_ready, 1);
ODEON_SIGNAL(bench_repeat_step, 1); /* go on: spawning, or sending this round's requests */
ODEON_INTERFACE(bench_server, bench_number, bench_string);
ODEON_INTERFACE(bench_repeat, bench_run, bench_number, bench_string, bench_server_ready,
                bench_repeat_step);

struct server_args {
    bench_repeat_ref client;
};

ODEON_STATELESS(bench_server);

ODEON_INIT(bench_server, struct server_args)
{
    return odeon_signal(ctx, args->client, bench_server_ready);
}

ODEON_RECEIVE(bench_server, bench_number)
{
    odeon_send(ctx, odeon_as(bench_repeat, ctx->sender), bench_number, .value = 7);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(bench_server, bench_string)
{
    odeon_send(ctx, odeon_as(bench_repeat, ctx->sender), bench_string, .text = "XYZ");
    return ODEON_NODELETE;
}

ODEON_HANDLERS(bench_server, ODEON_ON(bench_server, bench_number),
               ODEON_ON(bench_server, bench_string));
ODEON_ACTOR_TYPE(bench_server, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the client ---- */

ODEON_STATE(bench_repeat, {
    bench_server_ref *servers;
    odeon_ref client; /* who started the benchmark */
    uint64_t begin_ns, pending;
    uint32_t n_servers, spawned, ready, sent, stopped, rounds, round;
    bool wrong;
});

ODEON_FINI(bench_repeat)
{
    free(self->servers);
}

ODEON_RECEIVE(bench_repeat, bench_run)
{
    uint64_t servers = driver_default(msg->actors, DEFAULT_SERVERS);
    self->client = ctx->sender;
    if (self->servers != NULL || servers > SERVERS_MAX)
        return driver_fail(ctx, self->client, -EINVAL, "bad number of servers");
    self->servers = malloc(servers * sizeof(self->servers[0]));
    if (self->servers == NULL)
        return driver_fail(ctx, self->client, -ENOMEM, "no memory for the table of servers");
    self->n_servers = (uint32_t)servers;
    self->rounds = (uint32_t)driver_default(msg->rounds, DEFAULT_ROUNDS);
    odeon_signal(ctx, odeon_as(bench_repeat, ctx->self), bench_repeat_step);
    return ODEON_NODELETE;
}

static int repeat_spawn(struct bench_repeat_state *self, struct odeon_context *ctx)
{
    for (uint32_t i = 0; i < DRIVER_STEP && self->spawned < self->n_servers; i++) {
        int r = odeon_spawn_into(
            ctx, &self->servers[self->spawned], bench_server,
            ODEON_ARGS(struct server_args, .client = odeon_as(bench_repeat, ctx->self)));
        if ((r == -ENOBUFS || r == -EAGAIN) && i > 0)
            break;
        if (r < 0)
            return r;
        self->spawned++;
    }
    return 0;
}

/* Both requests to each server; a server that has got its first and not its second goes on with the
 * second. */
static int repeat_send(struct bench_repeat_state *self, struct odeon_context *ctx)
{
    uint32_t first = self->sent;
    for (; self->sent < 2 * self->n_servers; self->sent++) {
        bench_server_ref server = self->servers[self->sent / 2];
        int r = self->sent % 2 == 0 ? odeon_send(ctx, server, bench_number, .value = 0)
                                    : odeon_send(ctx, server, bench_string, .text = "");
        if ((r == -ENOBUFS || r == -EAGAIN) && self->sent > first)
            break;
        if (r < 0)
            return r;
    }
    return 0;
}

static int repeat_stop(struct bench_repeat_state *self, struct odeon_context *ctx)
{
    uint32_t first = self->stopped;
    for (; self->stopped < self->n_servers; self->stopped++) {
        int r = odeon_poison_delete(ctx, self->servers[self->stopped]);
        if ((r == -ENOBUFS || r == -EAGAIN) && self->stopped > first)
            break;
        if (r < 0)
            return r;
    }
    return 0;
}

ODEON_RECEIVE(bench_repeat, bench_repeat_step)
{
    int r;
    bool more;
    if (self->spawned < self->n_servers) {
        r = repeat_spawn(self, ctx);
        more = self->spawned < self->n_servers;
    } else if (self->round < self->rounds) {
        if (self->begin_ns == 0)
            self->begin_ns = odeon_now_ns(ctx);
        if (self->sent == 0)
            self->pending = 2 * (uint64_t)self->n_servers;
        r = repeat_send(self, ctx);
        more = self->sent < 2 * self->n_servers;
    } else {
        r = repeat_stop(self, ctx);
        more = self->stopped < self->n_servers;
        if (r == 0 && !more)
            return ODEON_DELETE;
    }
    if (r == 0 && more)
        r = odeon_signal(ctx, odeon_as(bench_repeat, ctx->self), bench_repeat_step);
    return r < 0 ? driver_fail(ctx, self->client, r, "cannot spawn, ask or stop all servers")
                 : ODEON_NODELETE;
}

ODEON_RECEIVE(bench_repeat, bench_server_ready)
{
    if (++self->ready == self->n_servers)
        odeon_signal(ctx, odeon_as(bench_repeat, ctx->self), bench_repeat_step);
    return ODEON_NODELETE;
}

/* All answers of the round are in. */
static __attribute__((noinline)) int repeat_end_round(struct bench_repeat_state *self,
                                                      struct odeon_context *ctx)
{
    self->sent = 0;
    if (++self->round == self->rounds) {
        uint64_t elapsed_ns = odeon_now_ns(ctx) - self->begin_ns;
        if (self->wrong)
            driver_fail(ctx, self->client, -EBADMSG, "a server gave a wrong answer");
        else
            driver_finish(ctx, self->client, elapsed_ns,
                          4 * (uint64_t)self->n_servers * self->rounds);
    }
    odeon_signal(ctx, odeon_as(bench_repeat, ctx->self), bench_repeat_step);
    return ODEON_NODELETE;
}

static inline int repeat_count(struct bench_repeat_state *self, struct odeon_context *ctx,
                               bool right)
{
    self->wrong |= !right;
    return --self->pending == 0 ? repeat_end_round(self, ctx) : ODEON_NODELETE;
}

ODEON_RECEIVE(bench_repeat, bench_number)
{
    return repeat_count(self, ctx, msg->value == 7);
}

ODEON_RECEIVE(bench_repeat, bench_string)
{
    return repeat_count(self, ctx, memcmp(msg->text, "XYZ", 4) == 0);
}

ODEON_HANDLERS(bench_repeat, ODEON_ON(bench_repeat, bench_run),
               ODEON_ON(bench_repeat, bench_number), ODEON_ON(bench_repeat, bench_string),
               ODEON_ON(bench_repeat, bench_server_ready),
               ODEON_ON(bench_repeat, bench_repeat_step));
ODEON_ACTOR_TYPE(bench_repeat, ODEON_POLICY(ODEON_RESTART_STOP));
