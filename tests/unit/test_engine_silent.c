/* SPDX-License-Identifier: Apache-2.0 */
/* What a silent worker does not get to (silent.h), step by step: nobody runs, the test is both
 * workers and the control thread. */
#include "daemon/engine/core/masks.h"
#include "daemon/engine/core/rota.h"
#include "daemon/engine/ports/port_steal.h"
#include "daemon/engine/run/pack.h"
#include "daemon/engine/run/silent.h"
#include "daemon/engine/run/sources.h"
#include "daemon/engine/run/steal.h"
#include "tests/unit/port_fixture.h"

enum { ACTORS = 2 };

static struct engine_fixture f;
static struct worker *silent, *helper;
static actor_ref refs[ACTORS];
static uint32_t queues[ACTORS];
static uint64_t sent;

static uint64_t own(uint32_t source)
{
    return load_relaxed(f.engine->sources[source].own);
}

static void send(uint32_t actor)
{
    uint64_t number = ++sent;
    assert_int_equal(engine_actor_send(f.engine, refs[actor], number_type, &number, 8), 0);
}

/* Its actors begin. */
static void run_by_owner(uint32_t queue)
{
    struct worker *w = f.engine->workers[own_worker(own(queue))];
    if (!ready_clear(w->called.ready, queue))
        return;
    assert_true(owner_take(&f.engine->sources[queue], w->id, w->id));
    sources_run(w, queue, false);
}

static void goes_silent(struct worker *w)
{
    store_relaxed(&w->shown.busy, 1);
    store_relaxed(&w->pace.looked, ticks_now() - ticks_of_ns(UINT64_C(3600) << 30));
}

static void goes_on(struct worker *w)
{
    store_relaxed(&w->shown.busy, 1);
    store_relaxed(&w->pace.looked, ticks_now() + ticks_of_ns(UINT64_C(3600) << 30));
}

/* Two actors in queues of a worker that has been busy since it looked at its clock, an hour ago;
 * and others who are heard. */
static void begin(uint32_t workers)
{
    fixture_begin(&f, workers, 1 << 20);
    sent = 0;
    silent = f.engine->workers[0];
    helper = f.engine->workers[1];
    for (uint32_t n = 0; n < ACTORS;) {
        struct engine_actor_view view;
        refs[n] = engine_fixture_spawn(&f, echo_type, NULL, 0);
        assert_int_equal(engine_actor_get(f.engine, refs[n], &view), 0);
        if (view.queue == n) /* the first ones are the first worker's */
            queues[n++] = view.queue;
    }
    assert_int_equal(own(queues[ACTORS - 1]), own_idle(silent->id));
    for (uint32_t queue = 0; queue < f.engine->segment.n_mailboxes; queue++)
        run_by_owner(queue);
    for (uint32_t id = 0; id < workers; id++)
        goes_on(f.engine->workers[id]);
    goes_silent(silent);
}

static void end(void)
{
    for (uint32_t id = 0; id < f.config.n_workers; id++)
        store_relaxed(&f.engine->workers[id]->shown.busy, 0);
    fixture_end(&f);
}

static void run(int64_t source)
{
    assert_int_equal(own((uint32_t)source), own_running(helper->id));
    sources_run(helper, (uint32_t)source, true);
}

/* silent.SI1, silent.SI2 */
static void test_one_of_its_own_in_between(void **state)
{
    (void)state;
    begin(2);
    send(0);
    send(1);
    assert_int_equal(silent_take(helper), -1); /* nobody has told it */
    silent_look(f.engine);
    assert_int_equal(load_relaxed(&helper->called.silent), silent->id + 1);
    assert_int_equal(load_relaxed(&silent->called.silent), 0); /* that one is heard */
    run(silent_take(helper));
    assert_int_equal(silent_take(helper), -1);
    run(silent_take(helper));
    assert_int_equal(atomic_load(&seen.n), 2);
    assert_int_equal(own(queues[0]), own_idle(helper->id));
    assert_int_equal(own(queues[1]), own_idle(helper->id));
    assert_true(mask_is_empty(silent));
    assert_int_equal(silent_take(helper), -1);
    assert_int_equal(silent_take(helper), -1); /* that one has nothing */
    assert_int_equal(load_relaxed(&helper->called.silent), 0);
    assert_int_equal(engine_fixture_stat(&f, STAT_steals_silent), 2);
    assert_int_equal(engine_fixture_stat(&f, STAT_steals), 2);
    end();
}

/* silent.SI3 */
static void test_what_was_left_stays(void **state)
{
    (void)state;
    begin(2);
    send(0);
    send(1);
    rota_note(silent, queues[0], true, 1);
    silent_look(f.engine);
    run(silent_take(helper));
    assert_int_equal(own(queues[0]), own_idle(silent->id));
    assert_int_equal(own(queues[1]), own_idle(helper->id));
    assert_int_equal(silent_take(helper), -1);
    assert_int_equal(silent_take(helper), -1);
    assert_true(ready_is_set(silent->called.ready, queues[0]));
    assert_int_equal(atomic_load(&seen.n), 1);
    end();
}

/* Its client rings nobody: the port is a polled one. */
static void test_ports(void **state)
{
    (void)state;
    struct client c;
    begin(2);
    client_open(&f, &c, PORT, 1);
    uint32_t source = engine_source_of_port(f.engine, PORT);
    store_relaxed(f.engine->sources[source].own, own_idle(silent->id));
    uint64_t number = 1;
    client_post(&c, refs[0], number_type, &number, 8);
    rota_note(silent, source, true, 1);
    silent_look(f.engine);
    assert_int_equal(silent_take(helper), -1);
    rota_note(silent, source, false, 0);
    silent_look(f.engine);
    assert_int_equal(silent_take(helper), source);
    run(source);
    assert_true(ready_is_set(silent->called.ready, queues[0]));
    assert_int_equal(silent_take(helper), -1);
    run(silent_take(helper));
    client_expect_number(&c, 1);
    client_free(&c);
    end();
}

/* Who looks at its clock, does not help, or has no work, is told nothing, or takes nothing. */
static void test_who_does_not_help(void **state)
{
    (void)state;
    begin(2);
    send(0);
    silent_look(f.engine);
    goes_on(silent);
    assert_int_equal(silent_take(helper), -1); /* it is heard again */
    assert_int_equal(load_relaxed(&helper->called.silent), 0);
    silent_look(f.engine);
    assert_int_equal(load_relaxed(&helper->called.silent), 0);
    goes_silent(silent);
    store_relaxed(&helper->shown.busy, 0);
    silent_look(f.engine); /* it will look around by itself */
    assert_int_equal(load_relaxed(&helper->called.silent), 0);
    store_relaxed(&helper->shown.busy, 1);
    pack_set(f.engine, 1);
    silent_look(f.engine);
    assert_int_equal(silent_take(helper), -1); /* it rests */
    pack_set(f.engine, 2);
    silent_look(f.engine);
    assert_int_not_equal(load_relaxed(&helper->called.silent), 0);
    steal_set(f.engine, STEAL_NONE, STEAL_KEEP, 1);
    assert_int_equal(silent_take(helper), -1);
    silent_look(f.engine);
    assert_int_equal(load_relaxed(&helper->called.silent), 0);
    assert_int_equal(own(queues[0]), own_idle(silent->id));
    end();
}

static uint32_t told(uint32_t id)
{
    return load_relaxed(&f.engine->workers[id]->called.silent);
}

/* Two of three are silent: the third is told of one of them, once, and of the other one nobody but
 * the first, who may come back. When the third is told of nobody, it is of either in turn. */
static void test_who_is_told(void **state)
{
    (void)state;
    begin(3);
    goes_silent(f.engine->workers[1]);
    uint32_t times[3] = { 0 };
    for (int look = 0; look < 64; look++) {
        silent_look(f.engine);
        uint32_t first = told(2) - 1, other = 1 - first;
        assert_in_range(first, 0, 1);
        assert_int_equal(told(first), other + 1);
        assert_int_equal(told(other), 0);
        silent_look(f.engine);
        assert_int_equal(told(2), first + 1);
        assert_int_equal(told(other), 0);
        times[first]++;
        for (uint32_t id = 0; id < 3; id++)
            store_relaxed(&f.engine->workers[id]->called.silent, 0);
    }
    assert_in_range(times[0], 8, 56);
    end();
}

/* Of what a silent worker has one comes behind the other, in mode `visit`, too, where each goes
 * home. */
static void test_each_in_turn(void **state)
{
    (void)state;
    begin(2);
    for (int round = 0; round < 4; round++) {
        send(0);
        send(0);
        send(1);
        send(1);
        silent_look(f.engine);
        int64_t first = silent_take(helper);
        run(first);
        (void)silent_take(helper);
        send(first == queues[0] ? 0 : 1);
        int64_t second = silent_take(helper);
        assert_int_not_equal(second, first);
        run(second);
        (void)silent_take(helper);
        int64_t third = silent_take(helper);
        assert_int_equal(third, first);
        run(third);
        (void)silent_take(helper);
        assert_int_equal(silent_take(helper), -1);
        assert_int_equal(own(queues[0]), own_idle(silent->id));
    }
    assert_int_equal(atomic_load(&seen.n), 4 * 5);
    atomic_store(&seen.wrong, 0); /* the numbers are those of two actors */
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        port_test(test_one_of_its_own_in_between, under_defaults),
        port_test(test_what_was_left_stays, under_defaults),
        port_test(test_ports, under_defaults),
        port_test(test_who_does_not_help, under_defaults),
        port_test(test_who_is_told, under_defaults),
        port_test(test_each_in_turn, under_visit),
    };
    return cmocka_run_group_tests_name("engine: silent workers", tests, NULL, NULL);
}
