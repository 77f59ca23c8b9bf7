/* SPDX-License-Identifier: Apache-2.0 */
/* What clients post for later (timer_posted.h): it is sent once, at its time, whoever goes before,
 * and counts for its user until then. Workers, control thread and clients are this thread. */
#include "two_clients.h"

enum { NOTES = 64 };
#define SECOND UINT64_C(1000000000)
#define HOUR   (3600 * SECOND)

struct note {
    uint64_t number, kind, correlation;
    actor_ref sender;
};

static uint16_t number_type;
static uint32_t type;
static actor_ref receiver;
static struct note notes[NOTES];
static unsigned n_notes;

static int on_number(void *self, const void *message, struct engine_context *ctx)
{
    struct note *note = &notes[n_notes++ % NOTES];

    (void)self;
    memcpy(&note->number, message, sizeof(note->number));
    note->kind = ctx->kind;
    note->correlation = ctx->correlation;
    note->sender = ctx->sender;
    return note->number == UINT64_MAX ? ALLOCATION_DELETE : ALLOCATION_NODELETE;
}

static void register_types(void)
{
    number_type = engine_fixture_message(&f, "number", 8, false);
    const struct engine_behaviour on[] = { { number_type, 8, false, on_number } };
    type = engine_fixture_type(&f, "receiver", 0, NULL, NULL, on, 1);
}

static int setup(void **state)
{
    (void)state;
    two_clients_begin(register_types);
    receiver = spawn(type);
    n_notes = 0;
    return 0;
}

/* ---- clients */

static void post_as(struct client *c, struct envelope header, uint64_t when, uint64_t number)
{
    const uint64_t correlation = 100 + number;
    uint64_t words[3], n = 0;

    if (header.prefix & PREFIX_CORRELATION)
        words[n++] = correlation;
    words[n++] = when;
    words[n++] = number;
    header.length = (uint16_t)(8 * n);
    client_post_as(c, header, words);
}

static void post(struct client *c, actor_ref to, uint64_t when, uint64_t number)
{
    post_as(c, (struct envelope){ .to = to, .type = number_type, .prefix = PREFIX_AFTER }, when,
            number);
}

static void expect_refusal(struct client *c, enum envelope_reason reason, uint64_t correlation)
{
    const struct envelope *at;
    struct refusal refusal;

    visit(c); /* it comes to the ring, or waits behind it */
    at = client_next(c);
    if (!at) {
        fail_msg("nothing is delivered");
        abort(); /* which the compiler does not know of the line before */
    }
    assert_int_equal(at->type, MESSAGE_TYPE_REFUSAL);
    memcpy(&refusal, envelope_payload(at), sizeof(refusal));
    assert_int_equal(refusal.reason, reason);
    assert_int_equal(refusal.type, number_type);
    assert_int_equal(refusal.correlation, correlation);
}

static void fire(uint64_t now_ns)
{
    while (timer_fire_due(f.engine, now_ns))
        timer_fixture_run(&f);
    timer_fixture_run(&f);
}

static void expect_numbers(unsigned n)
{
    assert_int_equal(n_notes, n);
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(notes[i].number, i);
        assert_int_equal(notes[i].kind >> 56, KIND_TIMER);
        assert_int_equal(notes[i].sender, client.ref);
    }
}

/* ---- the tests */

static void test_sent_at_its_time(void **state)
{
    uint64_t now = clock_now_ns();
    struct engine_timer_view view;

    (void)state;
    post(&client, receiver, now + 2 * HOUR, 1);
    post_as(&client,
            (struct envelope){
                .to = receiver, .type = number_type, .prefix = PREFIX_AFTER | PREFIX_CORRELATION },
            now + HOUR, 0);
    visit(&client);
    timer_fixture_run(&f);
    assert_int_equal(n_notes, 0);
    assert_int_equal(engine_timer_next(f.engine, 0, &view), 0);
    assert_int_equal(view.owner, client.ref);
    assert_int_equal(view.to, receiver);
    assert_int_equal(view.message_type, number_type);
    assert_int_equal(view.size, 8);
    assert_int_equal(view.deadline_ns, now + 2 * HOUR);
    assert_int_equal(engine_fixture_stat(&f, STAT_timers_armed), 2);
    fire(now + HOUR - 1);
    expect_numbers(0);
    fire(now + HOUR);
    expect_numbers(1);
    assert_int_equal(notes[0].correlation, 100);
    fire(now + 2 * HOUR);
    fire(now + 4 * HOUR);
    expect_numbers(2);
    assert_int_equal(notes[1].correlation, 0);
    assert_int_equal(engine_timers_count(f.engine), 0);
}

/* timer_posted.TP3: and in the order in which they were taken. */
static void test_times_that_are_past(void **state)
{
    uint64_t now = clock_now_ns();

    (void)state;
    for (uint64_t i = 0; i < 4; i++)
        post(&client, receiver, i % 2 ? 0 : now - i, i);
    visit(&client);
    fire(clock_now_ns());
    expect_numbers(4);
}

static void test_times_beyond_the_bound(void **state)
{
    struct engine_timer_view view;

    (void)state;
    post(&client, receiver, UINT64_MAX & ~ENVELOPE_AFTER_BOOT, 0);
    visit(&client);
    assert_int_equal(engine_timer_next(f.engine, 0, &view), 0);
    assert_true(view.deadline_ns <= clock_now_ns() + TIMER_DELAY_MAX_NS);
    assert_true(view.deadline_ns > TIMER_DELAY_MAX_NS);
}

static void test_by_boot_time(void **state)
{
    uint64_t now = clock_now_ns();

    (void)state;
    post(&client, receiver, (clock_boot_ns() + HOUR) | ENVELOPE_AFTER_BOOT, 0);
    visit(&client);
    fire(now + HOUR / 2);
    expect_numbers(0);
    f.engine->timers.suspended_ns += HOUR;
    fire(now + HOUR / 2);
    expect_numbers(1);
}

/* timer_posted.TP2: the port goes first, and then the executor with all that it knew of it. */
static void test_the_client_goes(void **state)
{
    uint64_t now = clock_now_ns();

    (void)state;
    post(&client, receiver, now + HOUR, 0);
    post(&client, receiver, now + 2 * HOUR, 1);
    close_port(&client);
    fire(now + HOUR);
    expect_numbers(1);
    assert_int_equal(engine_timers_count(f.engine), 1);
    timer_fixture_restart(&f, register_types);
    fire(now + HOUR);
    expect_numbers(1);
    fire(now + 2 * HOUR);
    expect_numbers(2);
    assert_int_equal(engine_fixture_stat(&f, STAT_timers_dropped), 0);
}

static void end_receiver(void)
{
    uint64_t last = UINT64_MAX;

    assert_int_equal(engine_actor_send(f.engine, receiver, number_type, &last, sizeof(last)), 0);
    timer_fixture_run(&f);
    n_notes = 0;
}

/* The one that there is: the message as it was posted. */
static void expect_letter(uint64_t number)
{
    static uint8_t payload[ODEON_PAYLOAD_MAX];
    struct engine_dead_letter letter;
    bool more;

    assert_int_equal(engine_dead_letters_list(f.engine, 0, &letter, 1, &more), 1);
    assert_false(more);
    assert_int_equal(letter.reason, REASON_NO_SUCH_ACTOR);
    assert_int_equal(letter.to, receiver);
    assert_int_equal(letter.from, other.ref);
    assert_int_equal(letter.message_type, number_type);
    assert_int_equal(engine_dead_letter_get(f.engine, letter.id, &letter, payload), 0);
    assert_int_equal(letter.size, sizeof(number));
    assert_memory_equal(payload, &number, sizeof(number));
}

static void test_the_receiver_goes(void **state)
{
    uint64_t now = clock_now_ns();

    (void)state;
    post_as(&client,
            (struct envelope){
                .to = receiver, .type = number_type, .prefix = PREFIX_AFTER | PREFIX_CORRELATION },
            now + HOUR, 7);
    post(&other, receiver, now + HOUR, 8);
    visit(&client);
    close_port(&other);
    end_receiver();
    fire(now + HOUR);
    assert_int_equal(n_notes, 0);
    assert_int_equal(engine_timers_count(f.engine), 0);
    expect_refusal(&client, REASON_NO_SUCH_ACTOR, 107);
    assert_int_equal(engine_fixture_stat(&f, STAT_dead_letters), 1); /* who posted it has gone */
    expect_letter(8);
    /* what is known at once is said at once */
    post(&client, receiver, now + HOUR, 9);
    expect_refusal(&client, REASON_NO_SUCH_ACTOR, 0);
    assert_int_equal(engine_timers_count(f.engine), 0);
}

/* As many as the user may have; *ret_more: so many were refused. */
static unsigned post_many(struct client *c, unsigned n, uint64_t when)
{
    uint64_t refused = engine_fixture_stat(&f, STAT_timers_refused);

    for (unsigned i = 0; i < n; i++)
        post(c, receiver, when, i);
    visit(c);
    refused = engine_fixture_stat(&f, STAT_timers_refused) - refused;
    for (uint64_t i = 0; i < refused; i++)
        expect_refusal(c, REASON_TIMERS_FULL, 0);
    return n - (unsigned)refused;
}

/* A user has half of what the others leave, whether its clients are there or not, and over the
 * death of an executor. */
static void test_bounds_of_a_user(void **state)
{
    uint64_t now = clock_now_ns();

    (void)state;
    assert_int_equal(post_many(&client, TIMERS, now + HOUR), TIMERS / 2);
    assert_int_equal(post_many(&other, TIMERS, now + HOUR), TIMERS / 4);
    close_port(&client);
    timer_fixture_restart(&f, register_types);
    client_free(&client);
    client_free(&other);
    open_port(&client, PORT + 2, 1, USER);
    open_port(&other, PORT + 3, 1, OTHER_USER);
    assert_int_equal(post_many(&client, 1, now + HOUR), 0);
    assert_int_equal(post_many(&other, 1, now + HOUR), 0);
    assert_int_equal(timer_users_get(&f.engine->timers.users, USER).n, TIMERS / 2);
    fire(now + HOUR);
    assert_int_equal(n_notes, TIMERS / 2 + TIMERS / 4);
    assert_int_equal(f.engine->timers.users.n, 0);
    assert_int_equal(post_many(&client, TIMERS, now + 2 * HOUR), TIMERS / 2);
}

static void post_large(struct client *c, uint64_t when)
{
    static uint64_t words[1 + ODEON_PAYLOAD_MAX / 8];

    words[0] = when;
    client_post_as(
        c,
        (struct envelope){
            .to = receiver, .type = number_type, .prefix = PREFIX_AFTER, .length = sizeof(words) },
        words);
    visit(c);
}

/* ... and of their bytes. */
static void test_bytes_of_a_user(void **state)
{
    uint64_t bytes = f.engine->segment.header->timer_bytes, each = TIMER_CLASS_BYTES(10);
    uint64_t now = clock_now_ns();

    (void)state;
    for (uint64_t i = 0; i < bytes / each / 2; i++)
        post_large(&client, now + HOUR);
    assert_int_equal(engine_fixture_stat(&f, STAT_timers_refused), 0);
    post_large(&client, now + HOUR);
    expect_refusal(&client, REASON_TIMERS_FULL, 0);
    for (uint64_t i = 0; i < bytes / each / 4; i++)
        post_large(&other, now + HOUR);
    assert_int_equal(engine_fixture_stat(&f, STAT_timers_refused), 1);
    post_large(&other, now + HOUR);
    expect_refusal(&other, REASON_TIMERS_FULL, 0);
}

/* What no library posts. */
static void expect_broken(struct envelope header)
{
    header.to = receiver;
    header.type = number_type;
    post_as(&client, header, 0, 0);
    visit(&client);
    assert_int_equal(load_relaxed(&client.executor->broken), PORT_BROKEN_HEADER);
    assert_int_equal(engine_timers_count(f.engine), 0);
}

static void test_an_answer_for_later(void **state)
{
    (void)state;
    expect_broken(
        (struct envelope){ .prefix = PREFIX_AFTER | PREFIX_CORRELATION, .flags = ENVELOPE_REPLY });
}

static void test_urgent_for_later(void **state)
{
    (void)state;
    expect_broken((struct envelope){ .prefix = PREFIX_AFTER, .flags = ENVELOPE_URGENT });
}

static void test_what_is_no_message(void **state)
{
    const struct envelope poison = { .to = receiver,
                                     .type = MESSAGE_TYPE_POISON_DELETE,
                                     .prefix = PREFIX_AFTER };
    uint64_t refusals = engine_fixture_stat(&f, STAT_refusals);

    (void)state;
    post_as(&client, poison, 0, 0);
    client_post_as(&client,
                   (struct envelope){ .to = receiver,
                                      .type = number_type,
                                      .length = 4, /* the word is cut off */
                                      .prefix = PREFIX_AFTER },
                   &(uint64_t){ 0 });
    visit(&client);
    assert_int_equal(load_relaxed(&client.executor->broken), 0);
    assert_int_equal(engine_fixture_stat(&f, STAT_refusals), refusals + 2);
    assert_int_equal(engine_timers_count(f.engine), 0);
}

/* timer_users.TU1 */
static void test_users(void **state)
{
    static struct timer_users users;

    (void)state;
    for (uint32_t user = 0; user < TIMER_USERS_MAX; user++)
        timer_users_add(&users, user, 64);
    assert_false(timer_users_has_room(&users));
    timer_users_add(&users, 5, 128);
    assert_int_equal(timer_users_get(&users, 5).n, 2);
    assert_int_equal(timer_users_get(&users, 5).bytes, 192);
    timer_users_remove(&users, 0, 64);
    assert_true(timer_users_has_room(&users));
    assert_int_equal(timer_users_get(&users, 0).n, 0);
    assert_int_equal(timer_users_get(&users, TIMER_USERS_MAX - 1).n, 1);
    timer_users_remove(&users, 5, 64);
    timer_users_remove(&users, 5, 128);
    assert_int_equal(timer_users_get(&users, 5).n, 0);
    assert_int_equal(users.n, TIMER_USERS_MAX - 2);
}

#define POSTED_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        POSTED_TEST(test_sent_at_its_time),       POSTED_TEST(test_times_that_are_past),
        POSTED_TEST(test_times_beyond_the_bound), POSTED_TEST(test_by_boot_time),
        POSTED_TEST(test_the_client_goes),        POSTED_TEST(test_the_receiver_goes),
        POSTED_TEST(test_bounds_of_a_user),       POSTED_TEST(test_bytes_of_a_user),
        POSTED_TEST(test_an_answer_for_later),    POSTED_TEST(test_urgent_for_later),
        POSTED_TEST(test_what_is_no_message),     cmocka_unit_test(test_users),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
