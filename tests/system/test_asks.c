/* SPDX-License-Identifier: Apache-2.0 */
/* Questions in the real service: whoever answers them, and whatever is killed meanwhile, each has
 * one outcome, and the right one. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/system/asks.h"
#include "tests/system/stage.h"

enum { QUESTIONS = 2000, KILL_EVERY = 160 };

static struct stage stage;
static odeon_ref keeper, front, deaf;
static uint32_t question_type, answer_type, heard_type;

static void seat(odeon_ref kept_by)
{
    odeon_ref nobody = spawn(stage.client, "asks_deaf", NULL, NULL, 0);
    struct asks_seats seats = {
        .keeper = kept_by, .nobody = nobody, .deaf = deaf, .client = odeon_port_ref(stage.port)
    };

    assert_int_equal(odeon_actor_stop(stage.client, nobody, ODEON_DELETE), 0);
    stage_post(&stage, front, odeon_message_of(asks_seats), &seats, sizeof(seats));
}

/* The next thing that has happened to a question; what the client itself is asked, it answers. */
static struct asks_heard next_heard(void)
{
    struct odeon_delivery delivery;
    struct asks_heard heard = { 0 };

    for (;;) {
        assert_int_equal(odeon_port_receive_wait(stage.port, &delivery, SECONDS(PATIENCE_S)), 1);
        if (delivery.type != question_type)
            break;
        assert_int_equal(
            odeon_port_answer(stage.port, &delivery, answer_type, delivery.data, delivery.size), 0);
        odeon_port_release(stage.port);
    }
    if (delivery.type != heard_type)
        fail_msg("a message of type %u", delivery.type);
    memcpy(&heard, delivery.data, sizeof(heard));
    odeon_port_release(stage.port);
    if (heard.wrong)
        fail_msg("asks.c:%llu, at question %llu", (unsigned long long)heard.wrong,
                 (unsigned long long)heard.number);
    return heard;
}

static bool is_right(const struct asks_heard *heard)
{
    switch (heard->number % ASKS_CASES) {
    case ASKS_TOO_LATE:
    case ASKS_PERHAPS: /* behind a kill the answer may wait before the deadline's word */
        return heard->reason == ODEON_REASON_DEADLINE || heard->reason == 0;
    case ASKS_NEVER:
        return heard->reason == ODEON_REASON_DEADLINE;
    case ASKS_NOBODY:
        return heard->reason == ODEON_REASON_NO_SUCH_ACTOR;
    case ASKS_DEAF:
        return heard->reason == ODEON_REASON_NOT_ACCEPTED;
    default:
        return heard->reason == 0;
    }
}

static odeon_ref start_asking(uint64_t last)
{
    struct asks_start start = { .port = odeon_port_ref(stage.port), .front = front, .last = last };
    odeon_ref asker = spawn(stage.client, "asks_asker", NULL, NULL, 0);

    stage_post(&stage, asker, odeon_message_of(asks_start), &start, sizeof(start));
    return asker;
}

static void test_over_kills(void **state)
{
    uint64_t deadlines = 0;

    (void)state;
    start_asking(QUESTIONS);
    for (uint64_t number = 1; number <= QUESTIONS; number++) {
        struct asks_heard heard = next_heard();

        assert_int_equal(heard.number, number);
        if (!is_right(&heard))
            fail_msg("question %llu ended with reason %llu", (unsigned long long)number,
                     (unsigned long long)heard.reason);
        deadlines += heard.reason == ODEON_REASON_DEADLINE;
        if (number % KILL_EVERY == 0) {
            pid_t executor = service_executor(&stage.service);

            assert_int_equal(kill(executor, SIGKILL), 0);
            service_wait_executor(&stage.service, executor);
        }
    }
    print_message("%llu of %d questions had no answer in time\n", (unsigned long long)deadlines,
                  QUESTIONS);
    assert_true(deadlines >= QUESTIONS / ASKS_CASES);
    /* none is left: what had an answer does not wait for its hour */
    assert_true(wait_until(service_figure(&stage.service, "asks_expired") >= deadlines / 2));
    assert_int_equal(service_figure(&stage.service, "answers_forged"), 0);
}

/* A client's call gets its answer from behind a front. */
static void test_a_call_through_a_front(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < 10 * ASKS_CASES; number++) {
        struct asks_question question = { .number = number };
        struct odeon_delivery answer;
        uint64_t how = number % ASKS_CASES;
        int outcome;

        if (how != ASKS_AT_ONCE && how != ASKS_LATER && how != ASKS_DEAF && how != ASKS_NOBODY)
            continue;
        outcome = odeon_port_call(stage.port, front, question_type, &question, sizeof(question),
                                  SECONDS(PATIENCE_S), &answer);
        if (how == ASKS_DEAF || how == ASKS_NOBODY) {
            const struct odeon_refusal *refusal = answer.data;

            assert_int_equal(outcome, ODEON_CALL_REFUSED);
            assert_int_equal(refusal->reason, how == ASKS_DEAF ? ODEON_REASON_NOT_ACCEPTED
                                                               : ODEON_REASON_NO_SUCH_ACTOR);
        } else {
            assert_int_equal(outcome, ODEON_CALL_REPLY);
            assert_int_equal(answer.from, keeper);
            assert_int_equal(((const struct asks_answer *)answer.data)->number, number);
        }
        odeon_port_release(stage.port);
    }
    assert_true(service_figure(&stage.service, "forwards") >= 40);
}

/* Answers to what a client was never asked; and the service's own word. */
static void test_forged(void **state)
{
    odeon_ref asker = start_asking(0);
    struct odeon_port *other = port_open_or_fail(stage.client, 0, 0, false);
    struct odeon_delivery forged = { .from = asker }, delivery;
    struct asks_answer answer = { .number = ASKS_NEVER };

    (void)state;
    assert_int_equal(odeon_port_answer(other, &forged, answer_type, &answer, sizeof(answer)),
                     -EINVAL);
    /* tokens that are guessed */
    for (uint64_t token = UINT64_C(1) << 32; token < (UINT64_C(1) << 32) + 4; token++) {
        forged.correlation = token;
        assert_int_equal(odeon_port_answer(other, &forged, answer_type, &answer, sizeof(answer)),
                         0);
    }
    assert_true(wait_until(service_figure(&stage.service, "answers_late") >= 4));
    /* what the service alone says */
    {
        const struct odeon_no_answer word = { .token = 1, .reason = ODEON_REASON_DEADLINE };
        const struct odeon_refusal *refusal;

        assert_int_equal(
            odeon_port_post_wait(other, asker,
                                 message_id(stage.client, odeon_message_of(odeon_no_answer)), &word,
                                 sizeof(word), SECONDS(PATIENCE_S)),
            0);
        assert_int_equal(odeon_port_receive_wait(other, &delivery, SECONDS(PATIENCE_S)), 1);
        refusal = delivery.data;
        assert_int_equal(refusal->reason, ODEON_REASON_NOT_ACCEPTED);
        odeon_port_release(other);
    }
    odeon_port_close(other);
}

static int setup(void **state)
{
    (void)state;
    stage_begin(&stage, TEST_ASKS, "asks");
    question_type = message_id(stage.client, odeon_message_of(asks_question));
    answer_type = message_id(stage.client, odeon_message_of(asks_answer));
    heard_type = message_id(stage.client, odeon_message_of(asks_heard));
    keeper = spawn(stage.client, "asks_keeper", NULL, NULL, 0);
    front = spawn(stage.client, "asks_front", NULL, NULL, 0);
    deaf = spawn(stage.client, "asks_deaf", NULL, NULL, 0);
    seat(keeper);
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
        cmocka_unit_test_setup_teardown(test_a_call_through_a_front, setup, teardown),
        cmocka_unit_test_setup_teardown(test_forged, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
