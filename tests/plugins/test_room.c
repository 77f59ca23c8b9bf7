/* SPDX-License-Identifier: Apache-2.0 */
/* The room of the guide (docs/examples/guide/room.c) without a daemon: who has left, and whose
 * client has gone, makes room for others, and hears nothing more. Its types are this file's;
 * another room stands for a client that can go. */
#include <odeon/test.h>

#include "docs/examples/guide/room.c"

static guest_ref enter(struct odeon_test *world, room_ref room, odeon_ref client)
{
    odeon_test_send(world, room, room_enter, .port = client, .name = "somebody");
    const struct room_entered *entered = odeon_test_expect_type(world, room_entered);
    odeon_test_assert(entered->error == 0);
    return odeon_as(guest, entered->guest);
}

static void makes_room_for_others(struct odeon_test *world, void *userdata)
{
    (void)userdata;
    room_ref room = odeon_test_spawn(world, room, ODEON_ARGS(struct room_args, .limit = 2));
    room_ref client = odeon_test_spawn(world, room, ODEON_ARGS(struct room_args, .limit = 1));
    odeon_ref port = odeon_test_port_ref(world, 0);

    guest_ref first = enter(world, room, port);
    guest_ref second = enter(world, room, client.ref);
    odeon_test_send(world, room, room_enter, .port = port);
    odeon_test_expect(world, room_entered, .error = -EMFILE);

    odeon_test_stop(world, client.ref, ODEON_DELETE);
    odeon_test_until_idle(world);
    odeon_test_assert(!odeon_test_lives(world, second.ref));
    guest_ref third = enter(world, room, port);

    odeon_test_signal(world, first, room_leave);
    odeon_test_until_idle(world);
    enter(world, room, port);
    odeon_test_send(world, room, room_enter, .port = port);
    odeon_test_expect(world, room_entered, .error = -EMFILE);
    odeon_test_send(world, third, room_say, .number = 7);
    odeon_test_expect_type(world, room_say);
    odeon_test_expect_type(world, room_say);
    odeon_test_expect_none(world);

    odeon_test_stop(world, room.ref, ODEON_DELETE);
    odeon_test_until_idle(world);
    odeon_test_assert(!odeon_test_lives(world, third.ref));
    odeon_test_assert(odeon_test_dead_letters(world) == 0);
}

int main(void)
{
    odeon_test_check(makes_room_for_others, NULL, .plugin = &odeon_plugin_descriptor);
    odeon_test_explore(200, makes_room_for_others, NULL, .plugin = &odeon_plugin_descriptor);
    return odeon_test_done();
}
