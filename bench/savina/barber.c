/* SPDX-License-Identifier: Apache-2.0 */
/* 12, sleeping barber: who is turned away comes back.
 *
 * A factory makes `n` customers, and sends each to a room, all in one behaviour, with a busy pause
 * of up to `pr` steps behind each. The room has `w` seats: who finds none is told that it is full,
 * goes back to the factory, and is sent again at once. Else it waits; if the barber sleeps, the
 * room sends itself word to wake it. With that word, and with the barber's that it wants the next
 * one, the room sends the barber whoever has waited longest, or the barber sleeps. It cuts hair,
 * busy for up to `hr` steps, and the customer, when that is done, tells the factory, and ends; with
 * the last one the factory ends the room, and that the barber.
 * Messages: 4n + 3 * attempts, of which as many as luck has it. Check: n haircuts.
 */
#include "barber.h"
#include "lcg.h"

ODEON_ARGUMENTS(barber_args, {
    uint32_t n;
    uint32_t w;
    uint32_t pr;
    uint32_t hr;
});

/* ---- customers ---- */

struct barber_customer_args {
    barber_factory_ref factory;
};

ODEON_STATE(barber_customer, { barber_factory_ref factory; });

ODEON_INIT(barber_customer, struct barber_customer_args)
{
    self->factory = args->factory;
    return 0;
}

ODEON_RECEIVE(barber_customer, barber_full)
{
    program_must(ctx, odeon_signal(ctx, self->factory, barber_returned));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(barber_customer, barber_wait)
{
    return ODEON_NODELETE;
}

ODEON_RECEIVE(barber_customer, barber_start)
{
    return ODEON_NODELETE;
}

ODEON_RECEIVE(barber_customer, barber_done)
{
    program_must(ctx, odeon_signal(ctx, self->factory, barber_done));
    return ODEON_DELETE;
}

ODEON_HANDLERS(barber_customer, ODEON_ON(barber_customer, barber_full),
               ODEON_ON(barber_customer, barber_wait), ODEON_ON(barber_customer, barber_start),
               ODEON_ON(barber_customer, barber_done));
ODEON_ACTOR_TYPE(barber_customer, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the factory ---- */

struct barber_factory_args {
    barber_room_ref room;
    uint32_t n, pr;
};

ODEON_STATE(barber_factory, {
    struct barber_factory_args of;
    struct lcg lcg;
    uint64_t attempts;
    uint32_t done;
});

ODEON_INIT(barber_factory, struct barber_factory_args)
{
    self->of = *args;
    self->lcg.v = LCG_SEED;
    return 0;
}

static void barber_send(struct barber_factory_state *self, struct odeon_context *ctx, odeon_ref who)
{
    self->attempts++;
    program_must(ctx, odeon_send(ctx, self->of.room, barber_enter, .customer = who));
}

ODEON_RECEIVE(barber_factory, barber_start)
{
    for (uint32_t i = 0; i < self->of.n; i++) {
        barber_customer_ref customer;
        program_must(ctx, odeon_spawn_into(ctx, &customer, barber_customer,
                                           ODEON_ARGS(struct barber_customer_args,
                                                      .factory = odeon_self(ctx, barber_factory))));
        barber_send(self, ctx, customer.ref);
        lcg_busy(lcg_int(&self->lcg, self->of.pr) + 10);
    }
    return ODEON_NODELETE;
}

ODEON_RECEIVE(barber_factory, barber_returned)
{
    barber_send(self, ctx, ctx->sender);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(barber_factory, barber_done)
{
    if (++self->done < self->of.n)
        return ODEON_NODELETE;
    program_must(ctx, odeon_signal(ctx, self->of.room, barber_exit));
    program_report(ctx, .messages = 3 * self->attempts);
    return ODEON_DELETE;
}

ODEON_HANDLERS(barber_factory, ODEON_ON(barber_factory, barber_start),
               ODEON_ON(barber_factory, barber_returned), ODEON_ON(barber_factory, barber_done));
ODEON_ACTOR_TYPE(barber_factory, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the head ---- */

ODEON_STATE(savina_barber, {
    struct program program;
    struct barber_args args;
});

static void barber_accept(struct savina_barber_state *self)
{
    program_range(&self->program, "n", self->args.n, 1, 50000);
    program_range(&self->program, "w", self->args.w, 1, BARBER_SEATS_MAX);
    program_range(&self->program, "pr", self->args.pr, 1, 1000000);
    program_range(&self->program, "hr", self->args.hr, 1, 1000000);
}

static int barber_step(struct savina_barber_state *self, struct odeon_context *ctx)
{
    barber_chair_ref barber;
    barber_room_ref room;
    barber_factory_ref factory;
    int r = odeon_spawn_into(ctx, &barber, barber_chair,
                             ODEON_ARGS(struct barber_chair_args, .hr = self->args.hr));
    if (r == 0)
        r = odeon_spawn_into(
            ctx, &room, barber_room,
            ODEON_ARGS(struct barber_room_args, .barber = barber, .w = self->args.w));
    if (r == 0)
        r = odeon_spawn_into(ctx, &factory, barber_factory,
                             ODEON_ARGS(struct barber_factory_args, .room = room, .n = self->args.n,
                                        .pr = self->args.pr));
    if (r == 0)
        r = odeon_signal(ctx, factory, barber_start);
    self->program.awaited = 2;
    self->program.messages = 4 * (uint64_t)self->args.n;
    return r;
}

static void barber_verify(struct savina_barber_state *self)
{
    program_expect(&self->program, "haircuts", self->program.count, self->args.n);
}

PROGRAM(barber);
