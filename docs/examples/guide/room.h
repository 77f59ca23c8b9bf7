/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of a chat room: what docs/plugins.md explains piece by piece. */
#ifndef ROOM_H
#define ROOM_H

#include <odeon/message.h>
#include <odeon/monitor.h>

enum { ROOM_GUESTS_MAX = 16 };

/* name, version, body of a struct */
ODEON_MESSAGE(room_enter, 1, {
    odeon_ref port;
    char name[24];
});
/* ends in a tail of bytes, called `text` */
ODEON_MESSAGE(room_say, 1, {
    uint64_t number;
    char text[];
});
/* no fields */
ODEON_SIGNAL(room_leave, 1);
ODEON_SIGNAL(room_close, 1);

ODEON_MESSAGE(room_entered, 1, {
    odeon_ref guest;
    int64_t error;
});

/* what each actor accepts, in the order of its behaviours */
ODEON_INTERFACE(room, room_enter, room_say, room_close, odeon_down);
ODEON_INTERFACE(guest, room_say, room_leave, odeon_down);

struct guest_args {
    odeon_ref port;
    room_ref room;
};

#endif
