/* SPDX-License-Identifier: Apache-2.0 */
/* The starts of plugins, whoever has ended and is started again: what they may do, and in which
 * order they run.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/system/manager.h"

enum { STARTS_MAX = 64 };

#define COMMON                                                                                     \
    SMALL_SERVICE, "--executor", TEST_EXECUTOR, "--set", "restart-delay-max-ms=20", "--set",       \
        "drain-timeout-ms=500"
#define ORDER(name_) TEST_ORDER "/order_" name_ ".so"
#define LINE(name_)  "--plugin", ORDER(name_)

static struct manager *start(const char *const *arguments)
{
    struct manager *manager = manager_start(&(struct manager_options){ .arguments = arguments });

    manager_wait_ready(manager);
    return manager;
}

/* The names of all that have started, in their order. */
static void read_starts(struct manager *manager, char *ret_starts)
{
    static const char said[] = "order: ";
    char *log = service_read_log(manager_service(manager)), *at = log;
    size_t n = 0;

    while ((at = strstr(at, said)) && n < STARTS_MAX - 1) {
        at += strlen(said);
        ret_starts[n++] = *at;
    }
    ret_starts[n] = '\0';
    free(log);
}

/* Since the one before it. */
static void expect_starts(struct manager *manager, size_t *before, const char *wanted)
{
    char starts[STARTS_MAX];

    read_starts(manager, starts);
    assert_string_equal(starts + *before, wanted);
    *before = strlen(starts);
}

/* Of the executor: its workers stand still by then, and no actor is there to be named. */
static void test_a_start_may_log(void **state)
{
    static const char *const lines[] = { COMMON, LINE("a"), LINE("b"), NULL };
    struct manager *manager = start(lines);
    size_t before = 0;

    (void)state;
    expect_starts(manager, &before, "ab");
    manager_kill_executor(manager);
    expect_starts(manager, &before, "ab");
    manager_end(manager);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_start_may_log),
    };

    return cmocka_run_group_tests_name("start_order", tests, NULL, NULL);
}
