/* SPDX-License-Identifier: Apache-2.0 */
/* How long a client's calls take, as others are told of it: by client and by user, beside what the
 * client has measured itself. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "client-lib/src/connect.h"
#include "tests/system/harness.h"
#include "tests/system/json.h"
#include "tests/system/probe.h"

enum { RING = 1 << 16, CALLS = 300, LATE = 3, POSTS = 50 };

static struct service service;
static struct odeon_client *client;
static struct odeon_port *port;
static odeon_ref echo, silent;
static uint32_t number_type;

static int setup(void **state)
{
    (void)state;
    service_start(&service, (const char *const[]){ SMALL_SERVICE, "--plugin", TEST_PROBE, "--set",
                                                   "restart-delay-max-ms=20", NULL });
    client = service_connect(&service, "caller");
    number_type = message_id(client, odeon_message_of(probe_number));
    echo = spawn(client, "probe_echo", NULL, NULL, 0);
    silent = spawn(client, "probe_ledger", NULL, NULL, 0); /* a number gets no answer there */
    port = port_open_or_fail(client, RING, RING, false);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    odeon_client_disconnect(client);
    assert_int_equal(service_stop(&service, SIGTERM), 0);
    service_end(&service);
    return 0;
}

/* What the service says of this client. */
static struct odeon_traffic told_of_client(void)
{
    struct odeon_list *list = NULL;
    struct odeon_traffic traffic = { 0 };
    bool found = false;

    assert_int_equal(odeon_client_list(client, client->client_id - 1, 1, &list), 0);
    for (size_t i = 0; i < list->n; i++) {
        const struct odeon_client_info *row = (const struct odeon_client_info *)list->rows + i;

        if (row->id != client->client_id)
            continue;
        traffic = row->traffic;
        found = true;
    }
    odeon_list_free(list);
    assert_true(found);
    return traffic;
}

static struct odeon_user_info told_of_user(void)
{
    struct odeon_list *list = NULL;
    struct odeon_user_info user;

    assert_int_equal(odeon_user_list(client, getuid(), 1, &list), 0);
    assert_int_equal(list->n, 1);
    user = *(const struct odeon_user_info *)list->rows;
    assert_int_equal(user.uid, getuid());
    assert_true(list->next == user.uid + UINT64_C(1) && !list->more);
    odeon_list_free(list);
    return user;
}

static int call(odeon_ref to, uint64_t n, int64_t timeout_ns, int64_t *ret_ns)
{
    const struct probe_number number = { .n = n };
    struct odeon_delivery reply;
    int64_t began_ns = time_ns();
    int outcome =
        odeon_port_call(port, to, number_type, &number, sizeof(number), timeout_ns, &reply);

    *ret_ns = time_ns() - began_ns;
    odeon_port_release(port);
    return outcome;
}

static int compare(const void *a, const void *b)
{
    int64_t first = *(const int64_t *)a, second = *(const int64_t *)b;

    return first < second ? -1 : first > second;
}

/* A call takes its caller at least as long as the library has measured: so none of the quantiles is
 * above those that the caller has, but for the width of their cells. */
static void test_calls_are_told_as_they_were(void **state)
{
    struct odeon_traffic before = told_of_client(), told;
    int64_t ns[CALLS];

    (void)state;
    assert_int_equal(before.calls_answered, 0);
    for (uint64_t i = 0; i < CALLS; i++)
        assert_int_equal(call(echo, i + 1, SECONDS(PATIENCE_S), &ns[i]), ODEON_CALL_REPLY);
    qsort(ns, CALLS, sizeof(*ns), compare);
    told = told_of_client();
    assert_int_equal(told.calls_answered, CALLS);
    assert_int_equal(told.calls_refused + told.calls_late, 0);
    assert_true(told.call_most_ns > 0 && told.call_most_ns <= (uint64_t)ns[CALLS - 1]);
    assert_true(told.call_p99_ns <= told.call_most_ns);
    assert_true(told.call_p50_ns <= (uint64_t)ns[CALLS / 2] * 9 / 8 + 32);
    assert_true(told.call_p99_ns <= (uint64_t)ns[CALLS * 99 / 100] * 9 / 8 + 32);
    assert_true(told.call_p50_ns > 0 && told.call_p50_ns <= told.call_p99_ns);
    assert_true(wait_until(told_of_client().posts == before.posts + CALLS));
}

static bool has_ended(odeon_ref ref)
{
    struct odeon_actor_detail *detail = NULL;
    int r = odeon_actor_show(client, ref, NULL, &detail);

    odeon_result_free(detail);
    return r == -ENOENT;
}

static void test_what_was_not_answered(void **state)
{
    struct odeon_traffic before = told_of_client();
    odeon_ref gone = spawn(client, "probe_echo", NULL, NULL, 0);
    int64_t ns;

    (void)state;
    assert_int_equal(odeon_actor_stop(client, gone, ODEON_DELETE), 0);
    assert_true(wait_until(has_ended(gone)));
    for (uint64_t i = 0; i < LATE; i++)
        assert_int_equal(call(silent, i + 1, MILLISECONDS(5), &ns), ODEON_CALL_EXPIRED);
    assert_int_equal(call(gone, 1, SECONDS(PATIENCE_S), &ns), ODEON_CALL_REFUSED);
    assert_int_equal(told_of_client().calls_late, before.calls_late + LATE);
    assert_int_equal(told_of_client().calls_refused, before.calls_refused + 1);
    assert_int_equal(told_of_client().refused, before.refused + 1);
    assert_int_equal(told_of_client().calls_answered, before.calls_answered);
}

static void test_posts_with_a_deadline_are_round_trips(void **state)
{
    struct odeon_traffic before = told_of_client();
    struct odeon_delivery delivery;

    (void)state;
    for (uint64_t n = 1; n <= POSTS; n++) {
        const struct probe_number number = { .n = n };

        assert_int_equal(odeon_port_post_with(port, echo, number_type, &number, sizeof(number),
                                              ODEON_POST_OPTIONS(.correlation = n, .wait_ns = -1,
                                                                 .within_ns = SECONDS(PATIENCE_S))),
                         0);
    }
    for (uint64_t n = 1; n <= POSTS; n++) {
        assert_int_equal(odeon_port_receive_wait(port, &delivery, SECONDS(PATIENCE_S)), 1);
        odeon_port_release(port);
    }
    assert_int_equal(told_of_client().calls_answered, before.calls_answered + POSTS);
}

/* Of a user all clients count, and their ports also when they have gone; what has been counted
 * outlives the executor. */
static void test_users_and_an_executor_that_dies(void **state)
{
    struct odeon_traffic mine = told_of_client();
    struct odeon_user_info before = told_of_user(), behind;
    struct odeon_client *other = service_connect(&service, "other");
    struct odeon_list *list = NULL;

    (void)state;
    assert_int_equal(before.clients, 1);
    assert_int_equal(before.ports, 1);
    assert_int_equal(before.traffic.calls_answered, mine.calls_answered);
    assert_int_equal(before.traffic.calls_late, mine.calls_late);
    assert_true(before.traffic.call_most_ns == mine.call_most_ns);
    (void)port_open_or_fail(other, RING, RING, false);
    assert_int_equal(told_of_user().clients, 2);
    assert_int_equal(told_of_user().ports, 2);
    odeon_client_disconnect(other);
    service_kill_executor(&service);
    behind = told_of_user();
    assert_true(behind.traffic.posts >= before.traffic.posts);
    assert_int_equal(behind.traffic.calls_answered, before.traffic.calls_answered);
    assert_int_equal(odeon_user_list(client, getuid() + UINT64_C(1), 10, &list), 0);
    assert_true(list->n == 0 && !list->more);
    odeon_list_free(list);
}

static void test_odeonctl_shows_them(void **state)
{
    static char text[1 << 14];

    (void)state;
    assert_int_equal(ctl(&service, text, sizeof(text), "client traffic"), 0);
    assert_non_null(strstr(text, "CALL P99"));
    assert_non_null(strstr(text, "caller"));
    assert_int_equal(ctl(&service, text, sizeof(text), "--json client traffic"), 0);
    assert_true(json_is_valid(text));
    assert_non_null(strstr(text, "\"calls_answered\":350,"));
    assert_non_null(strstr(text, "\"calls_late\":3,"));
    assert_int_equal(ctl(&service, text, sizeof(text), "user list"), 0);
    assert_non_null(strstr(text, "OVER QUOTA"));
    assert_int_equal(ctl(&service, text, sizeof(text), "--json user list"), 0);
    assert_true(json_is_valid(text));
    assert_non_null(strstr(text, "\"calls_answered\":350,"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls_are_told_as_they_were),
        cmocka_unit_test(test_what_was_not_answered),
        cmocka_unit_test(test_posts_with_a_deadline_are_round_trips),
        cmocka_unit_test(test_users_and_an_executor_that_dies),
        cmocka_unit_test(test_odeonctl_shows_them),
    };
    return cmocka_run_group_tests_name("system/round_trips", tests, setup, teardown);
}
