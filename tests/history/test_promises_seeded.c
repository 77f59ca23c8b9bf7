/* SPDX-License-Identifier: Apache-2.0 */
/* The history checker against executors that break what they have promised an actor: timers and
 * questions that are lost, come twice, or come although they were taken back (tests/seeded). Each
 * must be found, and the same executor without a bug must not.
 *
 * What is armed has to be there when the executor is killed. A machine may be too slow for that:
 * then there is another trial, with twice the time, until the patience is used up.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/history/promised.h"
#include "tests/history/seeded_service.h"

enum { SPAN_US = 200000, SPAN_MOST_US = 32 * SPAN_US, EACH = 4, AT_ONCE = 96 };

struct trial {
    struct service service;
    struct odeon_client *client;
    struct odeon_port *port;
    odeon_ref actor;
    uint32_t what_type, told_type;
    uint64_t timers; /* that have been armed */
    char path[128];
};

static void trial_begin(struct trial *t, const char *seed)
{
    *t = (struct trial){ .timers = 0 };
    seeded_service_start(&t->service, TEST_SEEDED, TEST_PROMISED, seed);
    snprintf(t->path, sizeof(t->path), "%s/history", t->service.dir);
    t->client = service_connect(&t->service, "promises");
    t->what_type = message_id(t->client, odeon_message_of(promised_do));
    t->told_type = message_id(t->client, odeon_message_of(promised_told));
    t->port = port_open_or_fail(t->client, 0, 0, false);
    t->actor = spawn(t->client, "promised", NULL, t->path, sizeof(t->path));
}

static void have(struct trial *t, enum promised_what what, uint32_t n, uint32_t span_us)
{
    struct promised_do message = {
        .port = odeon_port_ref(t->port), .what = what, .n = n, .span_us = span_us
    };

    assert_int_equal(odeon_port_post_wait(t->port, t->actor, t->what_type, &message,
                                          sizeof(message), SECONDS(PATIENCE_S)),
                     0);
    if (what == PROMISED_ARM || what == PROMISED_EVERY || what == PROMISED_TELL)
        t->timers += n;
}

static void wait_told(struct trial *t)
{
    struct odeon_delivery delivery;
    uint64_t number = 0;

    while (number < t->timers) {
        assert_int_equal(odeon_port_receive_wait(t->port, &delivery, SECONDS(PATIENCE_S)), 1);
        assert_int_equal(delivery.type, t->told_type);
        number = ((const struct promised_told *)delivery.data)->number;
        odeon_port_release(t->port);
    }
}

/* Timers come in the order of their deadlines: all whose time is over by then have come when this
 * one has. */
static void wait_for(struct trial *t, uint32_t span_us)
{
    have(t, PROMISED_TELL, 1, span_us);
    wait_told(t);
}

static struct history_verdict trial_end(struct trial *t)
{
    const char *const path = t->path;

    odeon_port_close(t->port);
    odeon_client_disconnect(t->client);
    return seeded_service_end(&t->service, &path, 1);
}

static struct history_verdict run_trial(const char *seed, uint32_t span_us)
{
    struct trial t;

    trial_begin(&t, seed);
    have(&t, PROMISED_ASK, AT_ONCE, span_us / 4);
    have(&t, PROMISED_ARM, EACH, 1000);
    wait_for(&t, span_us / 2);
    have(&t, PROMISED_EVERY, 1, span_us / 2);
    have(&t, PROMISED_ARM, 2 * EACH, span_us);
    have(&t, PROMISED_NEVER, 2 * EACH, span_us);
    have(&t, PROMISED_TAKE_BACK, EACH, 0);
    have(&t, PROMISED_SAY, 0, 0);
    wait_told(&t);
    service_kill_executor(&t.service);
    wait_for(&t, 2 * span_us);
    have(&t, PROMISED_TAKE_BACK, 0, 0);
    wait_for(&t, span_us);
    return trial_end(&t);
}

static uint32_t twice(uint32_t span_us)
{
    return span_us < SPAN_MOST_US ? 2 * span_us : span_us;
}

static void expect(const char *seed, enum history_wrong wrong)
{
    struct history_verdict verdict;
    uint32_t span_us = SPAN_US;
    int64_t end_ns = time_ns() + PATIENCE_NS;

    do {
        verdict = run_trial(seed, span_us);
        if (seeded_service_found(seed, &verdict, wrong))
            return;
        span_us = twice(span_us);
    } while (time_ns() < end_ns);
    fail_msg("%s is not found: %s", seed, verdict.first);
}

static void test_none(void **state)
{
    struct history_verdict verdict;
    uint32_t span_us = SPAN_US;
    int64_t end_ns = time_ns() + PATIENCE_NS;

    (void)state;
    do {
        verdict = run_trial(NULL, span_us);
        if (verdict.first[0])
            fail_msg("%s", verdict.first);
        assert_int_equal(verdict.armed, 3 * EACH + 1 + 3);
        assert_int_equal(verdict.asked, AT_ONCE + 2 * EACH);
        if (verdict.cancelled == EACH + 1 && verdict.withdrawn == EACH &&
            verdict.answered == AT_ONCE)
            return; /* else the time was over before the actor had got to it */
        span_us = twice(span_us);
    } while (time_ns() < end_ns);
    fail_msg("%llu cancelled, %llu withdrawn, %llu answered", (unsigned long long)verdict.cancelled,
             (unsigned long long)verdict.withdrawn, (unsigned long long)verdict.answered);
}

static void test_timer_stays(void **state)
{
    (void)state;
    expect("timer_stays", HISTORY_DOUBLED);
}

static void test_timer_gone(void **state)
{
    (void)state;
    expect("timer_gone", HISTORY_LOST);
}

static void test_timer_behind(void **state)
{
    (void)state;
    expect("timer_behind", HISTORY_DOUBLED);
}

static void test_cancel_gone(void **state)
{
    (void)state;
    expect("cancel_gone", HISTORY_REVOKED);
}

static void test_ask_stays(void **state)
{
    (void)state;
    expect("ask_stays", HISTORY_DOUBLED);
}

static void test_outcome_gone(void **state)
{
    (void)state;
    expect("outcome_gone", HISTORY_LOST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_none),         cmocka_unit_test(test_timer_stays),
        cmocka_unit_test(test_timer_gone),   cmocka_unit_test(test_timer_behind),
        cmocka_unit_test(test_cancel_gone),  cmocka_unit_test(test_ask_stays),
        cmocka_unit_test(test_outcome_gone),
    };

    return cmocka_run_group_tests_name("promises_seeded", tests, NULL, NULL);
}
