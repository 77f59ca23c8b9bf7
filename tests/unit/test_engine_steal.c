/* SPDX-License-Identifier: Apache-2.0 */
/* Stealing, sleeping and waking with real workers: however the load lies, each message is run once,
 * no two behaviours of an actor run at a time, messages of a pair stay in order, and nobody sleeps
 * while there is work for him. */
#include <sched.h>

#include "daemon/engine/run/pack.h"
#include "daemon/engine/run/steal.h"
#include "daemon/engine/signal/wake.h"
#include "engine_fixture.h"

enum { N_ACTORS = 16, QUEUES = 8 };

/* Handlers report here; the first thing that is wrong stays. */
static _Atomic uint64_t n_handled;
static const char *_Atomic first_wrong;
static actor_ref actors[N_ACTORS];
static uint16_t number_type, tick_type, block_type, hop_type;

static void wrong(const char *what)
{
    const char *none = NULL;
    atomic_compare_exchange_strong(&first_wrong, &none, what);
}

static void spin_ns(uint64_t ns)
{
    for (uint64_t until = clock_now_ns() + ns; clock_now_ns() < until;)
        ;
}

struct number {
    uint32_t sender, number; /* sender N_ACTORS: the test */
};

struct mesh_state {
    _Atomic uint32_t inside; /* a behaviour is running */
    uint32_t index;
    uint32_t got[N_ACTORS + 1], sent[N_ACTORS];
};

static struct {
    uint64_t work_ns;
    uint32_t fan_out; /* receivers of each tick's messages */
    uint32_t ticks;
} mesh;

static int mesh_init(void *self, const void *args, size_t size, struct engine_context *ctx)
{
    (void)ctx;
    struct mesh_state *state = self;
    if (size != sizeof(uint32_t))
        return -EINVAL;
    memcpy(&state->index, args, sizeof(uint32_t));
    return 0;
}

static void mesh_enter(struct mesh_state *state)
{
    if (atomic_exchange(&state->inside, 1))
        wrong("two behaviours of an actor at a time");
}

static void mesh_leave(struct mesh_state *state)
{
    atomic_store(&state->inside, 0);
    atomic_fetch_add(&n_handled, 1);
}

static int mesh_on_number(void *self, const void *message, struct engine_context *ctx)
{
    struct mesh_state *state = self;
    const struct number *number = message;
    mesh_enter(state);
    if (ctx->self != actors[state->index])
        wrong("state of another actor");
    if (number->number != ++state->got[number->sender])
        wrong("messages of a pair out of order, lost or doubled");
    spin_ns(mesh.work_ns);
    mesh_leave(state);
    return ALLOCATION_NODELETE;
}

/* One tick: one message to each of the next actors, and the next tick to itself. */
static int mesh_on_tick(void *self, const void *message, struct engine_context *ctx)
{
    struct mesh_state *state = self;
    const uint64_t *left = message;
    mesh_enter(state);
    for (uint32_t i = 1; i <= mesh.fan_out; i++) {
        uint32_t to = (state->index + i) % N_ACTORS;
        struct number number = { .sender = state->index, .number = ++state->sent[to] };
        if (engine_ctx_send(ctx, actors[to], number_type, 0, &number, sizeof(number)) < 0)
            wrong("a send failed");
    }
    uint64_t next = *left - 1;
    if (next > 0 && engine_ctx_send(ctx, ctx->self, tick_type, 1, &next, sizeof(next)) < 0)
        wrong("a send to itself failed");
    spin_ns(mesh.work_ns);
    mesh_leave(state);
    return ALLOCATION_NODELETE;
}

/* ---- a handler that does not return until it is let go ---- */
static _Atomic uint32_t blocked, let_go;

static int on_block(void *self, const void *message, struct engine_context *ctx)
{
    (void)self;
    (void)message;
    (void)ctx;
    atomic_store(&blocked, 1);
    while (!atomic_load(&let_go))
        sched_yield();
    return ALLOCATION_NODELETE;
}

/* ---- a message that goes round ---- */
static int on_hop(void *self, const void *message, struct engine_context *ctx)
{
    (void)self;
    const uint64_t *left = message;
    uint64_t next = *left - 1;
    atomic_fetch_add(&n_handled, 1);
    if (next > 0 &&
        engine_ctx_send(ctx, actors[next % N_ACTORS], hop_type, 0, &next, sizeof(next)) < 0)
        wrong("a hop failed");
    return ALLOCATION_NODELETE;
}

struct kinds {
    uint32_t mesh, block, hop;
};

static struct kinds fixture_begin(struct engine_fixture *f, uint32_t workers,
                                  enum steal_policy_id stealing)
{
    struct engine_config config = engine_fixture_config(workers, QUEUES);
    config.actors_max = 4096;
    config.limit_bytes = 16 << 20;
    config.outbox_bytes = 1 << 20;
    config.stealing = stealing;
    config.throughput = 64;
    engine_fixture_open(f, config);
    number_type = engine_fixture_message(f, "number", sizeof(struct number), false);
    tick_type = engine_fixture_message(f, "tick", 8, false);
    block_type = engine_fixture_message(f, "block", 0, false);
    hop_type = engine_fixture_message(f, "hop", 8, false);
    struct engine_behaviour of_mesh[] = { { number_type, sizeof(struct number), false,
                                            mesh_on_number },
                                          { tick_type, 8, false, mesh_on_tick } };
    struct engine_behaviour of_block = { block_type, 0, false, on_block },
                            of_hop = { hop_type, 8, false, on_hop };
    atomic_store(&n_handled, 0);
    atomic_store(&first_wrong, NULL);
    atomic_store(&blocked, 0);
    atomic_store(&let_go, 0);
    return (struct kinds){
        .mesh =
            engine_fixture_type(f, "mesh", sizeof(struct mesh_state), mesh_init, NULL, of_mesh, 2),
        .block = engine_fixture_type(f, "block", 8, NULL, NULL, &of_block, 1),
        .hop = engine_fixture_type(f, "hop", 8, NULL, NULL, &of_hop, 1),
    };
}

static void fixture_end(struct engine_fixture *f)
{
    engine_stop(f->engine);
    const char *what = atomic_load(&first_wrong);
    engine_fixture_close(f);
    if (what)
        fail_msg("%s", what);
}

/* An actor in a queue that was laid out for `worker`; others that came on the way stay unused. */
static actor_ref spawn_at(struct engine_fixture *f, uint32_t type, uint32_t worker,
                          const void *args, size_t size)
{
    for (unsigned i = 0; i < 2 * QUEUES * f->config.n_workers; i++) {
        struct engine_actor_view view;
        actor_ref ref = engine_fixture_spawn(f, type, args, size);
        assert_int_equal(engine_actor_get(f->engine, ref, &view), 0);
        if (view.queue / QUEUES == worker)
            return ref;
    }
    fail_msg("no actor of worker %u", worker);
    return 0;
}

static void mesh_spawn_all_at(struct engine_fixture *f, uint32_t type, uint32_t worker)
{
    for (uint32_t i = 0; i < N_ACTORS; i++)
        actors[i] = spawn_at(f, type, worker, &i, sizeof(i));
}

static void mesh_begin(struct engine_fixture *f, uint64_t ticks, uint32_t fan_out, uint64_t work_ns)
{
    mesh.fan_out = fan_out;
    mesh.work_ns = work_ns;
    for (uint32_t i = 0; i < N_ACTORS; i++)
        assert_int_equal(engine_actor_send(f->engine, actors[i], tick_type, &ticks, sizeof(ticks)),
                         0);
}

/* What workers other than worker 0 have run. */
static uint64_t run_by_thieves(struct engine_fixture *f)
{
    uint64_t n = 0;
    for (uint32_t i = 1; i < f->config.n_workers; i++)
        n += load_relaxed(&f->engine->workers[i]->stats->value[STAT_messages_processed]);
    return n;
}

/* Have the others had their share, in each of the ways that are to be seen? */
static bool balance_is_shown(struct engine_fixture *f, enum steal_policy_id stealing,
                             unsigned flags, uint64_t share)
{
    return run_by_thieves(f) > share &&
           (stealing == STEAL_SHARE || engine_fixture_stat(f, STAT_steals) > 0) &&
           (!(flags & SOURCE_FOLLOW) || engine_fixture_stat(f, STAT_follow_moves) > 0);
}

/* All the load lies with worker 0. Again until that is so: on a loaded machine a round may be over
 * before the others run. */
static void balance(uint32_t workers, enum steal_policy_id stealing, enum steal_mode mode,
                    uint32_t sources, unsigned flags)
{
    struct engine_fixture f;
    uint64_t ticks = TEST_SCALE(400), expected = 0, until = clock_now_ns() + TEST_DEADLINE_NS;
    bool stays = stealing == STEAL_NONE || flags & SOURCE_FIXED;
    struct kinds kinds = fixture_begin(&f, workers, stealing);
    steal_set(f.engine, stealing, mode, sources);
    mesh_spawn_all_at(&f, kinds.mesh, 0);
    for (uint32_t source = 0; source < QUEUES; source++)
        source_place(f.engine, source, 0, flags);
    assert_int_equal(engine_start(f.engine), 0);
    do {
        mesh_begin(&f, ticks, 3, 5000);
        expected += N_ACTORS * ticks * 4;
        assert_true(engine_fixture_wait(&f, TEST_DEADLINE_NS));
        assert_int_equal(atomic_load(&n_handled), expected);
    } while (!stays && !balance_is_shown(&f, stealing, flags, expected / 40) &&
             clock_now_ns() < until);
    uint64_t steals = engine_fixture_stat(&f, STAT_steals),
             visits = engine_fixture_stat(&f, STAT_visits);
    if (stealing == STEAL_NONE)
        assert_int_equal(steals + visits, 0);
    if (stays) /* the others begin the unused actors that lie with them, no more */
        assert_true(run_by_thieves(&f) <= N_ACTORS * workers);
    else
        assert_true(balance_is_shown(&f, stealing, flags, expected / 40));
    bool home = stays || (mode == STEAL_VISIT && !(flags & SOURCE_FOLLOW));
    for (uint32_t source = 0; home && source < QUEUES; source++)
        assert_true(
            engine_fixture_until(load_relaxed(f.engine->sources[source].own) == own_idle(0)));
    if (flags == 0)
        assert_true(mode == STEAL_VISIT ? visits > 0 : visits == 0);
    assert_true(sources > 1 || engine_fixture_stat(&f, STAT_sources_moved) == 0);
    assert_int_equal(engine_fixture_stat(&f, STAT_dead_letters), 0);
    fixture_end(&f);
}

static void test_balance_two_longest_victim(void **state)
{
    (void)state;
    balance(2, STEAL_LONGEST_VICTIM, STEAL_KEEP, 1, 0);
}

static void test_balance_three_random(void **state)
{
    (void)state;
    balance(3, STEAL_RANDOM, STEAL_KEEP, 1, 0);
}

static void test_balance_four_longest_victim(void **state)
{
    (void)state;
    balance(4, STEAL_LONGEST_VICTIM, STEAL_KEEP, 1, 0);
}

static void test_no_stealing_means_none(void **state)
{
    (void)state;
    balance(2, STEAL_NONE, STEAL_KEEP, 1, 0);
}

static void test_balance_round_robin(void **state)
{
    (void)state;
    balance(3, STEAL_ROUND_ROBIN, STEAL_KEEP, 1, 0);
}

static void test_balance_fullest_several_sources(void **state)
{
    (void)state;
    balance(3, STEAL_FULLEST, STEAL_KEEP, 4, 0);
}

static void test_balance_locality_visits(void **state)
{
    (void)state;
    balance(3, STEAL_LOCALITY, STEAL_VISIT, 1, 0);
}

static void test_balance_visits_several_sources(void **state)
{
    (void)state;
    balance(4, STEAL_RANDOM, STEAL_VISIT, 3, 0);
}

static void test_balance_share(void **state)
{
    (void)state;
    balance(3, STEAL_SHARE, STEAL_KEEP, 1, 0);
}

static void test_balance_share_visits(void **state)
{
    (void)state;
    balance(4, STEAL_SHARE, STEAL_VISIT, 2, 0);
}

static void test_balance_following_queues(void **state)
{
    (void)state;
    balance(3, STEAL_LOCALITY, STEAL_VISIT, 2, SOURCE_FOLLOW);
}

static void test_fixed_queues_stay(void **state)
{
    (void)state;
    balance(3, STEAL_LOCALITY, STEAL_VISIT, 4, SOURCE_FIXED);
    balance(2, STEAL_SHARE, STEAL_KEEP, 4, SOURCE_FIXED);
}

/* Again until there have been some changes: a round may be over before this thread runs again. */
static void test_policy_changes_live(void **state)
{
    (void)state;
    struct engine_fixture f;
    uint64_t ticks = TEST_SCALE(40000), expected = 0;
    struct kinds kinds = fixture_begin(&f, 3, STEAL_NONE);
    mesh_spawn_all_at(&f, kinds.mesh, 1);
    assert_int_equal(engine_start(f.engine), 0);
    uint64_t until = clock_now_ns() + TEST_DEADLINE_NS, changes = 0;
    do {
        mesh_begin(&f, ticks, 2, 0);
        expected += N_ACTORS * ticks * 3;
        while (atomic_load(&n_handled) < expected && clock_now_ns() < until) {
            changes++;
            steal_set(f.engine, (enum steal_policy_id)(changes % STEAL_N),
                      (enum steal_mode)(changes / STEAL_N % STEAL_MODE_N), 1 + changes % 5);
            engine_set_throughput(f.engine, 1 + changes % 100);
            nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
        }
        assert_true(engine_fixture_wait(&f, TEST_DEADLINE_NS));
        assert_int_equal(atomic_load(&n_handled), expected);
    } while (changes <= 3 && clock_now_ns() < until);
    assert_true(changes > 3);
    fixture_end(&f);
}

/* Workers rest and work again all the time; again until their queues have been lent. */
static void packs(uint32_t workers, enum steal_mode mode)
{
    struct engine_fixture f;
    struct kinds kinds = fixture_begin(&f, workers, STEAL_LONGEST_VICTIM);
    uint64_t ticks = TEST_SCALE(10000), expected = 0, until = clock_now_ns() + TEST_DEADLINE_NS;
    uint32_t changes = 0;
    steal_set(f.engine, STEAL_LONGEST_VICTIM, mode, 1);
    for (uint32_t i = 0; i < N_ACTORS; i++)
        actors[i] = spawn_at(&f, kinds.mesh, i % workers, &i, sizeof(i));
    assert_int_equal(engine_start(f.engine), 0);
    do {
        mesh_begin(&f, ticks, 2, 0);
        expected += N_ACTORS * ticks * 3;
        while (atomic_load(&n_handled) < expected && clock_now_ns() < until) {
            pack_set(f.engine, 1 + changes++ % workers);
            nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL);
        }
        assert_true(engine_fixture_wait(&f, TEST_DEADLINE_NS));
        assert_int_equal(atomic_load(&n_handled), expected);
    } while (engine_fixture_stat(&f, STAT_sources_lent) == 0 && clock_now_ns() < until);
    assert_true(engine_fixture_stat(&f, STAT_sources_lent) > 0);
    fixture_end(&f);
}

static void test_packing_changes_live(void **state)
{
    (void)state;
    packs(2, STEAL_KEEP);
    packs(3, STEAL_VISIT);
}

static void nobody_is_told(void *userdata, const struct engine_stall *stall)
{
    (void)userdata;
    (void)stall;
}

/* The only worker that does not rest gets stuck: the others help again (pack.PK3). */
static void test_stuck_handler_while_others_rest(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct kinds kinds = fixture_begin(&f, 3, STEAL_LONGEST_VICTIM);
    struct engine_actor_view blocker_view, view;
    f.engine->config.packing = true;
    actor_ref blocker = spawn_at(&f, kinds.block, 0, NULL, 0);
    assert_int_equal(engine_actor_get(f.engine, blocker, &blocker_view), 0);
    for (uint32_t i = 0; i < N_ACTORS; i++)
        do {
            actors[i] = spawn_at(&f, kinds.hop, 0, NULL, 0);
            assert_int_equal(engine_actor_get(f.engine, actors[i], &view), 0);
        } while (view.queue == blocker_view.queue);
    assert_int_equal(engine_start(f.engine), 0);
    assert_true(engine_fixture_wait(&f, TEST_DEADLINE_NS));
    pack_set(f.engine, 1);
    assert_int_equal(engine_actor_send(f.engine, blocker, block_type, NULL, 0), 0);
    assert_true(engine_fixture_until(atomic_load(&blocked)));
    uint64_t one = 1;
    for (uint32_t i = 0; i < N_ACTORS; i++)
        assert_int_equal(engine_actor_send(f.engine, actors[i], hop_type, &one, sizeof(one)), 0);
    /* one that has stolen their queue while they began may have run them, resting */
    assert_true(
        engine_fixture_until((engine_watch_look(f.engine, nobody_is_told, NULL),
                              atomic_load(&n_handled) == N_ACTORS && pack_active(f.engine) == 3)));
    assert_int_equal(atomic_load(&let_go), 0);
    atomic_store(&let_go, 1);
    assert_true(engine_fixture_wait(&f, TEST_DEADLINE_NS));
    fixture_end(&f);
}

/* While one worker does not come back from a handler, everything that is not in that handler's
 * queue goes on. */
static void stuck(uint32_t workers, enum steal_policy_id stealing, enum steal_mode mode,
                  uint32_t sources)
{
    struct engine_fixture f;
    struct kinds kinds = fixture_begin(&f, workers, stealing);
    steal_set(f.engine, stealing, mode, sources);
    struct engine_actor_view blocker_view, view;
    actor_ref blocker = spawn_at(&f, kinds.block, 0, NULL, 0);
    assert_int_equal(engine_actor_get(f.engine, blocker, &blocker_view), 0);
    for (uint32_t i = 0; i < N_ACTORS; i++)
        do { /* half of them with the worker that gets stuck, none in its queue */
            actors[i] = spawn_at(&f, kinds.mesh, i % 2 ? 1 : 0, &i, sizeof(i));
            assert_int_equal(engine_actor_get(f.engine, actors[i], &view), 0);
        } while (view.queue == blocker_view.queue);
    assert_int_equal(engine_start(f.engine), 0);
    assert_true(engine_fixture_wait(&f, TEST_DEADLINE_NS));
    mesh.work_ns = 0;
    assert_int_equal(engine_actor_send(f.engine, blocker, block_type, NULL, 0), 0);
    assert_true(engine_fixture_until(atomic_load(&blocked)));
    uint32_t rounds = TEST_SCALE(500);
    for (uint32_t n = 1; n <= rounds; n++) {
        for (uint32_t i = 0; i < N_ACTORS; i++) {
            struct number number = { .sender = N_ACTORS, .number = n };
            assert_int_equal(
                engine_actor_send(f.engine, actors[i], number_type, &number, sizeof(number)), 0);
        }
        if (n % 50 == 0) /* they sleep in between */
            assert_true(engine_fixture_until(atomic_load(&n_handled) == n * N_ACTORS));
    }
    assert_true(engine_fixture_until(atomic_load(&n_handled) == rounds * N_ACTORS));
    assert_int_equal(atomic_load(&let_go), 0);
    atomic_store(&let_go, 1);
    assert_true(engine_fixture_wait(&f, TEST_DEADLINE_NS));
    fixture_end(&f);
}

static void test_stuck_handler_two_workers(void **state)
{
    (void)state;
    stuck(2, STEAL_LONGEST_VICTIM, STEAL_KEEP, 1);
}

static void test_stuck_handler_random(void **state)
{
    (void)state;
    stuck(3, STEAL_RANDOM, STEAL_KEEP, 1);
}

static void test_stuck_handler_round_robin(void **state)
{
    (void)state;
    stuck(2, STEAL_ROUND_ROBIN, STEAL_KEEP, 4);
}

static void test_stuck_handler_fullest(void **state)
{
    (void)state;
    stuck(3, STEAL_FULLEST, STEAL_KEEP, 2);
}

static void test_stuck_handler_visits(void **state)
{
    (void)state;
    stuck(2, STEAL_LOCALITY, STEAL_VISIT, 1);
    stuck(3, STEAL_LONGEST_VICTIM, STEAL_VISIT, 4);
}

static void test_stuck_handler_share(void **state)
{
    (void)state;
    stuck(2, STEAL_SHARE, STEAL_KEEP, 1);
    stuck(3, STEAL_SHARE, STEAL_VISIT, 3);
}

/* Single messages, each of which finds everybody asleep, or just falling asleep. */
static void every_message_wakes(enum steal_policy_id stealing, enum steal_mode mode,
                                uint32_t moderate_sleeps, uint64_t relaxed_ns)
{
    struct engine_fixture f;
    struct kinds kinds = fixture_begin(&f, 3, stealing);
    steal_set(f.engine, stealing, mode, 2);
    f.engine->config.spin_ns = 0;
    f.engine->config.moderate_sleeps = moderate_sleeps;
    f.engine->config.moderate_ns = 5000;
    f.engine->config.relaxed_ns = relaxed_ns;
    for (uint32_t i = 0; i < N_ACTORS; i++)
        actors[i] = engine_fixture_spawn(&f, kinds.hop, NULL, 0);
    assert_int_equal(engine_start(f.engine), 0);
    uint64_t n = TEST_SCALE(20000), one = 1;
    for (uint64_t i = 1; i <= n; i++) {
        assert_int_equal(
            engine_actor_send(f.engine, actors[i * 7 % N_ACTORS], hop_type, &one, sizeof(one)), 0);
        uint64_t until = clock_now_ns() + TEST_DEADLINE_NS;
        while (atomic_load(&n_handled) < i && clock_now_ns() < until)
            sched_yield();
        assert_int_equal(atomic_load(&n_handled), i);
        spin_ns(i * 997 % 20000); /* where in its way to sleep the next one meets a worker */
    }
    assert_true(engine_fixture_stat(&f, STAT_parks) > 0);
    assert_true(moderate_sleeps ? engine_fixture_stat(&f, STAT_parks_moderate) > 0
                                : engine_fixture_stat(&f, STAT_parks_moderate) == 0);
    if (relaxed_ns)
        assert_true(engine_fixture_until(engine_fixture_stat(&f, STAT_relaxed_timeouts) > 0));
    else
        assert_int_equal(engine_fixture_stat(&f, STAT_relaxed_timeouts), 0);
    fixture_end(&f);
}

static void test_every_message_wakes(void **state)
{
    (void)state;
    every_message_wakes(STEAL_LONGEST_VICTIM, STEAL_KEEP, 0, 0);
}

static void test_every_message_wakes_share(void **state)
{
    (void)state;
    every_message_wakes(STEAL_SHARE, STEAL_KEEP, 0, 0);
}

static void test_every_message_wakes_between_short_sleeps(void **state)
{
    (void)state;
    every_message_wakes(STEAL_LOCALITY, STEAL_VISIT, 3, 0);
    every_message_wakes(STEAL_ROUND_ROBIN, STEAL_KEEP, 2, 10000);
}

/* Fewer messages than workers go round: at each hop somebody falls asleep and somebody is woken. */
static void round_trip(uint32_t workers, enum steal_policy_id stealing, uint64_t spin,
                       unsigned tokens)
{
    struct engine_fixture f;
    uint64_t hops = TEST_SCALE(100000);
    struct kinds kinds = fixture_begin(&f, workers, stealing);
    f.engine->config.spin_ns = spin;
    for (uint32_t i = 0; i < N_ACTORS; i++)
        actors[i] = spawn_at(&f, kinds.hop, i % workers, NULL, 0);
    assert_int_equal(engine_start(f.engine), 0);
    for (unsigned i = 0; i < tokens; i++)
        assert_int_equal(engine_actor_send(f.engine, actors[i], hop_type, &hops, sizeof(hops)), 0);
    if (!engine_fixture_until(atomic_load(&n_handled) == tokens * hops))
        fail_msg("%lu of %lu hops", (unsigned long)atomic_load(&n_handled),
                 (unsigned long)(tokens * hops));
    fixture_end(&f);
}

static void test_round_trip_no_stealing(void **state)
{
    (void)state;
    round_trip(2, STEAL_NONE, 0, 1);
}

static void test_round_trip_stealing(void **state)
{
    (void)state;
    round_trip(3, STEAL_LONGEST_VICTIM, 0, 2);
}

static void test_round_trip_spinning(void **state)
{
    (void)state;
    round_trip(4, STEAL_RANDOM, 3000, 3);
}

/* All asleep again, and they stay so. */
static void test_idle_sleeps(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct kinds kinds = fixture_begin(&f, 3, STEAL_LONGEST_VICTIM);
    mesh_spawn_all_at(&f, kinds.mesh, 0);
    assert_int_equal(engine_start(f.engine), 0);
    mesh_begin(&f, 100, 2, 0);
    assert_true(engine_fixture_wait(&f, TEST_DEADLINE_NS));
    uint64_t all = (UINT64_C(1) << 3) - 1;
    /* who sleeps says so first, and is no searcher any more a little later */
    assert_true(engine_fixture_until(load_relaxed(&f.engine->sleepers[0]) == all &&
                                     load_relaxed(&f.engine->steal.searching[0].n) == 0));
    assert_true(engine_fixture_until(load_relaxed(&f.engine->watch.rescue_armed) == 0));
    fixture_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_balance_two_longest_victim),
        cmocka_unit_test(test_balance_three_random),
        cmocka_unit_test(test_balance_four_longest_victim),
        cmocka_unit_test(test_no_stealing_means_none),
        cmocka_unit_test(test_balance_round_robin),
        cmocka_unit_test(test_balance_fullest_several_sources),
        cmocka_unit_test(test_balance_locality_visits),
        cmocka_unit_test(test_balance_visits_several_sources),
        cmocka_unit_test(test_balance_share),
        cmocka_unit_test(test_balance_share_visits),
        cmocka_unit_test(test_balance_following_queues),
        cmocka_unit_test(test_fixed_queues_stay),
        cmocka_unit_test(test_policy_changes_live),
        cmocka_unit_test(test_packing_changes_live),
        cmocka_unit_test(test_stuck_handler_while_others_rest),
        cmocka_unit_test(test_stuck_handler_two_workers),
        cmocka_unit_test(test_stuck_handler_random),
        cmocka_unit_test(test_stuck_handler_round_robin),
        cmocka_unit_test(test_stuck_handler_fullest),
        cmocka_unit_test(test_stuck_handler_visits),
        cmocka_unit_test(test_stuck_handler_share),
        cmocka_unit_test(test_every_message_wakes),
        cmocka_unit_test(test_every_message_wakes_share),
        cmocka_unit_test(test_every_message_wakes_between_short_sleeps),
        cmocka_unit_test(test_round_trip_no_stealing),
        cmocka_unit_test(test_round_trip_stealing),
        cmocka_unit_test(test_round_trip_spinning),
        cmocka_unit_test(test_idle_sleeps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
