/* SPDX-License-Identifier: Apache-2.0 */
/* Lines and who has them: what is foreign, what is shared, what is new in a round. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/counting/lines.h"

enum { A = 0, B = 70, C = 150, LINES_MANY = 200000 };

static uint8_t name_by_word(uint64_t address)
{
    return (uint8_t)(address / 8 % LINE_WORDS);
}

static int set_up(void **state)
{
    (void)state;
    lines_init(name_by_word);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    lines_free();
    return 0;
}

static bool foreign(uint32_t thread, uint64_t address, bool writes)
{
    return lines_see(thread, true, address, writes).foreign;
}

static void test_one_thread_has_all_lines(void **state)
{
    (void)state;
    assert_false(foreign(A, 4096, false));
    assert_false(foreign(A, 4096, true));
    assert_false(lines_see(A, true, 4100, true).shared);
}

/* A line that two write goes to and fro; so it does when one writes and one reads. */
static void test_what_another_has_written_is_foreign_once(void **state)
{
    (void)state;
    assert_false(foreign(A, 4096, true));
    assert_true(foreign(B, 4096, true));
    assert_false(foreign(B, 4159, true)); /* the same line */
    assert_true(foreign(A, 4096, false));
    assert_false(foreign(A, 4096, false));
    assert_true(
        foreign(B, 4096, true)); /* who had it to himself has it no more: its reader is told */
    assert_true(foreign(A, 4096, false));
}

static void test_readers_do_not_disturb_each_other(void **state)
{
    (void)state;
    assert_false(foreign(A, 8192, true));
    assert_true(foreign(B, 8192, false));
    assert_true(foreign(C, 8192, false));
    assert_false(foreign(A, 8192, false));
    assert_false(foreign(B, 8192, false));
    assert_true(foreign(C, 8192, true));
    assert_true(foreign(A, 8192, false));
    assert_true(foreign(B, 8192, false));
}

static void test_shared_is_what_two_that_count_have_touched(void **state)
{
    (void)state;
    assert_false(lines_see(A, false, 4096, true).shared);
    assert_false(lines_see(B, true, 4096, false).shared);
    assert_false(lines_see(A, false, 4096, false).shared);
    assert_true(lines_see(C, true, 4096, false).shared);
    assert_true(lines_see(B, true, 4096, false).shared);
    assert_false(lines_see(C, true, 4160, false).shared); /* the next line */
}

static void test_words_have_their_names(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < LINE_WORDS; i++)
        assert_int_equal(lines_see(A, true, 4096 + 8 * i + 4, false).word, i);
}

static void test_many_lines(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < LINES_MANY; i++)
        assert_false(foreign(A, i * LINE_BYTES, true));
    for (uint64_t i = 0; i < LINES_MANY; i++)
        assert_true(foreign(B, i * LINE_BYTES, false));
}

static void test_a_set_forgets_with_each_round(void **state)
{
    (void)state;
    struct line_set set;
    line_set_init(&set, 64);
    for (uint64_t round = 0; round < 100; round++) {
        for (uint64_t line = 0; line < 60; line++)
            assert_true(line_set_add(&set, line * 64 + round));
        for (uint64_t line = 0; line < 60; line++)
            assert_false(line_set_add(&set, line * 64 + round));
        line_set_next(&set);
    }
    line_set_free(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_one_thread_has_all_lines, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_another_has_written_is_foreign_once, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_readers_do_not_disturb_each_other, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_shared_is_what_two_that_count_have_touched, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_words_have_their_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many_lines, set_up, tear_down),
        cmocka_unit_test(test_a_set_forgets_with_each_round),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
