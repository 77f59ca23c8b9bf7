/* SPDX-License-Identifier: Apache-2.0 */
/* Groups (asks/group.h): a publication comes once to each member, in order, whatever dies. */
#include "group_fixture.h"

static void test_to_each_once(void **state)
{
    (void)state;
    members(2 * BLOCK + 1, kept_type);
    actor_ref stranger = spawn(kept_type);
    publishes(7, 1);
    assert_int_equal(log_of(stranger)->n, 0);
    n_actors--;
    assert_words_of_all(7, 1);
    assert_int_equal(shared->log[1].from, publisher);
    assert_int_equal(shared->log[0].n, 0);
    assert_int_equal(engine_fixture_stat(&f, STAT_publications), 1);
    assert_int_equal(engine_fixture_stat(&f, STAT_publications_sent), 2 * BLOCK + 1);
    assert_int_equal(engine_fixture_stat(&f, STAT_group_joins), 2 * BLOCK + 1);
    assert_int_equal(members_count(f.engine, group_of("prices")), 2 * BLOCK + 1);
}

static void test_its_publisher_may_be_a_member(void **state)
{
    (void)state;
    joins(publisher);
    publishes(7, 2);
    assert_words(0, 7, 2);
}

/* What nobody listens to is no mistake. */
static void test_nobody_is_there(void **state)
{
    (void)state;
    joins(publisher);
    order_of(publisher, (struct orders){ .act = ACT_LEAVE, .name = "prices" });
    assert_int_equal(shared->result, 0);
    publishes(7, 1);
    assert_words(0, 0, 0);
    assert_int_equal(engine_fixture_stat(&f, STAT_group_leaves), 1);
}

static void test_joining_twice_and_leaving_twice(void **state)
{
    actor_ref member = spawn(kept_type);

    (void)state;
    joins(member);
    order_of(member, (struct orders){ .act = ACT_JOIN, .name = "prices" });
    assert_int_equal(shared->result, -EALREADY);
    order_of(member, (struct orders){ .act = ACT_LEAVE, .name = "prices" });
    assert_int_equal(shared->result, 0);
    order_of(member, (struct orders){ .act = ACT_LEAVE, .name = "prices" });
    assert_int_equal(shared->result, -ENOENT);
    joins(member);
    order_of(member, (struct orders){ .act = ACT_LEAVE_JOIN, .name = "prices" });
    assert_int_equal(shared->result, 0);
    publishes(7, 1);
    assert_words(1, 7, 1);
}

static void test_several_groups(void **state)
{
    actor_ref member = spawn(kept_type);

    (void)state;
    joins(member);
    order_of(member, (struct orders){ .act = ACT_JOIN, .name = "news" });
    assert_int_equal(shared->result, 0);
    assert_true(group_of("news") != group_of("prices"));
    order_of(publisher, (struct orders){ .act = ACT_PUBLISH, .name = "news", .word = 1, .n = 1 });
    publishes(2, 1);
    order_of(member, (struct orders){ .act = ACT_LEAVE, .name = "news" });
    order_of(publisher, (struct orders){ .act = ACT_PUBLISH, .name = "news", .word = 9, .n = 1 });
    publishes(3, 1);
    assert_words(1, 1, 3);
}

/* group.G7: of two that a turn has left, the one that it joins again. */
static void test_leaving_two_and_joining_one_again(void **state)
{
    static const char *const names[] = { "prices", "news" };

    (void)state;
    for (uint32_t i = 0; i < 2; i++) { /* whichever it has joined first */
        actor_ref member = spawn(kept_type);
        for (uint32_t n = 0; n < 2; n++) {
            order_of(member, (struct orders){ .act = ACT_JOIN, .name = names[n ^ i] });
            assert_int_equal(shared->result, 0);
        }
        order_of(member, (struct orders){ .act = ACT_LEAVE_BOTH_JOIN, .name = "prices" });
        assert_int_equal(shared->result, 0);
    }
    order_of(publisher, (struct orders){ .act = ACT_PUBLISH, .name = "news", .word = 1, .n = 1 });
    publishes(7, 1);
    fire(LATER);
    assert_words_of_all(7, 1);
    assert_int_equal(members_count(f.engine, group_of("news")), 0);
    assert_int_equal(members_count(f.engine, group_of("prices")), 2);
}

/* group.G3: the reaction to the first word comes between two blocks. */
static void test_who_joins_meanwhile_gets_none_of_it(void **state)
{
    (void)state;
    members(5 * BLOCK, kept_type);
    order_of(actors[5 * BLOCK], (struct orders){ .act = ACT_LEAVE, .name = "prices" });
    fire(clock_now_ns()); /* a place in the last block is nobody's */
    shared->reacts = near_the_group(1);
    do
        shared->victim = spawn(kept_type);
    while (queue_of(shared->victim) != queue_of(group_of("prices")));
    run_queues();
    shared->reaction = (struct orders){ .act = ACT_JOIN, .name = "prices" };
    publishes(7, 1);
    assert_int_equal(log_of(shared->victim)->n, 0);
    assert_int_equal(members_count(f.engine, group_of("prices")), 5 * BLOCK);
    publishes(8, 1);
    assert_words(n_actors - 1, 8, 1);
}

static void test_who_leaves_meanwhile_gets_none_of_it(void **state)
{
    (void)state;
    members(5 * BLOCK, kept_type);
    shared->reacts = near_the_group(1);
    shared->victim = near_the_group(4 * BLOCK + 1);
    shared->reaction = (struct orders){ .act = ACT_LEAVE, .name = "prices" };
    publishes(7, 1);
    for (uint32_t i = 1; i < n_actors; i++)
        assert_words(i, 7, actors[i] != shared->victim);
}

/* group.G2: many are under way when members of the first blocks leave, and others come. */
static void test_in_order_whoever_comes_and_goes(void **state)
{
    enum { N = 6 * BLOCK };

    (void)state;
    members(N, kept_type);
    for (uint32_t i = 1; i <= N / 2; i += 2) {
        shared->reacts = actors[i];
        shared->reaction =
            (struct orders){ .act = i % 4 == 1 ? ACT_LEAVE : ACT_LEAVE_JOIN, .name = "prices" };
        publishes(1, WORDS);
        for (uint32_t j = 1; j <= N; j++) {
            struct log *log = &shared->log[j];
            for (uint64_t k = 1; k < log->n; k++)
                assert_int_equal(log->words[k], log->words[k - 1] + 1);
            if (log->n > 0)
                assert_int_equal(log->words[log->n - 1], j == i && log->n == 1 ? 1 : WORDS);
            *log = (struct log){ 0 };
        }
    }
}

/* group.G2: the second one does not come further because there are fewer by then. */
static void test_in_order_when_there_are_fewer(void **state)
{
    actor_ref group;
    uint64_t word = 1;

    (void)state;
    members(4 * BLOCK, kept_type);
    group = group_of("prices");
    shared->orders = (struct orders){ .act = ACT_LEAVE, .name = "prices" };
    assert_int_equal(engine_actor_send(f.engine, group, word_type, &word, sizeof(word)), 0);
    for (uint32_t i = 1; i <= BLOCK; i++)
        if (queue_of(actors[i]) == queue_of(group))
            assert_int_equal(engine_actor_send(f.engine, actors[i], go_type, NULL, 0), 0);
    word = 2;
    assert_int_equal(engine_actor_send(f.engine, group, word_type, &word, sizeof(word)), 0);
    run_queues();
    for (uint32_t i = BLOCK + 1; i < n_actors; i++)
        assert_words(i, 1, 2);
    assert_int_equal(engine_fixture_stat(&f, STAT_group_leaves), BLOCK / 2);
}

/* members.M1: places are used again, and a group that has shrunk goes round less often. */
static void test_places_are_used_again(void **state)
{
    (void)state;
    members(5 * BLOCK, kept_type);
    for (uint32_t i = 1; i < n_actors; i++)
        if (i % 2 == 0 || i > 2 * BLOCK)
            order_of(actors[i], (struct orders){ .act = ACT_LEAVE, .name = "prices" });
    fire(clock_now_ns());
    const struct member_group *of = members_of(f.engine, group_of("prices"));
    assert_int_equal(of->n, BLOCK);
    assert_in_range(of->high, BLOCK, 2 * BLOCK);
    for (uint32_t i = 2; i <= 2 * BLOCK; i += 2)
        joins(actors[i]);
    assert_in_range(of->high, 2 * BLOCK, 2 * BLOCK);
    publishes(7, 1);
    for (uint32_t i = 1; i < n_actors; i++)
        assert_words(i, 7, i <= 2 * BLOCK);
}

/* Who joins behind a leave looks at no place twice. */
static void test_places_are_looked_at_once(void **state)
{
    (void)state;
    members(5 * BLOCK, kept_type);
    order_of(actors[3], (struct orders){ .act = ACT_LEAVE, .name = "prices" });
    fire(clock_now_ns());
    joins(spawn(kept_type));
    joins(spawn(kept_type));
    const struct member_group *of = members_of(f.engine, group_of("prices"));
    assert_int_equal(of->n, 5 * BLOCK + 1);
    assert_int_equal(of->lowest, of->high);
}

/* member_look.ML1 */
static void test_not_before_the_commit(void **state)
{
    actor_ref member = spawn(kept_type);

    (void)state;
    joins(publisher);
    order_of(member, (struct orders){ .act = ACT_JOIN_LOOK, .name = "prices" });
    assert_int_equal(shared->looked, 1);
    look("prices");
    assert_int_equal(shared->looked, 2);
    order_of(member, (struct orders){ .act = ACT_LEAVE_LOOK, .name = "prices" });
    assert_int_equal(shared->looked, 2);
    look("prices");
    assert_int_equal(shared->looked, 1);
}

/* group.G7 */
static void test_leaving_and_joining_in_one_turn(void **state)
{
    static const enum act acts[] = { ACT_LEAVE_JOIN, ACT_LEAVE_JOIN_LOOK };
    actor_ref member = spawn(kept_type);

    (void)state;
    joins(member);
    uint32_t entries = f.engine->timers.n, high = f.engine->segment.header->timers_high;
    for (uint32_t i = 0; i < 2; i++) {
        order_of(member, (struct orders){ .act = acts[i], .name = "prices" });
        assert_int_equal(shared->result, 0);
        assert_int_equal(f.engine->timers.n, entries);
        assert_int_equal(f.engine->segment.header->timers_high, high);
        assert_int_equal(f.engine->timers.cancelled.n, 0);
    }
    assert_int_equal(shared->looked, 1);
    look("prices");
    assert_int_equal(shared->looked, 1);
    order_that_kills(member, (struct orders){ .act = ACT_LEAVE_JOIN_DIE, .name = "prices" });
    publishes(7, 1);
    assert_words(1, 7, 1);
    order_of(member, (struct orders){ .act = ACT_LEAVE, .name = "prices" });
    assert_int_equal(shared->result, 0);
    publishes(8, 1);
    assert_words(1, 7, 1);
}

static void test_a_turn_that_died(void **state)
{
    actor_ref member = spawn(kept_type), other = spawn(kept_type);

    (void)state;
    order_that_kills(member, (struct orders){ .act = ACT_JOIN_DIE, .name = "prices" });
    assert_true(group_of("prices") != 0); /* which it has made all the same */
    assert_int_equal(members_count(f.engine, group_of("prices")), 0);
    joins(other);
    order_that_kills(other, (struct orders){ .act = ACT_LEAVE_DIE, .name = "prices" });
    order_that_kills(
        publisher, (struct orders){ .act = ACT_PUBLISH_DIE, .name = "prices", .word = 7, .n = 1 });
    assert_words(1, 0, 0);
    assert_words(2, 0, 0);
    publishes(8, 1);
    assert_words(2, 8, 1);
}

/* The executor dies while a member runs, most of a publication is still to come. */
static void test_a_publication_goes_on_behind_a_crash(void **state)
{
    (void)state;
    members(4 * BLOCK, kept_type);
    shared->reacts = actors[2];
    shared->reaction.act = ACT_DIE;
    order_that_kills(publisher,
                     (struct orders){ .act = ACT_PUBLISH, .name = "prices", .word = 7, .n = 3 });
    assert_words_of_all(7, 3);
}

/* group.G3, members.M3 */
static void test_who_joins_behind_the_crash_gets_none_of_it(void **state)
{
    actor_ref late = spawn(kept_type);

    (void)state;
    members(4 * BLOCK, kept_type);
    shared->reacts = actors[2];
    shared->reaction.act = ACT_DIE;
    last_of = publisher;
    last_orders = (struct orders){ .act = ACT_PUBLISH, .name = "prices", .word = 7, .n = 1 };
    timer_fixture_die(&f, carry_out, register_types);
    /* before anything that was left is run */
    struct timer_request request = { .to = late,
                                     .meta = envelope_meta(MESSAGE_TYPE_INIT, 0, BEHAVIOUR_NONE),
                                     .group = group_of("prices") };
    uint64_t id;
    f.engine->control->ctx.self = late;
    assert_int_equal(timers_arm(f.engine->control, &request, &id), 0);
    f.engine->control->ctx.self = 0;
    commit_flip(f.engine->control, 0, 0, 0, 0, 0, 0);
    run_queues();
    assert_int_equal(log_of(late)->n, 0);
    publishes(8, 1);
    assert_words(1, 8, 1);
}

static void test_who_keeps_its_state_stays(void **state)
{
    (void)state;
    members(BLOCK + 1, kept_type);
    restart();
    assert_int_equal(members_count(f.engine, group_of("prices")), BLOCK + 1);
    fire(LATER);
    publishes(7, 1);
    assert_words_of_all(7, 1);
    restart();
    publishes(8, 1);
    assert_words_of_all(7, 2);
}

/* timers.TM4: who begins anew is a member of nothing, and is initialised at once. */
static void test_who_begins_anew_does_not(void **state)
{
    (void)state;
    members(BLOCK + 1, plain_type);
    restart();
    memset(shared->log, 0, sizeof(shared->log));
    publishes(7, 1); /* before anybody has looked */
    fire(clock_now_ns());
    assert_int_equal(members_count(f.engine, group_of("prices")), 0);
    for (uint32_t i = 1; i < n_actors; i++)
        assert_int_equal(shared->log[i].inits, 1);
    assert_words_of_all(0, 0);
    joins(actors[1]);
    publishes(8, 1);
    assert_words(1, 8, 1);
}

/* ... and can be one again before the control thread looks. */
static void test_who_begins_anew_joins_at_once(void **state)
{
    (void)state;
    members(BLOCK + 1, plain_type);
    restart();
    memset(shared->log, 0, sizeof(shared->log));
    order_of(actors[2], (struct orders){ .act = ACT_LEAVE, .name = "prices" });
    assert_int_equal(shared->result, -ENOENT);
    joins(actors[1]);
    publishes(7, 1);
    fire(clock_now_ns());
    publishes(8, 1);
    assert_words(1, 7, 2);
    assert_words(2, 0, 0);
    assert_int_equal(members_count(f.engine, group_of("prices")), 1);
    order_of(actors[1], (struct orders){ .act = ACT_JOIN, .name = "prices" });
    assert_int_equal(shared->result, -EALREADY);
}

static void test_who_ends_leaves(void **state)
{
    (void)state;
    members(BLOCK + 1, kept_type);
    order_of(actors[1], (struct orders){ .act = ACT_END });
    publishes(7, 1);
    assert_int_equal(shared->log[1].n, 0);
    fire(clock_now_ns());
    assert_int_equal(members_count(f.engine, group_of("prices")), BLOCK);
    assert_int_equal(engine_fixture_stat(&f, STAT_dead_letters), 0);
    assert_words(2, 7, 1);
    order_of(actors[2], (struct orders){ .act = ACT_END });
    restart();
    fire(clock_now_ns());
    assert_int_equal(members_count(f.engine, group_of("prices")), BLOCK - 1);
}

#define GROUP_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        GROUP_TEST(test_to_each_once),
        GROUP_TEST(test_its_publisher_may_be_a_member),
        GROUP_TEST(test_nobody_is_there),
        GROUP_TEST(test_joining_twice_and_leaving_twice),
        GROUP_TEST(test_several_groups),
        GROUP_TEST(test_leaving_two_and_joining_one_again),
        GROUP_TEST(test_who_joins_meanwhile_gets_none_of_it),
        GROUP_TEST(test_who_leaves_meanwhile_gets_none_of_it),
        GROUP_TEST(test_in_order_whoever_comes_and_goes),
        GROUP_TEST(test_in_order_when_there_are_fewer),
        GROUP_TEST(test_places_are_used_again),
        GROUP_TEST(test_places_are_looked_at_once),
        GROUP_TEST(test_not_before_the_commit),
        GROUP_TEST(test_leaving_and_joining_in_one_turn),
        GROUP_TEST(test_a_turn_that_died),
        GROUP_TEST(test_a_publication_goes_on_behind_a_crash),
        GROUP_TEST(test_who_joins_behind_the_crash_gets_none_of_it),
        GROUP_TEST(test_who_keeps_its_state_stays),
        GROUP_TEST(test_who_begins_anew_does_not),
        GROUP_TEST(test_who_begins_anew_joins_at_once),
        GROUP_TEST(test_who_ends_leaves),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
