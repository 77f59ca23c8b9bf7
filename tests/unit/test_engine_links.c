/* SPDX-License-Identifier: Apache-2.0 */
/* Links (asks/link.h): a child ends with its parent, whatever dies; and spawning or finding, in one
 * step. Workers and control thread are this thread. */
#include "daemon/engine/timers/timer_fire.h"
#include "daemon/engine/timers/timers.h"
#include "timer_fixture.h"

#define LATER (clock_now_ns() + UINT64_C(3600000000000))

enum act { ACT_NOTHING, ACT_SPAWN, ACT_SPAWN_DIE, ACT_CANCEL, ACT_MONITOR, ACT_END };
struct orders {
    enum act act;
    uint32_t type;
    struct engine_spawn spawn;
    uint64_t id;
    uint32_t n;
    actor_ref to;
};
struct shared {
    struct orders orders;
    int result;
    actor_ref child;
    uint64_t n_inits, n_finis, monitor;
};

static struct engine_fixture f;
static struct shared *shared;
static uint16_t go_type;
static uint32_t kept_type, plain_type, stop_type;
static actor_ref parent;

static void run_queues(void)
{
    timer_fixture_run(&f);
}

static void fire(uint64_t now_ns)
{
    while (timer_fire_due(f.engine, now_ns))
        run_queues();
    run_queues();
}

static int on_go(void *self, const void *message, struct engine_context *ctx)
{
    const struct orders o = shared->orders;

    (void)self, (void)message;
    for (uint32_t i = 0; (o.act == ACT_SPAWN || o.act == ACT_SPAWN_DIE) && i < (o.n ? o.n : 1); i++)
        shared->result = engine_ctx_spawn(ctx, o.type, &o.spawn, &shared->child);
    if (o.act == ACT_CANCEL)
        shared->result =
            engine_ctx_timer_cancel(ctx, o.id) == -ENOENT ? engine_ctx_demonitor(ctx, o.id) : 0;
    if (o.act == ACT_MONITOR)
        shared->result = engine_ctx_monitor(ctx, o.to, &shared->monitor);
    if (o.act == ACT_SPAWN_DIE)
        raise(SIGKILL);
    return o.act == ACT_END ? ALLOCATION_DELETE : ALLOCATION_NODELETE;
}

static int on_init(void *self, const void *args, size_t size, struct engine_context *ctx)
{
    (void)self, (void)args, (void)size, (void)ctx;
    shared->n_inits++;
    return 0;
}

static void on_fini(void *self, struct engine_context *ctx)
{
    (void)self, (void)ctx;
    shared->n_finis++;
}

static int on_down(void *self, const void *message, struct engine_context *ctx)
{
    (void)self, (void)message, (void)ctx;
    return ALLOCATION_NODELETE;
}

static void register_type(const char *name, enum engine_restart restart, uint32_t *ret_type)
{
    static struct engine_behaviour behaviours[2];
    const struct engine_actor_type_info info = { .name = name,
                                                 .plugin = "test",
                                                 .version = 1,
                                                 .state_size = 8,
                                                 .restart = restart,
                                                 .n_behaviours = 2,
                                                 .behaviours = behaviours,
                                                 .init = on_init,
                                                 .fini = on_fini };

    behaviours[0] = (struct engine_behaviour){ go_type, 0, 0, on_go };
    behaviours[1] = (struct engine_behaviour){ MESSAGE_TYPE_DOWN, sizeof(struct down), 0, on_down };
    assert_int_equal(engine_actor_type_register(f.engine, &info, ret_type), 0);
}

static void register_types(void)
{
    go_type = engine_fixture_message(&f, "go", 0, false);
    register_type("kept", RESTART_KEEP, &kept_type);
    register_type("plain", RESTART_INIT, &plain_type);
    register_type("stop", RESTART_STOP, &stop_type);
}

static int setup(void **state)
{
    (void)state;
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(shared, MAP_FAILED);
    engine_fixture_open(&f, timer_fixture_config());
    register_types();
    parent = engine_fixture_spawn(&f, kept_type, NULL, 0);
    run_queues();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    timer_fixture_assert_books(&f);
    engine_fixture_close(&f);
    munmap(shared, sizeof(*shared));
    return 0;
}

static void order_of(actor_ref who, struct orders orders)
{
    shared->orders = orders;
    assert_int_equal(engine_actor_send(f.engine, who, go_type, NULL, 0), 0);
    run_queues();
}

static void spawn_of(actor_ref who, uint32_t type, const char *name)
{
    order_of(who, (struct orders){
                      .act = ACT_SPAWN, .type = type, .spawn = { .link = true, .name = name } });
    assert_int_equal(shared->result, 0);
}

static bool lives(actor_ref who)
{
    struct engine_actor_view view;

    return engine_actor_get(f.engine, who, &view) == 0;
}

static void restart(void)
{
    timer_fixture_restart(&f, register_types);
}

static void carry_out(void)
{
    order_of(parent, shared->orders);
}

static void test_ends_with_its_parent(void **state)
{
    (void)state;
    spawn_of(parent, plain_type, NULL);
    actor_ref child = shared->child;
    fire(LATER);
    assert_true(lives(child));
    order_of(parent, (struct orders){ .act = ACT_END });
    fire(clock_now_ns());
    assert_false(lives(child));
    assert_int_equal(shared->n_finis, 2); /* its parent's, and its own */
    assert_int_equal(engine_fixture_stat(&f, STAT_links_ended), 1);
    assert_int_equal(f.engine->timers.n, 0);
}

static void test_ends_before_its_parent(void **state)
{
    (void)state;
    spawn_of(parent, kept_type, NULL);
    order_of(shared->child, (struct orders){ .act = ACT_END });
    fire(clock_now_ns());
    assert_int_equal(f.engine->timers.n, 0);
    assert_true(lives(parent));
}

static void test_children_of_children(void **state)
{
    actor_ref refs[5] = { parent };

    (void)state;
    for (int i = 1; i < 5; i++) {
        spawn_of(refs[i - 1], i % 2 ? plain_type : kept_type, NULL);
        refs[i] = shared->child;
    }
    order_of(parent, (struct orders){ .act = ACT_END });
    for (int i = 0; i < 5; i++)
        fire(clock_now_ns());
    for (int i = 0; i < 5; i++)
        assert_false(lives(refs[i]));
    assert_int_equal(f.engine->timers.n, 0);
}

/* watches.W6: of a parent that keeps its state all go on, also those that begin anew. */
static void test_over_a_restart(void **state)
{
    (void)state;
    spawn_of(parent, plain_type, NULL);
    actor_ref child = shared->child;
    for (int i = 0; i < 3; i++) {
        restart();
        fire(LATER);
        assert_true(lives(child));
    }
    order_of(parent, (struct orders){ .act = ACT_END });
    restart();
    assert_false(lives(child));
    fire(clock_now_ns());
    assert_int_equal(f.engine->timers.n, 0);
}

/* ... of one that does not, they have ended before it begins anew. */
static void test_of_a_parent_that_begins_anew(void **state)
{
    (void)state;
    actor_ref forgetful = engine_fixture_spawn(&f, plain_type, NULL, 0);
    run_queues();
    spawn_of(forgetful, kept_type, "child");
    actor_ref child = shared->child;
    spawn_of(child, kept_type, "grandchild");
    actor_ref grandchild = shared->child;
    shared->n_inits = 0;
    restart();
    assert_false(lives(child) || lives(grandchild));
    assert_true(lives(forgetful));
    assert_int_equal(shared->n_inits, 0);
    spawn_of(forgetful, kept_type, "child"); /* the name is nobody's */
    fire(clock_now_ns());
    assert_true(lives(shared->child));
    assert_int_equal(f.engine->timers.n, 1);
}

static void test_of_a_parent_that_is_not_resumed(void **state)
{
    (void)state;
    actor_ref stops = engine_fixture_spawn(&f, stop_type, NULL, 0);
    run_queues();
    spawn_of(stops, kept_type, NULL);
    restart();
    assert_false(lives(shared->child) || lives(stops));
}

/* Its parent is not run, and is there: no end, over a restart neither. */
static void test_of_a_parent_in_quarantine(void **state)
{
    (void)state;
    spawn_of(parent, plain_type, NULL);
    store_relaxed(&f.engine->segment.actor_types[kept_type].quarantined, 1);
    engine_type_quarantined(f.engine, kept_type);
    fire(LATER);
    restart();
    fire(LATER);
    assert_true(lives(shared->child));
    assert_int_equal(engine_fixture_stat(&f, STAT_links_ended), 0);
}

/* ... unless a restart ends it, or takes its state: the quarantine is not what became of it. */
static void quarantined_over_a_restart(uint32_t type, bool goes_on)
{
    actor_ref quarantined = engine_fixture_spawn(&f, type, NULL, 0);

    run_queues();
    spawn_of(quarantined, kept_type, "child");
    actor_ref child = shared->child;
    spawn_of(child, kept_type, NULL);
    actor_ref grandchild = shared->child;
    store_relaxed(&f.engine->segment.actor_types[type].quarantined, 1);
    engine_type_quarantined(f.engine, type);
    fire(LATER);
    assert_true(lives(child) && lives(grandchild));
    for (int i = 0; i < 2; i++) {
        restart();
        fire(LATER);
        assert_false(lives(child) || lives(grandchild));
        assert_int_equal(lives(quarantined), goes_on);
        assert_int_equal(f.engine->timers.n, 0);
    }
    spawn_of(parent, plain_type, "child"); /* the name is nobody's */
}

static void test_of_a_parent_in_quarantine_that_is_not_resumed(void **state)
{
    (void)state;
    quarantined_over_a_restart(stop_type, false);
}

static void test_of_a_parent_in_quarantine_that_begins_anew(void **state)
{
    (void)state;
    quarantined_over_a_restart(plain_type, true);
}

/* It is stopped, and so is its child, though neither is run. */
static void test_of_a_parent_that_is_stopped_in_quarantine(void **state)
{
    (void)state;
    spawn_of(parent, plain_type, NULL);
    restart();
    store_relaxed(&f.engine->segment.actor_types[kept_type].quarantined, 1);
    store_relaxed(&f.engine->segment.actor_types[plain_type].quarantined, 1);
    assert_int_equal(engine_actor_send(f.engine, parent, MESSAGE_TYPE_POISON_DELETE, NULL, 0), 0);
    run_queues();
    fire(LATER);
    assert_false(lives(shared->child) || lives(parent));
    assert_int_equal(shared->n_finis, 0);
    assert_int_equal(engine_fixture_stat(&f, STAT_links_ended), 1);
}

/* A monitor of somebody who is not there yet does not come between them. */
static void test_beside_a_monitor_of_nobody(void **state)
{
    (void)state;
    spawn_of(parent, plain_type, NULL);
    order_of(shared->child,
             (struct orders){
                 .act = ACT_MONITOR,
                 .to = actor_ref_make(actor_ref_slot(parent), actor_ref_generation(parent) + 7) });
    assert_int_equal(shared->result, 0);
    fire(LATER);
    order_of(parent, (struct orders){ .act = ACT_END });
    fire(LATER);
    assert_false(lives(shared->child));
}

/* Its slot is another one's by the time that its parent loses its state, and nobody has looked at
 * the link: who is there now is nobody's child. */
static void test_of_a_child_that_has_ended(void **state)
{
    actor_ref forgetful = engine_fixture_spawn(&f, plain_type, NULL, 0), others[SLOT_RING], child;

    (void)state;
    for (int i = 0; i < SLOT_RING; i++)
        others[i] = engine_fixture_spawn(&f, kept_type, NULL, 0);
    run_queues();
    spawn_of(forgetful, kept_type, NULL);
    child = shared->child;
    order_of(child, (struct orders){ .act = ACT_END });
    for (int i = 0; i < SLOT_RING; i++) /* actors.A5 */
        order_of(others[i], (struct orders){ .act = ACT_END });
    order_of(parent, (struct orders){ .act = ACT_SPAWN, .type = kept_type });
    assert_int_equal(actor_ref_slot(shared->child), actor_ref_slot(child));
    restart();
    assert_true(lives(shared->child));
    fire(clock_now_ns());
    assert_true(lives(shared->child));
    assert_int_equal(f.engine->timers.n, 0);
}

/* link.LK1 */
static void test_a_turn_that_died(void **state)
{
    (void)state;
    shared->orders =
        (struct orders){ .act = ACT_SPAWN_DIE, .type = plain_type, .spawn = { .link = true } };
    timer_fixture_die(&f, carry_out, register_types);
    assert_int_equal(f.engine->timers.n, 0);
    assert_false(lives(shared->child));
}

/* A spawn that fails leaves no link, and one that finds no room for the link spawns nobody. */
static void test_that_fails(void **state)
{
    uint64_t spawned;

    (void)state;
    spawn_of(parent, plain_type, "once");
    order_of(parent, (struct orders){ .act = ACT_SPAWN,
                                      .type = plain_type,
                                      .spawn = { .link = true, .name = "once" } });
    assert_int_equal(shared->result, -EEXIST);
    fire(LATER);
    assert_int_equal(f.engine->timers.n, 1);
    order_of(parent, (struct orders){ .act = ACT_SPAWN,
                                      .type = plain_type,
                                      .n = 2 * TIMER_FIXTURE_TIMERS,
                                      .spawn = { .link = true } });
    assert_int_equal(shared->result, -EAGAIN);
    assert_int_equal(f.engine->timers.n, TIMER_FIXTURE_TIMERS);
    spawned = engine_fixture_stat(&f, STAT_actors_created);
    order_of(parent, shared->orders);
    assert_int_equal(engine_fixture_stat(&f, STAT_actors_created), spawned);
}

/* Who guesses its number takes nothing back. */
static void test_is_not_cancelled(void **state)
{
    struct engine_timer_view view;

    (void)state;
    spawn_of(parent, plain_type, NULL);
    actor_ref child = shared->child;
    assert_int_equal(engine_timer_next(f.engine, 0, &view), 0);
    assert_int_equal(view.owner, child);
    assert_int_equal(view.watched, parent);
    order_of(child, (struct orders){ .act = ACT_CANCEL, .id = view.id });
    assert_int_equal(shared->result, -ENOENT);
    order_of(parent, (struct orders){ .act = ACT_END });
    fire(clock_now_ns());
    assert_false(lives(child));
}

/* Spawning or finding. */
static void test_finds(void **state)
{
    struct orders orders = { .act = ACT_SPAWN,
                             .type = plain_type,
                             .spawn = { .find = true, .name = "one" } };

    (void)state;
    order_of(parent, orders);
    assert_int_equal(shared->result, 0);
    actor_ref one = shared->child;
    shared->child = 0;
    order_of(parent, orders);
    assert_int_equal(shared->result, 0);
    assert_int_equal(shared->child, one);
    orders.type = kept_type;
    order_of(parent, orders);
    assert_int_equal(shared->result, -EEXIST);
    order_of(one, (struct orders){ .act = ACT_END });
    order_of(parent, orders);
    assert_int_equal(shared->result, 0);
    assert_int_not_equal(shared->child, one);
}

#define LINK_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LINK_TEST(test_ends_with_its_parent),
        LINK_TEST(test_ends_before_its_parent),
        LINK_TEST(test_children_of_children),
        LINK_TEST(test_over_a_restart),
        LINK_TEST(test_of_a_parent_that_begins_anew),
        LINK_TEST(test_of_a_parent_that_is_not_resumed),
        LINK_TEST(test_of_a_parent_in_quarantine),
        LINK_TEST(test_of_a_parent_in_quarantine_that_is_not_resumed),
        LINK_TEST(test_of_a_parent_in_quarantine_that_begins_anew),
        LINK_TEST(test_of_a_parent_that_is_stopped_in_quarantine),
        LINK_TEST(test_beside_a_monitor_of_nobody),
        LINK_TEST(test_of_a_child_that_has_ended),
        LINK_TEST(test_a_turn_that_died),
        LINK_TEST(test_that_fails),
        LINK_TEST(test_is_not_cancelled),
        LINK_TEST(test_finds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
