/* SPDX-License-Identifier: Apache-2.0 */
/* Each seat is sold once. With -DSEATS_LOOK_FIRST in the way that comes to mind first, and is
 * wrong: a desk looks whether a seat is left, and takes it then. */
#include "seats.h"

#include <odeon/plugin.h>

ODEON_STATE(hall, { uint32_t left; });

ODEON_RECEIVE(hall, seats_open)
{
    self->left = msg->seats;
    return ODEON_NODELETE;
}

ODEON_RECEIVE(hall, seats_look)
{
    odeon_reply(ctx, seats_left, .customer = msg->customer, .left = self->left);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(hall, seats_take)
{
#ifndef SEATS_LOOK_FIRST
    odeon_reply(ctx, seats_left, .customer = msg->customer, .left = self->left);
#endif
    if (self->left > 0)
        self->left--;
    return ODEON_NODELETE;
}

ODEON_HANDLERS(hall, ODEON_ON(hall, seats_open), ODEON_ON(hall, seats_look),
               ODEON_ON(hall, seats_take));
ODEON_ACTOR_TYPE(hall, ODEON_POLICY(ODEON_RESTART_KEEP));

ODEON_STATELESS(desk);

ODEON_RECEIVE(desk, seats_buy)
{
    hall_ref hall;

    if (odeon_lookup(ctx, "hall", &hall) < 0) {
        odeon_reply_signal(ctx, seats_none_left);
        return ODEON_NODELETE;
    }
#ifdef SEATS_LOOK_FIRST
    odeon_send(ctx, hall, seats_look, .customer = ctx->sender);
#else
    odeon_send(ctx, hall, seats_take, .customer = ctx->sender);
#endif
    return ODEON_NODELETE;
}

ODEON_RECEIVE(desk, seats_left)
{
    if (msg->left == 0) {
        odeon_signal_any(ctx, msg->customer, seats_none_left);
        return ODEON_NODELETE;
    }
#ifdef SEATS_LOOK_FIRST
    odeon_reply(ctx, seats_take, .customer = msg->customer);
#endif
    odeon_signal_any(ctx, msg->customer, seats_sold);
    return ODEON_NODELETE;
}

ODEON_HANDLERS(desk, ODEON_ON(desk, seats_buy), ODEON_ON(desk, seats_left));
ODEON_ACTOR_TYPE(desk);

ODEON_PLUGIN("seats", "1.0.0", ODEON_TYPE(hall), ODEON_TYPE(desk));
