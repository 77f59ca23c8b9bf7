/* SPDX-License-Identifier: Apache-2.0 */
/* Where actors live: each way to place one, each refusal; threads of detached actors; what is asked
 * of the memory's binding. */
#include "daemon/engine/actors/placement.h"
#include "daemon/engine/recovery/verify.h"
#include "engine_fixture.h"

enum { WORKERS = 3, WORKERS_MAX = 4, QUEUES = 4, DETACHED = 2, CALLS_MAX = 256 };

static uint16_t ask_type, spawn_type, block_type, stop_type;
static uint32_t probe_type;
static _Atomic uint32_t answered, ran_by, block_entered, block_release, n_init;
static _Atomic int spawn_result;
static _Atomic uint64_t child;

struct order { /* what a probe is to spawn */
    uint32_t placement, place, named;
};

static int probe_init(void *self, const void *args, size_t size, struct engine_context *ctx)
{
    (void)self;
    (void)args;
    (void)ctx;
    atomic_fetch_add(&n_init, 1);
    return size == 1 ? -EINVAL : 0;
}

static int probe_on_ask(void *self, const void *message, struct engine_context *ctx)
{
    (void)self;
    (void)message;
    atomic_store(&ran_by, ctx->worker);
    atomic_fetch_add(&answered, 1);
    return ALLOCATION_NODELETE;
}

static int probe_on_spawn(void *self, const void *message, struct engine_context *ctx)
{
    (void)self;
    const struct order *order = message;
    struct engine_spawn spawn = { .placement = order->placement,
                                  .place = order->place,
                                  .name = order->named ? "taken" : NULL };
    actor_ref ref = 0;
    atomic_store(&spawn_result, engine_ctx_spawn(ctx, probe_type, &spawn, &ref));
    atomic_store(&child, ref);
    atomic_store(&ran_by, ctx->worker);
    atomic_fetch_add(&answered, 1);
    return ALLOCATION_NODELETE;
}

static int probe_on_block(void *self, const void *message, struct engine_context *ctx)
{
    (void)self;
    (void)message;
    (void)ctx;
    atomic_fetch_add(&block_entered, 1);
    while (!atomic_load(&block_release))
        nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
    return ALLOCATION_NODELETE;
}

static int probe_on_stop(void *self, const void *message, struct engine_context *ctx)
{
    (void)self;
    (void)message;
    (void)ctx;
    return ALLOCATION_DELETE;
}

static void register_probe(struct engine_fixture *f)
{
    ask_type = engine_fixture_message(f, "ask", 0, false);
    spawn_type = engine_fixture_message(f, "spawn", sizeof(struct order), false);
    block_type = engine_fixture_message(f, "block", 0, false);
    stop_type = engine_fixture_message(f, "stop", 0, false);
    struct engine_behaviour behaviours[] = {
        { ask_type, 0, 0, probe_on_ask },
        { spawn_type, sizeof(struct order), 0, probe_on_spawn },
        { block_type, 0, 0, probe_on_block },
        { stop_type, 0, 0, probe_on_stop },
    };
    probe_type = engine_fixture_type(f, "probe", 64, probe_init, NULL, behaviours, 4);
}

/* Workers 0 and 2 on node 0, worker 1 on node 1, worker 3 on node 2. */
static const int nodes[WORKERS_MAX] = { 0, 1, 0, 2 };

static struct engine_config placed_config(void)
{
    struct engine_config config = engine_fixture_config(WORKERS, QUEUES);
    config.workers_max = WORKERS_MAX;
    config.detached_max = DETACHED;
    config.limit_bytes = 1 << 20;
    config.outbox_bytes = 1 << 20;
    config.nodes = nodes;
    return config;
}

static void placed_begin(struct engine_fixture *f)
{
    atomic_store(&answered, 0);
    atomic_store(&block_entered, 0);
    atomic_store(&block_release, 0);
    atomic_store(&n_init, 0);
    engine_fixture_open(f, placed_config());
    register_probe(f);
    assert_int_equal(engine_start(f->engine), 0);
}

static void placed_end(struct engine_fixture *f)
{
    engine_stop(f->engine);
    engine_fixture_close(f);
}

static int try_spawn(struct engine_fixture *f, enum engine_placement placement, uint32_t place,
                     actor_ref *ret_ref)
{
    struct engine_spawn spawn = { .placement = placement, .place = place };
    return engine_actor_spawn_placed(f->engine, probe_type, &spawn, ret_ref);
}

static actor_ref spawn_at(struct engine_fixture *f, enum engine_placement placement, uint32_t place)
{
    actor_ref ref = 0;
    assert_int_equal(try_spawn(f, placement, place, &ref), 0);
    return ref;
}

static struct engine_queue_view queue_of(struct engine_fixture *f, actor_ref ref)
{
    struct engine_actor_view actor;
    struct engine_queue_view queue = { .kind = "" };
    assert_int_equal(engine_actor_get(f->engine, ref, &actor), 0);
    assert_int_equal(engine_queue_get(f->engine, actor.queue, &queue), 0);
    return queue;
}

/* Sends and waits; who has run it. */
static uint32_t ask(struct engine_fixture *f, actor_ref ref)
{
    uint32_t before = atomic_load(&answered);
    assert_int_equal(engine_actor_send(f->engine, ref, ask_type, NULL, 0), 0);
    assert_true(engine_fixture_until(atomic_load(&answered) == before + 1));
    return atomic_load(&ran_by);
}

/* Has `parent` spawn; the result. Its next answer comes behind the commit of that: until then a
 * child in another queue is nobody. */
static int order_spawn(struct engine_fixture *f, actor_ref parent, struct order order)
{
    uint32_t before = atomic_load(&answered);
    assert_int_equal(engine_actor_send(f->engine, parent, spawn_type, &order, sizeof(order)), 0);
    assert_true(engine_fixture_until(atomic_load(&answered) == before + 1));
    (void)ask(f, parent);
    return atomic_load(&spawn_result);
}

static void test_spread(void **state)
{
    (void)state;
    struct engine_fixture f;
    uint32_t on[WORKERS][QUEUES] = { { 0 } };
    placed_begin(&f);
    for (uint32_t i = 0; i < 2 * WORKERS * QUEUES; i++) {
        struct engine_queue_view queue = queue_of(&f, spawn_at(&f, PLACE_SPREAD, 0));
        assert_string_equal(queue.kind, "ordinary");
        assert_true(queue.place < WORKERS);
        on[queue.place][queue.queue % QUEUES]++;
    }
    for (uint32_t i = 0; i < WORKERS * QUEUES; i++)
        assert_int_equal(on[i / QUEUES][i % QUEUES], 2);
    placed_end(&f);
}

static uint64_t probes_live(struct engine_fixture *f)
{
    struct engine_actor_type_view type;
    assert_int_equal(engine_actor_type_get(f->engine, probe_type, &type), 0);
    return type.live;
}

/* Spawns as many; how many went to the queue of the one before, and the fullest queue of them. */
static uint32_t spawn_row(struct engine_fixture *f, enum engine_placement placement, uint32_t n,
                          actor_ref *ret_refs, uint32_t *ret_most)
{
    uint32_t on[WORKERS * QUEUES] = { 0 }, last = UINT32_MAX, together = 0;
    *ret_most = 0;
    for (uint32_t i = 0; i < n; i++) {
        ret_refs[i] = spawn_at(f, placement, 0);
        uint32_t queue = queue_of(f, ret_refs[i]).queue;
        assert_true(queue < WORKERS * QUEUES);
        together += queue == last;
        last = queue;
        if (++on[queue] > *ret_most)
            *ret_most = on[queue];
    }
    return together;
}

/* Of these actors, those of the worker that has most of them. */
static uint32_t most_of_a_worker(struct engine_fixture *f, const actor_ref *refs, uint32_t n)
{
    uint32_t of[WORKERS] = { 0 }, most = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t worker = queue_of(f, refs[i]).queue / QUEUES;
        if (++of[worker] > most)
            most = of[worker];
    }
    return most;
}

/* placement.M4: few are dealt one by one, many in blocks, of which a queue has two at least and a
 * worker eight; and one by one again when there are few. */
static void test_spread_blocks(void **state)
{
    (void)state;
    enum { N_QUEUES = WORKERS * QUEUES, FEW = 16 * N_QUEUES, MANY = 3600 };
    static actor_ref refs[FEW + MANY];
    struct engine_fixture f;
    uint32_t most;
    placed_begin(&f);
    assert_int_equal(spawn_row(&f, PLACE_SPREAD, FEW, refs, &most), 0);
    assert_int_equal(most, FEW / N_QUEUES);
    assert_int_equal(spawn_row(&f, PLACE_EACH, N_QUEUES, refs + FEW, &most), 0);
    uint32_t together = spawn_row(&f, PLACE_SPREAD, MANY - N_QUEUES, refs + FEW + N_QUEUES, &most);
    assert_true(together > MANY * 9 / 10);
    assert_true(most <= MANY / N_QUEUES + (FEW + MANY) / N_QUEUES / 2);
    assert_true(most_of_a_worker(&f, refs, FEW + MANY) <=
                (FEW + MANY) / WORKERS + (FEW + MANY) / WORKERS / 8);
    assert_int_equal(spawn_row(&f, PLACE_EACH, N_QUEUES, refs, &most), 0);
    for (uint32_t slot = 1;; slot++) {
        struct engine_actor_view actor;
        if (engine_actor_next(f.engine, slot, &actor) < 0)
            break;
        slot = actor_ref_slot(actor.ref);
        assert_int_equal(engine_actor_send(f.engine, actor.ref, stop_type, NULL, 0), 0);
    }
    assert_true(engine_fixture_until(probes_live(&f) == 0));
    assert_true(engine_fixture_wait(&f, TEST_DEADLINE_NS)); /* their queues' counts come later */
    /* what was left of the last block, and up to the next count */
    (void)spawn_row(&f, PLACE_SPREAD, 128, refs, &most);
    assert_int_equal(spawn_row(&f, PLACE_SPREAD, N_QUEUES, refs, &most), 0);
    placed_end(&f);
}

/* Actors of each queue, as the engine counts them and as they are found one by one; their sum. */
static uint32_t assert_counts_are_right(struct engine_fixture *f)
{
    uint32_t found[WORKERS * QUEUES] = { 0 }, all = 0;
    for (uint32_t slot = 1;; slot++) {
        struct engine_actor_view actor;
        if (engine_actor_next(f->engine, slot, &actor) < 0)
            break;
        slot = actor_ref_slot(actor.ref);
        assert_true(actor.queue < WORKERS * QUEUES);
        found[actor.queue]++;
        all++;
    }
    for (uint32_t queue = 0; queue < WORKERS * QUEUES; queue++) {
        struct engine_queue_view view;
        assert_int_equal(engine_queue_get(f->engine, queue, &view), 0);
        assert_int_equal(view.actors, found[queue]);
    }
    assert_int_equal(probes_live(f), all);
    return all;
}

/* placement.M4: those of a block end in whatever order, while others are spawned in their places;
 * every count is right then, also as the next start finds it, and in the end nobody is left. */
static void test_blocks_end_in_any_order(void **state)
{
    (void)state;
    enum { MANY = 6000, ROUNDS = 6 };
    static actor_ref refs[MANY];
    struct engine_fixture f;
    struct engine_recovery report;
    char text[VERIFY_TEXT_MAX];
    uint32_t most, seed = 20261123;
    placed_begin(&f);
    (void)spawn_row(&f, PLACE_SPREAD, MANY, refs, &most);
    for (uint32_t round = 0; round <= ROUNDS; round++) {
        uint32_t n = round == ROUNDS ? MANY : MANY / 2;
        for (uint32_t i = 0; i < n; i++) { /* the first n of a shuffled row */
            seed = seed * 1664525 + 1013904223;
            uint32_t other = i + (uint32_t)((uint64_t)seed * (MANY - i) >> 32);
            actor_ref ref = refs[other];
            refs[other] = refs[i];
            refs[i] = ref;
            assert_int_equal(engine_actor_send(f.engine, ref, stop_type, NULL, 0), 0);
        }
        assert_true(engine_fixture_until(probes_live(&f) == MANY - n));
        assert_true(
            engine_fixture_wait(&f, TEST_DEADLINE_NS)); /* their queues' counts come later */
        assert_int_equal(assert_counts_are_right(&f), MANY - n);
        if (round < ROUNDS)
            (void)spawn_row(&f, PLACE_SPREAD, n, refs, &most);
        engine_stop(f.engine);
        assert_int_equal(verify_segment(f.engine, text), 0);
        f.engine = engine_close(f.engine);
        engine_fixture_reopen(&f, &report);
        register_probe(&f);
        assert_int_equal(engine_start(f.engine), 0);
        assert_int_equal(assert_counts_are_right(&f), round < ROUNDS ? MANY : 0);
    }
    placed_end(&f);
}

static void test_near(void **state)
{
    (void)state;
    struct engine_fixture f;
    placed_begin(&f);
    static const enum engine_placement ways[] = { PLACE_SPREAD, PLACE_PINNED, PLACE_FOLLOW };
    for (unsigned i = 0; i < 3; i++) {
        actor_ref parent = spawn_at(&f, ways[i], ENGINE_ANYWHERE);
        assert_int_equal(order_spawn(&f, parent, (struct order){ .placement = PLACE_NEAR }), 0);
        (void)ask(&f, atomic_load(&child));
        assert_int_equal(queue_of(&f, atomic_load(&child)).queue, queue_of(&f, parent).queue);
    }
    /* a detached actor's thread is for it alone; the control thread has no queue */
    actor_ref parent = spawn_at(&f, PLACE_DETACHED, 0);
    assert_int_equal(order_spawn(&f, parent, (struct order){ .placement = PLACE_NEAR }), 0);
    (void)ask(&f, atomic_load(&child));
    assert_string_equal(queue_of(&f, atomic_load(&child)).kind, "ordinary");
    assert_string_equal(queue_of(&f, spawn_at(&f, PLACE_NEAR, 0)).kind, "ordinary");
    placed_end(&f);
}

/* A parent whose worker has gone: its children do not keep the retired queue alive. */
static void test_near_a_retired_queue(void **state)
{
    (void)state;
    struct engine_fixture f;
    placed_begin(&f);
    struct engine_config config = *engine_get_config(f.engine);
    struct engine_change change;
    const char *text;
    for (unsigned pinned = 0; pinned < 2; pinned++) {
        actor_ref parent;
        config.n_workers = WORKERS;
        assert_int_equal(engine_reconfigure(f.engine, &config, TEST_DEADLINE_NS, &change, &text),
                         0);
        do
            parent = spawn_at(&f, pinned ? PLACE_PINNED : PLACE_SPREAD, ENGINE_ANYWHERE);
        while (queue_of(&f, parent).place != 2);
        config.n_workers = 2;
        assert_int_equal(engine_reconfigure(f.engine, &config, TEST_DEADLINE_NS, &change, &text),
                         0);
        assert_true(queue_of(&f, parent).retired);
        assert_int_equal(queue_of(&f, parent).home, 0); /* the other one on its node */
        assert_int_equal(order_spawn(&f, parent, (struct order){ .placement = PLACE_NEAR }), 0);
        (void)ask(&f, atomic_load(&child));
        assert_false(queue_of(&f, atomic_load(&child)).retired);
        assert_string_equal(queue_of(&f, atomic_load(&child)).kind, "ordinary");
    }
    placed_end(&f);
}

static void test_node(void **state)
{
    (void)state;
    struct engine_fixture f;
    actor_ref ref;
    uint32_t on[WORKERS_MAX] = { 0 };
    placed_begin(&f);
    for (uint32_t i = 0; i < 40; i++)
        on[queue_of(&f, spawn_at(&f, PLACE_NODE, 0)).place]++;
    assert_int_equal(on[0], 20);
    assert_int_equal(on[2], 20);
    assert_int_equal(queue_of(&f, spawn_at(&f, PLACE_NODE, 1)).place, 1);
    assert_int_equal(try_spawn(&f, PLACE_NODE, 2, &ref), -ENODEV); /* its worker does not run */
    assert_int_equal(try_spawn(&f, PLACE_NODE, 77, &ref), -ENODEV);
    placed_end(&f);
}

static void test_pinned(void **state)
{
    (void)state;
    struct engine_fixture f;
    actor_ref ref;
    placed_begin(&f);
    for (uint32_t worker = 0; worker < WORKERS; worker++) {
        ref = spawn_at(&f, PLACE_PINNED, worker);
        assert_string_equal(queue_of(&f, ref).kind, "pinned");
        for (unsigned i = 0; i < 20; i++)
            assert_int_equal(ask(&f, ref), worker);
    }
    uint32_t seen = 0;
    for (uint32_t i = 0; i < WORKERS; i++)
        seen |= 1u << queue_of(&f, spawn_at(&f, PLACE_PINNED, ENGINE_ANYWHERE)).place;
    assert_int_equal(seen, (1u << WORKERS) - 1);
    assert_int_equal(try_spawn(&f, PLACE_PINNED, WORKERS, &ref), -ENODEV);
    assert_int_equal(try_spawn(&f, PLACE_PINNED, 1000, &ref), -ENODEV);
    placed_end(&f);
}

/* Its worker is stuck: nobody else runs a pinned actor. */
static void test_pinned_is_not_stolen(void **state)
{
    (void)state;
    struct engine_fixture f;
    placed_begin(&f);
    actor_ref blocker = spawn_at(&f, PLACE_PINNED, 1), other = spawn_at(&f, PLACE_SPREAD, 0);
    assert_int_equal(engine_actor_send(f.engine, blocker, block_type, NULL, 0), 0);
    assert_true(engine_fixture_until(atomic_load(&block_entered) == 1));
    uint32_t before = atomic_load(&answered);
    assert_int_equal(engine_actor_send(f.engine, blocker, ask_type, NULL, 0), 0);
    for (unsigned i = 0; i < 50; i++)
        (void)ask(&f, other); /* the others are awake, and search */
    assert_int_equal(atomic_load(&answered), before + 50);
    atomic_store(&block_release, 1);
    assert_true(engine_fixture_until(atomic_load(&answered) == before + 51));
    placed_end(&f);
}

static void test_follow(void **state)
{
    (void)state;
    struct engine_fixture f;
    placed_begin(&f);
    for (uint32_t i = 0; i < 2 * ODEON_FOLLOW_QUEUES; i++) {
        actor_ref ref = spawn_at(&f, PLACE_FOLLOW, 0);
        assert_string_equal(queue_of(&f, ref).kind, "follow");
        assert_true(ask(&f, ref) < WORKERS);
    }
    placed_end(&f);
}

static void test_detached(void **state)
{
    (void)state;
    struct engine_fixture f;
    actor_ref ref[DETACHED], more;
    placed_begin(&f);
    for (uint32_t i = 0; i < DETACHED; i++) {
        ref[i] = spawn_at(&f, PLACE_DETACHED, 0);
        for (unsigned k = 0; k < 20; k++)
            assert_int_equal(ask(&f, ref[i]), WORKERS_MAX + i);
    }
    assert_int_equal(try_spawn(&f, PLACE_DETACHED, 0, &more), -ENOSPC);
    /* both block, and everybody else goes on */
    for (uint32_t i = 0; i < DETACHED; i++)
        assert_int_equal(engine_actor_send(f.engine, ref[i], block_type, NULL, 0), 0);
    assert_true(engine_fixture_until(atomic_load(&block_entered) == DETACHED));
    more = spawn_at(&f, PLACE_SPREAD, 0);
    for (unsigned k = 0; k < 20; k++)
        assert_true(ask(&f, more) < WORKERS);
    atomic_store(&block_release, 1);
    /* one ends: its thread is for the next one */
    for (unsigned k = 0; k < 20; k++) {
        assert_int_equal(engine_actor_send(f.engine, ref[1], stop_type, NULL, 0), 0);
        assert_true(engine_fixture_until(try_spawn(&f, PLACE_DETACHED, 0, &ref[1]) == 0));
        assert_int_equal(ask(&f, ref[1]), WORKERS_MAX + 1);
    }
    placed_end(&f);
}

/* What comes to nothing leaves the thread free: a name that is taken, an init that fails. */
static void test_detached_undone(void **state)
{
    (void)state;
    struct engine_fixture f;
    placed_begin(&f);
    struct engine_spawn named = { .name = "taken" },
                        failing = { .placement = PLACE_DETACHED, .args = "x", .args_size = 1 };
    actor_ref ref;
    assert_int_equal(engine_actor_spawn_placed(f.engine, probe_type, &named, &ref), 0);
    actor_ref parent = spawn_at(&f, PLACE_SPREAD, 0);
    for (unsigned i = 0; i < 3 * DETACHED; i++) {
        assert_int_equal(
            order_spawn(&f, parent, (struct order){ .placement = PLACE_DETACHED, .named = 1 }),
            -EEXIST);
        uint32_t before = atomic_load(&n_init);
        assert_true(engine_fixture_until(
            engine_actor_spawn_placed(f.engine, probe_type, &failing, &ref) == 0));
        assert_true(engine_fixture_until(atomic_load(&n_init) > before));
    }
    /* spawned by an actor, on whatever thread; by a detached one, too */
    assert_true(engine_fixture_until(
        order_spawn(&f, parent, (struct order){ .placement = PLACE_DETACHED }) == 0));
    parent = atomic_load(&child);
    assert_true(ask(&f, parent) >= WORKERS_MAX);
    assert_true(engine_fixture_until(
        order_spawn(&f, parent, (struct order){ .placement = PLACE_DETACHED }) == 0));
    assert_true(ask(&f, atomic_load(&child)) >= WORKERS_MAX);
    assert_int_equal(order_spawn(&f, parent, (struct order){ .placement = PLACE_DETACHED }),
                     -ENOSPC);
    placed_end(&f);
}

static void test_other_refusals(void **state)
{
    (void)state;
    struct engine_fixture f;
    actor_ref ref;
    placed_begin(&f);
    assert_int_equal(try_spawn(&f, PLACE_N, 0, &ref), -EINVAL);
    assert_int_equal(try_spawn(&f, (enum engine_placement)77, 0, &ref), -EINVAL);
    actor_ref parent = spawn_at(&f, PLACE_SPREAD, 0);
    assert_int_equal(order_spawn(&f, parent, (struct order){ .placement = PLACE_N }), -EINVAL);
    assert_int_equal(order_spawn(&f, parent, (struct order){ .placement = PLACE_NODE, .place = 9 }),
                     -ENODEV);
    assert_int_equal(
        order_spawn(&f, parent, (struct order){ .placement = PLACE_PINNED, .place = 9 }), -ENODEV);
    struct engine_queue_view view;
    assert_int_equal(engine_queue_get(f.engine, f.engine->segment.n_mailboxes, &view), -ENOENT);
    uint64_t live;
    /* and what was refused does not count */
    assert_int_equal(engine_actor_type_retire(f.engine, probe_type, &live), -EBUSY);
    assert_int_equal(live, 1);
    placed_end(&f);
}

/* A type goes when its detached actor's thread has left its code. */
static void test_retire_a_type(void **state)
{
    (void)state;
    struct engine_fixture f;
    placed_begin(&f);
    for (unsigned i = 0; i < 50; i++) {
        actor_ref ref = spawn_at(&f, PLACE_DETACHED, 0);
        uint64_t live;
        assert_int_equal(engine_actor_send(f.engine, ref, stop_type, NULL, 0), 0);
        assert_true(
            engine_fixture_until(engine_actor_type_retire(f.engine, probe_type, &live) == 0));
        assert_int_equal(try_spawn(&f, PLACE_DETACHED, 0, &ref), -ENOENT);
        register_probe(&f);
    }
    placed_end(&f);
}

/* Placement is for life, over restarts; threads of detached actors come back with what waits for
 * them. */
static void test_recovery(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct engine_recovery report;
    placed_begin(&f);
    actor_ref detached = spawn_at(&f, PLACE_DETACHED, 0), pinned = spawn_at(&f, PLACE_PINNED, 2),
              follow = spawn_at(&f, PLACE_FOLLOW, 0);
    (void)ask(&f, detached);
    uint32_t queues[] = { queue_of(&f, detached).queue, queue_of(&f, pinned).queue,
                          queue_of(&f, follow).queue };
    engine_stop(f.engine);
    /* nobody runs it any more */
    assert_int_equal(engine_actor_send(f.engine, detached, ask_type, NULL, 0), 0);
    uint32_t before = atomic_load(&answered);
    f.engine = engine_close(f.engine);
    engine_fixture_reopen(&f, &report);
    register_probe(&f);
    assert_int_equal(engine_start(f.engine), 0);
    assert_true(engine_fixture_until(atomic_load(&answered) == before + 1));
    assert_int_equal(atomic_load(&ran_by), WORKERS_MAX);
    assert_int_equal(queue_of(&f, detached).queue, queues[0]);
    assert_int_equal(queue_of(&f, detached).actors, 1);
    assert_int_equal(queue_of(&f, pinned).queue, queues[1]);
    assert_int_equal(ask(&f, pinned), 2);
    assert_int_equal(queue_of(&f, follow).queue, queues[2]);
    actor_ref more;
    assert_int_equal(try_spawn(&f, PLACE_DETACHED, 0, &more), 0); /* the other one */
    assert_int_equal(try_spawn(&f, PLACE_DETACHED, 0, &more), -ENOSPC);
    placed_end(&f);
}

/* ---- memory ---- */

static struct bind_call {
    uint8_t *address;
    uint64_t bytes;
    int node;
} calls[CALLS_MAX];
static uint32_t n_calls;

static int note_bind(void *userdata, void *address, uint64_t bytes, int node)
{
    assert_true(n_calls < CALLS_MAX);
    calls[n_calls++] = (struct bind_call){ address, bytes, node };
    return *(int *)userdata;
}

static int node_asked_for(const uint8_t *address)
{
    for (uint32_t i = 0; i < n_calls; i++)
        if (address >= calls[i].address && address < calls[i].address + calls[i].bytes)
            return calls[i].node;
    return -1;
}

static void test_memory_is_bound(void **state)
{
    (void)state;
    struct engine_fixture f;
    static const int some_nodes[WORKERS_MAX] = { 0, 1, -1, 2 };
    struct engine_config config = placed_config();
    for (int result = 0; result >= -EINVAL; result -= EINVAL) {
        n_calls = 0;
        config.nodes = some_nodes;
        config.bind_memory = note_bind;
        config.userdata = &result;
        engine_fixture_open(&f, config);
        const struct segment *s = &f.engine->segment;
        for (uint32_t queue = 0; queue < s->n_queues; queue++) {
            uint32_t index;
            enum queue_range range = segment_queue_range(s, segment_mailbox(s, queue), &index);
            int node = range == QUEUE_ORDINARY || range == QUEUE_PINNED || range == QUEUE_ASIDE
                           ? some_nodes[index]
                           : -1;
            for (unsigned buffer = 0; buffer < 2; buffer++) {
                assert_int_equal(node_asked_for(segment_window(s, queue, buffer)), node);
                assert_int_equal(node_asked_for(segment_window(s, queue, buffer) +
                                                segment_window_bytes(s, queue) - 1),
                                 node);
            }
        }
        for (uint32_t id = 0; id < s->n_ids; id++) {
            assert_int_equal(node_asked_for(segment_outbox(s, id)),
                             id < WORKERS_MAX ? some_nodes[id] : -1);
            assert_int_equal(node_asked_for((const uint8_t *)f.engine->workers[id]),
                             id < WORKERS_MAX ? some_nodes[id] : -1);
        }
        assert_int_equal(engine_fixture_stat(&f, STAT_memory_binds_failed), result ? n_calls : 0);
        engine_fixture_close(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spread),
        cmocka_unit_test(test_spread_blocks),
        cmocka_unit_test(test_blocks_end_in_any_order),
        cmocka_unit_test(test_near),
        cmocka_unit_test(test_near_a_retired_queue),
        cmocka_unit_test(test_node),
        cmocka_unit_test(test_pinned),
        cmocka_unit_test(test_pinned_is_not_stolen),
        cmocka_unit_test(test_follow),
        cmocka_unit_test(test_detached),
        cmocka_unit_test(test_detached_undone),
        cmocka_unit_test(test_other_refusals),
        cmocka_unit_test(test_retire_a_type),
        cmocka_unit_test(test_recovery),
        cmocka_unit_test(test_memory_is_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
