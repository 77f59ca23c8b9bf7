/* SPDX-License-Identifier: Apache-2.0 */
/* Actors of which nothing is run, because their type is in quarantine or not loaded: they can be
 * stopped all the same, or what would mend it could never be loaded in their plugin's place; and
 * what timers send them fares as what anybody sends. */
#include "daemon/common/clock.h"
#include "daemon/engine/timers/timer_fire.h"
#include "timer_fixture.h"

enum why { IN_QUARANTINE, NOT_LOADED, N_WHYS };

static const enum envelope_reason reason_of[N_WHYS] = { REASON_QUARANTINED,
                                                        REASON_TYPE_NOT_LOADED };
static struct engine_fixture f;
static uint16_t go_type;
static uint32_t n_inits, n_finis, n_goes, type;
static uint64_t found; /* in the state of who is initialised */

static int on_go(void *self, const void *message, struct engine_context *ctx)
{
    (void)message, (void)ctx;
    n_goes++;
    ++*(uint64_t *)self;
    return ALLOCATION_NODELETE;
}

static int on_init(void *self, const void *args, size_t size, struct engine_context *ctx)
{
    (void)args, (void)size, (void)ctx;
    n_inits++;
    found = *(uint64_t *)self;
    return 0;
}

static void on_fini(void *self, struct engine_context *ctx)
{
    (void)self, (void)ctx;
    n_finis++;
}

static void load(enum engine_restart restart)
{
    static struct engine_behaviour behaviour;
    const struct engine_actor_type_info info = { .name = "unrun",
                                                 .plugin = "test",
                                                 .version = 1,
                                                 .state_size = 8,
                                                 .restart = restart,
                                                 .n_behaviours = 1,
                                                 .behaviours = &behaviour,
                                                 .init = on_init,
                                                 .fini = on_fini };

    go_type = engine_fixture_message(&f, "go", 0, false);
    behaviour = (struct engine_behaviour){ go_type, 0, 0, on_go };
    assert_int_equal(engine_actor_type_register(f.engine, &info, &type), 0);
}

static void send(actor_ref to, uint16_t message)
{
    assert_int_equal(engine_actor_send(f.engine, to, message, NULL, 0), 0);
}

/* Another executor, in which nothing of the type is run. */
static void restart_unrun(enum why why, enum engine_restart restart)
{
    struct engine_recovery report;

    f.engine = engine_close(f.engine);
    engine_fixture_reopen(&f, &report);
    if (why == NOT_LOADED)
        return;
    load(restart);
    store_relaxed(&f.engine->segment.actor_types[type].quarantined, 1);
}

/* What waits before it and behind it is kept, with the reason that it has there. */
static void expect_letters(enum why why)
{
    struct engine_dead_letter rows[3];
    bool more;

    assert_int_equal(engine_dead_letters_list(f.engine, 0, rows, 3, &more), 2);
    assert_int_equal(rows[0].message_type, go_type);
    assert_int_equal(rows[0].reason, reason_of[why]);
    assert_int_equal(rows[1].message_type, go_type);
    assert_int_equal(rows[1].reason, REASON_NO_SUCH_ACTOR);
    assert_int_equal(engine_fixture_stat(&f, STAT_dead_letters), 2);
}

/* One of its type is made, and begins with nothing that the one before has left. */
static void load_again(enum why why, enum engine_restart restart)
{
    uint64_t live = 1;

    if (why == IN_QUARANTINE) {
        assert_int_equal(engine_actor_type_retire(f.engine, type, &live), 0);
        assert_int_equal(engine_actor_type_release(f.engine, type), 0);
    }
    load(restart);
    n_inits = n_goes = 0;
    send(engine_fixture_spawn(&f, type, NULL, 0), go_type);
    timer_fixture_run(&f);
    assert_int_equal(n_inits, 1);
    assert_int_equal(n_goes, 1);
    assert_int_equal(found, 0);
}

static void stop_one(enum why why, enum engine_restart restart, bool begun, uint16_t poison)
{
    struct engine_actor_type_view view;
    struct engine_actor_view actor;

    engine_fixture_open(&f, timer_fixture_config());
    load(restart);
    n_inits = n_finis = n_goes = 0;
    actor_ref who = engine_fixture_spawn(&f, type, NULL, 0);
    if (begun) {
        send(who, go_type);
        timer_fixture_run(&f);
    }
    restart_unrun(why, restart);
    send(who, go_type);
    send(who, poison);
    send(who, go_type);
    timer_fixture_run(&f);
    assert_int_equal(engine_actor_get(f.engine, who, &actor), -ESRCH);
    assert_int_equal(engine_actor_type_get(f.engine, type, &view), 0);
    assert_int_equal(view.live, 0);
    assert_int_equal(n_inits, begun);
    assert_int_equal(n_goes, begun);
    assert_int_equal(n_finis, 0);
    expect_letters(why);
    load_again(why, restart);
    engine_fixture_close(&f);
}

static void stop_all(enum why why)
{
    static const enum engine_restart restarts[] = { RESTART_INIT, RESTART_KEEP };

    for (unsigned i = 0; i < 2; i++)
        for (uint16_t poison = MESSAGE_TYPE_POISON_DELETE; poison <= MESSAGE_TYPE_POISON_FINISHED;
             poison++) {
            stop_one(why, restarts[i], true, poison);
            stop_one(why, restarts[i], false, poison);
        }
}

static void test_in_quarantine(void **state)
{
    (void)state;
    stop_all(IN_QUARANTINE);
}

static void test_not_loaded(void **state)
{
    (void)state;
    stop_all(NOT_LOADED);
}

/* ---- timers ---- */

enum { SECOND = 1000000000 };

static uint16_t arm_type;
static actor_ref unrun;

static void arm(struct engine_context *ctx, uint64_t period_ns)
{
    const struct engine_timer_times times = { .delay_ns = SECOND, .period_ns = period_ns };
    uint64_t id;

    assert_int_equal(engine_ctx_send_after(ctx, unrun, go_type, 0, NULL, 0, &times, &id), 0);
}

static int on_arm(void *self, const void *message, struct engine_context *ctx)
{
    (void)self, (void)message;
    arm(ctx, 0);
    if (ctx->self != unrun)
        arm(ctx, SECOND);
    return ALLOCATION_NODELETE;
}

/* The type of one who goes on, unless NULL; and, if `all`, that of `unrun`. */
static void load_timers(bool all, uint32_t *ret_teller)
{
    static struct engine_behaviour behaviours[2];
    struct engine_actor_type_info info = { .name = "teller",
                                           .plugin = "test",
                                           .version = 1,
                                           .state_size = 8,
                                           .restart = RESTART_KEEP,
                                           .n_behaviours = 2,
                                           .behaviours = behaviours };

    go_type = engine_fixture_message(&f, "go", 0, false);
    arm_type = engine_fixture_message(&f, "arm", 0, false);
    behaviours[0] = (struct engine_behaviour){ go_type, 0, 0, on_go };
    behaviours[1] = (struct engine_behaviour){ arm_type, 0, 0, on_arm };
    if (ret_teller)
        assert_int_equal(engine_actor_type_register(f.engine, &info, ret_teller), 0);
    info.name = "unrun";
    info.plugin = "other";
    if (all)
        assert_int_equal(engine_actor_type_register(f.engine, &info, &type), 0);
}

static void fire(uint64_t now_ns)
{
    while (timer_fire_due(f.engine, now_ns))
        timer_fixture_run(&f);
    timer_fixture_run(&f);
}

/* A message, its own timer's, another one's, and another one's each second. */
static void expect_timers_letters(enum why why)
{
    struct engine_dead_letter rows[5];
    bool more;

    assert_int_equal(engine_dead_letters_list(f.engine, 0, rows, 5, &more), 4);
    for (unsigned i = 0; i < 4; i++) {
        assert_true(rows[i].to == unrun);
        assert_int_equal(rows[i].message_type, go_type);
        assert_int_equal(rows[i].reason, reason_of[why]);
    }
}

/* It is run again, and all that was sent to it is there to be replayed; what has not been due comes
 * by itself. */
static void expect_all_of_it(enum why why, uint64_t now_ns)
{
    struct engine_dead_letters_done done;

    if (why == NOT_LOADED)
        load_timers(true, NULL);
    else
        assert_int_equal(engine_actor_type_release(f.engine, type), 0);
    engine_dead_letters_replay(f.engine, NULL, 0, 0, &done);
    assert_int_equal(done.done, 4);
    timer_fixture_run(&f);
    assert_int_equal(n_goes, 4);
    fire(now_ns + SECOND);
    assert_int_equal(n_goes, 5);
}

static void timers_fare_as_messages(enum why why)
{
    uint32_t teller;

    engine_fixture_open(&f, timer_fixture_config());
    load_timers(true, &teller);
    n_goes = 0;
    unrun = engine_fixture_spawn(&f, type, NULL, 0);
    send(unrun, arm_type);
    send(engine_fixture_spawn(&f, teller, NULL, 0), arm_type);
    timer_fixture_run(&f);
    uint64_t now_ns = clock_now_ns() + SECOND;
    struct engine_recovery report;
    f.engine = engine_close(f.engine);
    engine_fixture_reopen(&f, &report);
    load_timers(why == IN_QUARANTINE, &teller);
    store_relaxed(&f.engine->segment.actor_types[type].quarantined, why == IN_QUARANTINE);
    send(unrun, go_type);
    fire(now_ns);
    assert_int_equal(n_goes, 0);
    expect_timers_letters(why);
    expect_all_of_it(why, now_ns);
    engine_fixture_close(&f);
}

static void test_timers_of_who_is_not_run(void **state)
{
    (void)state;
    timers_fare_as_messages(IN_QUARANTINE);
    timers_fare_as_messages(NOT_LOADED);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_in_quarantine),
                                        cmocka_unit_test(test_not_loaded),
                                        cmocka_unit_test(test_timers_of_who_is_not_run) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
