/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/supervisor/offenders: who waits how long, with a clock of the test's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/supervisor/offenders.h"

#define MS       UINT64_C(1000000)
#define HOLD_MAX (100 * MS)

static const uint64_t start = UINT64_C(5000000000000);

static void test_holds_grow_and_stop_growing(void **state)
{
    static const uint64_t waits[] = { 0, 0, 10, 20, 40, 80, 100, 100, 100 };
    struct offenders offenders = { 0 };
    uint64_t now = start;

    (void)state;
    for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
        uint64_t until = offenders_note(&offenders, 7, 1000, now, HOLD_MAX);

        assert_int_equal(until - now, waits[i] * MS);
        assert_int_equal(offenders_admit(&offenders, 7, 1000, now, HOLD_MAX), until);
        now = until;
    }
    /* the hold is over: nobody waits, until the next offence */
    assert_int_equal(offenders_admit(&offenders, 7, 1000, now, HOLD_MAX), now);
}

static void test_is_forgotten_after_a_second(void **state)
{
    struct offenders offenders = { 0 };
    uint64_t until = 0;

    (void)state;
    for (int i = 0; i < 5; i++)
        until = offenders_note(&offenders, 7, 1000, start, HOLD_MAX);
    assert_true(until > start);
    /* a second from the end of the hold */
    assert_true(offenders_note(&offenders, 7, 1000, until + OFFENDERS_MEMORY_NS - 1, HOLD_MAX) >
                until + OFFENDERS_MEMORY_NS - 1);
    until += 2 * OFFENDERS_MEMORY_NS + HOLD_MAX;
    assert_int_equal(offenders_admit(&offenders, 7, 1000, until, HOLD_MAX), until);
    assert_int_equal(offenders_note(&offenders, 7, 1000, until, HOLD_MAX), until);
}

static void test_slow_offenders_are_not_held(void **state)
{
    struct offenders offenders = { 0 };

    (void)state;
    for (uint64_t now = start, i = 0; i < 20; i++, now += OFFENDERS_MEMORY_NS)
        assert_int_equal(offenders_note(&offenders, 7, 1000, now, HOLD_MAX), now);
}

static void test_others_do_not_wait(void **state)
{
    struct offenders offenders = { 0 };

    (void)state;
    for (int i = 0; i < 100; i++)
        offenders_note(&offenders, 7, 1000, start, HOLD_MAX);
    assert_true(offenders_admit(&offenders, 7, 1000, start, HOLD_MAX) > start);
    assert_int_equal(offenders_admit(&offenders, 8, 1000, start, HOLD_MAX),
                     start); /* another process of the same user */
    assert_int_equal(offenders_admit(&offenders, 7, 1001, start, HOLD_MAX),
                     start); /* the number, in another user's name */
}

/* offenders.F3 */
static void test_many_at_once_wait_for_each(void **state)
{
    struct offenders offenders = { 0 };
    uint64_t until = 0;

    (void)state;
    for (int i = 0; i < 8; i++)
        until = offenders_note(&offenders, 7, 1000, start, HOLD_MAX);
    assert_int_equal(until - start, (10 + 20 + 40 + 80 + 100 + 100) * MS);
    for (int i = 0; i < 1000; i++)
        until = offenders_note(&offenders, 7, 1000, start, HOLD_MAX);
    assert_int_equal(until - start, OFFENDERS_HOLDS_MAX * HOLD_MAX);
}

static void test_hold_of_another_length_and_none(void **state)
{
    struct offenders offenders = { 0 };

    (void)state;
    for (int i = 0; i < 1000; i++)
        assert_int_equal(offenders_note(&offenders, 7, 1000, start, 0), start);
    for (int i = 0; i < 3 * OFFENDERS_PROCESSES; i++)
        assert_int_equal(offenders_note(&offenders, 100 + i, 1000, start, 0), start);
    assert_int_equal(offenders_admit(&offenders, 8, 1000, start, 0), start);
    offenders = (struct offenders){ 0 };
    for (int i = 0; i < OFFENDERS_TOLERATED; i++)
        offenders_note(&offenders, 7, 1000, start, 3 * MS);
    assert_int_equal(offenders_note(&offenders, 7, 1000, start, 3 * MS) - start, 3 * MS);
}

/* offenders.F2: a user whose processes come and go, each with an offence. */
static void test_many_processes_of_one_user(void **state)
{
    struct offenders offenders = { 0 };
    uint64_t until;

    (void)state;
    for (pid_t pid = 100; pid < 100 + OFFENDERS_PROCESSES; pid++) {
        assert_int_equal(offenders_admit(&offenders, pid, 1000, start, HOLD_MAX), start);
        assert_false(offenders_are_many(&offenders, 1000, start));
        offenders_note(&offenders, pid, 1000, start, HOLD_MAX);
    }
    for (pid_t pid = 200; pid < 205; pid++) /* one after the other */
        assert_int_equal(offenders_admit(&offenders, pid, 1000, start, HOLD_MAX) - start,
                         (uint64_t)(pid - 199) * 10 * MS);
    assert_true(offenders_are_many(&offenders, 1000, start));
    /* the user is remembered from the end of the last wait on, however long its processes are */
    assert_true(offenders_are_many(&offenders, 1000, start + 50 * MS + OFFENDERS_MEMORY_NS - 1));
    assert_false(offenders_are_many(&offenders, 1000, start + 50 * MS + OFFENDERS_MEMORY_NS));
    /* another user */
    assert_int_equal(offenders_admit(&offenders, 300, 1001, start, HOLD_MAX), start);
    assert_false(offenders_are_many(&offenders, 1001, start));
    /* no more processes than the table has room for can make the user forgotten */
    for (pid_t pid = 400; pid < 400 + 2 * OFFENDERS_MAX; pid++) {
        until = offenders_admit(&offenders, pid, 1000, start, HOLD_MAX);
        assert_true(until > start + 50 * MS && until <= start + OFFENDERS_HOLDS_MAX * HOLD_MAX);
        offenders_note(&offenders, pid, 1000, start, HOLD_MAX);
    }
    /* peace again */
    until = start + OFFENDERS_HOLDS_MAX * HOLD_MAX + OFFENDERS_MEMORY_NS;
    assert_int_equal(offenders_admit(&offenders, 500, 1000, until, HOLD_MAX), until);
    assert_false(offenders_are_many(&offenders, 1000, until));
}

/* offenders.F2: seven that are remembered are not eight, although their user is remembered, too. */
static void test_user_is_no_process(void **state)
{
    const uint64_t later = start + OFFENDERS_MEMORY_NS / 2, end = start + OFFENDERS_MEMORY_NS;
    struct offenders offenders = { 0 };

    (void)state;
    offenders_note(&offenders, 100, 1000, start, HOLD_MAX);
    for (pid_t pid = 101; pid < 100 + OFFENDERS_PROCESSES; pid++)
        offenders_note(&offenders, pid, 1000, later, HOLD_MAX);
    assert_true(offenders_admit(&offenders, 200, 1000, later, HOLD_MAX) > later);
    assert_true(offenders_are_many(&offenders, 1000, end));
    assert_int_equal(offenders_admit(&offenders, 201, 1000, end, HOLD_MAX), end);
    assert_int_equal(offenders_admit(&offenders, 202, 1000, end, HOLD_MAX), end);
}

/* A process waits for its own offences, also where its user need not wait so long. */
static void test_own_hold_is_the_longer_one(void **state)
{
    struct offenders offenders = { 0 };
    uint64_t until = 0;

    (void)state;
    for (int i = 0; i < 8; i++)
        until = offenders_note(&offenders, 7, 1000, start, HOLD_MAX);
    assert_int_equal(until - start, 350 * MS);
    for (pid_t pid = 101; pid < 100 + OFFENDERS_PROCESSES; pid++)
        offenders_note(&offenders, pid, 1000, start, HOLD_MAX);
    assert_int_equal(offenders_note(&offenders, 7, 1000, start, HOLD_MAX) - start, 450 * MS);
    assert_int_equal(offenders_admit(&offenders, 7, 1000, start, HOLD_MAX) - start, 450 * MS);
}

/* Each millisecond the next of so many processes that need not wait offends. How many do so in five
 * seconds. */
static unsigned take_turns(unsigned n_processes, bool new_connections)
{
    struct offenders offenders = { 0 };
    uint64_t free_ns[2 * OFFENDERS_MAX] = { 0 };
    unsigned n = 0;
    pid_t last = 0;

    for (uint64_t now = start; now < start + 5000 * MS; now += MS) {
        pid_t pid = last;

        for (unsigned i = 0; i < n_processes; i++) {
            pid = (pid + 1) % (pid_t)n_processes;
            if (free_ns[pid] > now)
                continue;
            free_ns[pid] = offenders_note(&offenders, 100 + pid, 1000, now, HOLD_MAX);
            if (new_connections)
                free_ns[pid] = offenders_admit(&offenders, 100 + pid, 1000, now, HOLD_MAX);
            last = pid;
            n++;
            break;
        }
    }
    return n;
}

/* offenders.F2, offenders.F3: nor does it help that there are more than the table has room for,
 * whether they come back or go on with what they have.  Each waits as long as anybody does, ten
 * times the longest hold, when there have been some. */
static void test_many_processes_take_turns(void **state)
{
    const unsigned before = 40;

    (void)state;
    for (unsigned n = OFFENDERS_PROCESSES; n <= 2 * OFFENDERS_MAX; n++) {
        assert_in_range(take_turns(n, true), 1, before + 6 * n);
        assert_in_range(take_turns(n, false), 1, before + 6 * n);
    }
}

/* offenders.F4 */
static void test_the_oldest_is_forgotten_first(void **state)
{
    struct offenders offenders = { 0 };
    uint64_t now = start;

    (void)state;
    for (int i = 0; i < 4; i++)
        offenders_note(&offenders, 7, 1000, start, HOLD_MAX);
    for (uid_t uid = 1; uid < OFFENDERS_MAX; uid++)
        offenders_note(&offenders, 8, 2000 + uid, ++now, HOLD_MAX);
    assert_true(offenders_admit(&offenders, 7, 1000, now, HOLD_MAX) > now);
    for (uid_t uid = 1; uid < OFFENDERS_MAX; uid++)
        offenders_note(&offenders, 8, 3000 + uid, ++now, HOLD_MAX);
    /* its hold reaches beyond their offences */
    assert_true(offenders_admit(&offenders, 7, 1000, now, HOLD_MAX) > now);
    now = start + 200 * MS;
    for (uid_t uid = 1; uid <= OFFENDERS_MAX; uid++)
        offenders_note(&offenders, 8, 4000 + uid, ++now, HOLD_MAX);
    assert_int_equal(offenders_note(&offenders, 7, 1000, now, HOLD_MAX), now);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_holds_grow_and_stop_growing),
        cmocka_unit_test(test_is_forgotten_after_a_second),
        cmocka_unit_test(test_slow_offenders_are_not_held),
        cmocka_unit_test(test_others_do_not_wait),
        cmocka_unit_test(test_many_at_once_wait_for_each),
        cmocka_unit_test(test_hold_of_another_length_and_none),
        cmocka_unit_test(test_many_processes_of_one_user),
        cmocka_unit_test(test_user_is_no_process),
        cmocka_unit_test(test_own_hold_is_the_longer_one),
        cmocka_unit_test(test_many_processes_take_turns),
        cmocka_unit_test(test_the_oldest_is_forgotten_first),
    };

    return cmocka_run_group_tests_name("offenders", tests, NULL, NULL);
}
