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

enum { STEPS = 1500, KILL_EVERY = 150, MANY = 5000, FEW = 3 };

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

static odeon_ref arm_many(struct odeon_client *client, struct odeon_port *port, const char *name,
                          uint64_t n)
{
    struct ticker_many many = { .port = odeon_port_ref(port), .n = n };
    odeon_ref ticker = spawn(client, "ticker", name, NULL, 0);

    assert_int_equal(odeon_port_post_wait(port, ticker,
                                          message_id(client, odeon_message_of(ticker_many)), &many,
                                          sizeof(many), SECONDS(PATIENCE_S)),
                     0);
    assert_int_equal(next_heard(port, message_id(client, odeon_message_of(ticker_heard))), n);
    return ticker;
}

/* How many of `owner`'s are listed, each once and as it was armed; *ret_pages: in so many pages. */
static uint64_t listed(struct odeon_client *client, odeon_ref owner, unsigned *ret_pages)
{
    uint64_t n = 0, after = 0;
    bool more = true;

    for (*ret_pages = 0; more; ++*ret_pages) {
        struct odeon_list *list = NULL;

        assert_int_equal(odeon_timer_list(client, owner, after, 0, &list), 0);
        for (size_t i = 0; i < list->n; i++) {
            const struct odeon_timer_info *t = &((const struct odeon_timer_info *)list->rows)[i];

            assert_true(owner == ODEON_NOBODY || t->owner == owner);
            assert_true(t->owner == t->to && t->id != 0);
            assert_string_equal(t->message, "ticker_step");
            assert_int_equal(t->size, sizeof(struct ticker_step));
            assert_int_equal(t->period_ns, SECONDS(3600));
            assert_true(t->due_in_ns <= SECONDS(3600) && !t->by_boot_time);
        }
        n += list->n;
        more = list->more;
        assert_true(!more || list->next > after);
        after = list->next;
        odeon_list_free(list);
    }
    return n;
}

/* Page by page; those of one among those of another, also where a page of them is empty. */
static void test_they_are_listed(void **state)
{
    struct odeon_client *client = service_connect(&service, "timers");
    struct odeon_port *port = port_open_or_fail(client, 0, 0, false);
    odeon_ref many = arm_many(client, port, "many", MANY), few = arm_many(client, port, "few", FEW);
    char output[4096];
    unsigned pages;

    (void)state;
    assert_int_equal(listed(client, ODEON_NOBODY, &pages), MANY + FEW);
    assert_true(pages > 1);
    assert_int_equal(listed(client, many, &pages), MANY);
    assert_int_equal(listed(client, few, &pages), FEW);
    assert_int_equal(pages, 2); /* the first one looks at none but the other's */
    assert_int_equal(listed(client, odeon_port_ref(port), &pages), 0);

    assert_int_equal(ctl(&service, output, sizeof(output), "timer list --json --of few"), 0);
    assert_non_null(strstr(output, "\"message\":\"ticker_step\""));
    assert_non_null(strstr(output, "\"clock\":\"monotonic\""));
    assert_non_null(strstr(output, "\"next\":null"));
    assert_int_equal(ctl(&service, output, sizeof(output), "timer list --limit 2"), 0);
    assert_non_null(strstr(output, "there are more: --after 2)"));
    assert_int_equal(ctl(&service, output, sizeof(output), "timer list --of nobody"), 1);

    odeon_port_close(port);
    odeon_client_disconnect(client);
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
        cmocka_unit_test_setup_teardown(test_they_are_listed, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
