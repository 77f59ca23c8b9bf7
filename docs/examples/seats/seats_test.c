/* SPDX-License-Identifier: Apache-2.0 */
#include <odeon/test.h>
#include <string.h>

#include "seats.h"

ODEON_STATE(hall, { uint32_t left; });

static hall_ref open_hall(struct odeon_test *world, uint32_t seats)
{
    hall_ref hall = odeon_test_spawn(world, hall, .name = "hall");

    odeon_test_send(world, hall, seats_open, .seats = seats);
    odeon_test_until_idle(world);
    return hall;
}

static void sells_a_seat(struct odeon_test *world, void *userdata)
{
    (void)userdata;
    hall_ref hall = open_hall(world, 2);
    desk_ref desk = odeon_test_spawn(world, desk);

    odeon_test_signal(world, desk, seats_buy);
    odeon_test_expect_signal(world, seats_sold);
    odeon_test_expect_none(world);
    odeon_test_assert(odeon_test_state(world, hall, hall)->left == 1);
}

static void has_no_hall(struct odeon_test *world, void *userdata)
{
    (void)userdata;
    desk_ref desk = odeon_test_spawn(world, desk);

    odeon_test_signal(world, desk, seats_buy);
    odeon_test_expect_signal(world, seats_none_left);
    odeon_test_expect_none(world);
}

/* Two customers at two desks want the last seat. */
static void sells_the_last_seat_once(struct odeon_test *world, void *userdata)
{
    (void)userdata;
    (void)open_hall(world, 1);
    unsigned sold = 0;

    for (uint32_t port = 0; port < 2; port++)
        odeon_test_signal_from(world, port, odeon_test_spawn(world, desk), seats_buy);
    for (uint32_t port = 0; port < 2; port++) {
        struct odeon_test_message answer;

        odeon_test_assert(odeon_test_receive(world, port, &answer));
        sold += strcmp(answer.name, "seats_sold") == 0;
    }
    if (sold != 1)
        odeon_test_fail("the last seat was sold %u times", sold);
    odeon_test_expect_none(world);
}

static void survives_a_crash(struct odeon_test *world, void *userdata)
{
    (void)userdata;
    hall_ref hall = open_hall(world, 2);
    desk_ref desk = odeon_test_spawn(world, desk);

    odeon_test_signal(world, desk, seats_buy);
    odeon_test_crash(world, seats_take, 1, ODEON_TEST_BEHIND);
    odeon_test_expect_signal(world, seats_sold);
    odeon_test_expect_none(world);
    odeon_test_assert(odeon_test_crashes(world) == 1);
    odeon_test_assert(odeon_test_state(world, hall, hall)->left == 1);
}

int main(void)
{
    odeon_test_check(sells_a_seat, NULL, .plugin = &odeon_plugin_descriptor);
    odeon_test_check(has_no_hall, NULL, .plugin = &odeon_plugin_descriptor);
    odeon_test_check(survives_a_crash, NULL, .plugin = &odeon_plugin_descriptor);
    odeon_test_explore(1000, sells_the_last_seat_once, NULL, .plugin = &odeon_plugin_descriptor,
                       .ports = 2, .crashes = 2);
    return odeon_test_done();
}
