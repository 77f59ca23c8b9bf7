/* SPDX-License-Identifier: Apache-2.0 */
/* Queues at their limit, over the real service: what a client sees of each policy of the receiving
 * type, and that the figures account for every record that did not arrive. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/history/history.h"
#include "tests/system/harness.h"
#include "tests/system/probe.h"

enum { RING = 1 << 16, N_NUMBERS = 5000 };

static struct service service;
static struct odeon_client *client;
static uint32_t number_type, ask_type, told_type, work_type;

static int setup(void **state)
{
    (void)state;
    service_start(&service, (const char *const[]){ SMALL_SERVICE, "--set", "limit-bytes=4096",
                                                   "--plugin", TEST_PROBE, NULL });
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
    odeon_client_disconnect(client);
    assert_int_equal(service_stop(&service, SIGTERM), 0);
    service_end(&service);
    return 0;
}

/* What has come back so far: refusals because of a full queue, and nothing else. */
static uint64_t receive_refusals(struct odeon_port *port)
{
    struct odeon_delivery delivery;
    uint64_t n = 0;

    for (; odeon_port_receive(port, &delivery) == 1; n++) {
        assert_int_equal(delivery.type, ODEON_MSG_REFUSAL);
        assert_int_equal(((const struct odeon_refusal *)delivery.data)->reason,
                         ODEON_REASON_QUEUE_FULL);
        odeon_port_release(port);
    }
    return n;
}

static void ask(struct odeon_port *port, odeon_ref actor)
{
    struct odeon_delivery reply;

    assert_int_equal(odeon_port_call(port, actor, ask_type, NULL, 0, SECONDS(PATIENCE_S), &reply),
                     ODEON_CALL_REPLY);
    assert_int_equal(reply.type, told_type);
    odeon_port_release(port);
}

static bool queue_is_empty(odeon_ref actor)
{
    struct odeon_actor_detail *detail;
    bool empty;

    assert_int_equal(odeon_actor_show(client, actor, NULL, &detail), 0);
    empty = detail->queue_bytes == 0;
    odeon_result_free(detail);
    return empty;
}

static bool actor_is_gone(odeon_ref actor)
{
    struct odeon_actor_detail *detail = NULL;
    int r = odeon_actor_show(client, actor, NULL, &detail);

    odeon_result_free(detail);
    return r == -ENOENT;
}

/* A port, a receiver of one policy, and the history of what went from one to the other. */
struct trial {
    struct odeon_port *port;
    odeon_ref actor;
    struct history *history;
    struct probe_log log;
    uint64_t posted, refusals, missing_before;
};

/* What the service has counted as not arrived. */
static uint64_t trial_missing(void)
{
    return service_figure(&service, "dropped_newest") + service_figure(&service, "dropped_oldest") +
           service_figure(&service, "refused_full");
}

static void trial_begin(struct trial *t, const char *type)
{
    *t = (struct trial){ .port = port_open_or_fail(client, RING, RING, false),
                         .history = history_new(),
                         .missing_before = trial_missing() };
    snprintf(t->log.path, sizeof(t->log.path), "%s/%s", service.dir, type);
    t->actor = spawn(client, type, NULL, &t->log, sizeof(t->log));
}

static void post(struct trial *t, uint32_t type, const void *data, size_t size)
{
    history_note(t->history, HISTORY_BEGUN, odeon_port_ref(t->port), t->actor, t->posted + 1);
    assert_int_equal(odeon_port_post_wait(t->port, t->actor, type, data, size, SECONDS(PATIENCE_S)),
                     0);
    history_note(t->history, HISTORY_SENT, odeon_port_ref(t->port), t->actor, ++t->posted);
}

/* The actor is busy for a while, and gets more than its queue and the ring hold; until that has
 * made a difference. */
static void overwhelm(struct trial *t, const char *figure)
{
    uint64_t before = service_figure(&service, figure),
             taken = service_figure(&service, "port_messages");
    int64_t end = time_ns() + SECONDS(PATIENCE_S);

    do {
        struct probe_work work = { .ns = 100 * 1000 * 1000, .n = t->posted + 1 };
        post(t, work_type, &work, sizeof(work));
        for (unsigned i = 0; i < N_NUMBERS; i++) {
            struct probe_number number = { .n = t->posted + 1 };
            post(t, number_type, &number, sizeof(number));
            t->refusals += receive_refusals(t->port);
        }
        assert_true(wait_until(service_figure(&service, "port_messages") >= taken + t->posted &&
                               queue_is_empty(t->actor)));
        t->refusals += receive_refusals(t->port);
    } while (service_figure(&service, figure) == before && time_ns() < end);
    assert_true(service_figure(&service, figure) > before);
}

/* Exactly so many did not arrive as the service has refused or dropped, and all others did, once
 * and in order. Returns how many did not. */
static uint64_t trial_end(struct trial *t)
{
    struct history_verdict verdict;
    uint64_t missing;

    /* It is behind all of them, and before the figures: a queue is empty as soon as its worker has
     * taken the batch, and the oldest of a batch are counted when the worker comes to them. */
    ask(t->port, t->actor);
    missing = trial_missing() - t->missing_before;
    assert_int_equal(history_add_log(t->history, t->log.path), 0);
    history_add(t->history, &(struct history_record){ .kind = HISTORY_DROPS, .sequence = missing });
    if (!history_judge(t->history, &verdict))
        fail_msg("%s", verdict.first);
    assert_int_equal(verdict.run + missing, t->posted);
    history_free(t->history);
    odeon_port_close(t->port);
    /* its fini closes the log */
    assert_int_equal(odeon_actor_stop(client, t->actor, ODEON_DELETE), 0);
    assert_true(wait_until(actor_is_gone(t->actor)));
    return missing;
}

static void test_stall(void **state)
{
    struct trial t;

    (void)state;
    trial_begin(&t, "probe_stall");
    overwhelm(&t, "stalled");
    assert_int_equal(t.refusals, 0);
    assert_int_equal(trial_end(&t), 0);
}

static void test_drop_newest(void **state)
{
    uint64_t before = service_figure(&service, "dropped_newest");
    struct trial t;

    (void)state;
    trial_begin(&t, "probe_newest");
    overwhelm(&t, "dropped_newest");
    assert_int_equal(t.refusals, 0);
    assert_int_equal(trial_end(&t), service_figure(&service, "dropped_newest") - before);
}

static void test_drop_oldest(void **state)
{
    uint64_t refused = service_figure(&service, "refused_full");
    struct trial t;

    (void)state;
    trial_begin(&t, "probe_oldest");
    overwhelm(&t, "dropped_oldest");
    assert_int_equal(t.refusals, 0);
    (void)trial_end(&t);
    assert_int_equal(service_figure(&service, "refused_full"), refused);
}

static void test_reject(void **state)
{
    uint64_t before = service_figure(&service, "refused_full");
    struct trial t;

    (void)state;
    trial_begin(&t, "probe_reject");
    overwhelm(&t, "refused_full");
    /* what the delivery ring had no room for comes behind */
    assert_true(wait_until((t.refusals += receive_refusals(t.port)) ==
                           service_figure(&service, "refused_full") - before));
    assert_int_equal(trial_end(&t), t.refusals);
}

static void test_types_are_listed_with_their_policy(void **state)
{
    static const char *const rows[][2] = { { "probe_reject", "reject" },
                                           { "probe_newest", "drop-newest" },
                                           { "probe_oldest", "drop-oldest" },
                                           { "probe_stall", "stall" } };
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
