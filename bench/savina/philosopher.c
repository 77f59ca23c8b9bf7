/* SPDX-License-Identifier: Apache-2.0 */
/* 11, dining philosophers: one arbiter, and many who ask again.
 *
 * An arbiter has `n` forks, between as many philosophers, who want `m` meals each. Who is hungry
 * asks the arbiter: if either of the two forks is taken, it is denied, and asks again at once; else
 * it has both, eats, and says when it is done. Before the next meal a philosopher sends itself a
 * message; after its last one it tells the arbiter, which ends when all have.
 * Messages: 4nm + 2 * denials + n: how many are denied is up to who runs them. Check: nm meals.
 */
#include "program.h"

enum { PHILOSOPHER_MAX = 10000 };

ODEON_ARGUMENTS(philosopher_args, {
    uint32_t n;
    uint32_t m;
});

ODEON_SIGNAL(philosopher_start, 1);
ODEON_SIGNAL(philosopher_denied, 1);
ODEON_SIGNAL(philosopher_eat, 1);
ODEON_MESSAGE(philosopher_hungry, 1, { uint64_t id; });
ODEON_MESSAGE(philosopher_done, 1, { uint64_t id; });
ODEON_SIGNAL(philosopher_exit, 1);
ODEON_INTERFACE(philosopher_actor, philosopher_start, philosopher_denied, philosopher_eat);
ODEON_INTERFACE(philosopher_arbiter, philosopher_hungry, philosopher_done, philosopher_exit);

/* ---- the arbiter ---- */

struct philosopher_arbiter_args {
    uint32_t n;
};

ODEON_STATE(philosopher_arbiter, {
    uint32_t n, ended;
    bool taken[PHILOSOPHER_MAX];
});

ODEON_INIT(philosopher_arbiter, struct philosopher_arbiter_args)
{
    self->n = args->n;
    return 0;
}

ODEON_RECEIVE(philosopher_arbiter, philosopher_hungry)
{
    bool *left = &self->taken[msg->id], *right = &self->taken[(msg->id + 1) % self->n];
    philosopher_actor_ref who = odeon_as(philosopher_actor, ctx->sender);
    if (*left || *right) {
        program_must(ctx, odeon_signal(ctx, who, philosopher_denied));
        return ODEON_NODELETE;
    }
    *left = *right = true;
    program_must(ctx, odeon_signal(ctx, who, philosopher_eat));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(philosopher_arbiter, philosopher_done)
{
    self->taken[msg->id] = self->taken[(msg->id + 1) % self->n] = false;
    return ODEON_NODELETE;
}

ODEON_RECEIVE(philosopher_arbiter, philosopher_exit)
{
    return ++self->ended < self->n ? ODEON_NODELETE : ODEON_DELETE;
}

ODEON_HANDLERS(philosopher_arbiter, ODEON_ON(philosopher_arbiter, philosopher_hungry),
               ODEON_ON(philosopher_arbiter, philosopher_done),
               ODEON_ON(philosopher_arbiter, philosopher_exit));
ODEON_ACTOR_TYPE(philosopher_arbiter, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- philosophers ---- */

struct philosopher_actor_args {
    philosopher_arbiter_ref arbiter;
    uint32_t id, m;
};

ODEON_STATE(philosopher_actor, {
    struct philosopher_actor_args of;
    uint64_t meals, denials;
});

ODEON_INIT(philosopher_actor, struct philosopher_actor_args)
{
    self->of = *args;
    return 0;
}

static int philosopher_ask(struct philosopher_actor_state *self, struct odeon_context *ctx)
{
    program_must(ctx, odeon_send(ctx, self->of.arbiter, philosopher_hungry, .id = self->of.id));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(philosopher_actor, philosopher_start)
{
    return philosopher_ask(self, ctx);
}

ODEON_RECEIVE(philosopher_actor, philosopher_denied)
{
    self->denials++;
    return philosopher_ask(self, ctx);
}

ODEON_RECEIVE(philosopher_actor, philosopher_eat)
{
    self->meals++;
    program_must(ctx, odeon_send(ctx, self->of.arbiter, philosopher_done, .id = self->of.id));
    if (self->meals < self->of.m) {
        program_must(ctx, odeon_signal(ctx, odeon_self(ctx, philosopher_actor), philosopher_start));
        return ODEON_NODELETE;
    }
    program_must(ctx, odeon_signal(ctx, self->of.arbiter, philosopher_exit));
    program_report(ctx, .messages = 2 * self->denials, .count = (int64_t)self->meals);
    return ODEON_DELETE;
}

ODEON_HANDLERS(philosopher_actor, ODEON_ON(philosopher_actor, philosopher_start),
               ODEON_ON(philosopher_actor, philosopher_denied),
               ODEON_ON(philosopher_actor, philosopher_eat));
ODEON_ACTOR_TYPE(philosopher_actor, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the head ---- */

ODEON_STATE(savina_philosopher, {
    struct program program;
    struct philosopher_args args;
});

static void philosopher_accept(struct savina_philosopher_state *self)
{
    program_range(&self->program, "n", self->args.n, 2, PHILOSOPHER_MAX);
    program_range(&self->program, "m", self->args.m, 1, 100000000);
}

static int philosopher_step(struct savina_philosopher_state *self, struct odeon_context *ctx)
{
    philosopher_arbiter_ref arbiter;
    philosopher_actor_ref actor;
    int r = odeon_spawn_into(ctx, &arbiter, philosopher_arbiter,
                             ODEON_ARGS(struct philosopher_arbiter_args, .n = self->args.n));
    for (uint32_t i = 0; i < self->args.n && r == 0; i++) {
        r = odeon_spawn_into(ctx, &actor, philosopher_actor,
                             ODEON_ARGS(struct philosopher_actor_args, .arbiter = arbiter, .id = i,
                                        .m = self->args.m));
        if (r == 0)
            r = odeon_signal(ctx, actor, philosopher_start);
    }
    self->program.awaited = self->args.n;
    self->program.messages = 4 * (uint64_t)self->args.n * self->args.m + self->args.n;
    return r;
}

static void philosopher_verify(struct savina_philosopher_state *self)
{
    program_expect(&self->program, "meals", self->program.count,
                   (int64_t)self->args.n * self->args.m);
}

PROGRAM(philosopher);
