/* SPDX-License-Identifier: Apache-2.0 */
/* Ports whose clients do not receive: the backlog behind the ring, and what becomes of deliveries
 * beyond that. */
#include "tests/unit/port_fixture.h"

static void test_backlog_in_order(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct client c;
    fixture_begin(&f, 2, 1 << 20);
    client_open(&f, &c, PORT, 1);
    assert_int_equal(engine_start(f.engine), 0);
    for (unsigned round = 0; round < 5; round++) {
        /* more than the ring, less than ring and backlog */
        uint64_t n = (RING + 65536) / 32, first = round * n;
        for (uint64_t i = 1; i <= n; i++)
            client_post(&c, echo, number_type, &(uint64_t){ first + i }, 8);
        assert_true(engine_fixture_until(atomic_load(&seen.n) == first + n));
        assert_true(engine_fixture_until(load_relaxed(&c.executor->backlog)));
        for (uint64_t i = 1; i <= n; i++)
            client_expect_number(&c, first + i);
        assert_null(client_next(&c));
        assert_true(engine_fixture_until(!load_relaxed(&c.executor->backlog)));
    }
    assert_true(engine_fixture_stat(&f, STAT_port_backlogged) > 0);
    assert_int_equal(engine_fixture_stat(&f, STAT_backlog_dropped), 0);
    client_free(&c);
    fixture_end(&f);
}

static void test_backlog_has_a_bound(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct client c;
    fixture_begin(&f, 2, 1 << 20);
    client_open(&f, &c, PORT, 1);
    assert_int_equal(engine_start(f.engine), 0);
    uint64_t n = 3 * (RING + (1 << 17)) / 32, first = (RING + 65536) / 32, received = 0, last = 0;
    for (uint64_t i = 1; i <= n; i++) {
        client_post(&c, echo, number_type, &i, 8);
        /* the ring is filled to its end by the port's runner, who comes when it comes */
        if (i == first)
            assert_true(engine_fixture_until(load_acquire(&c.executor->delivery_tail) == RING));
    }
    assert_true(engine_fixture_until(atomic_load(&seen.n) == n));
    assert_true(engine_fixture_wait(&f, TEST_DEADLINE_NS));
    uint64_t dropped = engine_fixture_stat(&f, STAT_backlog_dropped);
    assert_true(dropped > 0 && dropped <= n - (RING + (1 << 17)) / 32 + 1);
    while (received + dropped < n) {
        const struct envelope *at = client_wait(&c);
        uint64_t number = *(const uint64_t *)envelope_payload(at);
        assert_true(number > last);
        last = number;
        received++;
    }
    assert_null(client_next(&c));
    client_post(&c, echo, number_type, &(uint64_t){ n + 1 }, 8);
    client_expect_number(&c, n + 1);
    client_free(&c);
    fixture_end(&f);
}

/* The newest ones are there, in order and without a gap; the ring keeps what it had. */
static void test_drop_oldest(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct client c;
    fixture_begin(&f, 2, 1 << 20);
    client_make(&c, PORT, 1);
    c.info.overflow = PORT_OVERFLOW_DROP_OLDEST;
    assert_int_equal(engine_port_add(f.engine, &c.info, &c.ref), 0);
    assert_int_equal(engine_start(f.engine), 0);
    const uint64_t backlog = (1 << 17) / 32, ring = RING / 32, n = 5 * (ring + backlog);
    uint64_t received = 0, last = 0, gaps = 0;
    for (uint64_t i = 1; i <= n; i++)
        client_post(&c, echo, number_type, &i, 8);
    assert_true(engine_fixture_until(atomic_load(&seen.n) == n));
    assert_true(engine_fixture_wait(&f, TEST_DEADLINE_NS));
    uint64_t newest = 0, oldest = 0, until = clock_now_ns() + TEST_DEADLINE_NS;
    for (;;) { /* the backlog may hold twice its limit, and be dropped from while this receives */
        newest = engine_fixture_stat(&f, STAT_backlog_dropped);
        oldest = engine_fixture_stat(&f, STAT_backlog_dropped_oldest);
        if (received + newest + oldest >= n)
            break;
        const struct envelope *at = client_next(&c);
        assert_true(at || clock_now_ns() < until);
        if (!at)
            continue;
        uint64_t number = *(const uint64_t *)envelope_payload(at);
        assert_true(number > last);
        gaps += number != last + 1;
        last = number;
        received++;
    }
    assert_null(client_next(&c));
    assert_true(oldest > 0 && gaps > 0);
    assert_int_equal(received + newest + oldest, n);
    assert_int_equal(load_relaxed(&c.executor->dropped), newest + oldest);
    client_post(&c, echo, number_type, &(uint64_t){ n + 1 }, 8);
    client_expect_number(&c, n + 1);
    client_free(&c);
    fixture_end(&f);
}

/* Closed for being slow, not before all that it had posted was taken. */
static void test_disconnect_of_the_slow(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct client c;
    uint32_t why;
    fixture_begin(&f, 2, 1 << 20);
    client_make(&c, PORT, 1);
    c.info.overflow = PORT_OVERFLOW_N;
    assert_int_equal(engine_port_add(f.engine, &c.info, &c.ref), -EINVAL);
    c.info.overflow = PORT_OVERFLOW_DISCONNECT;
    assert_int_equal(engine_port_add(f.engine, &c.info, &c.ref), 0);
    assert_int_equal(engine_start(f.engine), 0);
    uint64_t posted = 0;
    while (load_relaxed(&c.executor->broken) == PORT_OK) {
        uint64_t number = posted + 1;
        if (c.tail - load_acquire(&c.executor->submission_head) + 32 > RING)
            continue; /* it may have been closed with the ring full */
        client_post(&c, echo, number_type, &number, 8);
        posted++;
    }
    expect_removed(&f, PORT, 1, &why);
    assert_int_equal(why, PORT_BROKEN_SLOW);
    /* whoever dropped counts it a little later than the port's runner may hear of it */
    assert_true(engine_fixture_until(engine_fixture_stat(&f, STAT_backlog_dropped) > 0));
    assert_true(atomic_load(&seen.n) * 32 <= load_relaxed(&c.executor->submission_head));
    assert_true(engine_fixture_wait(&f, TEST_DEADLINE_NS));
    /* Its echo's queue may have been at its limit for a while: refused, which nobody received. */
    assert_int_equal((atomic_load(&seen.n) + engine_fixture_stat(&f, STAT_refusals)) * 32,
                     load_relaxed(&c.executor->submission_head));
    client_free(&c);
    fixture_end(&f);
}

/* A client that goes while no executor runs leaves nothing: neither memory that counts, nor a slot.
 * Nor does one whose port was being made when the executor died (`entry`: it had one). */
static void nobody_comes_back(bool entry)
{
    struct engine_fixture f;
    struct engine_recovery report;
    struct client c;
    fixture_begin(&f, 2, 1 << 20);
    client_open(&f, &c, PORT, 1);
    assert_int_equal(engine_start(f.engine), 0);
    uint64_t n = (RING + 65536) / 32;
    for (uint64_t i = 1; i <= n; i++)
        client_post(&c, echo, number_type, &i, 8);
    assert_true(engine_fixture_until(atomic_load(&seen.n) == n));
    assert_true(engine_fixture_until(load_relaxed(&c.executor->backlog)));
    engine_stop(f.engine);
    if (!entry)
        store_relaxed(&f.engine->segment.ports[PORT].generation, 0);
    f.engine = engine_close(f.engine);
    engine_fixture_reopen(&f, &report);
    types_register(&f);
    const struct segment *s = &f.engine->segment;
    const struct segment_queue *backlog = &s->queues[segment_port_destination(s, PORT)];
    assert_false(queue_has_batch(load_relaxed(&backlog->sel)));
    for (unsigned buffer = 0; buffer < 2; buffer++)
        assert_int_equal(load_relaxed(&backlog->len[buffer]), 0);
    assert_int_equal(slot_word_state(load_relaxed(&s->actors[PORT].word)), ACTOR_SLOT_FREE);
    assert_int_equal(load_relaxed(&s->ports[PORT].generation), 0);
    assert_int_equal(engine_start(f.engine), 0);
    assert_true(engine_fixture_wait(&f, TEST_DEADLINE_NS));
    const struct window_history *windows =
        &f.engine->windows[2 * segment_port_destination(s, PORT)];
    assert_int_equal(load_relaxed(&windows[0].charged) + load_relaxed(&windows[1].charged), 0);
    client_free(&c);
    client_open(&f, &c, PORT, 2);
    client_post(&c, echo, number_type, &(uint64_t){ n + 1 }, 8);
    client_expect_number(&c, n + 1);
    client_free(&c);
    fixture_end(&f);
}

static void test_nobody_comes_back(void **state)
{
    (void)state;
    nobody_comes_back(true);
    nobody_comes_back(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        port_test(test_backlog_in_order, under_defaults),
        port_test(test_backlog_in_order, under_visit),
        port_test(test_backlog_in_order, under_share),
        port_test(test_backlog_has_a_bound, under_defaults),
        port_test(test_drop_oldest, under_defaults),
        port_test(test_drop_oldest, under_visit),
        port_test(test_disconnect_of_the_slow, under_defaults),
        port_test(test_nobody_comes_back, under_defaults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
