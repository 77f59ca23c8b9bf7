/* SPDX-License-Identifier: Apache-2.0 */
/* What an actor has armed before it began anew (timers.TM4), as long as the control thread has not
 * taken it away. Workers and control thread are this thread, so that it has not until the test says
 * so. */
#include "daemon/engine/timers/timer_fire.h"
#include "daemon/engine/timers/timers.h"
#include "timer_fixture.h"

enum { TIMERS = TIMER_FIXTURE_TIMERS };
#define HOUR_NS UINT64_C(3600000000000)

static struct engine_fixture f;
static uint16_t go_type;
static uint32_t kept_type, plain_type;
static uint64_t n_to_arm, n_inits;
static int result;
static bool spawns;
static actor_ref spawned;

/* As many as it may. */
static void arm(struct engine_context *ctx)
{
    const struct engine_timer_times times = { .delay_ns = HOUR_NS };
    uint64_t id;

    result = 0;
    for (; n_to_arm > 0 && result == 0; n_to_arm--)
        result = engine_ctx_send_after(ctx, ctx->self, go_type, 0, NULL, 0, &times, &id);
}

static int on_init(void *self, const void *args, size_t size, struct engine_context *ctx)
{
    (void)self, (void)args, (void)size;
    n_inits++;
    arm(ctx);
    return 0;
}

static int on_go(void *self, const void *message, struct engine_context *ctx)
{
    (void)self, (void)message;
    if (spawns)
        assert_int_equal(engine_ctx_spawn_plain(ctx, plain_type, PLACE_NEAR, &spawned), 0);
    arm(ctx);
    return ALLOCATION_NODELETE;
}

static void register_types(void)
{
    static struct engine_behaviour go;
    struct engine_actor_type_info info = { .name = "kept",
                                           .plugin = "test",
                                           .version = 1,
                                           .state_size = 8,
                                           .restart = RESTART_KEEP,
                                           .n_behaviours = 1,
                                           .behaviours = &go,
                                           .init = on_init };

    go_type = engine_fixture_message(&f, "go", 0, false);
    go = (struct engine_behaviour){ go_type, 0, 0, on_go };
    assert_int_equal(engine_actor_type_register(f.engine, &info, &kept_type), 0);
    info.name = "plain";
    info.restart = RESTART_INIT;
    assert_int_equal(engine_actor_type_register(f.engine, &info, &plain_type), 0);
}

static int setup(void **state)
{
    (void)state;
    n_inits = n_to_arm = 0;
    engine_fixture_open(&f, timer_fixture_config());
    register_types();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    timer_fixture_assert_books(&f);
    engine_fixture_close(&f);
    return 0;
}

/* How many there are behind it, of all actors'. */
static uint32_t arms(actor_ref who)
{
    n_to_arm = TIMERS;
    assert_int_equal(engine_actor_send(f.engine, who, go_type, NULL, 0), 0);
    timer_fixture_run(&f);
    assert_int_equal(result, -EAGAIN);
    return engine_timers_count(f.engine);
}

static actor_ref spawn_and_arm(uint32_t type)
{
    actor_ref who = engine_fixture_spawn(&f, type, NULL, 0);

    assert_int_equal(arms(who), TIMERS / 2);
    return who;
}

/* They are nobody's share, and leave less to all. */
static void test_take_no_share(void **state)
{
    actor_ref who = spawn_and_arm(plain_type);

    (void)state;
    timer_fixture_restart(&f, register_types);
    assert_int_equal(arms(who), TIMERS / 2 + TIMERS / 4); /* from its init on */
    assert_int_equal(n_inits, 2);
    assert_int_equal(engine_fixture_stat(&f, STAT_timers_armed), TIMERS / 2 + TIMERS / 4);
    assert_false(timer_fire_due(f.engine, clock_now_ns()));
    assert_int_equal(engine_timers_count(f.engine), TIMERS / 4);
    assert_int_equal(arms(who), TIMERS / 2);
}

/* Who keeps its state keeps them. */
static void test_of_a_kept_actor_take_its_share(void **state)
{
    actor_ref who = spawn_and_arm(kept_type);

    (void)state;
    timer_fixture_restart(&f, register_types);
    assert_int_equal(arms(who), TIMERS / 2);
    assert_int_equal(n_inits, 1);
}

/* The control thread looks while something waits before the actor, which is at its limit. */
static void look_at_limit(actor_ref who, uint64_t now_ns)
{
    struct segment_header *header = f.engine->segment.header;
    uint64_t limit = header->limit_bytes;

    header->limit_bytes = 0;
    assert_int_equal(engine_actor_send(f.engine, who, go_type, NULL, 0), 0);
    assert_false(timer_fire_due(f.engine, now_ns));
    header->limit_bytes = limit;
}

/* Who has begun anew is sent nothing, and needs no room for it. */
static void test_go_though_the_queue_is_full(void **state)
{
    actor_ref who = spawn_and_arm(plain_type);

    (void)state;
    timer_fixture_restart(&f, register_types);
    n_to_arm = 0;
    assert_int_equal(engine_actor_send(f.engine, who, go_type, NULL, 0), 0);
    timer_fixture_run(&f);
    assert_int_equal(n_inits, 2);
    look_at_limit(who, clock_now_ns());
    assert_int_equal(engine_timers_count(f.engine), 0);
}

/* Who has not is initialised by the first of them, which waits for room. */
static void test_begin_when_there_is_room(void **state)
{
    actor_ref who = spawn_and_arm(plain_type);
    uint64_t now_ns = clock_now_ns();

    (void)state;
    timer_fixture_restart(&f, register_types);
    n_to_arm = 0;
    look_at_limit(who, now_ns);
    assert_int_equal(engine_timers_count(f.engine), TIMERS / 2);
    assert_false(timer_fire_due(f.engine, now_ns + TIMER_DEFER_NS));
    assert_int_equal(engine_timers_count(f.engine), 0);
    timer_fixture_run(&f);
    assert_int_equal(n_inits, 2);
}

static void stop(actor_ref who)
{
    assert_int_equal(engine_actor_send(f.engine, who, MESSAGE_TYPE_POISON_DELETE, NULL, 0), 0);
    timer_fixture_run(&f);
}

/* That they were a former life's is not said of the next one in the slot of who has ended before
 * they were taken away: it has all of its own share. */
static void test_are_no_heritage(void **state)
{
    actor_ref who = spawn_and_arm(plain_type), others[SLOT_RING + 1];

    (void)state;
    for (int i = 0; i <= SLOT_RING; i++)
        others[i] = engine_fixture_spawn(&f, plain_type, NULL, 0);
    n_to_arm = 0;
    timer_fixture_restart(&f, register_types);
    stop(who);
    while (timer_fire_due(f.engine, clock_now_ns()))
        continue;
    assert_int_equal(engine_timers_count(f.engine), 0);
    for (int i = 1; i <= SLOT_RING; i++) /* actors.A5 */
        stop(others[i]);
    spawns = true;
    assert_int_equal(engine_actor_send(f.engine, others[0], go_type, NULL, 0), 0);
    timer_fixture_run(&f);
    spawns = false;
    assert_int_equal(actor_ref_slot(spawned), actor_ref_slot(who));
    assert_int_equal(arms(spawned), TIMERS / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_take_no_share, setup, teardown),
        cmocka_unit_test_setup_teardown(test_of_a_kept_actor_take_its_share, setup, teardown),
        cmocka_unit_test_setup_teardown(test_go_though_the_queue_is_full, setup, teardown),
        cmocka_unit_test_setup_teardown(test_begin_when_there_is_room, setup, teardown),
        cmocka_unit_test_setup_teardown(test_are_no_heritage, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
