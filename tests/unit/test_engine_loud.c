/* SPDX-License-Identifier: Apache-2.0 */
/* Ports whose doorbell rings without end: they are told, nobody hears them while they are muted,
 * and nothing that they have posted meanwhile is overlooked. */
#include "daemon/engine/base/ticks.h"
#include "daemon/engine/signal/loud.h"
#include "tests/unit/port_fixture.h"

static uint64_t rate_before;

/* All bells are in one window (loud.D1), which takes days: how many a worker hears in 20 ms is a
 * matter of how often it gets a processor. */
static void loud_begin(struct engine_fixture *f)
{
    fixture_begin(f, 2, 1 << 20);
    rate_before = ticks_rate;
    ticks_rate = UINT64_C(1) << 38;
}

static void loud_end(struct engine_fixture *f)
{
    fixture_end(f);
    ticks_rate = rate_before;
}

static bool ring_and_look(struct engine_fixture *f, struct client *c,
                          struct engine_event *ret_event)
{
    bool found = false;
    for (int i = 0; i < LOUD_IDLE_MOST && !found; i++) {
        client_ring(c);
        sched_yield();
        found = engine_event_next(f->engine, ret_event);
    }
    return found;
}

static void ring_until_loud(struct engine_fixture *f, struct client *c)
{
    struct engine_event event;

    assert_true(engine_fixture_until(ring_and_look(f, c, &event)));
    assert_int_equal(event.kind, ENGINE_EVENT_PORT_LOUD);
    assert_int_equal(event.id, PORT);
    assert_int_equal(event.generation, 1);
}

/* A record whose client does not ring. */
static void post_silently(struct client *c, uint64_t n)
{
    struct envelope *at = client_place(c);

    *at = (struct envelope){ .to = echo, .type = number_type, .length = sizeof(n) };
    memcpy(envelope_payload_behind(at, 0), &n, sizeof(n));
    c->tail += envelope_record_size(at);
    store_release(&c->words->submission_tail, c->tail);
}

static void test_bells_for_nothing(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct client c;
    struct engine_event event;
    loud_begin(&f);
    client_open(&f, &c, PORT, 1);
    assert_int_equal(engine_start(f.engine), 0);
    for (uint64_t n = 1; n <= 20; n++) {
        ring_until_loud(&f, &c);
        assert_int_equal(engine_port_mute(f.engine, PORT, 1), 0);
        for (int i = 0; i < 1000; i++)
            client_ring(&c);
        assert_false(engine_event_next(f.engine, &event)); /* it is said once */
        post_silently(&c, n);
        assert_int_equal(engine_port_listen(f.engine, PORT, 1), 0);
        assert_true(engine_fixture_until(atomic_load(&seen.n) == n));
        client_expect_number(&c, n);
    }
    assert_int_equal(engine_port_mute(f.engine, PORT, 2), -ENOENT);
    assert_int_equal(engine_port_listen(f.engine, PORT, 2), -ENOENT);
    assert_int_equal(engine_port_mute(f.engine, ODEON_PORTS_MAX, 1), -ENOENT);
    assert_int_equal(engine_port_listen(f.engine, ODEON_PORTS_MAX, 1), -ENOENT);
    client_free(&c);
    loud_end(&f);
}

/* It is not heard for a while, and then as before. */
static void expect_loud(struct engine_fixture *f, struct client *c)
{
    ring_until_loud(f, c);
    assert_int_equal(engine_port_mute(f->engine, PORT, 1), 0);
    assert_int_equal(engine_port_listen(f->engine, PORT, 1), 0);
}

/* As the library does, for what it has just received. */
static void ring_for_room(struct client *c)
{
    store_release(&c->words->delivery_head, c->head);
    full_barrier(); /* port_layout.P4 */
    if (load_relaxed(&c->executor->backlog))
        client_ring(c);
}

/* More waits for its client than its ring holds: to look again whether it has read something is
 * nothing to do. */
static void test_bells_of_who_does_not_receive(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct client c;
    struct engine_event event;
    loud_begin(&f);
    client_open(&f, &c, PORT, 1);
    assert_int_equal(engine_start(f.engine), 0);
    const uint64_t n = 2 * RING / 32;
    for (uint64_t i = 1; i <= n; i++)
        client_post(&c, echo, number_type, &i, 8);
    assert_true(engine_fixture_until(atomic_load(&seen.n) == n));
    assert_true(engine_fixture_until(load_relaxed(&c.executor->backlog)));
    assert_false(engine_event_next(f.engine, &event));
    expect_loud(&f, &c);
    for (uint64_t i = 1; i <= n; i++) {
        assert_true(engine_fixture_until(load_acquire(&c.executor->delivery_tail) != c.head));
        client_expect_number(&c, i);
        ring_for_room(&c);
    }
    store_release(&c.words->delivery_head, c.head + 4096); /* what it cannot have */
    ring_until_loud(&f, &c);
    store_release(&c.words->delivery_head, c.head);
    client_free(&c);
    loud_end(&f);
}

/* Workers that are awake hear a bell all of them: one finds what it was rung for, the others find
 * nothing. */
static void test_a_bell_that_all_hear(void **state)
{
    struct engine_event event;

    (void)state;
    for (uint32_t workers = 1; workers <= 64; workers *= 4) {
        struct engine_fixture f;
        struct client c;
        struct loud_look look = { 0 };

        fixture_begin(&f, workers, 1 << 20);
        client_open(&f, &c, PORT, 1);
        for (uint64_t n = 1; n <= 10 * LOUD_IDLE_MOST; n++) {
            look.tail = n * 32;
            for (uint32_t id = 0; id < workers; id++)
                loud_note_run(f.engine->workers[id], PORT, &look);
        }
        assert_false(engine_event_next(f.engine, &event));
        client_free(&c);
        fixture_end(&f);
    }
}

/* Two workers that run, and a port of another kind than client_open() makes. */
static void begin_with_port(struct engine_fixture *f, struct client *c, bool rated,
                            enum port_overflow overflow)
{
    loud_begin(f);
    client_make(c, PORT, 1);
    c->info.rated = rated;
    c->info.overflow = overflow;
    assert_int_equal(engine_port_add(f->engine, &c->info, &c->ref), 0);
    assert_int_equal(engine_start(f->engine), 0);
}

/* Until the port has been run for it. */
static void ring_and_wait(struct engine_fixture *f, struct client *c)
{
    struct port *port = &f->engine->ports.table[PORT];
    store_relaxed(&port->bell.rang, 1);
    client_ring(c);
    assert_true(engine_fixture_until(load_relaxed(&port->bell.rang) == 0));
}

/* Nor is a record that its user's quota has wait. */
static void test_bells_of_who_has_posted_enough(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct client c;
    struct engine_event event;
    begin_with_port(&f, &c, true, PORT_OVERFLOW_DROP_NEWEST);
    for (uint64_t n = 1; n <= 2 * LOUD_IDLE_MOST; n++) { /* each is something new */
        post_silently(&c, n);
        ring_and_wait(&f, &c);
    }
    assert_true(engine_event_next(f.engine, &event));
    assert_int_equal(event.kind, ENGINE_EVENT_PORT_SPENT);
    assert_false(engine_event_next(f.engine, &event));
    expect_loud(&f, &c);
    store_release(&c.words->submission_tail, c.tail - 32); /* a tail that it takes back is none */
    ring_until_loud(&f, &c);
    store_release(&c.words->submission_tail, c.tail);
    assert_int_equal(engine_port_grant(f.engine, PORT, 1, UINT32_MAX), 0);
    assert_true(engine_fixture_until(atomic_load(&seen.n) == 2 * LOUD_IDLE_MOST));
    client_free(&c);
    loud_end(&f);
}

/* A port is run for what is delivered to it, too, as often as something is: its client has rung for
 * nothing but its records. */
static void test_deliveries_are_no_bells(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct client c;
    struct engine_event event;
    begin_with_port(&f, &c, false, PORT_OVERFLOW_DROP_OLDEST);
    const uint64_t n = 5 * (RING + (1 << 17)) / 32;
    for (uint64_t i = 1; i <= n; i++)
        client_post(&c, echo, number_type, &i, 8);
    assert_true(engine_fixture_until(atomic_load(&seen.n) == n));
    assert_false(engine_event_next(f.engine, &event));
    client_free(&c);
    loud_end(&f);
}

/* As the library rings: for a record, when nobody looks. */
static void test_bells_for_records(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct client c;
    struct engine_event event;
    fixture_begin(&f, 2, 1 << 20);
    client_open(&f, &c, PORT, 1);
    assert_int_equal(engine_start(f.engine), 0);
    for (uint64_t n = 1; n < 100 * LOUD_IDLE_MOST; n++) {
        post_silently(&c, n);
        atomic_thread_fence(memory_order_seq_cst); /* port_layout.P4 */
        if (load_relaxed(&c.executor->need_wakeup))
            client_ring(&c);
        assert_true(engine_fixture_until(atomic_load(&seen.n) == n));
        client_expect_number(&c, n);
    }
    assert_false(engine_event_next(f.engine, &event));
    client_free(&c);
    fixture_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        port_test(test_bells_for_nothing, under_defaults),
        port_test(test_bells_for_nothing, under_visit),
        port_test(test_bells_for_nothing, under_share),
        port_test(test_bells_for_records, under_defaults),
        port_test(test_bells_of_who_does_not_receive, under_defaults),
        port_test(test_bells_of_who_does_not_receive, under_visit),
        port_test(test_a_bell_that_all_hear, under_defaults),
        port_test(test_bells_of_who_has_posted_enough, under_defaults),
        port_test(test_bells_of_who_has_posted_enough, under_visit),
        port_test(test_deliveries_are_no_bells, under_defaults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
