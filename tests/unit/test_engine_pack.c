/* SPDX-License-Identifier: Apache-2.0 */
/* Packing, step by step and without threads: which trials are made and what is made of them, on a
 * clock that the test moves; whose queues are lent, and when they go back. */
#include "daemon/engine/core/masks.h"
#include "daemon/engine/run/pack.h"
#include "daemon/engine/run/polled.h"
#include "daemon/engine/run/steal.h"
#include "daemon/engine/signal/wake.h"
#include "engine_fixture.h"

enum { QUEUES = 4, MS = 1000 * 1000 };

/* ---- decisions ---- */

/* A machine: so many messages a millisecond run with that many workers, and so many of a hundred
 * cross when all work. */
struct machine {
    uint32_t per_ms[17];
    uint32_t most, crossing;
    bool idle;
};

struct run {
    struct packing packing;
    struct pack_work now;
    uint32_t workers, trials;
    uint64_t packed_ns; /* with fewer than all */
};

static void run_begin(struct run *run, uint32_t most)
{
    *run = (struct run){ .packing = pack_begin(),
                         .now = { .ns = 1000 * (uint64_t)MS },
                         .workers = most };
}

/* Looks every 1.5 ms. */
static void run_for(struct run *run, const struct machine *machine, uint32_t ms)
{
    for (uint64_t until = run->now.ns + (uint64_t)ms * MS; run->now.ns < until;) {
        uint64_t messages = machine->idle ? 0 : machine->per_ms[run->workers] * 3 / 2;
        run->now.ns += 3 * MS / 2;
        run->now.messages += messages;
        run->now.crossing += run->workers < machine->most ? 0 : messages * machine->crossing / 100;
        run->now.busy = !machine->idle;
        run->packed_ns += run->workers < machine->most ? 3 * MS / 2 : 0;
        uint32_t before = run->workers;
        run->workers = pack_decide(&run->packing, &run->now, run->workers, machine->most);
        assert_true(run->workers >= 1 && run->workers <= machine->most);
        run->trials += run->workers != before && run->packing.phase == PACK_SETTLES;
    }
}

static void test_fewer_are_faster(void **state)
{
    (void)state;
    struct machine machine = { .per_ms = { 0, 16000, 8000 }, .most = 2, .crossing = 40 };
    struct run run;
    run_begin(&run, 2);
    run_for(&run, &machine, 20);
    assert_int_equal(run.workers, 1);
    /* more are tried again, and more and more rarely */
    run_for(&run, &machine, 10000);
    assert_true(run.trials >= 4 && run.trials <= 16);
    assert_true(run.packed_ns >= (uint64_t)9800 * MS);
}

static void test_more_are_faster(void **state)
{
    (void)state;
    struct machine machine = { .per_ms = { 0, 8000, 15000 }, .most = 2, .crossing = 40 };
    struct run run;
    run_begin(&run, 2);
    run_for(&run, &machine, 10000);
    assert_true(run.trials >= 3 && run.trials <= 12);
    assert_true(run.packed_ns <= (uint64_t)100 * MS);
    /* a tenth is not worth it */
    machine.per_ms[1] = 16500;
    run_for(&run, &machine, 10000);
    assert_true(run.packed_ns <= (uint64_t)200 * MS);
}

static void test_not_tried_without_need(void **state)
{
    (void)state;
    struct machine local = { .per_ms = { 0, 16000, 8000 }, .most = 2, .crossing = 0 },
                   slow = { .per_ms = { 0, 200, 100 }, .most = 2, .crossing = 100 },
                   idle = { .per_ms = { 0, 0, 0 }, .most = 2, .idle = true };
    struct run run;
    run_begin(&run, 2);
    run_for(&run, &local, 1000); /* nothing crosses */
    run_for(&run, &slow, 1000);  /* messages take long */
    run_for(&run, &idle, 1000);
    assert_int_equal(run.trials, 0);
    assert_int_equal(run.packed_ns, 0);
}

/* What is worth it changes: it is found out, though trials have become rare. */
static void test_work_that_changes(void **state)
{
    (void)state;
    struct machine packs = { .per_ms = { 0, 16000, 8000 }, .most = 2, .crossing = 40 },
                   spreads = { .per_ms = { 0, 3000, 6000 }, .most = 2, .crossing = 40 },
                   slow = { .per_ms = { 0, 100, 200 }, .most = 2, .crossing = 40 };
    struct run run;
    run_begin(&run, 2);
    run_for(&run, &packs, 10000);
    assert_int_equal(run.workers, 1);
    run_for(&run, &spreads, 75);
    assert_int_equal(run.workers, 2);
    run_for(&run, &packs, 90);
    assert_int_equal(run.workers, 1);
    run_for(&run, &slow, 6); /* pack.PK3: at once */
    assert_int_equal(run.workers, 2);
}

/* Nobody looks while nobody is busy: it begins with all workers. */
static void test_rest_ends_with_idleness(void **state)
{
    (void)state;
    struct machine machine = { .per_ms = { 0, 16000, 8000 }, .most = 2, .crossing = 40 };
    struct run run;
    run_begin(&run, 2);
    run_for(&run, &machine, 60);
    assert_int_equal(run.workers, 1);
    run.now.ns += (uint64_t)1000 * MS;
    assert_int_equal(pack_decide(&run.packing, &run.now, 1, 2), 2);
    run.workers = 2;
    run_for(&run, &machine, 20);
    assert_int_equal(run.workers, 1);
}

static void test_many_workers(void **state)
{
    (void)state;
    struct machine machine = { .most = 16, .crossing = 50 };
    struct run run;
    /* four are best */
    for (uint32_t n = 1; n <= 16; n++)
        machine.per_ms[n] = n <= 4 ? 40000 * n : 640000 / n;
    run_begin(&run, 16);
    run_for(&run, &machine, 200);
    assert_int_equal(run.workers, 4);
    /* all are: one after the other */
    for (uint32_t n = 1; n <= 16; n++)
        machine.per_ms[n] = 20000 * n;
    run_for(&run, &machine, 1000);
    assert_int_equal(run.workers, 16);
    /* a number that cannot be halved */
    machine = (struct machine){ .per_ms = { 0, 9000, 0, 4000 }, .most = 3, .crossing = 50 };
    run_begin(&run, 3);
    run_for(&run, &machine, 100);
    assert_int_equal(run.workers, 1);
    machine.per_ms[1] = 1000;
    machine.per_ms[2] = 4000;
    machine.per_ms[3] = 9000;
    run_for(&run, &machine, 300);
    assert_int_equal(run.workers, 3);
}

/* A clock that stands still, or jumps. */
static void test_clocks(void **state)
{
    (void)state;
    struct packing packing = pack_begin();
    struct pack_work now = { .ns = 5, .busy = true };
    for (uint32_t i = 0; i < 1000; i++) {
        now.messages += 1000;
        now.crossing += 1000;
        assert_int_equal(pack_decide(&packing, &now, 2, 2), 2);
    }
    now.ns = UINT64_MAX / 2;
    assert_int_equal(pack_decide(&packing, &now, 2, 2), 2);
    now.ns = 1;
    assert_int_equal(pack_decide(&packing, &now, 1, 2), 2);
}

/* ---- queues that are lent ---- */

static struct engine_fixture f;
static struct engine *e;

static int engine_begin(void **state)
{
    (void)state;
    struct engine_config config = engine_fixture_config(4, QUEUES);
    config.actors_max = 1024;
    config.limit_bytes = 1 << 20;
    config.outbox_bytes = 1 << 20;
    engine_fixture_open(&f, config);
    e = f.engine;
    steal_set(e, STEAL_RANDOM, STEAL_KEEP, 1);
    return 0;
}

static int engine_end(void **state)
{
    (void)state;
    engine_fixture_close(&f);
    return 0;
}

static uint64_t own_of(uint32_t source)
{
    return load_relaxed(e->sources[source].own);
}

static void run_once(uint32_t worker, uint32_t source)
{
    struct worker *w = e->workers[worker];
    (void)ready_clear(w->called.ready, source);
    assert_true(owner_take(&e->sources[source], worker, worker));
    (void)source_release(w, source, source_goes_to(w, source), false);
}

static void test_who_rests_lends(void **state)
{
    (void)state;
    uint32_t source = 3 * QUEUES;
    source_signal(e, e->workers[0], source);
    assert_int_equal(own_of(source), own_idle(3)); /* nobody rests */
    (void)ready_clear(e->workers[3]->called.ready, source);
    pack_set(e, 2);
    assert_int_equal(pack_active(e), 2);
    assert_int_equal(load_relaxed(&e->workers[2]->stats->value[STAT_resting]), 1);
    source_signal(e, e->workers[2], source); /* who rests takes nothing over */
    assert_int_equal(own_of(source), own_idle(3));
    source_signal(e, e->workers[0], source); /* nor does anybody while something waits there */
    assert_int_equal(own_of(source), own_idle(3));
    (void)ready_clear(e->workers[3]->called.ready, source);
    source_signal(e, e->control, source);
    assert_int_equal(own_of(source), own_idle(3));
    (void)ready_clear(e->workers[3]->called.ready, source);
    source_signal(e, e->workers[0], source);
    assert_int_equal(own_of(source), own_idle(0));
    assert_true(ready_is_set(e->workers[0]->called.ready, source));
    assert_int_equal(load_relaxed(&e->workers[0]->stats->value[STAT_sources_lent]), 1);
    source_signal(e, e->workers[1], source); /* from one that does not rest: no more */
    assert_int_equal(own_of(source), own_idle(0));
}

static uint64_t visits(void)
{
    uint64_t sum = 0;
    for (uint32_t id = 0; id < engine_workers(e); id++)
        sum += load_relaxed(&e->workers[id]->stats->value[STAT_visits]);
    return sum;
}

static void test_what_is_lent_goes_back(void **state)
{
    (void)state;
    uint32_t source = 3 * QUEUES;
    pack_set(e, 2);
    source_signal(e, e->workers[0], source);
    run_once(0, source);
    assert_int_equal(own_of(source), own_idle(0));
    pack_set(e, 3); /* worker 3 still rests */
    run_once(0, source);
    assert_int_equal(own_of(source), own_idle(0));
    pack_set(e, 4);
    assert_int_equal(load_relaxed(&e->workers[3]->stats->value[STAT_resting]), 0);
    run_once(0, source);
    assert_int_equal(own_of(source), own_idle(3));
    run_once(3, source); /* once */
    assert_int_equal(own_of(source), own_idle(3));
    /* a thief keeps it as ever */
    assert_true(owner_take(&e->sources[source], 3, 1));
    (void)source_release(e->workers[1], source, source_goes_to(e->workers[1], source), false);
    assert_int_equal(own_of(source), own_idle(1));
    assert_int_equal(visits(), 0); /* nothing of this was one */
    /* visits go home, but not to who rests */
    steal_set(e, STEAL_RANDOM, STEAL_VISIT, 1);
    run_once(1, source);
    assert_int_equal(own_of(source), own_idle(3));
    assert_int_equal(visits(), 1);
    pack_set(e, 3);
    source_signal(e, e->workers[1], source);
    run_once(1, source);
    assert_int_equal(own_of(source), own_idle(1));
}

static void test_what_is_not_lent(void **state)
{
    (void)state;
    uint32_t fixed = 3 * QUEUES, polled = 3 * QUEUES + 1, running = 3 * QUEUES + 2;
    source_place(e, fixed, 3, SOURCE_FIXED);
    assert_true(owner_take(&e->sources[running], 3, 3));
    e->workers[3]->loop.ran = polled;
    polled_begin(e->workers[3]);
    assert_int_equal(own_of(polled), own_polled(3));
    pack_set(e, 1);
    source_signal(e, e->workers[0], fixed);
    source_signal(e, e->workers[0], polled);
    source_signal(e, e->workers[0], running);
    assert_int_equal(own_of(fixed), own_idle(3));
    assert_int_equal(own_of(polled), own_polled(3));
    assert_int_equal(own_of(running), own_running(3));
    polled_end(e->workers[3]);
    (void)source_release(e->workers[3], running, 3, false);
}

/* So much time goes by, with so many messages a worker, half of which cross. */
static void work_for(uint64_t *now_ns, uint64_t ns, uint64_t messages)
{
    *now_ns += ns;
    for (uint32_t id = 0; id < pack_active(e); id++) {
        _Atomic uint64_t *value = e->workers[id]->stats->value;
        store_relaxed(&value[STAT_messages_processed],
                      load_relaxed(&value[STAT_messages_processed]) + messages);
        store_relaxed(&value[STAT_crossing_messages],
                      load_relaxed(&value[STAT_crossing_messages]) + messages / 2);
    }
    pack_look(e, *now_ns);
}

static uint64_t of_control(enum stat_index stat)
{
    return load_relaxed(&e->control->stats->value[stat]);
}

static void test_looks(void **state)
{
    (void)state;
    uint64_t now_ns = 1000 * (uint64_t)MS;
    pack_look(e, now_ns);
    for (unsigned i = 0; i < 100; i++) /* the setting is off */
        work_for(&now_ns, 3 * MS, 10000);
    assert_int_equal(of_control(STAT_pack_trials), 0);
    e->config.packing = true;
    work_for(&now_ns, 3 * MS, 10000);
    for (unsigned i = 0; i < 10 && pack_active(e) == 4; i++)
        work_for(&now_ns, 3 * MS, 10000);
    assert_int_equal(pack_active(e), 2);
    assert_int_equal(of_control(STAT_pack_trials), 1);
    assert_int_equal(load_relaxed(&e->workers[3]->stats->value[STAT_resting]), 1);
    work_for(&now_ns, MS, 20000);
    work_for(&now_ns, 3 * MS, 60000); /* half of them are three times as fast */
    assert_int_equal(pack_active(e), 2);
    assert_int_equal(of_control(STAT_packs), 1);
    /* it goes on, and is in vain */
    for (unsigned i = 0; i < 10 && pack_active(e) == 2; i++)
        work_for(&now_ns, 3 * MS, 60000);
    assert_int_equal(pack_active(e), 1);
    work_for(&now_ns, MS, 10000);
    work_for(&now_ns, 3 * MS, 30000);
    assert_int_equal(pack_active(e), 2);
    assert_int_equal(of_control(STAT_packs), 1);
    assert_int_equal(of_control(STAT_pack_trials), 2);
    /* switched off, and none for policies under which nobody takes what is another's */
    steal_set(e, STEAL_SHARE, STEAL_KEEP, 1);
    for (unsigned i = 0; i < 100; i++)
        work_for(&now_ns, 3 * MS, 10000);
    assert_int_equal(of_control(STAT_pack_trials), 2);
    assert_int_equal(pack_active(e), 4);
}

/* Whatever changes, nobody rests: the policy, and with it settings and the number of workers. */
static void test_a_new_policy_ends_it(void **state)
{
    (void)state;
    pack_set(e, 1);
    steal_set(e, STEAL_LONGEST_VICTIM, STEAL_KEEP, 1);
    assert_int_equal(pack_active(e), 4);
    for (uint32_t id = 0; id < 4; id++)
        assert_int_equal(load_relaxed(&e->workers[id]->stats->value[STAT_resting]), 0);
}

/* Who rests is not woken to help, and all are when it ends [PACK_WAKE]. */
static void test_wake_ups(void **state)
{
    (void)state;
    uint32_t source = 0;
    pack_set(e, 1);
    for (uint32_t id = 1; id < 4; id++)
        atomic_fetch_or(&e->sleepers[0], UINT64_C(1) << id);
    store_relaxed(&e->workers[0]->shown.busy, 1);
    source_signal(e, e->control, source);
    for (uint32_t id = 1; id < 4; id++)
        assert_true(sleeper_sleeps(e, id));
    pack_set(e, 2);
    for (uint32_t id = 1; id < 4; id++)
        assert_false(sleeper_sleeps(e, id));
    store_relaxed(&e->workers[0]->shown.busy, 0);
}

#define engine_test(test) cmocka_unit_test_setup_teardown(test, engine_begin, engine_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fewer_are_faster),
        cmocka_unit_test(test_more_are_faster),
        cmocka_unit_test(test_not_tried_without_need),
        cmocka_unit_test(test_work_that_changes),
        cmocka_unit_test(test_rest_ends_with_idleness),
        cmocka_unit_test(test_many_workers),
        cmocka_unit_test(test_clocks),
        engine_test(test_who_rests_lends),
        engine_test(test_what_is_lent_goes_back),
        engine_test(test_what_is_not_lent),
        engine_test(test_looks),
        engine_test(test_a_new_policy_ends_it),
        engine_test(test_wake_ups),
    };
    return cmocka_run_group_tests_name("engine_pack", tests, NULL, NULL);
}
