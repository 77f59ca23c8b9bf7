/* SPDX-License-Identifier: Apache-2.0 */
/* Groups in the simulator, over many schedules: workers that steal from each other, a publication
 * that goes round, an executor that dies at moments that are drawn. */
#include <odeon/test.h>

#include "tests/system/chorus.h"

enum { SINGERS = 12, SONGS = 6, SCHEDULES = 300 };

/* They have all joined. */
static void open_chorus(struct odeon_test *world)
{
    for (uint64_t i = 0; i < SINGERS; i++)
        odeon_test_send(world, odeon_test_spawn(world, chorus_kept), chorus_begin,
                        .port = odeon_test_port_ref(world, 0), .singer = i);
    for (uint64_t i = 0; i < SINGERS; i++)
        odeon_test_assert(odeon_test_expect_type(world, chorus_heard)->wrong == 0);
}

/* Each has had all songs, once and in order. */
static void expect_all(struct odeon_test *world)
{
    uint64_t seen = 0;

    for (uint64_t i = 0; i < SINGERS; i++) {
        const struct chorus_heard *heard = odeon_test_expect_type(world, chorus_heard);

        if (heard->wrong != 0 || heard->number != SONGS)
            odeon_test_fail("singer %u is at number %u: chorus.c:%u", (unsigned)heard->singer,
                            (unsigned)heard->number, (unsigned)heard->wrong);
        seen |= UINT64_C(1) << heard->singer;
    }
    odeon_test_assert(seen == (UINT64_C(1) << SINGERS) - 1);
    odeon_test_expect_none(world);
}

static void an_actor_publishes(struct odeon_test *world, void *userdata)
{
    (void)userdata;
    open_chorus(world);
    odeon_test_send(world, odeon_test_spawn(world, chorus_conductor), chorus_conduct, .first = 1,
                    .last = SONGS);
    expect_all(world);
}

static void a_client_publishes(struct odeon_test *world, void *userdata)
{
    (void)userdata;
    open_chorus(world);
    chorus_kept_ref group = odeon_as(chorus_kept, odeon_test_lookup(world, "kept"));
    for (uint64_t number = 1; number <= SONGS; number++)
        odeon_test_send(world, group, chorus_song, .number = number, .last = SONGS);
    expect_all(world);
}

int main(void)
{
    odeon_test_explore(SCHEDULES, an_actor_publishes, NULL, .plugin = &odeon_plugin_descriptor,
                       .workers = 3, .crashes = 3);
    odeon_test_explore(SCHEDULES, a_client_publishes, NULL, .plugin = &odeon_plugin_descriptor,
                       .workers = 3, .crashes = 3);
    return odeon_test_done();
}
