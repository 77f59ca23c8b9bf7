/* SPDX-License-Identifier: Apache-2.0 */
/* balance_one and balance_multi: all the work on some of the workers.
 *
 * The work is that of `executor` (executor.c), with `work` busy steps for each message; the other
 * workers get as many dummies, which end on their first message. balance_one loads one worker with
 * `actors` actors, balance_multi every second worker with `actors` each; on two workers both are
 * the same. Messages: of the working actors
 * set * rounds + 1 each, of the dummies one each.
 *
 * Where an actor lies is said by the order of creation alone, as in the paper: spawns of one worker
 * that are dealt one by one (siblings in blocks would be spread by the block) go round the workers,
 * so work, dummy, work, dummy, ... in one go lies where it should. Hence all
 * actors are made, and sent their first message, by one behaviour: nothing runs, and nothing can be
 * stolen, before all of it is dealt out. The clock begins with that behaviour, so the spawns and
 * inits are in it, unlike in the paper (less than a hundredth of the time at the usual sizes), and
 * ends when the driver has heard of the end of every actor.
 *
 * A thief that keeps what it steals leaves another placement behind: each run wants a service that
 * was just started, or whose ownership has been drawn again.
 */
#include "driver.h"

#include <stdlib.h>

enum {
    DEFAULT_ACTORS = 4000,
    DEFAULT_SET = 100,
    DEFAULT_ROUNDS = 20,
    ACTORS_MAX = 1000000,
    SET_MAX = 100000
};

ODEON_SIGNAL(bench_balance_token, 1);
ODEON_SIGNAL(bench_balance_done, 1);
ODEON_INTERFACE(bench_balanced, bench_balance_token);
/* Both drivers accept the same, in the same order. */
ODEON_INTERFACE(bench_balance_one, bench_run, bench_balance_done);
ODEON_INTERFACE(bench_balance_multi, bench_run, bench_balance_done);

/* Of the run that goes on (one at a time), as in the paper's programs. */
static uint32_t balance_set, balance_max, balance_work;
static bench_balance_one_ref balance_driver;

struct balanced_args {
    const bench_balanced_ref *group; /* NULL: a dummy */
};

ODEON_STATE(bench_balanced, {
    const bench_balanced_ref *group;
    uint32_t recs, sends;
});

ODEON_INIT(bench_balanced, struct balanced_args)
{
    self->group = args->group;
    self->recs = args->group != NULL ? 0 : balance_max;
    return 0;
}

/* busy(k): k steps of a generator whose result is kept alive. */
static inline void balance_busy(uint32_t steps, uint32_t seed)
{
    uint32_t x = seed | 1u;
    for (uint32_t i = 0; i < steps; i++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
    }
    __asm__ __volatile__("" : : "r"(x));
}

ODEON_RECEIVE(bench_balanced, bench_balance_token)
{
    uint32_t recs = self->recs;
    if (__builtin_expect(recs == balance_max, 0)) {
        odeon_signal(ctx, balance_driver, bench_balance_done);
        return ODEON_DELETE;
    }
    uint32_t sends = self->sends;
    self->recs = recs + 1;
    self->sends = sends + 1 == balance_set ? 0 : sends + 1;
    balance_busy(balance_work, recs);
    odeon_signal(ctx, self->group[sends], bench_balance_token);
    return ODEON_NODELETE;
}

ODEON_HANDLERS(bench_balanced, ODEON_ON(bench_balanced, bench_balance_token));
ODEON_ACTOR_TYPE(bench_balanced, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the drivers ---- */

struct balance {
    bench_balanced_ref *members;
    odeon_ref client;
    uint64_t begin_ns, messages;
    uint32_t actors, left;
};

ODEON_STATE(bench_balance_one, { struct balance balance; });
ODEON_STATE(bench_balance_multi, { struct balance balance; });

ODEON_FINI(bench_balance_one)
{
    free(self->balance.members);
}

ODEON_FINI(bench_balance_multi)
{
    free(self->balance.members);
}

static int balance_fail(struct balance *self, struct odeon_context *ctx, int error,
                        const char *what)
{
    self->members = NULL; /* left: members that live may still read it */
    return driver_fail(ctx, self->client, error, what);
}

/* Working actors where `loaded` of each turn round the workers begins, dummies elsewhere. */
static int balance_spawn(struct balance *self, struct odeon_context *ctx, uint32_t workers,
                         uint32_t apart)
{
    int r = 0;
    uint32_t made = 0;
    for (uint32_t turn = 0; made < self->actors && r == 0; turn++) {
        bench_balanced_ref dummy;
        if (turn % workers % apart == 0) {
            const bench_balanced_ref *group = &self->members[made / balance_set * balance_set];
            r = odeon_spawn_into(ctx, &self->members[made++], bench_balanced,
                                 .placement = ODEON_PLACE_EACH,
                                 ODEON_ARGS(struct balanced_args, .group = group));
        } else {
            r = odeon_spawn_into(ctx, &dummy, bench_balanced, .placement = ODEON_PLACE_EACH,
                                 ODEON_ARGS(struct balanced_args, .group = NULL));
            if (r == 0)
                r = odeon_signal(ctx, dummy, bench_balance_token);
            self->messages++;
        }
        self->left++;
    }
    return r;
}

static int balance_deal(struct balance *self, struct odeon_context *ctx, uint32_t workers,
                        uint32_t apart)
{
    self->begin_ns = odeon_now_ns(ctx);
    int r = balance_spawn(self, ctx, workers, apart);
    for (uint32_t i = 0; i < self->actors && r == 0; i++)
        r = odeon_signal(ctx, self->members[i], bench_balance_token);
    return r < 0 ? balance_fail(self, ctx, r, "cannot make all actors in one behaviour")
                 : ODEON_NODELETE;
}

/* One worker in `apart` is loaded. */
static int balance_start(struct balance *self, struct odeon_context *ctx,
                         const struct bench_run *run, uint32_t apart)
{
    uint32_t workers = run->workers != 0 ? run->workers : 1;
    uint64_t set = driver_default(run->set, DEFAULT_SET);
    uint64_t rounds = driver_default(run->rounds, DEFAULT_ROUNDS);
    uint64_t actors = driver_default(run->actors, DEFAULT_ACTORS) * ((workers + apart - 1) / apart);
    self->client = ctx->sender;
    if (self->members != NULL || set > SET_MAX || actors > ACTORS_MAX ||
        set * rounds > UINT32_MAX - 1)
        return balance_fail(self, ctx, -EINVAL, "bad numbers");
    actors = (actors + set - 1) / set * set;
    self->members = malloc(actors * sizeof(self->members[0]));
    if (self->members == NULL)
        return balance_fail(self, ctx, -ENOMEM, "no memory for the table of members");
    self->actors = (uint32_t)actors;
    self->messages = actors * (set * rounds + 1);
    balance_set = (uint32_t)set;
    balance_max = (uint32_t)(set * rounds);
    balance_work = run->work;
    balance_driver = odeon_as(bench_balance_one, ctx->self);
    return balance_deal(self, ctx, workers, apart);
}

static int balance_done(struct balance *self, struct odeon_context *ctx)
{
    if (--self->left > 0)
        return ODEON_NODELETE;
    return driver_finish(ctx, self->client, odeon_now_ns(ctx) - self->begin_ns, self->messages);
}

ODEON_RECEIVE(bench_balance_one, bench_run)
{
    return balance_start(&self->balance, ctx, msg, msg->workers != 0 ? msg->workers : 1);
}

ODEON_RECEIVE(bench_balance_one, bench_balance_done)
{
    return balance_done(&self->balance, ctx);
}

ODEON_RECEIVE(bench_balance_multi, bench_run)
{
    return balance_start(&self->balance, ctx, msg, 2);
}

ODEON_RECEIVE(bench_balance_multi, bench_balance_done)
{
    return balance_done(&self->balance, ctx);
}

ODEON_HANDLERS(bench_balance_one, ODEON_ON(bench_balance_one, bench_run),
               ODEON_ON(bench_balance_one, bench_balance_done));
ODEON_ACTOR_TYPE(bench_balance_one, ODEON_POLICY(ODEON_RESTART_STOP));
ODEON_HANDLERS(bench_balance_multi, ODEON_ON(bench_balance_multi, bench_run),
               ODEON_ON(bench_balance_multi, bench_balance_done));
ODEON_ACTOR_TYPE(bench_balance_multi, ODEON_POLICY(ODEON_RESTART_STOP));
