/* SPDX-License-Identifier: Apache-2.0 */
/* What a client posts for later, in the real service: it comes once and in the order of its times,
 * over kills of executor and odeond, and when its client has gone before; what cannot be is
 * refused, and what waits is listed. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "tests/system/manager.h"
#include "tests/system/probe.h"

enum { NUMBERS = 3000, KILL_EVERY = 250, DELAY_NS = 20000000 };

static const char *const arguments[] = { SMALL_SERVICE,
                                         "--executor",
                                         TEST_EXECUTOR,
                                         "--plugin",
                                         TEST_PROBE,
                                         "--set",
                                         "restart-delay-max-ms=20",
                                         NULL };

static struct manager *manager;
static struct odeon_client *client;
static struct odeon_port *port, *heard; /* who posts, and who hears of it */
static odeon_ref echo;
static uint32_t number_type;

static int setup(void **state)
{
    (void)state;
    manager = manager_start(&(struct manager_options){ .arguments = arguments });
    manager_wait_ready(manager);
    client = service_connect(manager_service(manager), "later");
    number_type = message_id(client, odeon_message_of(probe_number));
    echo = spawn(client, "probe_echo", NULL, NULL, 0);
    port = port_open_or_fail(client, 0, 0, false);
    heard = port_open_or_fail(client, 0, 0, false);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    odeon_client_disconnect(client);
    manager_end(manager);
    return 0;
}

static int post_later(odeon_ref to, uint64_t n, uint64_t delay_ns)
{
    struct probe_number number = { .n = n, .origin = odeon_port_ref(heard) };

    return odeon_port_post_after(port, to, number_type, n, &number, sizeof(number), delay_ns);
}

static uint64_t number_of(const struct odeon_delivery *delivery)
{
    struct probe_number number;

    assert_int_equal(delivery->type, number_type);
    memcpy(&number, delivery->data, sizeof(number));
    odeon_port_release(heard);
    return number.n;
}

/* What has come by now, each number behind the one before. */
static void hear(uint64_t *last)
{
    struct odeon_delivery delivery;

    while (odeon_port_receive(heard, &delivery) == 1)
        assert_int_equal(number_of(&delivery), ++*last);
}

static void hear_all(uint64_t last, uint64_t until)
{
    struct odeon_delivery delivery;

    while (last < until) {
        assert_int_equal(odeon_port_receive_wait(heard, &delivery, SECONDS(PATIENCE_S)), 1);
        assert_int_equal(number_of(&delivery), ++last);
    }
    assert_int_equal(odeon_port_receive(heard, &delivery), 0);
}

static void test_over_kills(void **state)
{
    uint64_t last = 0;

    (void)state;
    for (uint64_t n = 1; n <= NUMBERS; n++) {
        assert_int_equal(post_later(echo, n, DELAY_NS), 0);
        hear(&last);
        if (n % KILL_EVERY == 0)
            (n / KILL_EVERY % 4 ? manager_kill_executor : manager_kill_both)(manager);
    }
    port = odeon_port_close(port); /* it was accepted */
    hear_all(last, NUMBERS);
}

/* The process that posted is gone before the time, and so is its port; another executor sends. */
static void test_the_client_goes(void **state)
{
    (void)state;
    for (uint64_t n = 1; n <= 10; n++)
        assert_int_equal(post_later(echo, n, ODEON_BOOT_TIME(SECONDS(2))), 0);
    port = odeon_port_close(port);
    manager_kill_executor(manager);
    hear_all(0, 10);
}

static void test_it_is_listed(void **state)
{
    struct odeon_list *list = NULL;

    (void)state;
    assert_int_equal(post_later(echo, 1, SECONDS(3600)), 0);
    assert_int_equal(post_later(echo, 2, ODEON_BOOT_TIME(SECONDS(3600))), 0);
    assert_true(wait_until(service_figure(manager_service(manager), "timers_armed") == 2));
    assert_int_equal(odeon_timer_list(client, odeon_port_ref(port), 0, 0, &list), 0);
    assert_int_equal(list->n, 2);
    for (size_t i = 0; i < list->n; i++) {
        const struct odeon_timer_info *t = &((const struct odeon_timer_info *)list->rows)[i];

        assert_true(t->owner == odeon_port_ref(port) && t->to == echo);
        assert_string_equal(t->message, "probe_number");
        assert_int_equal(t->size, sizeof(struct probe_number));
        assert_true(t->due_in_ns > 0 && t->due_in_ns <= SECONDS(3600));
        assert_int_equal(t->by_boot_time, i);
    }
    odeon_list_free(list);
}

static void test_refused(void **state)
{
    struct odeon_delivery delivery;
    struct odeon_refusal refusal;

    (void)state;
    assert_int_equal(post_later(echo, 1, SECONDS(101) * 365 * 86400), -ERANGE);
    assert_int_equal(post_later(ODEON_NOBODY, 1, 0), -ESRCH);
    /* of an actor that never was */
    assert_int_equal(post_later(echo + (UINT64_C(1) << 40), 77, SECONDS(3600)), 0);
    assert_int_equal(odeon_port_receive_wait(port, &delivery, SECONDS(PATIENCE_S)), 1);
    assert_int_equal(delivery.type, ODEON_MSG_REFUSAL);
    assert_int_equal(delivery.correlation, 77);
    memcpy(&refusal, delivery.data, sizeof(refusal));
    assert_int_equal(refusal.reason, ODEON_REASON_NO_SUCH_ACTOR);
    odeon_port_release(port);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_over_kills, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_client_goes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_it_is_listed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
