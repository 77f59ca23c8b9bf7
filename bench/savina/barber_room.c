/* SPDX-License-Identifier: Apache-2.0 */
/* The barber and the room where customers wait: see barber.c. */
#include "barber.h"
#include "lcg.h"

/* ---- the barber ---- */

ODEON_STATE(barber_chair, {
    struct lcg lcg;
    uint32_t hr;
    uint64_t haircuts;
});

ODEON_INIT(barber_chair, struct barber_chair_args)
{
    self->lcg.v = LCG_SEED;
    self->hr = args->hr;
    return 0;
}

ODEON_RECEIVE(barber_chair, barber_enter)
{
    barber_customer_ref customer = odeon_as(barber_customer, msg->customer);
    program_must(ctx, odeon_signal(ctx, customer, barber_start));
    lcg_busy(lcg_int(&self->lcg, self->hr) + 10);
    self->haircuts++;
    program_must(ctx, odeon_signal(ctx, customer, barber_done));
    program_must(ctx, odeon_signal(ctx, odeon_as(barber_room, ctx->sender), barber_next));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(barber_chair, barber_wait)
{
    return ODEON_NODELETE;
}

ODEON_RECEIVE(barber_chair, barber_exit)
{
    program_report(ctx, .count = (int64_t)self->haircuts);
    return ODEON_DELETE;
}

ODEON_HANDLERS(barber_chair, ODEON_ON(barber_chair, barber_enter),
               ODEON_ON(barber_chair, barber_wait), ODEON_ON(barber_chair, barber_exit));
ODEON_ACTOR_TYPE(barber_chair, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the room ---- */

ODEON_STATE(barber_room, {
    barber_chair_ref barber;
    uint32_t w, first, n;
    bool awake; /* the barber */
    odeon_ref seats[BARBER_SEATS_MAX];
});

ODEON_INIT(barber_room, struct barber_room_args)
{
    self->barber = args->barber;
    self->w = args->w;
    return 0;
}

ODEON_RECEIVE(barber_room, barber_enter)
{
    barber_customer_ref customer = odeon_as(barber_customer, msg->customer);
    if (self->n == self->w) {
        program_must(ctx, odeon_signal(ctx, customer, barber_full));
        return ODEON_NODELETE;
    }
    self->seats[(self->first + self->n++) % self->w] = msg->customer;
    if (self->awake) {
        program_must(ctx, odeon_signal(ctx, customer, barber_wait));
        return ODEON_NODELETE;
    }
    self->awake = true;
    program_must(ctx, odeon_signal(ctx, odeon_self(ctx, barber_room), barber_next));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(barber_room, barber_next)
{
    if (self->n == 0) {
        self->awake = false;
        program_must(ctx, odeon_signal(ctx, self->barber, barber_wait));
        return ODEON_NODELETE;
    }
    program_must(ctx,
                 odeon_send(ctx, self->barber, barber_enter, .customer = self->seats[self->first]));
    self->first = (self->first + 1) % self->w;
    self->n--;
    return ODEON_NODELETE;
}

ODEON_RECEIVE(barber_room, barber_exit)
{
    program_must(ctx, odeon_signal(ctx, self->barber, barber_exit));
    return ODEON_DELETE;
}

ODEON_HANDLERS(barber_room, ODEON_ON(barber_room, barber_enter), ODEON_ON(barber_room, barber_next),
               ODEON_ON(barber_room, barber_exit));
ODEON_ACTOR_TYPE(barber_room, ODEON_POLICY(ODEON_RESTART_STOP));
