/* SPDX-License-Identifier: Apache-2.0 */
/* Victim policies and what a steal takes, step by step and without threads: 64 workers on 8 nodes,
 * given as data, of which the test plays one after the other. */
#include "daemon/engine/core/masks.h"
#include "daemon/engine/core/near.h"
#include "daemon/engine/run/polled.h"
#include "daemon/engine/run/steal.h"
#include "daemon/engine/run/steal_policy.h"
#include "daemon/engine/signal/wake.h"
#include "engine_fixture.h"

enum { NODES = 8, PER_NODE = 8, WORKERS = NODES * PER_NODE, QUEUES = 4 };

static struct engine_fixture f;
static struct engine *e;

/* Two workers a core, two cores a second-level cache, a node a third-level cache. */
static uint8_t distances[WORKERS * WORKERS];
static int nodes[WORKERS];

static enum engine_distance distance_of(unsigned a, unsigned b)
{
    return a == b                         ? DISTANCE_SELF
           : a / 2 == b / 2               ? DISTANCE_CORE
           : a / 4 == b / 4               ? DISTANCE_L2
           : a / PER_NODE == b / PER_NODE ? DISTANCE_L3
                                          : DISTANCE_MACHINE;
}

static struct engine_config config_of(uint32_t workers)
{
    struct engine_config config = engine_fixture_config(workers, QUEUES);
    config.actors_max = 1024;
    config.limit_bytes = 1 << 20;
    config.outbox_bytes = 1 << 20;
    return config;
}

static int machine_begin(void **state)
{
    (void)state;
    struct engine_config config = config_of(WORKERS);
    for (unsigned a = 0; a < WORKERS; a++) {
        nodes[a] = (int)(a / PER_NODE) * 3; /* numbers need not be dense */
        for (unsigned b = 0; b < WORKERS; b++)
            distances[a * WORKERS + b] = (uint8_t)distance_of(a, b);
    }
    config.nodes = nodes;
    config.distances = distances;
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

/* The ready bit and, for mask_find_stealable and ports, a busy owner. */
static uint32_t make_ready(uint32_t worker, uint32_t nth)
{
    uint32_t source = worker * QUEUES + nth;
    assert_int_equal(own_worker(load_relaxed(e->sources[source].own)), worker);
    mask_set(e->workers[worker], source);
    store_relaxed(&e->workers[worker]->shown.busy, 1);
    return source;
}

static unsigned bits_of(uint32_t worker)
{
    unsigned n = 0;
    for (uint32_t source = 0; source < e->n_sources; source++)
        n += ready_is_set(e->workers[worker]->called.ready, source);
    return n;
}

/* Of the ordinary queues. */
static unsigned owned_by(uint32_t worker)
{
    unsigned n = 0;
    for (uint32_t source = 0; source < e->segment.pinned_first; source++)
        n += load_relaxed(e->sources[source].own) == own_idle(worker);
    return n;
}

/* The whole round of a policy; asserts steal_policy.V1. */
static void round_of(enum steal_policy_id id, uint32_t thief, int order[WORKERS])
{
    const struct steal_policy *policy = steal_policy_get(id);
    struct steal_round round;
    bool named[WORKERS] = { false };
    policy->begin(e->workers[thief], &round);
    for (unsigned i = 0; i < WORKERS - 1; i++) {
        order[i] = policy->next(e->workers[thief], &round);
        assert_in_range(order[i], 0, WORKERS - 1);
        assert_int_not_equal(order[i], thief);
        assert_false(named[order[i]]);
        named[order[i]] = true;
    }
    assert_int_equal(policy->next(e->workers[thief], &round), -1);
    assert_int_equal(policy->next(e->workers[thief], &round), -1);
}

static void test_names(void **state)
{
    (void)state;
    static const char *const names[STEAL_N] = { "none",           "random",  "round-robin",
                                                "longest-victim", "fullest", "locality",
                                                "share" };
    for (unsigned i = 0; i < STEAL_N; i++) {
        enum steal_policy_id id = STEAL_N;
        assert_string_equal(steal_policy_name((enum steal_policy_id)i), names[i]);
        assert_int_equal(steal_policy_parse(names[i], &id), 0);
        assert_int_equal(id, i);
        assert_string_equal(steal_policy_get(id)->name, names[i]);
    }
    enum steal_policy_id id = STEAL_N;
    assert_int_equal(steal_policy_parse("round robin", &id), -EINVAL);
    assert_int_equal(steal_policy_parse("locality\n", &id), -EINVAL);
    assert_int_equal(id, STEAL_N);
    assert_null(steal_policy_get(STEAL_N));
    assert_string_equal(steal_policy_name(STEAL_N), "unknown");
    enum steal_mode mode = STEAL_MODE_N;
    assert_int_equal(steal_mode_parse("keeps", &mode), -EINVAL);
    assert_int_equal(mode, STEAL_MODE_N);
    assert_int_equal(steal_mode_parse("visit", &mode), 0);
    assert_int_equal(mode, STEAL_VISIT);
    assert_int_equal(steal_mode_parse("keep", &mode), 0);
    assert_int_equal(mode, STEAL_KEEP);
    assert_string_equal(steal_mode_name(STEAL_VISIT), "visit");
    assert_string_equal(steal_mode_name(STEAL_MODE_N), "unknown");
}

static void test_near_lists(void **state)
{
    (void)state;
    for (uint32_t w = 0; w < WORKERS; w++) {
        struct worker *worker = e->workers[w];
        assert_int_equal(near_n(worker), WORKERS - 1);
        assert_int_equal(load_relaxed(&worker->near->node), w / PER_NODE);
        for (uint32_t i = 1; i < WORKERS - 1; i++)
            assert_true(distance_of(w, near_id(worker, i - 1)) <=
                        distance_of(w, near_id(worker, i)));
        assert_int_equal(near_id(worker, 0), w ^ 1);
        static const unsigned ends[DISTANCE_N] = { 0, 1, 3, 7, 7, 63 };
        for (unsigned d = 0; d < DISTANCE_N; d++)
            assert_int_equal(load_relaxed(&worker->near->end[d]), ends[d]);
    }
}

static void test_none(void **state)
{
    (void)state;
    struct steal_round round;
    steal_none.begin(e->workers[0], &round);
    assert_int_equal(steal_none.next(e->workers[0], &round), -1);
    steal_set(e, STEAL_NONE, STEAL_KEEP, 1);
    make_ready(5, 0);
    assert_int_equal(steal_try(e->workers[0]), -1);
    assert_int_equal(stat_of(0, STAT_searches), 0);
}

static void test_random_is_spread(void **state)
{
    (void)state;
    unsigned first[WORKERS] = { 0 };
    enum { ROUNDS = 6300 };
    for (unsigned n = 0; n < ROUNDS; n++) {
        int order[WORKERS];
        round_of(STEAL_RANDOM, 9, order);
        first[order[0]]++;
    }
    /* 100 each expected; deterministic, as the seed is the worker's id */
    for (unsigned v = 0; v < WORKERS; v++)
        assert_true(v == 9 ? first[v] == 0 : first[v] > 50 && first[v] < 160);
}

static void test_round_robin_goes_on(void **state)
{
    (void)state;
    int order[WORKERS];
    round_of(STEAL_ROUND_ROBIN, 3, order);
    for (unsigned i = 0; i < WORKERS - 1; i++)
        assert_int_equal(order[i], i < 3 ? i : i + 1);
    /* a thief of its own counter: what one does moves no other */
    struct steal_round round;
    steal_round_robin.begin(e->workers[3], &round);
    assert_int_equal(steal_round_robin.next(e->workers[3], &round), 0);
    assert_int_equal(steal_round_robin.next(e->workers[3], &round), 1);
    steal_round_robin.begin(e->workers[3], &round);
    assert_int_equal(steal_round_robin.next(e->workers[3], &round), 2);
    assert_int_equal(steal_round_robin.next(e->workers[3], &round), 4);
    steal_round_robin.begin(e->workers[7], &round);
    assert_int_equal(steal_round_robin.next(e->workers[7], &round), 0);
}

static void test_longest_victim_is_the_oldest(void **state)
{
    (void)state;
    for (uint32_t w = 0; w < WORKERS; w++)
        store_relaxed(&e->workers[w]->called.last_attempt, 1000 + w * 37 % WORKERS);
    int order[WORKERS];
    round_of(STEAL_LONGEST_VICTIM, 10, order);
    for (unsigned i = 1; i < WORKERS - 1; i++)
        assert_true(load_relaxed(&e->workers[order[i - 1]]->called.last_attempt) <
                    load_relaxed(&e->workers[order[i]]->called.last_attempt));
    /* the stamp is the thief's own attempt, and makes it the last choice of all others */
    steal_set(e, STEAL_LONGEST_VICTIM, STEAL_KEEP, 1);
    assert_int_equal(steal_try(e->workers[order[0]]), -1);
    int second = order[1], stamped = order[0];
    round_of(STEAL_LONGEST_VICTIM, 10, order);
    assert_int_equal(order[0], second);
    assert_int_equal(order[WORKERS - 2], stamped);
}

static void test_fullest_first(void **state)
{
    (void)state;
    make_ready(20, 0);
    make_ready(40, 1);
    make_ready(40, 2);
    make_ready(40, 3);
    make_ready(60, 0);
    make_ready(60, 3);
    for (unsigned i = 0; i < QUEUES; i++) { /* fixed ones are no load that a thief could take */
        make_ready(5, i);
        source_place(e, 5 * QUEUES + i, 5, SOURCE_FIXED);
    }
    int order[WORKERS];
    round_of(STEAL_FULLEST, 0, order);
    assert_int_equal(order[0], 40);
    assert_int_equal(order[1], 60);
    assert_int_equal(order[2], 20);
    assert_int_equal(order[3], 1); /* the rest in the order of the ids */
}

static void test_locality_goes_outwards(void **state)
{
    (void)state;
    unsigned far_first[WORKERS] = { 0 }, l3_first[WORKERS] = { 0 };
    for (unsigned n = 0; n < 2000; n++) {
        int order[WORKERS];
        round_of(STEAL_LOCALITY, 13, order);
        assert_int_equal(order[0], 12);
        for (unsigned i = 1; i < WORKERS - 1; i++)
            assert_true(distance_of(13, (unsigned)order[i - 1]) <=
                        distance_of(13, (unsigned)order[i]));
        l3_first[order[3]]++;
        far_first[order[7]]++;
    }
    for (unsigned v = 0; v < WORKERS; v++) { /* by lot within a group */
        assert_true(distance_of(13, v) == DISTANCE_L3 ? l3_first[v] > 350 : l3_first[v] == 0);
        assert_true(distance_of(13, v) == DISTANCE_MACHINE ? far_first[v] > 10 : far_first[v] == 0);
    }
}

/* By whatever policy: the victim with the queue is a stalled one among others that show nothing
 * that could be taken. */
static void test_stalled_victims_are_passed(void **state)
{
    (void)state;
    for (unsigned policy = STEAL_RANDOM; policy < STEAL_N; policy++) {
        uint32_t thief = 30 + policy, victim = 2 + policy;
        steal_set(e, (enum steal_policy_id)policy, STEAL_KEEP, 1);
        for (uint32_t w = 48; w < WORKERS; w++) /* stalled: ready bits of what they run */
            if (w != thief) {
                uint32_t source = w * QUEUES;
                mask_set(e->workers[w], source);
                store_relaxed(e->sources[source].own, own_running(w));
                store_relaxed(&e->workers[w]->shown.busy, 1);
            }
        uint32_t source = make_ready(victim, 1);
        assert_int_equal(steal_try(e->workers[thief]), source);
        assert_int_equal(load_relaxed(e->sources[source].own), own_running(thief));
        assert_false(ready_is_set(e->workers[victim]->called.ready, source));
        assert_int_equal(load_relaxed(&e->workers[thief]->shown.busy), 1);
        assert_int_equal(stat_of(thief, STAT_steals), 1);
        /* and nothing is left but what is being run */
        assert_int_equal(steal_try(e->workers[thief]), -1);
        assert_int_equal(load_relaxed(&e->workers[thief]->shown.busy), 0);
    }
}

static void test_hint_is_visited_first(void **state)
{
    (void)state;
    steal_set(e, STEAL_LOCALITY, STEAL_KEEP, 1);
    uint32_t near_one = make_ready(1, 0), far_one = make_ready(50, 0);
    store_relaxed(&e->workers[0]->called.hint, 50 + 1);
    assert_int_equal(steal_try(e->workers[0]), far_one);
    assert_int_equal(stat_of(0, STAT_steals_machine), 1);
    assert_int_equal(steal_try(e->workers[0]), near_one);
    assert_int_equal(stat_of(0, STAT_steals_core), 1);
    assert_int_equal(stat_of(0, STAT_steal_attempts), 2);
    assert_int_equal(stat_of(0, STAT_steal_attempts_machine), 1);
    assert_int_equal(stat_of(0, STAT_steal_attempts_core), 1);
}

/* Who shows nothing is no attempt; the look costs no store that others read but the stamp. */
static void test_idle_searcher_counts_no_attempts(void **state)
{
    (void)state;
    steal_set(e, STEAL_RANDOM, STEAL_KEEP, 1);
    store_relaxed(&e->workers[7]->shown.busy, 0);
    for (unsigned n = 0; n < 100; n++)
        assert_int_equal(steal_try(e->workers[7]), -1);
    assert_int_equal(stat_of(7, STAT_searches), 100);
    assert_int_equal(stat_of(7, STAT_steal_attempts), 0);
    /* bits of a source that is being run: an attempt without a candidate */
    uint32_t source = make_ready(8, 0);
    store_relaxed(e->sources[source].own, own_running(8));
    assert_int_equal(steal_try(e->workers[7]), -1);
    assert_int_equal(stat_of(7, STAT_steal_attempts), 1);
    assert_int_equal(stat_of(7, STAT_steal_failures_no_candidates), 1);
}

static void steal_several(uint32_t sources, unsigned ready, unsigned expected)
{
    steal_set(e, STEAL_FULLEST, STEAL_KEEP, sources);
    for (unsigned i = 0; i < ready; i++) /* all of them the victim's, wherever they were laid out */
        source_place(e, i, 1, 0), mask_set(e->workers[1], i);
    int64_t taken = steal_try(e->workers[0]);
    assert_true(taken >= 0);
    assert_int_equal(load_relaxed(e->sources[taken].own), own_running(0));
    assert_int_equal(stat_of(0, STAT_sources_moved), expected - 1);
    /* those that came along: idle here, with their bit, and only here */
    assert_int_equal(bits_of(0), expected - 1);
    assert_int_equal(bits_of(1), ready - expected);
    for (uint32_t i = 0; i < ready; i++)
        if (i != taken) {
            uint32_t owner = own_worker(load_relaxed(e->sources[i].own));
            assert_false(own_is_running(load_relaxed(e->sources[i].own)));
            assert_true(ready_is_set(e->workers[owner]->called.ready, i));
            assert_false(ready_is_set(e->workers[owner ^ 1]->called.ready, i));
        }
}

static void test_one_source_a_steal(void **state)
{
    (void)state;
    steal_several(1, 40, 1);
}

static void test_several_sources_a_steal(void **state)
{
    (void)state;
    steal_several(8, 40, 8);
}

static void test_at_most_half(void **state)
{
    (void)state;
    steal_several(100, 41, 20);
}

static void test_the_last_one_can_be_taken(void **state)
{
    (void)state;
    steal_several(100, 1, 1);
}

static void test_moves_pass_over_running_and_fixed(void **state)
{
    (void)state;
    steal_set(e, STEAL_FULLEST, STEAL_KEEP, 100);
    for (unsigned i = 0; i < 32; i++) {
        source_place(e, i, 1, i % 4 == 3 ? SOURCE_FIXED : 0);
        mask_set(e->workers[1], i);
        if (i % 4 == 2)
            store_relaxed(e->sources[i].own, own_running(1));
    }
    int64_t taken = steal_try(e->workers[0]);
    assert_true(taken >= 0 && taken % 4 < 2);
    /* half of the 24 that are not fixed, as far as they are idle */
    assert_int_equal(stat_of(0, STAT_sources_moved), 11);
    for (unsigned i = 0; i < 32; i++)
        if (i % 4 >= 2)
            assert_int_equal(own_worker(load_relaxed(e->sources[i].own)), 1);
}

static void test_fixed_is_never_stolen(void **state)
{
    (void)state;
    uint32_t victim;
    for (unsigned i = 0; i < QUEUES; i++) {
        make_ready(1, i);
        source_place(e, QUEUES + i, 1, SOURCE_FIXED);
    }
    for (unsigned policy = STEAL_RANDOM; policy < STEAL_N; policy++) {
        steal_set(e, (enum steal_policy_id)policy, policy % 2 ? STEAL_VISIT : STEAL_KEEP, 100);
        assert_int_equal(steal_try(e->workers[0]), -1);
        /* or a parker would stay awake for ever */
        assert_false(mask_find_stealable(e->workers[0], &victim));
    }
    assert_int_equal(owned_by(1), QUEUES);
    assert_int_equal(bits_of(1), QUEUES);
    assert_false(mask_is_empty(e->workers[1]));
    assert_false(mask_has_for_others(e->workers[1], NO_QUEUE)); /* no reason to wake a helper */
    assert_int_equal(source_goes_to(e->workers[1], QUEUES), 1);
    source_place(e, QUEUES, 1, 0);
    assert_true(mask_has_for_others(e->workers[1], NO_QUEUE));
    assert_true(mask_find_stealable(e->workers[0], &victim));
    assert_int_equal(victim, 1);
    assert_int_equal(steal_try(e->workers[0]), QUEUES);
}

static bool sleeps(uint32_t worker)
{
    return load_relaxed(&e->sleepers[worker / 64]) >> (worker % 64) & 1;
}

static void fall_asleep(uint32_t worker)
{
    e->sleepers[worker / 64] |= UINT64_C(1) << (worker % 64);
}

static void test_visit_goes_home(void **state)
{
    (void)state;
    steal_set(e, STEAL_RANDOM, STEAL_VISIT, 1);
    uint32_t source = make_ready(1, 2);
    fall_asleep(1);
    int64_t taken = steal_try(e->workers[60]);
    assert_int_equal(taken, source);
    assert_int_equal(source_goes_to(e->workers[60], source), 1);
    assert_int_equal(source_goes_to(e->workers[1], source), 1);
    assert_true(
        source_release(e->workers[60], source, source_goes_to(e->workers[60], source), false));
    assert_int_equal(load_relaxed(e->sources[source].own), own_idle(1));
    /* nothing left: no bit, nobody woken */
    assert_false(ready_is_set(e->workers[1]->called.ready, source));
    assert_true(sleeps(1));
    source_hand_back(e, e->workers[60], source); /* something left */
    assert_true(ready_is_set(e->workers[1]->called.ready, source));
    assert_false(sleeps(1));
    assert_int_equal(stat_of(60, STAT_visits), 1);
    assert_int_equal(stat_of(60, STAT_wakeups_sent), 1);
    /* keep: where it was run */
    steal_set(e, STEAL_RANDOM, STEAL_KEEP, 1);
    assert_int_equal(steal_try(e->workers[60]), source);
    assert_int_equal(source_goes_to(e->workers[60], source), 60);
    assert_false(source_release(e->workers[60], source, 60, true));
    assert_int_equal(load_relaxed(e->sources[source].own), own_idle(60));
    assert_true(ready_is_set(e->workers[60]->called.ready, source));
}

static void test_follow_is_taken_over_by_the_sender(void **state)
{
    (void)state;
    uint32_t source = 17 * QUEUES;
    source_place(e, source, 17, SOURCE_FOLLOW);
    fall_asleep(17);
    source_signal(e, e->workers[4], source);
    assert_int_equal(load_relaxed(e->sources[source].own), own_idle(4));
    assert_true(ready_is_set(e->workers[4]->called.ready, source));
    assert_false(ready_is_set(e->workers[17]->called.ready, source));
    assert_true(sleeps(17));
    assert_int_equal(stat_of(4, STAT_follow_moves), 1);
    /* with something waiting in it, it stays where that waits */
    source_signal(e, e->workers[5], source);
    assert_int_equal(load_relaxed(e->sources[source].own), own_idle(4));
    /* and while it runs */
    assert_true(ready_clear(e->workers[4]->called.ready, source));
    assert_true(owner_take(&e->sources[source], 4, 4));
    source_signal(e, e->workers[5], source);
    assert_int_equal(load_relaxed(e->sources[source].own), own_running(4));
    assert_true(ready_is_set(e->workers[4]->called.ready, source));
    /* the control thread takes nothing over */
    (void)ready_clear(e->workers[4]->called.ready, source);
    assert_false(
        source_release(e->workers[4], source, source_goes_to(e->workers[4], source), false));
    source_signal(e, e->control, source);
    assert_int_equal(load_relaxed(e->sources[source].own), own_idle(4));
    assert_true(ready_is_set(e->workers[4]->called.ready, source));
    /* it has no home to go back to, and thieves may have it */
    steal_set(e, STEAL_LOCALITY, STEAL_VISIT, 1);
    assert_int_equal(steal_try(e->workers[6]), source);
    assert_int_equal(source_goes_to(e->workers[6], source), 6);
}

static bool common_is_set(uint32_t source)
{
    return ready_is_set(e->steal.common, source);
}

static void test_share_uses_the_common_mask(void **state)
{
    (void)state;
    steal_set(e, STEAL_SHARE, STEAL_KEEP, 1);
    uint32_t idle = 3 * QUEUES, running = idle + 1, fixed = idle + 2;
    store_relaxed(e->sources[running].own, own_running(3));
    source_place(e, fixed, 3, SOURCE_FIXED);
    source_signal(e, e->control, idle);
    source_signal(e, e->control, running);
    source_signal(e, e->control, fixed);
    assert_true(common_is_set(idle));
    assert_false(common_is_set(running) || common_is_set(fixed));
    assert_true(ready_is_set(e->workers[3]->called.ready, running));
    assert_true(ready_is_set(e->workers[3]->called.ready, fixed));
    assert_int_equal(bits_of(3), 2);
    /* everybody looks at it, and goes on doing so */
    assert_false(mask_is_empty(e->workers[60]));
    assert_true(mask_has_for_others(e->workers[60], NO_QUEUE));
    assert_false(mask_has_for_others(e->workers[60], idle));
    steal_set(e, STEAL_LOCALITY, STEAL_KEEP, 1);
    assert_false(mask_is_empty(e->workers[60]));
    /* what is left of a run goes there, too; under another policy to its runner */
    steal_set(e, STEAL_SHARE, STEAL_KEEP, 1);
    assert_false(source_release(e->workers[3], running, 3, true));
    assert_true(common_is_set(running));
    assert_true(owner_take(&e->sources[idle], 3, 9));
    steal_set(e, STEAL_RANDOM, STEAL_KEEP, 1);
    (void)ready_clear(e->steal.common, idle);
    assert_false(source_release(e->workers[9], idle, 9, true));
    assert_false(common_is_set(idle));
    assert_true(ready_is_set(e->workers[9]->called.ready, idle));
    /* who could not take it leaves it to its runner, never in the common mask */
    steal_set(e, STEAL_SHARE, STEAL_KEEP, 1);
    (void)ready_clear(e->workers[9]->called.ready, idle);
    source_pass_on(e, e->workers[11], idle);
    assert_false(common_is_set(idle));
    assert_true(ready_is_set(e->workers[9]->called.ready, idle));
}

/* A port that has ended keeps its running word: its bit must not go round for ever. */
static void test_what_never_ends_is_dropped(void **state)
{
    (void)state;
    uint32_t source = 7 * QUEUES;
    store_relaxed(e->sources[source].own, own_running(7));
    source_pass_on(e, e->workers[7], source);
    assert_false(ready_is_set(e->workers[7]->called.ready, source));
    source_pass_on(e, e->workers[8], source);
    assert_true(ready_is_set(e->workers[7]->called.ready, source));
}

/* Under share a worker that does not get to its own bits is still robbed. */
static void test_share_takes_private_bits_too(void **state)
{
    (void)state;
    steal_set(e, STEAL_SHARE, STEAL_KEEP, 1);
    uint32_t source = make_ready(33, 0);
    assert_int_equal(steal_try(e->workers[2]), source);
}

/* Worker 5 searches and looks at its mailbox itself; `bytes` are in it. */
static uint32_t polled_by_5(uint64_t bytes)
{
    uint32_t source = 5 * QUEUES;
    struct worker *w = e->workers[5];
    polled_end(w);
    w->loop.ran = source;
    polled_begin(w);
    assert_int_equal(load_relaxed(e->sources[source].own), own_polled(5));
    store_relaxed(&e->segment.queues[source].len[0], bytes);
    return source;
}

static void test_a_polled_mailbox_gets_no_bit(void **state)
{
    (void)state;
    steal_set(e, STEAL_LOCALITY, STEAL_KEEP, 1);
    struct worker *w = e->workers[5];
    uint32_t source = polled_by_5(0);
    fall_asleep(4);
    assert_int_equal(polled_take(w), -1);
    store_relaxed(&e->segment.queues[source].len[0], 24);
    source_signal(e, e->workers[9], source);
    assert_int_equal(bits_of(5), 0);
    assert_true(sleeps(4));
    assert_int_equal(polled_take(w), source);
    assert_int_equal(load_relaxed(e->sources[source].own), own_running(5));
    polled_end(w); /* of nothing: it is being run */
    assert_int_equal(load_relaxed(e->sources[source].own), own_running(5));
    assert_int_equal(bits_of(5), 0);
    assert_false(source_release(w, source, 5, false));
    /* what came before the mark went is told of by who takes it away */
    source = polled_by_5(24);
    polled_end(w);
    assert_int_equal(load_relaxed(e->sources[source].own), own_idle(5));
    assert_true(ready_clear(w->called.ready, source));
    /* the urgent lane as well */
    source = polled_by_5(0);
    store_relaxed(&e->urgent[source], 1);
    assert_int_equal(polled_take(w), source);
    store_relaxed(&e->urgent[source], 0);
}

/* Each look is at the place of the next record alone; the queue's words decide. */
static void test_a_polled_mailbox_shows_its_work(void **state)
{
    (void)state;
    struct worker *w = e->workers[5];
    uint32_t source = polled_by_5(0);
    struct segment_queue *queue = &e->segment.queues[source];
    uint64_t *first = (uint64_t *)segment_window(&e->segment, source, 0);
    assert_false(polled_shows_work(w));
    *first = 1; /* being copied, or left by somebody */
    assert_false(polled_shows_work(w));
    store_relaxed(&queue->len[0], 24);
    assert_true(polled_shows_work(w));
    /* whatever the place says: the round of looks ends with one at the length */
    queue_blank((uint8_t *)first);
    assert_false(polled_shows_work(w));
    assert_int_equal(polled_take(w), source);
    assert_false(source_release(w, source, 5, false));
    store_relaxed(&queue->len[0], 0);
    /* buffers that were changed over since the last run */
    store_relaxed(&queue->sel, 1);
    source = polled_by_5(0);
    *(uint64_t *)segment_window(&e->segment, source, 1) = 1;
    store_relaxed(&queue->len[1], 24);
    assert_true(polled_shows_work(w));
    store_relaxed(&queue->len[1], 0);
    store_relaxed(&queue->sel, 0);
    store_relaxed(&e->urgent[source], 1);
    assert_true(polled_shows_work(w));
    store_relaxed(&e->urgent[source], 0);
    polled_end(w);
    assert_false(polled_shows_work(w));
}

/* Its worker has no processor, or stands for ever. */
static void test_a_polled_mailbox_is_stolen(void **state)
{
    (void)state;
    steal_set(e, STEAL_LOCALITY, STEAL_KEEP, 1);
    uint32_t source = polled_by_5(0);
    assert_int_equal(steal_try(e->workers[0]), -1); /* there is nothing in it */
    assert_int_equal(load_relaxed(e->sources[source].own), own_polled(5));
    store_relaxed(&e->segment.queues[source].len[0], 24);
    assert_int_equal(steal_try(e->workers[0]), source);
    assert_int_equal(load_relaxed(e->sources[source].own), own_running(0));
    /* when its worker goes on, it finds that out, and touches nothing */
    assert_int_equal(polled_take(e->workers[5]), -1);
    polled_end(e->workers[5]);
    assert_int_equal(load_relaxed(e->sources[source].own), own_running(0));
    assert_int_equal(bits_of(5), 0);
    assert_false(source_release(e->workers[0], source, 0, false));
    /* not a fixed one */
    source_place(e, source, 5, SOURCE_FIXED);
    source = polled_by_5(24);
    assert_int_equal(steal_try(e->workers[0]), -1);
    assert_int_equal(load_relaxed(e->sources[source].own), own_polled(5));
    /* nobody polls what belongs to another */
    polled_end(e->workers[5]);
    e->workers[6]->loop.ran = source;
    polled_begin(e->workers[6]);
    assert_int_equal(load_relaxed(e->sources[source].own), own_idle(5));
    assert_int_equal(e->workers[6]->loop.polled, POLLED_NONE);
}

/* Killed while it polls: the next executor finds what is there. */
static void test_a_polled_mailbox_outlives_its_worker(void **state)
{
    (void)state;
    uint32_t source = polled_by_5(0);
    struct engine_recovery report;
    f.engine = engine_close(e);
    engine_fixture_reopen(&f, &report);
    e = f.engine;
    assert_int_equal(load_relaxed(e->sources[source].own), own_idle(5));
    assert_int_equal(e->workers[5]->loop.polled, POLLED_NONE);
}

static void test_the_nearest_sleeper_is_woken(void **state)
{
    (void)state;
    steal_set(e, STEAL_LOCALITY, STEAL_KEEP, 1);
    fall_asleep(63);
    fall_asleep(20);
    fall_asleep(22);
    wake_one(e, e->workers[50], 21); /* by distance from the victim, not from who wakes */
    assert_false(sleeps(20));
    assert_true(sleeps(22) && sleeps(63));
    assert_int_equal(load_relaxed(&e->workers[20]->called.hint), 21 + 1);
    assert_int_equal(load_relaxed(&e->workers[20]->called.given), 1);
    assert_int_equal(load_relaxed(&e->steal.searching[20 / PER_NODE].n), 1);
    /* node 2 has a searcher now: the next one comes from elsewhere */
    wake_one(e, e->workers[50], 21);
    assert_true(sleeps(22));
    assert_false(sleeps(63));
    assert_int_equal(load_relaxed(&e->steal.searching[63 / PER_NODE].n), 1);
    /* and then there is nobody */
    wake_one(e, e->workers[50], 21);
    assert_true(sleeps(22));
    assert_int_equal(stat_of(50, STAT_wakeups_sent), 2);
    steal_set(e, STEAL_NONE, STEAL_KEEP, 1); /* a change of policy wakes all */
    assert_false(sleeps(22));
}

static void test_without_distances_all_are_equal(void **state)
{
    (void)state;
    struct engine_fixture plain;
    engine_fixture_open(&plain, config_of(6));
    for (uint32_t w = 0; w < 6; w++) {
        struct worker *worker = plain.engine->workers[w];
        assert_int_equal(near_n(worker), 5);
        assert_int_equal(load_relaxed(&worker->near->node), 0);
        assert_int_equal(load_relaxed(&worker->near->end[DISTANCE_L3]), 0);
        assert_int_equal(load_relaxed(&worker->near->end[DISTANCE_NODE]), 5);
        assert_int_equal(near_id(worker, 0), (w + 1) % 6);
    }
    engine_fixture_close(&plain);
    struct engine_config config = config_of(1);
    config.stealing = STEAL_LOCALITY;
    engine_fixture_open(&plain, config); /* nobody to steal from */
    assert_int_equal(near_n(plain.engine->workers[0]), 0);
    assert_int_equal(steal_try(plain.engine->workers[0]), -1);
    engine_fixture_close(&plain);
}

#define policy_test(name) cmocka_unit_test_setup_teardown(name, machine_begin, machine_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        policy_test(test_names),
        policy_test(test_near_lists),
        policy_test(test_none),
        policy_test(test_random_is_spread),
        policy_test(test_round_robin_goes_on),
        policy_test(test_longest_victim_is_the_oldest),
        policy_test(test_fullest_first),
        policy_test(test_locality_goes_outwards),
        policy_test(test_stalled_victims_are_passed),
        policy_test(test_hint_is_visited_first),
        policy_test(test_idle_searcher_counts_no_attempts),
        policy_test(test_one_source_a_steal),
        policy_test(test_several_sources_a_steal),
        policy_test(test_at_most_half),
        policy_test(test_the_last_one_can_be_taken),
        policy_test(test_moves_pass_over_running_and_fixed),
        policy_test(test_fixed_is_never_stolen),
        policy_test(test_visit_goes_home),
        policy_test(test_follow_is_taken_over_by_the_sender),
        policy_test(test_share_uses_the_common_mask),
        policy_test(test_what_never_ends_is_dropped),
        policy_test(test_share_takes_private_bits_too),
        policy_test(test_a_polled_mailbox_gets_no_bit),
        policy_test(test_a_polled_mailbox_shows_its_work),
        policy_test(test_a_polled_mailbox_is_stolen),
        policy_test(test_a_polled_mailbox_outlives_its_worker),
        policy_test(test_the_nearest_sleeper_is_woken),
        cmocka_unit_test(test_without_distances_all_are_equal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
