/* SPDX-License-Identifier: Apache-2.0 */
/* The client's side of a port whose memory is impossible, against an executor that the test plays:
 * whether the service is at fault, or two threads that use the port at once. */
#include "tests/unit/clientlib_fake.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "client-lib/src/port_distrust.h"
#include "client-lib/src/wait.h"
#include "tests/unit/clientlib_cmocka.h"
#include "tests/unit/clientlib_port.h"

/* ---- memory that cannot be ---- */

static void assert_distrusted(struct fixture *f, int result)
{
    struct odeon_delivery d;

    assert_int_equal(result, -EPROTO);
    assert_non_null(strstr(odeon_error_text(), "fault of the service"));
    assert_int_equal(odeon_port_check(f->port), -EPROTO);
    assert_int_equal(odeon_port_post(f->port, actor, TYPE, "x", 1), -EPROTO);
    assert_true(odeon_port_receive(f->port, &d) < 0);
    assert_true(odeon_port_receive_wait(f->port, &d, SECOND_NS) < 0);
}

static void test_impossible_submission_head(void **state)
{
    static const uint64_t heads[] = { 8 + RING, UINT64_MAX, UINT64_C(1) << 63 };

    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        struct fixture *f = *state;
        int result;

        atomic_store(&f->fake.executor->submission_head, heads[i]);
        while ((result = odeon_port_post(f->port, actor, TYPE, "x", 1)) == 0)
            ;
        assert_distrusted(f, result);
        teardown(state);
        setup(state);
    }
}

/* A head that lies in the ring, behind what is published: it makes room that there is not. */
static void test_submission_head_before_its_record(void **state)
{
    struct fixture *f = *state;

    for (unsigned i = 1; i < RING / 32; i++)
        assert_int_equal(odeon_port_post(f->port, actor, TYPE, "x", 1), 0);
    atomic_store(&f->fake.executor->submission_head, RING - 32); /* all has been taken */
    assert_int_equal(odeon_port_post(f->port, actor, TYPE, f->payload, 40), 0);
    atomic_store(&f->fake.executor->submission_head, RING + 40);
    assert_distrusted(f, odeon_port_post(f->port, actor, TYPE, f->payload, RING - 24));
}

/* Deliveries that have not been given back: a tail that reaches over them means that they have been
 * written over. */
static void test_delivery_tail_over_what_is_held(void **state)
{
    struct fixture *f = *state;
    struct odeon_delivery d;

    assert_true(fake_deliver_number(&f->fake, TYPE, 1, 0, 0));
    assert_int_equal(odeon_port_receive(f->port, &d), 1);
    atomic_store(&f->fake.executor->delivery_tail, RING + 8);
    assert_distrusted(f, odeon_port_receive(f->port, &d));
}

static void test_impossible_delivery_tail(void **state)
{
    static const uint64_t tails[] = { RING + 8, 12, UINT64_MAX - 7, UINT64_C(1) << 63, 16 };

    for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
        struct fixture *f = *state;
        struct odeon_delivery d;

        atomic_store(&f->fake.executor->delivery_tail, tails[i]);
        assert_distrusted(f, odeon_port_receive(f->port, &d));
        teardown(state);
        setup(state);
    }
}

static void test_impossible_delivery_headers(void **state)
{
    static const struct envelope headers[] = {
        { .type = 0 },                   /* a hole */
        { .type = TYPE, .length = 100 }, /* beyond what was published */
        { .type = TYPE, .length = 9 },   /* by eight bytes */
        { .type = TYPE, .length = UINT16_MAX },
        { .type = TYPE, .length = 4, .prefix = PREFIX_CORRELATION }, /* no room for the id */
        { .type = MESSAGE_TYPE_REFUSAL, .length = 8 },               /* no room for the refusal */
    };

    for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
        struct fixture *f = *state;
        struct odeon_delivery d;

        memcpy(f->fake.delivery, &headers[i], sizeof(headers[i]));
        atomic_store(&f->fake.executor->delivery_tail, 32);
        assert_distrusted(f, odeon_port_receive(f->port, &d));
        teardown(state);
        setup(state);
    }
}

static void test_broken_port_is_an_end(void **state)
{
    struct fixture *f = *state;
    struct odeon_delivery d;

    assert_int_equal(odeon_port_check(f->port), 0);
    assert_true(fake_deliver_number(&f->fake, TYPE, 1, 0, 0));
    atomic_store(&f->fake.executor->broken, PORT_BROKEN_LENGTH);
    assert_int_equal(odeon_port_post(f->port, actor, TYPE, "x", 1), -EPIPE);
    assert_non_null(strstr(odeon_error_text(), "bad-length"));
    assert_int_equal(odeon_port_receive_wait(f->port, &d, -1), 1); /* what came before the end */
    assert_int_equal(odeon_port_receive_wait(f->port, &d, -1), -EPIPE);
    assert_int_equal(odeon_port_arm(f->port), -EPIPE);
    assert_int_equal(odeon_port_check(f->port), -EPIPE);
    assert_int_equal(odeon_port_call(f->port, actor, TYPE, "x", 1, -1, &d), -EPIPE);
}

static void expect_plan_refused(struct port_plan plan, const char *why)
{
    static const _Atomic uint32_t alive = 1;
    struct odeon_port *port = NULL;
    int result = port_new(&plan, &alive, &port);

    if (result != -EPROTO || !strstr(odeon_error_text(), why))
        fail_msg("expected a refusal with \"%s\", got %d with \"%s\"", why, result,
                 odeon_error_text());
    assert_null(port);
}

static void test_impossible_plans_are_refused(void **state)
{
    struct fixture *f = *state;
    struct port_plan plan = f->fake.plan;
    int unsealed = memfd_create("unsealed", MFD_CLOEXEC),
        half_sealed = memfd_create("half sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING),
        null = open("/dev/null", O_RDWR | O_CLOEXEC);

    assert_int_equal(ftruncate(unsealed, 1 << 20), 0);
    assert_int_equal(ftruncate(half_sealed, 1 << 20), 0);
    assert_int_equal(fcntl(half_sealed, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SEAL), 0);
#define REFUSED(field, bad, why)                                                                   \
    do {                                                                                           \
        plan = f->fake.plan;                                                                       \
        plan.field = (bad);                                                                        \
        expect_plan_refused(plan, why);                                                            \
    } while (0)
    REFUSED(submission_bytes, 0, "power of two");
    REFUSED(submission_bytes, RING + 8, "power of two");
    REFUSED(delivery_bytes, UINT64_C(1) << 63, "power of two");
    REFUSED(delivery_bytes, 2048, "power of two");
    REFUSED(submission_bytes, 3 * RING, "power of two");
    REFUSED(submission_bytes, 2 * RING, "shorter");
    REFUSED(delivery_bytes, 2 * RING, "shorter");
    REFUSED(submission_offset, 0, "offset");
    REFUSED(delivery_offset, 100, "offset");
    REFUSED(delivery_offset, f->fake.plan.delivery_offset + 8, "offset");
    REFUSED(delivery_offset, UINT32_MAX & ~4095u, "shorter");
    REFUSED(client_memory, unsealed, "sealed");
    REFUSED(client_memory, half_sealed, "sealed"); /* it could shrink, which is SIGBUS */
    REFUSED(executor_memory, null, "sealed");
    REFUSED(executor_memory, -1, "sealed");
    REFUSED(payload_max, 0, "payloads");
    REFUSED(payload_max, ODEON_PAYLOAD_MAX + 1, "payloads");
    REFUSED(actors_max, 0, "actors");
#undef REFUSED
    close(unsealed);
    close(half_sealed);
    close(null);
}

static unsigned count_mappings(void)
{
    FILE *file = fopen("/proc/self/maps", "re");
    char line[512];
    unsigned n = 0;

    assert_non_null(file);
    while (fgets(line, sizeof(line), file))
        n += strstr(line, "memfd:") != NULL;
    fclose(file);
    return n;
}

/* Each is found when the port is opened, and nothing stays mapped. */
static void test_impossible_cursors_are_refused(void **state)
{
    struct fixture *f = *state;
    _Atomic uint64_t *const words[] = { &f->fake.executor->delivery_tail,
                                        &f->fake.executor->submission_head,
                                        &f->fake.client->submission_tail,
                                        &f->fake.client->delivery_head };
    unsigned before = count_mappings();

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        atomic_store(words[i], RING + 64);
        expect_plan_refused(f->fake.plan, "cursors");
        atomic_store(words[i], 0);
    }
    /* possible distances, at which no record begins */
    atomic_store(&f->fake.client->submission_tail, 12);
    expect_plan_refused(f->fake.plan, "cursors");
    atomic_store(&f->fake.client->submission_tail, 0);
    atomic_store(&f->fake.client->delivery_head, 12);
    atomic_store(&f->fake.executor->delivery_tail, 64);
    expect_plan_refused(f->fake.plan, "cursors");
    assert_int_equal(count_mappings(), before);
}

/* The port has taken them, and closes them. */
static void test_descriptors_have_one_owner(void **state)
{
    struct fixture *f = *state;

    assert_true(f->port->doorbell >= 0);
    assert_true(f->port->pipe >= 0);
    assert_int_equal(f->fake.plan.doorbell, -1);
    assert_int_equal(f->fake.plan.pipe, -1);
}

/* The first reason is the one that is told, whatever is found out behind it. */
static void test_the_first_end_counts(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(port_closed_by(PORT_OK), ODEON_CLOSED_BY_SERVICE); /* nothing was found */
    port_mark_closed(f->port, -EPIPE, ODEON_CLOSED_TOO_SLOW, "it was slow");
    port_mark_closed(f->port, -ECONNRESET, ODEON_CLOSED_BY_SERVICE, "the service has gone");
    assert_int_equal(odeon_port_check(f->port), -EPIPE);
    assert_non_null(strstr(odeon_error_text(), "it was slow"));
    assert_int_equal(odeon_port_closed(f->port), ODEON_CLOSED_TOO_SLOW);
}

/* ---- two threads ---- */

/* What another thread leaves is written here by the one thread there is, at the place where the
 * other one would have come between. */

static void assert_two_threads(struct fixture *f, int result)
{
    assert_int_equal(result, -EPROTO);
    assert_non_null(strstr(odeon_error_text(), "two threads use it at once"));
    assert_null(strstr(odeon_error_text(), "fault of the service"));
    assert_int_equal(odeon_port_check(f->port), -EPROTO); /* said again whenever it is asked */
    assert_non_null(strstr(odeon_error_text(), "two threads use it at once"));
}

static void test_a_delivery_that_two_have_taken(void **state)
{
    struct fixture *f = *state;
    struct odeon_delivery d;

    assert_true(fake_deliver_number(&f->fake, TYPE, 1, 0, 0));
    assert_int_equal(odeon_port_receive(f->port, &d), 1);
    f->port->delivery_taken += envelope_size(sizeof(uint64_t)); /* both have added its size */
    assert_two_threads(f, odeon_port_receive(f->port, &d));
}

static void test_a_release_that_came_between(void **state)
{
    struct fixture *f = *state;
    struct odeon_delivery d;

    /* the other one has released, and has not come to its own word yet */
    atomic_store(&f->fake.client->delivery_head, 32);
    memset(f->fake.delivery, 0, sizeof(struct envelope));
    atomic_store(&f->fake.executor->delivery_tail, 32);
    assert_two_threads(f, odeon_port_receive(f->port, &d));
}

static void test_a_head_that_is_possible_again(void **state)
{
    struct fixture *f = *state;

    /* a look at the head that another thread's look has overtaken is no fault of the memory: the
     * words that are there now agree */
    assert_two_threads(f, port_distrust_head(f->port));
}

#ifndef WAIT_HAVE_TSAN /* which is right about what this does */
static void *distrust_too(void *argument)
{
    struct fixture *f = argument;
    struct odeon_delivery d;
    int result = odeon_port_receive(f->port, &d);

    return result == -EPROTO ? f : NULL;
}

/* Both meet the same damage: one of them is watching when the other one comes, or comes alone,
 * and then cannot know. Neither blames the service without a doubt. */
static void test_two_receivers_are_named(void **state)
{
    struct fixture *f = *state;
    pthread_t thread;
    void *other;

    memset(f->fake.delivery, 0, sizeof(struct envelope));
    atomic_store(&f->fake.executor->delivery_tail, 32);
    assert_int_equal(pthread_create(&thread, NULL, distrust_too, f), 0);
    assert_ptr_equal(distrust_too(f), f);
    assert_non_null(strstr(odeon_error_text(), "two threads use"));
    pthread_join(thread, &other);
    assert_ptr_equal(other, f);
    assert_int_equal(odeon_port_check(f->port), -EPROTO);
    assert_non_null(strstr(odeon_error_text(), "two threads use"));
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_impossible_submission_head, setup, teardown),
        cmocka_unit_test_setup_teardown(test_submission_head_before_its_record, setup, teardown),
        cmocka_unit_test_setup_teardown(test_delivery_tail_over_what_is_held, setup, teardown),
        cmocka_unit_test_setup_teardown(test_impossible_delivery_tail, setup, teardown),
        cmocka_unit_test_setup_teardown(test_impossible_delivery_headers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_broken_port_is_an_end, setup, teardown),
        cmocka_unit_test_setup_teardown(test_impossible_plans_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_impossible_cursors_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_descriptors_have_one_owner, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_first_end_counts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_delivery_that_two_have_taken, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_release_that_came_between, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_head_that_is_possible_again, setup, teardown),
#ifndef WAIT_HAVE_TSAN
        cmocka_unit_test_setup_teardown(test_two_receivers_are_named, setup, teardown),
#endif
    };

    return cmocka_run_group_tests_name("client ring, impossible", tests, NULL, NULL);
}
