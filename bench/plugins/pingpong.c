/* SPDX-License-Identifier: Apache-2.0 */
/* pingpong_local and pingpong_cross: two actors and one ball.
 *
 * local: both on the driver's queue, so always run by the same worker; cross: on two queues, one
 * after the other in the round of all queues, which lie on different workers only if the service
 * spreads that way or a worker steals one: run it with one queue a worker and without stealing for
 * a cross-core figure. Messages: n, rounded up to even; two a trip. Clock: from before the first
 * ball until the last one is back. Both actors are known to exist before the clock starts: the peer
 * has answered a first ball that is not counted.
 */
#include "driver.h"

#define DEFAULT_MESSAGES 10000000u

ODEON_SIGNAL(bench_ball, 1);
ODEON_INTERFACE(bench_pong, bench_ball);
ODEON_INTERFACE(bench_ping, bench_ball);
ODEON_INTERFACE(bench_pingpong_local, bench_run);
ODEON_INTERFACE(bench_pingpong_cross, bench_run);

struct ping_args {
    uint64_t trips;
    odeon_ref client;
    bench_pong_ref peer;
};

/* Sends back what it gets. */
ODEON_STATELESS(bench_pong);

ODEON_RECEIVE(bench_pong, bench_ball)
{
    odeon_signal(ctx, odeon_as(bench_ping, ctx->sender), bench_ball);
    return ODEON_NODELETE;
}

ODEON_HANDLERS(bench_pong, ODEON_ON(bench_pong, bench_ball));
ODEON_ACTOR_TYPE(bench_pong);

ODEON_STATE(bench_ping, {
    bench_pong_ref peer;
    uint64_t left, begin_ns, trips;
    odeon_ref client;
});

ODEON_INIT(bench_ping, struct ping_args)
{
    self->peer = args->peer;
    self->trips = args->trips;
    self->left = args->trips;
    self->client = args->client;
    return odeon_signal(ctx, self->peer, bench_ball); /* its answer starts the clock */
}

ODEON_RECEIVE(bench_ping, bench_ball)
{
    if (__builtin_expect(self->left == 0, 0)) {
        uint64_t elapsed_ns = odeon_now_ns(ctx) - self->begin_ns;
        odeon_poison_delete(ctx, self->peer);
        return driver_finish(ctx, self->client, elapsed_ns, 2 * self->trips);
    }
    if (__builtin_expect(self->begin_ns == 0, 0))
        self->begin_ns = odeon_now_ns(ctx);
    self->left--;
    odeon_signal(ctx, self->peer, bench_ball);
    return ODEON_NODELETE;
}

ODEON_HANDLERS(bench_ping, ODEON_ON(bench_ping, bench_ball));
ODEON_ACTOR_TYPE(bench_ping);

static int pingpong_start(struct odeon_context *ctx, const struct bench_run *run,
                          uint32_t placement)
{
    bench_pong_ref pong;
    bench_ping_ref ping;
    int r = odeon_spawn_into(ctx, &pong, bench_pong, .placement = placement);
    if (r == 0)
        r = odeon_spawn_into(ctx, &ping, bench_ping, .placement = placement,
                             ODEON_ARGS(struct ping_args,
                                        .trips = (driver_default(run->n, DEFAULT_MESSAGES) + 1) / 2,
                                        .client = ctx->sender, .peer = pong));
    return r < 0 ? driver_fail(ctx, ctx->sender, r, "cannot make the two actors") : ODEON_DELETE;
}

ODEON_STATELESS(bench_pingpong_local);
ODEON_RECEIVE(bench_pingpong_local, bench_run)
{
    return pingpong_start(ctx, msg, ODEON_PLACE_HERE);
}
ODEON_HANDLERS(bench_pingpong_local, ODEON_ON(bench_pingpong_local, bench_run));
ODEON_ACTOR_TYPE(bench_pingpong_local);

ODEON_STATELESS(bench_pingpong_cross);
ODEON_RECEIVE(bench_pingpong_cross, bench_run)
{
    return pingpong_start(ctx, msg, ODEON_PLACE_SPREAD);
}
ODEON_HANDLERS(bench_pingpong_cross, ODEON_ON(bench_pingpong_cross, bench_run));
ODEON_ACTOR_TYPE(bench_pingpong_cross);
