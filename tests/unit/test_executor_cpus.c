/* SPDX-License-Identifier: Apache-2.0 */
/* CPUs that the service gets while it runs, on this machine: those that the control thread may run
 * on, as in a cpuset. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "daemon/executor/topology.h"

static cpu_set_t all_cpus; /* this process's, as it was */

static void control_runs_on(const cpu_set_t *cpus)
{
    assert_int_equal(sched_setaffinity(0, sizeof(*cpus), cpus), 0);
}

static int keep_cpus(void **state)
{
    (void)state;
    return sched_getaffinity(0, sizeof(all_cpus), &all_cpus);
}

static int restore_cpus(void **state)
{
    (void)state;
    control_runs_on(&all_cpus);
    return 0;
}

/* As a cpuset does, whose CPUs are those that its threads may run on: the first two of them, and
 * the first alone.  Skips where there is one. */
static void two_cpus(cpu_set_t *ret_both, cpu_set_t *ret_one, int *ret_first, int *ret_second)
{
    *ret_first = *ret_second = -1;
    CPU_ZERO(ret_both);
    CPU_ZERO(ret_one);
    for (int cpu = 0; cpu < CPU_SETSIZE && *ret_second < 0; cpu++) {
        if (!CPU_ISSET((size_t)cpu, &all_cpus))
            continue;
        CPU_SET((size_t)cpu, ret_both);
        if (*ret_first >= 0) {
            *ret_second = cpu;
        } else {
            *ret_first = cpu;
            CPU_SET((size_t)cpu, ret_one);
        }
    }
    if (*ret_second < 0)
        skip();
}

static struct topology *topology_for(const struct topology_request *request)
{
    struct topology *topology = NULL;
    struct explain explain;

    explain_init(&explain);
    assert_int_equal(topology_new(&topology), 0);
    assert_int_equal(topology_plan_workers(topology, request, &explain), 0);
    return topology;
}

/* A start with one CPU, and with a request for two workers; then the other one comes. */
static struct topology *topology_that_grows(const struct topology_request *request,
                                            const cpu_set_t *one, const cpu_set_t *both)
{
    struct topology *topology;

    control_runs_on(one);
    topology = topology_for(request);
    control_runs_on(both);
    return topology;
}

/* topology.T2: also where the machine was looked at without it, with smt, so that two hardware
 * threads of one core will do. */
static void test_cpu_comes_later(void **state)
{
    const struct topology_request request = { .affinity = "auto", .smt = true, .n_workers = 2 };
    int first, second;
    cpu_set_t both, one;
    struct topology *topology;

    (void)state;
    two_cpus(&both, &one, &first, &second);
    topology = topology_that_grows(&request, &one, &both);
    assert_int_equal(topology_get_plan(topology)->cpus[0], first);
    assert_int_equal(topology_get_plan(topology)->cpus[1], first);
    assert_int_equal(topology_refresh(topology), 1);
    assert_int_equal(topology_get_plan(topology)->cpus[0] + topology_get_plan(topology)->cpus[1],
                     first + second);
    assert_int_equal(topology_refresh(topology), 0);
    /* and away, and here again */
    control_runs_on(&one);
    assert_int_equal(topology_refresh(topology), 1);
    control_runs_on(&both);
    assert_int_equal(topology_refresh(topology), 1);
    topology_free(topology);
}

/* ... nor is it refused to whoever asks for it. */
static void test_cpu_that_came_is_known(void **state)
{
    struct topology_request request = { .affinity = "auto", .n_workers = 1 };
    int first, second;
    cpu_set_t both, one;
    char list[16];
    struct topology *topology;
    struct explain explain;

    (void)state;
    two_cpus(&both, &one, &first, &second);
    topology = topology_that_grows(&request, &one, &both);
    (void)topology_refresh(topology);
    snprintf(list, sizeof(list), "%d", second);
    request.affinity = list;
    explain_init(&explain);
    assert_int_equal(topology_plan_workers(topology, &request, &explain), 0);
    assert_int_equal(topology_get_plan(topology)->cpus[0], second);
    topology_free(topology);
}

struct unbound {
    struct topology *topology;
    unsigned worker;
    pthread_barrier_t barrier;
    cpu_set_t allowed;
};

static void *unbound_main(void *argument)
{
    struct unbound *unbound = argument;

    assert_int_equal(topology_bind(unbound->topology, unbound->worker), 0);
    pthread_barrier_wait(&unbound->barrier);
    pthread_barrier_wait(&unbound->barrier); /* meanwhile it is refreshed */
    assert_int_equal(sched_getaffinity(0, sizeof(unbound->allowed), &unbound->allowed), 0);
    return NULL;
}

/* One that begins while the service has one CPU, and is there when it has two. */
static void expect_goes_anywhere(const char *affinity, unsigned worker)
{
    struct topology_request request = { .affinity = affinity, .n_workers = 1 };
    struct unbound unbound = { .worker = worker };
    int first, second;
    cpu_set_t both, one;
    pthread_t thread;

    two_cpus(&both, &one, &first, &second);
    unbound.topology = topology_that_grows(&request, &one, &both);
    control_runs_on(&one);
    pthread_barrier_init(&unbound.barrier, NULL, 2);
    assert_int_equal(pthread_create(&thread, NULL, unbound_main, &unbound), 0);
    pthread_barrier_wait(&unbound.barrier);
    control_runs_on(&both);
    (void)topology_refresh(unbound.topology);
    pthread_barrier_wait(&unbound.barrier);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_barrier_destroy(&unbound.barrier);
    assert_memory_equal(&unbound.allowed, &both, sizeof(both));
    topology_free(unbound.topology);
}

static void test_unbound_worker_goes_anywhere(void **state)
{
    (void)state;
    expect_goes_anywhere("none", 0);
}

static void test_detached_goes_anywhere(void **state)
{
    (void)state;
    expect_goes_anywhere("auto", 1);
}

/* Another plan binds those who are there at once: nobody has to tell them. */
static void test_plan_binds(void **state)
{
    struct topology_request request = { .affinity = "none", .n_workers = 1 };
    struct unbound unbound = { .topology = topology_for(&request) };
    char list[16];
    struct explain explain;
    pthread_t thread;
    int cpu;

    (void)state;
    for (cpu = 0; !CPU_ISSET((size_t)cpu, &all_cpus); cpu++)
        ;
    snprintf(list, sizeof(list), "%d", cpu);
    request.affinity = list;
    pthread_barrier_init(&unbound.barrier, NULL, 2);
    assert_int_equal(pthread_create(&thread, NULL, unbound_main, &unbound), 0);
    pthread_barrier_wait(&unbound.barrier);
    explain_init(&explain);
    assert_int_equal(topology_plan_workers(unbound.topology, &request, &explain), 0);
    pthread_barrier_wait(&unbound.barrier);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_barrier_destroy(&unbound.barrier);
    assert_int_equal(CPU_COUNT(&unbound.allowed), 1);
    assert_true(CPU_ISSET((size_t)cpu, &unbound.allowed));
    topology_free(unbound.topology);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_cpu_comes_later, keep_cpus, restore_cpus),
        cmocka_unit_test_setup_teardown(test_cpu_that_came_is_known, keep_cpus, restore_cpus),
        cmocka_unit_test_setup_teardown(test_unbound_worker_goes_anywhere, keep_cpus, restore_cpus),
        cmocka_unit_test_setup_teardown(test_detached_goes_anywhere, keep_cpus, restore_cpus),
        cmocka_unit_test_setup_teardown(test_plan_binds, keep_cpus, restore_cpus),
    };

    return cmocka_run_group_tests_name("executor cpus", tests, NULL, NULL);
}
