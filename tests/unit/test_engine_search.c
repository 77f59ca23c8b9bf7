/* SPDX-License-Identifier: Apache-2.0 */
/* What a search reads, step by step and without threads: summaries of masks, ports in turn. */
#include "daemon/engine/core/masks.h"
#include "daemon/engine/run/steal.h"
#include "daemon/engine/run/steal_policy.h"
#include "daemon/engine/signal/wake.h"
#include "engine_fixture.h"

enum { WORKERS = 64, QUEUES = 4 };

static struct engine_fixture f;
static struct engine *e;

static int machine_begin(void **state)
{
    (void)state;
    struct engine_config config = engine_fixture_config(WORKERS, QUEUES);
    config.actors_max = 1024;
    config.limit_bytes = 1 << 20;
    config.outbox_bytes = 1 << 20;
    engine_fixture_open(&f, config);
    e = f.engine;
    return 0;
}

static int machine_end(void **state)
{
    (void)state;
    engine_fixture_close(&f);
    return 0;
}

static uint64_t stat_of(uint32_t worker, enum stat_index stat)
{
    return load_relaxed(&e->workers[worker]->stats->value[stat]);
}

/* masks.S1, masks.S2. */
static void test_a_summary_says_where_to_look(void **state)
{
    (void)state;
    struct worker *w = e->workers[40];
    uint32_t source = 40 * QUEUES, victim;
    steal_set(e, STEAL_LONGEST_VICTIM, STEAL_KEEP, 1);
    store_relaxed(&w->shown.busy, 1);
    mask_summary_renew(w); /* nothing is left of the start */
    assert_int_equal(load_relaxed(&w->called.summary), 0);
    ready_set(w->called.ready, source); /* a setter between its two steps */
    assert_int_equal(steal_try(e->workers[0]), -1);
    assert_int_equal(stat_of(0, STAT_steal_attempts), 0);
    assert_false(mask_find_stealable(e->workers[0], &victim));
    assert_false(mask_is_empty(w)); /* its own look does not need it */
    assert_true(mask_has_for_others(w, NO_QUEUE));
    assert_false(
        mask_set(w, source)); /* another setter finds the bit set, and ends what it began */
    assert_int_equal(load_relaxed(&w->called.summary), mask_line_bit(source));
    mask_summary_renew(w);
    assert_int_equal(load_relaxed(&w->called.summary), mask_line_bit(source));
    assert_true(mask_find_stealable(e->workers[0], &victim));
    assert_int_equal(steal_try(e->workers[0]), source);
    /* a run clears a bit, and leaves the summary alone until there is nothing to do */
    assert_int_equal(load_relaxed(&w->called.summary), mask_line_bit(source));
    mask_summary_renew(w);
    assert_int_equal(load_relaxed(&w->called.summary), 0);
    /* sources of one line, and of another */
    assert_int_equal(mask_line_bit(MASK_LINE - 1), 1);
    assert_int_equal(mask_line_bit(MASK_LINE), 2);
    assert_int_equal(mask_line_bit(64 * MASK_LINE), 1);
    assert_true(mask_summary_has(2, MASK_LINE / 64) && !mask_summary_has(2, MASK_LINE / 64 - 1));
}

enum { SILENT = 64 };

/* Open ports of a busy worker's that have nothing. */
static void open_silent_ports(uint32_t owner)
{
    static struct port_executor executor_words;
    static struct port_client client_words;
    for (uint32_t id = 0; id < SILENT; id++) {
        struct port *port = &e->ports.table[id];
        port->executor_words = &executor_words;
        port->client_words = &client_words;
        store_relaxed(&port->state, PORT_OPEN);
        source_place(e, engine_source_of_port(e, id), owner, 0);
    }
    store_relaxed(&e->ports.open[0], ~UINT64_C(0));
    store_relaxed(&e->workers[owner]->shown.busy, 1);
}

static void close_silent_ports(void)
{
    store_relaxed(&e->ports.open[0], 0);
    for (uint32_t id = 0; id < SILENT; id++) {
        struct port *port = &e->ports.table[id];
        store_relaxed(&port->state, PORT_FREE);
        store_relaxed(&port->closing, 0);
        port->executor_words = NULL;
        port->client_words = NULL;
    }
}

/* steal.T5 */
static void test_a_search_looks_at_few_ports_in_turn(void **state)
{
    (void)state;
    struct worker *thief = e->workers[0];
    steal_set(e, STEAL_LONGEST_VICTIM, STEAL_KEEP, 1);
    open_silent_ports(9);
    e->config.spin_ns = 1000;
    uint32_t few = 0;
    for (uint32_t at = 0, n = 0; n < SILENT && at < SILENT; n++) {
        assert_int_equal(steal_try(thief), -1);
        assert_true(thief->search.port_next > at || thief->search.port_next <= few);
        few = few ? few : thief->search.port_next;
        at = thief->search.port_next;
    }
    assert_true(few > 0 && few <= 8);
    assert_int_equal(stat_of(0, STAT_steal_attempts), 0);
    /* what comes is found before the ports have been round */
    uint32_t source = engine_source_of_port(e, 30);
    store_relaxed(&e->ports.table[30].closing, 1);
    int64_t taken = -1;
    for (uint32_t n = 0; n <= SILENT / few && taken < 0; n++)
        taken = steal_try(thief);
    assert_int_equal(taken, source);
    assert_int_equal(stat_of(0, STAT_steals), 1);
    assert_int_equal(load_relaxed(e->sources[source].own), own_running(0));
    /* the last search before a sleep looks at all of them */
    store_relaxed(&e->ports.table[29].closing, 1);
    thief->loop.sleeps = 1;
    assert_int_equal(steal_try(thief), engine_source_of_port(e, 29));
    /* an owner who is not busy looks himself */
    store_relaxed(&e->ports.table[28].closing, 1);
    store_relaxed(&e->workers[9]->shown.busy, 0);
    assert_int_equal(steal_try(thief), -1);
    close_silent_ports();
}

#define search_test(name) cmocka_unit_test_setup_teardown(name, machine_begin, machine_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        search_test(test_a_summary_says_where_to_look),
        search_test(test_a_search_looks_at_few_ports_in_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
