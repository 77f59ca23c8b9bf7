/* SPDX-License-Identifier: Apache-2.0 */
/* The service manager's watchdog while no executor runs: fed as long as the next start is put off
 * behind one that was ready, or that has refused a plugin, and not when no start gets ready. What
 * fires, and when, is the rig's (tests/rig/test_systemd_watchdog.sh). */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/system/manager.h"

/* Looks are a third of the period apart. The longest wait is fifty of them. */
#define PERIOD  "WATCHDOG_USEC=600000"
#define PUT_OFF "the next start is in 10240 ms"
enum { LOOKS = 5, KILLS = 64, PUT_OFF_MS = 10240 };

static struct manager *manager;
static int64_t killed_ns;  /* of the last kill of an executor */
static char executor[128]; /* a link, which may go */
static char refuses[128];  /* while this is there picky.c refuses to be loaded */
static const char *const arguments[] = {
    SMALL_SERVICE, "--executor", executor, "--set", "restart-delay-max-ms=10240",
    "--plugin",    TEST_PICKY,   NULL
};

static int setup(void **state)
{
    (void)state;
    snprintf(executor, sizeof(executor), "/tmp/odeon-test.watchdog-%d", (int)getpid());
    (void)unlink(executor);
    assert_int_equal(symlink(TEST_EXECUTOR, executor), 0);
    snprintf(refuses, sizeof(refuses), "/tmp/odeon-test.refuses-%d", (int)getpid());
    (void)unlink(refuses);
    assert_int_equal(setenv("PICKY_FILE", refuses, 1), 0);
    manager =
        manager_start(&(struct manager_options){ .arguments = arguments, .environment = PERIOD });
    manager_wait_ready(manager);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    manager = manager_end(manager);
    (void)unlink(executor);
    (void)unlink(refuses);
    return unsetenv("PICKY_FILE");
}

static bool serves(pid_t former)
{
    struct odeon_stats_service state = service_state(manager_service(manager));

    return state.executor_pid != 0 && (pid_t)state.executor_pid != former &&
           strcmp(state.state_name, "running") == 0;
}

/* Until the next one serves, or the log has `put_off`: true. */
static bool kill_executor(const char *put_off)
{
    struct service *service = manager_service(manager);
    pid_t former = service_executor(service);
    bool said = false;

    killed_ns = time_ns();
    assert_int_equal(kill(former, SIGKILL), 0);
    assert_true(wait_until(serves(former) || (said = service_log_has(service, put_off))));
    return said;
}

/* The wait grows while none is ready for long: on a machine that is slow enough it does not. */
static void kill_until_put_off(const char *put_off)
{
    unsigned kills = 0;

    while (!kill_executor(put_off))
        if (++kills == KILLS) {
            print_message("# skipped: each executor was ready for long before the next kill\n");
            skip();
        }
}

/* The log has these words behind the first of those. */
static bool said_behind(const char *words, const char *those)
{
    char *log = service_read_log(manager_service(manager)), *at = strstr(log, those);
    bool has = at && strstr(at, words);

    free(log);
    return has;
}

/* So often before the next start comes, which may be while this thread has no processor: but not
 * before it is due, and then this says nothing. */
static void expect_fed_without_a_start(void)
{
    unsigned fed = manager_feeds(manager), now = fed;
    bool came = false;

    assert_true(wait_until(
        (now = manager_feeds(manager), came = said_behind("executor started", PUT_OFF)) ||
        now >= fed + LOOKS));
    if (came) {
        assert_true(time_ns() - killed_ns >= MILLISECONDS(PUT_OFF_MS));
        print_message("# skipped: the next start came before so many looks\n");
        skip();
    }
    assert_int_equal(manager_starts(manager), 1);
}

static void test_fed_while_a_start_is_put_off(void **state)
{
    (void)state;
    kill_until_put_off(PUT_OFF);
    expect_fed_without_a_start();
}

/* An executor that has refused a plugin is ended, and started again so often, and no more. */
static void test_fed_behind_a_refused_plugin(void **state)
{
    struct service *service = manager_service(manager);
    int fd;

    (void)state;
    kill_until_put_off("the next start is in 5120 ms");
    fd = open(refuses, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
    assert_true(wait_until(service_log_has(service, PUT_OFF) || serves(0)));
    if (!service_log_has(service, PUT_OFF)) {
        print_message("# skipped: the next start came before the file\n");
        skip();
    }
    expect_fed_without_a_start();
}

/* It has been fed behind the first start, however long that took: from then on until one fails that
 * is not put off it may be, and behind that it is not. */
static void test_not_fed_when_no_start_succeeds(void **state)
{
    struct service *service = manager_service(manager);
    unsigned fed;

    (void)state;
    assert_true(wait_until(manager_feeds(manager) > 0));
    assert_int_equal(unlink(executor), 0);
    assert_int_equal(kill(service_executor(service), SIGKILL), 0);
    assert_true(wait_until(service_log_has(service, "the executor cannot be started")));
    fed = manager_feeds(manager);
    /* as many tries as take more than five looks */
    assert_true(wait_until(service_log_has(service, "the next start is in 2560 ms")));
    assert_int_equal(manager_feeds(manager), fed);
    assert_true(said_behind("not fed: no executor is ready", "ready: clients can connect"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_fed_while_a_start_is_put_off, setup, teardown),
        cmocka_unit_test_setup_teardown(test_fed_behind_a_refused_plugin, setup, teardown),
        cmocka_unit_test_setup_teardown(test_not_fed_when_no_start_succeeds, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
