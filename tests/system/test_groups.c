/* SPDX-License-Identifier: Apache-2.0 */
/* Groups in the real service: what actors and clients publish comes to each member once and in
 * order, whatever is killed meanwhile; members end, leave, and begin anew. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <odeon/codec.h>

#include "tests/system/chorus.h"
#include "tests/system/stage.h"

enum { SINGERS = 150, SONGS = 400, KILL_EVERY = 40 };

static struct stage stage;
static odeon_ref singers[SINGERS];
static uint32_t heard_type;

static struct chorus_heard next_heard(void)
{
    struct chorus_heard heard;

    (void)stage_receive(&stage, heard_type, &heard, sizeof(heard));
    if (heard.wrong)
        fail_msg("chorus.c:%llu, singer %llu at number %llu", (unsigned long long)heard.wrong,
                 (unsigned long long)heard.singer, (unsigned long long)heard.number);
    return heard;
}

/* So many, of one type, which are all members. */
static void begin(const char *type, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        const struct chorus_begin begun = { .port = odeon_port_ref(stage.port), .singer = i };

        singers[i] = spawn(stage.client, type, NULL, NULL, 0);
        stage_post(&stage, singers[i], odeon_message_of(chorus_begin), &begun, sizeof(begun));
    }
    for (uint64_t i = 0; i < n; i++)
        (void)next_heard();
}

/* Each of the first n has had all, and nobody else anything. */
static void all_have_heard(uint64_t n, uint64_t last)
{
    bool seen[SINGERS] = { false };

    for (uint64_t i = 0; i < n; i++) {
        struct chorus_heard heard = next_heard();

        assert_true(heard.singer < n && !seen[heard.singer]);
        assert_int_equal(heard.number, last);
        seen[heard.singer] = true;
    }
}

static void sing(odeon_ref group, uint64_t number, uint64_t last)
{
    const struct chorus_song song = { .number = number, .last = last };

    stage_post(&stage, group, odeon_message_of(chorus_song), &song, sizeof(song));
}

static odeon_ref group_ref(const char *name)
{
    odeon_ref group = ODEON_NOBODY;

    assert_int_equal(odeon_actor_find(stage.client, name, &group), 0);
    return group;
}

static void test_a_client_publishes_over_kills(void **state)
{
    (void)state;
    begin("chorus_kept", SINGERS);
    odeon_ref group = group_ref("kept");
    for (uint64_t number = 1; number <= SONGS; number++) {
        sing(group, number, SONGS);
        if (number % KILL_EVERY == 0)
            stage_kill_executor(&stage);
    }
    all_have_heard(SINGERS, SONGS);
    assert_true(service_figure(&stage.service, "publications") > 0);
    assert_int_equal(service_figure(&stage.service, "publications_missed"), 0);
}

static void test_an_actor_publishes_over_kills(void **state)
{
    const struct chorus_conduct conduct = { .first = 1, .last = 20 * SONGS };

    (void)state;
    begin("chorus_kept", SINGERS);
    stage_post(&stage, spawn(stage.client, "chorus_conductor", NULL, NULL, 0),
               odeon_message_of(chorus_conduct), &conduct, sizeof(conduct));
    for (int i = 0; i < SONGS / KILL_EVERY; i++)
        stage_kill_executor(&stage);
    all_have_heard(SINGERS, 20 * SONGS);
}

static uint64_t members_shown(const char *group)
{
    char output[65536];
    uint64_t n = 0;

    assert_int_equal(ctl(&stage.service, output, sizeof(output), "group show %s --json", group), 0);
    for (const char *at = output; (at = strstr(at, "{\"member\":")); at++)
        n++;
    return n;
}

static void test_who_ends_or_leaves(void **state)
{
    const struct chorus_leave leave = { 0 };
    char output[4096];

    (void)state;
    begin("chorus_kept", 3);
    assert_int_equal(ctl(&stage.service, output, sizeof(output), "group list --json"), 0);
    assert_non_null(strstr(output, "\"name\":\"kept\",\"members\":3"));
    assert_int_equal(members_shown("kept"), 3);
    stage_post(&stage, singers[1], odeon_message_of(chorus_leave), &leave, sizeof(leave));
    (void)next_heard();
    assert_int_equal(odeon_actor_stop(stage.client, singers[2], ODEON_DELETE), 0);
    assert_true(wait_until(members_shown("kept") == 1));
    sing(group_ref("kept"), 1, 1);
    all_have_heard(1, 1);
    /* what is no group, or cannot end */
    char ref[ODEON_REF_TEXT];
    odeon_ref_format(singers[0], ref);
    assert_int_not_equal(ctl(&stage.service, output, sizeof(output), "group show %s", ref), 0);
    assert_non_null(strstr(output, "is no group"));
    assert_int_equal(odeon_actor_stop(stage.client, group_ref("kept"), ODEON_DELETE), -EOPNOTSUPP);
    assert_non_null(strstr(odeon_error_text(), "is a group, which stays"));
    sing(group_ref("kept"), 2, 2);
    all_have_heard(1, 2);
    assert_int_equal(
        ctl(&stage.service, output, sizeof(output), "actor send kept chorus_song number=3 last=3"),
        0);
    all_have_heard(1, 3);
}

/* They join again in init, which comes at once. */
static void test_who_begins_anew(void **state)
{
    (void)state;
    begin("chorus_plain", SINGERS);
    stage_kill_executor(&stage);
    assert_true(wait_until(members_shown("plain") == SINGERS));
    for (uint64_t i = 0; i < SINGERS; i++) {
        const struct chorus_begin begun = { .port = odeon_port_ref(stage.port), .singer = i };

        stage_post(&stage, singers[i], odeon_message_of(chorus_begin), &begun, sizeof(begun));
    }
    for (uint64_t i = 0; i < SINGERS; i++)
        (void)next_heard();
    sing(group_ref("plain"), 7, 7);
    all_have_heard(SINGERS, 7);
    assert_false(service_log_has(&stage.service, "odeon_group begin anew"));
}

/* A question would have as many answers as there are members. */
static void test_refused(void **state)
{
    const struct chorus_song song = { .number = 1, .last = 1 };
    struct odeon_delivery delivery;

    (void)state;
    begin("chorus_kept", 2);
    assert_int_equal(odeon_port_call(stage.port, group_ref("kept"),
                                     message_id(stage.client, odeon_message_of(chorus_song)), &song,
                                     sizeof(song), SECONDS(PATIENCE_S), &delivery),
                     ODEON_CALL_REFUSED);
    odeon_port_release(stage.port);
    sing(group_ref("kept"), 1, 1);
    all_have_heard(2, 1);
}

/* ---- a member that waits ---- */

enum { MANY = 300, READY = 0, STUCK = 1 }; /* of which a queue takes a hundred */
static char gate[120];

/* One on a queue, the other on a thread of its own, in a handler that does not return. */
static void begin_beside_one_that_is_stuck(void)
{
    const struct odeon_spawn_where where = { .struct_size = sizeof(where),
                                             .where = ODEON_WHERE_DETACHED };
    struct chorus_hold hold = { 0 };

    begin("chorus_waiting", 1);
    assert_int_equal(odeon_actor_spawn_at(stage.client, "chorus_waiting", NULL, NULL, 0, &where,
                                          &singers[STUCK]),
                     0);
    const struct chorus_begin begun = { .port = odeon_port_ref(stage.port), .singer = STUCK };
    stage_post(&stage, singers[STUCK], odeon_message_of(chorus_begin), &begun, sizeof(begun));
    (void)next_heard();
    snprintf(gate, sizeof(gate), "%s/gate", stage.service.dir);
    memcpy(hold.path, gate, sizeof(gate));
    stage_post(&stage, singers[STUCK], odeon_message_of(chorus_hold), &hold, sizeof(hold));
}

static void open_gate(void)
{
    FILE *file = fopen(gate, "we");

    assert_non_null(file);
    fclose(file);
}

/* Each song comes to the one that is ready before the next is published. */
static void sing_in_step(uint64_t first, uint64_t last)
{
    odeon_ref group = group_ref("waiting");

    for (uint64_t number = first; number <= last; number++) {
        sing(group, number, MANY);
        struct chorus_heard heard = next_heard();
        assert_int_equal(heard.singer, READY);
        assert_int_equal(heard.number, number);
    }
}

/* Once, and in order, or the singer would have told what is wrong. */
static void the_stuck_one_has_heard_all(void)
{
    struct chorus_heard heard = next_heard();

    assert_int_equal(heard.singer, STUCK);
    assert_int_equal(heard.number, MANY);
    assert_true(service_figure(&stage.service, "publications_kept") > 0);
    assert_int_equal(service_figure(&stage.service, "publications_missed"), 0);
}

static void test_one_that_is_stuck_delays_itself_alone(void **state)
{
    (void)state;
    begin_beside_one_that_is_stuck();
    sing_in_step(1, MANY);
    assert_true(service_figure(&stage.service, "publications_kept") > 0);
    open_gate();
    the_stuck_one_has_heard_all();
}

/* The executor dies while copies wait, and while they are sent. */
static void test_one_that_is_stuck_over_kills(void **state)
{
    (void)state;
    begin_beside_one_that_is_stuck();
    sing_in_step(1, MANY / 2);
    assert_true(service_figure(&stage.service, "publications_kept") > 0);
    stage_kill_executor(&stage);
    sing_in_step(MANY / 2 + 1, MANY);
    open_gate();
    stage_kill_executor(&stage);
    the_stuck_one_has_heard_all();
}

/* Queues that are full soon. */
static int setup_full(void **state)
{
    (void)state;
    service_start(&stage.service, (const char *const[]){ SMALL_SERVICE, "--set", "limit-bytes=4096",
                                                         "--plugin", TEST_CHORUS, NULL });
    stage.client = service_connect(&stage.service, "groups");
    stage.port = port_open_or_fail(stage.client, 0, 0, false);
    heard_type = message_id(stage.client, odeon_message_of(chorus_heard));
    return 0;
}

static int setup(void **state)
{
    (void)state;
    stage_begin(&stage, TEST_CHORUS, "groups");
    heard_type = message_id(stage.client, odeon_message_of(chorus_heard));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    stage_end(&stage);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_client_publishes_over_kills, setup, teardown),
        cmocka_unit_test_setup_teardown(test_an_actor_publishes_over_kills, setup, teardown),
        cmocka_unit_test_setup_teardown(test_who_ends_or_leaves, setup, teardown),
        cmocka_unit_test_setup_teardown(test_who_begins_anew, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_one_that_is_stuck_delays_itself_alone, setup_full,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_one_that_is_stuck_over_kills, setup_full, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
