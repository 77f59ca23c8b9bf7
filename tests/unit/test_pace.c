/* SPDX-License-Identifier: Apache-2.0 */
/* bench/latency/pace.h, over a pretended service with a pretended clock: what stands still must
 * show up in every request that was to be sent meanwhile. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bench/latency/pace.h"

enum { ROOM = 1 << 17, TICK_NS = 100, SERVICE_NS = 1000 };
#define MS UINT64_C(1000000)

/* Answers SERVICE_NS after the request, in order, but not while it stands still. */
static struct {
    uint64_t now_ns, begin_ns;
    uint64_t still_from_ns, still_to_ns;   /* the service; after begin_ns */
    uint64_t absent_from_ns, absent_to_ns; /* the sender, who has no processor */
    struct {
        uint64_t at_ns, number, ready_ns;
    } waiting[ROOM];
    uint64_t head, tail, committed, limit;
    uint64_t refuse_each, drop_each;
    uint32_t pieces, pieces_given;
} fake;

static struct pace_result result;

static uint64_t fake_now(void *context)
{
    uint64_t since;
    (void)context;
    fake.now_ns += TICK_NS;
    since = fake.now_ns - fake.begin_ns;
    if (since >= fake.absent_from_ns && since < fake.absent_to_ns)
        fake.now_ns = fake.begin_ns + fake.absent_to_ns;
    return fake.now_ns;
}

static int fake_post(void *context, uint64_t at_ns, uint64_t number)
{
    uint64_t since = fake.now_ns - fake.begin_ns, ready_ns = fake.now_ns + SERVICE_NS;
    (void)context;
    if (fake.tail - fake.head >= fake.limit)
        return -EAGAIN;
    if (since >= fake.still_from_ns && since < fake.still_to_ns)
        ready_ns = fake.begin_ns + fake.still_to_ns + SERVICE_NS;
    fake.waiting[fake.tail % ROOM].at_ns = at_ns;
    fake.waiting[fake.tail % ROOM].number = number;
    fake.waiting[fake.tail % ROOM].ready_ns = ready_ns;
    fake.tail++;
    return 0;
}

static void fake_commit(void *context)
{
    (void)context;
    fake.committed = fake.tail;
}

static int fake_receive(void *context, uint64_t *ret_at_ns, uint64_t *ret_number)
{
    uint64_t i = fake.head % ROOM;
    (void)context;
    if (fake.head == fake.committed || fake.waiting[i].ready_ns > fake.now_ns)
        return 0;
    *ret_at_ns = fake.waiting[i].at_ns;
    *ret_number = fake.waiting[i].number;
    if (++fake.pieces_given < fake.pieces)
        return 1;
    fake.pieces_given = 0;
    fake.head++;
    if (fake.drop_each != 0 && *ret_number % fake.drop_each == 0)
        return 0;
    return fake.refuse_each != 0 && *ret_number % fake.refuse_each == 0 ? 2 : 1;
}

static const struct pace_transport transport = {
    .now_ns = fake_now, .post = fake_post, .commit = fake_commit, .receive = fake_receive
};

static int begin(void **state)
{
    (void)state;
    memset(&fake, 0, sizeof(fake));
    fake.now_ns = fake.begin_ns = 1000 * MS;
    fake.limit = ROOM;
    fake.pieces = 1;
    return 0;
}

static struct pace pace_of(uint64_t rate, uint64_t n)
{
    return (struct pace){ .rate = rate, .n = n, .pieces = 1, .timeout_ns = 1000 * MS };
}

static void test_undisturbed(void **state)
{
    struct pace pace = pace_of(10000, 1000);
    (void)state;
    assert_int_equal(pace_run(&pace, &transport, &result), 0);
    assert_int_equal(result.answered, 1000);
    assert_int_equal(result.times.count, 1000);
    assert_int_equal(result.refused, 0);
    /* The service's time, and a few looks at the clock. */
    assert_in_range(result.times.most, SERVICE_NS, SERVICE_NS + 6 * TICK_NS);
    /* Sent over a tenth of a second, not at once. */
    assert_in_range(result.end_ns - result.begin_ns, 99 * MS, 101 * MS);
}

/* 10,000 a second for a second, and 100 ms in which nothing is answered, or nothing can be sent:
 * a tenth of all requests were due then and have waited for 50 ms in the mean. */
static void expect_tenth_late(void)
{
    uint64_t late = 0;
    assert_int_equal(result.answered, 10000);
    for (uint32_t i = histogram_cell(MS); i < HISTOGRAM_CELLS; i++)
        late += result.times.cells[i];
    assert_in_range(late, 970, 1000);
    assert_in_range(result.times.most, 99 * MS, 101 * MS);
    assert_in_range(histogram_quantile(&result.times, 950000), 48 * MS, 52 * MS);
    assert_in_range(histogram_mean(&result.times), 4900000, 5100000);
}

static void test_service_stands_still(void **state)
{
    struct pace pace = pace_of(10000, 10000);
    (void)state;
    fake.still_from_ns = 400 * MS;
    fake.still_to_ns = 500 * MS;
    assert_int_equal(pace_run(&pace, &transport, &result), 0);
    expect_tenth_late();
}

static void test_sender_is_absent(void **state)
{
    struct pace pace = pace_of(10000, 10000);
    (void)state;
    fake.absent_from_ns = 400 * MS;
    fake.absent_to_ns = 500 * MS;
    assert_int_equal(pace_run(&pace, &transport, &result), 0);
    expect_tenth_late();
}

static void test_full_ring_does_not_stop_the_times(void **state)
{
    struct pace pace = pace_of(10000, 10000);
    (void)state;
    fake.limit = 16;
    fake.still_from_ns = 400 * MS;
    fake.still_to_ns = 500 * MS;
    assert_int_equal(pace_run(&pace, &transport, &result), 0);
    expect_tenth_late();
}

static void test_request_is_answered_by_its_last_piece(void **state)
{
    struct pace pace = pace_of(100000, 5000);
    (void)state;
    pace.pieces = fake.pieces = 4;
    assert_int_equal(pace_run(&pace, &transport, &result), 0);
    assert_int_equal(result.answered, 5000);
    assert_int_equal(result.times.count, 5000);
    assert_true(result.times.most >= SERVICE_NS + 3 * TICK_NS);
}

static void test_warm_up_is_answered_and_not_counted(void **state)
{
    struct pace pace = pace_of(100000, 1000);
    (void)state;
    pace.warm_up = 100;
    assert_int_equal(pace_run(&pace, &transport, &result), 0);
    assert_int_equal(result.answered, 1000);
    assert_int_equal(result.times.count, 900);
}

static void test_refused_and_lost(void **state)
{
    struct pace pace = pace_of(100000, 1000);
    (void)state;
    fake.refuse_each = 10;
    assert_int_equal(pace_run(&pace, &transport, &result), 0);
    assert_int_equal(result.refused, 100);
    assert_int_equal(result.answered, 900);
    begin(NULL);
    fake.drop_each = 10; /* ends by its timeout */
    assert_int_equal(pace_run(&pace, &transport, &result), 0);
    assert_int_equal(result.posted, 1000);
    assert_int_equal(result.answered, 900);
}

static void test_what_comes_too_late_is_lost(void **state)
{
    struct pace pace = pace_of(100, 10);
    (void)state;
    pace.within_ns = 100 * MS;
    fake.still_from_ns = 51 * MS; /* the last five were due from then on */
    fake.still_to_ns = 500 * MS;
    assert_int_equal(pace_run(&pace, &transport, &result), 0);
    assert_int_equal(result.posted, 10);
    assert_int_equal(result.answered, 5);
}

static void test_due_times_do_not_drift(void **state)
{
    struct pace pace = pace_of(3, 10);
    (void)state;
    assert_int_equal(pace_due_ns(&pace, 5, 0), 5);
    assert_int_equal(pace_due_ns(&pace, 0, 1), 333333333);
    assert_int_equal(pace_due_ns(&pace, 0, 3), 1000 * MS);
    pace.rate = 1000000000;
    assert_int_equal(pace_due_ns(&pace, 0, UINT64_C(86400000000007)), UINT64_C(86400000000007));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_undisturbed, begin),
        cmocka_unit_test_setup(test_service_stands_still, begin),
        cmocka_unit_test_setup(test_sender_is_absent, begin),
        cmocka_unit_test_setup(test_full_ring_does_not_stop_the_times, begin),
        cmocka_unit_test_setup(test_request_is_answered_by_its_last_piece, begin),
        cmocka_unit_test_setup(test_warm_up_is_answered_and_not_counted, begin),
        cmocka_unit_test_setup(test_refused_and_lost, begin),
        cmocka_unit_test_setup(test_what_comes_too_late_is_lost, begin),
        cmocka_unit_test_setup(test_due_times_do_not_drift, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
