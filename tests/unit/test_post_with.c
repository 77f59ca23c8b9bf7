/* SPDX-License-Identifier: Apache-2.0 */
/* Posts with options, against an executor that the test plays: what they put into the ring, what
 * is refused, and that each post with a deadline has exactly one outcome. */
#include "tests/unit/clientlib_fake.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "client-lib/src/awaited.h"
#include "tests/unit/clientlib_cmocka.h"
#include "tests/unit/clientlib_port.h"

enum { LONG_NS = 2000000000, SHORT_NS = 1000000, LOST = 99 };

static uint64_t word_at(const void *bytes)
{
    uint64_t word;

    memcpy(&word, bytes, sizeof(word));
    return word;
}

static int post(struct fixture *f, uint64_t correlation, int64_t within_ns)
{
    return odeon_port_post_with(
        f->port, actor, TYPE, "x", 1,
        ODEON_POST_OPTIONS(.correlation = correlation, .within_ns = within_ns));
}

/* Takes the next record: the id that the service sees. */
static uint64_t take_id(struct fixture *f)
{
    struct envelope e;

    assert_true(fake_take(&f->fake, &e, f->payload));
    assert_true(e.prefix & PREFIX_CORRELATION);
    return word_at(f->payload);
}

static uint64_t posted(struct fixture *f, uint64_t correlation, int64_t within_ns)
{
    assert_int_equal(post(f, correlation, within_ns), 0);
    return take_id(f);
}

static void refuse(struct fixture *f, uint64_t id)
{
    struct refusal refusal = {
        .correlation = id, .to = actor, .type = TYPE, .reason = REASON_NO_SUCH_ACTOR
    };

    assert_true(fake_deliver(
        &f->fake, (struct envelope){ .type = MESSAGE_TYPE_REFUSAL, .length = sizeof(refusal) },
        &refusal));
}

static void expect_reply(struct fixture *f, uint64_t correlation, uint64_t number)
{
    struct odeon_delivery d;

    assert_int_equal(odeon_port_receive(f->port, &d), 1);
    assert_int_equal(d.flags, 1);
    assert_int_equal(d.correlation, correlation);
    assert_int_equal(word_at(d.data), number);
    odeon_port_release(f->port);
}

static void expect_refusal(struct fixture *f, uint64_t correlation, unsigned reason)
{
    struct odeon_delivery d;
    struct odeon_refusal refusal;

    assert_int_equal(odeon_port_receive_wait(f->port, &d, PATIENCE_NS), 1);
    assert_int_equal(d.type, ODEON_MSG_REFUSAL);
    assert_int_equal(d.flags, 0);
    assert_int_equal(d.correlation, correlation);
    assert_int_equal(d.size, sizeof(refusal));
    memcpy(&refusal, d.data, sizeof(refusal));
    assert_int_equal(refusal.correlation, correlation);
    assert_true(refusal.to == actor);
    assert_int_equal(refusal.type, TYPE);
    assert_int_equal(refusal.reason, reason);
    odeon_port_release(f->port);
}

static void expect_nothing(struct fixture *f)
{
    struct odeon_delivery d;

    assert_int_equal(odeon_port_receive(f->port, &d), 0);
}

/* ---- what goes into the ring ---- */

static void test_options_combine(void **state)
{
    struct fixture *f = *state;
    struct envelope e;

    assert_int_equal(odeon_port_post_with(f->port, actor, TYPE, "xyz", 3, NULL), 0);
    assert_true(fake_take(&f->fake, &e, f->payload));
    assert_int_equal(e.flags, 0);
    assert_int_equal(e.prefix, 0);
    assert_int_equal(e.length, 3);

    assert_int_equal(odeon_port_post_with(f->port, actor, TYPE, "xyz", 3,
                                          ODEON_POST_OPTIONS(.urgent = 1, .correlation = 7)),
                     0);
    assert_true(fake_take(&f->fake, &e, f->payload));
    assert_int_equal(e.flags, ENVELOPE_URGENT);
    assert_int_equal(e.prefix, PREFIX_CORRELATION);
    assert_int_equal(word_at(f->payload), 7);
    assert_memory_equal(f->payload + 8, "xyz", 3);

    assert_int_equal(odeon_port_post_with(f->port, actor, TYPE, "xyz", 3,
                                          ODEON_POST_OPTIONS(.correlation = 7, .after_ns = SHORT_NS,
                                                             .within_ns = LONG_NS)),
                     0);
    assert_true(fake_take(&f->fake, &e, f->payload));
    assert_int_equal(e.prefix, PREFIX_CORRELATION | PREFIX_AFTER);
    assert_int_equal(e.length, 16 + 3);
    assert_memory_equal(f->payload + 16, "xyz", 3);
}

/* Its word stands between the other two. */
static void test_a_traces_id(void **state)
{
    struct fixture *f = *state;
    struct odeon_delivery reply;
    struct envelope e;

    assert_int_equal(
        odeon_port_post_with(f->port, actor, TYPE, "xyz", 3, ODEON_POST_OPTIONS(.trace = 5)), 0);
    assert_true(fake_take(&f->fake, &e, f->payload));
    assert_int_equal(e.prefix, PREFIX_TRACE);
    assert_int_equal(word_at(f->payload), 5);
    assert_memory_equal(f->payload + 8, "xyz", 3);
    assert_int_equal(
        odeon_port_post_with(f->port, actor, TYPE, "xyz", 3,
                             ODEON_POST_OPTIONS(.correlation = 7, .trace = 5, .after_ns = LONG_NS)),
        0);
    assert_true(fake_take(&f->fake, &e, f->payload));
    assert_int_equal(e.prefix, PREFIX_CORRELATION | PREFIX_TRACE | PREFIX_AFTER);
    assert_int_equal(word_at(f->payload), 7);
    assert_int_equal(word_at(f->payload + 8), 5);
    assert_true(word_at(f->payload + 16) > LONG_NS);
    assert_memory_equal(f->payload + 24, "xyz", 3);
    assert_int_equal(odeon_port_call_with(f->port, actor, TYPE, "xyz", 3, SHORT_NS,
                                          ODEON_POST_OPTIONS(.trace = 6, .urgent = 1), &reply),
                     ODEON_CALL_EXPIRED);
    assert_true(fake_take(&f->fake, &e, f->payload));
    assert_int_equal(e.prefix, PREFIX_CORRELATION | PREFIX_TRACE);
    assert_int_equal(e.flags, ENVELOPE_URGENT);
    assert_int_equal(word_at(f->payload + 8), 6);
    f->port->prefix = PREFIX_CORRELATION;
    assert_int_equal(
        odeon_port_post_with(f->port, actor, TYPE, "xyz", 3, ODEON_POST_OPTIONS(.trace = 5)),
        -ENOSYS);
    assert_false(fake_take(&f->fake, &e, f->payload));
}

static void test_reserving_with_options(void **state)
{
    struct fixture *f = *state;
    struct envelope e;
    char *room = odeon_port_reserve_with(f->port, actor, TYPE, 3,
                                         ODEON_POST_OPTIONS(.urgent = 1, .correlation = 8));

    assert_non_null(room);
    assert_false(fake_take(&f->fake, &e, f->payload));
    memcpy(room, "abc", 3);
    room = odeon_port_reserve_with(f->port, actor, TYPE, 2,
                                   ODEON_POST_OPTIONS(.correlation = 9, .within_ns = LONG_NS));
    assert_non_null(room);
    memcpy(room, "de", 2);
    assert_int_equal(odeon_port_commit(f->port), 0);
    assert_true(fake_take(&f->fake, &e, f->payload));
    assert_int_equal(e.flags, ENVELOPE_URGENT);
    assert_int_equal(word_at(f->payload), 8);
    assert_memory_equal(f->payload + 8, "abc", 3);
    assert_true(fake_deliver_number(&f->fake, TYPE, 5, take_id(f), ENVELOPE_REPLY));
    assert_memory_equal(f->payload + 8, "de", 2);
    expect_reply(f, 9, 5);
}

static int try(struct fixture *f, const struct odeon_post_options *options)
{
    int result = odeon_port_post_with(f->port, actor, TYPE, "x", 1, options);

    if (options->wait_ns == 0) {
        errno = 0;
        assert_null(odeon_port_reserve_with(f->port, actor, TYPE, 1, options));
        assert_int_equal(errno, -result);
    }
    return result;
}

static void test_options_are_refused(void **state)
{
    struct fixture *f = *state;
    struct odeon_post_options short_one = { .struct_size = 8 };
    struct {
        struct odeon_post_options options;
        uint64_t later;
    } next = { .options = { .struct_size = sizeof(next) } };
    struct envelope e;

    assert_int_equal(try(f, ODEON_POST_OPTIONS(.urgent = 2)), -EINVAL);
    assert_int_equal(try(f, ODEON_POST_OPTIONS(.correlation = UINT64_C(1) << 63)), -EINVAL);
    assert_int_equal(try(f, ODEON_POST_OPTIONS(.urgent = 1, .after_ns = 1)), -EINVAL);
    assert_non_null(strstr(odeon_error_text(), "not both"));
    assert_int_equal(try(f, ODEON_POST_OPTIONS(.within_ns = 1)), -EINVAL);
    assert_non_null(strstr(odeon_error_text(), "correlation"));
    assert_int_equal(try(f, ODEON_POST_OPTIONS(.correlation = 1, .within_ns = -1)), -EINVAL);
    assert_int_equal(try(f, ODEON_POST_OPTIONS(.correlation = 1, .within_ns = 5, .after_ns = 5)),
                     -EINVAL);
    assert_int_equal(try(f, ODEON_POST_OPTIONS(.after_ns = ODEON_DELAY_MAX_NS + 1)), -ERANGE);
    assert_int_equal(try(f, &short_one), -EINVAL);
    assert_int_equal(odeon_port_post_with(f->port, actor, TYPE, "x", 1, &next.options), 0);
    assert_true(fake_take(&f->fake, &e, f->payload)); /* of a later library, and nothing of it */
    next.later = 1;
    assert_int_equal(try(f, &next.options), -E2BIG);
    assert_int_equal(odeon_port_post_with(NULL, actor, TYPE, "x", 1, NULL), -EINVAL);
    assert_int_equal(odeon_port_post_with(f->port, actor, TYPE, NULL, 1, NULL), -EINVAL);
    f->port->prefix = 0; /* of an older service */
    assert_int_equal(try(f, ODEON_POST_OPTIONS(.after_ns = 1)), -ENOSYS);
    errno = 0;
    assert_null(odeon_port_reserve_with(f->port, actor, TYPE, 1, ODEON_POST_OPTIONS(.wait_ns = 1)));
    assert_int_equal(errno, EINVAL);
    assert_false(fake_take(&f->fake, &e, f->payload));
    assert_int_equal(odeon_port_timeout(f->port), -1); /* nobody waits for any of these */
}

static void test_waiting_for_room(void **state)
{
    struct fixture *f = *state;
    int64_t begin_ns;
    unsigned n = 0;

    while (post(f, 1, LONG_NS) == 0)
        n++;
    assert_int_equal(n, RING / 40);
    begin_ns = monotonic_ns();
    assert_int_equal(odeon_port_post_with(f->port, actor, TYPE, "x", 1,
                                          ODEON_POST_OPTIONS(.correlation = 1, .wait_ns = SHORT_NS,
                                                             .within_ns = LONG_NS)),
                     -ETIMEDOUT);
    assert_true(monotonic_ns() - begin_ns >= SHORT_NS);
    (void)take_id(f);
    assert_int_equal(odeon_port_post_with(
                         f->port, actor, TYPE, "x", 1,
                         ODEON_POST_OPTIONS(.correlation = 1, .wait_ns = -1, .within_ns = LONG_NS)),
                     0);
    assert_int_equal(odeon_port_forget(f->port, 1), n + 1); /* and none that was not posted */
}

/* A call without time says the same of a full ring, traced or not. */
static void test_a_call_finds_no_room(void **state)
{
    struct fixture *f = *state;
    struct odeon_delivery reply;

    while (odeon_port_post(f->port, actor, TYPE, "x", 1) == 0) {
    }
    assert_int_equal(odeon_port_call(f->port, actor, TYPE, "x", 1, 0, &reply), -ETIMEDOUT);
    assert_int_equal(odeon_port_call_with(f->port, actor, TYPE, "x", 1, 0,
                                          ODEON_POST_OPTIONS(.trace = 6), &reply),
                     -ETIMEDOUT);
    assert_int_equal(odeon_port_call_with(f->port, actor, TYPE, "x", 1, SHORT_NS,
                                          ODEON_POST_OPTIONS(.trace = 6), &reply),
                     -ETIMEDOUT);
}

/* ---- outcomes ---- */

/* What is sent later begins its round trip then. */
static void test_a_delay_is_no_part_of_a_round_trip(void **state)
{
    const int64_t delay_ns = 3600 * INT64_C(1000000000); /* longer than this thread is kept off */
    struct fixture *f = *state;
    struct envelope e;

    assert_int_equal(odeon_port_post_with(f->port, actor, TYPE, "x", 1,
                                          ODEON_POST_OPTIONS(.correlation = 1, .after_ns = delay_ns,
                                                             .within_ns = 2 * delay_ns)),
                     0);
    assert_true(fake_take(&f->fake, &e, f->payload));
    assert_true(fake_deliver_number(&f->fake, TYPE, 1, word_at(f->payload), ENVELOPE_REPLY));
    expect_reply(f, 1, 1);
    assert_int_equal(atomic_load(&f->fake.client->round_trips.answered[0]), 1);
}

static void test_a_reply_has_its_callers_id(void **state)
{
    struct fixture *f = *state;
    uint64_t first = posted(f, 77, LONG_NS), second = posted(f, 77, LONG_NS);

    assert_true(first != second && first >> 62 == 3 && second >> 62 == 3);
    assert_true(fake_deliver_number(&f->fake, TYPE, 2, second, ENVELOPE_REPLY));
    assert_true(fake_deliver_number(&f->fake, TYPE, 1, first, ENVELOPE_REPLY));
    assert_true(fake_deliver_number(&f->fake, TYPE, 3, first, ENVELOPE_REPLY)); /* another one */
    expect_reply(f, 77, 2);
    expect_reply(f, 77, 1);
    expect_nothing(f);
    assert_int_equal(fake_count_answered(&f->fake), 2);
    assert_int_equal(odeon_port_timeout(f->port), -1);
}

static void test_a_refusal_has_its_callers_id(void **state)
{
    struct fixture *f = *state;
    uint64_t id = posted(f, 78, LONG_NS);

    refuse(f, id);
    refuse(f, id);
    expect_refusal(f, 78, ODEON_REASON_NO_SUCH_ACTOR);
    expect_nothing(f);
    assert_int_equal(atomic_load(&f->fake.client->round_trips.refused), 1);
}

/* Three, whose deadlines pass in the order 2, 3, 1: unless this thread is kept off between them,
 * and then they are forgotten, and posted anew. The first one's id. */
static uint64_t post_three(struct fixture *f)
{
    for (;;) {
        int64_t began_ns = monotonic_ns();
        uint64_t first = posted(f, 1, 30 * SHORT_NS);

        (void)posted(f, 2, 10 * SHORT_NS);
        (void)posted(f, 3, 20 * SHORT_NS);
        if (monotonic_ns() - began_ns < 10 * SHORT_NS)
            return first;
        for (uint64_t correlation = 1; correlation <= 3; correlation++)
            assert_int_equal(odeon_port_forget(f->port, correlation), 1);
    }
}

static void test_deadlines_pass_in_their_order(void **state)
{
    struct fixture *f = *state;
    uint64_t late = post_three(f);

    assert_true(odeon_port_timeout(f->port) <= 10 * SHORT_NS);
    expect_refusal(f, 2, ODEON_REASON_DEADLINE);
    expect_refusal(f, 3, ODEON_REASON_DEADLINE);
    expect_refusal(f, 1, ODEON_REASON_DEADLINE);
    assert_true(fake_deliver_number(&f->fake, TYPE, 1, late, ENVELOPE_REPLY));
    refuse(f, late);
    expect_nothing(f);
    assert_int_equal(atomic_load(&f->fake.client->round_trips.late), 3);
    assert_int_equal(atomic_load(&f->fake.client->round_trips.refused), 0);
    assert_int_equal(fake_count_answered(&f->fake), 0);
}

static void sleep_ns(int64_t ns)
{
    int64_t end_ns = monotonic_ns() + ns;

    while (monotonic_ns() < end_ns)
        cpu_relax();
}

/* awaited.A4 */
static void test_what_has_come_goes_before_a_deadline(void **state)
{
    struct fixture *f = *state;
    uint64_t answered = posted(f, 1, SHORT_NS);

    (void)posted(f, 2, SHORT_NS);
    assert_true(fake_deliver_number(&f->fake, TYPE, 11, 0, 0));
    sleep_ns(2 * SHORT_NS);
    assert_true(fake_deliver_number(&f->fake, TYPE, 12, answered, ENVELOPE_REPLY));
    assert_int_equal(odeon_port_timeout(f->port), 0);
    for (uint64_t i = 11; i <= 12; i++) {
        struct odeon_delivery d;

        assert_int_equal(odeon_port_receive(f->port, &d), 1);
        assert_int_equal(word_at(d.data), i);
        /* there is always more: the deadline is told all the same */
        assert_true(fake_deliver_number(&f->fake, TYPE, 100 + i, 0, 0));
    }
    /* one was answered, and its round trip took as long as the test has slept */
    assert_int_equal(fake_count_answered(&f->fake), 1);
    assert_true(atomic_load(&f->fake.client->round_trips.longest_ns) >= 2 * SHORT_NS);
    expect_refusal(f, 2, ODEON_REASON_DEADLINE);
}

static void test_arming_tells_of_a_deadline(void **state)
{
    struct fixture *f = *state;

    (void)posted(f, 5, SHORT_NS);
    assert_int_equal(odeon_port_arm(f->port) & ~1, 0);
    sleep_ns(SHORT_NS);
    assert_int_equal(odeon_port_arm(f->port), 1);
    expect_refusal(f, 5, ODEON_REASON_DEADLINE);
    assert_int_equal(odeon_port_arm(f->port), 0);
}

/* awaited.A4, of what nobody has looked at since it came. */
static void test_arming_leaves_a_reply_its_place(void **state)
{
    struct fixture *f = *state;
    uint64_t id = posted(f, 5, SHORT_NS);

    assert_true(fake_deliver_number(&f->fake, TYPE, 12, id, ENVELOPE_REPLY));
    sleep_ns(2 * SHORT_NS);
    assert_int_equal(odeon_port_arm(f->port), 1);
    expect_reply(f, 5, 12);
    expect_nothing(f);
    (void)posted(f, 6, SHORT_NS);
    sleep_ns(2 * SHORT_NS);
    atomic_store(&f->fake.executor->delivery_tail, 4); /* none that can be */
    assert_int_equal(odeon_port_arm(f->port), 1);
    expect_refusal(f, 6, ODEON_REASON_DEADLINE);
    assert_int_equal(odeon_port_arm(f->port), -EPROTO);
}

/* ... and of what is left of an earlier look: the ring would not be looked at again. */
static void test_arming_in_the_middle_leaves_a_reply_its_place(void **state)
{
    struct fixture *f = *state;
    struct odeon_delivery d;
    uint64_t id;

    for (uint64_t i = 0; i < 2; i++)
        assert_true(fake_deliver_number(&f->fake, TYPE, i, 0, 0));
    assert_int_equal(odeon_port_receive(f->port, &d), 1); /* of two that are known */
    id = posted(f, 5, SHORT_NS);
    assert_true(fake_deliver_number(&f->fake, TYPE, 12, id, ENVELOPE_REPLY));
    sleep_ns(2 * SHORT_NS);
    assert_int_equal(odeon_port_arm(f->port), 1);
    assert_int_equal(odeon_port_receive(f->port, &d), 1);
    expect_reply(f, 5, 12);
    expect_nothing(f);
}

static void close_by_service(struct fixture *f)
{
    atomic_store(&f->fake.executor->broken, PORT_BROKEN_CLOSED);
}

static void expect_end(struct fixture *f)
{
    struct odeon_delivery d;
    struct odeon_port_figures figures = { .struct_size = sizeof(figures) };

    for (unsigned i = 0; i < 3; i++) {
        sleep_ns(SHORT_NS);
        assert_int_equal(odeon_port_receive(f->port, &d), -EPIPE);
        assert_int_equal(odeon_port_receive_wait(f->port, &d, SHORT_NS), -EPIPE);
        assert_int_equal(odeon_port_arm(f->port), -EPIPE);
        assert_int_equal(odeon_port_timeout(f->port), -1);
    }
    assert_int_equal(odeon_port_figures(f->port, &figures), 0);
    assert_int_equal(figures.awaited, 0);
}

/* awaited.A5: what came before the end is told, and each deadline that had passed; what is left has
 * had its outcome with the end. */
static void test_the_end_is_the_outcome(void **state)
{
    struct fixture *f = *state;
    struct odeon_delivery d;
    uint64_t late, answered = posted(f, 1, LONG_NS);
    int result;

    (void)posted(f, 2, SHORT_NS);
    late = posted(f, 3, 20 * SHORT_NS);
    assert_true(fake_deliver_number(&f->fake, TYPE, 12, answered, ENVELOPE_REPLY));
    sleep_ns(SHORT_NS);
    close_by_service(f);
    expect_reply(f, 1, 12);
    expect_refusal(f, 2, ODEON_REASON_DEADLINE);
    while ((result = odeon_port_receive(f->port, &d)) == 1)
        assert_int_equal(d.correlation, 3); /* this test was slow */
    assert_int_equal(result, -EPIPE);
    sleep_ns(20 * SHORT_NS);
    /* who closed it may not have been who delivers */
    assert_true(fake_deliver_number(&f->fake, TYPE, 13, late, ENVELOPE_REPLY));
    expect_end(f);
}

static void *close_under_a_sleeper(void *argument)
{
    struct fixture *f = argument;

    while (atomic_load(&f->port->sleeps_until) == 0)
        cpu_relax();
    close_by_service(f);
    return f;
}

/* ... for who waits, too; and what another thread was posting meanwhile has no other. */
static void test_the_end_is_the_outcome_for_who_waits(void **state)
{
    struct fixture *f = *state;
    struct odeon_delivery d;
    pthread_t thread;
    uint64_t id;

    (void)posted(f, 1, PATIENCE_NS);
    assert_int_equal(awaited_prepare(f->port, &id), 0); /* the port was open */
    assert_int_equal(pthread_create(&thread, NULL, close_under_a_sleeper, f), 0);
    assert_int_equal(odeon_port_receive_wait(f->port, &d, PATIENCE_NS), -EPIPE);
    pthread_join(thread, NULL);
    assert_int_equal(odeon_port_timeout(f->port), -1);
    awaited_begin(f->port, id, actor, TYPE, 2, 0, SHORT_NS);
    expect_end(f);
}

static void test_forgetting(void **state)
{
    struct fixture *f = *state;
    uint64_t ids[64];

    for (unsigned i = 0; i < 64; i++)
        ids[i] = posted(f, i % 2 ? 7 : 8, SHORT_NS * (1 + (i * 29) % 64));
    assert_int_equal(odeon_port_forget(f->port, 9), 0);
    assert_int_equal(odeon_port_forget(f->port, 7), 32);
    assert_int_equal(odeon_port_forget(f->port, 7), 0);
    assert_int_equal(odeon_port_forget(NULL, 7), -EINVAL);
    for (unsigned i = 0; i < 64; i++)
        assert_true(fake_deliver_number(&f->fake, TYPE, i, ids[i], ENVELOPE_REPLY));
    for (unsigned i = 0; i < 32; i++)
        expect_reply(f, 8, 2 * (uint64_t)i);
    expect_nothing(f);
}

/* Replies that come during a call are kept, and those of a table that is full have a place. */
static void *answer_behind(void *argument)
{
    struct fixture *f = argument;
    struct envelope e;

    while (!fake_take(&f->fake, &e, f->payload))
        if (!fake_sleep(&f->fake))
            return NULL;
    refuse(f, word_at(f->payload + 64));
    fake_deliver_number(&f->fake, TYPE, 1, word_at(f->payload + 72), ENVELOPE_REPLY);
    fake_deliver_number(&f->fake, TYPE, 2, word_at(f->payload), ENVELOPE_REPLY);
    return f;
}

static void test_outcomes_during_a_call_are_kept(void **state)
{
    struct fixture *f = *state;
    struct odeon_delivery reply;
    pthread_t thread;
    uint64_t ids[2];

    ids[0] = posted(f, 11, LONG_NS);
    ids[1] = posted(f, 12, LONG_NS);
    memcpy(f->payload + 64, ids, sizeof(ids));
    assert_int_equal(pthread_create(&thread, NULL, answer_behind, f), 0);
    assert_int_equal(odeon_port_call_with(f->port, actor, TYPE, "", 0, PATIENCE_NS,
                                          ODEON_POST_OPTIONS(.urgent = 1), &reply),
                     ODEON_CALL_REPLY);
    pthread_join(thread, NULL);
    assert_int_equal(word_at(reply.data), 2);
    odeon_port_release(f->port);
    expect_refusal(f, 11, ODEON_REASON_NO_SUCH_ACTOR);
    expect_reply(f, 12, 1);
    expect_nothing(f);
    const struct odeon_post_options *const others[] = { ODEON_POST_OPTIONS(.correlation = 1),
                                                        ODEON_POST_OPTIONS(.after_ns = 1),
                                                        ODEON_POST_OPTIONS(.wait_ns = 1),
                                                        ODEON_POST_OPTIONS(.within_ns = 1) };
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_int_equal(odeon_port_call_with(f->port, actor, TYPE, "", 0, 0, others[i], &reply),
                         -EINVAL);
}

/* A call has copied them aside. */
static void test_forgetting_what_a_call_has_kept(void **state)
{
    struct fixture *f = *state;
    struct odeon_delivery d;
    uint64_t ids[3];

    for (unsigned i = 0; i < 3; i++)
        ids[i] = posted(f, i == 1 ? 8 : 7, LONG_NS);
    assert_true(fake_deliver_number(&f->fake, TYPE, 1, 7, 0)); /* somebody's own 7 */
    refuse(f, ids[0]);
    for (unsigned i = 1; i < 3; i++)
        assert_true(fake_deliver_number(&f->fake, TYPE, i + 1, ids[i], ENVELOPE_REPLY));
    assert_int_equal(odeon_port_call(f->port, actor, TYPE, "", 0, 1, &d), ODEON_CALL_EXPIRED);
    assert_int_equal(odeon_port_forget(f->port, 7), 2);
    assert_int_equal(odeon_port_forget(f->port, 7), 0);
    /* and their room, of which calls have a bound, is given back */
    assert_int_equal(f->port->kept_bytes, 2 * (sizeof(struct port_kept) + sizeof(uint64_t)));
    assert_int_equal(odeon_port_receive(f->port, &d), 1);
    assert_int_equal(d.correlation, 7);
    assert_int_equal(word_at(d.data), 1);
    odeon_port_release(f->port);
    expect_reply(f, 8, 2);
    expect_nothing(f);
    assert_int_equal(f->port->kept_bytes, 0);
}

static void test_the_table_is_bounded_and_used_again(void **state)
{
    struct fixture *f = *state;

    for (unsigned round = 0; round < 3; round++) {
        for (uint64_t i = 0; i < AWAITED_MAX; i++)
            (void)posted(f, i + 1, SHORT_NS);
        assert_int_equal(post(f, LOST, SHORT_NS), -ENOBUFS);
        assert_non_null(strstr(odeon_error_text(), "16384"));
        for (uint64_t i = 0; i < AWAITED_MAX; i++) {
            struct odeon_delivery d;

            assert_int_equal(odeon_port_receive_wait(f->port, &d, PATIENCE_NS), 1);
            assert_int_equal(d.correlation, i + 1);
            if (i % 1000 == 0)
                odeon_port_release(f->port);
        }
        odeon_port_release(f->port);
        expect_nothing(f);
    }
}

/* ---- one thread posts, another receives ---- */

enum { POSTS = 30000 };

/* Answers two of three, in whatever order they come. */
static void *answer_some(void *argument)
{
    struct fixture *f = argument;
    struct envelope e;

    for (unsigned n = 0; n < POSTS;) {
        if (!fake_take(&f->fake, &e, f->payload)) {
            if (!fake_sleep(&f->fake))
                return NULL;
            continue;
        }
        if (n % 3 != 2)
            while (!fake_deliver_number(&f->fake, TYPE, word_at(f->payload + 8),
                                        word_at(f->payload), ENVELOPE_REPLY))
                cpu_relax();
        n++;
    }
    return f;
}

static void *post_all(void *argument)
{
    struct fixture *f = argument;

    for (uint64_t i = 1; i <= POSTS; i++) {
        int result;

        do
            result = odeon_port_post_with(
                f->port, actor, TYPE, &i, sizeof(i),
                ODEON_POST_OPTIONS(.correlation = i, .wait_ns = -1, .within_ns = SHORT_NS));
        while (result == -ENOBUFS);
        if (result < 0)
            return NULL;
    }
    return f;
}

static void test_each_has_one_outcome(void **state)
{
    struct fixture *f = *state;
    uint8_t *outcomes = calloc(POSTS + 1, 1);
    unsigned late = 0;
    pthread_t threads[2];
    void *results[2];

    assert_int_equal(pthread_create(&threads[0], NULL, answer_some, f), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, post_all, f), 0);
    for (unsigned n = 0; n < POSTS; n++) {
        struct odeon_delivery d;

        assert_int_equal(odeon_port_receive_wait(f->port, &d, PATIENCE_NS), 1);
        assert_in_range(d.correlation, 1, POSTS);
        assert_int_equal(outcomes[d.correlation]++, 0);
        if (d.flags & 1)
            assert_int_equal(word_at(d.data), d.correlation);
        late += d.type == ODEON_MSG_REFUSAL;
        odeon_port_release(f->port);
    }
    for (unsigned i = 0; i < 2; i++) {
        pthread_join(threads[i], &results[i]);
        assert_ptr_equal(results[i], f);
    }
    expect_nothing(f);
    assert_true(late >= POSTS / 3);
    free(outcomes);
}

static void *post_one(void *argument)
{
    struct fixture *f = argument;

    while (atomic_load(&f->port->sleeps_until) == 0)
        cpu_relax();
    sleep_ns(5 * SHORT_NS);
    return post(f, 1, SHORT_NS) == 0 ? f : NULL;
}

/* ... who sleeps, and would for long. */
static void test_who_sleeps_is_told_of_a_deadline(void **state)
{
    struct fixture *f = *state;
    pthread_t thread;
    void *result;

    assert_int_equal(pthread_create(&thread, NULL, post_one, f), 0);
    expect_refusal(f, 1, ODEON_REASON_DEADLINE);
    pthread_join(thread, &result);
    assert_ptr_equal(result, f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_options_combine, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_traces_id, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reserving_with_options, setup, teardown),
        cmocka_unit_test_setup_teardown(test_options_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_waiting_for_room, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_call_finds_no_room, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_delay_is_no_part_of_a_round_trip, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_reply_has_its_callers_id, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_refusal_has_its_callers_id, setup, teardown),
        cmocka_unit_test_setup_teardown(test_deadlines_pass_in_their_order, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_has_come_goes_before_a_deadline, setup, teardown),
        cmocka_unit_test_setup_teardown(test_arming_tells_of_a_deadline, setup, teardown),
        cmocka_unit_test_setup_teardown(test_arming_leaves_a_reply_its_place, setup, teardown),
        cmocka_unit_test_setup_teardown(test_arming_in_the_middle_leaves_a_reply_its_place, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_the_end_is_the_outcome, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_end_is_the_outcome_for_who_waits, setup, teardown),
        cmocka_unit_test_setup_teardown(test_forgetting, setup, teardown),
        cmocka_unit_test_setup_teardown(test_outcomes_during_a_call_are_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(test_forgetting_what_a_call_has_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_table_is_bounded_and_used_again, setup, teardown),
        cmocka_unit_test_setup_teardown(test_each_has_one_outcome, setup, teardown),
        cmocka_unit_test_setup_teardown(test_who_sleeps_is_told_of_a_deadline, setup, teardown),
    };

    return cmocka_run_group_tests_name("posts with options", tests, NULL, NULL);
}
