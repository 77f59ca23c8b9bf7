/* SPDX-License-Identifier: Apache-2.0 */
/* odeond itself is killed, restarted, replaced: nothing is lost, nothing comes twice, and clients
 * go on as they are. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/system/manager.h"
#include "tests/system/numbers.h"
#include "tests/system/probe.h"

static const char *const arguments[] = { SMALL_SERVICE,
                                         "--executor",
                                         TEST_EXECUTOR,
                                         "--plugin",
                                         TEST_PROBE,
                                         "--set",
                                         "restart-delay-max-ms=20",
                                         "--set",
                                         "drain-timeout-ms=500",
                                         NULL };

static struct manager *start(bool activate)
{
    struct manager *manager =
        manager_start(&(struct manager_options){ .arguments = arguments, .activate = activate });

    manager_wait_ready(manager);
    return manager;
}

/* The figures' file is another one after each start. */
static struct service *fresh_figures(struct manager *manager)
{
    struct service *service = manager_service(manager);

    service->figures = odeon_stats_close(service->figures);
    return service;
}

static void end(struct manager *manager)
{
    assert_int_equal(manager_stop(manager), 0);
    assert_int_equal(manager_store_count(manager, ""), 0);
    manager_end(manager);
}

/* When all clients have gone nothing is left of them. */
static void expect_base_line(struct manager *manager)
{
    if (!wait_until(manager_store_count(manager, "port-") == 0 &&
                    manager_store_count(manager, "client-") == 0)) {
        char *list = manager_store_list(manager);

        fail_msg("left in the store:\n%s", list);
    }
    assert_int_equal(manager_store_count(manager, ""), 4); /* registry, segment, stats, plugin */
}

/* From the kill to the first number that is back after it: manager, recovery and client
 * together. */
static int64_t pauses_ns[16];
static unsigned n_pauses;

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

static void print_pauses(void)
{
    qsort(pauses_ns, n_pauses, sizeof(pauses_ns[0]), compare);
    if (n_pauses > 0)
        print_message("# bench=kill-odeond kills=%u median_ms=%.1f max_ms=%.1f\n", n_pauses,
                      (double)pauses_ns[n_pauses / 2] / 1e6, (double)pauses_ns[n_pauses - 1] / 1e6);
    n_pauses = 0;
}

static void kill_odeond(struct manager *manager, bool executor_too)
{
    pid_t executor = service_executor(fresh_figures(manager));

    if (executor_too)
        kill(executor, SIGKILL);
    manager_kill(manager);
    assert_true(wait_until(!process_lives(executor)));
    manager_wait_ready(manager);
}

static struct numbers *watched;

static void run_with_disturbance(bool activate, unsigned times,
                                 void (*disturb)(struct manager *manager, unsigned i))
{
    struct manager *manager = start(activate);
    struct numbers numbers[2];

    for (unsigned i = 0; i < 2; i++)
        numbers_start(&numbers[i], manager_service(manager), i == 0 ? 1000 : 8);
    watched = &numbers[0];
    for (unsigned i = 0; i < times; i++) {
        numbers_wait(&numbers[0], 2000);
        numbers_wait(&numbers[1], 10);
        disturb(manager, i);
    }
    numbers_wait(&numbers[0], 2000);
    numbers_wait(&numbers[1], 10);
    for (unsigned i = 0; i < 2; i++)
        numbers_finish(&numbers[i]);
    expect_base_line(manager);
    end(manager);
}

static void disturb_by_kill(struct manager *manager, unsigned i)
{
    int64_t begin_ns = time_ns();

    kill_odeond(manager, i % 2 == 1);
    numbers_wait(watched, 1);
    if (n_pauses < sizeof(pauses_ns) / sizeof(pauses_ns[0]))
        pauses_ns[n_pauses++] = time_ns() - begin_ns;
}

static void test_killed_odeond_loses_nothing(void **state)
{
    (void)state;
    run_with_disturbance(false, 6, disturb_by_kill);
    print_pauses();
}

static void test_killed_odeond_with_an_activated_socket(void **state)
{
    (void)state;
    run_with_disturbance(true, 4, disturb_by_kill);
    print_pauses();
}

static void disturb_by_restart(struct manager *manager, unsigned i)
{
    (void)i;
    assert_int_equal(manager_restart(manager), 0);
    manager_wait_ready(manager);
}

static void test_restarted_odeond_loses_nothing(void **state)
{
    (void)state;
    run_with_disturbance(false, 3, disturb_by_restart);
}

static void disturb_by_upgrade(struct manager *manager, unsigned i)
{
    manager_set_program(manager, i % 2 == 0 ? TEST_ODEOND_OTHER : TEST_ODEOND, arguments);
    disturb_by_restart(manager, i);
}

static void test_upgrade_to_another_build_loses_nothing(void **state)
{
    (void)state;
    run_with_disturbance(false, 3, disturb_by_upgrade);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_killed_odeond_loses_nothing),
        cmocka_unit_test(test_killed_odeond_with_an_activated_socket),
        cmocka_unit_test(test_restarted_odeond_loses_nothing),
        cmocka_unit_test(test_upgrade_to_another_build_loses_nothing),
    };

    return cmocka_run_group_tests_name("persist", tests, NULL, NULL);
}
