/* SPDX-License-Identifier: Apache-2.0 */
/* 13, cigarette smokers: one draws, one of many works.
 *
 * An arbiter makes `s` smokers, and is told to start. It draws a smoker, and how long that one is
 * to smoke; the smoker says first that it has started, and then is busy so long. So the arbiter
 * draws the next one meanwhile. After `r` starts it ends all of them, and itself.
 * Messages: 1 + 2r + s. Check: r cigarettes, as long together as a second drawing says.
 */
#include "lcg.h"
#include "program.h"

enum { CIGSMOK_SMOKERS_MAX = 20000 };

ODEON_ARGUMENTS(cigsmok_args, {
    uint32_t r;
    uint32_t s;
});

ODEON_SIGNAL(cigsmok_start, 1);
ODEON_MESSAGE(cigsmok_smoke, 1, { uint64_t busy; });
ODEON_SIGNAL(cigsmok_started, 1);
ODEON_SIGNAL(cigsmok_exit, 1);
ODEON_INTERFACE(cigsmok_arbiter, cigsmok_start, cigsmok_started);
ODEON_INTERFACE(cigsmok_smoker, cigsmok_smoke, cigsmok_exit);

ODEON_STATE(cigsmok_smoker, { uint64_t smoked, busy; });

ODEON_RECEIVE(cigsmok_smoker, cigsmok_smoke)
{
    program_must(ctx, odeon_signal(ctx, odeon_as(cigsmok_arbiter, ctx->sender), cigsmok_started));
    lcg_busy(msg->busy);
    self->smoked++;
    self->busy += msg->busy;
    return ODEON_NODELETE;
}

ODEON_RECEIVE(cigsmok_smoker, cigsmok_exit)
{
    program_report(ctx, .count = (int64_t)self->smoked, .value = (int64_t)self->busy);
    return ODEON_DELETE;
}

ODEON_HANDLERS(cigsmok_smoker, ODEON_ON(cigsmok_smoker, cigsmok_smoke),
               ODEON_ON(cigsmok_smoker, cigsmok_exit));
ODEON_ACTOR_TYPE(cigsmok_smoker, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the arbiter ---- */

ODEON_STATE(cigsmok_arbiter, {
    struct cigsmok_args args;
    struct lcg lcg;
    uint32_t rounds;
    cigsmok_smoker_ref smokers[CIGSMOK_SMOKERS_MAX];
});

ODEON_INIT(cigsmok_arbiter, struct cigsmok_args)
{
    self->args = *args;
    self->lcg.v = (uint64_t)args->r * args->s;
    for (uint32_t i = 0; i < args->s; i++)
        program_must(ctx, odeon_spawn_into(ctx, &self->smokers[i], cigsmok_smoker));
    return 0;
}

static void cigsmok_pick(struct cigsmok_arbiter_state *self, struct odeon_context *ctx)
{
    uint32_t who = lcg_int(&self->lcg, self->args.s);
    program_must(ctx, odeon_send(ctx, self->smokers[who], cigsmok_smoke,
                                 .busy = lcg_int(&self->lcg, 1000) + 10));
}

ODEON_RECEIVE(cigsmok_arbiter, cigsmok_start)
{
    cigsmok_pick(self, ctx);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(cigsmok_arbiter, cigsmok_started)
{
    if (++self->rounds < self->args.r) {
        cigsmok_pick(self, ctx);
        return ODEON_NODELETE;
    }
    for (uint32_t i = 0; i < self->args.s; i++)
        program_must(ctx, odeon_signal(ctx, self->smokers[i], cigsmok_exit));
    return ODEON_DELETE;
}

ODEON_HANDLERS(cigsmok_arbiter, ODEON_ON(cigsmok_arbiter, cigsmok_start),
               ODEON_ON(cigsmok_arbiter, cigsmok_started));
ODEON_ACTOR_TYPE(cigsmok_arbiter, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the head ---- */

ODEON_STATE(savina_cigsmok, {
    struct program program;
    struct cigsmok_args args;
});

static void cigsmok_accept(struct savina_cigsmok_state *self)
{
    program_range(&self->program, "r", self->args.r, 1, 100000000);
    program_range(&self->program, "s", self->args.s, 1, CIGSMOK_SMOKERS_MAX);
}

static int cigsmok_step(struct savina_cigsmok_state *self, struct odeon_context *ctx)
{
    cigsmok_arbiter_ref arbiter;
    int r = odeon_spawn_into(ctx, &arbiter, cigsmok_arbiter,
                             ODEON_ARGS(struct cigsmok_args, .r = self->args.r, .s = self->args.s));
    if (r == 0)
        r = odeon_signal(ctx, arbiter, cigsmok_start);
    self->program.awaited = self->args.s;
    self->program.messages = 1 + 2 * (uint64_t)self->args.r + self->args.s;
    return r;
}

static void cigsmok_verify(struct savina_cigsmok_state *self)
{
    struct lcg lcg = { (uint64_t)self->args.r * self->args.s };
    int64_t busy = 0;
    for (uint32_t i = 0; i < self->args.r; i++) {
        lcg_next(&lcg);
        busy += lcg_int(&lcg, 1000) + 10;
    }
    program_expect(&self->program, "cigarettes", self->program.count, self->args.r);
    program_expect(&self->program, "steps", self->program.value, busy);
}

PROGRAM(cigsmok);
