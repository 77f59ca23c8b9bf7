/* SPDX-License-Identifier: Apache-2.0 */
/* Phases and stashes in the real service: whatever is killed, who has come to a gate passes it
 * once, in order, while it is open, or is told why not. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <odeon/codec.h>

#include "tests/system/gate.h"
#include "tests/system/stage.h"

/* So many are on their way at a time: more than an interval between two times that it shuts, and
 * less than a stash. */
enum { PASSES = 4000, AHEAD = 48, KILL_EVERY = 400, STASH = 64 };

static struct stage stage;
static odeon_ref gate;
static uint32_t pass_type, passed_type, turn_type;

static void come(odeon_ref to, uint64_t number, uint64_t correlation)
{
    struct gate_pass pass = { .number = number };

    assert_int_equal(
        odeon_port_post_correlated(stage.port, to, pass_type, correlation, &pass, sizeof(pass)), 0);
}

static void turn(odeon_ref to)
{
    assert_int_equal(odeon_port_post_wait(stage.port, to, turn_type, NULL, 0, SECONDS(PATIENCE_S)),
                     0);
}

static struct odeon_delivery next_delivery(void)
{
    struct odeon_delivery delivery;

    assert_int_equal(odeon_port_receive_wait(stage.port, &delivery, SECONDS(PATIENCE_S)), 1);
    return delivery;
}

/* The number of who has passed, which answers who came. */
static void expect_passed(uint64_t number)
{
    struct gate_passed passed;
    uint64_t correlation = stage_receive(&stage, passed_type, &passed, sizeof(passed));

    assert_int_equal(passed.number, number);
    assert_int_equal(correlation, number);
}

static void expect_refused(uint64_t correlation)
{
    struct odeon_delivery delivery = next_delivery();
    struct odeon_refusal refusal;

    assert_int_equal(delivery.type, ODEON_MSG_REFUSAL);
    memcpy(&refusal, delivery.data, sizeof(refusal));
    assert_int_equal(refusal.reason, ODEON_REASON_STASHED);
    assert_int_equal(refusal.correlation, correlation);
    odeon_port_release(stage.port);
}

static bool shows(odeon_ref ref, const char *text)
{
    char output[2048], name[ODEON_REF_TEXT];

    odeon_ref_format(ref, name);
    return ctl(&stage.service, output, sizeof(output), "actor show --json %s", name) == 0 &&
           strstr(output, text) != NULL;
}

static void test_over_kills(void **state)
{
    uint64_t sent = 0;

    (void)state;
    for (uint64_t number = 1; number <= PASSES; number++) {
        for (; sent < PASSES && sent < number + AHEAD; sent++)
            come(gate, sent + 1, sent + 1);
        if (number % KILL_EVERY == GATE_SHUTS)
            stage_kill_executor(&stage);
        expect_passed(number);
        /* it has shut behind this one, and those who come are put off */
        if (number % GATE_SHUTS == 0)
            turn(gate);
    }
    assert_true(service_figure(&stage.service, "stashed") >= PASSES / 4);
    assert_int_equal(service_figure(&stage.service, "stash_refused"), 0);
    assert_int_equal(service_figure(&stage.service, "stash_dead"), 0);
}

static void test_is_shown_and_goes_on(void **state)
{
    (void)state;
    turn(gate);
    for (uint64_t number = 1; number <= 3; number++)
        come(gate, number, number);
    assert_true(wait_until(shows(gate, "\"stashed\":3,\"stashed_bytes\":192")));
    assert_true(shows(gate, "\"phase\":\"shut\""));
    stage_kill_executor(&stage);
    assert_true(shows(gate, "\"stashed\":3,"));
    assert_true(shows(gate, "\"phase\":\"shut\""));
    turn(gate);
    for (uint64_t number = 1; number <= 3; number++)
        expect_passed(number);
    assert_true(shows(gate, "\"phase\":\"open\""));
    assert_true(shows(gate, "\"stashed\":0,"));
}

/* One that begins anew is open, and who was put off is told. */
static void test_begins_anew(void **state)
{
    odeon_ref frail = spawn(stage.client, "gate_frail", NULL, NULL, 0);

    (void)state;
    turn(frail);
    come(frail, 1, 101);
    come(frail, 2, 102);
    assert_true(wait_until(shows(frail, "\"stashed\":2,")));
    stage_kill_executor(&stage);
    expect_refused(101);
    expect_refused(102);
    come(frail, 3, 3);
    expect_passed(3);
    assert_true(wait_until(service_figure(&stage.service, "stash_dead") == 2));
}

static void test_ends(void **state)
{
    char output[2048];
    odeon_ref other = spawn(stage.client, "gate", NULL, NULL, 0);

    (void)state;
    turn(other);
    come(other, 1, 101);
    assert_true(wait_until(shows(other, "\"stashed\":1,")));
    assert_int_equal(odeon_actor_stop(stage.client, other, ODEON_DELETE), 0);
    expect_refused(101);
    /* what nobody waits for any more is a dead letter */
    other = spawn(stage.client, "gate", NULL, NULL, 0);
    turn(other);
    /* what is sent so does not come by the port */
    assert_true(wait_until(shows(other, "\"phase\":\"shut\"")));
    assert_int_equal(
        odeon_actor_send(stage.client, other, "gate_pass", &(struct gate_pass){ 1 }, 8), 0);
    assert_true(wait_until(shows(other, "\"stashed\":1,")));
    assert_int_equal(odeon_actor_stop(stage.client, other, ODEON_DELETE), 0);
    assert_true(wait_until(ctl(&stage.service, output, sizeof(output), "dlq list") == 0 &&
                           strstr(output, "stashed")));
}

/* "Stash without end": it is bounded, who puts off is told, and it is counted. */
static void test_without_end(void **state)
{
    (void)state;
    turn(gate);
    for (uint64_t number = 1; number <= STASH + 2; number++)
        come(gate, number, number);
    for (uint64_t number = STASH + 1; number <= STASH + 2; number++) {
        struct odeon_delivery delivery = next_delivery();

        assert_int_equal(delivery.correlation, number);
        odeon_port_release(stage.port);
    }
    assert_true(wait_until(service_figure(&stage.service, "stash_refused") == 2));
    assert_true(service_log_has(&stage.service, "the gate's stash: -105")); /* -ENOBUFS */
    turn(gate);
    for (uint64_t number = 1; number <= GATE_SHUTS; number++)
        expect_passed(number);
    assert_true(wait_until(shows(gate, "\"stashed\":48,"))); /* put off once more */
}

/* A stop waits for none of them, and says how many there are. */
static void test_a_stop_counts_them(void **state)
{
    (void)state;
    turn(gate);
    come(gate, 1, 1);
    come(gate, 2, 2);
    assert_true(wait_until(shows(gate, "\"stashed\":2,")));
    assert_int_equal(service_stop(&stage.service, SIGTERM), 0);
    assert_true(service_log_has(&stage.service, " 0 timers left, 2 messages stashed"));
}

static int setup(void **state)
{
    (void)state;
    stage_begin(&stage, TEST_GATE, "phases");
    pass_type = message_id(stage.client, odeon_message_of(gate_pass));
    passed_type = message_id(stage.client, odeon_message_of(gate_passed));
    turn_type = message_id(stage.client, odeon_message_of(gate_turn));
    gate = spawn(stage.client, "gate", NULL, NULL, 0);
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
        cmocka_unit_test_setup_teardown(test_over_kills, setup, teardown),
        cmocka_unit_test_setup_teardown(test_is_shown_and_goes_on, setup, teardown),
        cmocka_unit_test_setup_teardown(test_begins_anew, setup, teardown),
        cmocka_unit_test_setup_teardown(test_ends, setup, teardown),
        cmocka_unit_test_setup_teardown(test_without_end, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_stop_counts_them, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
