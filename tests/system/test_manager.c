/* SPDX-License-Identifier: Apache-2.0 */
/* The tests' service manager and odeond: told ready, kept descriptors, restarts, an activated
 * control socket. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/system/manager.h"

static const char *const small[] = { SMALL_SERVICE, NULL };

static void test_ready_kill_restart_stop(void **state)
{
    struct manager *manager = manager_start(&(struct manager_options){ .arguments = small });
    struct service *service = manager_service(manager);
    pid_t first;
    char *text;

    (void)state;
    manager_wait_ready(manager);
    text = manager_status(manager);
    assert_non_null(strstr(text, "2 workers"));
    free(text);
    odeon_client_disconnect(service_connect(service, "managed"));

    first = manager_kill(manager);
    manager_wait_ready(manager);
    assert_int_not_equal(manager_pid(manager), first);
    assert_int_equal(manager_starts(manager), 2);
    odeon_client_disconnect(service_connect(service, "managed"));

    assert_int_equal(manager_restart(manager), 0);
    manager_wait_ready(manager);
    assert_int_equal(manager_starts(manager), 3);

    assert_int_equal(manager_stop(manager), 0);
    assert_int_equal(manager_pid(manager), 0);
    manager_start_again(manager);
    manager_wait_ready(manager);
    manager_end(manager);
}

/* A socket unit's socket: clients that come before the service is there wait instead of being
 * refused. */
static void test_activated_socket_outlives_the_service(void **state)
{
    struct manager *manager =
        manager_start(&(struct manager_options){ .arguments = small, .activate = true });
    struct service *service = manager_service(manager);

    (void)state;
    odeon_client_disconnect(service_connect(service, "early"));
    manager_wait_ready(manager);
    manager_kill(manager);
    odeon_client_disconnect(service_connect(service, "waits"));
    assert_int_equal(manager_restart(manager), 0);
    odeon_client_disconnect(service_connect(service, "waits again"));
    assert_int_equal(manager_stop(manager), 0);
    assert_int_equal(access(service->socket, F_OK), 0); /* not odeond's to remove */
    manager_end(manager);
}

/* A drain that is configured longer than the unit's TimeoutStopSec= is not cut off by it, and
 * plugins that are loaded one after the other have more time than one. */
static void test_more_time_is_asked_for(void **state)
{
    static const char *const plugins[] = { SMALL_SERVICE,
                                           "--plugin",
                                           TEST_PROBE,
                                           "--plugin",
                                           TEST_PASSER,
                                           "--set",
                                           "drain-timeout-ms=60000",
                                           NULL };
    struct manager *manager = manager_start(&(struct manager_options){ .arguments = small });

    (void)state;
    manager_wait_ready(manager);
    assert_int_equal(manager_extended_us(manager), 0);
    assert_int_equal(manager_stop(manager), 0);
    assert_in_range(manager_extended_us(manager), 15000000, 30000000);
    manager_set_program(manager, NULL, plugins);
    manager_start_again(manager);
    manager_wait_ready(manager);
    assert_int_equal(manager_extended_us(manager), 60000000);
    assert_int_equal(manager_stop(manager), 0);
    assert_in_range(manager_extended_us(manager), 70000000, 80000000);
    manager_end(manager);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ready_kill_restart_stop),
        cmocka_unit_test(test_activated_socket_outlives_the_service),
        cmocka_unit_test(test_more_time_is_asked_for),
    };

    return cmocka_run_group_tests_name("manager", tests, NULL, NULL);
}
