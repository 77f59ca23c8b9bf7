/* SPDX-License-Identifier: Apache-2.0 */
/* The history checker against executors that break what members of a group, actors that put
 * messages off or are in another phase, and parents have been promised (tests/seeded). Each must be
 * found, and the same executor without a bug must not.
 *
 * There are two of the gathered. The first one monitors the second one's children, and kills the
 * executor in the turn in which it becomes another phase. The service forgets what was taken back
 * when its control thread has something to do, which may be before the kill: then there is another
 * trial, until the patience is used up. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/history/gathered.h"
#include "tests/history/seeded_service.h"

enum { FIRST, SECOND, ACTORS, SONGS = 3, QUESTIONS = 6, COME_EARLY = 4 };

struct trial {
    struct service service;
    struct odeon_client *client;
    struct odeon_port *port;
    odeon_ref actors[ACTORS];
    uint32_t do_type, question_type, told_type;
    struct gathered_args args[ACTORS];
};

static void trial_begin(struct trial *t, const char *seed)
{
    seeded_service_start(&t->service, TEST_SEEDED, TEST_GATHERED, seed);
    t->client = service_connect(&t->service, "groups");
    t->do_type = message_id(t->client, odeon_message_of(gathered_do));
    t->question_type = message_id(t->client, odeon_message_of(gathered_question));
    t->told_type = message_id(t->client, odeon_message_of(gathered_told));
    t->port = port_open_or_fail(t->client, 0, 0, false);
    for (int i = FIRST; i < ACTORS; i++) {
        t->args[i] = (struct gathered_args){ .number = (uint64_t)i + 1 };
        snprintf(t->args[i].path, sizeof(t->args[i].path), "%s/history-%d", t->service.dir, i);
        t->actors[i] = spawn(t->client, "gathered", NULL, &t->args[i], sizeof(t->args[i]));
    }
}

static void post(struct trial *t, int whom, uint32_t type, const void *message, size_t size)
{
    assert_int_equal(odeon_port_post_wait(t->port, t->actors[whom], type, message, (uint32_t)size,
                                          SECONDS(PATIENCE_S)),
                     0);
}

static void have(struct trial *t, int whom, enum gathered_what what, uint32_t n, odeon_ref other)
{
    struct gathered_do message = {
        .port = odeon_port_ref(t->port), .other = other, .what = what, .n = n
    };

    post(t, whom, t->do_type, &message, sizeof(message));
}

static struct gathered_told told(struct trial *t)
{
    struct odeon_delivery delivery;
    struct gathered_told message;

    assert_int_equal(odeon_port_receive_wait(t->port, &delivery, SECONDS(PATIENCE_S)), 1);
    assert_int_equal(delivery.type, t->told_type);
    memcpy(&message, delivery.data, sizeof(message));
    odeon_port_release(t->port);
    return message;
}

/* All that it was told before has been done. */
static struct gathered_told says(struct trial *t, int whom)
{
    have(t, whom, GATHERED_SAY, 0, ODEON_NOBODY);
    return told(t);
}

static void watch_child(struct trial *t)
{
    have(t, SECOND, GATHERED_HAVE_CHILD, 0, ODEON_NOBODY);
    have(t, FIRST, GATHERED_WATCH, (uint32_t)t->args[SECOND].number, told(t).child);
}

/* The second one has heard itself, too: it has no turn left that the kill could fall into. */
static void sing(struct trial *t)
{
    have(t, FIRST, GATHERED_JOIN, 0, ODEON_NOBODY);
    have(t, SECOND, GATHERED_JOIN, 0, ODEON_NOBODY);
    (void)says(t, FIRST);
    have(t, SECOND, GATHERED_PUBLISH, SONGS, ODEON_NOBODY);
    assert_true(wait_until(says(t, FIRST).heard == SONGS));
    assert_true(wait_until(says(t, SECOND).heard == SONGS));
}

/* Some come again at once, more than the service forgets when somebody leaves. That it does last,
 * so that the service has not forgotten it when the executor dies. */
static void ask(struct trial *t)
{
    have(t, FIRST, GATHERED_PUT_OFF, 0, ODEON_NOBODY);
    for (uint64_t number = 1; number <= QUESTIONS; number++)
        post(t, FIRST, t->question_type, &(struct gathered_question){ .number = number },
             sizeof(struct gathered_question));
    have(t, FIRST, GATHERED_TAKE_BACK, COME_EARLY, ODEON_NOBODY);
    have(t, FIRST, GATHERED_LEAVE, 0, ODEON_NOBODY);
}

static void die_in_a_turn(struct trial *t)
{
    pid_t executor = service_executor(&t->service);

    have(t, FIRST, GATHERED_BECOME, 0, ODEON_NOBODY);
    service_wait_executor(&t->service, executor);
}

static struct history_verdict trial_end(struct trial *t)
{
    const char *const paths[ACTORS] = { t->args[FIRST].path, t->args[SECOND].path };

    odeon_port_close(t->port);
    odeon_client_disconnect(t->client);
    return seeded_service_end(&t->service, paths, ACTORS);
}

/* Ends that are waited for before the parent ends, and behind that: bits of gathered_told. */
static struct history_verdict run_trial(const char *seed, uint64_t before, uint64_t behind)
{
    struct trial t = { .port = NULL };

    trial_begin(&t, seed);
    watch_child(&t);
    watch_child(&t);
    sing(&t);
    ask(&t);
    die_in_a_turn(&t);
    have(&t, FIRST, GATHERED_TAKE_BACK, 0, ODEON_NOBODY);
    have(&t, FIRST, GATHERED_JOIN, 0, ODEON_NOBODY);
    have(&t, SECOND, GATHERED_LEAVE, 0, ODEON_NOBODY);
    watch_child(&t);
    assert_true(wait_until((says(&t, FIRST).downs & before) == before));
    have(&t, SECOND, GATHERED_END, 0, ODEON_NOBODY);
    assert_true(wait_until((says(&t, FIRST).downs & behind) == behind));
    return trial_end(&t);
}

/* The last child's end, whose link no recovery has seen, comes in any case. */
static void expect(const char *seed, enum history_wrong wrong, uint64_t before)
{
    struct history_verdict verdict;
    int64_t end_ns = time_ns() + PATIENCE_NS;

    do {
        verdict = run_trial(seed, before, 4);
        if (seeded_service_found(seed, &verdict, wrong))
            return;
    } while (time_ns() < end_ns);
    fail_msg("%s is not found: %s", seed, verdict.first);
}

static void test_none(void **state)
{
    struct history_verdict verdict = run_trial(NULL, 0, 7);

    (void)state;
    if (verdict.first[0])
        fail_msg("%s", verdict.first);
    assert_int_equal(verdict.joined, 3);
    assert_int_equal(verdict.left, 2);
    assert_int_equal(verdict.published, SONGS);
    assert_true(verdict.heard >= SONGS);
    assert_int_equal(verdict.put_off, QUESTIONS);
    assert_int_equal(verdict.came_back, QUESTIONS);
    assert_int_equal(verdict.becomes, 1);
    assert_int_equal(verdict.turns_void, 1);
    assert_int_equal(verdict.linked, 3);
    assert_int_equal(verdict.downs, 3);
}

static void test_member_gone(void **state)
{
    (void)state;
    expect("member_gone", HISTORY_LOST, 0);
}

static void test_leave_gone(void **state)
{
    (void)state;
    expect("leave_gone", HISTORY_REVOKED, 0);
}

static void test_stash_newest(void **state)
{
    (void)state;
    expect("stash_newest", HISTORY_REORDERED, 0);
}

static void test_stash_gone(void **state)
{
    (void)state;
    expect("stash_gone", HISTORY_LOST, 0);
}

static void test_unstash_gone(void **state)
{
    (void)state;
    expect("unstash_gone", HISTORY_DOUBLED, 0);
}

static void test_phase_no_undo(void **state)
{
    (void)state;
    expect("phase_no_undo", HISTORY_MISPHASED, 0);
}

static void test_link_gone(void **state)
{
    (void)state;
    expect("link_gone", HISTORY_LOST, 0);
}

static void test_link_early(void **state)
{
    (void)state;
    expect("link_early", HISTORY_EARLY, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_none),          cmocka_unit_test(test_member_gone),
        cmocka_unit_test(test_leave_gone),    cmocka_unit_test(test_stash_newest),
        cmocka_unit_test(test_stash_gone),    cmocka_unit_test(test_unstash_gone),
        cmocka_unit_test(test_phase_no_undo), cmocka_unit_test(test_link_gone),
        cmocka_unit_test(test_link_early),
    };

    return cmocka_run_group_tests_name("groups_seeded", tests, NULL, NULL);
}
