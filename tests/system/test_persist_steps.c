/* SPDX-License-Identifier: Apache-2.0 */
/* odeond is killed at each step of its start, of opening a port and of closing one: between making
 * memory, handing it to the service manager, recording it, giving it to executor and client, and
 * the way back. The client's calls succeed all the same, nothing is lost, and when it has gone
 * nothing is left of it: not in the store, not in a process.
 */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/system/manager.h"
#include "tests/system/probe.h"

/* START_STEPS: at least as many as lie in front of a start's first barrier */
enum { NUMBERS = 3, STEPS_MAX = 400, START_STEPS = 12 };

static const char *const arguments[] = { SMALL_SERVICE,
                                         "--executor",
                                         TEST_EXECUTOR,
                                         "--plugin",
                                         TEST_PROBE,
                                         "--set",
                                         "restart-delay-max-ms=20",
                                         NULL };

/* Descriptors of port memory that a process has. */
static unsigned count_port_memory(pid_t pid)
{
    char path[64], target[128];
    unsigned n = 0;
    DIR *fds;

    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    fds = opendir(path);
    if (!fds)
        return 0;
    for (struct dirent *entry; (entry = readdir(fds)) != NULL;) {
        ssize_t length = readlinkat(dirfd(fds), entry->d_name, target, sizeof(target) - 1);

        target[length > 0 ? length : 0] = '\0';
        n += strstr(target, "odeon-port") != NULL;
    }
    closedir(fds);
    return n;
}

/* The client whose calls must not notice. */
static void live(struct manager *manager)
{
    struct odeon_client *client = service_connect(manager_service(manager), "steps");
    odeon_ref echo = spawn(client, "probe_echo", NULL, NULL, 0);
    uint32_t type = message_id(client, odeon_message_of(probe_number));
    struct odeon_port *port = port_open_or_fail(client, 1 << 16, 1 << 16, true);

    for (uint64_t n = 0; n < NUMBERS; n++) {
        struct probe_number number = { .n = n };

        assert_int_equal(odeon_port_post(port, echo, type, &number, sizeof(number)), 0);
    }
    for (uint64_t n = 0; n < NUMBERS; n++) {
        struct odeon_delivery delivery;

        assert_int_equal(odeon_port_receive_wait(port, &delivery, SECONDS(PATIENCE_S)), 1);
        assert_int_equal(((const struct probe_number *)delivery.data)->n, n);
        odeon_port_release(port);
    }
    assert_int_equal(odeon_port_check(port), 0);
    odeon_port_close(port);
    odeon_client_disconnect(client);
}

static pid_t executor_of(struct manager *manager)
{
    struct odeon_status *status = NULL;
    struct odeon_client *client = NULL;
    pid_t pid = 0;

    if (odeon_client_connect(manager_service(manager)->socket, "looks", &client) < 0)
        return 0;
    odeon_client_set_patience(client, 0);
    if (odeon_service_status(client, &status) == 0) {
        pid = status->ports == 0 && strcmp(status->state, "running") == 0
                  ? (pid_t)status->executor_pid
                  : 0;
        odeon_result_free(status);
    }
    odeon_client_disconnect(client);
    return pid;
}

static uint64_t n_taken;

/* In all of the service's life. The file is another one after each start. */
static uint64_t numbers_taken(struct manager *manager)
{
    struct service *service = manager_service(manager);

    service->figures = odeon_stats_close(service->figures);
    return service_figure(service, "port_messages");
}

static bool is_at_base_line(struct manager *manager)
{
    pid_t executor = executor_of(manager);

    /* registry, segment, stats, plugin */
    return executor > 0 && manager_store_count(manager, "") == 4 &&
           count_port_memory(executor) == 0 && count_port_memory(manager_pid(manager)) == 0;
}

/* False: odeond was not killed, there are no further steps. */
static bool run_with_kills(unsigned first, unsigned second)
{
    struct manager *manager;
    char at[32];
    bool killed;

    snprintf(at, sizeof(at), "ODEON_CRASH_AT=%u", first);
    manager = manager_start(&(struct manager_options){ .program = TEST_ODEOND_OTHER,
                                                       .arguments = arguments,
                                                       .environment = at,
                                                       .activate = true });
    snprintf(at, sizeof(at), "ODEON_CRASH_AT=%u", second);
    manager_set_environment(manager, second ? at : NULL);
    manager_wait_ready(manager);
    live(manager);
    if (!wait_until(is_at_base_line(manager))) {
        char *list = manager_store_list(manager);

        fail_msg("killed at step %u, then %u: left in the store, or in a process:\n%s", first,
                 second, list);
    }
    killed = manager_starts(manager) > 1;
    /* what is recorded is right as well: the next one finds nothing more than it should */
    if (killed) {
        uint64_t taken = numbers_taken(manager);

        /* figures go on, also where this start is cut short at a step of its own (persist.R5) */
        n_taken += taken;
        snprintf(at, sizeof(at), "ODEON_CRASH_AT=%u", 1 + first % START_STEPS);
        manager_set_environment(manager, at);
        manager_kill(manager);
        manager_wait_ready(manager);
        assert_true(wait_until(is_at_base_line(manager)));
        assert_int_equal(numbers_taken(manager), taken);
        assert_int_equal(service_log_count(manager_service(manager), " is lost: "), 0);
    }
    manager_end(manager);
    return killed;
}

static void test_killed_at_each_step(void **state)
{
    unsigned stride = getenv("ODEON_TEST_QUICK") ? 5 : 1, n = 1;

    (void)state;
    while (n < STEPS_MAX && run_with_kills(n, 0))
        n += stride;
    assert_true(n > 20 && n < STEPS_MAX && n_taken > 0);
    print_message("# %u steps at which odeond was killed, %u of them tried\n", n - 1,
                  (n - 1) / stride);
}

/* The next odeond is killed, too, at a step of its own. */
static void test_killed_again_while_going_on(void **state)
{
    unsigned stride = getenv("ODEON_TEST_QUICK") ? 10 : 2, n = 1;

    (void)state;
    while (n < STEPS_MAX && run_with_kills(n, 1 + n * 7 % 12))
        n += stride;
    assert_true(n > 20 && n < STEPS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_killed_at_each_step),
        cmocka_unit_test(test_killed_again_while_going_on),
    };

    return cmocka_run_group_tests_name("persist_steps", tests, NULL, NULL);
}
