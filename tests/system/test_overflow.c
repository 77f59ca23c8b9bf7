/* SPDX-License-Identifier: Apache-2.0 */
/* Queues at their limit, over the real service: what a client sees of each policy of the receiving type, and that the figures
 * account for every record that did not arrive. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "tests/system/harness.h"
#include "tests/system/probe.h"

enum { RING = 1 << 16, N_NUMBERS = 5000 };

static struct service service;
static struct odeon_client *client;
static uint32_t number_type, ask_type, told_type, work_type;

static int setup(void **state)
{
    (void)state;
    service_start(&service, (const char *const[]){ SMALL_SERVICE, "--set", "limit-bytes=4096", "--plugin", TEST_PROBE, NULL });
    client = service_connect(&service, "overflow");
    number_type = message_id(client, odeon_message_of(probe_number));
    ask_type = message_id(client, odeon_message_of(probe_ask));
    told_type = message_id(client, odeon_message_of(probe_told));
    work_type = message_id(client, odeon_message_of(probe_work));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    odeon_disconnect(client);
    assert_int_equal(service_stop(&service, SIGTERM), 0);
    service_end(&service);
    return 0;
}

/* What has come back so far: refusals because of a full queue, and nothing else. */
static uint64_t receive_refusals(struct odeon_port *port)
{
    struct odeon_delivery delivery;
    uint64_t n = 0;

    for (; odeon_receive(port, &delivery) == 1; n++) {
        assert_int_equal(delivery.type, ODEON_MSG_REFUSAL);
        assert_int_equal(((const struct odeon_refusal *)delivery.data)->reason, ODEON_REASON_QUEUE_FULL);
        odeon_release(port);
    }
    return n;
}

static struct probe_told ask(struct odeon_port *port, odeon_ref actor)
{
    struct odeon_delivery reply;
    struct probe_told told;

    assert_int_equal(odeon_call(port, actor, ask_type, NULL, 0, SECONDS(PATIENCE_S), &reply), ODEON_CALL_REPLY);
    assert_int_equal(reply.type, told_type);
    memcpy(&told, reply.data, sizeof(told));
    odeon_release(port);
    return told;
}

static bool queue_is_empty(odeon_ref actor)
{
    struct odeon_actor_detail *detail;
    bool empty;

    assert_int_equal(odeon_admin_actor_show(client, actor, NULL, &detail), 0);
    empty = detail->queue_bytes == 0;
    odeon_free(detail);
    return empty;
}

/* The actor is busy for a while, and gets more than its queue and the ring hold; until that has made a difference.  How many records
 * were posted, and refusals received. */
static uint64_t overwhelm(struct odeon_port *port, odeon_ref actor, const char *figure, uint64_t *ret_last, uint64_t *ret_refusals)
{
    struct probe_work work = { .ns = 100 * 1000 * 1000 };
    struct probe_number number = { 0 };
    uint64_t before = service_figure(&service, figure), taken = service_figure(&service, "port_messages"), posted = 0;
    int64_t end = time_ns() + SECONDS(PATIENCE_S);

    *ret_refusals = 0;
    do {
        assert_int_equal(odeon_post_wait(port, actor, work_type, &work, sizeof(work), SECONDS(PATIENCE_S)), 0);
        for (unsigned i = 0; i < N_NUMBERS; i++) {
            number.n++;
            assert_int_equal(odeon_post_wait(port, actor, number_type, &number, sizeof(number), SECONDS(PATIENCE_S)), 0);
            *ret_refusals += receive_refusals(port);
        }
        posted += N_NUMBERS + 1;
        assert_true(wait_until(service_figure(&service, "port_messages") >= taken + posted && queue_is_empty(actor)));
        *ret_refusals += receive_refusals(port);
    } while (service_figure(&service, figure) == before && time_ns() < end);
    assert_true(service_figure(&service, figure) > before);
    *ret_last = number.n;
    return posted;
}

static void test_stall(void **state)
{
    struct odeon_port *port = port_open_or_fail(client, RING, RING, false);
    odeon_ref actor = spawn(client, "probe_stall", NULL, NULL, 0);
    uint64_t last, refusals, posted = overwhelm(port, actor, "stalled", &last, &refusals);
    struct probe_told told = ask(port, actor);

    (void)state;
    assert_int_equal(told.count, posted);
    assert_int_equal(told.sum, last);
    assert_int_equal(told.redelivered, 0);
    assert_int_equal(refusals, 0);
    odeon_port_close(port);
}

static void test_drop_newest(void **state)
{
    struct odeon_port *port = port_open_or_fail(client, RING, RING, false);
    odeon_ref actor = spawn(client, "probe_newest", NULL, NULL, 0);
    uint64_t before = service_figure(&service, "dropped_newest");
    uint64_t last, refusals, posted = overwhelm(port, actor, "dropped_newest", &last, &refusals);
    struct probe_told told = ask(port, actor);

    (void)state;
    assert_int_equal(told.count + service_figure(&service, "dropped_newest") - before, posted);
    assert_int_equal(told.redelivered, 0);
    assert_true(told.sum <= last);
    assert_int_equal(refusals, 0);
    odeon_port_close(port);
}

static void test_drop_oldest(void **state)
{
    struct odeon_port *port = port_open_or_fail(client, RING, RING, false);
    odeon_ref actor = spawn(client, "probe_oldest", NULL, NULL, 0);
    uint64_t newest = service_figure(&service, "dropped_newest"), oldest = service_figure(&service, "dropped_oldest");
    uint64_t last, refusals, posted = overwhelm(port, actor, "dropped_oldest", &last, &refusals);
    struct probe_told told = ask(port, actor);

    (void)state;
    newest = service_figure(&service, "dropped_newest") - newest;
    oldest = service_figure(&service, "dropped_oldest") - oldest;
    assert_int_equal(told.count + newest + oldest, posted);
    assert_int_equal(told.redelivered, 0);
    assert_true(told.sum <= last);
    assert_int_equal(refusals, 0);
    odeon_port_close(port);
}

static void test_reject(void **state)
{
    struct odeon_port *port = port_open_or_fail(client, RING, RING, false);
    odeon_ref actor = spawn(client, "probe_reject", NULL, NULL, 0);
    uint64_t before = service_figure(&service, "refused_full");
    uint64_t last, refusals, posted = overwhelm(port, actor, "refused_full", &last, &refusals);

    (void)state;
    /* what the delivery ring had no room for comes behind */
    assert_true(wait_until((refusals += receive_refusals(port)) == service_figure(&service, "refused_full") - before));
    struct probe_told told = ask(port, actor);
    assert_int_equal(told.count + refusals, posted);
    assert_int_equal(told.redelivered, 0);
    assert_true(told.sum <= last);
    odeon_port_close(port);
}

static void test_types_are_listed_with_their_policy(void **state)
{
    static const char *const rows[][2] = {
        { "probe_reject", "reject" }, { "probe_newest", "drop-newest" }, { "probe_oldest", "drop-oldest" }, { "probe_stall", "stall" }
    };
    char output[8192];

    (void)state;
    assert_int_equal(ctl(&service, output, sizeof(output), "type list"), 0);
    assert_non_null(strstr(output, "WHEN FULL"));
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *line = strstr(output, rows[i][0]), *policy = line ? strstr(line, rows[i][1]) : NULL;

        assert_non_null(policy);
        assert_true(policy < strchr(line, '\n'));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stall),
        cmocka_unit_test(test_drop_newest),
        cmocka_unit_test(test_drop_oldest),
        cmocka_unit_test(test_reject),
        cmocka_unit_test(test_types_are_listed_with_their_policy),
    };

    return cmocka_run_group_tests_name("overflow", tests, setup, teardown);
}
