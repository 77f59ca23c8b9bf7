/* SPDX-License-Identifier: Apache-2.0 */
/* Deliveries taken several at once, and given back one by one, against an executor that the test
 * plays. */
#include "tests/unit/clientlib_fake.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/clientlib_cmocka.h"
#include "tests/unit/clientlib_port.h"

enum { BATCH = 16, NUMBERS = 100000 };

static uint64_t number_of(const struct odeon_delivery *d)
{
    uint64_t number;

    memcpy(&number, d->data, sizeof(number));
    return number;
}

static uint64_t head(const struct fixture *f)
{
    return atomic_load(&f->fake.client->delivery_head);
}

static void deliver(struct fixture *f, uint64_t first, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        assert_true(fake_deliver_number(&f->fake, TYPE, first + i, 0, 0));
}

static void test_many_at_once(void **state)
{
    struct fixture *f = *state;
    struct odeon_delivery d[BATCH];

    assert_int_equal(odeon_port_receive_many(f->port, d, 0), -EINVAL);
    assert_int_equal(odeon_port_receive_many(f->port, NULL, 1), -EINVAL);
    assert_int_equal(odeon_port_receive_many(NULL, d, 1), -EINVAL);
    assert_int_equal(odeon_port_receive_many(f->port, d, BATCH), 0);
    deliver(f, 0, BATCH + 3);
    assert_int_equal(odeon_port_receive_many(f->port, d, BATCH), BATCH);
    for (unsigned i = 0; i < BATCH; i++)
        assert_int_equal(number_of(&d[i]), i);
    assert_int_equal(odeon_port_receive_many(f->port, d, BATCH), 3);
    assert_int_equal(number_of(&d[2]), BATCH + 2);
    assert_int_equal(odeon_port_receive_many(f->port, d, BATCH), 0);
    assert_int_equal(head(f), 0);
    odeon_port_release(f->port);
    assert_int_equal(head(f), (BATCH + 3) * 32);
    deliver(f, 7, 1);
    atomic_store(&f->fake.executor->broken, PORT_BROKEN_CLOSED);
    assert_int_equal(odeon_port_receive_many(f->port, d, BATCH), 1);
    assert_int_equal(odeon_port_receive_many(f->port, d, BATCH), -EPIPE);
}

static void test_one_by_one(void **state)
{
    struct fixture *f = *state;
    struct odeon_delivery d[8], copy;

    /* so that the ring's end comes between them */
    for (unsigned round = 0; round < 40; round++) {
        uint64_t before = head(f);

        deliver(f, round, 8);
        assert_int_equal(odeon_port_receive_many(f->port, d, 8), 8);
        copy = d[2];
        assert_int_equal(odeon_port_release_until(f->port, &copy), 0);
        assert_int_equal(head(f), before + 3 * 32);
        for (unsigned i = 3; i < 8; i++) /* untouched */
            assert_int_equal(number_of(&d[i]), round + i);
        deliver(f, 99, 3);
        assert_int_equal(odeon_port_release_until(f->port, &d[3]), 0);
        assert_int_equal(head(f), before + 4 * 32);
        assert_int_equal(odeon_port_release_until(f->port, &d[7]), 0);
        assert_int_equal(head(f), before + 8 * 32);
        assert_int_equal(odeon_port_receive_many(f->port, d, 8), 3);
        odeon_port_release(f->port);
        assert_int_equal(head(f), before + 11 * 32);
    }
}

static void test_sizes_are_filled_up(void **state)
{
    struct fixture *f = *state;
    struct odeon_delivery d;
    uint64_t end = 0;

    for (unsigned size = 0; size < 600; size++) {
        struct envelope e = { .type = TYPE, .length = (uint16_t)size };

        end += envelope_size(size);
        assert_true(fake_deliver(&f->fake, e, f->payload));
        assert_int_equal(odeon_port_receive(f->port, &d), 1);
        assert_int_equal(odeon_port_release_until(f->port, &d), 0);
        assert_int_equal(head(f), end);
    }
}

static void test_a_whole_ring(void **state)
{
    struct fixture *f = *state;
    struct envelope e = { .type = TYPE, .length = RING - 24 };
    struct odeon_delivery d;

    for (unsigned i = 1; i <= 3; i++) {
        assert_true(fake_deliver(&f->fake, e, f->payload));
        assert_int_equal(odeon_port_receive(f->port, &d), 1);
        assert_int_equal(odeon_port_release_until(f->port, &d), 0);
        assert_int_equal(head(f), i * RING);
    }
}

static void test_what_is_not_held_is_refused(void **state)
{
    struct fixture *f = *state;
    const uint64_t mine = 0;
    struct odeon_delivery d[2], other = { .data = &mine, .size = 8 };

    deliver(f, 0, 3);
    assert_int_equal(odeon_port_receive_many(f->port, d, 2), 2);
    assert_int_equal(odeon_port_release_until(f->port, &other), -EINVAL);
    other.data = (const uint8_t *)d[1].data + 32; /* not received yet */
    assert_int_equal(odeon_port_release_until(f->port, &other), -EINVAL);
    other.data = (const uint8_t *)d[0].data + 4 * RING; /* as far into another port's */
    assert_int_equal(odeon_port_release_until(f->port, &other), -EINVAL);
    other.data = d[0].data;
    other.size = UINT32_MAX;
    assert_int_equal(odeon_port_release_until(f->port, &other), -EINVAL);
    assert_int_equal(odeon_port_release_until(f->port, NULL), -EINVAL);
    assert_int_equal(odeon_port_release_until(NULL, d), -EINVAL);
    assert_int_equal(head(f), 0);
    assert_int_equal(odeon_port_release_until(f->port, &d[1]), 0);
    assert_int_equal(odeon_port_release_until(f->port, &d[1]), -EINVAL);
    assert_int_equal(odeon_port_release_until(f->port, &d[0]), -EINVAL);
    assert_int_equal(head(f), 2 * 32);
}

/* A reply that came too late for its call is dropped, and gives nothing back but itself. */
static void test_what_is_dropped_gives_back_nothing_held(void **state)
{
    struct fixture *f = *state;
    struct odeon_delivery d[3];

    deliver(f, 0, 2);
    assert_int_equal(odeon_port_receive_many(f->port, d, 2), 2);
    assert_int_equal(odeon_port_release_until(f->port, &d[0]), 0);
    assert_true(fake_deliver_number(&f->fake, TYPE, 7, PORT_CORRELATION_CALL | 9, ENVELOPE_REPLY));
    assert_int_equal(odeon_port_receive(f->port, &d[2]), 0);
    assert_int_equal(head(f), 32);
    assert_int_equal(number_of(&d[1]), 1);
    assert_int_equal(odeon_port_release_until(f->port, &d[1]), 0);
    assert_int_equal(head(f), 2 * 32 + 40);
}

static void test_the_backlog_hears_of_it(void **state)
{
    struct fixture *f = *state;
    struct odeon_delivery d[2];

    deliver(f, 0, 2);
    assert_int_equal(odeon_port_receive_many(f->port, d, 2), 2);
    atomic_store(&f->fake.executor->backlog, 1);
    assert_int_equal(odeon_port_release_until(f->port, &d[0]), 0);
    assert_int_equal(fake_doorbell_count(&f->fake), 1);
}

/* What lies beside the ring: outcomes of posts with a deadline, between deliveries of the ring. */
static void test_in_the_order_of_receiving(void **state)
{
    struct fixture *f = *state;
    struct odeon_delivery d[4];
    uint64_t first = head(f);
    struct envelope e;

    for (uint64_t i = 1; i <= 2; i++)
        assert_int_equal(
            odeon_port_post_with(f->port, actor, TYPE, "", 0,
                                 ODEON_POST_OPTIONS(.correlation = i, .within_ns = (int64_t)i)),
            0);
    while (fake_take(&f->fake, &e, f->payload)) {
    }
    deliver(f, 10, 1);
    assert_int_equal(odeon_port_receive(f->port, &d[0]), 1);
    assert_int_equal(odeon_port_receive(f->port, &d[1]), 1);
    deliver(f, 11, 1);
    assert_int_equal(d[1].type, ODEON_MSG_REFUSAL);
    assert_int_equal(odeon_port_receive(f->port, &d[2]), 1);
    assert_int_equal(d[2].type, ODEON_MSG_REFUSAL);
    assert_int_equal(odeon_port_receive(f->port, &d[3]), 1);
    assert_int_equal(number_of(&d[3]), 11);

    assert_int_equal(odeon_port_release_until(f->port, &d[1]), 0);
    assert_int_equal(head(f), first + 32);
    assert_int_equal(((const struct odeon_refusal *)d[2].data)->correlation, d[2].correlation);
    assert_int_equal(odeon_port_release_until(f->port, &d[1]), -EINVAL);
    assert_int_equal(odeon_port_release_until(f->port, &d[3]), 0); /* and what came before */
    assert_int_equal(odeon_port_release_until(f->port, &d[2]), -EINVAL);
    assert_int_equal(head(f), first + 64);
}

/* An outcome that is held, and behind it a delivery of the ring: between the two a late reply has
 * been given back by the library itself. */
static uint64_t receive_around_a_late_reply(struct fixture *f, struct odeon_delivery d[2])
{
    uint64_t first = head(f), id;
    struct envelope e;

    assert_int_equal(odeon_port_post_with(f->port, actor, TYPE, "", 0,
                                          ODEON_POST_OPTIONS(.correlation = 1, .within_ns = 1)),
                     0);
    assert_true(fake_take(&f->fake, &e, f->payload));
    memcpy(&id, f->payload, sizeof(id));
    assert_int_equal(odeon_port_receive_wait(f->port, &d[0], PATIENCE_NS), 1);
    assert_int_equal(d[0].type, ODEON_MSG_REFUSAL);
    assert_true(fake_deliver_number(&f->fake, TYPE, 99, id, ENVELOPE_REPLY));
    deliver(f, 11, 1);
    assert_int_equal(odeon_port_receive(f->port, &d[1]), 1);
    assert_int_equal(number_of(&d[1]), 11);
    assert_int_equal(head(f), first + 40);
    return first + 40;
}

static void test_what_is_kept_holds_no_ring(void **state)
{
    struct fixture *f = *state;
    struct odeon_delivery d[2];
    uint64_t given_back = receive_around_a_late_reply(f, d);

    assert_int_equal(odeon_port_release_until(f->port, &d[0]), 0);
    assert_int_equal(head(f), given_back); /* and not where the outcome was handed out */
    assert_int_equal(number_of(&d[1]), 11);
    assert_int_equal(odeon_port_release_until(f->port, &d[1]), 0);
    assert_int_equal(head(f), given_back + 32);

    given_back = receive_around_a_late_reply(f, d);
    assert_int_equal(odeon_port_release_until(f->port, &d[1]), 0); /* and what came before */
    assert_int_equal(odeon_port_release_until(f->port, &d[0]), -EINVAL);
    assert_int_equal(head(f), given_back + 32);
}

/* Behind the last one that was handed out the library has taken what nobody is handed. */
static void test_what_is_dropped_behind_holds_no_ring(void **state)
{
    struct fixture *f = *state;
    struct odeon_delivery d[4];
    uint64_t id;
    struct envelope e;

    assert_int_equal(
        odeon_port_post_with(f->port, actor, TYPE, "", 0,
                             ODEON_POST_OPTIONS(.correlation = 1, .within_ns = SECOND_NS)),
        0);
    assert_true(fake_take(&f->fake, &e, f->payload));
    memcpy(&id, f->payload, sizeof(id));
    assert_int_equal(odeon_port_forget(f->port, 1), 1);
    for (unsigned round = 0; round < 3 * RING / 72; round++) {
        deliver(f, round, 1);
        assert_true(fake_deliver_number(&f->fake, TYPE, 99, id, ENVELOPE_REPLY)); /* too late */
        assert_int_equal(odeon_port_receive_many(f->port, d, 4), 1);
        assert_int_equal(number_of(&d[0]), round);
        assert_int_equal(odeon_port_release_until(f->port, &d[0]), 0);
        assert_int_equal(head(f), atomic_load(&f->fake.executor->delivery_tail));
        assert_true(fake_deliver_number(&f->fake, TYPE, 99, id, ENVELOPE_REPLY));
        assert_int_equal(odeon_port_receive(f->port, &d[0]), 0); /* given back by the library */
        assert_int_equal(head(f), atomic_load(&f->fake.executor->delivery_tail));
    }
}

/* ---- a consumer that holds a few of those that it has */

static void *deliver_all(void *argument)
{
    struct fixture *f = argument;

    for (uint64_t i = 0; i < NUMBERS; i++)
        while (!fake_deliver_number(&f->fake, TYPE, i, 0, 0))
            cpu_relax();
    return f;
}

static void test_held_for_a_while(void **state)
{
    struct fixture *f = *state;
    struct odeon_delivery held[BATCH];
    uint64_t next = 0, oldest = 0;
    pthread_t thread;
    void *result;

    assert_int_equal(pthread_create(&thread, NULL, deliver_all, f), 0);
    while (oldest < NUMBERS) {
        while (next < NUMBERS && next - oldest < BATCH &&
               odeon_port_receive(f->port, &held[next % BATCH]) == 1)
            next++;
        if (oldest == next)
            continue;
        assert_int_equal(number_of(&held[oldest % BATCH]), oldest);
        assert_int_equal(odeon_port_release_until(f->port, &held[oldest % BATCH]), 0);
        oldest++;
    }
    pthread_join(thread, &result);
    assert_ptr_equal(result, f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_many_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_one_by_one, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sizes_are_filled_up, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_whole_ring, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_is_not_held_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_is_dropped_gives_back_nothing_held, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_the_backlog_hears_of_it, setup, teardown),
        cmocka_unit_test_setup_teardown(test_in_the_order_of_receiving, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_is_kept_holds_no_ring, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_is_dropped_behind_holds_no_ring, setup, teardown),
        cmocka_unit_test_setup_teardown(test_held_for_a_while, setup, teardown),
    };

    return cmocka_run_group_tests_name("deliveries given back", tests, NULL, NULL);
}
