/* SPDX-License-Identifier: Apache-2.0 */
/* The seats of a hall, sold at several desks. */
#pragma once

#include <odeon/message.h>

/* To a desk, from a customer; one of the two others is the answer. */
ODEON_SIGNAL(seats_buy, 1);
ODEON_SIGNAL(seats_sold, 1);
ODEON_SIGNAL(seats_none_left, 1);

/* To the hall, and what it answers: so many were left. */
ODEON_MESSAGE(seats_open, 1, { uint32_t seats; });
ODEON_MESSAGE(seats_look, 1, { odeon_ref customer; });
ODEON_MESSAGE(seats_take, 1, { odeon_ref customer; });
ODEON_MESSAGE(seats_left, 1, {
    odeon_ref customer;
    uint32_t left;
});

ODEON_INTERFACE(hall, seats_open, seats_look, seats_take);
ODEON_INTERFACE(desk, seats_buy, seats_left);
