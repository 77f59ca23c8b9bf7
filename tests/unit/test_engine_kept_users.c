/* SPDX-License-Identifier: Apache-2.0 */
/* Groups' copies of what clients have published, for a member that has no room: whose they are
 * (kept.KE4). */
#include "daemon/engine/ports/port.h"
#include "daemon/engine/recovery/verify.h"
#include "daemon/engine/timers/kept.h"
#include "daemon/engine/timers/timer_users.h"
#include "engine_client.h"
#include "group_fixture.h"

enum { USER = 1001, OTHER_USER = 1002, LARGE = 32000, TRIES = 20 };
static struct client client, other;
static actor_ref stuck;
static uint64_t limit; /* of queues, when none is to be full */

static void open_port(struct client *c, uint32_t id, uint32_t generation, uint32_t user)
{
    client_make(c, id, generation);
    c->info.user = user;
    assert_int_equal(engine_port_add(f.engine, &c->info, &c->ref), 0);
}

/* Takes all that its client has posted, and gives it what waits behind its ring. */
static void visit(const struct client *c)
{
    assert_true(owner_take(&f.engine->sources[engine_source_of_port(f.engine, c->info.id)], 0, 0));
    assert_int_equal(port_run(f.engine->workers[0], c->info.id, false), -1);
}

static int setup_users(void **state)
{
    int r = setup(state);

    limit = f.engine->segment.header->limit_bytes;
    joins(publisher);
    stuck = member_of(waiting_type, false);
    open_port(&client, 3, 1, USER);
    open_port(&other, 4, 1, OTHER_USER);
    fill(stuck);
    return r;
}

static int teardown_users(void **state)
{
    client_free(&client);
    client_free(&other);
    return teardown(state);
}

/* How many of so large ones one has that has half of what is left when `taken` are. */
static uint64_t share(uint64_t taken)
{
    uint64_t all = f.engine->segment.header->timer_bytes / TIMER_CLASS_BYTES(9);

    return (all - taken) / 2;
}

static uint64_t waiting_of(uint32_t user)
{
    return timer_users_get(&f.engine->timers.users, user).n;
}

static void post(struct client *c, uint64_t word)
{
    static uint64_t words[LARGE / 8];

    words[0] = word;
    client_post(c, group_of("prices"), large_type, words, sizeof(words));
    visit(c);
}

/* So many that are all the user's share and some more; the words from `from` on. */
static void publish_many(struct client *c, uint64_t from)
{
    for (uint64_t word = from; word < from + TRIES; word++) {
        post(c, word);
        run_alone(group_of("prices"));
    }
}

static void expect_refusals(struct client *c, uint64_t n)
{
    const struct envelope *at;
    struct refusal refusal;

    visit(c);
    for (uint64_t i = 0; i < n; i++) {
        at = client_next(c);
        if (!at) {
            fail_msg("nobody is told that no copy waits, %u times", (unsigned)(n - i));
            abort(); /* which the compiler does not know of the line before */
        }
        assert_int_equal(at->type, MESSAGE_TYPE_REFUSAL);
        memcpy(&refusal, envelope_payload(at), sizeof(refusal));
        assert_int_equal(refusal.reason, REASON_TIMERS_FULL);
        assert_int_equal(refusal.to, group_of("prices"));
        assert_int_equal(refusal.type, large_type);
        assert_int_equal(refusal.correlation, 0);
    }
    assert_ptr_equal(client_next(c), NULL);
}

/* The member that was stuck has gone on, and has these words and no others. */
static void expect_sent(uint64_t from, uint64_t n)
{
    f.engine->segment.header->limit_bytes = limit;
    run_alone(stuck);
    fire(LATER);
    assert_int_equal(log_of(stuck)->n, n);
    for (uint64_t i = n > WORDS ? n - WORDS : 0; i < n; i++)
        assert_int_equal(log_of(stuck)->words[i % WORDS], from + i);
    assert_int_equal(kept_count(f.engine), 0);
    assert_int_equal(f.engine->timers.users.n, 0);
}

/* A user has half of what the others leave, and is told what is beyond it; the others have their
 * part as if it were not there, and members that have room get everything. */
static void test_a_clients_user_pays(void **state)
{
    uint64_t mine = share(0), others = share(mine);

    (void)state;
    publish_many(&client, 0);
    assert_int_equal(waiting_of(USER), mine);
    assert_int_equal(kept_count(f.engine), mine);
    expect_refusals(&client, TRIES - mine);
    publish_many(&other, 100);
    assert_int_equal(waiting_of(OTHER_USER), others);
    expect_refusals(&other, TRIES - others);
    assert_int_equal(log_of(publisher)->n, 2 * TRIES);
    assert_int_equal(engine_fixture_stat(&f, STAT_publications_missed), 2 * TRIES - mine - others);
    f.engine->segment.header->limit_bytes = limit;
    run_alone(stuck);
    fire(LATER);
    assert_int_equal(log_of(stuck)->n, mine + others);
    assert_int_equal(f.engine->timers.users.n, 0);
}

/* It has room again when its have been sent. */
static void test_what_was_sent_counts_no_more(void **state)
{
    uint64_t mine = share(0);

    (void)state;
    publish_many(&client, 0);
    expect_refusals(&client, TRIES - mine);
    expect_sent(0, mine);
    fill(stuck);
    publish_many(&client, 100);
    assert_int_equal(waiting_of(USER), mine);
    expect_refusals(&client, TRIES - mine);
}

/* What actors publish there is the group's, and counts for no user; nor the reverse. */
static void test_an_actors_are_the_groups(void **state)
{
    uint32_t before = timer_owners_count(&f.engine->timers.owners, group_of("prices"));

    (void)state;
    post(&client, 1);
    run_alone(group_of("prices"));
    assert_int_equal(waiting_of(USER), 1);
    assert_int_equal(timer_owners_count(&f.engine->timers.owners, group_of("prices")), before);
    f.engine->segment.header->limit_bytes = limit;
    shared->orders = (struct orders){ .act = ACT_PUBLISH, .name = "prices", .word = 2, .n = 1 };
    assert_int_equal(engine_actor_send(f.engine, publisher, go_type, NULL, 0), 0);
    run_alone(publisher);
    shared->orders.act = ACT_NOTHING;
    run_alone(group_of("prices"));
    assert_int_equal(waiting_of(USER), 1);
    assert_int_equal(kept_count(f.engine), 2);
    assert_int_equal(timer_owners_count(&f.engine->timers.owners, group_of("prices")), before + 1);
    expect_sent(1, 2);
}

static void post_and_go(uint64_t word)
{
    post(&client, word);
    assert_int_equal(engine_port_remove(f.engine, client.info.id, client.info.generation), 0);
    visit(&client);
}

/* Nobody is told, and its user pays nevertheless. */
static void test_a_client_that_has_gone(void **state)
{
    (void)state;
    post_and_go(7);
    run_alone(group_of("prices"));
    assert_int_equal(waiting_of(USER), 1);
    expect_sent(7, 1);
}

/* Its port's number is another one's by the time that the group's turn comes: all such pay
 * together, and with what nobody has posted. */
static void test_of_nobody(void **state)
{
    uint64_t word = 8;

    (void)state;
    post_and_go(7);
    f.engine->ports.table[client.info.id].poster += UINT64_C(1) << 32; /* as the next one's */
    run_alone(group_of("prices"));
    assert_int_equal(waiting_of(USER), 0);
    assert_int_equal(waiting_of(TIMER_USER_NOBODY), 1);
    assert_int_equal(
        engine_actor_send(f.engine, group_of("prices"), word_type, &word, sizeof(word)), 0);
    run_alone(group_of("prices"));
    assert_int_equal(waiting_of(TIMER_USER_NOBODY), 2);
    expect_sent(7, 2);
}

/* Whose they are is in the table: another executor knows it, though the clients have gone. */
static void test_over_a_restart(void **state)
{
    uint64_t mine = share(0);
    char text[VERIFY_TEXT_MAX];

    (void)state;
    publish_many(&client, 0);
    assert_int_equal(verify_segment(f.engine, text), 0);
    f.engine->segment.header->limit_bytes = limit;
    restart();
    assert_int_equal(waiting_of(USER), mine);
    client_free(&other);
    open_port(&other, 5, 1, USER);
    run_alone(stuck);
    fill(stuck);
    post(&other, 100);
    run_alone(group_of("prices"));
    expect_refusals(&other, 1);
    expect_sent(0, mine);
}

#define USERS_TEST(test) cmocka_unit_test_setup_teardown(test, setup_users, teardown_users)

int main(void)
{
    const struct CMUnitTest tests[] = {
        USERS_TEST(test_a_clients_user_pays),
        USERS_TEST(test_what_was_sent_counts_no_more),
        USERS_TEST(test_an_actors_are_the_groups),
        USERS_TEST(test_a_client_that_has_gone),
        USERS_TEST(test_of_nobody),
        USERS_TEST(test_over_a_restart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
