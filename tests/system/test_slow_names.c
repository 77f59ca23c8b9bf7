/* SPDX-License-Identifier: Apache-2.0 */
/* A reload beside the event loop: while whoever knows the names of users does not answer, everybody
 * else is served, the service can be stopped, and nothing of the file is in force. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/system/harness.h"

static const char applied[] = "the configuration has been read again and applied",
                  running[] = "a reload is running already";

static struct service service;
static char gate[128]; /* a file: while it is there, no name is found */

static void names_hang(void)
{
    int fd = open(gate, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    close(fd);
}

static void names_answer(void)
{
    assert_int_equal(unlink(gate), 0);
}

static int setup(void **state)
{
    (void)state;
    service_make_dir(&service);
    snprintf(gate, sizeof(gate), "%s/gate", service.dir);
    setenv("SLOW_NAMES", gate, 1);
    setenv("LD_PRELOAD", TEST_SLOW_NAMES, 1); /* for odeond */
    service_configure(&service, "role-observe = daemon\n");
    service_spawn(&service, (const char *const[]){ SMALL_SERVICE, NULL });
    unsetenv("LD_PRELOAD");
    service_wait_ready(&service);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    (void)unlink(gate);
    service_end(&service);
    return 0;
}

static void reload_that_hangs(void)
{
    names_hang();
    service_configure(&service, "role-observe = daemon\nthroughput = 54321\n");
    assert_int_equal(kill(service.pid, SIGHUP), 0);
}

/* It answers by its loop, and so has begun what came before. */
static void assert_answers(void)
{
    char output[4096];

    assert_int_equal(ctl(&service, output, sizeof(output), "status"), 0);
}

/* False: nothing of the file was taken, for the limit of time was over before the names answered,
 * or a worker had no processor. A machine may do that to this test, and it says nothing then. */
static bool others_are_served(void)
{
    static const char refused[] = "reload: nothing is changed: ";
    char output[4096];

    reload_that_hangs();
    for (unsigned i = 0; i < 10; i++)
        assert_answers();
    assert_int_equal(kill(service.pid, SIGHUP), 0);
    assert_true(
        wait_until(service_log_has(&service, running) || service_log_has(&service, refused)));
    assert_answers();
    assert_false(service_log_has(&service, applied));
    assert_int_equal(ctl(&service, output, sizeof(output), "executor show"), 0);
    assert_null(strstr(output, "54321"));
    names_answer();
    assert_true(wait_until(service_log_count(&service, applied) == 2 || /* and once more */
                           service_log_has(&service, refused)));
    if (service_log_has(&service, refused))
        return false;
    assert_int_equal(ctl(&service, output, sizeof(output), "executor show"), 0);
    assert_non_null(strstr(output, "54321"));
    assert_int_equal(service_stop(&service, SIGTERM), 0);
    return true;
}

static bool others_are_served_anew(void **state)
{
    (void)teardown(state);
    (void)setup(state);
    return others_are_served();
}

static void test_others_are_served(void **state)
{
    assert_true(others_are_served() || wait_until(others_are_served_anew(state)));
}

static void test_stopped_meanwhile(void **state)
{
    (void)state;
    reload_that_hangs();
    assert_answers();
    assert_int_equal(service_stop(&service, SIGTERM), 0);
    assert_false(service_log_has(&service, applied));
}

/* Behind the limit of time the reload is refused, and so is the next one, until there is an answer
 * for the first. */
static void test_no_answer_in_time(void **state)
{
    (void)state;
    reload_that_hangs();
    assert_true(wait_until(service_log_has(&service, "could not be read within")));
    assert_int_equal(kill(service.pid, SIGHUP), 0);
    assert_true(wait_until(service_log_has(&service, "an earlier reading of it has not ended")));
    assert_answers();
    names_answer();
    while (!service_log_has(&service, applied)) {
        assert_int_equal(kill(service.pid, SIGHUP), 0);
        pause_briefly();
    }
    assert_int_equal(service_stop(&service, SIGTERM), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_others_are_served, setup, teardown),
        cmocka_unit_test_setup_teardown(test_stopped_meanwhile, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_answer_in_time, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
