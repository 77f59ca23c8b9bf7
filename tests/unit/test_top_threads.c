/* SPDX-License-Identifier: Apache-2.0 */
/* How much of a processor workers take, of this process' own threads, which are called like
 * some. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "client-lib/ctl/top/threads.h"

static struct threads threads;
static atomic_bool is_over;
static atomic_int n_named;

static void *busy(void *name)
{
    pthread_setname_np(pthread_self(), name);
    atomic_fetch_add(&n_named, 1);
    while (!atomic_load(&is_over))
        ;
    return NULL;
}

static void *idle(void *name)
{
    pthread_setname_np(pthread_self(), name);
    atomic_fetch_add(&n_named, 1);
    while (!atomic_load(&is_over))
        usleep(10000);
    return NULL;
}

static void test_workers_are_known_by_their_names(void **state)
{
    pthread_t one, other;
    double shares[3];

    (void)state;
    assert_int_equal(pthread_create(&one, NULL, busy, (void *)"worker/1"), 0);
    assert_int_equal(pthread_create(&other, NULL, idle, (void *)"worker/2"), 0);
    while (atomic_load(&n_named) < 2)
        usleep(1000);
    threads_look(&threads, getpid(), shares, 3);
    assert_true(isnan(shares[0]) && isnan(shares[1]) && isnan(shares[2])); /* since when? */
    do {
        usleep(20000);
        threads_look(&threads, getpid(), shares, 3);
    } while (!(shares[1] > shares[2])); /* on a machine that is busy it may take a while */
    assert_true(isnan(shares[0]));
    assert_true(shares[1] <= 1);
    /* another process, and none */
    threads_look(&threads, getppid(), shares, 3);
    assert_true(isnan(shares[1]));
    threads_look(&threads, 0, shares, 3);
    assert_true(isnan(shares[1]));
    threads_look(&threads, getpid(), shares, 3);
    assert_true(isnan(shares[1]));
    atomic_store(&is_over, true);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_workers_are_known_by_their_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
