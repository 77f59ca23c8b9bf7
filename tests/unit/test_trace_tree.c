/* SPDX-License-Identifier: Apache-2.0 */
/* What has caused what among traced messages (client-lib/ctl/trace/trace_tree.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client-lib/ctl/trace/trace_tree.h"

enum { CLIENT = 1, A, B, C };

/* From whom to whom, when it began, for how long it ran, when it had been sent. */
static struct odeon_traced message(odeon_ref from, odeon_ref to, uint64_t began, uint64_t ran,
                                   uint64_t sent)
{
    return (struct odeon_traced){ .from = from,
                                  .to = to,
                                  .began_ns = began,
                                  .run_ns = ran,
                                  .wait_ns = sent ? began - sent : UINT64_MAX,
                                  .trace = 7 };
}

static void test_a_cause_is_what_the_sender_ran_then(void **state)
{
    const struct odeon_traced rows[] = {
        message(CLIENT, A, 1000, 100, 0), message(A, B, 1200, 50, 1050),
        message(CLIENT, A, 1300, 100, 0), message(A, B, 1500, 50, 1350),
        message(A, B, 1600, 50, 1090), /* the first one's, although the second has run since */
        message(B, C, 1700, 50, 1640),
    };
    const size_t causes[] = { TRACE_TREE_ROOT, 0, TRACE_TREE_ROOT, 2, 0, 4 };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_true(trace_tree_cause(rows, i) == causes[i]);
}

/* A timer's: it is not known when it was sent. */
static void test_without_a_time_it_is_what_the_sender_ran_last(void **state)
{
    const struct odeon_traced rows[] = { message(CLIENT, A, 1000, 100, 0),
                                         message(B, A, 2000, 100, 1900),
                                         message(A, C, 9000, 100, 0) };

    (void)state;
    assert_true(trace_tree_cause(rows, 2) == 1);
    assert_true(trace_tree_cause(rows, 1) == TRACE_TREE_ROOT); /* B has run nothing of it */
}

/* In the name of who had sent it first. */
static void test_what_was_passed_on(void **state)
{
    struct odeon_traced rows[] = { message(CLIENT, A, 1000, 100, 0), message(A, C, 1150, 10, 1050),
                                   message(CLIENT, B, 1200, 50, 1060) };

    (void)state;
    assert_true(trace_tree_cause(rows, 2) == TRACE_TREE_ROOT);
    rows[2].hops = 1;
    assert_true(trace_tree_cause(rows, 2) == 0);
}

static void test_of_the_same_trace_alone(void **state)
{
    struct odeon_traced rows[] = { message(CLIENT, A, 1000, 100, 0),
                                   message(A, C, 1150, 10, 1050) };

    (void)state;
    rows[0].trace = 8;
    assert_true(trace_tree_cause(rows, 1) == TRACE_TREE_ROOT);
}

/* Two that began at once are not each other's cause. */
static void test_there_is_no_circle(void **state)
{
    const struct odeon_traced rows[] = { message(A, A, 1000, 0, 0), message(A, A, 1000, 0, 0),
                                         message(A, A, 1000, 0, 0) };

    (void)state;
    for (size_t i = 0; i < 3; i++)
        assert_true(trace_tree_cause(rows, i) == (i ? i - 1 : TRACE_TREE_ROOT));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_cause_is_what_the_sender_ran_then),
        cmocka_unit_test(test_without_a_time_it_is_what_the_sender_ran_last),
        cmocka_unit_test(test_what_was_passed_on),
        cmocka_unit_test(test_of_the_same_trace_alone),
        cmocka_unit_test(test_there_is_no_circle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
