/* SPDX-License-Identifier: Apache-2.0 */
/* executor: many actors that send round their group.
 *
 * Actors are in adjacent groups of `set`. On each message an actor sends, if it is the turn of a
 * batch, `batch` messages to the next members of its group, itself included; after set * rounds
 * messages one more ends it. The message is empty. Messages: actors * (set * rounds + 1). Clock:
 * from before the driver's first send to a member until the last member has told the driver that it
 * is done. Those last messages are not counted, but their time is. Every member has run its init,
 * and said so, before the clock starts.
 *
 * The table of references belongs to the driver and is freed with it; members read it only while
 * they have messages to come, and the driver ends after all of them are done.
 */
#include "driver.h"

#include <stdbool.h>
#include <stdlib.h>

enum {
    DEFAULT_ACTORS = 40000,
    DEFAULT_SET = 100,
    DEFAULT_ROUNDS = 20,
    ACTORS_MAX = 10000000,
    SET_MAX = 100000
};

ODEON_SIGNAL(bench_token, 1);
ODEON_SIGNAL(bench_member_ready, 1);
ODEON_SIGNAL(bench_member_done, 1);
ODEON_SIGNAL(bench_executor_step, 1); /* the driver to itself: go on spawning, or sending */
ODEON_INTERFACE(bench_member, bench_token);
ODEON_INTERFACE(bench_executor, bench_run, bench_member_ready, bench_member_done,
                bench_executor_step);

/* What all members of a run share.  Constant while they run. */
struct executor_run {
    bench_executor_ref driver;
    uint32_t set, max, batch, reserved;
    bench_member_ref members[];
};

/* Of the run that goes on (one at a time): in static storage, as in the paper's programs and in
 * bench/baseline. */
static uint32_t member_set, member_max, member_batch;
static bench_executor_ref member_driver;

struct member_args {
    const bench_member_ref *group;
};

ODEON_STATE(bench_member, {
    const bench_member_ref *group;
    uint32_t recs, sends;
});

ODEON_INIT(bench_member, struct member_args)
{
    self->group = args->group;
    return odeon_signal(ctx, member_driver, bench_member_ready);
}

/* The general form: `batch` sends at once, at every batch-th message. */
static __attribute__((noinline)) int executor_member_send_batch(struct bench_member_state *self,
                                                                struct odeon_context *ctx)
{
    for (uint32_t i = 0; self->recs % member_batch == 0 && i < member_batch; i++) {
        odeon_signal(ctx, self->group[self->sends], bench_token);
        self->sends = self->sends + 1 == member_set ? 0 : self->sends + 1;
    }
    self->recs++;
    return ODEON_NODELETE;
}

ODEON_RECEIVE(bench_member, bench_token)
{
    uint32_t recs = self->recs;
    if (__builtin_expect(recs == member_max, 0)) {
        odeon_signal(ctx, member_driver, bench_member_done);
        return ODEON_DELETE;
    }
    if (__builtin_expect(member_batch != 1, 0))
        return executor_member_send_batch(self, ctx);
    uint32_t sends = self->sends;
    self->recs = recs + 1;
    self->sends = sends + 1 == member_set ? 0 : sends + 1;
    odeon_signal(ctx, self->group[sends], bench_token);
    return ODEON_NODELETE;
}

ODEON_HANDLERS(bench_member, ODEON_ON(bench_member, bench_token));
ODEON_ACTOR_TYPE(bench_member, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the driver ---- */

ODEON_STATE(bench_executor, {
    struct executor_run *run;
    odeon_ref client;
    uint64_t begin_ns;
    uint32_t actors, spawned, ready, sent, done, rounds;
});

ODEON_FINI(bench_executor)
{
    free(self->run);
}

static int executor_fail(struct bench_executor_state *self, struct odeon_context *ctx, int error,
                         const char *what)
{
    self->run = NULL; /* left: members that live may still read it */
    return driver_fail(ctx, self->client, error, what);
}

ODEON_RECEIVE(bench_executor, bench_run)
{
    uint64_t set = driver_default(msg->set, DEFAULT_SET);
    uint64_t rounds = driver_default(msg->rounds, DEFAULT_ROUNDS);
    uint64_t actors = driver_default(msg->actors, DEFAULT_ACTORS);
    uint64_t batch = driver_default(msg->batch, 1);
    self->client = ctx->sender;
    if (self->run != NULL || set > SET_MAX || actors > ACTORS_MAX ||
        set * rounds > UINT32_MAX - 1 || set * rounds % batch != 0)
        return executor_fail(self, ctx, -EINVAL, "bad numbers: batch must divide set * rounds");
    actors = (actors + set - 1) / set * set;

    self->run = malloc(sizeof(*self->run) + actors * sizeof(self->run->members[0]));
    if (self->run == NULL)
        return executor_fail(self, ctx, -ENOMEM, "no memory for the table of members");
    *self->run = (struct executor_run){
        .driver = odeon_as(bench_executor, ctx->self),
        .set = (uint32_t)set,
        .max = (uint32_t)(set * rounds),
        .batch = (uint32_t)batch,
    };
    member_set = self->run->set;
    member_max = self->run->max;
    member_batch = self->run->batch;
    member_driver = self->run->driver;
    self->actors = (uint32_t)actors;
    odeon_signal(ctx, self->run->driver, bench_executor_step);
    return ODEON_NODELETE;
}

/* Spawns the next members. The host checks what a behaviour may send; what did not fit is done in
 * the next step. */
static int executor_spawn(struct bench_executor_state *self, struct odeon_context *ctx)
{
    struct executor_run *run = self->run;
    for (uint32_t i = 0; i < DRIVER_STEP && self->spawned < self->actors; i++) {
        bench_member_ref *group = &run->members[self->spawned / run->set * run->set];
        int r = odeon_spawn_into(ctx, &run->members[self->spawned], bench_member,
                                 ODEON_ARGS(struct member_args, .group = group));
        if ((r == -ENOBUFS || r == -EAGAIN) && i > 0)
            break;
        if (r < 0)
            return r;
        self->spawned++;
    }
    return 0;
}

static int executor_send(struct bench_executor_state *self, struct odeon_context *ctx)
{
    for (; self->sent < self->actors; self->sent++) {
        int r = odeon_signal(ctx, self->run->members[self->sent], bench_token);
        if ((r == -ENOBUFS || r == -EAGAIN) && self->sent > 0)
            break;
        if (r < 0)
            return r;
    }
    return 0;
}

ODEON_RECEIVE(bench_executor, bench_executor_step)
{
    int r = 0;
    bool more;
    if (self->spawned < self->actors) {
        r = executor_spawn(self, ctx);
        more = self->spawned < self->actors;
    } else {
        if (self->begin_ns == 0)
            self->begin_ns = odeon_now_ns(ctx);
        r = executor_send(self, ctx);
        more = self->sent < self->actors;
    }
    if (r == 0 && more)
        r = odeon_signal(ctx, self->run->driver, bench_executor_step);
    return r < 0 ? executor_fail(self, ctx, r, "cannot spawn or start all members")
                 : ODEON_NODELETE;
}

ODEON_RECEIVE(bench_executor, bench_member_ready)
{
    if (++self->ready == self->actors)
        odeon_signal(ctx, self->run->driver, bench_executor_step);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(bench_executor, bench_member_done)
{
    if (++self->done < self->actors)
        return ODEON_NODELETE;
    uint64_t elapsed_ns = odeon_now_ns(ctx) - self->begin_ns;
    return driver_finish(ctx, self->client, elapsed_ns,
                         (uint64_t)self->actors * ((uint64_t)self->run->max + 1));
}

ODEON_HANDLERS(bench_executor, ODEON_ON(bench_executor, bench_run),
               ODEON_ON(bench_executor, bench_member_ready),
               ODEON_ON(bench_executor, bench_member_done),
               ODEON_ON(bench_executor, bench_executor_step));
ODEON_ACTOR_TYPE(bench_executor, ODEON_POLICY(ODEON_RESTART_STOP));
