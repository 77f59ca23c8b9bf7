/* SPDX-License-Identifier: Apache-2.0 */
/* Small windows make the limits real: a handler that sends more than its outbox holds, a queue at
 * its limit, a client that does not receive. The offender is told, it is counted, nobody else
 * notices. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>

#include <cmocka.h>

#include "client-lib/src/port.h"
#include "tests/system/numbers.h"
#include "tests/system/probe.h"

enum {
    OUTBOX = 144 << 10,
    /* the least; half of it is the engine's own */ BACKLOG = 144 << 10,
    RING = 1 << 16
};

static struct service service;
static struct numbers bystander;
static struct odeon_client *client;

static void start(const char *setting)
{
    service_start(&service, (const char *const[]){ SMALL_SERVICE, "--set", setting, "--plugin",
                                                   TEST_PROBE, NULL });
    client = service_connect(&service, "limits");
    numbers_start(&bystander, &service, 16);
    numbers_wait(&bystander, 100);
}

static void end(void)
{
    numbers_wait(&bystander, 100);
    numbers_finish(&bystander);
    odeon_client_disconnect(client);
    assert_int_equal(service_state(&service).executor_restarts, 0);
    assert_int_equal(service_stop(&service, SIGTERM), 0);
    assert_true(service_log_has(&service, "every message that was sent has been received"));
    service_end(&service);
}

struct greedy_go {
    odeon_ref to;
};
struct greedy_told {
    uint64_t sent;
    int32_t error, answer;
};

static void test_greedy_handler_gets_an_error(void **state)
{
    static const struct odeon_message_type go_type = { .struct_size = sizeof(go_type),
                                                       .version = 1,
                                                       .name = "greedy_go",
                                                       .fields = "{ uint64_t to; }",
                                                       .size = sizeof(struct greedy_go) },
                                           ask_type = { .struct_size = sizeof(ask_type),
                                                        .version = 1,
                                                        .name = "greedy_ask",
                                                        .fields = "" };
    struct greedy_go go = { .to = ODEON_NOBODY };
    struct odeon_delivery reply;
    struct odeon_port *port;
    uint32_t go_id, ask_id;
    odeon_ref greedy;

    (void)state;
    start("outbox-bytes=144K");
    load_plugin(client, TEST_PLUGINS "/greedy.so");
    go_id = message_id(client, &go_type);
    ask_id = message_id(client, &ask_type);
    port = port_open_or_fail(client, RING, 1 << 20, false);
    greedy = spawn(client, "greedy", NULL, NULL, 0);
    for (int round = 0; round < 20; round++) {
        uint64_t failed = service_figure(&service, "sends_failed");

        if (round == 10) /* all to this client's port */
            go.to = odeon_port_ref(port);
        assert_int_equal(odeon_port_post(port, greedy, go_id, &go, sizeof(go)), 0);
        uint64_t received = 0;
        struct greedy_told told = { 0 };
        assert_int_equal(
            odeon_port_call(port, greedy, ask_id, NULL, 0, SECONDS(PATIENCE_S), &reply),
            ODEON_CALL_REPLY);
        memcpy(&told, reply.data, sizeof(told));
        odeon_port_release(port);
        assert_int_equal(told.error, -ENOBUFS);
        /* to an actor on its own queue some go straight behind the running batch */
        if (told.sent < OUTBOX / 4096 / 4 || (go.to != ODEON_NOBODY && told.sent > OUTBOX / 4096))
            fail_msg("round %d: %llu sends of 4 KiB fitted into an outbox of %d KiB", round,
                     (unsigned long long)told.sent, OUTBOX >> 10);
        while (odeon_port_receive(port, &reply) == 1) {
            received += reply.size == 4096;
            odeon_port_release(port);
        }
        if (go.to != ODEON_NOBODY)
            assert_int_equal(received, told.sent); /* what was accepted has come */
        assert_true(service_figure(&service, "sends_failed") > failed);
    }
    end();
}

/* An actor that stands on another queue than the bystander's two. */
static odeon_ref spawn_apart(uint32_t *ret_queue)
{
    struct odeon_actor_detail *detail = NULL;
    struct odeon_list *list = NULL;
    uint64_t used = 0;

    assert_int_equal(odeon_actor_list(client, NULL, 0, 0, &list), 0);
    for (size_t i = 0; i < list->n; i++)
        /* ports have numbers behind the queues */
        if (((const struct odeon_actor_info *)list->rows)[i].queue < 64)
            used |= UINT64_C(1) << ((const struct odeon_actor_info *)list->rows)[i].queue;
    odeon_list_free(list);
    for (int i = 0; i < 32; i++) {
        odeon_ref ledger = spawn(client, "probe_ledger", NULL, NULL, 0);

        assert_int_equal(odeon_actor_show(client, ledger, NULL, &detail), 0);
        *ret_queue = detail->actor.queue;
        odeon_result_free(detail);
        if (*ret_queue < 64 && !(used >> *ret_queue & 1))
            return ledger;
    }
    fail_msg("no actor on a queue of its own");
    return ODEON_NOBODY;
}

/* How many the ledger has counted. A question that its queue has no room for is asked again, and
 * counted as refused.
 */
static uint64_t count_in(struct odeon_port *port, odeon_ref ledger, uint32_t ask_type,
                         uint64_t *refusals)
{
    struct odeon_delivery delivery;
    uint64_t count;
    int outcome;

    while ((outcome = odeon_port_call(port, ledger, ask_type, NULL, 0, SECONDS(PATIENCE_S),
                                      &delivery)) == ODEON_CALL_REFUSED) {
        odeon_port_release(port);
        ++*refusals;
    }
    assert_int_equal(outcome, ODEON_CALL_REPLY);
    count = ((const struct probe_told *)delivery.data)->count;
    odeon_port_release(port);
    return count;
}

/* Blocks for a ledger that is busy for so long. False: on a slow machine they took longer, and the
 * ledger may have gone on. */
static bool post_while_it_works(struct odeon_port *port, odeon_ref ledger, unsigned n, uint64_t ns)
{
    uint32_t work_type = message_id(client, odeon_message_of(probe_work)),
             block_type = message_id(client, odeon_message_of(probe_block));
    struct probe_work work = { .ns = ns };
    struct probe_block block = { 0 };
    int64_t begin = time_ns();

    assert_int_equal(odeon_port_post(port, ledger, work_type, &work, sizeof(work)), 0);
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(odeon_port_post(port, ledger, block_type, &block, sizeof(block)), 0);
        /* one at a time: the limit is looked at when a batch comes, and a batch is taken whole */
        assert_true(
            wait_until(atomic_load(&port->theirs->submission_head) == port->submission_published));
    }
    return time_ns() - begin < (int64_t)ns;
}

static void test_queue_at_its_limit_refuses(void **state)
{
    enum { N = 100 };
    struct odeon_delivery delivery;
    struct odeon_port *port;
    uint32_t block_type, ask_type, queue = 0;
    uint64_t refusals, before;
    odeon_ref ledger;
    unsigned refused = 0;

    (void)state;
    start("limit-bytes=4096");
    block_type = message_id(client, odeon_message_of(probe_block));
    ask_type = message_id(client, odeon_message_of(probe_ask));
    ledger = spawn_apart(&queue);
    port = port_open_or_fail(client, RING, 1 << 20, false);
    /* it is not set aside, however long it takes */
    assert_int_equal(ctl_set(&service, (char[512]){ "" }, 512, "stall-warn-ms=0"), 0);
    for (uint64_t ns = 500 * UINT64_C(1000000);; ns *= 2) {
        refusals = service_figure(&service, "refusals");
        before = count_in(port, ledger, ask_type, &refusals);
        if (post_while_it_works(port, ledger, N, ns))
            break;
        assert_true(ns < SECONDS(PATIENCE_S));
        (void)count_in(port, ledger, ask_type, &refusals);
        while (odeon_port_receive(port, &delivery) == 1)
            odeon_port_release(port);
    }
    while (odeon_port_receive_wait(port, &delivery, MILLISECONDS(1)) == 1) {
        const struct odeon_refusal *refusal = delivery.data;

        assert_int_equal(delivery.type, ODEON_MSG_REFUSAL);
        assert_int_equal(refusal->reason, ODEON_REASON_QUEUE_FULL);
        assert_true(refusal->to == ledger);
        assert_int_equal(refusal->type, block_type);
        refused++;
        odeon_port_release(port);
    }
    numbers_wait(&bystander, 200);
    assert_true(wait_until(service_figure(&service, "refusals") - refusals >= N / 2));
    /* when it has worked off what it had accepted, the numbers agree */
    uint64_t counted = count_in(port, ledger, ask_type, &refusals) - before;
    while (odeon_port_receive(port, &delivery) == 1) {
        refused += delivery.type == ODEON_MSG_REFUSAL;
        odeon_port_release(port);
    }
    assert_int_equal(counted + refused, N);
    assert_true(counted >= 1 && counted <= 10);
    assert_true(wait_until(service_figure(&service, "refusals") - refusals == refused));
    end();
}

static void test_client_that_does_not_receive(void **state)
{
    enum { N = 400 };
    struct probe_flood flood = { .count = N };
    struct probe_number number = { .n = 4711 };
    struct odeon_delivery delivery;
    struct odeon_port *port;
    uint32_t flood_type, block_type, number_type;
    uint64_t next = 0;
    odeon_ref echo;

    (void)state;
    start("backlog-bytes=144K");
    flood_type = message_id(client, odeon_message_of(probe_flood));
    block_type = message_id(client, odeon_message_of(probe_block));
    number_type = message_id(client, odeon_message_of(probe_number));
    echo = spawn(client, "probe_echo", NULL, NULL, 0);
    port = port_open_or_fail(client, RING, RING, false);
    assert_int_equal(odeon_port_post(port, echo, flood_type, &flood, sizeof(flood)), 0);
    assert_true(wait_until(service_figure(&service, "backlog_dropped") > 0));
    /* the echo has sent it all when it answers another port; what it sends is on its way when it
     * answers a second time
     */
    struct odeon_port *other = port_open_or_fail(client, RING, RING, false);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(odeon_port_call(other, echo, number_type, &number, sizeof(number),
                                         SECONDS(PATIENCE_S), &delivery),
                         ODEON_CALL_REPLY);
        odeon_port_release(other);
    }
    odeon_port_close(other);
    numbers_wait(&bystander, 300);
    uint64_t dropped = service_figure(&service, "backlog_dropped");
    assert_true(service_figure(&service, "port_backlogged") > 0);
    /* what was kept is the beginning, in order */
    while (next + dropped < N) {
        assert_int_equal(odeon_port_receive_wait(port, &delivery, SECONDS(PATIENCE_S)), 1);
        assert_int_equal(delivery.type, block_type);
        assert_int_equal(((const struct probe_block *)delivery.data)->n, next);
        next++;
        odeon_port_release(port);
    }
    assert_true(next * 1032 >= BACKLOG / 2 && next * 1032 <= BACKLOG + RING);
    assert_int_equal(odeon_port_receive(port, &delivery), 0);
    assert_int_equal(service_figure(&service, "backlog_dropped"), dropped);
    /* the port goes on as if nothing had been */
    for (int i = 0; i < 100; i++) {
        assert_int_equal(odeon_port_call(port, echo, number_type, &number, sizeof(number),
                                         SECONDS(PATIENCE_S), &delivery),
                         ODEON_CALL_REPLY);
        odeon_port_release(port);
    }
    end();
}

/* The same client, gone without a word in the middle of it. */
static void test_client_that_goes_while_it_is_flooded(void **state)
{
    struct probe_flood flood = { .count = 400 };
    uint32_t flood_type;
    odeon_ref echo;

    (void)state;
    start("backlog-bytes=144K");
    flood_type = message_id(client, odeon_message_of(probe_flood));
    echo = spawn(client, "probe_echo", NULL, NULL, 0);
    uint32_t ports = service_state(&service).ports;
    for (int i = 0; i < 10; i++) {
        struct odeon_client *other = service_connect(&service, "goes");
        struct odeon_port *port = port_open_or_fail(other, RING, RING, false);

        for (int k = 0; k < 5; k++)
            assert_int_equal(odeon_port_post(port, echo, flood_type, &flood, sizeof(flood)), 0);
        odeon_client_disconnect(other);
    }
    assert_true(wait_until(service_state(&service).ports == ports));
    end();
}

/* A handler that never returns takes a worker, and no more: the others run everything else, ports
 * included, and the end is in order and says what was left. */
static void test_handler_that_never_returns(void **state)
{
    static const struct odeon_message_type hang_type = {
        .struct_size = sizeof(hang_type), .version = 1, .name = "hang", .fields = ""
    };
    struct odeon_actor_detail *detail = NULL;
    struct odeon_client *others[8];
    struct odeon_port *ports[8];
    struct odeon_delivery reply;
    struct probe_number number = { .n = 1 };
    uint32_t hang_id, number_id, queue, hung_queue;
    odeon_ref hang, echo;

    (void)state;
    start("drain-timeout-ms=300");
    load_plugin(client, TEST_PLUGINS "/hang.so");
    hang_id = message_id(client, &hang_type);
    number_id = message_id(client, odeon_message_of(probe_number));
    /* on a queue that the bystander's actors are not on */
    (void)spawn_apart(&hung_queue);
    do {
        hang = spawn(client, "hang", NULL, NULL, 0);
        assert_int_equal(odeon_actor_show(client, hang, NULL, &detail), 0);
        queue = detail->actor.queue;
        odeon_result_free(detail);
    } while (queue != hung_queue);
    do {
        echo = spawn(client, "probe_echo", NULL, NULL, 0);
        assert_int_equal(odeon_actor_show(client, echo, NULL, &detail), 0);
        queue = detail->actor.queue;
        odeon_result_free(detail);
    } while (queue == hung_queue);
    for (int i = 0; i < 8; i++) { /* ports of both workers */
        others[i] = service_connect(&service, "other");
        ports[i] = port_open_or_fail(others[i], RING, RING, false);
    }
    assert_int_equal(odeon_port_post(ports[0], hang, hang_id, NULL, 0), 0);
    for (int round = 0; round < 20; round++) {
        numbers_wait(&bystander, 50);
        for (int i = 0; i < 8; i++) {
            assert_int_equal(odeon_port_call(ports[i], echo, number_id, &number, sizeof(number),
                                             SECONDS(PATIENCE_S), &reply),
                             ODEON_CALL_REPLY);
            odeon_port_release(ports[i]);
        }
    }
    numbers_finish(&bystander);
    for (int i = 0; i < 8; i++)
        odeon_client_disconnect(others[i]);
    odeon_client_disconnect(client);
    assert_int_equal(service_stop(&service, SIGTERM), 0);
    /* the one that runs, and what is behind it */
    assert_true(service_state(&service).unreceived >= 1);
    assert_true(
        service_log_has(&service, " messages sent but not received: the time to drain was over"));
    service_end(&service);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_greedy_handler_gets_an_error),
        cmocka_unit_test(test_queue_at_its_limit_refuses),
        cmocka_unit_test(test_client_that_does_not_receive),
        cmocka_unit_test(test_client_that_goes_while_it_is_flooded),
        cmocka_unit_test(test_handler_that_never_returns),
    };

    return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}
