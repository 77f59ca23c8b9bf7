/* SPDX-License-Identifier: Apache-2.0 */
/* Ports over the real service: calls and how they end, waiting, a full ring, records in place. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/system/harness.h"
#include "tests/system/probe.h"

enum { RING = 1 << 16 };

static struct service service;
static struct odeon_client *client;
static uint32_t number_type, ask_type, told_type;

static int setup(void **state)
{
    (void)state;
    service_start(&service, (const char *const[]){ SMALL_SERVICE, "--plugin", TEST_PROBE, NULL });
    client = service_connect(&service, "port");
    number_type = message_id(client, odeon_message_of(probe_number));
    ask_type = message_id(client, odeon_message_of(probe_ask));
    told_type = message_id(client, odeon_message_of(probe_told));
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

static void post_number(struct odeon_port *port, odeon_ref to, uint64_t n)
{
    struct probe_number number = { .n = n };

    assert_int_equal(odeon_port_post(port, to, number_type, &number, sizeof(number)), 0);
}

static void expect_number(struct odeon_port *port, uint64_t n)
{
    struct odeon_delivery delivery;

    assert_int_equal(odeon_port_receive_wait(port, &delivery, SECONDS(PATIENCE_S)), 1);
    assert_int_equal(delivery.type, number_type);
    assert_int_equal(delivery.size, sizeof(struct probe_number));
    assert_int_equal(((const struct probe_number *)delivery.data)->n, n);
    odeon_port_release(port);
}

static int call_number(struct odeon_port *port, odeon_ref to, uint64_t n, int64_t timeout_ns,
                       struct odeon_delivery *ret_reply)
{
    struct probe_number number = { .n = n };

    return odeon_port_call(port, to, number_type, &number, sizeof(number), timeout_ns, ret_reply);
}

static void test_call_is_replied(void **state)
{
    struct odeon_port *port = port_open_or_fail(client, RING, RING, false);
    odeon_ref echo = spawn(client, "probe_echo", "port.echo", NULL, 0), found = ODEON_NOBODY;
    struct odeon_delivery reply;

    (void)state;
    assert_int_equal(odeon_actor_find(client, "port.echo", &found), 0);
    assert_true(found == echo);
    for (uint64_t n = 0; n < 1000; n++) {
        assert_int_equal(call_number(port, echo, n, SECONDS(PATIENCE_S), &reply), ODEON_CALL_REPLY);
        assert_true(reply.from == echo);
        assert_int_equal(reply.type, number_type);
        assert_int_equal(reply.flags & 1, 1);
        assert_int_equal(((const struct probe_number *)reply.data)->n, n);
        odeon_port_release(port);
    }
    odeon_port_close(port);
}

static void expect_refused(int outcome, const struct odeon_delivery *reply, odeon_ref to,
                           unsigned reason)
{
    const struct odeon_refusal *refusal = reply->data;

    assert_int_equal(outcome, ODEON_CALL_REFUSED);
    assert_int_equal(reply->type, ODEON_MSG_REFUSAL);
    assert_true(refusal->to == to);
    assert_int_equal(refusal->reason, reason);
}

static void test_call_of_a_dead_actor_is_refused(void **state)
{
    struct odeon_port *port = port_open_or_fail(client, RING, RING, false);
    odeon_ref echo = spawn(client, "probe_echo", "port.dead", NULL, 0);
    struct odeon_delivery reply;
    uint64_t refusals = service_figure(&service, "refusals");

    (void)state;
    assert_int_equal(odeon_actor_stop(client, echo, ODEON_DELETE), 0);
    int outcome = call_number(port, echo, 1, SECONDS(PATIENCE_S), &reply);
    expect_refused(outcome, &reply, echo, ODEON_REASON_NO_SUCH_ACTOR);
    odeon_port_release(port);
    /* never was: another generation of a slot in use; a slot that nobody has used */
    outcome = call_number(port, echo + (UINT64_C(1000) << 32), 1, SECONDS(PATIENCE_S), &reply);
    expect_refused(outcome, &reply, echo + (UINT64_C(1000) << 32), ODEON_REASON_NO_SUCH_ACTOR);
    odeon_port_release(port);
    outcome = call_number(port, odeon_ref_make(1, 1000, 1), 1, SECONDS(PATIENCE_S), &reply);
    expect_refused(outcome, &reply, odeon_ref_make(1, 1000, 1), ODEON_REASON_NO_SUCH_ACTOR);
    odeon_port_release(port);
    /* cannot be: said at once; the first one is another executor's */
    assert_int_equal(call_number(port, odeon_ref_make(2, 1000, 1), 1, SECONDS(1), &reply), -ESRCH);
    assert_int_equal(call_number(port, odeon_ref_make(1, 1024, 1), 1, SECONDS(1), &reply), -ESRCH);
    assert_int_equal(call_number(port, ODEON_NOBODY, 1, SECONDS(1), &reply), -ESRCH);
    assert_true(wait_until(service_figure(&service, "refusals") == refusals + 3));
    odeon_port_close(port);
}

static void test_call_of_one_that_does_not_accept_is_refused(void **state)
{
    struct odeon_port *port = port_open_or_fail(client, RING, RING, false);
    odeon_ref echo = spawn(client, "probe_echo", NULL, NULL, 0);
    struct odeon_delivery reply;
    uint64_t n = 1;

    (void)state;
    int outcome = odeon_port_call(port, echo, ask_type, NULL, 0, SECONDS(PATIENCE_S), &reply);
    expect_refused(outcome, &reply, echo, ODEON_REASON_NOT_ACCEPTED);
    odeon_port_release(port);
    /* an id that belongs to no type */
    outcome = odeon_port_call(port, echo, 60000, NULL, 0, SECONDS(PATIENCE_S), &reply);
    expect_refused(outcome, &reply, echo, ODEON_REASON_NOT_ACCEPTED);
    odeon_port_release(port);
    /* a payload that is shorter than the type */
    outcome = odeon_port_call(port, echo, number_type, &n, sizeof(n), SECONDS(PATIENCE_S), &reply);
    expect_refused(outcome, &reply, echo, ODEON_REASON_BAD_SIZE);
    odeon_port_release(port);
    /* a port is not an actor that clients may post to */
    outcome = call_number(port, odeon_port_ref(port), 1, SECONDS(PATIENCE_S), &reply);
    expect_refused(outcome, &reply, odeon_port_ref(port), ODEON_REASON_NOT_ACCEPTED);
    odeon_port_release(port);
    /* the actor goes on */
    assert_int_equal(call_number(port, echo, 2, SECONDS(PATIENCE_S), &reply), ODEON_CALL_REPLY);
    odeon_port_release(port);
    odeon_port_close(port);
}

/* Nobody answers while the executor stands still; the late reply is dropped, what else arrives is
 * kept. */
static void test_call_expires(void **state)
{
    struct odeon_port *port = port_open_or_fail(client, RING, RING, false);
    odeon_ref ledger = spawn(client, "probe_ledger", NULL, NULL, 0),
              echo = spawn(client, "probe_echo", NULL, NULL, 0);
    pid_t executor = service_executor(&service);
    struct odeon_delivery reply;

    (void)state;
    process_stop(executor);
    int64_t begin = time_ns();
    assert_int_equal(odeon_port_call(port, ledger, ask_type, NULL, 0, MILLISECONDS(20), &reply),
                     ODEON_CALL_EXPIRED);
    assert_true(time_ns() - begin >= MILLISECONDS(20));
    assert_null(reply.data);
    assert_int_equal(kill(executor, SIGCONT), 0);
    /* a call that is not answered in time says so; the next one gets its own reply, not the late
     * one */
    assert_int_equal(odeon_port_call(port, ledger, ask_type, NULL, 0, SECONDS(PATIENCE_S), &reply),
                     ODEON_CALL_REPLY);
    assert_int_equal(reply.type, told_type);
    odeon_port_release(port);
    post_number(port, echo, 1);
    expect_number(port, 1); /* and not the late reply */
    odeon_port_close(port);
}

/* Deliveries that arrive during a call come afterwards, in their order. */
static void test_call_keeps_other_deliveries(void **state)
{
    struct odeon_port *port = port_open_or_fail(client, RING, RING, false);
    odeon_ref echo = spawn(client, "probe_echo", NULL, NULL, 0);
    struct odeon_delivery reply;

    (void)state;
    for (uint64_t round = 0; round < 100; round++) {
        for (uint64_t n = 0; n < 10; n++)
            post_number(port, echo, round * 10 + n);
        assert_int_equal(call_number(port, echo, 1000000 + round, SECONDS(PATIENCE_S), &reply),
                         ODEON_CALL_REPLY);
        assert_int_equal(((const struct probe_number *)reply.data)->n, 1000000 + round);
        odeon_port_release(port);
    }
    for (uint64_t n = 0; n < 1000; n++)
        expect_number(port, n);
    odeon_port_close(port);
}

static void test_correlated_posts_are_picked_up(void **state)
{
    struct odeon_port *port = port_open_or_fail(client, RING, RING, false);
    odeon_ref echo = spawn(client, "probe_echo", NULL, NULL, 0);

    (void)state;
    for (uint64_t n = 1; n <= 20; n++) {
        struct probe_number number = { .n = n };

        assert_int_equal(
            odeon_port_post_correlated(port, echo, number_type, n * 7, &number, sizeof(number)), 0);
        post_number(port, echo, n);
    }
    for (uint64_t n = 1; n <= 20; n++) {
        struct odeon_delivery delivery;

        assert_int_equal(odeon_port_receive_wait(port, &delivery, SECONDS(PATIENCE_S)), 1);
        assert_int_equal(delivery.correlation, n * 7);
        assert_int_equal(delivery.flags & 1, 1);
        assert_int_equal(((const struct probe_number *)delivery.data)->n, n);
        expect_number(port, n);
    }
    assert_int_equal(odeon_port_post_correlated(port, echo, number_type, 0, NULL, 0), -EINVAL);
    odeon_port_close(port);
}

static void test_port_descriptor_is_for_poll(void **state)
{
    struct odeon_port *plain = port_open_or_fail(client, RING, RING, false),
                      *port = port_open_or_fail(client, RING, RING, true);
    odeon_ref echo = spawn(client, "probe_echo", NULL, NULL, 0);
    struct pollfd p = { .fd = odeon_port_fd(port), .events = POLLIN };

    (void)state;
    assert_int_equal(odeon_port_fd(plain), -ENOTSUP);
    assert_true(p.fd >= 0);
    assert_int_equal(odeon_port_arm(port), 0);
    assert_int_equal(poll(&p, 1, 0), 0);
    for (uint64_t n = 0; n < 200; n++) {
        post_number(port, echo, n);
        for (;;) {
            struct odeon_delivery delivery;

            if (odeon_port_receive(port, &delivery) == 1) {
                assert_int_equal(((const struct probe_number *)delivery.data)->n, n);
                odeon_port_release(port);
                break;
            }
            if (odeon_port_arm(port) == 0)
                assert_int_equal(poll(&p, 1, PATIENCE_S * 1000), 1);
        }
    }
    odeon_port_close(port);
    odeon_port_close(plain);
}

/* With so few descriptors. False: the service has not closed enough of the earlier ones yet. */
static bool cannot_take_port(rlim_t descriptors, const struct rlimit *all)
{
    struct odeon_port_options options = { .struct_size = sizeof(options), .pipe = 1 };
    struct rlimit few = { descriptors, all->rlim_max };
    struct odeon_port *port = NULL;
    int r;

    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    r = odeon_port_open(client, &options, &port);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, all), 0);
    assert_int_equal(r, -EMFILE);
    return strstr(odeon_error_text(), "in this process") != NULL;
}

/* More often than a client may have ports: what it cannot take is no port of it. */
static void test_ports_that_cannot_be_taken_are_closed(void **state)
{
    struct rlimit all;
    int lowest = dup(0);

    (void)state;
    assert_true(lowest >= 0);
    close(lowest);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &all), 0);
    for (unsigned n = 0; n < 48; n++)
        assert_true(wait_until(cannot_take_port((rlim_t)lowest + n % 4, &all)));
    odeon_port_close(port_open_or_fail(client, RING, RING, true));
    assert_true(wait_until(service_state(&service).ports == 0));
}

static void test_reserved_records_are_published_together(void **state)
{
    struct odeon_port *port = port_open_or_fail(client, RING, RING, false);
    odeon_ref echo = spawn(client, "probe_echo", NULL, NULL, 0);
    struct odeon_delivery delivery;

    (void)state;
    for (uint64_t n = 0; n < 100; n++) {
        struct probe_number *number = odeon_port_reserve(port, echo, number_type, sizeof(*number));

        assert_non_null(number);
        *number = (struct probe_number){ .n = n };
    }
    /* unpublished: another port's round trip is over, and nothing has come */
    struct odeon_port *other = port_open_or_fail(client, RING, RING, false);
    assert_int_equal(call_number(other, echo, 1, SECONDS(PATIENCE_S), &delivery), ODEON_CALL_REPLY);
    odeon_port_close(other);
    assert_int_equal(odeon_port_receive(port, &delivery), 0);
    odeon_port_commit(port);
    for (uint64_t n = 0; n < 100; n++)
        expect_number(port, n);
    /* a post publishes what was reserved before it, in order */
    struct probe_number *number = odeon_port_reserve(port, echo, number_type, sizeof(*number));
    assert_non_null(number);
    *number = (struct probe_number){ .n = 100 };
    post_number(port, echo, 101);
    expect_number(port, 100);
    expect_number(port, 101);
    assert_null(odeon_port_reserve(port, echo, number_type, 32769));
    assert_int_equal(errno, EMSGSIZE);
    odeon_port_close(port);
}

static void test_full_ring_would_block_and_loses_nothing(void **state)
{
    struct odeon_port *port = port_open_or_fail(client, RING, 1 << 20, false);
    odeon_ref echo = spawn(client, "probe_echo", NULL, NULL, 0);
    struct probe_number number = { 0 };
    pid_t executor = service_executor(&service);
    uint64_t posted = 0;
    int r;

    (void)state;
    process_stop(executor);
    while ((r = odeon_port_post(port, echo, number_type, &number, sizeof(number))) == 0)
        number.n = ++posted;
    assert_int_equal(r, -EAGAIN);
    assert_int_equal(posted, RING / (24 + sizeof(number)));
    assert_null(odeon_port_reserve(port, echo, number_type, sizeof(number)));
    assert_int_equal(errno, EAGAIN);
    int64_t begin = time_ns();
    assert_int_equal(
        odeon_port_post_wait(port, echo, number_type, &number, sizeof(number), MILLISECONDS(50)),
        -ETIMEDOUT);
    assert_true(time_ns() - begin >= MILLISECONDS(50));
    assert_int_equal(kill(executor, SIGCONT), 0);
    assert_int_equal(
        odeon_port_post_wait(port, echo, number_type, &number, sizeof(number), SECONDS(PATIENCE_S)),
        0);
    posted++;
    for (uint64_t n = 0; n < posted; n++)
        expect_number(port, n);
    odeon_port_close(port);
}

static void *continue_later(void *userdata)
{
    pid_t *executor = userdata;

    wait_until_within(1,
                      /* the other thread is to fall asleep meanwhile; if not, the test is weaker,
                       * not wrong */
                      false);
    kill(*executor, SIGCONT);
    return NULL;
}

/* post_wait sleeps on the futex until the executor makes room. */
static void test_post_wait_is_woken(void **state)
{
    struct odeon_port *port = port_open_or_fail(client, RING, 1 << 20, false);
    odeon_ref echo = spawn(client, "probe_echo", NULL, NULL, 0);
    struct probe_number number = { 0 };
    pid_t executor = service_executor(&service);
    uint64_t posted = 0;
    pthread_t thread;

    (void)state;
    process_stop(executor);
    while (odeon_port_post(port, echo, number_type, &number, sizeof(number)) == 0)
        number.n = ++posted;
    assert_int_equal(pthread_create(&thread, NULL, continue_later, &executor), 0);
    assert_int_equal(odeon_port_post_wait(port, echo, number_type, &number, sizeof(number), -1), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    for (uint64_t n = 0; n <= posted; n++)
        expect_number(port, n);
    odeon_port_close(port);
}

static void test_sizes(void **state)
{
    static unsigned char bytes[32769];
    struct odeon_port_options options = { .struct_size = sizeof(options),
                                          .submission_bytes = 1000 };
    struct odeon_port *port = port_open_or_fail(client, RING, RING, false), *other = NULL;
    odeon_ref echo = spawn(client, "probe_echo", NULL, NULL, 0);
    struct odeon_delivery reply;

    (void)state;
    assert_int_equal(odeon_port_post(port, echo, number_type, bytes, 32769), -EMSGSIZE);
    assert_int_equal(odeon_port_post(port, echo, 0, bytes, 8), -EINVAL);
    assert_int_equal(odeon_port_post(port, echo, 65536, bytes, 8), -EINVAL);
    /* the largest that can be posted, with and without a correlation id, is refused by the
     * receiver's type alone */
    for (int i = 0; i < 5; i++) {
        assert_int_equal(
            odeon_port_call(port, echo, number_type, bytes, 32768, SECONDS(PATIENCE_S), &reply),
            ODEON_CALL_REFUSED);
        assert_int_equal(((const struct odeon_refusal *)reply.data)->reason, ODEON_REASON_BAD_SIZE);
        odeon_port_release(port);
    }
    assert_int_equal(odeon_port_open(client, &options, &other), -EINVAL);
    assert_non_null(strstr(odeon_error_text(), "1000"));
    assert_int_equal(odeon_port_check(port), 0);
    odeon_port_close(port);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_call_is_replied),
        cmocka_unit_test(test_call_of_a_dead_actor_is_refused),
        cmocka_unit_test(test_call_of_one_that_does_not_accept_is_refused),
        cmocka_unit_test(test_call_expires),
        cmocka_unit_test(test_call_keeps_other_deliveries),
        cmocka_unit_test(test_correlated_posts_are_picked_up),
        cmocka_unit_test(test_port_descriptor_is_for_poll),
        cmocka_unit_test(test_ports_that_cannot_be_taken_are_closed),
        cmocka_unit_test(test_reserved_records_are_published_together),
        cmocka_unit_test(test_full_ring_would_block_and_loses_nothing),
        cmocka_unit_test(test_post_wait_is_woken),
        cmocka_unit_test(test_sizes),
    };

    return cmocka_run_group_tests_name("port", tests, setup, teardown);
}
