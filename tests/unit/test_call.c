/* SPDX-License-Identifier: Apache-2.0 */
/* Calls: each ends in exactly one of their outcomes, and what else arrives is kept in order. */
#include "tests/unit/clientlib_fake.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/clientlib_cmocka.h"

enum { TYPE = 20, ANSWER = 21, RING = 4096 };

static const odeon_ref actor = UINT64_C(1) << 32 | ACTOR_REF_OWN | 5;

/* What the other side does with the call that it takes. */
struct script {
    struct fake fake;
    struct odeon_port *port;
    unsigned before, after; /* other deliveries in front of and behind the answer */
    bool refuse, silent, broken;
    uint64_t late;        /* a reply with this correlation comes first */
    uint64_t correlation; /* of the call that was taken */
    uint8_t payload[UINT16_MAX];
};

static int setup(void **state)
{
    struct script *s = calloc(1, sizeof(*s));

    fake_init(&s->fake, RING, RING, false);
    s->port = fake_open_port(&s->fake);
    *state = s;
    return 0;
}

static int teardown(void **state)
{
    struct script *s = *state;

    odeon_port_close(s->port);
    fake_fini(&s->fake);
    free(s);
    return 0;
}

/* The client takes deliveries aside while it waits: a full ring becomes free again. */
static bool deliver(struct script *s, uint16_t type, uint64_t number, uint64_t correlation,
                    uint8_t flags)
{
    int64_t end_ns = monotonic_ns() + PATIENCE_NS;

    while (!fake_deliver_number(&s->fake, type, number, correlation, flags))
        if (monotonic_ns() > end_ns)
            return false;
    return true;
}

static void *play(void *argument)
{
    struct script *s = argument;
    uint64_t number;
    struct envelope e;

    while (!fake_take(&s->fake, &e, s->payload))
        if (!fake_sleep(&s->fake))
            return NULL;
    memcpy(&s->correlation, s->payload, 8);
    memcpy(&number, s->payload + 8, 8);
    if (e.prefix != PREFIX_CORRELATION || e.length != 16)
        return NULL;
    if (s->late && !deliver(s, ANSWER, 999, s->late, ENVELOPE_REPLY))
        return NULL;
    for (unsigned i = 0; i < s->before; i++)
        if (!deliver(s, TYPE, i, 0, 0))
            return NULL;
    if (s->refuse) {
        struct refusal refusal = { .correlation = s->correlation,
                                   .to = e.to,
                                   .type = e.type,
                                   .reason = REASON_NO_SUCH_ACTOR };

        if (!fake_deliver(
                &s->fake,
                (struct envelope){ .type = MESSAGE_TYPE_REFUSAL, .length = sizeof(refusal) },
                &refusal))
            return NULL;
    } else if (!s->silent && !deliver(s, ANSWER, number * 2, s->correlation, ENVELOPE_REPLY))
        return NULL;
    for (unsigned i = 0; i < s->after; i++)
        if (!deliver(s, TYPE, s->before + i, 0, 0))
            return NULL;
    if (s->broken) {
        atomic_store(&s->fake.executor->broken, PORT_BROKEN_SLOT);
        /* as the executor does: a waiting client is woken to see it */
        fake_deliver_number(&s->fake, TYPE, 12345, 0, 0);
    }
    return s;
}

static int call(struct script *s, uint64_t number, int64_t timeout_ns, struct odeon_delivery *reply)
{
    pthread_t thread;
    void *played;
    int outcome;

    assert_int_equal(pthread_create(&thread, NULL, play, s), 0);
    outcome = odeon_port_call(s->port, actor, TYPE, &number, sizeof(number), timeout_ns, reply);
    pthread_join(thread, &played);
    assert_ptr_equal(played, s);
    return outcome;
}

/* What the service reads of the calls (port_layout.h). */
static void check_round_trips(const struct script *s, uint64_t answered, uint64_t refused,
                              uint64_t late)
{
    const struct port_round_trips *trips = &s->fake.client->round_trips;

    assert_int_equal(fake_count_answered(&s->fake), answered);
    assert_int_equal(atomic_load(&trips->refused), refused);
    assert_int_equal(atomic_load(&trips->late), late);
    assert_true((answered > 0) == (atomic_load(&trips->longest_ns) > 0));
}

static void test_reply(void **state)
{
    struct script *s = *state;
    struct odeon_delivery reply;

    for (uint64_t i = 1; i < 100; i++) {
        assert_int_equal(call(s, i, PATIENCE_NS, &reply), ODEON_CALL_REPLY);
        assert_int_equal(reply.type, ANSWER);
        assert_int_equal(reply.size, 8);
        assert_int_equal(reply.flags, 1);
        assert_int_equal(*(const uint64_t *)reply.data, 2 * i);
        assert_true(reply.correlation >> 63 == 1);
        odeon_port_release(s->port);
        check_round_trips(s, i, 0, 0);
    }
}

static void test_other_deliveries_are_kept_in_order(void **state)
{
    struct script *s = *state;
    struct odeon_delivery d;

    s->before = 1000; /* many rings full */
    s->after = 20;
    assert_int_equal(call(s, 4, PATIENCE_NS, &d), ODEON_CALL_REPLY);
    assert_int_equal(*(const uint64_t *)d.data, 8);
    for (uint64_t i = 0; i < s->before + s->after; i++) {
        assert_int_equal(odeon_port_receive_wait(s->port, &d, PATIENCE_NS), 1);
        assert_int_equal(d.type, TYPE);
        assert_int_equal(d.size, 8);
        assert_int_equal(*(const uint64_t *)d.data, i);
        if (i % 7 == 0)
            odeon_port_release(s->port);
    }
    odeon_port_release(s->port);
    assert_int_equal(odeon_port_receive(s->port, &d), 0);
    assert_int_equal(atomic_load(&s->fake.client->delivery_head), s->fake.tail);
}

static void test_what_is_lent_stays_untouched_by_a_call(void **state)
{
    struct script *s = *state;
    struct odeon_delivery lent, reply;

    assert_true(fake_deliver_number(&s->fake, TYPE, 31, 0, 0));
    assert_int_equal(odeon_port_receive(s->port, &lent), 1);
    s->before = 3;
    assert_int_equal(call(s, 4, PATIENCE_NS, &reply), ODEON_CALL_REPLY);
    assert_int_equal(*(const uint64_t *)lent.data, 31);
    assert_int_equal(atomic_load(&s->fake.client->delivery_head), 0);
    odeon_port_release(s->port);
    assert_int_equal(atomic_load(&s->fake.client->delivery_head), s->fake.tail);
}

static void test_refusal(void **state)
{
    struct script *s = *state;
    const struct odeon_refusal *refusal;
    struct odeon_delivery d;

    s->refuse = true;
    s->before = 2;
    assert_int_equal(call(s, 4, PATIENCE_NS, &d), ODEON_CALL_REFUSED);
    assert_int_equal(d.type, ODEON_MSG_REFUSAL);
    assert_int_equal(d.size, sizeof(*refusal));
    refusal = d.data;
    assert_int_equal(refusal->to, actor);
    assert_int_equal(refusal->type, TYPE);
    assert_int_equal(refusal->reason, ODEON_REASON_NO_SUCH_ACTOR);
    check_round_trips(s, 0, 1, 0);
    assert_int_equal(odeon_port_receive(s->port, &d), 1);
    assert_int_equal(d.type, TYPE);
}

static void test_refusals_of_posts_are_received(void **state)
{
    struct script *s = *state;
    struct refusal refusal = {
        .correlation = 0, .to = actor, .type = TYPE, .reason = REASON_QUEUE_FULL
    };
    struct odeon_delivery d;

    assert_true(fake_deliver(
        &s->fake, (struct envelope){ .type = MESSAGE_TYPE_REFUSAL, .length = sizeof(refusal) },
        &refusal));
    refusal.correlation = 55;
    assert_true(fake_deliver(
        &s->fake, (struct envelope){ .type = MESSAGE_TYPE_REFUSAL, .length = sizeof(refusal) },
        &refusal));
    assert_true(fake_deliver_number(&s->fake, ANSWER, 8, 56, ENVELOPE_REPLY));
    assert_int_equal(odeon_port_receive(s->port, &d), 1);
    assert_int_equal(d.correlation, 0);
    assert_int_equal(odeon_port_receive(s->port, &d), 1);
    assert_int_equal(d.correlation, 55);
    assert_int_equal(odeon_port_receive(s->port, &d), 1);
    assert_int_equal(d.correlation, 56);
    assert_int_equal(d.flags, 1);
}

static void test_expiry_and_the_late_reply(void **state)
{
    struct script *s = *state;
    struct odeon_delivery d;
    int64_t begin = monotonic_ns();

    s->silent = true;
    assert_int_equal(call(s, 4, 30000000, &d), ODEON_CALL_EXPIRED);
    assert_true(monotonic_ns() - begin >= 30000000);
    assert_null(d.data);
    /* The reply that comes too late is nobody's: neither odeon_port_receive() nor the next call
     * sees it. */
    assert_true(fake_deliver_number(&s->fake, ANSWER, 8, s->correlation, ENVELOPE_REPLY));
    assert_int_equal(odeon_port_receive(s->port, &d), 0);
    assert_int_equal(odeon_port_receive_wait(s->port, &d, 20000000), 0);
    assert_int_equal(atomic_load(&s->fake.client->delivery_head), s->fake.tail);
    s->silent = false;
    s->late = s->correlation;
    assert_int_equal(call(s, 5, PATIENCE_NS, &d), ODEON_CALL_REPLY);
    assert_int_equal(*(const uint64_t *)d.data, 10);
    assert_int_equal(odeon_port_receive(s->port, &d), 0);
    check_round_trips(s, 1, 0, 1);
}

static void test_expiry_before_anything_was_sent(void **state)
{
    struct script *s = *state;
    struct odeon_delivery d;

    while (odeon_port_post(s->port, actor, TYPE, s->payload, 100) == 0)
        ;
    assert_int_equal(odeon_port_call(s->port, actor, TYPE, s->payload, 100, 1000000, &d),
                     -ETIMEDOUT);
    assert_int_equal(odeon_port_call(s->port, ODEON_NOBODY, TYPE, s->payload, 100, 1000000, &d),
                     -ESRCH);
    assert_int_equal(odeon_port_call(s->port, actor, TYPE, NULL, 1, 1000000, &d), -EINVAL);
    check_round_trips(s, 0, 0, 0); /* none of them has begun */
}

static void test_closed_meanwhile(void **state)
{
    struct script *s = *state;
    struct odeon_delivery d;

    s->silent = s->broken = true;
    s->before = 2;
    assert_int_equal(call(s, 4, PATIENCE_NS, &d), ODEON_CALL_CLOSED);
    assert_non_null(strstr(odeon_error_text(), "bad-receiver"));
    for (int i = 0; i < 3; i++)
        assert_int_equal(odeon_port_receive(s->port, &d), 1);
    assert_int_equal(odeon_port_receive(s->port, &d), -EPIPE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_reply, setup, teardown),
        cmocka_unit_test_setup_teardown(test_other_deliveries_are_kept_in_order, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_is_lent_stays_untouched_by_a_call, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_refusal, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refusals_of_posts_are_received, setup, teardown),
        cmocka_unit_test_setup_teardown(test_expiry_and_the_late_reply, setup, teardown),
        cmocka_unit_test_setup_teardown(test_expiry_before_anything_was_sent, setup, teardown),
        cmocka_unit_test_setup_teardown(test_closed_meanwhile, setup, teardown),
    };

    return cmocka_run_group_tests_name("client calls", tests, NULL, NULL);
}
