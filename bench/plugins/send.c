/* SPDX-License-Identifier: Apache-2.0 */
/* static_send and dynamic_send: the price of one message when few actors exist.
 *
 * static_send: one actor gets a counter c; while c < n it sends c + 1 to itself. Clock: from before
 * the first send until it gets n. dynamic_send: on c < n the actor makes a new actor, sends it c +
 * 1 in a new message, and ends. Clock: the same, so the making and ending of n actors is in it. New
 * actors are placed on the queue of the one that makes them, or, if `place` says so, spread over
 * all queues. Messages: n. In both, at most one message is in flight, and every message is a new
 * one (a copy).
 */
#include "driver.h"

#define DEFAULT_MESSAGES 10000000u

ODEON_MESSAGE(bench_static_count, 1, { uint64_t count; });
ODEON_INTERFACE(bench_static_actor, bench_static_count);

struct dynamic_run {
    uint64_t n, begin_ns;
    odeon_ref client;
    uint64_t place;
};
/* The run is the driver's own memory, in this process: what a run of the paper's programs has in
 * static variables. */
ODEON_MESSAGE(bench_dynamic_count, 1, {
    uint64_t count;
    const struct dynamic_run *run;
});
ODEON_INTERFACE(bench_dynamic_actor, bench_dynamic_count);

/* ---- static_send ---- */

struct static_args {
    uint64_t n;
    odeon_ref client;
    uint64_t begin_ns;
};

ODEON_STATE(bench_static_actor, { struct static_args run; });

ODEON_INIT(bench_static_actor, struct static_args)
{
    self->run = *args;
    return 0;
}

ODEON_RECEIVE(bench_static_actor, bench_static_count)
{
    if (__builtin_expect(msg->count >= self->run.n, 0))
        return driver_finish(ctx, self->run.client, odeon_now_ns(ctx) - self->run.begin_ns,
                             self->run.n);
    odeon_send(ctx, odeon_as(bench_static_actor, ctx->self), bench_static_count,
               .count = msg->count + 1);
    return ODEON_NODELETE;
}

ODEON_HANDLERS(bench_static_actor, ODEON_ON(bench_static_actor, bench_static_count));
ODEON_ACTOR_TYPE(bench_static_actor);

ODEON_STATELESS(bench_static_send);

ODEON_RECEIVE(bench_static_send, bench_run)
{
    bench_static_actor_ref actor;
    int r = odeon_spawn_into(ctx, &actor, bench_static_actor, .placement = ODEON_PLACE_HERE,
                             ODEON_ARGS(struct static_args,
                                        .n = driver_default(msg->n, DEFAULT_MESSAGES),
                                        .client = ctx->sender, .begin_ns = odeon_now_ns(ctx)));
    if (r == 0)
        r = odeon_send(ctx, actor, bench_static_count, .count = 0);
    return r < 0 ? driver_fail(ctx, ctx->sender, r, "cannot start the actor") : ODEON_DELETE;
}

ODEON_HANDLERS(bench_static_send, ODEON_ON(bench_static_send, bench_run));
ODEON_ACTOR_TYPE(bench_static_send);

/* ---- dynamic_send ---- */

/* Makes an actor and sends it its message. */
static inline int send_dynamic_next(struct odeon_context *ctx, const struct dynamic_run *run,
                                    uint64_t count)
{
    bench_dynamic_actor_ref actor;
    int r = odeon_spawn_into(ctx, &actor, bench_dynamic_actor,
                             .placement = run->place == BENCH_PLACE_HERE ? ODEON_PLACE_HERE
                                                                         : ODEON_PLACE_SPREAD);
    return r < 0 ? r : odeon_send(ctx, actor, bench_dynamic_count, .count = count, .run = run);
}

ODEON_STATELESS(bench_dynamic_actor);

ODEON_RECEIVE(bench_dynamic_actor, bench_dynamic_count)
{
    const struct dynamic_run *run = msg->run;
    if (__builtin_expect(msg->count >= run->n, 0))
        return driver_finish(ctx, run->client, odeon_now_ns(ctx) - run->begin_ns, run->n);
    int r = send_dynamic_next(ctx, run, msg->count + 1);
    return __builtin_expect(r < 0, 0) ? driver_fail(ctx, run->client, r, "cannot make an actor")
                                      : ODEON_DELETE;
}

ODEON_HANDLERS(bench_dynamic_actor, ODEON_ON(bench_dynamic_actor, bench_dynamic_count));
ODEON_ACTOR_TYPE(bench_dynamic_actor);

ODEON_STATELESS(bench_dynamic_send);

ODEON_RECEIVE(bench_dynamic_send, bench_run)
{
    static struct dynamic_run run; /* one run at a time */
    run = (struct dynamic_run){
        .n = driver_default(msg->n, DEFAULT_MESSAGES),
        .begin_ns = odeon_now_ns(ctx),
        .client = ctx->sender,
        .place = msg->place,
    };
    int r = send_dynamic_next(ctx, &run, 0);
    return r < 0 ? driver_fail(ctx, ctx->sender, r, "cannot start the actor") : ODEON_DELETE;
}

ODEON_HANDLERS(bench_dynamic_send, ODEON_ON(bench_dynamic_send, bench_run));
ODEON_ACTOR_TYPE(bench_dynamic_send);
