/* SPDX-License-Identifier: Apache-2.0 */
/* 1, ping pong: one message in flight.
 *
 * `ping` is told to start. Then, `n` times: it sends a ping to `pong`, which sends a pong to
 * whoever has sent that; when the pong comes, ping sends a message to itself, which makes it send
 * the next ping. Behind the last pong it tells pong to stop, and ends; so does pong.
 * Messages: 3n + 1. Check: the number of pongs.
 */
#include "program.h"

ODEON_ARGUMENTS(pingpong_args, { uint64_t n; });

ODEON_SIGNAL(pingpong_start, 1);
ODEON_SIGNAL(pingpong_send_ping, 1);
ODEON_SIGNAL(pingpong_send_pong, 1);
ODEON_SIGNAL(pingpong_ping_me, 1);
ODEON_SIGNAL(pingpong_stop, 1);
ODEON_INTERFACE(pingpong_ping, pingpong_start, pingpong_send_pong, pingpong_ping_me);
ODEON_INTERFACE(pingpong_pong, pingpong_send_ping, pingpong_stop);

ODEON_STATELESS(pingpong_pong);

ODEON_RECEIVE(pingpong_pong, pingpong_send_ping)
{
    program_must(ctx, odeon_signal(ctx, odeon_as(pingpong_ping, ctx->sender), pingpong_send_pong));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(pingpong_pong, pingpong_stop)
{
    return ODEON_DELETE;
}

ODEON_HANDLERS(pingpong_pong, ODEON_ON(pingpong_pong, pingpong_send_ping),
               ODEON_ON(pingpong_pong, pingpong_stop));
ODEON_ACTOR_TYPE(pingpong_pong, ODEON_POLICY(ODEON_RESTART_STOP));

struct pingpong_ping_args {
    pingpong_pong_ref pong;
    uint64_t n;
};

ODEON_STATE(pingpong_ping, {
    pingpong_pong_ref pong;
    uint64_t left, pongs;
});

ODEON_INIT(pingpong_ping, struct pingpong_ping_args)
{
    self->pong = args->pong;
    self->left = args->n;
    return 0;
}

static int pingpong_serve(struct pingpong_ping_state *self, struct odeon_context *ctx)
{
    self->left--;
    program_must(ctx, odeon_signal(ctx, self->pong, pingpong_send_ping));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(pingpong_ping, pingpong_start)
{
    return pingpong_serve(self, ctx);
}

ODEON_RECEIVE(pingpong_ping, pingpong_ping_me)
{
    return pingpong_serve(self, ctx);
}

ODEON_RECEIVE(pingpong_ping, pingpong_send_pong)
{
    self->pongs++;
    if (self->left > 0) {
        program_must(ctx, odeon_signal(ctx, odeon_self(ctx, pingpong_ping), pingpong_ping_me));
        return ODEON_NODELETE;
    }
    program_must(ctx, odeon_signal(ctx, self->pong, pingpong_stop));
    program_report(ctx, .count = (int64_t)self->pongs);
    return ODEON_DELETE;
}

ODEON_HANDLERS(pingpong_ping, ODEON_ON(pingpong_ping, pingpong_start),
               ODEON_ON(pingpong_ping, pingpong_send_pong),
               ODEON_ON(pingpong_ping, pingpong_ping_me));
ODEON_ACTOR_TYPE(pingpong_ping, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the head ---- */

ODEON_STATE(savina_pingpong, {
    struct program program;
    struct pingpong_args args;
});

static void pingpong_accept(struct savina_pingpong_state *self)
{
    program_range(&self->program, "n", self->args.n, 1, 1000000000);
}

static int pingpong_step(struct savina_pingpong_state *self, struct odeon_context *ctx)
{
    pingpong_pong_ref pong;
    pingpong_ping_ref ping;
    int r = odeon_spawn_into(ctx, &pong, pingpong_pong);
    if (r == 0)
        r = odeon_spawn_into(
            ctx, &ping, pingpong_ping,
            ODEON_ARGS(struct pingpong_ping_args, .pong = pong, .n = self->args.n));
    if (r == 0)
        r = odeon_signal(ctx, ping, pingpong_start);
    self->program.awaited = 1;
    self->program.messages = 3 * self->args.n + 1;
    return r;
}

static void pingpong_verify(struct savina_pingpong_state *self)
{
    program_expect(&self->program, "pongs", self->program.count, (int64_t)self->args.n);
}

PROGRAM(pingpong);
