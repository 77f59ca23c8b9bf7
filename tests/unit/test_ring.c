/* SPDX-License-Identifier: Apache-2.0 */
/* The client's side of a port against an executor that the test plays: posting, receiving, waiting.
 * Memory that cannot be is in test_ring_distrust.c. */
#include "tests/unit/clientlib_fake.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/clientlib_cmocka.h"
#include "tests/unit/clientlib_port.h"

/* ---- posting ---- */

static void test_post_lays_out_a_record(void **state)
{
    struct fixture *f = *state;
    struct envelope e;

    assert_int_equal(odeon_port_post(f->port, actor, TYPE, "hello", 5), 0);
    assert_true(fake_take(&f->fake, &e, f->payload));
    assert_int_equal(e.to, actor);
    assert_int_equal(e.from, 0);
    assert_int_equal(e.type, TYPE);
    assert_int_equal(e.length, 5);
    assert_int_equal(e.flags, 0);
    assert_int_equal(e.attempts, 0);
    assert_int_equal(e.prefix, 0);
    assert_int_equal(e.behaviour, 255);
    assert_memory_equal(f->payload, "hello", 5);
    assert_false(fake_take(&f->fake, &e, f->payload));
    assert_int_equal(odeon_port_ref(f->port), f->fake.plan.ref);

    assert_int_equal(odeon_port_post(f->port, actor, TYPE, NULL, 0), 0);
    assert_true(fake_take(&f->fake, &e, f->payload));
    assert_int_equal(e.length, 0);
}

static void test_correlated_post_carries_its_id(void **state)
{
    struct fixture *f = *state;
    uint64_t id;
    struct envelope e;

    assert_int_equal(odeon_port_post_correlated(f->port, actor, TYPE, 0, "x", 1), -EINVAL);
    assert_int_equal(odeon_port_post_correlated(f->port, actor, TYPE, UINT64_C(1) << 63, "x", 1),
                     -EINVAL);
    assert_int_equal(odeon_port_post_correlated(f->port, actor, TYPE, 77, "xyz", 3), 0);
    assert_true(fake_take(&f->fake, &e, f->payload));
    assert_int_equal(e.prefix, PREFIX_CORRELATION);
    assert_int_equal(e.length, 11);
    memcpy(&id, f->payload, sizeof(id));
    assert_int_equal(id, 77);
    assert_memory_equal(f->payload + 8, "xyz", 3);
}

static uint64_t word_at(const uint8_t *bytes)
{
    uint64_t word;

    memcpy(&word, bytes, sizeof(word));
    return word;
}

static uint64_t now_by(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

static void test_post_after_says_when(void **state)
{
    const uint64_t hour = UINT64_C(3600) * SECOND_NS;
    struct fixture *f = *state;
    struct envelope e;
    uint64_t before = now_by(CLOCK_MONOTONIC), when;

    assert_int_equal(odeon_port_post_after(f->port, actor, TYPE, 0, "xyz", 3, hour), 0);
    assert_true(fake_take(&f->fake, &e, f->payload));
    assert_int_equal(e.to, actor);
    assert_int_equal(e.type, TYPE);
    assert_int_equal(e.flags, 0);
    assert_int_equal(e.prefix, PREFIX_AFTER);
    assert_int_equal(e.length, 8 + 3);
    when = word_at(f->payload);
    assert_true(when >= before + hour && when <= now_by(CLOCK_MONOTONIC) + hour);
    assert_memory_equal(f->payload + 8, "xyz", 3);

    before = now_by(CLOCK_BOOTTIME);
    assert_int_equal(
        odeon_port_post_after(f->port, actor, TYPE, 77, "xyz", 3, ODEON_BOOT_TIME(hour)), 0);
    assert_true(fake_take(&f->fake, &e, f->payload));
    assert_int_equal(e.prefix, PREFIX_CORRELATION | PREFIX_AFTER);
    assert_int_equal(e.length, 16 + 3);
    assert_int_equal(word_at(f->payload), 77);
    when = word_at(f->payload + 8);
    assert_true(when & ENVELOPE_AFTER_BOOT);
    when &= ~ENVELOPE_AFTER_BOOT;
    assert_true(when >= before + hour && when <= now_by(CLOCK_BOOTTIME) + hour);
    assert_memory_equal(f->payload + 16, "xyz", 3);
}

static void test_post_after_is_refused(void **state)
{
    struct fixture *f = *state;
    struct envelope e;

    assert_int_equal(odeon_port_post_after(NULL, actor, TYPE, 0, "x", 1, 1), -EINVAL);
    assert_int_equal(odeon_port_post_after(f->port, actor, TYPE, 0, NULL, 1, 1), -EINVAL);
    assert_int_equal(odeon_port_post_after(f->port, actor, TYPE, UINT64_C(1) << 63, "x", 1, 1),
                     -EINVAL);
    assert_int_equal(odeon_port_post_after(f->port, actor, TYPE, 0, "x", 1, ODEON_DELAY_MAX_NS + 1),
                     -ERANGE);
    assert_int_equal(odeon_port_post_after(f->port, actor, TYPE, 0, "x", 1, UINT64_MAX), -ERANGE);
    assert_int_equal(odeon_port_post_after(f->port, ODEON_NOBODY, TYPE, 0, "x", 1, 1), -ESRCH);
    /* of a service that would close the port for it */
    f->port->prefix = PREFIX_CORRELATION | PREFIX_TRACE;
    assert_int_equal(odeon_port_post_after(f->port, actor, TYPE, 0, "x", 1, 1), -ENOSYS);
    assert_non_null(strstr(odeon_error_text(), "older"));
    f->port->prefix = 0;
    assert_int_equal(odeon_port_post_after(f->port, actor, TYPE, 0, "x", 1, 1), -ENOSYS);
    assert_false(fake_take(&f->fake, &e, f->payload));
}

static void test_a_monitor_is_an_id(void **state)
{
    struct fixture *f = *state;
    struct envelope e;

    assert_int_equal(odeon_port_monitor(f->port, actor, 77), 0);
    assert_true(fake_take(&f->fake, &e, f->payload));
    assert_int_equal(e.to, actor);
    assert_int_equal(e.type, MESSAGE_TYPE_PORT_DOWN);
    assert_int_equal(e.type, ODEON_MSG_DOWN);
    assert_int_equal(e.flags, 0);
    assert_int_equal(e.prefix, PREFIX_CORRELATION);
    assert_int_equal(e.length, 8);
    assert_int_equal(word_at(f->payload), 77);
}

static void test_a_monitor_is_given_up_by_the_same_words(void **state)
{
    struct fixture *f = *state;
    struct envelope e;

    assert_int_equal(odeon_port_demonitor(f->port, actor, 77), 0);
    assert_true(fake_take(&f->fake, &e, f->payload));
    assert_int_equal(e.to, actor);
    assert_int_equal(e.type, MESSAGE_TYPE_PORT_DEMONITOR);
    assert_int_equal(e.type, ODEON_MSG_DEMONITOR);
    assert_int_equal(e.flags, 0);
    assert_int_equal(e.prefix, PREFIX_CORRELATION);
    assert_int_equal(e.length, 8);
    assert_int_equal(word_at(f->payload), 77);
    assert_int_equal(odeon_port_demonitor(NULL, actor, 1), -EINVAL);
    assert_int_equal(odeon_port_demonitor(f->port, actor, 0), -EINVAL);
    assert_int_equal(odeon_port_demonitor(f->port, actor, UINT64_C(1) << 63), -EINVAL);
    assert_int_equal(odeon_port_demonitor(f->port, ODEON_NOBODY, 1), -ESRCH);
    f->port->demonitors = false; /* a service that knows monitors, and not this */
    assert_int_equal(odeon_port_demonitor(f->port, actor, 1), -ENOSYS);
    assert_non_null(strstr(odeon_error_text(), "older"));
    assert_false(fake_take(&f->fake, &e, f->payload));
}

static void test_a_monitor_is_refused(void **state)
{
    struct fixture *f = *state;
    struct envelope e;

    assert_int_equal(odeon_port_monitor(NULL, actor, 1), -EINVAL);
    assert_int_equal(odeon_port_monitor(f->port, actor, 0), -EINVAL);
    assert_int_equal(odeon_port_monitor(f->port, actor, UINT64_C(1) << 63), -EINVAL);
    assert_int_equal(odeon_port_monitor(f->port, ODEON_NOBODY, 1), -ESRCH);
    assert_false(fake_take(&f->fake, &e, f->payload));
    while (odeon_port_post(f->port, actor, TYPE, "x", 1) == 0) {
    }
    assert_int_equal(odeon_port_monitor(f->port, actor, 1), -EAGAIN);
    assert_non_null(strstr(odeon_error_text(), "full"));
    f->port->monitors = false;
    assert_int_equal(odeon_port_monitor(f->port, actor, 1), -ENOSYS);
    assert_non_null(strstr(odeon_error_text(), "older"));
}

static void test_impossible_arguments_are_refused(void **state)
{
    struct fixture *f = *state;
    struct envelope e;

    assert_int_equal(odeon_port_post(f->port, actor, 0, "x", 1), -EINVAL);
    assert_int_equal(odeon_port_post(f->port, actor, 65536, "x", 1), -EINVAL);
    assert_int_equal(odeon_port_post(f->port, ODEON_NOBODY, TYPE, "x", 1), -ESRCH);
    /* no actor is of generation 0 */
    assert_int_equal(odeon_port_post(f->port, ACTOR_REF_OWN | 5, TYPE, "x", 1), -ESRCH);
    assert_int_equal(
        odeon_port_post(f->port, UINT64_C(1) << 32 | ACTOR_REF_OWN | 1000, TYPE, "x", 1),
        -ESRCH); /* beyond the actor table: would break the port */
    assert_int_equal(
        odeon_port_post(f->port, UINT64_C(1) << 32 | ACTOR_REF_OWN | 999, TYPE, "x", 1), 0);
    assert_true(fake_take(&f->fake, &e, f->payload));
    assert_int_equal(odeon_port_post(f->port, actor, TYPE, f->payload, ODEON_PAYLOAD_MAX + 1),
                     -EMSGSIZE);
    assert_int_equal(odeon_port_post(f->port, actor, TYPE, f->payload, SIZE_MAX), -EMSGSIZE);
    assert_int_equal(odeon_port_post(f->port, actor, TYPE, f->payload, RING - 16),
                     -EMSGSIZE); /* larger than the ring: never fits */
    assert_non_null(strstr(odeon_error_text(), "ring of 4096"));
    assert_int_equal(odeon_port_post(f->port, actor, TYPE, NULL, 1), -EINVAL);
    assert_int_equal(odeon_port_post(NULL, actor, TYPE, "x", 1), -EINVAL);
    /* the whole ring */
    assert_int_equal(odeon_port_post(f->port, actor, TYPE, f->payload, RING - 24), 0);
    assert_true(fake_take(&f->fake, &e, f->payload));
    assert_int_equal(e.length, RING - 24);
}

/* An answer is for who has asked. */
static void test_only_questions_are_answered(void **state)
{
    struct fixture *f = *state;
    const struct odeon_delivery none[] = {
        { .from = actor, .type = TYPE },                                   /* asks nothing */
        { .from = actor, .type = TYPE, .correlation = 7, .flags = 1 },     /* an answer itself */
        { .from = actor, .type = MESSAGE_TYPE_REFUSAL, .correlation = 7 }, /* the library's */
    };
    const struct odeon_delivery question = { .from = actor, .type = TYPE, .correlation = 7 };
    struct envelope e;

    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
        assert_int_equal(odeon_port_answer(f->port, &none[i], TYPE, "x", 1), -EINVAL);
        assert_non_null(strstr(odeon_error_text(), "asks nothing"));
    }
    assert_int_equal(odeon_port_answer(f->port, NULL, TYPE, "x", 1), -EINVAL);
    assert_false(fake_take(&f->fake, &e, f->payload));
    assert_int_equal(odeon_port_answer(f->port, &question, TYPE, "x", 1), 0);
    assert_true(fake_take(&f->fake, &e, f->payload));
    assert_true(e.flags & ENVELOPE_REPLY);
    assert_true(e.to == actor);
}

static void test_full_ring_would_block(void **state)
{
    struct fixture *f = *state;
    uint64_t number = 0;
    struct envelope e;

    while (odeon_port_post(f->port, actor, TYPE, &number, 8) == 0)
        number++;
    assert_int_equal(number, RING / 32);
    assert_int_equal(odeon_port_post(f->port, actor, TYPE, &number, 8), -EAGAIN);
    errno = 0;
    assert_null(odeon_port_reserve(f->port, actor, TYPE, 8));
    assert_int_equal(errno, EAGAIN);
    assert_true(fake_take(&f->fake, &e, f->payload));
    assert_int_equal(odeon_port_post(f->port, actor, TYPE, &number, 8), 0);
    assert_int_equal(odeon_port_post(f->port, actor, TYPE, &number, 8), -EAGAIN);
}

static void test_records_do_not_wrap(void **state)
{
    struct fixture *f = *state;
    uint8_t sent[1500];
    uint32_t random = 1;
    struct envelope e;

    /* sizes that are prime to the ring's, so that every offset is met, and the last record of a
     * turn lies over the seam
     */
    for (unsigned i = 0; i < 50000; i++) {
        size_t size;

        random = random * 1664525 + 1013904223;
        size = (random >> 8) % sizeof(sent);
        memset(sent, (int)i, size);
        assert_int_equal(odeon_port_post(f->port, actor, TYPE, sent, size), 0);
        assert_true(fake_take(&f->fake, &e, f->payload));
        assert_int_equal(e.length, size);
        assert_memory_equal(f->payload, sent, size);
    }
    assert_true(f->fake.head > UINT64_C(1000) * RING);
}

static void test_reserved_records_appear_together(void **state)
{
    struct fixture *f = *state;
    uint64_t *places[3];
    struct envelope e;

    for (unsigned i = 0; i < 3; i++) {
        places[i] = odeon_port_reserve(f->port, actor, TYPE + i, 8 * (i + 1));
        assert_non_null(places[i]);
        assert_int_equal((uintptr_t)places[i] % 8, 0);
    }
    for (unsigned i = 0; i < 3; i++)
        for (unsigned j = 0; j <= i; j++)
            places[i][j] = i * 10 + j;
    assert_false(fake_take(&f->fake, &e, f->payload));
    odeon_port_commit(f->port);
    for (unsigned i = 0; i < 3; i++) {
        uint64_t last;

        assert_true(fake_take(&f->fake, &e, f->payload));
        assert_int_equal(e.type, TYPE + i);
        assert_int_equal(e.length, 8 * (i + 1));
        memcpy(&last, f->payload + sizeof(uint64_t) * i, sizeof(last));
        assert_int_equal(last, i * 11);
    }
    assert_false(fake_take(&f->fake, &e, f->payload));
    odeon_port_commit(f->port); /* nothing reserved: nothing happens */
    assert_false(fake_take(&f->fake, &e, f->payload));
}

static void test_doorbell_rings_only_when_asked_for(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(odeon_port_post(f->port, actor, TYPE, "x", 1), 0);
    assert_int_equal(fake_doorbell_count(&f->fake), 0);
    atomic_store(&f->fake.executor->need_wakeup, 1);
    assert_non_null(odeon_port_reserve(f->port, actor, TYPE, 8));
    assert_non_null(odeon_port_reserve(f->port, actor, TYPE, 8));
    assert_int_equal(fake_doorbell_count(&f->fake), 0);
    odeon_port_commit(f->port);
    assert_int_equal(fake_doorbell_count(&f->fake), 1);
    odeon_port_commit(f->port);
    assert_int_equal(fake_doorbell_count(&f->fake), 0);
}

static void test_post_wait_gives_up_at_its_deadline(void **state)
{
    struct fixture *f = *state;
    int64_t begin;

    while (odeon_port_post(f->port, actor, TYPE, f->payload, 100) == 0)
        ;
    assert_int_equal(odeon_port_post_wait(f->port, actor, TYPE, f->payload, 100, 0), -ETIMEDOUT);
    begin = monotonic_ns();
    assert_int_equal(odeon_port_post_wait(f->port, actor, TYPE, f->payload, 100, 30000000),
                     -ETIMEDOUT);
    assert_true(monotonic_ns() - begin >= 30000000);
    assert_int_equal(atomic_load(&f->fake.client->room_wait), PORT_WAIT_NONE);
}

/* Takes one record as soon as the client sleeps for room. */
static void *take_when_waited_for(void *argument)
{
    struct fixture *f = argument;
    struct envelope e;

    if (!fake_await(&f->fake.client->room_wait, PORT_WAIT_KIND))
        return NULL;
    return fake_take(&f->fake, &e, f->payload) ? f : NULL;
}

static void test_post_wait_sleeps_until_there_is_room(void **state)
{
    struct fixture *f = *state;
    uint8_t data[100] = { 0 };
    pthread_t thread;
    void *result;

    /* a reserved record that nobody has published would never make room: waiting publishes it */
    while (odeon_port_reserve(f->port, actor, TYPE, sizeof(data)))
        ;
    assert_string_equal(odeon_error_text(), "the port's submission ring is full");
    assert_int_equal(odeon_port_post(f->port, actor, 0, data, sizeof(data)), -EINVAL);
    assert_int_equal(pthread_create(&thread, NULL, take_when_waited_for, f), 0);
    assert_int_equal(odeon_port_post_wait(f->port, actor, TYPE, data, sizeof(data), PATIENCE_NS),
                     0);
    /* it found the ring full, and succeeded: the text is of the call that failed */
    assert_non_null(strstr(odeon_error_text(), "no message type"));
    pthread_join(thread, &result);
    assert_ptr_equal(result, f);
    assert_int_equal(f->fake.wakes, 1);
}

/* ---- receiving ---- */

static void test_receive_and_release(void **state)
{
    struct fixture *f = *state;
    struct odeon_delivery d;

    assert_int_equal(odeon_port_receive(f->port, &d), 0);
    for (uint64_t i = 0; i < 3; i++)
        assert_true(fake_deliver_number(&f->fake, TYPE, i, 0, 0));
    for (uint64_t i = 0; i < 3; i++) {
        assert_int_equal(odeon_port_receive(f->port, &d), 1);
        assert_int_equal(d.from, actor_ref_make(3, 1));
        assert_int_equal(d.type, TYPE);
        assert_int_equal(d.size, 8);
        assert_int_equal(d.correlation, 0);
        assert_int_equal(d.flags, 0);
        assert_int_equal(*(const uint64_t *)d.data, i);
    }
    assert_int_equal(odeon_port_receive(f->port, &d), 0);
    assert_int_equal(atomic_load(&f->fake.client->delivery_head), 0);
    odeon_port_release(f->port);
    assert_int_equal(atomic_load(&f->fake.client->delivery_head), 3 * 32);
}

static void test_deliveries_do_not_wrap(void **state)
{
    struct fixture *f = *state;
    uint8_t sent[1500];
    struct odeon_delivery d;

    for (unsigned i = 0; i < 20000; i++) {
        struct envelope e = { .type = TYPE, .length = (uint16_t)(i * 37 % sizeof(sent)) };

        memset(sent, (int)i, e.length);
        assert_true(fake_deliver(&f->fake, e, sent));
        assert_int_equal(odeon_port_receive(f->port, &d), 1);
        assert_int_equal(d.size, e.length);
        assert_memory_equal(d.data, sent, e.length);
        odeon_port_release(f->port);
    }
}

static void test_backlog_rings_after_release(void **state)
{
    struct fixture *f = *state;
    struct odeon_delivery d;

    assert_true(fake_deliver_number(&f->fake, TYPE, 1, 0, 0));
    assert_true(fake_deliver_number(&f->fake, TYPE, 2, 0, 0));
    assert_int_equal(odeon_port_receive(f->port, &d), 1);
    odeon_port_release(f->port);
    assert_int_equal(fake_doorbell_count(&f->fake), 0);
    atomic_store(&f->fake.executor->backlog, 1);
    assert_int_equal(odeon_port_receive(f->port, &d), 1);
    assert_int_equal(fake_doorbell_count(&f->fake), 0);
    odeon_port_release(f->port);
    assert_int_equal(fake_doorbell_count(&f->fake), 1);
    odeon_port_release(f->port); /* no room was given back: no reason to ring */
    assert_int_equal(fake_doorbell_count(&f->fake), 0);
}

static void *deliver_when_waited_for(void *argument)
{
    struct fixture *f = argument;

    if (!fake_await(&f->fake.client->delivery_wait, PORT_WAIT_KIND))
        return NULL;
    return fake_deliver_number(&f->fake, TYPE, 42, 0, 0) ? f : NULL;
}

static void test_receive_wait_sleeps_and_wakes(void **state)
{
    struct fixture *f = *state;
    struct odeon_delivery d;
    pthread_t thread;
    void *result;
    int64_t begin = monotonic_ns();

    assert_int_equal(odeon_port_receive_wait(f->port, &d, 0), 0);
    assert_int_equal(odeon_port_receive_wait(f->port, &d, 30000000), 0);
    assert_true(monotonic_ns() - begin >= 30000000);
    assert_int_equal(atomic_load(&f->fake.client->delivery_wait), PORT_WAIT_NONE);

    assert_int_equal(pthread_create(&thread, NULL, deliver_when_waited_for, f), 0);
    assert_int_equal(odeon_port_receive_wait(f->port, &d, PATIENCE_NS), 1);
    assert_int_equal(*(const uint64_t *)d.data, 42);
    pthread_join(thread, &result);
    assert_ptr_equal(result, f);
    assert_int_equal(f->fake.wakes, 1);
    assert_int_equal(atomic_load(&f->fake.client->delivery_wait), PORT_WAIT_NONE);
}

static void test_pipe_becomes_readable_when_armed(void **state)
{
    struct fixture *f = *state;
    struct pollfd p = { .fd = odeon_port_fd(f->port), .events = POLLIN };
    struct odeon_delivery d;

    assert_true(p.fd >= 0);
    assert_int_equal(odeon_port_arm(f->port), 0);
    assert_int_equal(poll(&p, 1, 0), 0);
    for (uint64_t i = 0; i < 5; i++)
        assert_true(fake_deliver_number(&f->fake, TYPE, i, 0, 0));
    assert_int_equal(f->fake.wakes, 1); /* once an arming */
    assert_int_equal(poll(&p, 1, 10000), 1);
    assert_int_equal(odeon_port_arm(f->port), 1); /* drains, and says that there is something */
    assert_int_equal(poll(&p, 1, 0), 0);
    for (uint64_t i = 0; i < 5; i++)
        assert_int_equal(odeon_port_receive(f->port, &d), 1);
    odeon_port_release(f->port);
    assert_int_equal(odeon_port_arm(f->port), 0);
    assert_true(fake_deliver_number(&f->fake, TYPE, 9, 0, 0));
    assert_int_equal(poll(&p, 1, 10000), 1);
    assert_int_equal(odeon_port_receive(f->port, &d), 1);

    close(f->fake.pipe_write);
    f->fake.pipe_write = -1;
    assert_int_equal(odeon_port_arm(f->port), -EPIPE);
}

/* ---- both directions, two threads ---- */

enum { ECHOES = 100000 };

/* Sends every number back, and goes to sleep on the doorbell whenever nothing is there. */
static void *echo(void *argument)
{
    struct fixture *f = argument;
    struct envelope e;

    for (unsigned i = 0; i < ECHOES;) {
        uint64_t number;
        int64_t end_ns;

        if (!fake_take(&f->fake, &e, f->payload)) {
            if (!fake_sleep(&f->fake))
                return NULL;
            continue;
        }
        memcpy(&number, f->payload, sizeof(number));
        if (number != i++)
            return NULL;
        end_ns = monotonic_ns() + PATIENCE_NS;
        while (!fake_deliver_number(&f->fake, TYPE, number, 0, 0))
            if (monotonic_ns() > end_ns)
                return NULL;
    }
    return f;
}

static void test_two_threads_lose_nothing(void **state)
{
    struct fixture *f = *state;
    uint64_t posted = 0, received = 0;
    struct odeon_delivery d;
    pthread_t thread;
    void *result;

    assert_int_equal(pthread_create(&thread, NULL, echo, f), 0);
    while (received < ECHOES) {
        /* bursts of changing length, so that each side finds the other awake, asleep and on its
         * way */
        for (unsigned burst = received % 97;
             burst > 0 && posted < ECHOES && posted - received < 100; burst--, posted++)
            if (odeon_port_post(f->port, actor, TYPE, &posted, sizeof(posted)) != 0)
                break;
        if (posted == received && posted < ECHOES) {
            assert_int_equal(
                odeon_port_post_wait(f->port, actor, TYPE, &posted, sizeof(posted), PATIENCE_NS),
                0);
            posted++;
        }
        assert_int_equal(odeon_port_receive_wait(f->port, &d, PATIENCE_NS), 1);
        assert_int_equal(*(const uint64_t *)d.data, received);
        received++;
        odeon_port_release(f->port);
    }
    pthread_join(thread, &result);
    assert_ptr_equal(result, f);
    assert_int_equal(odeon_port_receive(f->port, &d), 0);
}

static void *swallow(void *argument)
{
    struct fixture *f = argument;
    struct envelope e;

    for (unsigned i = 0; i < ECHOES;) {
        uint64_t number;

        if (!fake_take(&f->fake, &e, f->payload)) {
            if (!fake_sleep(&f->fake))
                return NULL;
            continue;
        }
        memcpy(&number, f->payload, sizeof(number));
        if (number != i++)
            return NULL;
    }
    return f;
}

static void test_waiting_for_room_loses_nothing(void **state)
{
    struct fixture *f = *state;
    uint64_t data[32] = { 0 };
    pthread_t thread;
    void *result;

    assert_int_equal(pthread_create(&thread, NULL, swallow, f), 0);
    for (uint64_t i = 0; i < ECHOES; i++) {
        data[0] = i;
        assert_int_equal(
            odeon_port_post_wait(f->port, actor, TYPE, data, sizeof(data), PATIENCE_NS), 0);
    }
    pthread_join(thread, &result);
    assert_ptr_equal(result, f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_post_lays_out_a_record, setup, teardown),
        cmocka_unit_test_setup_teardown(test_correlated_post_carries_its_id, setup, teardown),
        cmocka_unit_test_setup_teardown(test_post_after_says_when, setup, teardown),
        cmocka_unit_test_setup_teardown(test_post_after_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_monitor_is_an_id, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_monitor_is_given_up_by_the_same_words, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_monitor_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_impossible_arguments_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_only_questions_are_answered, setup, teardown),
        cmocka_unit_test_setup_teardown(test_full_ring_would_block, setup, teardown),
        cmocka_unit_test_setup_teardown(test_records_do_not_wrap, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reserved_records_appear_together, setup, teardown),
        cmocka_unit_test_setup_teardown(test_doorbell_rings_only_when_asked_for, setup, teardown),
        cmocka_unit_test_setup_teardown(test_post_wait_gives_up_at_its_deadline, setup, teardown),
        cmocka_unit_test_setup_teardown(test_post_wait_sleeps_until_there_is_room, setup, teardown),
        cmocka_unit_test_setup_teardown(test_receive_and_release, setup, teardown),
        cmocka_unit_test_setup_teardown(test_deliveries_do_not_wrap, setup, teardown),
        cmocka_unit_test_setup_teardown(test_backlog_rings_after_release, setup, teardown),
        cmocka_unit_test_setup_teardown(test_receive_wait_sleeps_and_wakes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pipe_becomes_readable_when_armed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_two_threads_lose_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_waiting_for_room_loses_nothing, setup, teardown),
    };

    return cmocka_run_group_tests_name("client ring", tests, NULL, NULL);
}
