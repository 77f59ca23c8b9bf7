/* SPDX-License-Identifier: Apache-2.0 */
/* spawn_stop: how fast actors come and go.
 *
 * The driver makes SWARM actors, spread over all queues, and sends each one message; each tells the
 * driver, and ends. When it has heard of all of them it makes the next SWARM, until there were n
 * actors. "Messages": n, so the time is that of an actor: its making, two messages, and its end.
 * Clock: from before the first spawn until the last actor's message.
 */
#include "driver.h"

enum { SWARM = 1024 };
#define DEFAULT_ACTORS 2000000u

ODEON_SIGNAL(bench_mayfly_end, 1);
ODEON_SIGNAL(bench_mayfly_ended, 1);
ODEON_INTERFACE(bench_mayfly, bench_mayfly_end);
ODEON_INTERFACE(bench_spawn_stop, bench_run, bench_mayfly_ended);

ODEON_STATELESS(bench_mayfly);

ODEON_RECEIVE(bench_mayfly, bench_mayfly_end)
{
    odeon_signal(ctx, odeon_as(bench_spawn_stop, ctx->sender), bench_mayfly_ended);
    return ODEON_DELETE;
}

ODEON_HANDLERS(bench_mayfly, ODEON_ON(bench_mayfly, bench_mayfly_end));
ODEON_ACTOR_TYPE(bench_mayfly, ODEON_POLICY(ODEON_RESTART_STOP));

ODEON_STATE(bench_spawn_stop, {
    odeon_ref client;
    uint64_t begin_ns, n, left;
    uint32_t alive;
});

static int spawn_stop_swarm(struct bench_spawn_stop_state *self, struct odeon_context *ctx)
{
    for (; self->alive < SWARM && self->left > 0; self->alive++, self->left--) {
        bench_mayfly_ref mayfly;
        int r = odeon_spawn_into(ctx, &mayfly, bench_mayfly);
        if (r == 0)
            r = odeon_signal(ctx, mayfly, bench_mayfly_end);
        if (r < 0)
            return driver_fail(ctx, self->client, r, "cannot make an actor");
    }
    return ODEON_NODELETE;
}

ODEON_RECEIVE(bench_spawn_stop, bench_run)
{
    self->client = ctx->sender;
    self->n = self->left = driver_default(msg->n, DEFAULT_ACTORS);
    self->begin_ns = odeon_now_ns(ctx);
    return spawn_stop_swarm(self, ctx);
}

ODEON_RECEIVE(bench_spawn_stop, bench_mayfly_ended)
{
    if (--self->alive > 0)
        return ODEON_NODELETE;
    if (self->left > 0)
        return spawn_stop_swarm(self, ctx);
    return driver_finish(ctx, self->client, odeon_now_ns(ctx) - self->begin_ns, self->n);
}

ODEON_HANDLERS(bench_spawn_stop, ODEON_ON(bench_spawn_stop, bench_run),
               ODEON_ON(bench_spawn_stop, bench_mayfly_ended));
ODEON_ACTOR_TYPE(bench_spawn_stop, ODEON_POLICY(ODEON_RESTART_STOP));
