/* SPDX-License-Identifier: Apache-2.0 */
/* Whose turn it is among a worker's sources (rota.h): one worker, runs of one message, and the
 * order in which actors in queues of their own are run. No clock: who is late says so by its place
 * in the order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/engine/core/rota.h"
#include "tests/unit/engine_fixture.h"

enum { LOADED = 4, LOADS = 12, CALL_AT = 6, QUEUES = 8, STARVING_LOADS = 40 };
enum { CALLED = LOADED, PING, PONG, GATE, N_ACTORS };

static uint16_t message_load, message_call, message_ball, message_gate;
static actor_ref refs[N_ACTORS];
static _Atomic uint32_t order[1024], n_order, loads, balls, gate_open, gate_entered, stop;

static void note(struct engine_context *ctx)
{
    for (uint32_t i = 0; i < N_ACTORS; i++)
        if (refs[i] == ctx->self && atomic_load(&n_order) < 1024)
            atomic_store(&order[atomic_fetch_add(&n_order, 1)], i);
}

/* The payload: whether the called one is called. */
static int on_load(void *self, const void *message, struct engine_context *ctx)
{
    const uint64_t *calls = message;
    (void)self;
    note(ctx);
    if (*calls)
        engine_ctx_send(ctx, refs[CALLED], message_call, 0, NULL, 0);
    atomic_fetch_add(&loads, 1);
    return ALLOCATION_NODELETE;
}

static int on_call(void *self, const void *message, struct engine_context *ctx)
{
    (void)self, (void)message;
    note(ctx);
    return ALLOCATION_NODELETE;
}

/* Back and forth between two queues, each of which is empty behind its run. */
static int on_ball(void *self, const void *message, struct engine_context *ctx)
{
    (void)self, (void)message;
    atomic_fetch_add(&balls, 1);
    if (!atomic_load(&stop))
        engine_ctx_send(ctx, refs[ctx->self == refs[PING] ? PONG : PING], message_ball, 0, NULL, 0);
    return ALLOCATION_NODELETE;
}

/* Holds the only worker until all that the test sends is there. */
static int on_gate(void *self, const void *message, struct engine_context *ctx)
{
    (void)self, (void)message, (void)ctx;
    atomic_store(&gate_entered, 1);
    while (!atomic_load(&gate_open))
        nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
    return ALLOCATION_NODELETE;
}

static uint64_t rate_before;

/* `slow`: a slice takes days, since a worker that gets no processor for one has another row
 * (rota.RO2). */
static void begin(struct engine_fixture *f, bool slow)
{
    struct engine_config config = engine_fixture_config(1, QUEUES);
    config.throughput = 1;
    config.limit_bytes = 1 << 20;
    config.outbox_bytes = 1 << 20;
    engine_fixture_open(f, config);
    rate_before = ticks_rate;
    if (slow)
        ticks_rate = UINT64_C(1) << 40;
    message_load = engine_fixture_message(f, "load", sizeof(uint64_t), false);
    message_call = engine_fixture_message(f, "call", 0, false);
    message_ball = engine_fixture_message(f, "ball", 0, false);
    message_gate = engine_fixture_message(f, "gate", 0, false);
    struct engine_behaviour behaviours[] = {
        { message_load, sizeof(uint64_t), 0, on_load },
        { message_call, 0, 0, on_call },
        { message_ball, 0, 0, on_ball },
        { message_gate, 0, 0, on_gate },
    };
    uint32_t type = engine_fixture_type(f, "player", 8, NULL, NULL, behaviours, 4);
    atomic_store(&n_order, 0);
    atomic_store(&loads, 0);
    atomic_store(&balls, 0);
    atomic_store(&stop, 0);
    atomic_store(&gate_open, 0);
    atomic_store(&gate_entered, 0);
    for (uint32_t i = 0; i < N_ACTORS; i++) {
        assert_int_equal(engine_actor_spawn(f->engine, type, NULL, NULL, 0, &refs[i]), 0);
        struct engine_actor_view actor;
        assert_int_equal(engine_actor_get(f->engine, refs[i], &actor), 0);
        assert_int_equal(actor.queue, i); /* one each */
    }
    assert_int_equal(engine_start(f->engine), 0);
    assert_int_equal(engine_actor_send(f->engine, refs[GATE], message_gate, NULL, 0), 0);
    assert_true(engine_fixture_until(atomic_load(&gate_entered)));
}

static void end(struct engine_fixture *f)
{
    engine_stop(f->engine);
    engine_fixture_close(f);
    ticks_rate = rate_before;
}

static void send_load(struct engine_fixture *f, uint32_t to, uint64_t calls)
{
    assert_int_equal(engine_actor_send(f->engine, refs[to], message_load, &calls, sizeof(calls)),
                     0);
}

/* rota.RO1, rota.RO3: four queues have a lot to do, and are run in turn; the one that becomes ready
 * in the middle is next. */
static void test_fresh_first(void **state)
{
    (void)state;
    struct engine_fixture f;
    begin(&f, true);
    for (uint32_t n = 0; n < LOADS; n++)
        for (uint32_t i = 0; i < LOADED; i++)
            send_load(&f, i, i == 0 && n == CALL_AT);
    atomic_store(&gate_open, 1);
    assert_true(engine_fixture_until(atomic_load(&n_order) == LOADED * LOADS + 1));
    uint32_t last[LOADED] = { 0 }, nth = 0, of_first = 0;
    for (uint32_t i = 0; i < LOADED * LOADS + 1; i++) {
        uint32_t who = atomic_load(&order[i]);
        if (who == CALLED) {
            assert_int_equal(of_first, CALL_AT + 1);
            assert_int_equal(atomic_load(&order[i - 1]), 0);
            continue;
        }
        of_first += who == 0;
        /* each comes again when the three others have been */
        if (last[who])
            assert_int_equal(++nth - last[who], LOADED);
        else
            nth++;
        last[who] = nth;
    }
    end(&f);
}

/* rota.RO2: two queues that are ready all the time, one after the other, and one that is left with
 * work by each of its runs. */
static void test_left_does_not_starve(void **state)
{
    (void)state;
    struct engine_fixture f;
    begin(&f, false);
    for (uint32_t n = 0; n < STARVING_LOADS; n++)
        send_load(&f, 0, 0);
    assert_int_equal(engine_actor_send(f.engine, refs[PING], message_ball, NULL, 0), 0);
    atomic_store(&gate_open, 1);
    assert_true(engine_fixture_until(atomic_load(&loads) == STARVING_LOADS));
    uint32_t played = atomic_load(&balls);
    assert_true(engine_fixture_until(atomic_load(&balls) > played)); /* all the while */
    atomic_store(&stop, 1);
    end(&f);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fresh_first),
        cmocka_unit_test(test_left_does_not_starve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
