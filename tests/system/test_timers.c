/* SPDX-License-Identifier: Apache-2.0 */
/* Timers in the real service: an actor that lives by them goes on over kills of the executor, each
 * of its steps comes once and in order, and none that it has cancelled. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/system/harness.h"
#include "tests/system/ticker.h"

enum { STEPS = 1500, KILL_EVERY = 150 };

static struct service service;

static uint64_t next_heard(struct odeon_port *port, uint32_t heard_type)
{
    struct odeon_delivery delivery;
    struct ticker_heard heard;

    assert_int_equal(odeon_port_receive_wait(port, &delivery, SECONDS(PATIENCE_S)), 1);
    assert_int_equal(delivery.type, heard_type);
    assert_int_equal(delivery.size, sizeof(heard));
    memcpy(&heard, delivery.data, sizeof(heard));
    odeon_port_release(port);
    if (heard.wrong)
        fail_msg("ticker.c:%llu, at step %llu", (unsigned long long)heard.wrong,
                 (unsigned long long)heard.number);
    return heard.number;
}

static void start_ticking(struct odeon_client *client, struct odeon_port *port, uint64_t last,
                          uint64_t delay_ns)
{
    struct ticker_start start = { .port = odeon_port_ref(port),
                                  .last = last,
                                  .delay_ns = delay_ns };
    odeon_ref ticker = spawn(client, "ticker", NULL, NULL, 0);

    assert_int_equal(odeon_port_post_wait(port, ticker,
                                          message_id(client, odeon_message_of(ticker_start)),
                                          &start, sizeof(start), SECONDS(PATIENCE_S)),
                     0);
}

static void test_over_kills(void **state)
{
    struct odeon_client *client = service_connect(&service, "timers");
    struct odeon_port *port = port_open_or_fail(client, 0, 0, false);
    uint32_t heard_type = message_id(client, odeon_message_of(ticker_heard));

    (void)state;
    start_ticking(client, port, STEPS, 100000);
    for (uint64_t number = 1; number <= STEPS; number++) {
        assert_int_equal(next_heard(port, heard_type), number);
        if (number % KILL_EVERY == 0) {
            pid_t executor = service_executor(&service);

            assert_int_equal(kill(executor, SIGKILL), 0);
            service_wait_executor(&service, executor);
        }
    }
    /* a kill may come between a flip and its count */
    assert_true(service_figure(&service, "timers_fired") >= STEPS - STEPS / KILL_EVERY);
    assert_true(service_figure(&service, "timers_cancelled") >= STEPS);
    assert_int_equal(service_figure(&service, "timers_dropped"), 0);
    odeon_port_close(port);
    odeon_client_disconnect(client);
}

/* A stop does not wait for timers, and says how many it leaves: a step's, and the one that is never
 * to come. */
static void test_a_stop_leaves_them(void **state)
{
    struct odeon_client *client = service_connect(&service, "timers");
    struct odeon_port *port = port_open_or_fail(client, 0, 0, false);

    (void)state;
    start_ticking(client, port, 1, SECONDS(3600));
    assert_true(wait_until(service_figure(&service, "timers_armed") >= 2));
    assert_true(wait_until(service_figure(&service, "messages_processed") > 0));
    odeon_port_close(port);
    odeon_client_disconnect(client);
    assert_int_equal(service_stop(&service, SIGTERM), 0);
    assert_true(service_log_has(&service, " 2 timers left"));
}

static int setup(void **state)
{
    const char *const arguments[] = { SMALL_SERVICE, "--plugin", TEST_TICKER, NULL };

    (void)state;
    service_start(&service, arguments);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    service_end(&service);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_over_kills, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_stop_leaves_them, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
