/* SPDX-License-Identifier: Apache-2.0 */
/* A queue's words: the lock with many threads at it, gulp, release and setting aside, and their
 * invariants (segment_layout.h). */
#include <pthread.h>
#include <sched.h>

#include "daemon/engine/segment/queue.h"
#include "engine_fixture.h"

enum { N_THREADS = 4 };

static struct segment_queue queue;
static uint64_t guarded, contended_total;
static _Atomic uint32_t n_inside;
static _Atomic uint64_t n_wrong;

struct locker {
    pthread_t thread;
    uint32_t id;
    uint64_t rounds;
    unsigned hold; /* how long inside: in yields; several make the others sleep */
};

static void *locker_main(void *argument)
{
    struct locker *locker = argument;
    uint64_t contended = 0;
    for (uint64_t i = 0; i < locker->rounds; i++) {
        contended += queue_lock(&queue, locker->id);
        if (atomic_fetch_add(&n_inside, 1) != 0)
            atomic_fetch_add(&n_wrong, 1);
        if ((load_relaxed(&queue.lock) & ~LOCK_WAITERS) != locker->id + 1) /* queue.Q1 */
            atomic_fetch_add(&n_wrong, 1);
        /* the first one stays until somebody waits: all others are still to come */
        while (guarded == 0 && locker->hold && !(load_relaxed(&queue.lock) & LOCK_WAITERS))
            sched_yield();
        guarded++;
        for (unsigned k = 0; k < locker->hold && i % 16 == 0; k++)
            sched_yield();
        atomic_fetch_sub(&n_inside, 1);
        queue_unlock(&queue);
    }
    queue_lock(&queue, locker->id);
    contended_total += contended;
    queue_unlock(&queue);
    return NULL;
}

static void lock_by_threads(uint64_t rounds, unsigned hold)
{
    struct locker locker[N_THREADS];
    memset(&queue, 0, sizeof(queue));
    guarded = contended_total = 0;
    atomic_store(&n_inside, 0);
    atomic_store(&n_wrong, 0);
    for (uint32_t i = 0; i < N_THREADS; i++) {
        locker[i] = (struct locker){ .id = i, .rounds = rounds, .hold = hold };
        assert_int_equal(pthread_create(&locker[i].thread, NULL, locker_main, &locker[i]), 0);
    }
    for (uint32_t i = 0; i < N_THREADS; i++)
        pthread_join(locker[i].thread, NULL);
    assert_int_equal(atomic_load(&n_wrong), 0);
    assert_int_equal(guarded, N_THREADS * rounds);
    assert_int_equal(load_relaxed(&queue.lock), 0);
}

static void test_lock_short(void **state)
{
    (void)state;
    lock_by_threads(TEST_SCALE(200000), 0);
}

static void test_lock_long(void **state)
{
    (void)state;
    lock_by_threads(TEST_SCALE(20000), 20);
    assert_true(contended_total > 0);
}

static void *lock_once(void *argument)
{
    (void)argument;
    bool waited = queue_lock(&queue, 7);
    uint32_t word = load_relaxed(&queue.lock);
    queue_unlock(&queue);
    return (void *)(uintptr_t)(word | (waited ? 0x100 : 0));
}

/* Who had to wait says so, and leaves the bit on for others who may still wait. */
static void test_waiters_bit(void **state)
{
    (void)state;
    pthread_t thread;
    memset(&queue, 0, sizeof(queue));
    assert_false(queue_lock(&queue, 2));
    assert_int_equal(load_relaxed(&queue.lock), 3);
    assert_int_equal(pthread_create(&thread, NULL, lock_once, NULL), 0);
    assert_true(engine_fixture_until(load_relaxed(&queue.lock) == (3 | LOCK_WAITERS)));
    queue_unlock(&queue);
    void *result;
    pthread_join(thread, &result);
    assert_int_equal((uint32_t)(uintptr_t)result, 8 | LOCK_WAITERS | 0x100);
    assert_int_equal(load_relaxed(&queue.lock), 0);
    assert_false(queue_lock(&queue, 2));
    queue_unlock(&queue);
}

/* segment_layout.L1: without a batch the other buffer's length is 0, and so is the cursor. */
static void assert_no_batch(void)
{
    uint32_t sel = load_relaxed(&queue.sel);
    assert_false(queue_has_batch(sel));
    assert_int_equal(load_relaxed(&queue.len[queue_active(sel) ^ 1]), 0);
    assert_int_equal(load_relaxed(&queue.cursor), 0);
    assert_int_equal(load_relaxed(&queue.wrap), 0);
}

static void test_gulp_park_release(void **state)
{
    (void)state;
    memset(&queue, 0, sizeof(queue));
    assert_no_batch();
    assert_false(queue_has_work(&queue));
    for (unsigned round = 0; round < 5; round++) {
        unsigned active = queue_active(load_relaxed(&queue.sel));
        store_relaxed(&queue.len[active], 320);
        assert_true(queue_has_work(&queue));
        assert_int_equal(queue_backlog_bytes(&queue), 320);
        queue_gulp(&queue, 1);
        assert_int_equal(load_relaxed(&queue.lock), 0);
        assert_int_equal(load_relaxed(&queue.sel), (active ^ 1) | SEL_BATCH);
        assert_int_equal(load_relaxed(&queue.len[active]), 320); /* the batch */
        assert_int_equal(queue_backlog_bytes(&queue), 0);        /* what is behind it */
        assert_true(queue_has_work(&queue));
        queue_park_batch(&queue, 64, 640, 704);
        assert_int_equal(load_relaxed(&queue.cursor), 64);
        assert_int_equal(load_relaxed(&queue.wrap), 704);
        assert_int_equal(load_relaxed(&queue.len[active]), 640);
        assert_int_equal(load_relaxed(&queue.sel), (active ^ 1) | SEL_BATCH);
        store_relaxed(&queue.len[active ^ 1], 32); /* a sender */
        queue_release_batch(&queue);
        assert_no_batch();
        assert_true(queue_has_work(&queue));
        assert_int_equal(queue_backlog_bytes(&queue), 32);
        store_relaxed(&queue.len[active ^ 1], 0);
    }
}

static void *gulper_main(void *argument)
{
    queue_gulp(&queue, 1);
    return argument;
}

/* queue.Q4: whoever has the lock appends to the buffer that was active when it took it. */
static void test_a_gulp_waits_for_an_appender(void **state)
{
    (void)state;
    pthread_t thread;
    memset(&queue, 0, sizeof(queue));
    store_relaxed(&queue.len[0], 8);
    queue_lock(&queue, 7);
    assert_int_equal(pthread_create(&thread, NULL, gulper_main, NULL), 0);
    while (!(load_relaxed(&queue.lock) & LOCK_WAITERS)) {
        assert_int_equal(load_relaxed(&queue.sel), 0);
        sched_yield();
    }
    assert_int_equal(load_relaxed(&queue.sel), 0);
    store_release(&queue.len[0], 16);
    queue_unlock(&queue);
    pthread_join(thread, NULL);
    assert_int_equal(load_relaxed(&queue.sel), 1 | SEL_BATCH);
    assert_int_equal(load_acquire(&queue.len[0]), 16);
    assert_int_equal(load_relaxed(&queue.lock), 0);
}

/* One gulps, others append: every byte is gulped once. */
static _Atomic uint32_t appenders_left;

static void *appender_main(void *argument)
{
    struct locker *locker = argument;
    for (uint64_t i = 0; i < locker->rounds; i++) {
        queue_lock(&queue, locker->id);
        unsigned active = queue_active(load_relaxed(&queue.sel));
        store_release(&queue.len[active], load_relaxed(&queue.len[active]) + 8);
        queue_unlock(&queue);
    }
    atomic_fetch_sub(&appenders_left, 1);
    return NULL;
}

static void test_gulp_against_appenders(void **state)
{
    (void)state;
    struct locker locker[N_THREADS];
    uint64_t rounds = TEST_SCALE(100000), gulped = 0, gulps = 0;
    memset(&queue, 0, sizeof(queue));
    atomic_store(&appenders_left, N_THREADS);
    for (uint32_t i = 0; i < N_THREADS; i++) {
        locker[i] = (struct locker){ .id = i, .rounds = rounds };
        assert_int_equal(pthread_create(&locker[i].thread, NULL, appender_main, &locker[i]), 0);
    }
    while (atomic_load(&appenders_left) > 0 || queue_has_work(&queue)) {
        if (!queue_has_work(&queue)) {
            sched_yield();
            continue;
        }
        queue_gulp(&queue, N_THREADS);
        gulped += load_relaxed(&queue.len[queue_active(load_relaxed(&queue.sel)) ^ 1]);
        queue_release_batch(&queue);
        gulps++;
    }
    for (uint32_t i = 0; i < N_THREADS; i++)
        pthread_join(locker[i].thread, NULL);
    assert_int_equal(gulped, N_THREADS * rounds * 8);
    assert_true(gulps > 0);
    assert_no_batch();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lock_short),
        cmocka_unit_test(test_lock_long),
        cmocka_unit_test(test_waiters_bit),
        cmocka_unit_test(test_gulp_park_release),
        cmocka_unit_test(test_a_gulp_waits_for_an_appender),
        cmocka_unit_test(test_gulp_against_appenders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
