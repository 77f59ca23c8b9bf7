/* SPDX-License-Identifier: Apache-2.0 */
/* How long a turn is among a worker's sources (rota.h), to the message: the clock is this
 * program's, and goes on when a handler says so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/engine/base/ticks.h"
#include "daemon/engine/core/rota.h"
#include "tests/unit/engine_fixture.h"
#include "tests/unit/pretended_clock.h"

enum {
    QUEUES = 9,
    GATE = QUEUES - 1, /* the last one's actor holds the worker until all that is sent is there */
    FLOODED = GATE,
    LOADS = 12,
    LOAD_NS = 2 * 1000 * 1000,
    /* messages of a whole turn, and of a short one */
    WHOLE = PACE_SLICE_NS / LOAD_NS + 1,
    SHORT = ROTA_TURN_NS / LOAD_NS + 1,
    /* short turns from one whole turn of what was left to the next */
    BETWEEN = PACE_SLICE_NS / (SHORT * LOAD_NS) + 1,
};

static uint16_t message_load, message_gate;
static actor_ref refs[QUEUES];
static _Atomic uint64_t order[QUEUES * LOADS], n_order, gate_open, gate_entered;

static int on_load(void *self, const void *message, struct engine_context *ctx)
{
    (void)self, (void)message;
    for (uint32_t i = 0; i < FLOODED; i++)
        if (refs[i] == ctx->self)
            atomic_store(&order[atomic_fetch_add(&n_order, 1)], i);
    atomic_fetch_add(&pretended_ns, LOAD_NS);
    return ALLOCATION_NODELETE;
}

static int on_gate(void *self, const void *message, struct engine_context *ctx)
{
    (void)self, (void)message, (void)ctx;
    atomic_store(&gate_entered, 1);
    (void)is_at_least(&gate_open, 1);
    return ALLOCATION_NODELETE;
}

static void begin(struct engine_fixture *f)
{
    struct engine_config config = engine_fixture_config(1, QUEUES);
    engine_fixture_open(f, config);
    ticks_rate = 0;
    pretended_ns = kernel_ns();
    n_order = gate_open = gate_entered = 0;
    message_load = engine_fixture_message(f, "load", 0, false);
    message_gate = engine_fixture_message(f, "gate", 0, false);
    struct engine_behaviour behaviours[] = { { message_load, 0, 0, on_load },
                                             { message_gate, 0, 0, on_gate } };
    uint32_t type = engine_fixture_type(f, "player", 8, NULL, NULL, behaviours, 2);
    for (uint32_t i = 0; i < QUEUES; i++) {
        assert_int_equal(engine_actor_spawn(f->engine, type, NULL, NULL, 0, &refs[i]), 0);
        struct engine_actor_view actor;
        assert_int_equal(engine_actor_get(f->engine, refs[i], &actor), 0);
        assert_int_equal(actor.queue, i); /* one each */
    }
    /* before there is a worker: who runs a message sooner than its sender has called for it finds
     * its queue ready, and so fresh, once more */
    assert_int_equal(engine_actor_send(f->engine, refs[GATE], message_gate, NULL, 0), 0);
    assert_int_equal(engine_start(f->engine), 0);
    assert_true(is_at_least(&gate_entered, 1));
}

/* `n` messages for each of `actors`, before any of them is run; all have been. */
static void flood(struct engine_fixture *f, uint32_t actors, uint32_t n)
{
    for (uint32_t i = 0; i < actors; i++)
        for (uint32_t load = 0; load < n; load++)
            assert_int_equal(engine_actor_send(f->engine, refs[i], message_load, NULL, 0), 0);
    atomic_store(&gate_open, 1);
    assert_true(is_at_least(&n_order, actors * n));
}

static void end(struct engine_fixture *f)
{
    engine_stop(f->engine);
    engine_fixture_close(f);
    pretended_ns = 0;
}

/* Messages in a row, from the nth on, that are the same actor's. */
static uint32_t turn_at(uint32_t nth)
{
    uint32_t from = nth, n = atomic_load(&n_order);
    while (nth < n && atomic_load(&order[nth]) == atomic_load(&order[from]))
        nth++;
    return nth - from;
}

/* rota.RO4: all floods begin in one moment. Each has its first turn, a short one, before any has a
 * second, but for whole ones of what was left, one behind some first ones (rota.RO2). */
static void test_first_turns_are_short(void **state)
{
    (void)state;
    struct engine_fixture f;
    begin(&f);
    flood(&f, FLOODED, LOADS);
    uint32_t seen = 0, n_seen = 0, at = 0, n_again = 0;
    while (n_seen < FLOODED - 1) { /* the last one has no fresh ones beside it */
        uint32_t bit = 1u << atomic_load(&order[at]), turn = turn_at(at);
        assert_int_equal(turn, seen & bit ? WHOLE : SHORT);
        n_again += (seen & bit) != 0;
        n_seen += !(seen & bit);
        seen |= bit;
        at += turn;
    }
    assert_in_range(n_again, 1, FLOODED / BETWEEN + 1);
    end(&f);
}

/* One that has no fresh ones beside it has whole turns. */
static void test_others_are_whole(void **state)
{
    (void)state;
    struct engine_fixture f;
    begin(&f);
    flood(&f, 2, LOADS);
    assert_int_equal(turn_at(0), SHORT);
    for (uint32_t at = SHORT; at < 2 * LOADS - 2 * WHOLE;) {
        assert_int_equal(turn_at(at), WHOLE);
        at += WHOLE;
    }
    end(&f);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_turns_are_short),
        cmocka_unit_test(test_others_are_whole),
    };
    return cmocka_run_group_tests_name("engine: slices", tests, NULL, NULL);
}
