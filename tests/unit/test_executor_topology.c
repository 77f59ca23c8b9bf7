/* SPDX-License-Identifier: Apache-2.0 */
/* Which CPU a worker gets, on machines that exist only as a description. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/executor/cpu_list.h"
#include "daemon/executor/topology.h"

static hwloc_topology_t make_machine(const char *description)
{
    hwloc_topology_t hwloc;

    assert_int_equal(hwloc_topology_init(&hwloc), 0);
    assert_int_equal(hwloc_topology_set_synthetic(hwloc, description), 0);
    assert_int_equal(hwloc_topology_load(hwloc), 0);
    return hwloc;
}

static void assert_plan(const struct topology_plan *plan, const int *cpus, unsigned n)
{
    assert_int_equal(plan->n_workers, n);
    for (unsigned i = 0; i < n; i++)
        assert_int_equal(plan->cpus[i], cpus[i]);
}

static void test_auto_one_a_core(void **state)
{
    /* Two nodes of four cores, two hardware threads each: workers take the first thread of each core. */
    hwloc_topology_t hwloc = make_machine("numa:2 core:4 pu:2");
    const int first[] = { 0, 2, 4, 6, 8, 10, 12, 14 };
    struct topology_plan plan;
    struct explain explain;

    (void)state;
    assert_int_equal(topology_count_cores(hwloc), 8);
    assert_int_equal(topology_make_plan(hwloc, "auto", 8, &plan, &explain), 0);
    assert_plan(&plan, first, 8);
    assert_false(plan.shared);
    assert_int_equal(topology_make_plan(hwloc, "auto", 3, &plan, &explain), 0);
    assert_plan(&plan, first, 3);
    hwloc_topology_destroy(hwloc);
}

static void test_auto_goes_round(void **state)
{
    hwloc_topology_t hwloc = make_machine("core:2 pu:1");
    const int round[] = { 0, 1, 0, 1, 0 };
    struct topology_plan plan;
    struct explain explain;

    (void)state;
    assert_int_equal(topology_make_plan(hwloc, "auto", 5, &plan, &explain), 0);
    assert_plan(&plan, round, 5);
    assert_true(plan.shared);
    hwloc_topology_destroy(hwloc);
}

/* A core of which only the second thread is allowed counts with that one; a core without any does not count. */
static void test_auto_allowed(void **state)
{
    hwloc_topology_t hwloc = make_machine("core:4 pu:2");
    hwloc_bitmap_t allowed = hwloc_bitmap_alloc();
    const int cpus[] = { 1, 4 };
    struct topology_plan plan;
    struct explain explain;

    (void)state;
    hwloc_bitmap_set(allowed, 1);
    hwloc_bitmap_set(allowed, 4);
    hwloc_bitmap_set(allowed, 5);
    assert_int_equal(hwloc_topology_restrict(hwloc, allowed, 0), 0);
    assert_int_equal(topology_count_cores(hwloc), 2);
    assert_int_equal(topology_make_plan(hwloc, "auto", 2, &plan, &explain), 0);
    assert_plan(&plan, cpus, 2);
    assert_int_equal(topology_make_plan(hwloc, "0", 1, &plan, &explain), -EINVAL);
    assert_non_null(strstr(explain.text, "CPU 0"));
    assert_non_null(strstr(explain.text, "1,4-5"));
    hwloc_bitmap_free(allowed);
    hwloc_topology_destroy(hwloc);
}

static void test_list_and_none(void **state)
{
    hwloc_topology_t hwloc = make_machine("core:4 pu:2");
    const int list[] = { 7, 0, 1, 2, 7 }, none[] = { -1, -1 };
    struct topology_plan plan;
    struct explain explain;

    (void)state;
    assert_int_equal(topology_make_plan(hwloc, "7,0-2", 5, &plan, &explain), 0);
    assert_plan(&plan, list, 5);
    assert_true(plan.shared);
    assert_int_equal(topology_make_plan(hwloc, "none", 2, &plan, &explain), 0);
    assert_plan(&plan, none, 2);
    assert_false(plan.shared);
    assert_int_equal(topology_make_plan(hwloc, "8", 1, &plan, &explain), -EINVAL);
    assert_int_equal(topology_make_plan(hwloc, "auto", 0, &plan, &explain), -ERANGE);
    assert_int_equal(topology_make_plan(hwloc, "auto", ODEON_WORKERS_MAX + 1, &plan, &explain), -ERANGE);
    hwloc_topology_destroy(hwloc);
}

static void test_this_machine(void **state)
{
    struct topology *topology = NULL;
    struct explain explain;
    int cpu;

    (void)state;
    assert_int_equal(topology_new(&topology), 0);
    assert_true(topology_get_cores(topology) >= 1);
    assert_int_equal(topology_plan_workers(topology, "auto", 1, &explain), 0);
    cpu = topology_get_plan(topology)->cpus[0];
    assert_true(cpu >= 0);
    if (topology_bind(topology, 0) == 0) { /* a sandbox may forbid it */
        hwloc_bitmap_t set = hwloc_bitmap_alloc();
        hwloc_topology_t hwloc;

        assert_int_equal(hwloc_topology_init(&hwloc), 0);
        assert_int_equal(hwloc_topology_load(hwloc), 0);
        assert_int_equal(hwloc_get_cpubind(hwloc, set, HWLOC_CPUBIND_THREAD), 0);
        assert_int_equal(hwloc_bitmap_weight(set), 1);
        assert_true(hwloc_bitmap_isset(set, (unsigned)cpu));
        hwloc_topology_destroy(hwloc);
        hwloc_bitmap_free(set);
    }
    assert_int_equal(topology_bind(topology, 1000), 0); /* no such worker: nothing to bind */
    topology_free(topology);
}

static void test_cpu_list(void **state)
{
    struct cpu_list list;

    (void)state;
    assert_int_equal(cpu_list_parse("5", &list), 0);
    assert_int_equal(list.n, 1);
    assert_int_equal(cpu_list_parse("3,0-1", &list), 0);
    assert_int_equal(list.n, 3);
    assert_int_equal(list.cpus[0], 3);
    assert_int_equal(list.cpus[2], 1);
    assert_int_equal(cpu_list_parse("0-127", &list), 0);
    assert_int_equal(list.n, 128);
    assert_int_equal(cpu_list_parse("0-128", &list), -E2BIG);
    assert_int_equal(cpu_list_parse("8192", &list), -ERANGE);
    assert_int_equal(cpu_list_parse("", &list), -EINVAL);
    assert_int_equal(cpu_list_parse("1-", &list), -EINVAL);
    assert_int_equal(cpu_list_parse("+1", &list), -EINVAL);
    assert_int_equal(cpu_list_parse("1 ", &list), -EINVAL);
    assert_int_equal(cpu_list_parse("0-2,1", &list), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_auto_one_a_core), cmocka_unit_test(test_auto_goes_round),
        cmocka_unit_test(test_auto_allowed),    cmocka_unit_test(test_list_and_none),
        cmocka_unit_test(test_this_machine),    cmocka_unit_test(test_cpu_list),
    };

    return cmocka_run_group_tests_name("executor topology", tests, NULL, NULL);
}
