/* SPDX-License-Identifier: Apache-2.0 */
/* Idle is free: a service with connected clients and open ports, whose ports have been in use,
 * costs next to nothing.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/system/harness.h"
#include "tests/system/probe.h"

enum { CLIENTS = 10, MEASURED_S = 5, TRIES = 5 };

/* Of a core, once both workers sleep: their figures stand still. */
static double percent_while_idle(struct service *service)
{
    pid_t executor = service_executor(service);
    uint64_t parks, before, used;
    int64_t begin;

    do
        parks = service_figure(service, "parks");
    while (wait_until_within(1, service_figure(service, "parks") != parks));
    begin = time_ns();
    before = process_cpu_ns(executor) + process_cpu_ns(service->pid);
    /* nothing happens: that is what is measured */
    (void)wait_until_within(MEASURED_S, !process_lives(executor));
    used = process_cpu_ns(executor) + process_cpu_ns(service->pid) - before;
    return 100.0 * (double)used / (double)(time_ns() - begin);
}

static void test_idle_service(void **state)
{
    struct odeon_client *clients[CLIENTS];
    struct odeon_port *ports[CLIENTS];
    struct probe_number number = { .n = 1 };
    struct odeon_delivery reply;
    struct service service;
    odeon_ref echo = ODEON_NOBODY;
    double percent = 100;

    (void)state;
    service_start(&service, (const char *const[]){ SMALL_SERVICE, "--plugin", TEST_PROBE, NULL });
    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = service_connect(&service, "idle");
        ports[i] = port_open_or_fail(clients[i], 0, 0, i % 2 == 0);
        if (i == 0)
            echo = spawn(clients[i], "probe_echo", NULL, NULL, 0);
        assert_int_equal(odeon_port_call(ports[i], echo,
                                         message_id(clients[i], odeon_message_of(probe_number)),
                                         &number, sizeof(number), SECONDS(PATIENCE_S), &reply),
                         ODEON_CALL_REPLY);
        odeon_port_release(ports[i]);
    }
    /* clock ticks of 10 ms: one of them is 0.2 % of the time here; the long measurement is the
     * benchmark's. What a service does by itself it does each time; what a machine that stands
     * still for a while puts on its bill, it does not */
    for (int i = 0; i < TRIES && percent >= 2.0; i++) {
        percent = percent_while_idle(&service);
        print_message("# idle: 2 workers, %d clients: %.3f %% of a core over %d s\n", CLIENTS,
                      percent, MEASURED_S);
    }
    assert_true(percent < 2.0);
    for (int i = 0; i < CLIENTS; i++)
        odeon_client_disconnect(clients[i]);
    assert_int_equal(service_stop(&service, SIGTERM), 0);
    service_end(&service);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_idle_service) };

    return cmocka_run_group_tests_name("idle", tests, NULL, NULL);
}
