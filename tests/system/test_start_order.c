/* SPDX-License-Identifier: Apache-2.0 */
/* The starts of plugins, whoever has ended and is started again: what they may do, and in which
 * order they run: those of the configuration as its lines stand, then those that were loaded by
 * hand, as they were loaded.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "proto/registry_layout.h"
#include "tests/system/manager.h"
#include "tests/system/order.h"

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
    /* while the actor's stop is on its way the plugin is refused to go */
    assert_true(wait_until(
        ctl(manager_service(manager), text, sizeof(text), "plugin unload %s", name) == 0));
}

static void restart(struct manager *manager)
{
    assert_int_equal(manager_restart(manager), 0);
    manager_wait_ready(manager);
}

/* Behind the death of the executor, and behind that of both. */
static void expect_over_deaths(struct manager *manager, size_t *before, const char *order)
{
    manager_kill_executor(manager);
    expect_starts(manager, before, order);
    manager_kill_both(manager);
    expect_starts(manager, before, order);
}

/* Of `a`: where each line is counted in another reading of them, it is behind that of `b`. */
static void expect_a_new_build_in_its_place(struct manager *manager, size_t *before)
{
    unload(manager, "order_a");
    load(manager, ORDER("a"));
    expect_starts(manager, before, "a");
    expect_over_deaths(manager, before, "ab");
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
    expect_over_deaths(manager, &before, "bdc");
    restart(manager);
    expect_starts(manager, &before, "bdca");
    expect_over_deaths(manager, &before, "abdc");
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
    expect_a_new_build_in_its_place(manager, &before);
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
    expect_over_deaths(manager, &before, "ba");
    manager_end(manager);
}

/* What builds before this one take for whether a plugin is configured. */
static uint32_t recorded(struct manager *manager, const char *path)
{
    static struct registry registry;
    int fd = manager_store_get(manager, "registry");

    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &registry, sizeof(registry), 0), sizeof(registry));
    close(fd);
    for (unsigned i = 0; i < ODEON_PLUGINS_MAX; i++)
        if (registry.plugins[i].state != REGISTRY_FREE &&
            strcmp(registry.plugins[i].path, path) == 0)
            return registry.plugins[i].configured;
    fail_msg("%s is not recorded", path);
    return 0;
}

/* It has no number of its own, and would go with its line where it looked like one of those. */
static void test_by_hand_is_not_configured(void **state)
{
    struct manager *manager = start(a_and_b);

    (void)state;
    assert_int_equal(recorded(manager, ORDER("a")), 1 << REGISTRY_LINE_SHIFT | REGISTRY_CONFIGURED);
    unload(manager, "order_a");
    load(manager, ORDER("a"));
    assert_int_equal(recorded(manager, ORDER("a")), 0);
    assert_int_equal(recorded(manager, ORDER("b")), 2 << REGISTRY_LINE_SHIFT | REGISTRY_CONFIGURED);
    manager_kill_both(manager);
    assert_int_equal(recorded(manager, ORDER("a")), 0);
    manager_end(manager);
}

/* The configuration that is read after a crash has two lines more, of which nothing is loaded. */
static void test_a_new_build_behind_a_crash(void **state)
{
    static const char *const four[] = { COMMON, LINE("c"), LINE("d"), LINE("a"), LINE("b"), NULL };
    struct manager *manager = start(a_and_b);
    size_t before = 0;

    (void)state;
    expect_starts(manager, &before, "ab");
    manager_set_program(manager, NULL, four);
    manager_kill_both(manager);
    expect_starts(manager, &before, "ab");
    expect_a_new_build_in_its_place(manager, &before);
    manager_end(manager);
}

/* So has the one that a reload reads; the file comes before the arguments. */
static void reload_with_c_and_d(struct manager *manager)
{
    struct service *service = manager_service(manager);
    char text[1024];

    snprintf(text, sizeof(text), "plugin = %s\nplugin = %s\n", ORDER("c"), ORDER("d"));
    service_configure(service, text);
    assert_int_equal(kill(manager_pid(manager), SIGHUP), 0);
    assert_true(wait_until(service_log_has(service, "has been read again and applied")));
}

static void test_a_new_build_behind_a_reload(void **state)
{
    struct manager *manager = start(a_and_b);
    size_t before = 0;

    (void)state;
    expect_starts(manager, &before, "ab");
    reload_with_c_and_d(manager);
    expect_a_new_build_in_its_place(manager, &before);
    manager_end(manager);
}

/* The place of what was loaded by hand is counted anew behind a crash, and so all are. */
static void test_a_new_build_before_a_reload(void **state)
{
    struct manager *manager = start(a_and_b);
    size_t before = 0;

    (void)state;
    expect_starts(manager, &before, "ab");
    expect_a_new_build_in_its_place(manager, &before);
    reload_with_c_and_d(manager);
    manager_kill_both(manager);
    expect_starts(manager, &before, "ab");
    manager_end(manager);
}

/* What the plugin's actor has been told of starts, in all. */
static uint64_t ask(struct manager *manager, const char *name)
{
    struct odeon_client *client = service_connect(manager_service(manager), "asks");
    struct odeon_port *port = port_open_or_fail(client, 1 << 16, 1 << 16, false);
    uint32_t type = message_id(client, odeon_message_of(order_get));
    struct odeon_delivery delivery;
    struct order_value value;
    odeon_ref ref;

    assert_int_equal(odeon_actor_find(client, name, &ref), 0);
    assert_int_equal(odeon_port_call(port, ref, type, NULL, 0, SECONDS(PATIENCE_S), &delivery),
                     ODEON_CALL_REPLY);
    memcpy(&value, delivery.data, sizeof(value));
    odeon_port_release(port);
    odeon_port_close(port);
    odeon_client_disconnect(client);
    return value.starts;
}

/* Behind a plugin that refuses while there is such a file, of which it learns from `path`. */
static void make_refusing(char *path)
{
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(setenv("PICKY_FILE", path, 1), 0);
}

#define REFUSING "/tmp/odeon-test.flag-XXXXXX"
static const char *const a_and_picky[] = { COMMON, LINE("a"), "--plugin", TEST_PICKY, NULL };

/* An executor that ends over a plugin that is refused has not begun: what another plugin's start
 * does would be done by each of them. */
static void test_no_start_before_all_are_there(void **state)
{
    struct manager *manager;
    char path[] = REFUSING;
    size_t before = 0;

    (void)state;
    make_refusing(path);
    assert_int_equal(unlink(path), 0);
    manager = start(a_and_picky);
    expect_starts(manager, &before, "a");
    assert_int_equal(ask(manager, "order-a"), 1);
    close(open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    manager_kill_executor(manager); /* twice it is started again, then goes without the plugin */
    assert_int_equal(service_state(manager_service(manager)).executor_restarts, 3);
    expect_starts(manager, &before, "a");
    assert_int_equal(ask(manager, "order-a"), 2);
    assert_int_equal(unlink(path), 0);
    manager_kill_executor(manager);
    expect_starts(manager, &before, "a");
    assert_int_equal(ask(manager, "order-a"), 3);
    assert_int_equal(unsetenv("PICKY_FILE"), 0);
    manager_end(manager);
}

/* What waits is as it was: nothing has been sent there that the next start sends once more. */
static void test_no_start_on_state_that_waits(void **state)
{
    static const char refused[] = "a plugin that the former service had is refused";
    struct manager *manager;
    char path[] = REFUSING;
    size_t before = 0;

    (void)state;
    make_refusing(path);
    assert_int_equal(unlink(path), 0);
    manager = start(a_and_picky);
    expect_starts(manager, &before, "a");
    close(open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    assert_int_equal(manager_restart(manager), 0);
    assert_true(wait_until(service_log_has(manager_service(manager), refused)));
    expect_starts(manager, &before, "");
    assert_int_equal(unlink(path), 0);
    (void)manager_restart(manager); /* it has failed */
    manager_wait_ready(manager);
    expect_starts(manager, &before, "a");
    assert_int_equal(ask(manager, "order-a"), 2);
    assert_int_equal(unsetenv("PICKY_FILE"), 0);
    manager_end(manager);
}

/* The service does not come up. */
static void test_no_start_in_a_start_that_fails(void **state)
{
    struct service service;
    char path[] = REFUSING;
    int status;

    (void)state;
    make_refusing(path);
    service_make_dir(&service);
    service_spawn(&service, a_and_picky);
    status = service_wait_end(&service);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    assert_false(service_log_has(&service, "order: "));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(unsetenv("PICKY_FILE"), 0);
    service_end(&service);
}

/* Whose start ends the executor is left out, and nobody else: all are loaded by then. */
static void test_a_start_that_crashes(void **state)
{
    static const char *const lines[] = { COMMON, LINE("a"), LINE("b"), LINE("c"), NULL };
    struct manager *manager;
    size_t before = 0;

    (void)state;
    assert_int_equal(setenv("ORDER_CRASHES", "b", 1), 0);
    manager = start(lines);
    assert_int_equal(unsetenv("ORDER_CRASHES"), 0);
    assert_true(service_log_has(manager_service(manager),
                                "order_b.so has ended the executor 3 times while it was loaded"));
    expect_starts(manager, &before, "abababac");
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

/* A file for the start of each, which waits while it is there: `path` without its end. */
#define WAITING "/tmp/odeon-test.waits-XXXXXX"

static void name_waiting(const char *path, char name, char *ret_path)
{
    snprintf(ret_path, sizeof(WAITING) + 1, "%s%c", path, name);
}

static void make_waiting(const char *path, const char *names)
{
    char file[sizeof(WAITING) + 1];

    for (; *names; names++) {
        name_waiting(path, *names, file);
        close(open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    }
}

static void let_go(const char *path, char name)
{
    char file[sizeof(WAITING) + 1];

    name_waiting(path, name, file);
    assert_int_equal(unlink(file), 0);
}

static void begin_waiting(char *path)
{
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(setenv("ORDER_WAITS", path, 1), 0);
}

static void end_waiting(const char *path)
{
    assert_int_equal(unlink(path), 0);
    assert_int_equal(unsetenv("ORDER_WAITS"), 0);
}

/* Both are loaded, which is told once for each, before the first one begins. The period is so long
 * that nothing else feeds it. */
static void test_each_start_feeds_the_watchdog(void **state)
{
    char path[] = WAITING;
    struct manager *manager;
    unsigned fed;
    pid_t former;

    (void)state;
    begin_waiting(path);
    manager = manager_start(&(struct manager_options){
        .arguments = a_and_b, .environment = "WATCHDOG_USEC=36000000000" });
    manager_wait_ready(manager);
    fed = manager_feeds(manager);
    former = service_executor(manager_service(manager));
    make_waiting(path, "ab");
    assert_int_equal(kill(former, SIGKILL), 0);
    assert_true(wait_until(manager_feeds(manager) == fed + 3));
    let_go(path, 'a');
    assert_true(wait_until(manager_feeds(manager) == fed + 4));
    let_go(path, 'b');
    service_wait_executor(manager_service(manager), former);
    assert_int_equal(manager_feeds(manager), fed + 4);
    end_waiting(path);
    manager_end(manager);
}

/* It has as much time for each, also where nobody watches. */
static void test_each_start_asks_for_time(void **state)
{
    char path[] = WAITING;
    struct manager *manager;

    (void)state;
    begin_waiting(path);
    make_waiting(path, "ab");
    manager = manager_start(&(struct manager_options){ .arguments = a_and_b });
    assert_true(wait_until(manager_extensions(manager) == 3));
    let_go(path, 'a');
    assert_true(wait_until(manager_extensions(manager) == 4));
    let_go(path, 'b');
    manager_wait_ready(manager);
    assert_int_equal(manager_extensions(manager), 4);
    end_waiting(path);
    manager_end(manager);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_start_may_log),
        cmocka_unit_test(test_by_hand_behind_the_lines),
        cmocka_unit_test(test_a_new_build_in_its_place),
        cmocka_unit_test(test_the_lines_order),
        cmocka_unit_test(test_a_new_build_behind_a_crash),
        cmocka_unit_test(test_a_new_build_behind_a_reload),
        cmocka_unit_test(test_a_new_build_before_a_reload),
        cmocka_unit_test(test_by_hand_is_not_configured),
        cmocka_unit_test(test_no_start_before_all_are_there),
        cmocka_unit_test(test_no_start_on_state_that_waits),
        cmocka_unit_test(test_no_start_in_a_start_that_fails),
        cmocka_unit_test(test_a_start_that_crashes),
        cmocka_unit_test(test_each_start_feeds_the_watchdog),
        cmocka_unit_test(test_each_start_asks_for_time),
    };

    return cmocka_run_group_tests_name("start_order", tests, NULL, NULL);
}
