/* SPDX-License-Identifier: Apache-2.0 */
/* Ports with a rate: nothing is taken that was not granted, no grant is overlooked. And what else a
 * port may be opened with: a smaller backlog, no right to stop actors. */
#include "tests/unit/port_fixture.h"

static void client_open_rated(struct engine_fixture *f, struct client *c)
{
    client_make(c, PORT, 1);
    c->info.rated = true;
    assert_int_equal(engine_port_add(f->engine, &c->info, &c->ref), 0);
}

static struct engine_port_rate rate_of(struct engine_fixture *f)
{
    struct engine_port_rate rate;

    assert_int_equal(engine_port_rate(f->engine, PORT, 1, &rate), 0);
    return rate;
}

static void expect_spent(struct engine_fixture *f)
{
    struct engine_event event;

    assert_true(engine_fixture_until(client_event_next(f->engine, &event)));
    assert_int_equal(event.kind, ENGINE_EVENT_PORT_SPENT);
    assert_int_equal(event.id, PORT);
    assert_int_equal(event.generation, 1);
}

static void post_numbers(struct client *c, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i <= to; i++)
        client_post(c, echo, number_type, &i, 8);
}

static void test_no_more_than_granted(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct client c;
    struct engine_event event;
    fixture_begin(&f, 2, 1 << 20);
    client_open_rated(&f, &c);
    assert_int_equal(engine_start(f.engine), 0);
    post_numbers(&c, 1, 100);
    expect_spent(&f);
    assert_int_equal(atomic_load(&seen.n), 0);
    uint64_t granted = 0;
    for (uint64_t n = 1; granted + n < 100; n++) {
        assert_int_equal(engine_port_grant(f.engine, PORT, 1, n), 0);
        granted += n;
        assert_true(engine_fixture_until(atomic_load(&seen.n) == granted));
        expect_spent(&f);
        assert_int_equal(rate_of(&f).taken, granted);
        assert_int_equal(rate_of(&f).left, 0);
    }
    assert_true(rate_of(&f).spent);
    assert_false(client_event_next(f.engine, &event)); /* it is said once */
    /* more than there is: the rest is for later */
    assert_int_equal(engine_port_grant(f.engine, PORT, 1, 1000), 0);
    assert_true(engine_fixture_until(atomic_load(&seen.n) == 100));
    /* a record is counted behind its visit, of which its handler does not wait for the end */
    assert_true(engine_fixture_until(rate_of(&f).left == 1000 - (100 - granted)));
    assert_int_equal(engine_port_grant(f.engine, PORT, 2, 1), -ENOENT);
    assert_int_equal(engine_port_grant(f.engine, ODEON_PORTS_MAX, 1, 1), -ENOENT);
    for (uint64_t i = 1; i <= 100; i++)
        client_expect_number(&c, i);
    client_free(&c);
    fixture_end(&f);
}

/* The grant comes at any moment of the runner's finding that it has none [SPENT_RECHECK]. */
static void test_no_grant_is_overlooked(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct client c;
    struct engine_event event;
    fixture_begin(&f, 2, 1 << 20);
    client_open_rated(&f, &c);
    assert_int_equal(engine_start(f.engine), 0);
    for (uint64_t i = 1; i <= 20000; i++) {
        client_post(&c, echo, number_type, &i, 8);
        for (volatile uint64_t wait = i % 997; wait > 0; wait--)
            ;
        assert_int_equal(engine_port_grant(f.engine, PORT, 1, 1), 0);
        assert_true(engine_fixture_until(atomic_load(&seen.n) == i));
        client_expect_number(&c, i);
        while (client_event_next(f.engine, &event))
            assert_int_equal(event.kind, ENGINE_EVENT_PORT_SPENT);
    }
    client_free(&c);
    fixture_end(&f);
}

static void test_on_and_off(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct client c;
    fixture_begin(&f, 2, 1 << 20);
    client_open_rated(&f, &c);
    assert_int_equal(engine_start(f.engine), 0);
    uint64_t last = 0;
    for (unsigned round = 0; round < 50; round++) {
        post_numbers(&c, last + 1, last + 10);
        expect_spent(&f);
        assert_int_equal(engine_port_set_rated(f.engine, PORT, 1, false), 0);
        assert_true(engine_fixture_until(atomic_load(&seen.n) == last + 10));
        post_numbers(&c, last + 11, last + 20);
        assert_true(engine_fixture_until(atomic_load(&seen.n) == last + 20));
        assert_int_equal(engine_port_set_rated(f.engine, PORT, 1, true), 0);
        assert_int_equal(rate_of(&f).left, 0);
        for (unsigned i = 0; i < 20; i++)
            client_expect_number(&c, ++last);
    }
    client_free(&c);
    fixture_end(&f);
}

/* What its client published before it went is taken as its grants come, and only then is it
 * closed. */
static void test_closing_waits_for_grants(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct client c;
    uint32_t why;
    fixture_begin(&f, 2, 1 << 20);
    client_open_rated(&f, &c);
    assert_int_equal(engine_start(f.engine), 0);
    post_numbers(&c, 1, 10);
    expect_spent(&f);
    assert_int_equal(engine_port_remove(f.engine, PORT, 1), 0);
    for (uint64_t i = 1; i < 10; i++) {
        assert_int_equal(engine_port_grant(f.engine, PORT, 1, 1), 0);
        assert_true(engine_fixture_until(atomic_load(&seen.n) == i));
        expect_spent(&f);
    }
    assert_int_equal(engine_port_grant(f.engine, PORT, 1, 1), 0);
    expect_removed(&f, PORT, 1, &why);
    assert_int_equal(why, 0);
    assert_int_equal(atomic_load(&seen.n), 10);
    client_free(&c);
    fixture_end(&f);
}

/* Its own limit holds, not the configuration's, which is the most it can have. */
static void test_backlog_of_its_own(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct client c;
    const uint64_t backlog = 8192, n = (RING + backlog) / 32 + 500;
    fixture_begin(&f, 2, 1 << 20);
    client_make(&c, PORT, 1);
    c.info.backlog_bytes = backlog;
    assert_int_equal(engine_port_add(f.engine, &c.info, &c.ref), 0);
    assert_int_equal(engine_start(f.engine), 0);
    post_numbers(&c, 1, n);
    assert_true(engine_fixture_until(atomic_load(&seen.n) == n));
    assert_true(engine_fixture_wait(&f, TEST_DEADLINE_NS));
    /* the limit is of the buffer that is written; the one that is being drained may be full, too */
    uint64_t dropped = engine_fixture_stat(&f, STAT_backlog_dropped);
    assert_in_range(dropped, 499 - backlog / 32, n - backlog / 32);
    assert_true(dropped + engine_fixture_stat(&f, STAT_port_backlogged) >= n - RING / 32);
    client_free(&c);
    fixture_end(&f);
}

static void test_who_may_not_stop(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct client c;
    fixture_begin(&f, 2, 1 << 20);
    client_make(&c, PORT, 1);
    c.info.may_not_stop = true;
    assert_int_equal(engine_port_add(f.engine, &c.info, &c.ref), 0);
    assert_int_equal(engine_start(f.engine), 0);
    for (uint16_t type = MESSAGE_TYPE_POISON_DELETE; type <= MESSAGE_TYPE_POISON_FINISHED; type++) {
        client_post(&c, echo, type, NULL, 0);
        client_expect_refusal(&c, echo, type, REASON_NOT_ACCEPTED);
    }
    post_numbers(&c, 1, 1);
    client_expect_number(&c, 1);
    client_free(&c);
    fixture_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        port_test(test_no_more_than_granted, under_defaults),
        port_test(test_no_more_than_granted, under_visit),
        port_test(test_no_more_than_granted, under_share),
        port_test(test_no_grant_is_overlooked, under_defaults),
        port_test(test_no_grant_is_overlooked, under_visit),
        port_test(test_on_and_off, under_defaults),
        port_test(test_closing_waits_for_grants, under_defaults),
        port_test(test_backlog_of_its_own, under_defaults),
        port_test(test_who_may_not_stop, under_defaults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
