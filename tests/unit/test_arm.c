/* SPDX-License-Identifier: Apache-2.0 */
/* Being told of room by the port's descriptor, and a port's figures, against an executor that the
 * test plays. */
#include "tests/unit/clientlib_fake.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/clientlib_cmocka.h"
#include "tests/unit/clientlib_port.h"

enum { NUMBERS = 100000, SHORT_NS = 1000000 };

static bool is_readable(const struct fixture *f, int timeout_ms)
{
    struct pollfd p = { .fd = odeon_port_fd(f->port), .events = POLLIN };

    return poll(&p, 1, timeout_ms) == 1;
}

static uint64_t fill(struct fixture *f)
{
    uint64_t n = 0;

    while (odeon_port_post(f->port, actor, TYPE, &n, sizeof(n)) == 0)
        n++;
    return n;
}

static void test_room_is_told_once_an_arming(void **state)
{
    struct fixture *f = *state;
    struct envelope e;

    assert_int_equal(odeon_port_arm_room(f->port, 8), ODEON_PORT_HAS_ROOM);
    assert_int_equal(atomic_load(&f->fake.client->room_wait), PORT_WAIT_NONE);
    assert_int_equal(fill(f), RING / 32);
    assert_int_equal(odeon_port_arm_room(f->port, 8), 0);
    assert_false(is_readable(f, 0));
    assert_true(fake_take(&f->fake, &e, f->payload));
    assert_true(is_readable(f, 0));
    for (unsigned i = 0; i < 5; i++)
        assert_true(fake_take(&f->fake, &e, f->payload));
    assert_int_equal(f->fake.wakes, 1);
    assert_int_equal(odeon_port_arm_room(f->port, 8), ODEON_PORT_HAS_ROOM);
    assert_false(is_readable(f, 0)); /* drained */
    /* a large one has no room yet, small ones have */
    assert_int_equal(odeon_port_arm_room(f->port, 1000), 0);
    assert_int_equal(odeon_port_post(f->port, actor, TYPE, "x", 1), 0);
    while (fake_take(&f->fake, &e, f->payload)) {
    }
    assert_true(is_readable(f, 0));
    assert_int_equal(odeon_port_arm_room(f->port, 1000), ODEON_PORT_HAS_ROOM);
}

static void test_room_has_room_for_every_option(void **state)
{
    struct fixture *f = *state;
    struct envelope e;
    unsigned taken = 0;

    (void)fill(f);
    while (odeon_port_arm_room(f->port, 64) == 0) {
        assert_true(fake_take(&f->fake, &e, f->payload));
        taken++;
    }
    assert_int_equal(taken, 4); /* 24 + 3 * 8 + 64 bytes */
    assert_int_equal(odeon_port_post_with(f->port, actor, TYPE, f->payload, 64,
                                          ODEON_POST_OPTIONS(.correlation = 1, .after_ns = 1,
                                                             .within_ns = SECOND_NS)),
                     0);
}

static void test_both_by_one_descriptor(void **state)
{
    struct fixture *f = *state;
    struct odeon_delivery d;
    struct envelope e;

    (void)fill(f);
    assert_int_equal(odeon_port_arm_room(f->port, 8), 0);
    assert_true(fake_deliver_number(&f->fake, TYPE, 1, 0, 0));
    assert_true(is_readable(f, 0));
    assert_int_equal(odeon_port_arm_room(f->port, 8), ODEON_PORT_HAS_DELIVERY);
    for (unsigned i = 0; i < 2; i++)
        assert_true(fake_take(&f->fake, &e, f->payload));
    assert_int_equal(odeon_port_arm_room(f->port, 8),
                     ODEON_PORT_HAS_ROOM | ODEON_PORT_HAS_DELIVERY);
    assert_int_equal(odeon_port_receive(f->port, &d), 1);
    assert_int_equal(odeon_port_arm_room(f->port, 8), ODEON_PORT_HAS_ROOM);
    close(f->fake.pipe_write);
    f->fake.pipe_write = -1;
    (void)fill(f);
    assert_int_equal(odeon_port_arm_room(f->port, 8), -EPIPE);
}

static void test_what_is_reserved_is_published(void **state)
{
    struct fixture *f = *state;
    struct envelope e;

    while (odeon_port_reserve(f->port, actor, TYPE, 8)) {
    }
    assert_false(fake_take(&f->fake, &e, f->payload));
    assert_int_equal(odeon_port_arm_room(f->port, 8), 0);
    assert_true(fake_take(&f->fake, &e, f->payload));
    assert_true(fake_take(&f->fake, &e, f->payload));
    assert_true(is_readable(f, 0));
}

static void test_arming_is_refused(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(odeon_port_arm_room(NULL, 8), -EINVAL);
    assert_int_equal(odeon_port_arm_room(f->port, RING), -EMSGSIZE);
    assert_int_equal(odeon_port_arm_room(f->port, SIZE_MAX), -EMSGSIZE);
    f->port->room_by_pipe = false;
    assert_int_equal(odeon_port_arm_room(f->port, 8), -ENOSYS);
    assert_non_null(strstr(odeon_error_text(), "older"));
    close(f->port->pipe);
    f->port->pipe = -1;
    assert_int_equal(odeon_port_arm_room(f->port, 8), -ENOTSUP);
}

/* ---- an executor in a thread of its own */

static void *take_all(void *argument)
{
    struct fixture *f = argument;
    uint8_t payload[64];
    struct envelope e;

    for (uint64_t next = 0; next < NUMBERS;) {
        uint64_t number;

        if (!fake_take(&f->fake, &e, payload)) {
            if (!fake_sleep(&f->fake))
                return NULL;
            continue;
        }
        memcpy(&number, payload, sizeof(number));
        if (number != next++)
            return NULL;
    }
    return f;
}

static void test_a_poll_loop_that_posts_loses_nothing(void **state)
{
    struct fixture *f = *state;
    pthread_t thread;
    void *result;

    assert_int_equal(pthread_create(&thread, NULL, take_all, f), 0);
    for (uint64_t i = 0; i < NUMBERS; i++)
        while (odeon_port_post(f->port, actor, TYPE, &i, sizeof(i)) == -EAGAIN)
            if (odeon_port_arm_room(f->port, sizeof(i)) == 0)
                assert_true(is_readable(f, PATIENCE_MS));
    pthread_join(thread, &result);
    assert_ptr_equal(result, f);
}

/* ---- figures */

static struct odeon_port_figures figures_of(const struct fixture *f)
{
    struct odeon_port_figures figures = { .struct_size = sizeof(figures) };

    assert_int_equal(odeon_port_figures(f->port, &figures), 0);
    assert_int_equal(figures.struct_size, sizeof(figures));
    return figures;
}

/* Until a wait is counted: where this thread is kept off, its time is over before it has begun. */
static void wait_for_nothing(struct fixture *f)
{
    int64_t end_ns = monotonic_ns() + PATIENCE_NS;
    struct odeon_delivery d;

    do
        assert_int_equal(odeon_port_receive_wait(f->port, &d, SHORT_NS), 0);
    while (figures_of(f).delivery_waits == 0 && monotonic_ns() < end_ns);
    assert_true(figures_of(f).delivery_waits >= 1);
}

/* Who waits more than a billion times: the waiting words come round, and are none of an awake
 * client's; what was waited is counted on. Each wait is answered. */
static void test_waits_beyond_what_a_word_counts(void **state)
{
    struct fixture *f = *state;
    struct odeon_delivery d;
    struct envelope e;
    uint64_t last = UINT64_C(1) << 30;
    uint32_t words[2] = { 0 };

    f->port->room_sequence = f->port->delivery_sequence = (last - 3) * PORT_WAIT_STEP;
    for (uint64_t n = last - 2; n <= last + 2; n++) {
        (void)fill(f);
        assert_int_equal(odeon_port_arm_room(f->port, 8), 0);
        assert_int_equal(atomic_load(&f->port->mine->room_wait) & PORT_WAIT_KIND, PORT_WAIT_PIPE);
        assert_int_not_equal(atomic_load(&f->port->mine->room_wait), words[0]);
        assert_int_not_equal(atomic_load(&f->port->mine->delivery_wait), words[1]);
        words[0] = atomic_load(&f->port->mine->room_wait);
        words[1] = atomic_load(&f->port->mine->delivery_wait);
        assert_int_equal(figures_of(f).room_waits, n);
        assert_int_equal(figures_of(f).delivery_waits, n);
        assert_true(fake_deliver_number(&f->fake, TYPE, n, 0, 0));
        assert_true(is_readable(f, 0));
        assert_int_equal(odeon_port_receive(f->port, &d), 1);
        odeon_port_release(f->port);
        while (fake_take(&f->fake, &e, f->payload)) {
        }
    }
}

static void test_figures(void **state)
{
    struct fixture *f = *state;
    struct odeon_port_figures a = figures_of(f);
    struct odeon_delivery d;
    struct envelope e;

    assert_int_equal(a.submission_bytes, RING);
    assert_int_equal(a.delivery_bytes, RING);
    assert_int_equal(a.submission_used | a.posted_bytes | a.awaited | a.delivery_waits, 0);
    wait_for_nothing(f);
    assert_non_null(odeon_port_reserve(f->port, actor, TYPE, 8));
    a = figures_of(f);
    assert_int_equal(a.submission_used | a.posted_bytes, 0);
    assert_int_equal(fill(f), RING / 32 - 1);
    a = figures_of(f);
    assert_int_equal(a.submission_used, RING);
    assert_int_equal(a.posted_bytes, RING);
    assert_int_equal(a.full, 1);
    assert_int_equal(a.doorbells, 0);
    while (fake_take(&f->fake, &e, f->payload)) {
    }
    atomic_store(&f->fake.executor->need_wakeup, 1);
    assert_int_equal(
        odeon_port_post_with(f->port, actor, TYPE, "", 0,
                             ODEON_POST_OPTIONS(.correlation = 1, .within_ns = SHORT_NS)),
        0);
    a = figures_of(f);
    assert_int_equal(a.awaited, 1);
    assert_int_equal(a.submission_used, 32);
    assert_int_equal(a.doorbells, 1);
    for (uint64_t i = 0; i < 3; i++)
        assert_true(fake_deliver_number(&f->fake, TYPE, i, 0, 0));
    assert_int_equal(odeon_port_receive(f->port, &d), 1);
    atomic_store(&f->fake.executor->dropped, 5);
    a = figures_of(f);
    assert_int_equal(a.delivery_waiting, 64);
    assert_int_equal(a.delivery_held, 32);
    assert_int_equal(a.received_bytes, 32);
    assert_int_equal(a.dropped, 5);
    assert_int_equal(odeon_port_receive(f->port, &d), 1);
    assert_int_equal(odeon_port_receive(f->port, &d), 1);
    odeon_port_release(f->port);
    assert_int_equal(odeon_port_receive_wait(f->port, &d, PATIENCE_NS), 1);
    a = figures_of(f);
    assert_int_equal(a.awaited, 0);
    assert_int_equal(a.expired, 1);
    assert_int_equal(a.delivery_held | a.delivery_waiting, 0);
}

static void test_figures_of_other_versions(void **state)
{
    struct fixture *f = *state;
    struct {
        struct odeon_port_figures figures;
        uint64_t later;
    } next = { .figures = { .struct_size = sizeof(next) }, .later = 7 };

    assert_int_equal(odeon_port_figures(f->port, &next.figures), 0);
    assert_int_equal(next.figures.struct_size, sizeof(next));
    assert_int_equal(next.later, 0);
    next.figures.struct_size = 8;
    assert_int_equal(odeon_port_figures(f->port, &next.figures), -EINVAL);
    next.figures.struct_size = UINT32_MAX;
    assert_int_equal(odeon_port_figures(f->port, &next.figures), -EINVAL);
    assert_int_equal(odeon_port_figures(f->port, NULL), -EINVAL);
    assert_int_equal(odeon_port_figures(NULL, &next.figures), -EINVAL);
}

/* Nobody has the other end any more, the manager's store included. */
static void test_an_end_of_the_service_is_an_end(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(odeon_port_arm(f->port), 0);
    assert_int_equal(odeon_port_closed(f->port), ODEON_CLOSED_NOT);
    close(f->fake.pipe_write);
    f->fake.pipe_write = -1;
    assert_true(is_readable(f, -1));
    assert_int_equal(odeon_port_arm(f->port), -EPIPE);
    assert_int_equal(odeon_port_closed(f->port), ODEON_CLOSED_SERVICE_GONE);
    assert_int_equal(odeon_port_post(f->port, actor, TYPE, "x", 1), -EPIPE);
    assert_int_equal(odeon_port_arm(f->port), -EPIPE);
}

/* A reason of a later version is no word about this process. */
static void test_reasons_of_the_executor(void **state)
{
    static const struct {
        unsigned broken;
        enum odeon_closed why;
    } reasons[] = {
        { PORT_BROKEN_TAIL, ODEON_CLOSED_BAD_RECORD },
        { PORT_BROKEN_LENGTH, ODEON_CLOSED_BAD_RECORD },
        { PORT_BROKEN_HEADER, ODEON_CLOSED_BAD_RECORD },
        { PORT_BROKEN_SLOT, ODEON_CLOSED_BAD_RECORD },
        { PORT_BROKEN_HEAD, ODEON_CLOSED_BAD_RECORD },
        { PORT_BROKEN_SLOW, ODEON_CLOSED_TOO_SLOW },
        { PORT_BROKEN_CLOSED, ODEON_CLOSED_BY_SERVICE },
        { PORT_BROKEN_N, ODEON_CLOSED_BY_SERVICE },
        { 200, ODEON_CLOSED_BY_SERVICE },
        { UINT32_MAX, ODEON_CLOSED_BY_SERVICE },
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
        atomic_store(&f->fake.executor->broken, reasons[i].broken);
        assert_int_equal(odeon_port_closed(f->port), reasons[i].why);
        assert_int_equal(odeon_port_post(f->port, actor, TYPE, "x", 1), -EPIPE);
        assert_true((strstr(odeon_error_text(), "this process wrote") != NULL) ==
                    (reasons[i].broken < PORT_BROKEN_CLOSED));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_room_is_told_once_an_arming, setup, teardown),
        cmocka_unit_test_setup_teardown(test_room_has_room_for_every_option, setup, teardown),
        cmocka_unit_test_setup_teardown(test_both_by_one_descriptor, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_is_reserved_is_published, setup, teardown),
        cmocka_unit_test_setup_teardown(test_arming_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_poll_loop_that_posts_loses_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_an_end_of_the_service_is_an_end, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reasons_of_the_executor, setup, teardown),
        cmocka_unit_test_setup_teardown(test_waits_beyond_what_a_word_counts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_figures, setup, teardown),
        cmocka_unit_test_setup_teardown(test_figures_of_other_versions, setup, teardown),
    };

    return cmocka_run_group_tests_name("armed ports and figures", tests, NULL, NULL);
}
