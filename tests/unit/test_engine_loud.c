/* SPDX-License-Identifier: Apache-2.0 */
/* Ports whose doorbell rings without end: they are told, nobody hears them while they are muted,
 * and nothing that they have posted meanwhile is overlooked. */
#include "daemon/engine/signal/loud.h"
#include "tests/unit/port_fixture.h"

static bool ring_and_look(struct engine_fixture *f, struct client *c,
                          struct engine_event *ret_event)
{
    client_ring(c);
    return engine_event_next(f->engine, ret_event);
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
    fixture_begin(&f, 2, 1 << 20);
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
    fixture_end(&f);
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
