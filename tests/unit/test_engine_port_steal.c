/* SPDX-License-Identifier: Apache-2.0 */
/* Ports of a worker that does not get to them: a rescue serves each of them once, and so comes to
 * an end whatever their clients do. Nobody runs: the test is the rescuer. */
#include "daemon/engine/ports/port_steal.h"
#include "tests/unit/port_fixture.h"

/* More than one visit takes, and they are in the ring at once. */
enum { VISIT = 1024, RECORDS = 1500, RECORD_BYTES = 32 };
static_assert(RECORDS * RECORD_BYTES <= RING && RECORDS > VISIT && RECORDS < 2 * VISIT, "");

static struct engine_fixture f;
static struct client c;
static uint32_t owner, rescuer;

static uint64_t taken(void)
{
    return load_relaxed(&f.engine->segment.ports[PORT].pcur) / RECORD_BYTES;
}

static uint64_t own(void)
{
    return load_relaxed(f.engine->sources[engine_source_of_port(f.engine, PORT)].own);
}

static void begin(void)
{
    fixture_begin(&f, 2, 1 << 20);
    client_open(&f, &c, PORT, 1);
    owner = own_worker(own());
    rescuer = 1 - owner;
    for (uint64_t i = 1; i <= RECORDS; i++)
        client_post(&c, echo, number_type, &i, 8);
}

static void end(void)
{
    client_free(&c);
    fixture_end(&f);
}

static void owner_is_stuck(void)
{
    struct worker *w = f.engine->workers[owner];

    store_relaxed(&w->shown.busy, 1);
    store_relaxed(&w->shown.count_seen, segment_count(w->durable));
}

static void rescue(void)
{
    port_rescue(f.engine->workers[rescuer]);
    assert_int_equal(load_relaxed(&f.engine->workers[rescuer]->shown.busy), 0);
}

static uint64_t sum_of(enum stat_index first, enum stat_index last)
{
    uint64_t sum = 0;

    for (unsigned i = first; i <= last; i++)
        sum += engine_fixture_stat(&f, (enum stat_index)i);
    return sum;
}

static void test_each_once(void **state)
{
    (void)state;
    begin();
    owner_is_stuck();
    rescue();
    assert_int_equal(taken(), VISIT);
    assert_int_equal(own(), own_idle(owner)); /* it has gone home */
    rescue();
    assert_int_equal(taken(), RECORDS);
    assert_int_equal(engine_fixture_stat(&f, STAT_steals), 2);
    rescue();
    assert_int_equal(engine_fixture_stat(&f, STAT_steals), 2);
    /* they are in what steals and attempts are made of, too */
    assert_int_equal(engine_fixture_stat(&f, STAT_steal_attempts), 2);
    assert_int_equal(sum_of(STAT_steals_core, STAT_steals_machine), 2);
    assert_int_equal(sum_of(STAT_steal_attempts_core, STAT_steal_attempts_machine), 2);
    store_relaxed(&f.engine->workers[owner]->shown.busy, 0);
    end();
}

static void test_the_rescuer_keeps_it(void **state)
{
    (void)state;
    begin();
    owner_is_stuck();
    rescue();
    assert_int_equal(taken(), VISIT);
    assert_int_equal(own(), own_idle(rescuer));
    assert_true(ready_is_set(f.engine->workers[rescuer]->called.ready,
                             engine_source_of_port(f.engine, PORT)));
    store_relaxed(&f.engine->workers[owner]->shown.busy, 0);
    end();
}

/* Who does something is left alone. */
static void test_only_who_is_stuck(void **state)
{
    (void)state;
    begin();
    rescue();
    assert_int_equal(taken(), 0); /* not busy */
    owner_is_stuck();
    store_relaxed(&f.engine->workers[owner]->shown.count_seen,
                  segment_count(f.engine->workers[owner]->durable) + 1);
    rescue();
    assert_int_equal(taken(), 0); /* it has come to a commit since */
    rescue();
    assert_int_equal(taken(), VISIT);
    store_relaxed(&f.engine->workers[owner]->shown.busy, 0);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        port_test(test_each_once, under_visit),
        port_test(test_the_rescuer_keeps_it, under_defaults),
        port_test(test_only_who_is_stuck, under_visit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
