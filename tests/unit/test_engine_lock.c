/* SPDX-License-Identifier: Apache-2.0 */
/* A lock for a few stores: one has it, and who waits for one that is not run sleeps, and is
 * woken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <unistd.h>

#include "daemon/common/clock.h"
#include "daemon/engine/base/lock.h"
#include "tests/unit/engine_fixture.h"

enum { THREADS = 4, TAKEN = TEST_SCALE(100000), GAP_ONE_IN = 64 };
static const uint64_t HELD_NS = UINT64_C(300000000);

static struct {
    struct lock lock;
    uint64_t n, seen;   /* under it */
    uint64_t waited_ns; /* of the processor's time */
} shared;

/* Who has it is taken its processor away, now and then: others sleep. */
static void *take_often(void *unused)
{
    (void)unused;
    for (unsigned i = 0; i < TAKEN; i++) {
        lock_take(&shared.lock);
        shared.seen = ++shared.n;
        if (i % GAP_ONE_IN == 0)
            sched_yield();
        if (shared.seen != shared.n)
            shared.n += UINT32_MAX;
        lock_give(&shared.lock);
    }
    return NULL;
}

static void test_one_at_a_time(void **state)
{
    pthread_t threads[THREADS];

    (void)state;
    shared.n = 0;
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_often, NULL), 0);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(shared.n, (uint64_t)THREADS * TAKEN);
    assert_int_equal(shared.lock.taken, LOCK_FREE);
}

static void *take_once(void *unused)
{
    (void)unused;
    lock_take(&shared.lock);
    lock_give(&shared.lock);
    shared.waited_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
    return NULL;
}

/* lock.LK3: from when it is about to sleep, whenever it comes to that. */
static void test_who_waits_takes_no_processor(void **state)
{
    pthread_t thread;
    struct timespec held = { .tv_nsec = (long)HELD_NS };

    (void)state;
    lock_take(&shared.lock);
    assert_int_equal(pthread_create(&thread, NULL, take_once, NULL), 0);
    assert_true(engine_fixture_until(load_relaxed(&shared.lock.taken) == LOCK_WAITED));
    while (nanosleep(&held, &held) < 0)
        ;
    lock_give(&shared.lock);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(shared.waited_ns < HELD_NS / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_at_a_time),
        cmocka_unit_test(test_who_waits_takes_no_processor),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
