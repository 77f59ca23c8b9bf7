/* SPDX-License-Identifier: Apache-2.0 */
/* The rate limiter of docs/examples in the real service: its client's program, keys that come and
 * go, and an executor that is killed meanwhile. Its tests without a service are beside it. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "docs/examples/rate-limiter/rate_actors.h"
#include "tests/system/stage.h"

enum { KILLS = 8, ROUNDS_A_KILL = 40, KEYS = 8, BURST = 20, RATE_A_SECOND = 1000 };
/* for a bucket to which nothing comes back while a test runs: 46 days */
#define NEVER_MS UINT32_C(4000000000)

static struct stage stage;
static uint32_t take_type, answer_type;

static odeon_ref open_front(const struct rate_front_args *args)
{
    return spawn(stage.client, "rate_front", args->name, args, sizeof(*args));
}

static void post_take(odeon_ref front, const char *key, uint32_t cost, uint64_t correlation)
{
    struct rate_take take = { .cost = cost };

    snprintf(take.key, sizeof(take.key), "%s", key);
    assert_int_equal(
        odeon_port_post_correlated(stage.port, front, take_type, correlation, &take, sizeof(take)),
        0);
}

/* The next answer, and the number of its call. */
static struct rate_answer next_answer(uint64_t *ret_correlation)
{
    struct rate_answer answer;

    *ret_correlation = stage_receive(&stage, answer_type, &answer, sizeof(answer));
    return answer;
}

static struct rate_answer take(odeon_ref front, const char *key, uint32_t cost)
{
    uint64_t correlation;
    struct rate_answer answer;

    post_take(front, key, cost, 1);
    answer = next_answer(&correlation);
    assert_int_equal(correlation, 1);
    return answer;
}

static void expect_output(const char *arguments, const char *expected)
{
    char command[512], output[512];
    FILE *program;
    size_t n;

    snprintf(command, sizeof(command), "ODEON_SOCKET=%s %s %s 2>&1", stage.service.socket,
             TEST_RATE_CLIENT, arguments);
    program = popen(command, "r");
    assert_non_null(program);
    n = fread(output, 1, sizeof(output) - 1, program);
    output[n] = '\0';
    assert_int_equal(pclose(program), 0);
    assert_string_equal(output, expected);
}

static void test_the_program(void **state)
{
    (void)state;
    open_front(&(struct rate_front_args){
        .rate = 1, .per_ms = NEVER_MS, .burst = 3, .keys = 1, .name = "program" });
    expect_output("program ::1 1 1", "no key, 0 left, wait 0 ms\n");
    expect_output("program alice 1 3", "allowed, 2 left, wait 0 ms\n"
                                       "allowed, 1 left, wait 0 ms\n"
                                       "allowed, 0 left, wait 0 ms\n");
    expect_output("program alice 4 1", "more than the burst, 0 left, wait 0 ms\n");
    expect_output("program bob 1 1", "too many keys, 0 left, wait 0 ms\n");
}

static bool has_left(const char *name)
{
    odeon_ref ref;

    return odeon_actor_find(stage.client, name, &ref) == -ENOENT;
}

static void test_a_key_is_forgotten(void **state)
{
    odeon_ref front = open_front(&(struct rate_front_args){
        .rate = RATE_A_SECOND, .burst = 1, .keys = 1, .idle_ms = 20, .name = "short" });

    (void)state;
    for (int i = 0; i < 5; i++) {
        char name[32], key[16];

        snprintf(key, sizeof(key), "key%d", i);
        snprintf(name, sizeof(name), "short.key%d", i);
        /* there is room for one: the one before has to have left, and to have been counted */
        assert_true(wait_until(take(front, key, 1).outcome == RATE_ALLOWED));
        assert_true(wait_until(has_left(name)));
    }
}

/* What the calls of one round were allowed. */
struct round {
    odeon_ref churning, once;
    uint64_t calls, busy, allowed[KEYS], once_allowed;
};

/* One call for each key, and one for a key that gets nothing back. */
static void call_all(struct round *round)
{
    uint64_t seen = 0, correlation;
    char key[16];

    for (uint32_t i = 0; i <= KEYS; i++) {
        snprintf(key, sizeof(key), "key%u", i);
        post_take(i < KEYS ? round->churning : round->once, key, 1, i + 1);
    }
    for (uint32_t i = 0; i <= KEYS; i++) {
        struct rate_answer answer = next_answer(&correlation);

        if (correlation == 0 || correlation > KEYS + 1 || (seen & UINT64_C(1) << correlation))
            fail_msg("an answer to call %llu, twice or to none", (unsigned long long)correlation);
        seen |= UINT64_C(1) << correlation;
        if (answer.outcome != RATE_ALLOWED && answer.outcome != RATE_LIMITED &&
            answer.outcome != RATE_BUSY)
            fail_msg("call %llu: outcome %u", (unsigned long long)correlation, answer.outcome);
        round->calls++;
        round->busy += answer.outcome == RATE_BUSY;
        if (answer.outcome == RATE_ALLOWED)
            *(correlation <= KEYS ? &round->allowed[correlation - 1] : &round->once_allowed) += 1;
    }
}

/* Limiters leave after a millisecond while they are called, and the executor is killed: each call
 * has one answer, and nobody gets more for it. */
static void test_over_kills(void **state)
{
    struct round round = {
        .churning = open_front(&(struct rate_front_args){
            .rate = RATE_A_SECOND, .burst = 2, .keys = KEYS, .idle_ms = 1, .name = "churning" }),
        .once = open_front(&(struct rate_front_args){
            .rate = 1, .per_ms = NEVER_MS, .burst = BURST, .name = "once" }),
    };
    int64_t began_ns = time_ns(), most;

    (void)state;
    for (int n = 0; n < KILLS * ROUNDS_A_KILL; n++) {
        if (n % ROUNDS_A_KILL == ROUNDS_A_KILL / 2) {
            pid_t executor = service_executor(&stage.service);

            assert_int_equal(kill(executor, SIGKILL), 0);
            call_all(&round);
            service_wait_executor(&stage.service, executor);
        }
        call_all(&round);
        if (n % 3 > 0)
            pause_briefly();
    }
    most = 2 + (time_ns() - began_ns) / (SECONDS(1) / RATE_A_SECOND);
    print_message("%llu calls, %llu of them busy, at most %lld a key\n",
                  (unsigned long long)round.calls, (unsigned long long)round.busy, (long long)most);
    for (uint32_t i = 0; i < KEYS; i++)
        assert_true(round.allowed[i] >= 2 && round.allowed[i] <= (uint64_t)most);
    /* not one burst for each kill: one */
    assert_int_equal(round.once_allowed, BURST);
    for (uint32_t i = 0; i < KEYS; i++) {
        char name[32];

        snprintf(name, sizeof(name), "churning.key%u", i);
        assert_true(wait_until(has_left(name)));
    }
    /* their room has been given back */
    assert_true(wait_until(take(round.churning, "another", 1).outcome == RATE_ALLOWED));
}

static int setup(void **state)
{
    (void)state;
    stage_begin(&stage, TEST_RATE, "limiter");
    take_type = message_id(stage.client, odeon_message_of(rate_take));
    answer_type = message_id(stage.client, odeon_message_of(rate_answer));
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
        cmocka_unit_test_setup_teardown(test_the_program, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_key_is_forgotten, setup, teardown),
        cmocka_unit_test_setup_teardown(test_over_kills, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
