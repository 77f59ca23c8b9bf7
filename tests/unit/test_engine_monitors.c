/* SPDX-License-Identifier: Apache-2.0 */
/* Monitors (timers/watches.h): each end is told once, behind what the one who ended has sent, with
 * its reason, whatever dies. */
#include "monitor_fixture.h"

static void test_told_once(void **state)
{
    (void)state;
    monitors(other);
    fire(LATER);
    fire(LATER);
    assert_int_equal(shared->n_notes, 0);
    ends(other);
    assert_int_equal(f.engine->timers.fd_ns, 1); /* the control thread is called */
    fire(clock_now_ns());
    assert_int_equal(shared->notes[0].down.monitor, shared->id);
    assert_int_equal(engine_fixture_stat(&f, STAT_downs), 1);
    assert_only_told(other, REASON_FINISHED);
}

/* Nothing wakes the control thread for what may never come. */
static void test_costs_nothing_while_nobody_ends(void **state)
{
    (void)state;
    monitors(other);
    fire(LATER);
    assert_int_equal(f.engine->timers.fd_ns, 0);
    assert_int_equal(engine_timers_count(f.engine), 0); /* no timer, for who lists them */
    restart();
    assert_int_equal(f.engine->timers.fd_ns, 0);
}

static void test_many_watch_one(void **state)
{
    (void)state;
    order((struct orders){ .act = ACT_MONITOR, .to = other, .n = TIMERS / 2 });
    assert_int_equal(shared->result, 0);
    ends(other);
    fire(clock_now_ns());
    assert_int_equal(shared->n_notes, TIMERS / 2);
    for (uint32_t i = 0; i < TIMERS / 2; i++)
        assert_told(i, other, REASON_FINISHED);
}

/* A slot is nobody else's until everybody who watched knows why, and somebody's again then
 * (watches.W3). */
static void test_the_slot_comes_back(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 100 * SLOT_RING; i++) {
        actor_ref child = engine_fixture_spawn(&f, plain_type, NULL, 0);
        run_queues();
        monitors(child);
        ends(child);
        fire(clock_now_ns());
        assert_int_equal(shared->n_notes, i + 1);
        assert_told(i % NOTES, child, REASON_FINISHED);
    }
    assert_in_range(load_relaxed(&f.engine->segment.header->slots_high), 0,
                    ODEON_PORTS_MAX + 4 * (SLOT_RING + SLOT_CACHE));
}

static void test_of_a_brief_life(void **state)
{
    (void)state;
    order((struct orders){ .act = ACT_SPAWN, .type = brief_type });
    assert_int_equal(shared->result, 0);
    ends(shared->child);
    fire(clock_now_ns());
    assert_only_told(shared->child, REASON_FINISHED);
}

static void test_who_is_stopped(void **state)
{
    (void)state;
    monitors(other);
    assert_int_equal(engine_actor_send(f.engine, other, MESSAGE_TYPE_POISON_DELETE, NULL, 0), 0);
    run_queues();
    fire(clock_now_ns());
    assert_only_told(other, REASON_STOPPED);
}

static void test_whose_init_fails(void **state)
{
    (void)state;
    shared->init_fails = true;
    order((struct orders){ .act = ACT_SPAWN, .type = plain_type });
    fire(clock_now_ns());
    assert_only_told(shared->child, REASON_INIT_FAILED);
}

/* monitor.MO2: without a monitor it is told, too, and by no number. */
static void test_whose_child_cannot_begin(void **state)
{
    (void)state;
    shared->init_fails = true;
    order((struct orders){ .act = ACT_SPAWN_ALONE, .type = plain_type });
    run_queues();
    fire(LATER);
    assert_int_equal(shared->n_notes, 1);
    assert_int_equal(shared->notes[0].down.ref, shared->child);
    assert_int_equal(shared->notes[0].down.monitor, 0);
    assert_int_equal(shared->notes[0].down.reason, REASON_INIT_FAILED);
}

/* ... nor by one that it has given up. */
static void test_whose_child_cannot_begin_unwatched(void **state)
{
    (void)state;
    shared->init_fails = true;
    order((struct orders){ .act = ACT_SPAWN_LET_GO, .type = plain_type });
    assert_int_equal(shared->result, 0);
    fire(LATER);
    assert_int_equal(shared->n_notes, 1);
    assert_int_equal(shared->notes[0].down.monitor, 0);
    assert_int_equal(shared->notes[0].down.reason, REASON_INIT_FAILED);
}

/* So it is when the child keeps its state. */
static void test_whose_kept_child_cannot_begin(void **state)
{
    (void)state;
    shared->init_fails = true;
    order((struct orders){ .act = ACT_SPAWN_ALONE, .type = kept_type });
    run_queues();
    assert_int_equal(shared->n_notes, 1);
    assert_int_equal(shared->notes[0].down.ref, shared->child);
    assert_int_equal(shared->notes[0].down.reason, REASON_INIT_FAILED);
}

/* Who has no behaviour for it is not told, nor is a child that begins told of. */
static void test_who_is_not_told_of_a_child(void **state)
{
    actor_ref deaf = engine_fixture_spawn(&f, deaf_type, NULL, 0);

    (void)state;
    run_queues();
    shared->init_fails = true;
    order_of(deaf, (struct orders){ .act = ACT_SPAWN_ALONE, .type = plain_type });
    run_queues();
    shared->init_fails = false;
    order((struct orders){ .act = ACT_SPAWN_ALONE, .type = plain_type });
    fire(LATER);
    assert_int_equal(shared->n_notes, 0);
}

/* Who has ended before is told of, with the reason as long as the slot says it. */
static void test_too_late(void **state)
{
    (void)state;
    ends(other);
    monitors(other);
    assert_int_equal(shared->n_notes, 0);
    fire(LATER);
    assert_int_equal(shared->n_notes, 1);
    assert_told(0, other, REASON_FINISHED);
    monitors(actor_ref_make(actor_ref_slot(other), actor_ref_generation(other) + 7));
    fire(LATER);
    assert_int_equal(shared->n_notes, 2);
    assert_int_equal(shared->notes[1].down.reason, REASON_NO_SUCH_ACTOR);
}

/* ... but not before what it has sent can have left (watches.W4). */
static void test_too_late_to_be_seen(void **state)
{
    struct worker *w = f.engine->workers[0];

    (void)state;
    ends(other);
    monitors(other);
    commit_flip(w, 0, 0, 0, 64, 0, 0); /* somebody's sends wait for a flush */
    fire(LATER);
    assert_int_equal(shared->n_notes, 0);
    fire(LATER + WATCH_ROUND_NS);
    assert_int_equal(shared->n_notes, 0);
    commit_flip(w, 0, 0, 0, 0, 0, 0);
    fire(LATER + 2 * WATCH_ROUND_NS);
    assert_only_told(other, REASON_FINISHED);
}

/* watches.W2 */
static void test_behind_its_last_words(void **state)
{
    (void)state;
    monitors(other);
    for (int i = 0; i < 3; i++)
        order_of(other, (struct orders){ .act = ACT_NOTHING });
    order_of(other, (struct orders){ .act = ACT_END, .to = watcher });
    fire(clock_now_ns());
    assert_int_equal(shared->n_notes, 2);
    assert_int_equal(shared->notes[0].from, other);
    assert_told(1, other, REASON_FINISHED);
}

static void test_a_turn_that_died_has_begun_none(void **state)
{
    (void)state;
    order_that_kills(watcher, (struct orders){ .act = ACT_MONITOR_DIE, .to = other });
    assert_int_equal(f.engine->timers.n, 0);
    ends(other);
    fire(LATER);
    assert_int_equal(shared->n_notes, 0);
}

static void test_not_before_its_turn_has_been_committed(void **state)
{
    (void)state;
    ends(other);
    order((struct orders){ .act = ACT_MONITOR_LOOK, .to = other });
    assert_int_equal(shared->n_notes, 0);
    fire(LATER + TIMER_OPEN_MAX_NS);
    assert_only_told(other, REASON_FINISHED);
}

/* In a turn that goes on it is looked at after as long again as that has taken. */
static void test_in_a_long_turn(void **state)
{
    (void)state;
    ends(other);
    order((struct orders){ .act = ACT_MONITOR_LONG, .to = other });
    assert_in_range(shared->n_looks, 20, 100);
    assert_int_equal(shared->n_notes, 0);
    fire(LATER);
    assert_only_told(other, REASON_FINISHED);
}

static void test_ended_before(void **state)
{
    (void)state;
    monitors(other);
    order((struct orders){ .act = ACT_DEMONITOR });
    assert_int_equal(shared->result, 0);
    ends(other);
    fire(LATER);
    assert_int_equal(shared->n_notes, 0);
    order((struct orders){ .act = ACT_DEMONITOR });
    assert_int_equal(shared->result, -ENOENT);
    assert_int_equal(f.engine->timers.n, 0);
}

static void test_ended_between_the_end_and_its_word(void **state)
{
    (void)state;
    monitors(other);
    ends(other);
    order((struct orders){ .act = ACT_DEMONITOR });
    assert_int_equal(shared->result, 0);
    fire(LATER);
    assert_int_equal(shared->n_notes, 0);
}

static void test_a_turn_that_died_has_ended_none(void **state)
{
    (void)state;
    monitors(other);
    order_that_kills(watcher, (struct orders){ .act = ACT_DEMONITOR_DIE });
    ends(other);
    fire(LATER);
    assert_only_told(other, REASON_FINISHED);
}

/* The executor dies behind the end and before its word. */
static void test_over_a_restart(void **state)
{
    (void)state;
    monitors(other);
    restart();
    fire(LATER);
    assert_int_equal(shared->n_notes, 0);
    ends(other);
    restart();
    fire(clock_now_ns());
    assert_only_told(other, REASON_FINISHED);
}

/* A turn that did not come to its end has ended nobody. */
static void test_an_end_that_died(void **state)
{
    (void)state;
    monitors(other);
    order_that_kills(other, (struct orders){ .act = ACT_END_DIE, .to = watcher });
    fire(LATER);
    assert_int_equal(shared->n_notes, 0);
    ends(other);
    fire(LATER);
    assert_told(shared->n_notes - 1, other, REASON_FINISHED);
}

/* The same reference is another life. */
static void test_who_begins_anew(void **state)
{
    (void)state;
    other = engine_fixture_spawn(&f, plain_type, NULL, 0);
    run_queues();
    monitors(other);
    restart();
    fire(clock_now_ns());
    assert_only_told(other, REASON_BEGUN_ANEW);
}

/* By its reference nobody could tell whose end it is: the next life must not speak before
 * (watches.W7). The control thread, which is this one, looks at nothing behind the start. */
static void test_before_the_next_life_speaks(void **state)
{
    (void)state;
    other = engine_fixture_spawn(&f, plain_type, NULL, 0);
    run_queues();
    monitors(other);
    shared->orders.act = ACT_NOTHING;
    assert_int_equal(engine_actor_send(f.engine, other, go_type, NULL, 0),
                     0); /* it begins at once */
    shared->greets = watcher;
    restart();
    uint64_t before = engine_fixture_stat(&f, STAT_messages_processed);
    assert_int_equal(engine_start(f.engine), 0);
    assert_true(
        engine_fixture_until(engine_fixture_stat(&f, STAT_messages_processed) >= before + 2));
    engine_stop(f.engine);
    run_queues();
    assert_int_equal(shared->n_notes, 2);
    assert_told(0, other, REASON_BEGUN_ANEW);
    assert_int_equal(shared->notes[1].from, other);
}

static void test_who_is_not_resumed(void **state)
{
    (void)state;
    other = engine_fixture_spawn(&f, stop_type, NULL, 0);
    run_queues();
    monitors(other);
    restart();
    fire(clock_now_ns());
    assert_only_told(other, REASON_NOT_RESUMED);
}

/* timers.TM4: monitors belong to one life of who watches. */
static void test_of_a_life_that_is_over(void **state)
{
    actor_ref forgetful = engine_fixture_spawn(&f, plain_type, NULL, 0);

    (void)state;
    run_queues();
    order_of(forgetful, (struct orders){ .act = ACT_MONITOR, .to = other });
    restart();
    shared->n_inits = 0;
    fire(clock_now_ns());
    assert_int_equal(shared->n_inits, 1);
    ends(other);
    fire(LATER);
    assert_int_equal(shared->n_notes, 0);
    assert_int_equal(f.engine->timers.n, 0);
}

static void test_who_watched_has_ended(void **state)
{
    (void)state;
    monitors(other);
    ends(watcher);
    fire(clock_now_ns());
    assert_int_equal(f.engine->timers.n, 0);
    ends(other);
    fire(LATER);
    assert_int_equal(shared->n_notes, 0);
}

static void test_oneself(void **state)
{
    (void)state;
    monitors(watcher);
    ends(watcher);
    fire(LATER);
    assert_int_equal(shared->n_notes, 0);
    assert_int_equal(f.engine->timers.n, 0);
}

static void test_whose_type_is_quarantined(void **state)
{
    (void)state;
    other = engine_fixture_spawn(&f, plain_type, NULL, 0);
    run_queues();
    monitors(other);
    fire(LATER);
    store_relaxed(&f.engine->segment.actor_types[plain_type].quarantined, 1);
    engine_type_quarantined(f.engine, plain_type);
    fire(LATER);
    assert_int_equal(shared->n_notes, 1);
    assert_told(0, other, REASON_QUARANTINED);
    monitors(other);
    fire(LATER);
    assert_int_equal(shared->n_notes, 2);
    assert_told(1, other, REASON_QUARANTINED);
}

/* Nothing of it is run, and it ends all the same. */
static void test_who_is_stopped_and_not_loaded(void **state)
{
    (void)state;
    other = engine_fixture_spawn(&f, deaf_type, NULL, 0);
    run_queues();
    monitors(other);
    not_loaded = true;
    restart();
    fire(LATER);
    assert_int_equal(shared->n_notes, 0);
    assert_int_equal(engine_actor_send(f.engine, other, MESSAGE_TYPE_POISON_DELETE, NULL, 0), 0);
    run_queues();
    fire(LATER);
    assert_only_told(other, REASON_STOPPED);
}

/* watches.W5: a reference that there is not yet, which anybody can make up, takes nobody's place at
 * the slot, whether it comes before or behind. */
static void test_beside_one_who_is_not_there_yet(void **state)
{
    actor_ref next = actor_ref_make(actor_ref_slot(other), actor_ref_generation(other) + 7);

    (void)state;
    monitors(other);
    monitors(next);
    fire(LATER);
    assert_int_equal(shared->n_notes, 1);
    assert_told(0, next, REASON_NO_SUCH_ACTOR);
    monitors(other);
    fire(LATER);
    ends(other);
    fire(LATER);
    assert_int_equal(shared->n_notes, 3);
    assert_told(1, other, REASON_FINISHED);
    assert_told(2, other, REASON_FINISHED);
    assert_int_equal(f.engine->timers.n, 0);
}

/* The same at a slot that nobody has had. */
static void test_before_anybody_is_there(void **state)
{
    uint32_t slot = load_relaxed(&f.engine->segment.header->slots_high) + 100;

    (void)state;
    monitors(actor_ref_make(slot, UINT32_MAX));
    fire(LATER);
    assert_int_equal(shared->n_notes, 1);
    do
        other = engine_fixture_spawn(&f, kept_type, NULL, 0);
    while (actor_ref_slot(other) != slot);
    run_queues();
    monitors(other);
    fire(LATER);
    ends(other);
    fire(LATER);
    assert_int_equal(shared->n_notes, 2);
    assert_told(1, other, REASON_FINISHED);
}

static void test_refused(void **state)
{
    actor_ref deaf = engine_fixture_spawn(&f, deaf_type, NULL, 0);

    (void)state;
    run_queues();
    order_of(deaf, (struct orders){ .act = ACT_MONITOR, .to = other });
    assert_int_equal(shared->result, -EOPNOTSUPP);
    order((struct orders){ .act = ACT_MONITOR, .to = actor_ref_make(5000, 0) });
    assert_int_equal(shared->result, -ESRCH);
    order((struct orders){ .act = ACT_MONITOR });
    assert_int_equal(shared->result, -ESRCH);
    assert_int_equal(f.engine->timers.n, 0);
    order((struct orders){ .act = ACT_MONITOR, .to = other, .n = TIMERS });
    assert_int_equal(shared->result, -EAGAIN);
    order((struct orders){ .act = ACT_DEMONITOR, .id = UINT64_MAX });
    assert_int_equal(shared->result, -ENOENT);
    order_of(other, (struct orders){ .act = ACT_DEMONITOR });
    assert_int_equal(shared->result, -EPERM);
}

/* monitor.MO1 */
static void test_forged(void **state)
{
    const struct down down = { .ref = other, .reason = REASON_FINISHED };

    (void)state;
    assert_int_equal(engine_actor_send(f.engine, watcher, MESSAGE_TYPE_DOWN, &down, sizeof(down)),
                     0);
    run_queues();
    assert_int_equal(shared->n_notes, 0);
    assert_int_equal(engine_fixture_stat(&f, STAT_dead_letters), 1);
}

/* The same by a timer, which the next executor finds. */
static void test_forged_by_a_timer(void **state)
{
    (void)state;
    order((struct orders){ .act = ACT_FORGE });
    restart();
    fire(LATER);
    assert_int_equal(shared->n_notes, 0);
    assert_int_equal(engine_fixture_stat(&f, STAT_dead_letters), 1);
}

/* One whose receiver's queue is full is late, and not lost. */
static void test_a_full_queue(void **state)
{
    uint64_t limit = f.engine->segment.header->limit_bytes, now = LATER;

    (void)state;
    monitors(other);
    ends(other);
    shared->orders.act = ACT_NOTHING;
    f.engine->segment.header->limit_bytes = 0;
    assert_int_equal(engine_actor_send(f.engine, watcher, go_type, NULL, 0), 0);
    timer_fire_due(f.engine, now);
    f.engine->segment.header->limit_bytes = limit;
    run_queues();
    assert_int_equal(shared->n_notes, 0);
    fire(now + TIMER_DEFER_NS);
    assert_only_told(other, REASON_FINISHED);
}

#define MONITOR_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        MONITOR_TEST(test_told_once),
        MONITOR_TEST(test_costs_nothing_while_nobody_ends),
        MONITOR_TEST(test_many_watch_one),
        MONITOR_TEST(test_the_slot_comes_back),
        MONITOR_TEST(test_of_a_brief_life),
        MONITOR_TEST(test_who_is_stopped),
        MONITOR_TEST(test_whose_init_fails),
        MONITOR_TEST(test_whose_child_cannot_begin),
        MONITOR_TEST(test_whose_child_cannot_begin_unwatched),
        MONITOR_TEST(test_whose_kept_child_cannot_begin),
        MONITOR_TEST(test_who_is_not_told_of_a_child),
        MONITOR_TEST(test_too_late),
        MONITOR_TEST(test_too_late_to_be_seen),
        MONITOR_TEST(test_behind_its_last_words),
        MONITOR_TEST(test_a_turn_that_died_has_begun_none),
        MONITOR_TEST(test_not_before_its_turn_has_been_committed),
        MONITOR_TEST(test_in_a_long_turn),
        MONITOR_TEST(test_ended_before),
        MONITOR_TEST(test_ended_between_the_end_and_its_word),
        MONITOR_TEST(test_a_turn_that_died_has_ended_none),
        MONITOR_TEST(test_over_a_restart),
        MONITOR_TEST(test_an_end_that_died),
        MONITOR_TEST(test_who_begins_anew),
        MONITOR_TEST(test_before_the_next_life_speaks),
        MONITOR_TEST(test_who_is_not_resumed),
        MONITOR_TEST(test_of_a_life_that_is_over),
        MONITOR_TEST(test_who_watched_has_ended),
        MONITOR_TEST(test_oneself),
        MONITOR_TEST(test_whose_type_is_quarantined),
        MONITOR_TEST(test_who_is_stopped_and_not_loaded),
        MONITOR_TEST(test_beside_one_who_is_not_there_yet),
        MONITOR_TEST(test_before_anybody_is_there),
        MONITOR_TEST(test_refused),
        MONITOR_TEST(test_forged),
        MONITOR_TEST(test_forged_by_a_timer),
        MONITOR_TEST(test_a_full_queue),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
