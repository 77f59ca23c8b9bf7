/* SPDX-License-Identifier: Apache-2.0 */
/* Groups: members at their limit whose types say that who sends waits (timers/kept.h). */
#include "daemon/engine/recovery/verify.h"
#include "daemon/engine/timers/kept.h"
#include "group_fixture.h"

static uint64_t limit; /* of queues, when none is to be full */

static uint64_t count(enum stat_index stat)
{
    return engine_fixture_stat(&f, stat);
}

static void widen(void)
{
    f.engine->segment.header->limit_bytes = limit;
}

static void empty(actor_ref who)
{
    run_alone(who);
    widen();
}

/* The words from `from` on, n of them, and only the group's queue runs. */
static void publish_words(uint64_t from, uint64_t n)
{
    actor_ref group = group_of("prices");

    for (uint64_t word = from; word < from + n; word++)
        assert_int_equal(engine_actor_send(f.engine, group, word_type, &word, sizeof(word)), 0);
    run_alone(group);
}

static void assert_has(actor_ref who, uint64_t from, uint64_t n)
{
    for (uint32_t i = 0; i < n_actors; i++)
        if (actors[i] == who)
            assert_words(i, from, n);
}

static int setup_waiting(void **state)
{
    int r = setup(state);

    limit = f.engine->segment.header->limit_bytes;
    joins(publisher);
    return r;
}

/* group.G8: and its are told in order when it gets on. */
static void test_it_delays_itself_alone(void **state)
{
    actor_ref stuck, near;

    (void)state;
    stuck = member_of(waiting_type, false);
    near = member_of(kept_type, true);
    fill(stuck);
    publish_words(1, 3);
    assert_has(near, 1, 3);
    assert_int_equal(count(STAT_publications_kept), 3);
    assert_int_equal(count(STAT_publications_missed), 0);
    assert_int_equal(kept_count(f.engine), 3);
    assert_int_equal(engine_timers_count(f.engine), 0); /* no timers, for who lists them */
    struct engine_timer_view view;
    for (uint32_t at = 0; engine_timer_next(f.engine, at, &view) == 0; at = view.timer + 1)
        assert_true(view.group != 0);
    (void)timer_fire_due(f.engine, clock_now_ns());
    assert_int_equal(count(STAT_timers_deferred), 1); /* kept.KE1: one is tried, and no other */
    assert_int_equal(kept_count(f.engine), 3);
    empty(stuck);
    fire(LATER);
    assert_has(stuck, 1, 3);
    assert_int_equal(kept_count(f.engine), 0);
    assert_int_equal(count(STAT_publications_sent), 9);
    assert_int_equal(f.engine->timers.fd_ns, 0);
    publish_words(4, 1);
    run_queues();
    assert_has(stuck, 1, 4);
    assert_int_equal(count(STAT_publications_kept), 3);
}

/* tag.TG1: beside copies that have a trace's id what is kept has none, and is read rightly by the
 * next start, too. The worker runs as within a traced message. */
static void test_beside_a_trace(void **state)
{
    actor_ref stuck, near;
    char text[VERIFY_TEXT_MAX];

    (void)state;
    stuck = member_of(waiting_type, false);
    near = member_of(kept_type, true);
    fill(stuck);
    f.engine->workers[0]->place.trace = 77;
    publish_words(1, 3);
    f.engine->workers[0]->place.trace = 0;
    assert_has(near, 1, 3);
    assert_int_equal(kept_count(f.engine), 3);
    assert_int_equal(verify_segment(f.engine, text), 0);
    for (uint32_t timer = 0; timer < f.engine->segment.n_timers; timer++)
        if (timer_is_kept(&f.engine->segment.timers[timer]))
            assert_int_equal(
                segment_timer_message(&f.engine->segment, &f.engine->segment.timers[timer])->prefix,
                0);
    empty(stuck);
    fire(LATER);
    assert_has(stuck, 1, 3);
}

/* kept.KE2 */
static void test_none_goes_past_it(void **state)
{
    actor_ref stuck;

    (void)state;
    stuck = member_of(waiting_type, false);
    fill(stuck);
    publish_words(1, 1);
    empty(stuck);
    publish_words(2, 1); /* there is room by now */
    assert_int_equal(kept_count(f.engine), 2);
    run_queues();
    assert_has(stuck, 0, 0);
    fire(LATER);
    assert_has(stuck, 1, 2);
}

/* kept.KE2: the control thread has sent it, and not yet flushed. */
static void test_none_goes_past_one_that_is_on_its_way(void **state)
{
    struct kept_wait waits[2];
    actor_ref who[2], group = group_of("prices");

    (void)state;
    who[0] = member_of(waiting_type, false);
    who[1] = member_of(waiting_type, false);
    kept_sent(f.engine, group, who[1], queue_of(who[1]));
    f.engine->timers.kept.any = 1;
    assert_false(engine_is_quiet(f.engine));
    assert_false(kept_look(f.engine, queue_of(who[1]), group, who, 2, waits));
    assert_false(waits[0].own);
    assert_true(waits[1].own && waits[1].n == 1);
    assert_false(kept_look(f.engine, queue_of(who[1]), publisher, who, 2, waits));
    assert_false(waits[1].own);
    publish_words(1, 1);
    assert_int_equal(count(STAT_publications_kept), 1);
    kept_flushed(f.engine);
    fire(LATER);
    assert_has(who[0], 1, 1);
    assert_has(who[1], 1, 1);
    assert_true(engine_is_quiet(f.engine));
}

/* kept.KE3: it is in the active buffer of the group's own queue, and a batch of that runs. */
static void test_in_the_queue_of_its_group(void **state)
{
    static uint8_t bytes[20000];
    actor_ref group = group_of("prices"), near, filler;
    uint64_t word = 2;

    (void)state;
    near = member_of(waiting_type, true);
    do
        filler = spawn(kept_type);
    while (queue_of(filler) != queue_of(group));
    run_queues();
    bytes[0] = 1;
    shared->orders = (struct orders){ .act = ACT_FILL };
    assert_int_equal(engine_actor_send(f.engine, filler, go_type, NULL, 0), 0);
    assert_int_equal(engine_actor_send(f.engine, group, large_type, bytes, sizeof(bytes)), 0);
    f.engine->segment.header->limit_bytes = 64;
    run_alone(group);
    widen();
    assert_int_equal(kept_count(f.engine), 1);
    shared->orders = (struct orders){ .act = ACT_FIRE };
    assert_int_equal(engine_actor_send(f.engine, filler, go_type, NULL, 0), 0);
    assert_int_equal(engine_actor_send(f.engine, group, word_type, &word, sizeof(word)), 0);
    run_queues();
    assert_int_equal(kept_count(f.engine), 0);
    assert_has(near, 1, 2);
}

/* kept.KE2: the first word is in the outbox of who runs the group when another group's waits. */
static void test_of_two_groups(void **state)
{
    actor_ref group = group_of("prices"), filler;

    (void)state;
    shared->victim = member_of(waiting_type, false);
    order_of(publisher, (struct orders){ .act = ACT_JOIN, .name = "news" });
    do
        filler = spawn(kept_type);
    while (queue_of(filler) != queue_of(group));
    run_queues();
    order_of(filler, (struct orders){ .act = ACT_NOTHING }); /* its behaviour is known as quick */
    shared->orders = (struct orders){ .act = ACT_KEEP, .name = "news", .word = 50 };
    shared->reaction = (struct orders){ .act = ACT_FIRE };
    f.engine->timers.kept.any = 1;
    for (uint64_t word = 1; word <= 2; word++) {
        assert_int_equal(engine_actor_send(f.engine, group, word_type, &word, sizeof(word)), 0);
        assert_int_equal(engine_actor_send(f.engine, filler, go_type, NULL, 0), 0);
    }
    run_alone(group);
    fire(LATER);
    const struct log *log = log_of(shared->victim);
    assert_int_equal(log->n, 3);
    assert_int_equal(log->words[log->words[0] == 1 ? 0 : 1], 1);
    assert_int_equal(log->words[0] + log->words[1] + log->words[2], 53);
    assert_true(log->words[2] == 2 || log->words[1] == 2);
}

/* Also of one that leaves and joins again, at another place. */
static void test_in_order_for_who_leaves_and_joins(void **state)
{
    actor_ref stuck, other;

    (void)state;
    stuck = member_of(waiting_type, false);
    other = member_of(kept_type, true);
    fill(stuck);
    publish_words(1, 1);
    empty(stuck);
    order_of(stuck, (struct orders){ .act = ACT_LEAVE, .name = "prices" });
    order_of(other, (struct orders){ .act = ACT_LEAVE, .name = "prices" });
    joins(other);
    joins(stuck);
    assert_has(stuck, 0, 0);
    publish_words(2, 1);
    fire(LATER);
    assert_has(stuck, 1, 2);
}

/* kept.KE4 */
static void test_so_many_and_no_more(void **state)
{
    actor_ref stuck, near;

    (void)state;
    stuck = member_of(waiting_type, false);
    near = member_of(kept_type, true);
    fill(stuck);
    for (uint64_t i = 0; i < ODEON_KEPT_MAX + 5; i++)
        publish_words(1, 1);
    assert_int_equal(count(STAT_publications_kept), ODEON_KEPT_MAX);
    assert_int_equal(count(STAT_publications_missed), 5);
    assert_int_equal(log_of(near)->n, ODEON_KEPT_MAX + 5);
    empty(stuck);
    fire(LATER);
    assert_int_equal(log_of(stuck)->n, ODEON_KEPT_MAX);
}

/* The table is as full as one may make it: who would wait is left out, and counted. */
static void test_no_room_in_the_table(void **state)
{
    actor_ref stuck;

    (void)state;
    stuck = member_of(waiting_type, false);
    uint64_t bytes = f.engine->segment.header->timer_bytes;
    f.engine->segment.header->timer_bytes = f.engine->timers.bytes;
    fill(stuck);
    publish_words(1, 2);
    f.engine->segment.header->timer_bytes = bytes;
    assert_int_equal(count(STAT_publications_missed), 2);
    assert_int_equal(count(STAT_publications_kept), 0);
    empty(stuck);
    publish_words(3, 1);
    run_queues();
    assert_has(stuck, 3, 1);
}

/* It, or another member, keeps its state or begins anew: what was kept for it comes, in order. */
static void test_over_a_restart(void **state)
{
    actor_ref stuck, anew;

    (void)state;
    stuck = member_of(waiting_type, false);
    anew = member_of(anew_type, false);
    fill(stuck); /* which is the other one's queue, too */
    assert_int_equal(queue_of(stuck), queue_of(anew));
    publish_words(1, 3);
    assert_int_equal(kept_count(f.engine), 6);
    widen();
    restart();
    assert_int_equal(kept_count(f.engine), 6);
    empty(stuck);
    publish_words(4, 1);
    fire(LATER);
    assert_has(stuck, 1, 4);
    assert_has(anew, 1, 3);                          /* which has not joined again */
    assert_int_equal(count(STAT_timers_dropped), 1); /* its membership */
}

/* Numbers of the table are found by a recovery in another order than they were armed in. */
static void test_in_order_whatever_their_numbers_are(void **state)
{
    actor_ref stuck;

    (void)state;
    stuck = member_of(waiting_type, false);
    fill(stuck);
    publish_words(1, 2);
    /* as if the second one had had the number of the first */
    struct segment_timer *timers = f.engine->segment.timers;
    uint32_t at[2], n = 0;
    for (uint32_t i = 0; n < 2; i++)
        if (timer_is_kept(&timers[i]))
            at[n++] = i;
    uint32_t place = timers[at[0]].place;
    timers[at[0]].place = timers[at[1]].place;
    timers[at[1]].place = place;
    uint64_t sequence = timers[at[0]].sequence;
    timers[at[0]].sequence = timers[at[1]].sequence;
    timers[at[1]].sequence = sequence;
    widen();
    restart();
    empty(stuck);
    fire(LATER);
    assert_has(stuck, 1, 2);
}

/* Its turn dies: the publication is run again, and nothing comes twice. */
static void test_a_turn_that_died(void **state)
{
    actor_ref stuck;

    (void)state;
    stuck = member_of(waiting_type, false);
    for (uint32_t i = 0; i < 2 * BLOCK; i++)
        (void)member_of(kept_type, true);
    fill(stuck);
    shared->reacts = near_the_group(2); /* in the midst of the publication */
    shared->reaction.act = ACT_DIE;
    pid_t pid = fork();
    int status;
    assert_true(pid >= 0);
    if (pid == 0) {
        publish_words(7, 1);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    widen();
    restart();
    shared->reacts = 0;
    empty(stuck);
    run_queues();
    fire(LATER);
    assert_has(stuck, 7, 1);
    assert_int_equal(kept_count(f.engine), 0);
}

/* kept.KE5 */
static void test_of_who_ends(void **state)
{
    actor_ref stuck;

    (void)state;
    stuck = member_of(waiting_type, false);
    fill(stuck);
    publish_words(1, 3);
    empty(stuck);
    order_of(stuck, (struct orders){ .act = ACT_END });
    fire(clock_now_ns());
    assert_has(stuck, 0, 0);
    assert_int_equal(kept_count(f.engine), 0);
    assert_int_equal(count(STAT_dead_letters), 3);
    assert_int_equal(f.engine->timers.n, 1); /* the publisher's membership */
}

/* A drain waits for them, and has them sent. */
static void test_a_drain(void **state)
{
    actor_ref stuck;
    uint64_t left;

    (void)state;
    stuck = member_of(waiting_type, false);
    fill(stuck);
    publish_words(1, 1);
    run_alone(publisher);
    empty(stuck);
    assert_false(engine_is_quiet(f.engine));
    assert_int_equal(engine_drain(f.engine, 0, false, &left), 1);
    assert_int_equal(left, 1);
    /* its time is over when the message waits in the queue, which nobody runs here */
    assert_int_equal(engine_drain(f.engine, UINT64_C(50000000), false, &left), 1);
    assert_int_equal(left, 1);
    assert_int_equal(kept_count(f.engine), 0);
    run_queues();
    assert_has(stuck, 1, 1);
}

#define GROUP_TEST(test) cmocka_unit_test_setup_teardown(test, setup_waiting, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        GROUP_TEST(test_it_delays_itself_alone),
        GROUP_TEST(test_beside_a_trace),
        GROUP_TEST(test_none_goes_past_it),
        GROUP_TEST(test_none_goes_past_one_that_is_on_its_way),
        GROUP_TEST(test_in_the_queue_of_its_group),
        GROUP_TEST(test_of_two_groups),
        GROUP_TEST(test_in_order_for_who_leaves_and_joins),
        GROUP_TEST(test_so_many_and_no_more),
        GROUP_TEST(test_no_room_in_the_table),
        GROUP_TEST(test_over_a_restart),
        GROUP_TEST(test_in_order_whatever_their_numbers_are),
        GROUP_TEST(test_a_turn_that_died),
        GROUP_TEST(test_of_who_ends),
        GROUP_TEST(test_a_drain),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
