/* SPDX-License-Identifier: Apache-2.0 */
/* Timers (timers.h): what is armed fires once its turn has been committed, what is cancelled does
 * not, and both outlive the executor. Workers and control thread are this thread, so that what
 * happens between two of them is the test's to say. */
#include <poll.h>

#include "daemon/engine/timers/timer_fire.h"
#include "daemon/engine/timers/timer_heap.h"
#include "daemon/engine/timers/timers.h"
#include "timer_fixture.h"

enum { TIMERS = TIMER_FIXTURE_TIMERS, NOTES = 256, SECOND = 1000000000 };
enum { TOO_MANY = 2 * TIMER_FIRES + 10 };
#define LONG_AFTER (clock_now_ns() + UINT64_C(3600) * SECOND)

/* What the actor does with the next message that is no timer's. */
enum act {
    ACT_NOTHING,
    ACT_ARM,         /* `n` of them, numbered, each a second after the other */
    ACT_ARM_LOOK,    /* one, and looks at what is due within the turn */
    ACT_ARM_DIE,     /* one, and dies in the turn */
    ACT_CANCEL,      /* the last one */
    ACT_CANCEL_LOOK, /* ... and looks at what is due within the turn */
    ACT_CANCEL_DIE,  /* ... and dies in the turn */
    ACT_ARM_BETWEEN, /* two, and looks in between */
    ACT_ARM_AGAIN,   /* the last one is cancelled, and another one armed */
    ACT_END
};
struct orders {
    enum act act;
    uint32_t n;
    uint64_t delay_ns, period_ns;
    bool by_boot_time;
    uint64_t first; /* the number of the first one */
    actor_ref to;
    int result;
    uint64_t id;
};
struct note {
    uint64_t number, kind;
};
struct shared {
    struct orders orders;
    uint64_t n_notes, n_inits;
    struct note notes[NOTES];
};

static struct engine_fixture f;
static struct shared *shared;
static uint16_t go_type, number_type;
static uint32_t kept_type, plain_type, deaf_type;
static actor_ref actor;

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

static void act_arm(struct engine_context *ctx, struct orders *o)
{
    for (uint64_t i = 0; i < (o->n ? o->n : 1); i++) {
        const struct engine_timer_times times = { .delay_ns = o->delay_ns + i * SECOND,
                                                  .period_ns = o->period_ns,
                                                  .by_boot_time = o->by_boot_time };
        const uint64_t number = o->first + i;
        o->result = engine_ctx_send_after(ctx, o->to ? o->to : ctx->self, number_type, 1, &number,
                                          sizeof(number), &times, &o->id);
        if (o->result < 0)
            break;
    }
}

/* Equal deadlines but for the time in between. */
static void act_arm_between(struct engine_context *ctx, struct orders *o)
{
    const struct engine_timer_times times = { .delay_ns = 0 };

    for (uint64_t i = 0; i < 2; i++) {
        o->result =
            engine_ctx_send_after(ctx, ctx->self, number_type, 1, &i, sizeof(i), &times, &o->id);
        assert_int_equal(o->result, 0);
        if (i == 0)
            timer_fire_due(f.engine, LONG_AFTER);
    }
}

static int on_go(void *self, const void *message, struct engine_context *ctx)
{
    struct orders *o = &shared->orders;

    (void)self, (void)message;
    assert_int_equal(ctx->kind, 0);
    if (o->act >= ACT_ARM && o->act <= ACT_ARM_DIE)
        act_arm(ctx, o);
    if (o->act >= ACT_CANCEL && o->act <= ACT_CANCEL_DIE)
        o->result = engine_ctx_timer_cancel(ctx, o->id);
    if (o->act == ACT_ARM_BETWEEN)
        act_arm_between(ctx, o);
    if (o->act == ACT_ARM_AGAIN) {
        assert_int_equal(engine_ctx_timer_cancel(ctx, o->id), 0);
        act_arm(ctx, o);
    }
    if (o->act == ACT_ARM_LOOK || o->act == ACT_CANCEL_LOOK)
        timer_fire_due(f.engine, LONG_AFTER);
    if (o->act == ACT_ARM_DIE || o->act == ACT_CANCEL_DIE)
        raise(SIGKILL);
    return o->act == ACT_END ? ALLOCATION_DELETE : ALLOCATION_NODELETE;
}

static int on_number(void *self, const void *message, struct engine_context *ctx)
{
    (void)self;
    struct note *note = &shared->notes[shared->n_notes++ % NOTES];
    memcpy(&note->number, message, sizeof(note->number));
    note->kind = ctx->kind;
    return ALLOCATION_NODELETE;
}

static int on_init(void *self, const void *args, size_t size, struct engine_context *ctx)
{
    (void)self, (void)args, (void)size, (void)ctx;
    shared->n_inits++;
    return 0;
}

static void register_types(void)
{
    static struct engine_behaviour behaviours[2];
    struct engine_actor_type_info info = { .name = "kept",
                                           .plugin = "test",
                                           .version = 1,
                                           .state_size = 8,
                                           .restart = RESTART_KEEP,
                                           .n_behaviours = 2,
                                           .behaviours = behaviours,
                                           .init = on_init };
    go_type = engine_fixture_message(&f, "go", 0, false);
    number_type = engine_fixture_message(&f, "number", 8, false);
    behaviours[0] = (struct engine_behaviour){ go_type, 0, 0, on_go };
    behaviours[1] = (struct engine_behaviour){ number_type, 8, 0, on_number };
    assert_int_equal(engine_actor_type_register(f.engine, &info, &kept_type), 0);
    info.name = "plain";
    info.restart = RESTART_INIT;
    assert_int_equal(engine_actor_type_register(f.engine, &info, &plain_type), 0);
    info.name = "deaf";
    info.n_behaviours = 1;
    assert_int_equal(engine_actor_type_register(f.engine, &info, &deaf_type), 0);
}

static int setup_with(struct engine_config config)
{
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(shared, MAP_FAILED);
    engine_fixture_open(&f, config);
    register_types();
    actor = engine_fixture_spawn(&f, kept_type, NULL, 0);
    run_queues();
    return 0;
}

static int setup(void **state)
{
    (void)state;
    return setup_with(timer_fixture_config());
}

static int setup_for_many(void **state)
{
    struct engine_config config = timer_fixture_config();

    (void)state;
    config.timers_max = 4 * TOO_MANY;
    return setup_with(config);
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
    orders.id = orders.id ? orders.id : shared->orders.id;
    shared->orders = orders;
    assert_int_equal(engine_actor_send(f.engine, who, go_type, NULL, 0), 0);
    run_queues();
}

static void order(struct orders orders)
{
    order_of(actor, orders);
}

static void restart(void)
{
    timer_fixture_restart(&f, register_types);
}

static struct orders last_orders;

static void carry_out(void)
{
    order(last_orders);
}

static void order_that_kills(struct orders orders)
{
    last_orders = orders;
    timer_fixture_die(&f, carry_out, register_types);
}

static void assert_numbers(uint64_t n)
{
    assert_int_equal(shared->n_notes, n);
    for (uint64_t i = 0; i < n; i++) {
        assert_int_equal(shared->notes[i].number, i);
        assert_int_equal(shared->notes[i].kind >> 56, KIND_TIMER);
    }
}

static void test_fires_once_and_in_order(void **state)
{
    (void)state;
    order((struct orders){ .act = ACT_ARM, .n = 10, .delay_ns = 1800ul * SECOND });
    assert_int_equal(shared->orders.result, 0);
    assert_int_equal(engine_timers_count(f.engine), 10);
    fire(clock_now_ns());
    assert_int_equal(shared->n_notes, 0);
    fire(LONG_AFTER);
    fire(LONG_AFTER);
    assert_numbers(10);
    assert_int_equal(engine_timers_count(f.engine), 0);
}

/* Those of one deadline come in the order in which they were armed; `past` times are due at
 * once. */
static void test_equal_deadlines(void **state)
{
    struct timer_heap heap = { 0 };
    uint64_t last = 0;

    (void)state;
    assert_int_equal(timer_heap_open(&heap, 1000), 0);
    for (uint32_t i = 0; i < 1000; i++)
        timer_heap_add(
            &heap, (struct timer_node){ .due_ns = i * 7919 % 10, .sequence = i + 1, .timer = i });
    for (uint32_t i = 0; i < 1000; i += 3)
        timer_heap_remove(&heap, i);
    for (uint32_t i = 1; i < 1000; i += 3)
        timer_heap_move(&heap, i, 5);
    while (timer_heap_first(&heap)) {
        struct timer_node node = *timer_heap_first(&heap);

        assert_true(node.due_ns * 10000 + node.sequence > last);
        last = node.due_ns * 10000 + node.sequence;
        timer_heap_remove(&heap, node.timer);
    }
    timer_heap_close(&heap, 1000);
}

/* timers.TM1 */
static void test_not_before_its_turn_has_been_committed(void **state)
{
    (void)state;
    order((struct orders){ .act = ACT_ARM_LOOK });
    assert_int_equal(shared->orders.result, 0);
    assert_int_equal(shared->n_notes, 0);
    fire(LONG_AFTER + TIMER_OPEN_MAX_NS);
    assert_numbers(1);
}

/* timer_put_off.PO1 */
static void test_in_order_though_one_was_looked_at(void **state)
{
    (void)state;
    order((struct orders){ .act = ACT_ARM_BETWEEN });
    assert_int_equal(shared->n_notes, 0);
    fire(LONG_AFTER);
    assert_numbers(2);
}

static void test_a_turn_that_died_has_armed_nothing(void **state)
{
    (void)state;
    order_that_kills((struct orders){ .act = ACT_ARM_DIE });
    assert_int_equal(engine_timers_count(f.engine), 0);
    shared->orders.act = ACT_NOTHING;
    fire(LONG_AFTER);
    assert_int_equal(shared->n_notes, 0);
}

/* timers.TM2 */
static void test_cancelled(void **state)
{
    uint64_t id;

    (void)state;
    order((struct orders){ .act = ACT_ARM, .delay_ns = SECOND });
    id = shared->orders.id;
    order((struct orders){ .act = ACT_CANCEL_LOOK });
    assert_int_equal(shared->orders.result, 0);
    fire(LONG_AFTER);
    assert_int_equal(shared->n_notes, 0);
    assert_int_equal(engine_timers_count(f.engine), 0);
    order((struct orders){ .act = ACT_CANCEL });
    assert_int_equal(shared->orders.result, -ENOENT);
    /* its number is another's by now, or nobody's */
    order((struct orders){ .act = ACT_ARM, .n = TIMERS / 2, .delay_ns = SECOND });
    order((struct orders){ .act = ACT_CANCEL, .id = id });
    assert_int_equal(shared->orders.result, -ENOENT);
    order((struct orders){ .act = ACT_CANCEL, .id = UINT64_MAX });
    assert_int_equal(shared->orders.result, -ENOENT);
}

static void test_a_turn_that_died_has_cancelled_nothing(void **state)
{
    (void)state;
    order((struct orders){ .act = ACT_ARM, .delay_ns = 3600ul * SECOND });
    order_that_kills((struct orders){ .act = ACT_CANCEL_DIE });
    assert_int_equal(engine_timers_count(f.engine), 1);
    shared->orders.act = ACT_NOTHING;
    fire(LONG_AFTER + 3600ul * SECOND);
    assert_numbers(1);
}

static void test_another_ones_is_not_cancelled(void **state)
{
    actor_ref other = engine_fixture_spawn(&f, kept_type, NULL, 0);

    (void)state;
    order((struct orders){ .act = ACT_ARM, .delay_ns = SECOND });
    order_of(other, (struct orders){ .act = ACT_CANCEL });
    assert_int_equal(shared->orders.result, -EPERM);
    fire(LONG_AFTER);
    assert_numbers(1);
}

/* What is armed and cancelled again and again takes the place of a few. */
static void test_cancelled_ones_make_room(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 20 * TIMERS; i++) {
        order((struct orders){ .act = ACT_ARM, .delay_ns = 3600ul * SECOND });
        assert_int_equal(shared->orders.result, 0);
        order((struct orders){ .act = ACT_CANCEL });
        assert_int_equal(shared->orders.result, 0);
    }
    assert_in_range(engine_timers_count(f.engine), 0, 2);
}

/* Missed times are counted with the next message, and not made up for. */
static void test_periods(void **state)
{
    struct engine_timer_view view;

    (void)state;
    order((struct orders){ .act = ACT_ARM, .delay_ns = SECOND, .period_ns = SECOND });
    assert_int_equal(engine_timer_next(f.engine, 0, &view), 0);
    assert_int_equal(view.period_ns, SECOND);
    uint64_t now = view.deadline_ns - SECOND;
    for (uint64_t i = 1; i <= 5; i++)
        fire(now + i * SECOND + SECOND / 2);
    assert_int_equal(shared->n_notes, 5);
    fire(now + 15ul * SECOND + SECOND / 2);
    assert_int_equal(shared->n_notes, 6);
    assert_int_equal(shared->notes[5].kind & UINT32_MAX, 9);
    order((struct orders){ .act = ACT_CANCEL });
    assert_int_equal(shared->orders.result, 0);
    fire(LONG_AFTER);
    assert_int_equal(shared->n_notes, 6);
    assert_int_equal(engine_fixture_stat(&f, STAT_timers_missed), 9);
}

/* timers.TM7: it has been sent, and waits behind what cancels it. */
static void test_a_period_that_waits_is_cancelled(void **state)
{
    (void)state;
    for (int restarted = 0; restarted < 2; restarted++) {
        order((struct orders){ .act = ACT_ARM, .delay_ns = SECOND, .period_ns = SECOND });
        shared->orders.act = ACT_CANCEL;
        assert_int_equal(engine_actor_send(f.engine, actor, go_type, NULL, 0), 0);
        assert_false(timer_fire_due(f.engine, clock_now_ns() + 3ul * SECOND / 2));
        if (restarted)
            restart();
        run_queues();
        assert_int_equal(shared->orders.result, 0);
        fire(LONG_AFTER);
        assert_int_equal(shared->n_notes, 0);
        assert_int_equal(engine_fixture_stat(&f, STAT_timers_revoked), 1 + restarted);
    }
    /* ... and one that is not cancelled comes */
    order((struct orders){ .act = ACT_ARM, .delay_ns = SECOND, .period_ns = SECOND });
    fire(clock_now_ns() + 3ul * SECOND / 2);
    assert_int_equal(shared->n_notes, 1);
}

/* ... and one of a life that is over, for which the control thread has not looked yet. */
static void test_a_period_of_a_former_life(void **state)
{
    (void)state;
    actor = engine_fixture_spawn(&f, plain_type, NULL, 0);
    run_queues();
    order((struct orders){ .act = ACT_ARM, .delay_ns = SECOND, .period_ns = SECOND });
    assert_false(timer_fire_due(f.engine, clock_now_ns() + 3ul * SECOND / 2));
    restart();
    run_queues();
    assert_int_equal(shared->n_notes, 0);
    assert_int_equal(engine_fixture_stat(&f, STAT_timers_revoked), 1);
}

/* The number of one that is cancelled is not another one's soon, by which a record that waits would
 * be that one's. */
static void test_a_period_is_armed_again_and_again(void **state)
{
    (void)state;
    order((struct orders){ .act = ACT_ARM, .delay_ns = SECOND, .period_ns = SECOND });
    shared->orders = (struct orders){ .act = ACT_ARM_AGAIN,
                                      .delay_ns = 60ul * SECOND,
                                      .period_ns = SECOND,
                                      .id = shared->orders.id };
    for (int i = 0; i < 16; i++)
        assert_int_equal(engine_actor_send(f.engine, actor, go_type, NULL, 0), 0);
    timer_fire_due(f.engine, clock_now_ns() + 3ul * SECOND / 2);
    run_queues();
    assert_int_equal(shared->orders.result, 0);
    assert_int_equal(shared->n_notes, 0);
}

/* A dead letter is nobody's timer's any more: whoever replays it wants it. */
static void test_a_dead_period_is_replayed(void **state)
{
    actor_ref deaf = engine_fixture_spawn(&f, deaf_type, NULL, 0);
    struct engine_dead_letters_done done;

    (void)state;
    order((struct orders){ .act = ACT_ARM, .delay_ns = SECOND, .period_ns = SECOND, .to = deaf });
    fire(clock_now_ns() + 3ul * SECOND / 2);
    assert_int_equal(engine_fixture_stat(&f, STAT_dead_letters), 1);
    order((struct orders){ .act = ACT_CANCEL });
    engine_dead_letters_replay(f.engine, NULL, 0, actor, &done);
    run_queues();
    assert_int_equal(shared->n_notes, 1);
}

/* What a timer of somebody who has ended has sent still comes. */
static void test_a_period_of_who_has_ended(void **state)
{
    actor_ref other = engine_fixture_spawn(&f, kept_type, NULL, 0);

    (void)state;
    order_of(other, (struct orders){
                        .act = ACT_ARM, .delay_ns = SECOND, .period_ns = SECOND, .to = actor });
    shared->orders.act = ACT_END;
    assert_int_equal(engine_actor_send(f.engine, other, go_type, NULL, 0), 0);
    timer_fire_due(f.engine, clock_now_ns() + 3ul * SECOND / 2);
    run_queues();
    fire(LONG_AFTER);
    assert_int_equal(shared->n_notes, 1);
}

static void test_bounds(void **state)
{
    (void)state;
    order((struct orders){ .act = ACT_ARM, .delay_ns = TIMER_DELAY_MAX_NS + 1 });
    assert_int_equal(shared->orders.result, -ERANGE);
    order((struct orders){ .act = ACT_ARM, .period_ns = TIMER_PERIOD_MIN_NS - 1 });
    assert_int_equal(shared->orders.result, -ERANGE);
    order((struct orders){ .act = ACT_ARM, .to = actor_ref_make(5000, 0) });
    assert_int_equal(shared->orders.result, -ESRCH);
    /* one has at most half of what the others leave */
    order((struct orders){ .act = ACT_ARM, .n = TIMERS, .delay_ns = SECOND });
    assert_int_equal(shared->orders.result, -EAGAIN);
    assert_int_equal(engine_timers_count(f.engine), TIMERS / 2);
    assert_int_equal(engine_fixture_stat(&f, STAT_timers_refused), 1);
    actor_ref other = engine_fixture_spawn(&f, kept_type, NULL, 0);
    order_of(other, (struct orders){ .act = ACT_ARM, .n = TIMERS, .delay_ns = SECOND });
    assert_int_equal(engine_timers_count(f.engine), TIMERS / 2 + TIMERS / 4);
}

static void test_who_has_ended_is_sent_nothing(void **state)
{
    actor_ref other = engine_fixture_spawn(&f, kept_type, NULL, 0);

    (void)state;
    order((struct orders){ .act = ACT_ARM, .delay_ns = SECOND, .to = other });
    order_of(other, (struct orders){ .act = ACT_ARM, .delay_ns = SECOND, .to = actor });
    order_of(other, (struct orders){ .act = ACT_END });
    fire(LONG_AFTER);
    assert_int_equal(shared->n_notes, 0);
    assert_int_equal(engine_timers_count(f.engine), 0);
    assert_int_equal(engine_fixture_stat(&f, STAT_timers_dropped), 2);
    assert_int_equal(engine_fixture_stat(&f, STAT_dead_letters), 0);
}

/* timer_owners.TO2: long before they are due. What was cancelled is no dropped one. */
static void test_those_of_who_has_ended_go(void **state)
{
    enum { OTHERS = 5 };
    actor_ref other = engine_fixture_spawn(&f, kept_type, NULL, 0);

    (void)state;
    order((struct orders){ .act = ACT_ARM, .delay_ns = SECOND });
    order_of(other, (struct orders){ .act = ACT_ARM, .n = OTHERS, .delay_ns = 1000UL * SECOND });
    order_of(other, (struct orders){ .act = ACT_ARM, .delay_ns = 1000UL * SECOND });
    order_of(other, (struct orders){ .act = ACT_CANCEL });
    order_of(other, (struct orders){ .act = ACT_END });
    assert_int_equal(f.engine->timers.fd_ns, 1); /* the control thread is called */
    assert_false(timer_fire_due(f.engine, 1));
    assert_int_equal(engine_timers_count(f.engine), 1);
    assert_int_equal(engine_fixture_stat(&f, STAT_timers_dropped), OTHERS);
    assert_true(f.engine->timers.fd_ns > 1);
    fire(LONG_AFTER);
    assert_numbers(1);
}

/* What one look does not get to has the descriptor readable at once, though its time is the one
 * that was read: as often as it takes. */
static void look_until_none_is_left(void)
{
    struct pollfd poll_fd = { .fd = engine_timers_fd(f.engine), .events = POLLIN };

    while (engine_timers_count(f.engine) > 0) {
        assert_int_equal(poll(&poll_fd, 1, PATIENCE_MS), 1);
        engine_timers_look(f.engine);
        run_queues();
    }
}

static void test_more_than_one_look_takes(void **state)
{
    actor_ref other = engine_fixture_spawn(&f, kept_type, NULL, 0);

    (void)state;
    order_of(other, (struct orders){ .act = ACT_ARM, .n = TOO_MANY, .delay_ns = 1000UL * SECOND });
    assert_int_equal(shared->orders.result, 0);
    order_of(other, (struct orders){ .act = ACT_END });
    look_until_none_is_left();
    assert_int_equal(engine_fixture_stat(&f, STAT_timers_dropped), TOO_MANY);
}

/* timers.TM4: they all are due at once. */
static void test_more_of_a_life_that_is_over(void **state)
{
    (void)state;
    actor = engine_fixture_spawn(&f, plain_type, NULL, 0);
    run_queues();
    order((struct orders){ .act = ACT_ARM, .n = TOO_MANY, .delay_ns = 1000UL * SECOND });
    assert_int_equal(shared->orders.result, 0);
    restart();
    look_until_none_is_left();
    assert_int_equal(shared->n_inits, 3);
    assert_int_equal(shared->n_notes, 0);
}

/* The executor dies before the control thread has looked. */
static void test_those_of_who_had_ended_go(void **state)
{
    actor_ref other = engine_fixture_spawn(&f, kept_type, NULL, 0);

    (void)state;
    order_of(other, (struct orders){ .act = ACT_ARM, .n = 5, .delay_ns = 1000UL * SECOND });
    order_of(other, (struct orders){ .act = ACT_END });
    restart();
    assert_false(timer_fire_due(f.engine, 1));
    assert_int_equal(engine_timers_count(f.engine), 0);
    assert_int_equal(engine_fixture_stat(&f, STAT_timers_dropped), 5);
}

/* Kept actors' timers go on, in their order, with the next executor; what is armed then comes
 * behind them. */
static void test_over_a_restart(void **state)
{
    (void)state;
    order((struct orders){ .act = ACT_ARM, .n = 10, .delay_ns = 1800ul * SECOND });
    restart();
    assert_int_equal(engine_timers_count(f.engine), 10);
    order((struct orders){ .act = ACT_CANCEL });
    assert_int_equal(shared->orders.result, 0);
    restart();
    fire(LONG_AFTER);
    assert_numbers(9);
    restart();
    fire(LONG_AFTER);
    assert_numbers(9);
}

/* timers.TM4: not kept, it begins anew, at once; its timers do not come. */
static void test_of_a_life_that_is_over(void **state)
{
    (void)state;
    actor = engine_fixture_spawn(&f, plain_type, NULL, 0);
    run_queues();
    order((struct orders){ .act = ACT_ARM, .n = 3, .delay_ns = 1800ul * SECOND });
    assert_int_equal(shared->n_inits, 2);
    restart();
    fire(clock_now_ns());
    assert_int_equal(shared->n_inits, 3);
    assert_int_equal(engine_timers_count(f.engine), 0);
    fire(LONG_AFTER);
    assert_int_equal(shared->n_notes, 0);
}

/* The machine stands still for so long: what the control thread finds when it reads the clocks. */
static void suspend(uint64_t ns)
{
    f.engine->timers.suspended_ns += ns;
}

/* What counts by the other clock does not wait while the machine is suspended. */
static void test_by_boot_time(void **state)
{
    struct engine_timer_view view;

    (void)state;
    order((struct orders){ .act = ACT_ARM, .delay_ns = 1000ul * SECOND, .first = 1 });
    order((struct orders){ .act = ACT_ARM, .delay_ns = 1000ul * SECOND, .by_boot_time = true });
    assert_int_equal(engine_timer_next(f.engine, 0, &view), 0);
    assert_false(view.by_boot_time);
    assert_int_equal(engine_timer_next(f.engine, view.timer + 1, &view), 0);
    assert_true(view.by_boot_time);
    uint64_t now = clock_now_ns();
    fire(now + 900ul * SECOND);
    assert_numbers(0);
    suspend(600ul * SECOND);
    fire(now + 401ul * SECOND);
    assert_numbers(1);
    fire(now + 900ul * SECOND);
    assert_numbers(1);
    fire(now + 1001ul * SECOND);
    assert_numbers(2);
    assert_int_equal(engine_timers_count(f.engine), 0);
}

/* Deadlines by either clock are in one order, also behind a suspension. */
static void test_the_order_of_both_clocks(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 10; i++)
        order((struct orders){
            .act = ACT_ARM, .delay_ns = (1000 + i) * SECOND, .by_boot_time = i % 2, .first = i });
    fire(LONG_AFTER);
    assert_numbers(10);
    memset(shared->notes, 0, sizeof(shared->notes));
    shared->n_notes = 0;
    /* by the clock that goes on they are 1000 s from each other */
    order((struct orders){ .act = ACT_ARM, .delay_ns = 1000ul * SECOND, .first = 1 });
    order((struct orders){ .act = ACT_ARM, .delay_ns = 1500ul * SECOND, .by_boot_time = true });
    suspend(1000ul * SECOND);
    fire(LONG_AFTER);
    assert_numbers(2);
}

static void test_a_period_by_boot_time(void **state)
{
    struct engine_timer_view view;

    (void)state;
    order((struct orders){
        .act = ACT_ARM, .delay_ns = SECOND, .period_ns = SECOND, .by_boot_time = true });
    assert_int_equal(engine_timer_next(f.engine, 0, &view), 0);
    uint64_t now = view.deadline_ns - SECOND - f.engine->timers.suspended_ns;
    suspend(10ul * SECOND);
    fire(now + SECOND / 2);
    assert_int_equal(shared->n_notes, 1);
    assert_int_equal(shared->notes[0].kind & UINT32_MAX, 9);
    fire(now + SECOND / 2);
    assert_int_equal(shared->n_notes, 1);
    fire(now + 3ul * SECOND / 2);
    assert_int_equal(shared->n_notes, 2);
}

static void test_by_boot_time_over_a_restart(void **state)
{
    (void)state;
    order((struct orders){ .act = ACT_ARM, .delay_ns = 1000ul * SECOND, .by_boot_time = true });
    restart();
    uint64_t now = clock_now_ns();
    fire(now + 900ul * SECOND);
    assert_numbers(0);
    suspend(600ul * SECOND);
    fire(now + 401ul * SECOND);
    assert_numbers(1);
}

/* timers.TM6: it was set when less time had been slept through, goes off too early by that, and is
 * set again. */
static void test_the_clock_goes_off_early(void **state)
{
    struct pollfd poll_fd = { .fd = engine_timers_fd(f.engine), .events = POLLIN };

    (void)state;
    suspend(-(1800ul * SECOND + 1000000));
    order((struct orders){ .act = ACT_ARM, .delay_ns = 1800ul * SECOND });
    assert_int_equal(poll(&poll_fd, 1, PATIENCE_MS), 1);
    engine_timers_look(f.engine);
    assert_numbers(0);
    assert_int_equal(engine_timers_count(f.engine), 1);
    assert_true(f.engine->timers.fd_ns > clock_boot_ns());
    assert_int_equal(poll(&poll_fd, 1, 0), 0);
}

/* One whose receiver's queue is full is late, and not lost. */
static void test_a_full_queue(void **state)
{
    (void)state;
    order((struct orders){ .act = ACT_ARM, .delay_ns = SECOND });
    uint64_t limit = f.engine->segment.header->limit_bytes, now = LONG_AFTER;
    f.engine->segment.header->limit_bytes = 0;
    shared->orders.act = ACT_NOTHING;
    assert_int_equal(engine_actor_send(f.engine, actor, go_type, NULL, 0), 0);
    timer_fire_due(f.engine, now);
    assert_int_equal(engine_fixture_stat(&f, STAT_timers_deferred), 1);
    f.engine->segment.header->limit_bytes = limit;
    run_queues();
    assert_int_equal(shared->n_notes, 0);
    fire(now + TIMER_DEFER_NS);
    assert_numbers(1);
}

#define TIMER_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TIMER_TEST(test_fires_once_and_in_order),
        cmocka_unit_test(test_equal_deadlines),
        TIMER_TEST(test_not_before_its_turn_has_been_committed),
        TIMER_TEST(test_in_order_though_one_was_looked_at),
        TIMER_TEST(test_a_turn_that_died_has_armed_nothing),
        TIMER_TEST(test_cancelled),
        TIMER_TEST(test_a_turn_that_died_has_cancelled_nothing),
        TIMER_TEST(test_another_ones_is_not_cancelled),
        TIMER_TEST(test_cancelled_ones_make_room),
        TIMER_TEST(test_periods),
        TIMER_TEST(test_a_period_that_waits_is_cancelled),
        TIMER_TEST(test_a_period_of_a_former_life),
        TIMER_TEST(test_a_period_is_armed_again_and_again),
        TIMER_TEST(test_a_dead_period_is_replayed),
        TIMER_TEST(test_a_period_of_who_has_ended),
        TIMER_TEST(test_bounds),
        TIMER_TEST(test_who_has_ended_is_sent_nothing),
        TIMER_TEST(test_those_of_who_has_ended_go),
        TIMER_TEST(test_those_of_who_had_ended_go),
        cmocka_unit_test_setup_teardown(test_more_than_one_look_takes, setup_for_many, teardown),
        cmocka_unit_test_setup_teardown(test_more_of_a_life_that_is_over, setup_for_many, teardown),
        TIMER_TEST(test_over_a_restart),
        TIMER_TEST(test_of_a_life_that_is_over),
        TIMER_TEST(test_by_boot_time),
        TIMER_TEST(test_the_order_of_both_clocks),
        TIMER_TEST(test_a_period_by_boot_time),
        TIMER_TEST(test_by_boot_time_over_a_restart),
        TIMER_TEST(test_the_clock_goes_off_early),
        TIMER_TEST(test_a_full_queue),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
