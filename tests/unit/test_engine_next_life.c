/* SPDX-License-Identifier: Apache-2.0 */
/* What an actor is owed behind a restart: that it begins again if it lives by its timer, whatever
 * it was doing when the executor ended, that nothing of it is spent while its type is not run, and
 * that it ends, or does not, by the policy that its type has by then. Where nothing is started,
 * workers and control thread are this thread. */
#include "daemon/engine/commit/outbox.h"
#include "daemon/engine/send/flush.h"
#include "daemon/engine/timers/owed.h"
#include "daemon/engine/timers/timer_fire.h"
#include "daemon/engine/timers/timers.h"
#include "timer_fixture.h"

#define PERIOD_NS UINT64_C(1000000)

static struct engine_fixture f;
static uint16_t tick_type;
static uint32_t poller_type, keeper_type, plain_type, watched_type, watcher_type;
static enum engine_restart policy; /* of the watched one's type */
static actor_ref watched;
static _Atomic uint32_t told; /* the reason */
static struct {
    _Atomic unsigned inits;
    unsigned ticks;
    uint64_t missed; /* as the last tick says */
} seen;

static int on_init(void *self, const void *args, size_t size, struct engine_context *ctx)
{
    const struct engine_timer_times times = { .delay_ns = PERIOD_NS, .period_ns = PERIOD_NS };
    uint64_t id;

    (void)self, (void)args, (void)size;
    seen.inits++;
    return engine_ctx_send_after(ctx, ctx->self, tick_type, 0, NULL, 0, &times, &id);
}

static int on_plain_init(void *self, const void *args, size_t size, struct engine_context *ctx)
{
    (void)self, (void)args, (void)size, (void)ctx;
    seen.inits++;
    return 0;
}

static int on_tick(void *self, const void *message, struct engine_context *ctx)
{
    (void)self, (void)message;
    seen.ticks++;
    seen.missed = ctx->kind & UINT32_MAX;
    return ALLOCATION_NODELETE;
}

static int on_watch(void *self, const void *message, struct engine_context *ctx)
{
    uint64_t id;

    (void)self, (void)message;
    assert_int_equal(engine_ctx_monitor(ctx, watched, &id), 0);
    return ALLOCATION_NODELETE;
}

static int on_down(void *self, const void *message, struct engine_context *ctx)
{
    const struct down *down = message;

    (void)self, (void)ctx;
    store_relaxed(&told, down->reason);
    return ALLOCATION_NODELETE;
}

static void register_watch_types(void)
{
    const struct engine_behaviour behaviours[] = {
        { tick_type, 0, false, on_watch },
        { MESSAGE_TYPE_DOWN, sizeof(struct down), false, on_down },
    };
    struct engine_actor_type_info info = {
        .name = "watched",
        .plugin = "test",
        .version = 1,
        .state_size = 8,
        .restart = policy,
        .n_behaviours = 1,
        .behaviours = behaviours,
    };

    assert_int_equal(engine_actor_type_register(f.engine, &info, &watched_type), 0);
    info.name = "watcher";
    info.restart = RESTART_KEEP;
    info.n_behaviours = 2;
    assert_int_equal(engine_actor_type_register(f.engine, &info, &watcher_type), 0);
}

static void register_type(const char *name, enum engine_restart restart, engine_init_fn init,
                          uint32_t *ret_type)
{
    const struct engine_behaviour behaviours[] = { { tick_type, 0, false, on_tick } };
    const struct engine_actor_type_info info = {
        .name = name,
        .plugin = "test",
        .version = 1,
        .state_size = 8,
        .restart = restart,
        .n_behaviours = 1,
        .behaviours = behaviours,
        .init = init,
    };

    assert_int_equal(engine_actor_type_register(f.engine, &info, ret_type), 0);
}

static void register_types(void)
{
    tick_type = engine_fixture_message(&f, "tick", 0, false);
    register_type("poller", RESTART_INIT, on_init, &poller_type);
    register_type("keeper", RESTART_KEEP, on_init, &keeper_type);
    register_type("plain", RESTART_INIT, on_plain_init, &plain_type);
    register_watch_types();
}

static void register_nothing(void)
{
}

static void restart_with(void (*register_some)(void))
{
    timer_fixture_restart(&f, register_some);
    memset(&seen, 0, sizeof(seen));
}

static void restart(void)
{
    restart_with(register_types);
}

static void register_in_quarantine(void)
{
    register_types();
    store_relaxed(&f.engine->segment.actor_types[poller_type].quarantined, 1);
    store_relaxed(&f.engine->segment.actor_types[keeper_type].quarantined, 1);
}

static void release(void)
{
    assert_int_equal(engine_actor_type_release(f.engine, poller_type), 0);
    assert_int_equal(engine_actor_type_release(f.engine, keeper_type), 0);
}

static int open_with(struct engine_config config)
{
    engine_fixture_open(&f, config);
    policy = RESTART_INIT;
    register_types();
    memset(&seen, 0, sizeof(seen));
    return 0;
}

static int setup(void **state)
{
    (void)state;
    return open_with(timer_fixture_config());
}

/* Two queues, which are soon full. */
static int setup_narrow(void **state)
{
    struct engine_config config = timer_fixture_config();

    (void)state;
    config.queues_per_worker = 2;
    config.limit_bytes = 4096;
    return open_with(config);
}

static int teardown(void **state)
{
    (void)state;
    engine_fixture_close(&f);
    return 0;
}

/* What is due so long from now is sent, and run. */
static void look(uint64_t later_ns)
{
    while (timer_fire_due(f.engine, clock_now_ns() + later_ns))
        timer_fixture_run(&f);
    timer_fixture_run(&f);
}

static actor_ref spawn_and_begin(uint32_t type)
{
    actor_ref ref = engine_fixture_spawn(&f, type, NULL, 0);

    timer_fixture_run(&f);
    assert_int_equal(seen.inits, 1);
    look(PERIOD_NS);
    assert_true(seen.ticks > 0);
    return ref;
}

static const char *state_of(actor_ref ref)
{
    struct engine_actor_view view;

    assert_int_equal(engine_actor_get(f.engine, ref, &view), 0);
    return view.state;
}

/* ---- set aside */

/* As set_aside.h leaves an actor whose handler hangs in its timer's message: that lies in the aside
 * queue of its worker. */
static void hangs_in_its_tick(void)
{
    struct engine *e = f.engine;
    const struct segment_timer *timer = &e->segment.timers[0];
    const struct envelope *message = segment_timer_message(&e->segment, timer);
    uint64_t size = envelope_record_size(message);
    struct envelope *tick = outbox_append(e->control, e->segment.aside_first, size);

    memcpy(tick, message, size);
    envelope_word_put(tick, PREFIX_KIND,
                      envelope_kind_timer(0) | (uint64_t)timer_tag(timer_id(&e->segment, 0)) << 32);
    commit_flip(e->control, 0, 0, 0, e->control->outbox.length, 0, 0);
    flush_control(e->control);
}

static void test_who_was_set_aside(void **state)
{
    actor_ref poller = spawn_and_begin(poller_type);

    (void)state;
    hangs_in_its_tick();
    restart();
    assert_int_equal(load_relaxed(&f.engine->aside[0]), poller);
    assert_string_equal(state_of(poller), "new");
    look(0);
    assert_int_equal(engine_fixture_stat(&f, STAT_timers_revoked), 1);
    assert_int_equal(seen.inits, 1);
    assert_string_equal(state_of(poller), "live");
    look(PERIOD_NS);
    assert_true(seen.ticks > 0);
}

/* Its ticks went on to the aside queue until that took no more. */
static void test_who_was_set_aside_for_long(void **state)
{
    actor_ref poller = spawn_and_begin(poller_type);
    const struct segment *segment = &f.engine->segment;
    const struct segment_queue *aside = &segment->queues[segment->aside_first];

    (void)state;
    do
        hangs_in_its_tick();
    while (queue_backlog_bytes(aside) <= f.config.limit_bytes);
    restart();
    look(0);
    assert_int_equal(seen.inits, 1);
    assert_string_equal(state_of(poller), "live");
    assert_int_equal(engine_fixture_stat(&f, STAT_dead_letters), 0);
}

/* ---- not run */

static void assert_spends_nothing(void (*restarted)(void), void (*is_run_again)(void))
{
    actor_ref keeper = spawn_and_begin(keeper_type);

    restart_with(restarted);
    for (unsigned i = 1; i <= 3; i++)
        look(i * 2 * UINT64_C(1000000000));
    assert_int_equal(engine_fixture_stat(&f, STAT_dead_letters), 0);
    assert_int_equal(seen.ticks, 0);
    is_run_again();
    look(UINT64_C(8000000000));
    assert_int_equal(seen.inits, 0);
    assert_int_equal(seen.ticks, 1);
    assert_in_range(seen.missed, 7900, 1000000);
    assert_in_range(engine_fixture_stat(&f, STAT_timers_missed), seen.missed, 1000000);
    assert_string_equal(state_of(keeper), "live");
}

static void test_ticks_without_a_plugin(void **state)
{
    (void)state;
    assert_spends_nothing(register_nothing, register_types);
}

static void test_ticks_in_quarantine(void **state)
{
    (void)state;
    assert_spends_nothing(register_in_quarantine, release);
}

static void assert_begins_when_run(void (*restarted)(void), void (*is_run_again)(void))
{
    actor_ref poller = spawn_and_begin(poller_type);

    restart_with(restarted);
    look(0);
    assert_int_equal(seen.inits, 0);
    assert_int_equal(f.engine->timers.n, 0);
    is_run_again();
    look(0);
    assert_int_equal(seen.inits, 1);
    assert_string_equal(state_of(poller), "live");
    look(PERIOD_NS);
    assert_true(seen.ticks > 0);
}

static void test_begins_with_its_plugin(void **state)
{
    (void)state;
    assert_begins_when_run(register_nothing, register_types);
}

static void test_begins_when_released(void **state)
{
    (void)state;
    assert_begins_when_run(register_in_quarantine, release);
}

/* What is owed is known to the segment. */
static void test_begins_behind_a_kill(void **state)
{
    (void)state;
    (void)spawn_and_begin(poller_type);
    restart_with(register_in_quarantine);
    look(0);
    release();
    restart();
    look(0);
    assert_int_equal(seen.inits, 1);
}

static uint32_t queue_of(actor_ref ref)
{
    struct engine_actor_view view;

    assert_int_equal(engine_actor_get(f.engine, ref, &view), 0);
    return view.queue;
}

static void run_queue(uint32_t queue)
{
    while (urgent_mailbox_has_work(f.engine, queue) && owner_take(&f.engine->sources[queue], 0, 0))
        mailbox_run(f.engine->workers[0], queue, false);
}

/* A queue that is full and is not run, of the first of them, keeps those behind it waiting for
 * nothing. */
static void test_begins_beside_a_full_queue(void **state)
{
    uint64_t now_ns = clock_now_ns();
    actor_ref first = engine_fixture_spawn(&f, plain_type, NULL, 0), other;

    (void)state;
    uint64_t others = 0;

    do {
        other = engine_fixture_spawn(&f, plain_type, NULL, 0);
        others++;
    } while (queue_of(other) == queue_of(first));
    restart_with(register_nothing);
    timer_fixture_run(&f);
    assert_string_equal(state_of(other), "new");
    while (engine_actor_send(f.engine, first, tick_type, NULL, 0) == 0)
        continue;
    register_types();
    for (unsigned i = 0; i < 100; i++) {
        now_ns += PERIOD_NS * 200;
        (void)timer_fire_due(f.engine, now_ns);
    }
    /* however often that one is looked for, the others have one record each */
    assert_in_range(queue_backlog_bytes(&f.engine->segment.queues[queue_of(other)]), 1,
                    others * envelope_size(0));
    run_queue(queue_of(other));
    assert_string_equal(state_of(other), "live");
    assert_string_equal(state_of(first), "new");
    look(PERIOD_NS);
    assert_string_equal(state_of(first), "live");
    assert_int_equal(f.engine->segment.actor_types[plain_type].owed, 1);
    look(UINT64_C(30000000000)); /* behind the looks above */
    look(UINT64_C(31000000000));
    assert_int_equal(f.engine->segment.actor_types[plain_type].owed, 0);
}

/* Of one that keeps its state, too, whose init record came when its type was not run. */
static void test_a_kept_one_begins_with_its_plugin(void **state)
{
    actor_ref keeper = engine_fixture_spawn(&f, keeper_type, NULL, 0);

    (void)state;
    restart_with(register_nothing);
    timer_fixture_run(&f);
    register_types();
    look(0);
    assert_int_equal(seen.inits, 1);
    assert_string_equal(state_of(keeper), "live");
}

/* No look takes them all; and a kill in between has it begin anew. */
static void test_many_begin_with_their_plugin(void **state)
{
    enum { MANY = 5000 };

    (void)state;
    for (unsigned i = 0; i < MANY; i++)
        (void)engine_fixture_spawn(&f, plain_type, NULL, 0);
    restart_with(register_nothing);
    timer_fixture_run(&f);
    register_types();
    assert_true(timer_fire_due(f.engine, clock_now_ns()));
    timer_fixture_run(&f);
    assert_in_range(seen.inits, 1, MANY / 8);
    restart();
    assert_true(timer_fire_due(f.engine, clock_now_ns()));
    owed_note(f.engine, plain_type); /* by a worker who then sees that it is run */
    look(0);
    assert_int_equal(seen.inits, MANY);
    assert_int_equal(load_relaxed(&f.engine->segment.actor_types[plain_type].owed), 0);
}

static bool all_live(const actor_ref *refs, unsigned n)
{
    engine_timers_look(f.engine);
    for (unsigned i = 0; i < n; i++)
        if (strcmp(state_of(refs[i]), "live") != 0)
            return false;
    return true;
}

/* The plugin comes while a worker refuses their init records. */
static void test_begins_with_its_plugin_beside_a_worker(void **state)
{
    enum { SOME = 50 };
    actor_ref refs[SOME];

    (void)state;
    for (unsigned round = 0; round < TEST_SCALE(100); round++) {
        for (unsigned i = 0; i < SOME; i++)
            refs[i] = engine_fixture_spawn(&f, plain_type, NULL, 0);
        restart_with(register_nothing);
        assert_int_equal(engine_start(f.engine), 0);
        for (uint64_t until = clock_now_ns() + round * 2000; clock_now_ns() < until;)
            ;
        register_types();
        assert_true(engine_fixture_until(all_live(refs, SOME)));
        engine_stop(f.engine);
        restart();
    }
}

/* ---- a first message that is given up */

static actor_ref newborn;

static int run_spawn_and_send(struct engine_context *ctx)
{
    assert_int_equal(engine_ctx_spawn(ctx, poller_type, &(struct engine_spawn){ 0 }, &newborn), 0);
    return engine_ctx_send(ctx, newborn, tick_type, 0, NULL, 0);
}

/* It is the one record that waits: an init record has been spared. */
static struct envelope *spawn_and_send(void)
{
    struct engine_actor_view view;

    assert_int_equal(engine_run(f.engine, run_spawn_and_send), 0);
    assert_int_equal(engine_actor_get(f.engine, newborn, &view), 0);
    assert_int_equal(view.queue_bytes, envelope_size(0));
    const struct segment_queue *queue = &f.engine->segment.queues[view.queue];
    return (struct envelope *)segment_window(&f.engine->segment, view.queue,
                                             queue_active(load_relaxed(&queue->sel)));
}

static void assert_begins_without_it(void)
{
    assert_string_equal(state_of(newborn), "new");
    timer_fixture_run(&f);
    assert_int_equal(engine_fixture_stat(&f, STAT_dead_letters), 1);
    assert_int_equal(seen.inits, 1);
    assert_string_equal(state_of(newborn), "live");
    look(PERIOD_NS);
    assert_true(seen.ticks > 0);
}

static void test_whose_first_message_has_crashed(void **state)
{
    (void)state;
    spawn_and_send()->attempts = (uint8_t)f.config.attempts_max;
    restart();
    assert_begins_without_it();
}

static void test_whose_first_message_is_suspected(void **state)
{
    struct envelope *first = spawn_and_send();

    (void)state;
    f.config.suspect_deaths = 2;
    first->flags |= ENVELOPE_SUSPECT;
    first->behaviour = 2;
    restart();
    assert_begins_without_it();
}

/* ---- by the policy that holds */

static void assert_lives(bool lives)
{
    actor_ref found;

    assert_int_equal(engine_actor_lookup(f.engine, "watched", &found), lives ? 0 : -ENOENT);
}

static void assert_ends_as(enum engine_restart before, enum engine_restart after,
                           enum envelope_reason reason)
{
    policy = before;
    restart();
    assert_int_equal(engine_actor_spawn(f.engine, watched_type, "watched", NULL, 0, &watched), 0);
    actor_ref watcher = engine_fixture_spawn(&f, watcher_type, NULL, 0);
    assert_int_equal(engine_actor_send(f.engine, watcher, tick_type, NULL, 0), 0);
    timer_fixture_run(&f);
    look(0);
    policy = after;
    restart();
    store_relaxed(&told, REASON_NONE);
    assert_int_equal(engine_start(f.engine), 0);
    assert_true(
        engine_fixture_until((engine_timers_look(f.engine), load_relaxed(&told) != REASON_NONE)));
    assert_int_equal(load_relaxed(&told), reason);
    assert_lives(reason == REASON_BEGUN_ANEW);
    engine_stop(f.engine);
}

static void test_who_ends_by_now(void **state)
{
    (void)state;
    assert_ends_as(RESTART_INIT, RESTART_STOP, REASON_NOT_RESUMED);
}

static void test_who_begins_by_now(void **state)
{
    (void)state;
    assert_ends_as(RESTART_STOP, RESTART_INIT, REASON_BEGUN_ANEW);
}

static int run_make_watched(struct engine_context *ctx)
{
    return engine_ctx_spawn(ctx, watched_type, &(struct engine_spawn){ .name = "watched" },
                            &watched);
}

/* By the start of a plugin, which comes before that of the workers: in each life anew. */
static void test_who_is_made_before_the_start(void **state)
{
    (void)state;
    policy = RESTART_STOP;
    for (unsigned life = 0; life < 2; life++) {
        restart();
        assert_int_equal(engine_run(f.engine, run_make_watched), 0);
        assert_int_equal(engine_start(f.engine), 0);
        assert_lives(true);
        engine_stop(f.engine);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
        TEST(who_was_set_aside),
        cmocka_unit_test_setup_teardown(test_who_was_set_aside_for_long, setup_narrow, teardown),
        TEST(ticks_without_a_plugin),
        TEST(ticks_in_quarantine),
        TEST(begins_with_its_plugin),
        TEST(begins_when_released),
        TEST(begins_behind_a_kill),
        cmocka_unit_test_setup_teardown(test_begins_beside_a_full_queue, setup_narrow, teardown),
        TEST(a_kept_one_begins_with_its_plugin),
        TEST(many_begin_with_their_plugin),
        TEST(begins_with_its_plugin_beside_a_worker),
        TEST(whose_first_message_has_crashed),
        TEST(whose_first_message_is_suspected),
        TEST(who_ends_by_now),
        TEST(who_begins_by_now),
        TEST(who_is_made_before_the_start),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
