/* SPDX-License-Identifier: Apache-2.0 */
/* What the two files of the sleeping barber share. */
#ifndef BARBER_H
#define BARBER_H

#include "program.h"

enum { BARBER_SEATS_MAX = 20000 };

ODEON_SIGNAL(barber_start, 1);
ODEON_SIGNAL(barber_full, 1);
ODEON_SIGNAL(barber_wait, 1);
ODEON_SIGNAL(barber_done, 1);
ODEON_SIGNAL(barber_next, 1);
ODEON_SIGNAL(barber_exit, 1);
ODEON_SIGNAL(barber_returned, 1);
ODEON_MESSAGE(barber_enter, 1, { odeon_ref customer; });
ODEON_INTERFACE(barber_factory, barber_start, barber_returned, barber_done);
ODEON_INTERFACE(barber_customer, barber_full, barber_wait, barber_start, barber_done);
ODEON_INTERFACE(barber_room, barber_enter, barber_next, barber_exit);
ODEON_INTERFACE(barber_chair, barber_enter, barber_wait, barber_exit); /* the barber's */

struct barber_chair_args {
    uint32_t hr;
};

struct barber_room_args {
    barber_chair_ref barber;
    uint32_t w;
};

#endif
