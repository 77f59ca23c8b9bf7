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
#include "tests/unit/engine_client.h"
#include "tests/unit/pretended_clock.h"

enum {
    QUEUES = 10,
    GATE = QUEUES - 1, /* the last one's actor holds the worker until all that is sent is there */
    QUICK = GATE - 1,  /* ... and this one's takes no time */
    FLOODED = QUICK,
    LOADS = 12,
    LOAD_NS = 2 * 1000 * 1000,
    /* messages of a whole turn, and of a short one */
    WHOLE = PACE_SLICE_NS / LOAD_NS + 1,
    SHORT = ROTA_TURN_NS / LOAD_NS + 1,
    /* short turns from one whole turn of what was left to the next */
    BETWEEN = PACE_SLICE_NS / (SHORT * LOAD_NS) + 1,
    LONG_NS = 20 * 1000 * 1000,
    LIGHT_NS = ROTA_TURN_NS + ROTA_USED_NS,
    PORT_BATCH_RECORDS = 1024, /* as of port.c */
};

/* What a message does: the time that it takes, how much of that without a processor, and how much
 * asleep. */
struct load {
    uint64_t ns, lacked_ns, slept_ns;
};
static const struct load plain = { LOAD_NS, 0, 0 }, lacking = { LOAD_NS, LOAD_NS, 0 },
                         sleeping = { LOAD_NS, 0, LOAD_NS }, lengthy = { LONG_NS, 0, 0 },
                         light = { LIGHT_NS, 0, 0 };

static uint16_t message_load, message_gate, message_quick;
static actor_ref refs[QUEUES];
static _Atomic uint64_t order[2 * QUEUES * LOADS], n_order, gate_open, gate_entered;

static struct client flooding;

static _Atomic uint64_t taken; /* bytes of its ring, when it was last filled */

/* Its ring gets as full as it can be of messages that nobody minds. */
static void client_fill(void)
{
    if (flooding.words)
        atomic_store(&taken, load_acquire(&flooding.executor->submission_head));
    const actor_ref nobody = 0;
    struct envelope header = { .to = refs[QUICK], .type = message_quick, .length = sizeof(nobody) };
    while (flooding.words && client_has_room(&flooding, envelope_record_size(&header)))
        client_post_as(&flooding, header, &nobody);
}

/* The payload: who is to be loaded once more; nobody, where it is 0. */
static int on_quick(void *self, const void *message, struct engine_context *ctx)
{
    const actor_ref *whom = message;
    (void)self;
    if (*whom) {
        atomic_store(&order[atomic_fetch_add(&n_order, 1)], QUICK);
        engine_ctx_send(ctx, *whom, message_load, 0, &plain, sizeof(plain));
    }
    return ALLOCATION_NODELETE;
}

/* Who asks for the next ones one by one: each has another message when it has been answered, by
 * whoever is run next (`asker`), or at once, through QUICK (`echoes`). */
static _Atomic uint64_t asker, echoes, waits;

static void asker_asks(struct engine_context *ctx)
{
    if (ctx->self == refs[0]) {
        atomic_store(&waits, 0);
    } else if (atomic_load(&asker) > 0 && !atomic_load(&waits)) {
        atomic_fetch_sub(&asker, 1);
        atomic_store(&waits, 1);
        engine_ctx_send(ctx, refs[0], message_load, 0, &plain, sizeof(plain));
    }
}

static int on_load(void *self, const void *message, struct engine_context *ctx)
{
    const struct load *load = message;
    (void)self;
    asker_asks(ctx);
    if (atomic_load(&echoes) > 0) {
        atomic_fetch_sub(&echoes, 1);
        engine_ctx_send(ctx, refs[QUICK], message_quick, 0, &ctx->self, sizeof(ctx->self));
    }
    for (uint32_t i = 0; i < FLOODED; i++)
        if (refs[i] == ctx->self)
            atomic_store(&order[atomic_fetch_add(&n_order, 1)], i);
    atomic_fetch_add(&slept_ns, load->slept_ns);
    atomic_fetch_add(&lacked_ns, load->lacked_ns);
    atomic_fetch_add(&pretended_ns, load->ns);
    client_fill();
    return ALLOCATION_NODELETE;
}

static int on_gate(void *self, const void *message, struct engine_context *ctx)
{
    (void)self, (void)message, (void)ctx;
    atomic_store(&gate_entered, 1);
    (void)is_at_least(&gate_open, 1);
    return ALLOCATION_NODELETE;
}

/* `throughput`: messages of a run, 0: as usual. */
static void begin(struct engine_fixture *f, uint32_t throughput)
{
    struct engine_config config = engine_fixture_config(1, QUEUES);
    if (throughput)
        config.throughput = throughput;
    engine_fixture_open(f, config);
    ticks_rate = 0;
    pretended_ns = kernel_ns();
    lacked_ns = slept_ns = n_order = gate_open = gate_entered = asker = echoes = waits = 0;
    message_load = engine_fixture_message(f, "load", sizeof(struct load), false);
    message_gate = engine_fixture_message(f, "gate", 0, false);
    message_quick = engine_fixture_message(f, "quick", sizeof(actor_ref), false);
    struct engine_behaviour behaviours[] = { { message_load, sizeof(struct load), 0, on_load },
                                             { message_gate, 0, 0, on_gate },
                                             { message_quick, sizeof(actor_ref), 0, on_quick } };
    uint32_t type = engine_fixture_type(f, "player", 8, NULL, NULL, behaviours, 3);
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

static void send(struct engine_fixture *f, uint32_t actor, uint32_t n, struct load load)
{
    while (n-- > 0)
        assert_int_equal(
            engine_actor_send(f->engine, refs[actor], message_load, &load, sizeof(load)), 0);
}

/* All that has been sent is run. */
static void let_run(uint32_t n)
{
    atomic_store(&gate_open, 1);
    assert_true(is_at_least(&n_order, n));
}

/* `n` messages for each of `actors`, before any of them is run; all have been. */
static void flood(struct engine_fixture *f, uint32_t actors, uint32_t n)
{
    for (uint32_t i = 0; i < actors; i++)
        send(f, i, n, plain);
    let_run(actors * n);
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
    begin(&f, 0);
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
    begin(&f, 0);
    flood(&f, 2, LOADS);
    assert_int_equal(turn_at(0), SHORT);
    for (uint32_t at = SHORT; at < 2 * LOADS - 2 * WHOLE;) {
        assert_int_equal(turn_at(at), WHOLE);
        at += WHOLE;
    }
    end(&f);
}

/* Turns of others between two of the actor's, at most, from its third one on: by then all have had
 * a first turn. */
static uint32_t most_between(uint32_t actor)
{
    uint32_t n = atomic_load(&n_order), most = 0, between = 0, turns = 0;
    for (uint32_t at = 0; at < n; at += turn_at(at)) {
        if (atomic_load(&order[at]) != actor) {
            between++;
            continue;
        }
        most = ++turns > 3 && between > most ? between : most;
        between = 0;
    }
    return most;
}

/* Four compute, and one has such a load: how many turns of theirs are between two of its. */
static uint32_t between_beside_four(struct load load)
{
    struct engine_fixture f;
    begin(&f, 0);
    for (uint32_t i = 1; i < 5; i++)
        send(&f, i, LOADS, plain);
    send(&f, 0, LOADS, load);
    let_run(5 * LOADS);
    uint32_t most = most_between(0);
    end(&f);
    return most;
}

/* rota.RO5: who lacks a processor whenever it is run, is run as a fresh one is: behind one of the
 * others' turns at most, for their 5 ms (rota.RO2). */
static void test_who_lacks_a_processor_stays_fresh(void **state)
{
    (void)state;
    assert_int_equal(between_beside_four(lacking), 1);
}

/* It is one of five, as one that computes. */
static void test_who_sleeps_goes_round(void **state)
{
    (void)state;
    assert_int_equal(between_beside_four(sleeping), 4);
}

static void test_who_computes_goes_round(void **state)
{
    (void)state;
    assert_int_equal(between_beside_four(plain), 4);
}

/* rota.RO3: all are left with work by each of their runs of one message, three of them by long
 * ones. Who has used little is next more often, and who has used a lot comes nevertheless. */
static void test_who_used_least_is_next(void **state)
{
    (void)state;
    struct engine_fixture f;
    begin(&f, 1);
    for (uint32_t i = 1; i < 4; i++)
        send(&f, i, LOADS, lengthy);
    send(&f, 0, LOADS, light);
    let_run(4 * LOADS);
    /* places in the row until all of its messages have been run; each of the three has so many, and
     * one by which they began, when none had used anything */
    uint32_t row = LOADS * (LIGHT_NS / ROTA_USED_NS), lights = 0, longs = 0;
    for (uint32_t at = 0; lights < LOADS; at++) {
        bool is_light = atomic_load(&order[at]) == 0;
        lights += is_light;
        longs += !is_light;
    }
    assert_in_range(longs, 3 * (row / ROTA_USED_MOST - 1), 3 * (1 + row / ROTA_USED_MOST));
    end(&f);
}

/* rota.RO3: four compute, and a client's ring is full whenever it is looked at. Its port is one of
 * five, though its turns are over in no time. */
static void test_a_flooded_port_goes_round(void **state)
{
    (void)state;
    struct engine_fixture f;
    begin(&f, 0);
    client_open(&f, &flooding, 0, 1);
    client_fill();
    flood(&f, 4, LOADS);
    uint64_t batches =
        atomic_load(&taken) / (PORT_BATCH_RECORDS * envelope_size(sizeof(actor_ref)));
    uint32_t turns = 0;
    for (uint32_t at = 0; at < 4 * LOADS; at += turn_at(at))
        turns++;
    assert_in_range(batches, 2, turns / 4 + 1);
    end(&f);
    client_free(&flooding);
    flooding = (struct client){ 0 };
}

/* rota.RO6: four compute, and one is asked for a turn's time, and asked again when it has been run.
 * Every other turn is its own, and it has no more. */
static void test_one_by_one_beside_floods(void **state)
{
    (void)state;
    struct engine_fixture f;
    begin(&f, 0);
    atomic_store(&asker, LOADS);
    for (uint32_t i = 1; i < 5; i++)
        send(&f, i, 3 * LOADS, plain);
    let_run(12 * LOADS);
    uint32_t own = 0, others = 0;
    for (uint32_t at = 0; at < 4 * LOADS && own < LOADS / 2; at += turn_at(at)) {
        bool is_own = atomic_load(&order[at]) == 0;
        others += !is_own;
        own += is_own && others > 4; /* by then all have had a first turn */
    }
    assert_int_equal(own, LOADS / 2);
    assert_in_range(others, 4 + own, 4 + own + 1);
    for (uint32_t i = 1; i < 5; i++)
        assert_in_range(most_between(i), 3, 3 + 4); /* and they go round */
    end(&f);
}

/* rota.RO1: five have one message of a turn's time each, and get another one by way of a sixth,
 * whose messages take no time. None of those waits for any of the others. */
static void test_who_computes_one_by_one_is_not_fresh(void **state)
{
    (void)state;
    struct engine_fixture f;
    begin(&f, 0);
    atomic_store(&echoes, 5 * LOADS);
    for (uint32_t i = 0; i < 5; i++)
        send(&f, i, 1, plain);
    let_run(5 + 2 * 5 * LOADS);
    /* each has been run once by then, and is known */
    for (uint32_t at = 2 * 5; at < 2 * 5 * LOADS; at += 2) {
        assert_int_not_equal(atomic_load(&order[at]), QUICK);
        assert_int_equal(atomic_load(&order[at + 1]), QUICK);
    }
    end(&f);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_turns_are_short),
        cmocka_unit_test(test_others_are_whole),
        cmocka_unit_test(test_who_lacks_a_processor_stays_fresh),
        cmocka_unit_test(test_who_sleeps_goes_round),
        cmocka_unit_test(test_who_computes_goes_round),
        cmocka_unit_test(test_who_used_least_is_next),
        cmocka_unit_test(test_a_flooded_port_goes_round),
        cmocka_unit_test(test_one_by_one_beside_floods),
        cmocka_unit_test(test_who_computes_one_by_one_is_not_fresh),
    };
    return cmocka_run_group_tests_name("engine: slices", tests, NULL, NULL);
}
