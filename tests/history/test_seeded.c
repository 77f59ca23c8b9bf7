/* SPDX-License-Identifier: Apache-2.0 */
/* The history checker against services that are broken on purpose: executors with one bug each
 * (tests/seeded/seeds.h) lose, double, reorder, hide a refusal, or do not mark what is run
 * again. Each must be found, and the same executor without a bug must not. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/history/seeded_service.h"
#include "tests/history/witness.h"

enum { STREAM_RELAYED = 1, STREAM_REFUSED, STREAM_KILLED };
enum { N_RELAYED = 20000, N_REFUSED = 2000, N_KILLS = 3 };
#define MARKERS (UINT64_C(1) << 40) /* correlations from here on */

struct trial {
    struct service service;
    struct odeon_client *client;
    struct odeon_port *port;
    struct history *history;
    odeon_ref log, relay;
    uint32_t number, unwanted;
    uint64_t marker; /* the next one's correlation */
    char path[128];
};

static void trial_begin(struct trial *t, const char *seed)
{
    *t = (struct trial){ .history = history_new(), .marker = MARKERS };
    seeded_service_start(&t->service, TEST_SEEDED, TEST_WITNESS, seed);
    snprintf(t->path, sizeof(t->path), "%s/history", t->service.dir);
    t->client = service_connect(&t->service, "history");
    t->number = message_id(t->client, odeon_message_of(witness_number));
    t->unwanted = message_id(t->client, odeon_message_of(witness_unwanted));
    t->log = spawn(t->client, "witness_log", NULL, t->path, sizeof(t->path));
    t->relay = spawn(t->client, "witness_relay", NULL, &t->log, sizeof(t->log));
    t->port = port_open_or_fail(t->client, 1 << 16, 1 << 20, false);
}

static void post(struct trial *t, odeon_ref to, uint64_t stream, uint64_t n, bool dwells)
{
    struct witness_number number = { .stream = stream, .n = n, .dwells = dwells };

    history_note(t->history, HISTORY_BEGUN, stream, stream, n);
    assert_int_equal(
        odeon_port_post_wait(t->port, to, t->number, &number, sizeof(number), SECONDS(PATIENCE_S)),
        0);
    history_note(t->history, HISTORY_SENT, stream, stream, n);
}

/* True: one of them was a marker's, of `since` or a later one. */
static bool receive_refusals(struct trial *t, uint64_t since)
{
    struct odeon_delivery delivery;
    bool marked = false;

    while (odeon_port_receive(t->port, &delivery) == 1) {
        uint64_t correlation = ((const struct odeon_refusal *)delivery.data)->correlation;

        assert_int_equal(delivery.type, ODEON_MSG_REFUSAL);
        if (correlation >= MARKERS)
            marked |= correlation >= since;
        else
            history_note(t->history, HISTORY_REFUSED, STREAM_REFUSED, STREAM_REFUSED, correlation);
        odeon_port_release(t->port);
    }
    return marked;
}

/* Until a refusal has come back from there, and so all that was posted before has been run. One may
 * be lost, or not be told: there are several, and those that come late are of no use to the next
 * wait. */
static void wait_behind(struct trial *t, odeon_ref actor)
{
    struct witness_unwanted unwanted = { .n = 0 };
    uint64_t first = t->marker, looks = 0;

    assert_true(wait_until(((looks++ % 20 == 0 ? (void)odeon_port_post_correlated(
                                                     t->port, actor, t->unwanted, t->marker++,
                                                     &unwanted, sizeof(unwanted))
                                               : (void)0),
                            receive_refusals(t, first))));
}

/* Every fourth is of a type that the receiver does not take; its number is the correlation. */
static void post_unwanted(struct trial *t, uint64_t n)
{
    struct witness_unwanted unwanted = { .n = n };
    int r;

    history_note(t->history, HISTORY_BEGUN, STREAM_REFUSED, STREAM_REFUSED, n);
    assert_true(wait_until((r = odeon_port_post_correlated(t->port, t->log, t->unwanted, n,
                                                           &unwanted, sizeof(unwanted))) == 0));
    history_note(t->history, HISTORY_SENT, STREAM_REFUSED, STREAM_REFUSED, n);
    (void)receive_refusals(t, t->marker);
}

static uint64_t noted(const struct trial *t)
{
    struct history *history = history_new();
    struct history_verdict verdict = { .records = 0 };

    if (history_add_log(history, t->path) == 0)
        history_judge(history, &verdict);
    history_free(history);
    return verdict.records;
}

/* The executor is killed while the behaviour dwells, behind its note. */
static void post_and_kill(struct trial *t, uint64_t n)
{
    uint64_t before = noted(t);
    pid_t executor = service_executor(&t->service);
    char go[sizeof(t->path) + sizeof(WITNESS_GO)];
    FILE *file;

    snprintf(go, sizeof(go), "%s" WITNESS_GO, t->path);
    post(t, t->log, STREAM_KILLED, n, true);
    assert_true(wait_until(noted(t) > before));
    assert_int_equal(kill(executor, SIGKILL), 0);
    service_wait_executor(&t->service, executor);
    assert_true(wait_until(noted(t) > before + 1));
    file = fopen(go, "we");
    assert_non_null(file);
    fclose(file);
    wait_behind(t, t->log);
    unlink(go);
}

static struct history_verdict trial_end(struct trial *t)
{
    struct history_verdict verdict;

    /* all that is to come has come, with nothing that waits for a number that is lost */
    wait_behind(t, t->relay);
    wait_behind(t, t->log);
    odeon_actor_stop(t->client, t->relay, ODEON_DELETE);
    odeon_actor_stop(t->client, t->log, ODEON_DELETE);
    assert_true(wait_until(service_state(&t->service).actors == 0));
    (void)receive_refusals(t, t->marker);
    odeon_port_close(t->port);
    odeon_client_disconnect(t->client);
    assert_int_equal(service_stop(&t->service, SIGTERM), 0);
    assert_int_equal(history_add_log(t->history, t->path), 0);
    history_judge(t->history, &verdict);
    history_free(t->history);
    service_end(&t->service);
    return verdict;
}

static struct history_verdict run_trial(const char *seed, bool kills)
{
    struct trial t;

    trial_begin(&t, seed);
    for (uint64_t n = 1; n <= N_RELAYED; n++) {
        post(&t, t.relay, STREAM_RELAYED, n, false);
        if (n % (N_RELAYED / N_REFUSED) != 0)
            continue;
        if (n / (N_RELAYED / N_REFUSED) % 4 == 0)
            post_unwanted(&t, n / (N_RELAYED / N_REFUSED));
        else
            post(&t, t.log, STREAM_REFUSED, n / (N_RELAYED / N_REFUSED), false);
    }
    if (kills) { /* what is noted from here on is what is posted to be killed */
        wait_behind(&t, t.relay);
        wait_behind(&t, t.log);
    }
    for (uint64_t n = 1; kills && n <= N_KILLS; n++)
        post_and_kill(&t, n);
    return trial_end(&t);
}

static void expect(const char *seed, bool kills, enum history_wrong wrong)
{
    struct history_verdict verdict = run_trial(seed, kills);

    print_message("# %s: ", seed);
    fflush(stdout);
    history_print(&verdict, stdout);
    if (verdict.wrong[wrong] == 0)
        fail_msg("%s is not found: %s", seed, verdict.first);
}

static void test_none(void **state)
{
    struct history_verdict verdict = run_trial(NULL, true);

    (void)state;
    if (verdict.first[0])
        fail_msg("%s", verdict.first);
    assert_true(verdict.redelivered >= N_KILLS);
    assert_int_equal(verdict.refused, N_REFUSED / 4);
}

static void test_lose_run(void **state)
{
    (void)state;
    expect("lose_run", false, HISTORY_LOST);
}

static void test_copy_twice(void **state)
{
    (void)state;
    expect("copy_twice", false, HISTORY_DOUBLED);
}

static void test_newest_first(void **state)
{
    (void)state;
    expect("newest_first", false, HISTORY_REORDERED);
}

static void test_silent_refusal(void **state)
{
    (void)state;
    expect("silent_refusal", false, HISTORY_LOST);
}

static void test_unmarked(void **state)
{
    (void)state;
    expect("unmarked", true, HISTORY_DOUBLED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_none),           cmocka_unit_test(test_lose_run),
        cmocka_unit_test(test_copy_twice),     cmocka_unit_test(test_newest_first),
        cmocka_unit_test(test_silent_refusal), cmocka_unit_test(test_unmarked),
    };

    return cmocka_run_group_tests_name("history_seeded", tests, NULL, NULL);
}
