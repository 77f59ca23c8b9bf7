/* SPDX-License-Identifier: Apache-2.0 */
/* Rates of users, divided among their clients: time is the test's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/executor/rate.h"

#define MS UINT64_C(1000000)

static struct rates rates;
static uint64_t now;

static int reset(void **state)
{
    (void)state;
    memset(&rates, 0, sizeof(rates));
    now = 5000 * MS;
    return 0;
}

/* As many as it can get for so long, looking every millisecond. */
static uint64_t greedy(const uint32_t *ports, unsigned n_ports, unsigned ms)
{
    uint64_t taken = 0, wait, n;

    for (unsigned i = 0; i < ms; i++, now += MS)
        for (unsigned p = 0; p < n_ports; p++)
            while ((n = rates_take(&rates, ports[p], now, &wait)) > 0)
                taken += n;
    return taken;
}

static void test_alone_it_has_all(void **state)
{
    (void)state;
    rates_set(&rates, 10000, now);
    rates_add(&rates, 0, 1, 1000, now);
    uint64_t taken = greedy((const uint32_t[]){ 0 }, 1, 10000);
    assert_in_range(taken, 99000, 102100);
}

static void test_a_slow_rate(void **state)
{
    uint64_t wait = 0;

    (void)state;
    rates_set(&rates, 1, now);
    rates_add(&rates, 0, 1, 1000, now);
    assert_int_equal(rates_take(&rates, 0, now, &wait), 1); /* the pool's */
    assert_int_equal(rates_take(&rates, 0, now, &wait), 0);
    assert_in_range(wait, 1000 * MS, 1000 * MS + 1);
    now += wait;
    assert_int_equal(rates_take(&rates, 0, now, &wait), 1);
}

/* The flood of one client does not take what the other, below its part, posts. */
static void test_bystander_of_the_same_user(void **state)
{
    uint64_t light = 0, refused = 0, wait, heavy = 0;

    (void)state;
    rates_set(&rates, 10000, now);
    rates_add(&rates, 0, 1, 1000, now);
    rates_add(&rates, 1, 2, 1000, now);
    (void)greedy((const uint32_t[]){ 0 }, 1, 100);
    /* 100 grants of 100 in 3 s: 3,300 a second, below its 5,000 */
    for (unsigned i = 0; i < 100; i++) {
        heavy += greedy((const uint32_t[]){ 0 }, 1, 30);
        uint64_t n = rates_take(&rates, 1, now, &wait);

        light += n;
        refused += n == 0;
    }
    assert_int_equal(refused, 0);
    assert_int_equal(light, 10000);
    assert_in_range(heavy, 19000, 21100); /* the rest of 3 s */
}

static void test_two_floods_share(void **state)
{
    uint64_t one = 0, two = 0;

    (void)state;
    rates_set(&rates, 10000, now);
    rates_add(&rates, 0, 1, 1000, now);
    rates_add(&rates, 1, 2, 1000, now);
    rates_add(&rates, 2, 2, 1000, now); /* a second port is no second part */
    for (unsigned i = 0; i < 10000; i++) {
        one += greedy((const uint32_t[]){ 0 }, 1, 1);
        now -= MS;
        two += greedy((const uint32_t[]){ 1, 2 }, 2, 1);
    }
    assert_in_range(one, 49000, 51500);
    assert_in_range(two, 49000, 51500);
}

/* Users do not share, and reconnecting brings nothing. */
static void test_reconnecting_brings_nothing(void **state)
{
    uint64_t taken = 0;

    (void)state;
    rates_set(&rates, 10000, now);
    for (uint32_t client = 1; client <= 1000; client++) {
        rates_add(&rates, 0, client, 1000, now);
        taken += greedy((const uint32_t[]){ 0 }, 1, 5);
        rates_remove(&rates, 0, now);
    }
    assert_in_range(taken, 47000, 52000); /* of 5 s */
    rates_add(&rates, 0, 2000, 1000, now);
    rates_add(&rates, 1, 2001, 1001, now);
    assert_in_range(greedy((const uint32_t[]){ 1 }, 1, 1000), 9900, 11100);
}

/* More users than there is room for come and go. */
static void test_users_are_forgotten(void **state)
{
    (void)state;
    rates_set(&rates, 1000, now);
    for (uint32_t uid = 0; uid < 3 * ODEON_PORTS_MAX; uid++) {
        rates_add(&rates, 7, uid + 1, uid, now);
        assert_non_null(rates.of_port[7]);
        rates_remove(&rates, 7, now);
        now += MS;
    }
    for (unsigned i = 0; i < ODEON_PORTS_MAX; i++)
        assert_int_equal(rates.clients[i].id, 0);
}

/* Who is idle, but connected, is not: another user would have its clients. */
static void test_who_is_connected_is_not_forgotten(void **state)
{
    (void)state;
    rates_set(&rates, 1000, now);
    rates_add(&rates, 0, 1, 1000, now);
    now += 5000 * MS;
    rates_add(&rates, 1, 2, 1001, now);
    assert_int_equal(rates.of_port[0]->user->uid, 1000);
    assert_int_equal(rates.of_port[1]->user->uid, 1001);
    assert_int_equal(rates.of_port[0]->user->n_clients, 1);
}

/* rate.R1: what has been accrued before it came is the others'. */
static void test_who_comes_later_has_nothing_yet(void **state)
{
    uint64_t wait;

    (void)state;
    rates_set(&rates, 10000, now);
    rates_add(&rates, 0, 1, 1000, now);
    (void)greedy((const uint32_t[]){ 0 }, 1, 1);
    now += 50 * MS;
    rates_add(&rates, 1, 2, 1000, now);
    assert_int_equal(rates_take(&rates, 1, now, &wait), 0);
    assert_in_range(wait, 1, 20 * MS);
    assert_in_range(greedy((const uint32_t[]){ 0 }, 1, 1), 490, 520);
}

static void test_change_of_rate(void **state)
{
    (void)state;
    rates_set(&rates, 1000, now);
    rates_add(&rates, 0, 1, 1000, now);
    (void)greedy((const uint32_t[]){ 0 }, 1, 1000);
    rates_set(&rates, 100000, now);
    assert_in_range(greedy((const uint32_t[]){ 0 }, 1, 1000), 97000, 112000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_alone_it_has_all, reset),
        cmocka_unit_test_setup(test_a_slow_rate, reset),
        cmocka_unit_test_setup(test_bystander_of_the_same_user, reset),
        cmocka_unit_test_setup(test_two_floods_share, reset),
        cmocka_unit_test_setup(test_reconnecting_brings_nothing, reset),
        cmocka_unit_test_setup(test_users_are_forgotten, reset),
        cmocka_unit_test_setup(test_who_is_connected_is_not_forgotten, reset),
        cmocka_unit_test_setup(test_who_comes_later_has_nothing_yet, reset),
        cmocka_unit_test_setup(test_change_of_rate, reset),
    };

    return cmocka_run_group_tests_name("rate", tests, NULL, NULL);
}
