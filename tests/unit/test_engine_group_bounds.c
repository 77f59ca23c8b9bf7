/* SPDX-License-Identifier: Apache-2.0 */
/* Groups: what is full, refused, counted and shown. */
#include "daemon/engine/ports/port.h"
#include "engine_client.h"
#include "group_fixture.h"

/* Nothing wakes the control thread for it, and no drain counts it. */
static void test_costs_nothing_while_nobody_publishes(void **state)
{
    (void)state;
    members(2, kept_type);
    assert_int_equal(f.engine->timers.fd_ns, 0);
    assert_int_equal(engine_timers_count(f.engine), 0);
    restart();
    assert_int_equal(f.engine->timers.fd_ns, 0);
    fire(LATER);
    assert_int_equal(members_count(f.engine, group_of("prices")), 2);
}

/* A member that does not drain is left out, and holds up nobody else. */
static void test_a_member_that_never_drains(void **state)
{
    struct segment_header *header = f.engine->segment.header;
    uint64_t limit = header->limit_bytes, word = 2;
    actor_ref stuck, member, group;

    (void)state;
    joins(publisher);
    group = group_of("prices");
    do
        stuck = spawn(kept_type);
    while (queue_of(stuck) == queue_of(group));
    do
        member = spawn(kept_type);
    while (queue_of(member) != queue_of(group));
    run_queues();
    joins(stuck);
    joins(member);
    publishes(1, 1);
    shared->orders.act = ACT_NOTHING;
    for (int i = 0; i < 200; i++)
        assert_int_equal(engine_actor_send(f.engine, stuck, go_type, NULL, 0), 0);
    header->limit_bytes = 4096;
    assert_int_equal(engine_actor_send(f.engine, group, word_type, &word, sizeof(word)), 0);
    run_alone(group);
    assert_int_equal(log_of(member)->n, 2);
    header->limit_bytes = limit;
    run_queues();
    assert_int_equal(log_of(stuck)->n, 1);
    assert_int_equal(engine_fixture_stat(&f, STAT_publications_missed), 1);
    publishes(3, 1);
    assert_int_equal(log_of(stuck)->n, 2);
}

/* A group that is to be made wants room for its init in its queue, of which there are two. */
static void test_no_room_for_a_new_group(void **state)
{
    struct segment_header *header = f.engine->segment.header;
    uint64_t limit = header->limit_bytes, word = 1;
    actor_ref others[8];

    (void)state;
    for (int i = 0; i < 8; i++)
        others[i] = spawn(kept_type);
    for (int i = 0; i < 8; i++)
        assert_int_equal(engine_actor_send(f.engine, others[i], word_type, &word, sizeof(word)), 0);
    shared->orders = (struct orders){ .act = ACT_JOIN_MANY, .n = 3, .name = "group" };
    assert_int_equal(engine_actor_send(f.engine, publisher, go_type, NULL, 0), 0);
    header->limit_bytes = 0;
    assert_true(owner_take(&f.engine->sources[queue_of(publisher)], 0, 0));
    mailbox_run(f.engine->workers[0], queue_of(publisher), false);
    assert_int_equal(shared->result, -EAGAIN);
    header->limit_bytes = limit;
    shared->orders.act = ACT_NOTHING;
    run_queues();
    joins(publisher);
    assert_int_equal(members_count(f.engine, group_of("prices")), 1);
}

/* group.G6 */
static void test_what_a_client_publishes_counts_for_it(void **state)
{
    enum { N = 8, SIZE = 1000 };
    static const uint8_t bytes[SIZE] = { 7 };
    struct worker *w = f.engine->workers[0];
    struct client c;
    actor_ref group;

    (void)state;
    joins(publisher);
    group = group_of("prices");
    for (uint32_t n = 0; n < N;) {
        actor_ref member = spawn(kept_type);
        run_queues();
        if (queue_of(member) != queue_of(group) && ++n)
            joins(member);
    }
    client_make(&c, 0, 1);
    c.info.user = 7;
    assert_int_equal(engine_port_add(f.engine, &c.info, &c.ref), 0);
    const _Atomic int64_t *waiting =
        &f.engine->budget.accounts[f.engine->ports.table[0].account].waiting;
    store_relaxed(&f.engine->budget.most, 7); /* users are accounted */
    for (int i = 0; i < 2; i++)
        client_post(&c, group, large_type, bytes, sizeof(bytes));
    assert_true(owner_take(&f.engine->sources[engine_source_of_port(f.engine, 0)], 0, 0));
    assert_int_equal(port_run(w, 0, false), -1);
    assert_in_range(load_relaxed(waiting), 2 * SIZE, 3 * SIZE);
    run_alone(group);
    assert_in_range(load_relaxed(waiting), 2 * N * SIZE, 2 * (N + 1) * (SIZE + 40));
    assert_int_equal(w->flush.account, 0);
    run_queues();
    assert_int_equal(load_relaxed(waiting), 0);
    store_relaxed(&f.engine->budget.most, BUDGET_UNBOUND);
    assert_int_equal(log_of(publisher)->n, 2);
    client_free(&c);
}

static void test_groups_are_listed(void **state)
{
    struct engine_group_view view;

    (void)state;
    assert_int_equal(engine_group_next(f.engine, 0, &view), -ENOENT);
    members(3, kept_type);
    order_of(actors[1], (struct orders){ .act = ACT_JOIN, .name = "news" });
    for (uint32_t at = 0, n = 0; n < 2; n++, at = view.at + 1) {
        assert_int_equal(engine_group_next(f.engine, at, &view), 0);
        assert_int_equal(view.ref, group_of(view.name));
        assert_int_equal(view.members, strcmp(view.name, "prices") == 0 ? 3 : 1);
    }
    assert_int_equal(engine_group_next(f.engine, view.at + 1, &view), -ENOENT);
}

static void test_refused(void **state)
{
    (void)state;
    order_of(publisher, (struct orders){ .act = ACT_PUBLISH, .name = "prices", .n = 1 });
    assert_int_equal(shared->result, -ENOENT);
    order_of(publisher, (struct orders){ .act = ACT_LEAVE, .name = "prices" });
    assert_int_equal(shared->result, -ENOENT);
    order_of(publisher, (struct orders){ .act = ACT_JOIN, .name = "no name" });
    assert_int_equal(shared->result, -EINVAL);
    actor_ref named;
    assert_int_equal(engine_actor_spawn(f.engine, kept_type, "person", NULL, 0, &named), 0);
    run_queues();
    static const enum act acts[] = { ACT_JOIN, ACT_LEAVE, ACT_PUBLISH };
    for (uint32_t i = 0; i < 3; i++) {
        order_of(publisher, (struct orders){ .act = acts[i], .name = "person", .n = 1 });
        assert_int_equal(shared->result, -EEXIST);
    }
    joins(publisher);
    order_of(publisher,
             (struct orders){ .act = ACT_PUBLISH, .name = "prices", .n = 1, .size = 32769 });
    assert_int_equal(shared->result, -EMSGSIZE);
}

/* A question would have many answers: its asker is told at once. */
static void test_a_question_is_refused(void **state)
{
    (void)state;
    members(2, kept_type);
    order_of(publisher, (struct orders){ .act = ACT_ASK, .name = "prices", .word = 7 });
    assert_int_equal(shared->result, 0);
    fire(clock_now_ns());
    assert_int_equal(shared->no_answer, REASON_NOT_ACCEPTED);
    assert_words_of_all(0, 0);
}

static void test_a_group_does_not_end(void **state)
{
    actor_ref group;

    (void)state;
    members(2, kept_type);
    group = group_of("prices");
    assert_int_equal(engine_actor_send(f.engine, group, MESSAGE_TYPE_POISON_DELETE, NULL, 0), 0);
    run_queues();
    assert_int_equal(engine_fixture_stat(&f, STAT_dead_letters), 1);
    publishes(7, 1);
    assert_words_of_all(7, 1);
    assert_int_equal(group_of("prices"), group);
}

/* A membership counts as a timer of its actor's. */
static void test_no_room_for_a_member(void **state)
{
    actor_ref member = spawn(kept_type);

    (void)state;
    order_of(member, (struct orders){ .act = ACT_ARM_MANY });
    order_of(member, (struct orders){ .act = ACT_JOIN, .name = "prices" });
    assert_int_equal(shared->result, -EAGAIN);
    joins(publisher);
}

static void test_as_many_groups_as_may_be(void **state)
{
    (void)state;
    order_of(publisher,
             (struct orders){ .act = ACT_JOIN_MANY, .name = "g", .n = ODEON_GROUPS_MAX });
    assert_int_equal(shared->result, 0);
    order_of(publisher, (struct orders){ .act = ACT_JOIN, .name = "prices" });
    assert_int_equal(shared->result, -ENOSPC);
    restart();
    order_of(publisher, (struct orders){ .act = ACT_JOIN, .name = "prices" });
    assert_int_equal(shared->result, -ENOSPC);
    order_of(publisher, (struct orders){ .act = ACT_JOIN, .name = "g17" });
    assert_int_equal(shared->result, -EALREADY);
    order_of(publisher, (struct orders){ .act = ACT_PUBLISH, .name = "g1023", .word = 7, .n = 1 });
    assert_words(0, 7, 1);
}

/* 32 KiB for a thousand: twice what an outbox of this size could hold. */
static void test_the_largest_message_for_many(void **state)
{
    (void)state;
    members(1000, kept_type);
    order_of(
        publisher,
        (struct orders){
            .act = ACT_PUBLISH, .name = "prices", .word = 7, .n = 1, .size = ODEON_PAYLOAD_MAX });
    assert_int_equal(shared->result, 0);
    assert_words_of_all(7, 1);
    assert_int_equal(engine_fixture_stat(&f, STAT_publications_missed), 0);
}

static int find_the_type(struct engine_context *ctx)
{
    uint32_t id;

    return engine_ctx_find_type(ctx, "odeon_group", &id);
}

/* Nobody makes one by hand, which nobody could end. */
static void test_is_made_by_joining_alone(void **state)
{
    (void)state;
    joins(spawn(kept_type));
    assert_int_equal(engine_run(f.engine, find_the_type), -ENOENT);
}

enum { URGENT = 7, URGENT_BYTES = 2000, URGENT_LIMIT = 16384 };

static int publish_urgently(struct engine_context *ctx)
{
    static const uint8_t bytes[URGENT_BYTES];
    int r = 0;

    for (unsigned i = 0; i < URGENT && r == 0; i++)
        r = engine_ctx_send_urgent(ctx, group_of("prices"), large_type, BEHAVIOUR_NONE, bytes,
                                   sizeof(bytes));
    return r;
}

/* group.G5: what comes by the urgent lane goes on in the ordinary one, of which one is run for so
 * many. */
static void test_what_goes_on_is_bounded(void **state)
{
    enum { ROUNDS = 100 };
    uint64_t most, n = 0;

    (void)state;
    members(BLOCK + 1, kept_type);
    uint32_t queue = queue_of(group_of("prices"));
    f.engine->segment.header->limit_bytes = URGENT_LIMIT;
    store_relaxed(&f.engine->throughput, URGENT);
    most = 2ul * URGENT_LIMIT + f.engine->segment.header->outbox_bytes;
    for (unsigned round = 0; round < ROUNDS; round++) {
        assert_int_equal(engine_run(f.engine, publish_urgently), 0);
        assert_true(owner_take(&f.engine->sources[queue], 0, 0));
        mailbox_run(f.engine->workers[0], queue, false);
        assert_true(queue_backlog_bytes(&f.engine->segment.queues[queue]) <= most);
    }
    run_queues();
    struct engine_dead_letter letters[16];
    bool more;
    n = engine_dead_letters_list(f.engine, 0, letters, 16, &more);
    assert_int_equal(n, 16);
    for (uint64_t i = 0; i < n; i++)
        assert_int_equal(letters[i].reason, REASON_QUEUE_FULL);
}

#define GROUP_TEST(test)       cmocka_unit_test_setup_teardown(test, setup, teardown)
#define LARGE_GROUP_TEST(test) cmocka_unit_test_setup_teardown(test, setup_large, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        GROUP_TEST(test_costs_nothing_while_nobody_publishes),
        GROUP_TEST(test_a_member_that_never_drains),
        GROUP_TEST(test_no_room_for_a_new_group),
        GROUP_TEST(test_what_a_client_publishes_counts_for_it),
        GROUP_TEST(test_groups_are_listed),
        GROUP_TEST(test_is_made_by_joining_alone),
        GROUP_TEST(test_what_goes_on_is_bounded),
        GROUP_TEST(test_refused),
        GROUP_TEST(test_a_question_is_refused),
        GROUP_TEST(test_a_group_does_not_end),
        GROUP_TEST(test_no_room_for_a_member),
        GROUP_TEST(test_as_many_groups_as_may_be),
        GROUP_TEST(test_the_largest_message_for_many),
        LARGE_GROUP_TEST(test_the_largest_message_for_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
