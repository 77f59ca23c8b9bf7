/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/common/log: text on stderr. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/common/log.h"

static char captured[16384];

/* Runs `say` with stderr in a pipe. */
static void capture(void (*say)(void))
{
    int ends[2], saved = dup(STDERR_FILENO);
    ssize_t n;

    assert_int_equal(pipe(ends), 0);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    say();
    dup2(saved, STDERR_FILENO);
    close(saved);
    n = read(ends[0], captured, sizeof(captured) - 1);
    close(ends[0]);
    captured[n > 0 ? n : 0] = '\0';
}

static void say_levels(void)
{
    log_open("tester", LOG_LEVEL_NOTICE);
    log_error("number %d", 1);
    log_notice("number %d", 2);
    log_info("number %d", 3);
}

static void test_levels(void **state)
{
    char *second;

    (void)state;
    capture(say_levels);
    assert_non_null(strstr(captured, "tester["));
    assert_non_null(strstr(captured, "error: number 1\n"));
    second = strchr(captured, '\n');
    assert_non_null(second);
    assert_non_null(strstr(second, "number 2\n"));
    assert_null(strstr(captured, "number 3"));
}

static void say_hostile(void)
{
    const char *const fields[] = { "ODEON_A=x\ny", "ODEON_B=2", NULL };

    log_open("tester", LOG_LEVEL_INFO);
    log_fields(LOG_LEVEL_INFO, fields, "name '%s'", "a\033[31mb\nfake line");
}

static void test_control_characters(void **state)
{
    (void)state;
    capture(say_hostile);
    assert_null(strchr(captured, '\033'));
    assert_ptr_equal(strchr(captured, '\n'), captured + strlen(captured) - 1); /* one line */
    assert_non_null(strstr(captured, "name 'a?[31mb fake line' ODEON_A=x y ODEON_B=2\n"));
}

static void say_much(void)
{
    char text[8000];

    memset(text, 'z', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    log_open("tester", LOG_LEVEL_INFO);
    log_fields(LOG_LEVEL_INFO, (const char *const[]){ text, NULL }, "%s", text);
}

static void test_long_lines_are_cut(void **state)
{
    size_t length;

    (void)state;
    capture(say_much);
    length = strlen(captured);
    assert_true(length > 1000 && length < 5000);
    assert_int_equal(captured[length - 1], '\n');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_levels),
        cmocka_unit_test(test_control_characters),
        cmocka_unit_test(test_long_lines_are_cut),
    };

    unsetenv("JOURNAL_STREAM");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
