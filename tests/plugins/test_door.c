/* SPDX-License-Identifier: Apache-2.0 */
/* The door of the guide (docs/examples/guide/door.c) without a daemon: who comes while it is locked
 * waits, in whatever order things happen, and over crashes. Its types are this file's. */
#include <odeon/test.h>

#include "docs/examples/guide/door.c"

static void lets_in_who_has_waited(struct odeon_test *world, void *userdata)
{
    (void)userdata;
    door_ref door = odeon_test_spawn(world, door);

    odeon_test_signal(world, door, door_lock);
    odeon_test_send(world, door, door_enter, .who = 1);
    odeon_test_send(world, door, door_enter, .who = 2);
    odeon_test_until_idle(world);
    odeon_test_expect_none(world);
    odeon_test_crash_now(world);
    odeon_test_signal(world, door, door_unlock);
    odeon_test_expect_signal(world, door_entered);
    odeon_test_expect_signal(world, door_entered);
    odeon_test_expect_none(world);
    odeon_test_assert(odeon_test_state(world, door, door)->inside == 2);
    odeon_test_send(world, door, door_enter, .who = 3);
    odeon_test_expect_signal(world, door_entered);
}

int main(void)
{
    odeon_test_check(lets_in_who_has_waited, NULL, .plugin = &odeon_plugin_descriptor);
    odeon_test_explore(200, lets_in_who_has_waited, NULL, .plugin = &odeon_plugin_descriptor,
                       .crashes = 4);
    return odeon_test_done();
}
