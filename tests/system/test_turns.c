/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers that were quick a million times and then do not return, over the real service: what
 * they, and another actor of their queue, have sent arrives meanwhile, and what was run is shown.
 * And a batch without end whose handlers stay quick: its counters get on. No time is asserted; the
 * handler returns when the test has seen what it wants to see. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/system/harness.h"
#include "tests/system/stuck.h"

enum { FIRST, MATE, ACTORS, MANY = 1000000, FEW = 19200 };

static struct service service;
static struct odeon_client *client;
static struct odeon_port *port;
static struct stuck_page *page;
static char page_path[96], text[16384];
static uint32_t turn_type;
static odeon_ref actors[ACTORS];
static uint64_t rounds;  /* begun */
static uint64_t dropped; /* by the port before this one */

static int setup(void **state)
{
    struct odeon_spawn_where place = { .struct_size = sizeof(place), .where = ODEON_WHERE_PINNED };

    (void)state;
    service_start(&service, (const char *const[]){ SMALL_SERVICE, "--set", "stall-warn-ms=0",
                                                   "--plugin", TEST_STUCK, NULL });
    client = service_connect(&service, "turns");
    port = port_open_or_fail(client, 0, 4 << 20, false); /* for all that is told, or nearly */
    turn_type = message_id(client, odeon_message_of(stuck_turn));
    (void)message_id(client, odeon_message_of(stuck_told));
    page = service_map_page(&service, page_path, sizeof(page_path), sizeof(*page));
    for (uint32_t i = 0; i < ACTORS; i++) {
        struct stuck_args args = { .index = i };

        memcpy(args.page, page_path, sizeof(args.page));
        if (odeon_actor_spawn_at(client, "stuck_hanger", NULL, &args, sizeof(args), &place,
                                 &actors[i]) < 0)
            fail_msg("spawning: %s", odeon_error_text());
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    odeon_client_disconnect(client);
    (void)service_stop(&service, SIGTERM);
    service_end(&service);
    return 0;
}

static void begin_one(uint32_t i, uint64_t hang, uint64_t blocks)
{
    struct stuck_turn turn = {
        .told = odeon_port_ref(port), .hang = hang, .blocks = blocks, .round = rounds
    };

    atomic_store(&page->turns[i], 0);
    atomic_store(&page->told[i], 0);
    assert_int_equal(odeon_port_post(port, actors[i], turn_type, &turn, sizeof(turn)), 0);
}

/* Both send themselves messages from now on; the first hangs at number `hang`. Its mate begins
 * before it, and has told something: the first may be there before this thread runs again. */
static void begin(uint64_t hang, uint64_t blocks)
{
    rounds++;
    dropped = odeon_port_dropped(port);
    atomic_store(&page->release, 0);
    atomic_store(&page->halt, 0);
    atomic_store(&page->entered, 0);
    atomic_store(&page->left, 0);
    atomic_store(&page->absorbed, 0);
    begin_one(MATE, UINT64_MAX, blocks);
    assert_true(wait_until(atomic_load(&page->told[MATE]) > 0));
    begin_one(FIRST, hang, blocks);
}

/* What comes later is known by its round. */
static void drop_all(void)
{
    struct odeon_delivery delivery;

    while (odeon_port_receive(port, &delivery) == 1)
        odeon_port_release(port);
}

static void end(void)
{
    atomic_store(&page->halt, 1);
    atomic_store(&page->release, 1);
    assert_true(wait_until(atomic_load(&page->absorbed) == ACTORS));
    drop_all();
}

/* What was told last, by each of the two. */
static bool have_come(uint64_t last[ACTORS])
{
    struct odeon_delivery delivery;

    while (odeon_port_receive(port, &delivery) == 1) {
        const struct stuck_told *told = delivery.data;

        if (told->round == rounds) {
            assert_true(told->index < ACTORS && told->n > last[told->index]);
            last[told->index] = told->n;
        }
        odeon_port_release(port);
    }
    return last[FIRST] == atomic_load(&page->told[FIRST]) &&
           last[MATE] == atomic_load(&page->told[MATE]);
}

/* The last one that each has begun may be running. */
static uint64_t turns_run(void)
{
    uint64_t run = 0, turns;

    for (uint32_t i = 0; i < ACTORS; i++)
        if ((turns = atomic_load(&page->turns[i])) > 0)
            run += turns - 1;
    return run;
}

/* The figure behind "name": in a document of odeonctl. */
static uint64_t told_by_ctl(const char *words, const char *name)
{
    char quoted[64];

    if (ctl(&service, text, sizeof(text), "%s", words) != 0)
        fail_msg("%s: %s", words, text);
    snprintf(quoted, sizeof(quoted), "\"%s\":", name);
    const char *at = strstr(text, quoted);
    return at ? strtoull(at + strlen(quoted), NULL, 10) : 0;
}

/* The two tell of as many turns as they have had, and this thread may have had no processor for so
 * long that the port had no more room: then what has come says nothing. */
static bool port_has_dropped(void)
{
    return odeon_port_dropped(port) != dropped;
}

static bool what_was_sent_and_run_is_seen(uint64_t hang, uint64_t blocks)
{
    uint64_t last[ACTORS] = { 0 }, before = service_figure(&service, "messages_processed");
    bool all;

    begin(hang, blocks);
    assert_true(wait_until((have_come(last), atomic_load(&page->entered) == 1)));
    assert_true(wait_until(have_come(last) || port_has_dropped()));
    all = !port_has_dropped();
    if (all) {
        assert_int_equal(last[FIRST], hang - 1);
        assert_true(last[MATE] > 0);
    }
    assert_true(wait_until(service_figure(&service, "messages_processed") >= before + turns_run()));
    assert_true(told_by_ctl("--json stats", "messages_processed") >= before + turns_run());
    assert_int_equal(ctl(&service, text, sizeof(text), "status"), 0);
    assert_int_equal(atomic_load(&page->left), 0); /* it hangs all the time */
    end();
    return all;
}

static void test_what_was_sent_and_run_is_seen(void **state)
{
    uint64_t hang = getenv("ODEON_TEST_QUICK") ? FEW : MANY;

    (void)state;
    for (uint64_t blocks = SIGNALS_ARRIVE ? 0 : 1; blocks < 2; blocks++)
        assert_true(wait_until(what_was_sent_and_run_is_seen(hang, blocks)));
}

/* The handlers' own count, then the service's: as a rate, too. */
static void test_a_batch_without_end_is_counted(void **state)
{
    uint64_t before = service_figure(&service, "messages_processed");

    (void)state;
    begin(UINT64_MAX, 0);
    for (unsigned i = 0; i < 50; i++) {
        uint64_t run = turns_run();

        assert_true(wait_until(service_figure(&service, "messages_processed") >= before + run));
        assert_true(wait_until((drop_all(), turns_run() > run)));
    }
    assert_true(
        wait_until(ctl(&service, text, sizeof(text), "--json stats --watch 0.1 --count 1") == 0 &&
                   strstr(text, "\"rates\"") && !strstr(text, "\"messages_processed\":0,")));
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_sent_and_run_is_seen),
        cmocka_unit_test(test_a_batch_without_end_is_counted),
    };
    return cmocka_run_group_tests_name("handlers that surprise", tests, setup, teardown);
}
