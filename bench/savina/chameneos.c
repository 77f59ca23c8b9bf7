/* SPDX-License-Identifier: Apache-2.0 */
/* 6, chameneos: many ask one.
 *
 * A mall has `m` meetings to give. It makes `c` creatures, coloured in turn, each of which asks it
 * for a meeting. Who comes first waits; who comes second is sent on to the one that waits, as long
 * as there are meetings, else it is told to end. Who is met takes the colour that the two give
 * (their own, if it is the same, else the third one), tells the other, and both ask again. Who is
 * told to end fades, tells the mall how often it has met, and ends; so does the mall with the last
 * of them. Nobody is left waiting: meetings are given in pairs.
 * Messages: 4m + 3c. Check: the meetings of all creatures are 2m.
 */
#include "program.h"

enum { CHAMENEOS_RED, CHAMENEOS_YELLOW, CHAMENEOS_BLUE, CHAMENEOS_FADED };

ODEON_ARGUMENTS(chameneos_args, {
    uint32_t c;
    uint64_t m;
});

ODEON_MESSAGE(chameneos_meet, 1, {
    uint64_t colour;
    odeon_ref who;
});
ODEON_MESSAGE(chameneos_change, 1, { uint64_t colour; });
ODEON_SIGNAL(chameneos_exit, 1);
ODEON_MESSAGE(chameneos_count, 1, { uint64_t meetings; });
ODEON_INTERFACE(chameneos_mall, chameneos_meet, chameneos_count);
ODEON_INTERFACE(chameneos_creature, chameneos_meet, chameneos_change, chameneos_exit);

struct chameneos_creature_args {
    chameneos_mall_ref mall;
    uint64_t colour;
};

ODEON_STATE(chameneos_creature, {
    chameneos_mall_ref mall;
    uint64_t colour, meetings;
});

static int chameneos_ask(struct chameneos_creature_state *self, struct odeon_context *ctx)
{
    return odeon_send(ctx, self->mall, chameneos_meet, .colour = self->colour, .who = ctx->self);
}

ODEON_INIT(chameneos_creature, struct chameneos_creature_args)
{
    self->mall = args->mall;
    self->colour = args->colour;
    return chameneos_ask(self, ctx);
}

static uint64_t chameneos_mix(uint64_t a, uint64_t b)
{
    if (a == CHAMENEOS_FADED || b == CHAMENEOS_FADED)
        return CHAMENEOS_FADED;
    return a == b ? a : CHAMENEOS_RED + CHAMENEOS_YELLOW + CHAMENEOS_BLUE - a - b;
}

ODEON_RECEIVE(chameneos_creature, chameneos_meet)
{
    self->colour = chameneos_mix(self->colour, msg->colour);
    self->meetings++;
    program_must(ctx, odeon_send(ctx, odeon_as(chameneos_creature, msg->who), chameneos_change,
                                 .colour = self->colour));
    program_must(ctx, chameneos_ask(self, ctx));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(chameneos_creature, chameneos_change)
{
    self->colour = msg->colour;
    self->meetings++;
    program_must(ctx, chameneos_ask(self, ctx));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(chameneos_creature, chameneos_exit)
{
    self->colour = CHAMENEOS_FADED;
    program_must(ctx, odeon_send(ctx, self->mall, chameneos_count, .meetings = self->meetings));
    return ODEON_DELETE;
}

ODEON_HANDLERS(chameneos_creature, ODEON_ON(chameneos_creature, chameneos_meet),
               ODEON_ON(chameneos_creature, chameneos_change),
               ODEON_ON(chameneos_creature, chameneos_exit));
ODEON_ACTOR_TYPE(chameneos_creature, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the mall ---- */

ODEON_STATE(chameneos_mall, {
    uint64_t left, met;
    uint32_t creatures, faded;
    odeon_ref waits;
});

ODEON_INIT(chameneos_mall, struct chameneos_args)
{
    chameneos_creature_ref creature;
    self->left = args->m;
    self->creatures = args->c;
    for (uint32_t i = 0; i < args->c; i++)
        program_must(ctx, odeon_spawn_into(ctx, &creature, chameneos_creature,
                                           ODEON_ARGS(struct chameneos_creature_args,
                                                      .mall = odeon_self(ctx, chameneos_mall),
                                                      .colour = i % CHAMENEOS_FADED)));
    return 0;
}

ODEON_RECEIVE(chameneos_mall, chameneos_meet)
{
    if (self->left == 0) {
        program_must(ctx,
                     odeon_signal(ctx, odeon_as(chameneos_creature, msg->who), chameneos_exit));
    } else if (self->waits == ODEON_NOBODY) {
        self->waits = msg->who;
    } else {
        self->left--;
        program_must(ctx, odeon_forward(ctx, odeon_as(chameneos_creature, self->waits), msg));
        self->waits = ODEON_NOBODY;
    }
    return ODEON_NODELETE;
}

ODEON_RECEIVE(chameneos_mall, chameneos_count)
{
    self->met += msg->meetings;
    if (++self->faded < self->creatures)
        return ODEON_NODELETE;
    program_report(ctx, .count = (int64_t)self->met);
    return ODEON_DELETE;
}

ODEON_HANDLERS(chameneos_mall, ODEON_ON(chameneos_mall, chameneos_meet),
               ODEON_ON(chameneos_mall, chameneos_count));
ODEON_ACTOR_TYPE(chameneos_mall, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the head ---- */

ODEON_STATE(savina_chameneos, {
    struct program program;
    struct chameneos_args args;
});

static void chameneos_accept(struct savina_chameneos_state *self)
{
    program_range(&self->program, "c", self->args.c, 2, 100000);
    program_range(&self->program, "m", self->args.m, 1, 1000000000);
}

static int chameneos_step(struct savina_chameneos_state *self, struct odeon_context *ctx)
{
    chameneos_mall_ref mall;
    self->program.awaited = 1;
    self->program.messages = 4 * self->args.m + 3 * (uint64_t)self->args.c;
    return odeon_spawn_into(
        ctx, &mall, chameneos_mall,
        ODEON_ARGS(struct chameneos_args, .c = self->args.c, .m = self->args.m));
}

static void chameneos_verify(struct savina_chameneos_state *self)
{
    program_expect(&self->program, "meetings", self->program.count, 2 * (int64_t)self->args.m);
}

PROGRAM(chameneos);
