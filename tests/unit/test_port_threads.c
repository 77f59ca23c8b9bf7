/* SPDX-License-Identifier: Apache-2.0 */
/* One port for several threads, against an executor that the test plays in another: one that posts
 * and one that receives, or several that post. Nothing is lost, repeated or reordered. */
#include "tests/unit/clientlib_fake.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/clientlib_cmocka.h"
#include "tests/unit/clientlib_port.h"

enum { NUMBERS = 60000, POSTERS = 4, EACH = 15000, SHORT_NS = 1000000 };

static uint64_t word_at(const void *bytes)
{
    uint64_t word;

    memcpy(&word, bytes, sizeof(word));
    return word;
}

/* Sends everything back until a number that is UINT64_MAX comes; sleeps when there is nothing. */
static void *echo(void *argument)
{
    struct fixture *f = argument;
    uint8_t payload[1024];
    struct envelope e;

    for (;;) {
        bool correlated;

        if (!fake_take(&f->fake, &e, payload)) {
            if (!fake_sleep(&f->fake))
                return NULL;
            continue;
        }
        correlated = e.prefix & PREFIX_CORRELATION;
        if (word_at(payload + (correlated ? 8 : 0)) == UINT64_MAX)
            return f;
        while (!fake_deliver_number(&f->fake, TYPE, word_at(payload + (correlated ? 8 : 0)),
                                    correlated ? word_at(payload) : 0,
                                    correlated ? ENVELOPE_REPLY : 0))
            cpu_relax();
    }
}

static void end_echo(struct fixture *f, pthread_t thread)
{
    const uint64_t last = UINT64_MAX;
    void *result;

    assert_int_equal(odeon_port_post_wait(f->port, actor, TYPE, &last, 8, PATIENCE_NS), 0);
    pthread_join(thread, &result);
    assert_ptr_equal(result, f);
}

/* ---- one that posts, one that receives: nothing is locked */

static void *post_all(void *argument)
{
    struct fixture *f = argument;

    for (uint64_t i = 0; i < NUMBERS; i++)
        if (odeon_port_post_wait(f->port, actor, TYPE, &i, sizeof(i), PATIENCE_NS) < 0)
            return NULL;
    return f;
}

static void test_a_poster_and_a_receiver(void **state)
{
    struct fixture *f = *state;
    struct odeon_port_figures figures = { .struct_size = sizeof(figures) };
    pthread_t threads[2];
    void *result;

    assert_int_equal(pthread_create(&threads[0], NULL, echo, f), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, post_all, f), 0);
    for (uint64_t i = 0; i < NUMBERS; i++) {
        struct odeon_delivery d;

        assert_int_equal(odeon_port_receive_wait(f->port, &d, PATIENCE_NS), 1);
        assert_int_equal(word_at(d.data), i);
        if (i % 8 == 7)
            odeon_port_release(f->port);
        if (i % 1000 == 0) { /* beside the other one, too */
            assert_int_equal(odeon_port_figures(f->port, &figures), 0);
            assert_in_range(figures.submission_used, 0, RING);
        }
    }
    pthread_join(threads[1], &result);
    assert_ptr_equal(result, f);
    end_echo(f, threads[0]);
}

/* ---- several that post */

struct poster {
    struct fixture *f;
    uint64_t id;
    uint64_t full;
};

static uint64_t number_of(uint64_t poster, uint64_t i)
{
    return poster << 32 | i;
}

/* Every way of posting in turn. */
static int post_somehow(struct poster *p, uint64_t i)
{
    struct odeon_port *port = p->f->port;
    uint64_t n = number_of(p->id, i);

    switch (i % 5) {
    case 0:
        return odeon_port_post_wait(port, actor, TYPE, &n, sizeof(n), PATIENCE_NS);
    case 1:
        return odeon_port_post_with(
            port, actor, TYPE, &n, sizeof(n),
            ODEON_POST_OPTIONS(.wait_ns = -1, .correlation = n + 1, .within_ns = PATIENCE_NS));
    case 2:
        return odeon_port_post_correlated(port, actor, TYPE, n + 1, &n, sizeof(n));
    case 3:
        return odeon_port_post_urgent(port, actor, TYPE, &n, sizeof(n));
    default:
        return odeon_port_post(port, actor, TYPE, &n, sizeof(n));
    }
}

static void *post_mine(void *argument)
{
    struct poster *p = argument;

    for (uint64_t i = 0; i < EACH; i++) {
        int result = post_somehow(p, i);

        while (result == -EAGAIN) {
            p->full++;
            sched_yield();
            result = post_somehow(p, i);
        }
        if (result < 0)
            return NULL;
    }
    return p;
}

static void test_several_posters(void **state)
{
    struct fixture *f = *state;
    struct poster posters[POSTERS];
    uint64_t next[POSTERS] = { 0 };
    pthread_t threads[POSTERS], other;

    port_share(f->port);
    assert_int_equal(pthread_create(&other, NULL, echo, f), 0);
    for (uint64_t i = 0; i < POSTERS; i++) {
        posters[i] = (struct poster){ .f = f, .id = i };
        assert_int_equal(pthread_create(&threads[i], NULL, post_mine, &posters[i]), 0);
    }
    for (unsigned n = 0; n < POSTERS * EACH; n++) {
        struct odeon_delivery d;
        uint64_t number;

        assert_int_equal(odeon_port_receive_wait(f->port, &d, PATIENCE_NS), 1);
        number = word_at(d.data);
        assert_in_range(number >> 32, 0, POSTERS - 1);
        assert_int_equal(number & UINT32_MAX, next[number >> 32]++); /* in the order of each */
        if (d.correlation)
            assert_int_equal(d.correlation, number + 1);
        odeon_port_release(f->port);
    }
    for (unsigned i = 0; i < POSTERS; i++) {
        void *result;

        pthread_join(threads[i], &result);
        assert_ptr_equal(result, &posters[i]);
    }
    end_echo(f, other);
}

static void *wait_for_room(void *argument)
{
    struct poster *p = argument;
    uint64_t n = p->id;

    return odeon_port_post_wait(p->f->port, actor, TYPE, &n, sizeof(n), PATIENCE_NS) == 0 ? p
                                                                                          : NULL;
}

static void *be_late(void *argument)
{
    struct poster *p = argument;
    uint64_t n = p->id;
    int64_t begin_ns = monotonic_ns();

    return odeon_port_post_wait(p->f->port, actor, TYPE, &n, sizeof(n), 20 * SHORT_NS) ==
                       -ETIMEDOUT &&
                   monotonic_ns() - begin_ns >= 20 * SHORT_NS
               ? p
               : NULL;
}

/* Several wait; who is late is told in time, whoever sleeps; then all of them have room. */
static void test_waiting_for_room_in_turn(void **state)
{
    struct fixture *f = *state;
    struct poster posters[POSTERS + 2];
    pthread_t threads[POSTERS + 2];
    uint64_t n = 0;
    struct envelope e;
    unsigned taken = 0;

    port_share(f->port);
    while (odeon_port_post(f->port, actor, TYPE, &n, sizeof(n)) == 0)
        n++;
    for (uint64_t i = 0; i < POSTERS + 2; i++) {
        posters[i] = (struct poster){ .f = f, .id = i };
        assert_int_equal(
            pthread_create(&threads[i], NULL, i < POSTERS ? wait_for_room : be_late, &posters[i]),
            0);
    }
    for (unsigned i = POSTERS; i < POSTERS + 2; i++) {
        void *result;

        pthread_join(threads[i], &result);
        assert_ptr_equal(result, &posters[i]);
    }
    while (taken < n + POSTERS) {
        if (fake_take(&f->fake, &e, f->payload))
            taken++;
        else
            cpu_relax();
    }
    for (unsigned i = 0; i < POSTERS; i++) {
        void *result;

        pthread_join(threads[i], &result);
        assert_ptr_equal(result, &posters[i]);
    }
}

static void test_what_several_posters_cannot(void **state)
{
    struct fixture *f = *state;
    struct odeon_delivery d;
    struct envelope e;

    port_share(f->port);
    errno = 0;
    assert_null(odeon_port_reserve(f->port, actor, TYPE, 8));
    assert_int_equal(errno, ENOTSUP);
    errno = 0;
    assert_null(odeon_port_reserve_with(f->port, actor, TYPE, 8, NULL));
    assert_int_equal(errno, ENOTSUP);
    assert_int_equal(odeon_port_commit(f->port), -ENOTSUP);
    assert_int_equal(odeon_port_call(f->port, actor, TYPE, NULL, 0, -1, &d), -ENOTSUP);
    assert_int_equal(odeon_port_arm_room(f->port, 8), -ENOTSUP);
    assert_non_null(strstr(odeon_error_text(), "several threads"));
    /* what is wrong is what is wrong for one */
    assert_int_equal(odeon_port_post(f->port, actor, 0, "x", 1), -EINVAL);
    assert_int_equal(odeon_port_post(f->port, ODEON_NOBODY, TYPE, "x", 1), -ESRCH);
    assert_int_equal(
        odeon_port_post(f->port, UINT64_C(1) << 32 | ACTOR_REF_OWN | 1000, TYPE, "x", 1), -ESRCH);
    assert_int_equal(odeon_port_post(f->port, actor, TYPE, f->payload, RING), -EMSGSIZE);
    assert_int_equal(odeon_port_post(f->port, actor, TYPE, f->payload, SIZE_MAX), -EMSGSIZE);
    assert_false(fake_take(&f->fake, &e, f->payload));
    assert_int_equal(odeon_port_post(f->port, actor, TYPE, "x", 1), 0);
    assert_true(fake_take(&f->fake, &e, f->payload));
    assert_int_equal(odeon_port_answer(f->port,
                                       &(struct odeon_delivery){ .from = actor, .correlation = 3 },
                                       TYPE, "x", 1),
                     0);
    assert_true(fake_take(&f->fake, &e, f->payload));
    assert_int_equal(e.flags, ENVELOPE_REPLY);
    atomic_store(&f->fake.executor->broken, PORT_BROKEN_CLOSED);
    assert_int_equal(odeon_port_post(f->port, actor, TYPE, "x", 1), -EPIPE);
    assert_int_equal(odeon_port_post_wait(f->port, actor, TYPE, "x", 1, -1), -EPIPE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_poster_and_a_receiver, setup, teardown),
        cmocka_unit_test_setup_teardown(test_several_posters, setup, teardown),
        cmocka_unit_test_setup_teardown(test_waiting_for_room_in_turn, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_several_posters_cannot, setup, teardown),
    };

    return cmocka_run_group_tests_name("one port, several threads", tests, NULL, NULL);
}
