/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that wait for an executor: who may ask for how many, and that each is answered once. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "daemon/supervisor/executor_link.h"

enum { GREEDY = 1001, MODEST = 1002, ROOT = 0 };

static uint32_t answered;

static void on_done(void *userdata, struct link_request *request, Odeon__Reply *reply)
{
    (void)userdata;
    assert_int_equal(reply->error, -ESHUTDOWN);
    assert_non_null(request);
    answered++;
}

static Odeon__Request *request_new(void)
{
    Odeon__Request *request = malloc(sizeof(*request));

    assert_non_null(request);
    odeon__request__init(request);
    return request;
}

static int ask(struct executor_link *link, uint32_t uid)
{
    struct link_ask ask = { .asker = { .client_id = 1, .uid = uid, .bound = uid != ROOT },
                            .request = request_new(),
                            .fd = -1,
                            .done = on_done };

    return executor_link_ask(link, &ask);
}

static uint32_t ask_until_refused(struct executor_link *link, uint32_t uid)
{
    uint32_t n = 0;
    int r;

    while ((r = ask(link, uid)) == 0)
        n++;
    assert_int_equal(r, -EBUSY);
    assert_int_equal(executor_link_count_requests(link, uid), n);
    return n;
}

static void test_one_asks_for_all(void **state)
{
    static const struct link_ops ops = { 0 };
    const uint32_t most = LINK_REQUESTS_MAX - LINK_REQUESTS_RESERVE;
    struct executor_link link;
    uint32_t n, all;
    uv_loop_t loop;

    (void)state;
    assert_int_equal(uv_loop_init(&loop), 0);
    executor_link_init(&link, &loop, &ops, NULL); /* there is no executor: all wait */
    all = n = ask_until_refused(&link, GREEDY);
    assert_int_equal(n, most / 2);
    for (uint32_t uid = MODEST; uid < MODEST + 4; uid++) {
        n = ask_until_refused(&link, uid);
        assert_in_range(n, (most - all) / 2, (most - all) / 2 + 1);
        all += n;
    }
    assert_int_equal(ask(&link, GREEDY), -EBUSY);
    all += ask_until_refused(&link, ROOT);
    assert_int_equal(all, LINK_REQUESTS_MAX);
    executor_link_fini(&link);
    assert_int_equal(answered, all);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&loop), 0);
}

/* What a start needs is not kept from it by what waits for its end. */
static void test_a_start_needs_no_room(void **state)
{
    static const struct link_ops ops = { 0 };
    struct link_ask own = { .request = request_new(), .fd = -1, .done = on_done };
    struct executor_link link;
    uv_loop_t loop;

    (void)state;
    assert_int_equal(uv_loop_init(&loop), 0);
    executor_link_init(&link, &loop, &ops, NULL);
    assert_int_equal(ask_until_refused(&link, ROOT), LINK_REQUESTS_MAX);
    assert_int_equal(executor_link_ask(&link, &own), -EBUSY);
    own.request = request_new();
    own.now = true;
    assert_int_equal(executor_link_ask(&link, &own), -EPIPE); /* there is no executor, but room */
    executor_link_fini(&link);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&loop), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_asks_for_all),
        cmocka_unit_test(test_a_start_needs_no_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
