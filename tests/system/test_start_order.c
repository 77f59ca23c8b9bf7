/* SPDX-License-Identifier: Apache-2.0 */
/* The starts of plugins, whoever has ended and is started again: what they may do, and in which
 * order they run: those of the configuration as its lines stand, then those that were loaded by
 * hand, as they were loaded.
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

static void load(struct manager *manager, const char *path)
{
    struct odeon_client *client = service_connect(manager_service(manager), "loads");

    load_plugin(client, path);
    odeon_client_disconnect(client);
}

static void unload(struct manager *manager, const char *name)
{
    char text[1024];

    assert_int_equal(
        ctl(manager_service(manager), text, sizeof(text), "actor stop --type %s", name), 0);
    assert_int_equal(ctl(manager_service(manager), text, sizeof(text), "plugin unload %s", name),
                     0);
}

static void restart(struct manager *manager)
{
    assert_int_equal(manager_restart(manager), 0);
    manager_wait_ready(manager);
}

static const char *const a_and_b[] = { COMMON, LINE("a"), LINE("b"), NULL };
static const char *const b_and_a[] = { COMMON, LINE("b"), LINE("a"), NULL };
static const char *const only_b[] = { COMMON, LINE("b"), NULL };

/* What is loaded into the room that another one has left does not come in its place. The line of
 * that one is a new one at the next start in order, and behind what might have its name. */
static void test_by_hand_behind_the_lines(void **state)
{
    struct manager *manager = start(a_and_b);
    size_t before = 0;

    (void)state;
    expect_starts(manager, &before, "ab");
    unload(manager, "order_a");
    load(manager, ORDER("d"));
    load(manager, ORDER("c"));
    expect_starts(manager, &before, "dc");
    manager_kill_executor(manager);
    expect_starts(manager, &before, "bdc");
    manager_kill_both(manager);
    expect_starts(manager, &before, "bdc");
    restart(manager);
    expect_starts(manager, &before, "bdca");
    manager_kill_executor(manager);
    expect_starts(manager, &before, "abdc");
    manager_kill_both(manager);
    expect_starts(manager, &before, "abdc");
    restart(manager);
    expect_starts(manager, &before, "abdc");
    manager_end(manager);
}

/* Others may look for what it has, and were there before. */
static void test_a_new_build_in_its_place(void **state)
{
    struct manager *manager = start(a_and_b);
    size_t before = 0;

    (void)state;
    expect_starts(manager, &before, "ab");
    unload(manager, "order_a");
    load(manager, ORDER("a"));
    expect_starts(manager, &before, "a");
    manager_kill_executor(manager);
    expect_starts(manager, &before, "ab");
    manager_kill_both(manager);
    expect_starts(manager, &before, "ab");
    restart(manager);
    expect_starts(manager, &before, "ab");
    manager_end(manager);
}

/* A start in order reads them anew, whatever the one before had; a crash leaves all as it was. */
static void test_the_lines_order(void **state)
{
    struct manager *manager = start(only_b);
    size_t before = 0;

    (void)state;
    expect_starts(manager, &before, "b");
    manager_set_program(manager, NULL, a_and_b);
    restart(manager);
    expect_starts(manager, &before, "ab");
    manager_set_program(manager, NULL, b_and_a);
    manager_kill_both(manager);
    expect_starts(manager, &before, "ab");
    restart(manager);
    expect_starts(manager, &before, "ba");
    manager_kill_executor(manager);
    expect_starts(manager, &before, "ba");
    manager_kill_both(manager);
    expect_starts(manager, &before, "ba");
    manager_end(manager);
}

/* Of the executor: its workers stand still by then, and no actor is there to be named. */
static void test_a_start_may_log(void **state)
{
    struct manager *manager = start(a_and_b);
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
        cmocka_unit_test(test_by_hand_behind_the_lines),
        cmocka_unit_test(test_a_new_build_in_its_place),
        cmocka_unit_test(test_the_lines_order),
    };

    return cmocka_run_group_tests_name("start_order", tests, NULL, NULL);
}
