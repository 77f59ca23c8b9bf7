/* SPDX-License-Identifier: Apache-2.0 */
/* Actors of which nothing is run, because their type is in quarantine or not loaded: they can be
 * stopped all the same, or what would mend it could never be loaded in their plugin's place. */
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

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_in_quarantine),
                                        cmocka_unit_test(test_not_loaded) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
