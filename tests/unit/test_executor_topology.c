/* SPDX-License-Identifier: Apache-2.0 */
/* Where workers run and memory lies, on machines that exist only as a description, and a little on
 * this one. */
#include <errno.h>
#include <linux/mempolicy.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/engine/engine.h"
#include "daemon/executor/cpu_list.h"
#include "daemon/executor/topology.h"
#include "daemon/executor/topology_private.h"

/* Loaded with what topology_new() keeps. */
static hwloc_topology_t load_machine(hwloc_topology_t hwloc)
{
    assert_int_equal(hwloc_topology_load(hwloc), 0);
    return hwloc;
}

static hwloc_topology_t make_machine(const char *description)
{
    hwloc_topology_t hwloc;

    assert_int_equal(hwloc_topology_init(&hwloc), 0);
    assert_int_equal(hwloc_topology_set_synthetic(hwloc, description), 0);
    return load_machine(hwloc);
}

static hwloc_topology_t read_machine(const char *name)
{
    hwloc_topology_t hwloc;
    char path[512];

    snprintf(path, sizeof(path), "%s/%s", MACHINES, name);
    assert_int_equal(hwloc_topology_init(&hwloc), 0);
    assert_int_equal(hwloc_topology_set_xml(hwloc, path), 0);
    return load_machine(hwloc);
}

static void restrict_machine(hwloc_topology_t hwloc, const char *cpus)
{
    hwloc_bitmap_t allowed = hwloc_bitmap_alloc();

    assert_int_equal(hwloc_bitmap_list_sscanf(allowed, cpus), 0);
    assert_int_equal(hwloc_topology_restrict(hwloc, allowed, 0), 0);
    hwloc_bitmap_free(allowed);
}

static uint8_t distances_now[64 * 64]; /* of the plan that was made last */

static void make_plan(hwloc_topology_t hwloc, const char *affinity, bool smt, unsigned n,
                      struct topology_plan *plan)
{
    const struct topology_request request = { .affinity = affinity, .smt = smt, .n_workers = n };
    struct explain explain;

    explain_init(&explain);
    if (topology_make_plan(hwloc, &request, plan, &explain) != 0)
        fail_msg("%s", explain.text);
    assert_int_equal(plan->n_workers, n);
    assert_true(n <= 64);
    topology_plan_get_distances(hwloc, plan, distances_now);
}

static void refuse_plan(hwloc_topology_t hwloc, const char *affinity, unsigned n, int error,
                        const char *part)
{
    const struct topology_request request = { .affinity = affinity, .n_workers = n };
    struct topology_plan plan;
    struct explain explain;

    explain_init(&explain);
    assert_int_equal(topology_make_plan(hwloc, &request, &plan, &explain), error);
    if (!strstr(explain.text, part))
        fail_msg("'%s' is missing in: %s", part, explain.text);
}

static void assert_cpus(const struct topology_plan *plan, const int *cpus)
{
    for (unsigned i = 0; i < plan->n_workers; i++)
        if (plan->cpus[i] != cpus[i])
            fail_msg("worker %u: CPU %d instead of %d", i, plan->cpus[i], cpus[i]);
}

static void assert_nodes(const struct topology_plan *plan, const int *nodes)
{
    for (unsigned i = 0; i < plan->n_workers; i++)
        if (plan->nodes[i] != nodes[i])
            fail_msg("worker %u: node %d instead of %d", i, plan->nodes[i], nodes[i]);
}

static void assert_distance(const struct topology_plan *plan, unsigned i, unsigned j,
                            enum engine_distance expected)
{
    if (distances_now[i * plan->n_workers + j] != expected)
        fail_msg("workers %u and %u: distance %u instead of %u", i, j,
                 distances_now[i * plan->n_workers + j], (unsigned)expected);
}

/* One letter a pair, a line a worker: Self, Core, 2, 3, Node, Machine. */
static void assert_distances(const struct topology_plan *plan, const char *const *lines)
{
    static const char letters[DISTANCE_N + 1] = "SC23NM";

    for (unsigned i = 0; i < plan->n_workers; i++) {
        assert_int_equal(strlen(lines[i]), plan->n_workers);
        for (unsigned j = 0; j < plan->n_workers; j++)
            assert_distance(plan, i, j,
                            (enum engine_distance)(strchr(letters, lines[i][j]) - letters));
    }
}

/* The machine of the locality thesis (figure 6.1): four packages of two nodes; eight cores share
 * the L3 cache of a node, two cores one L2 cache. */
#define LADDER "pack:4 numa:2 l3:1 l2:4 core:2 pu:1"

static enum engine_distance ladder_distance(unsigned a, unsigned b)
{
    return a == b           ? DISTANCE_SELF
           : a / 2 == b / 2 ? DISTANCE_L2
           : a / 8 == b / 8 ? DISTANCE_L3
                            : DISTANCE_MACHINE;
}

static void test_ladder(void **state)
{
    hwloc_topology_t hwloc = make_machine(LADDER);
    struct topology_plan plan;

    (void)state;
    assert_int_equal(topology_count_cores(hwloc), 64);
    assert_int_equal(topology_count_threads(hwloc), 64);
    make_plan(hwloc, "auto", false, 64, &plan);
    assert_int_equal(plan.n_cpus, 64);
    for (unsigned i = 0; i < 64; i++) {
        assert_int_equal(plan.cpus[i], i);
        assert_int_equal(plan.nodes[i], i / 8);
        for (unsigned j = 0; j < 64; j++)
            assert_distance(&plan, i, j, ladder_distance(i, j));
    }
    hwloc_topology_destroy(hwloc);
}

/* What a thief of the thesis sees: one neighbour, then six in the node, then 56. */
static void test_ladder_groups(void **state)
{
    hwloc_topology_t hwloc = make_machine(LADDER);
    struct topology_plan plan;

    (void)state;
    make_plan(hwloc, "auto", false, 64, &plan);
    for (unsigned i = 0; i < 64; i++) {
        unsigned groups[DISTANCE_N] = { 0 };

        for (unsigned j = 0; j < 64; j++)
            groups[distances_now[i * 64 + j]]++;
        assert_int_equal(groups[DISTANCE_SELF], 1);
        assert_int_equal(groups[DISTANCE_CORE], 0);
        assert_int_equal(groups[DISTANCE_L2], 1);
        assert_int_equal(groups[DISTANCE_L3], 6);
        assert_int_equal(groups[DISTANCE_NODE], 0);
        assert_int_equal(groups[DISTANCE_MACHINE], 56);
    }
    hwloc_topology_destroy(hwloc);
}

/* Workers that come later find their place, too: planned for more than run, and beyond the
 * cores. */
static void test_more_workers_than_cores(void **state)
{
    hwloc_topology_t hwloc = make_machine("core:2 pu:1");
    const int cpus[] = { 0, 1, 0, 1, 0 }, nodes[] = { 0, 0, 0, 0, 0 };
    const char *const distances[] = { "SNCNC", "NSNCN", "CNSNC", "NCNSN", "CNCNS" };
    struct topology_plan plan;

    (void)state;
    make_plan(hwloc, "auto", false, 5, &plan);
    assert_int_equal(plan.n_cpus, 2);
    assert_cpus(&plan, cpus);
    assert_nodes(&plan, nodes);
    assert_distances(&plan, distances);
    hwloc_topology_destroy(hwloc);
}

/* Two sockets, two cores each, two threads a core. */
static void test_smt(void **state)
{
    hwloc_topology_t hwloc = make_machine("pack:2 numa:1 l3:1 core:2 l2:1 pu:2");
    const int cores[] = { 0, 2, 4, 6, 0 }, core_nodes[] = { 0, 0, 1, 1, 0 };
    const char *const core_distances[] = { "S3MMC", "3SMM3", "MMS3M", "MM3SM", "C3MMS" };
    /* First one thread of every core, then the siblings. */
    const int threads[] = { 0, 2, 4, 6, 1, 3, 5, 7 }, thread_nodes[] = { 0, 0, 1, 1, 0, 0, 1, 1 };
    const char *const thread_distances[] = { "S3MMC3MM", "3SMM3CMM", "MMS3MMC3", "MM3SMM3C",
                                             "C3MMS3MM", "3CMM3SMM", "MMC3MMS3", "MM3CMM3S" };
    struct topology_plan plan;

    (void)state;
    assert_int_equal(topology_count_cores(hwloc), 4);
    assert_int_equal(topology_count_threads(hwloc), 8);
    make_plan(hwloc, "auto", false, 5, &plan);
    assert_int_equal(plan.n_cpus, 4);
    assert_cpus(&plan, cores);
    assert_nodes(&plan, core_nodes);
    assert_distances(&plan, core_distances);
    make_plan(hwloc, "auto", true, 8, &plan);
    assert_int_equal(plan.n_cpus, 8);
    assert_cpus(&plan, threads);
    assert_nodes(&plan, thread_nodes);
    assert_distances(&plan, thread_distances);
    hwloc_topology_destroy(hwloc);
}

static void test_no_l3(void **state)
{
    hwloc_topology_t hwloc = make_machine("numa:1 l2:2 core:2 pu:1");
    const int cpus[] = { 0, 1, 2, 3 }, nodes[] = { 0, 0, 0, 0 };
    const char *const distances[] = { "S2NN", "2SNN", "NNS2", "NN2S" };
    struct topology_plan plan;

    (void)state;
    make_plan(hwloc, "auto", false, 4, &plan);
    assert_cpus(&plan, cpus);
    assert_nodes(&plan, nodes);
    assert_distances(&plan, distances);
    hwloc_topology_destroy(hwloc);
}

/* A cpuset that leaves out node 1 of three, and one thread of two in the others. */
static void test_restricted(void **state)
{
    hwloc_topology_t hwloc = make_machine("numa:3 core:2 pu:2");
    const int cpus[] = { 1, 3, 8, 10 }, nodes[] = { 0, 0, 2, 2 };
    const int with_smt[] = { 1, 3, 8, 10, 11 };
    const char *const distances[] = { "SNMM", "NSMM", "MMSN", "MMNS" };
    struct topology_plan plan;

    (void)state;
    restrict_machine(hwloc, "1,3,8,10-11");
    assert_int_equal(topology_count_cores(hwloc), 4);
    assert_int_equal(topology_count_threads(hwloc), 5);
    make_plan(hwloc, "auto", false, 4, &plan);
    assert_cpus(&plan, cpus);
    assert_nodes(&plan, nodes);
    assert_distances(&plan, distances);
    make_plan(hwloc, "auto", true, 5, &plan);
    assert_cpus(&plan, with_smt);
    refuse_plan(hwloc, "0", 1, -EINVAL, "CPU 0");
    refuse_plan(hwloc, "8,5", 2, -EINVAL, "1,3,8,10-11");
    hwloc_topology_destroy(hwloc);
}

static void test_list_across_nodes(void **state)
{
    hwloc_topology_t hwloc = make_machine("numa:2 l3:1 core:2 pu:2");
    const int cpus[] = { 7, 0, 1, 2, 7 }, nodes[] = { 1, 0, 0, 0, 1 };
    const char *const distances[] = { "SMMMC", "MSC3M", "MCS3M", "M33SM", "CMMMS" };
    struct topology_plan plan;

    (void)state;
    make_plan(hwloc, "7,0-2", false, 5, &plan);
    assert_int_equal(plan.n_cpus, 4);
    assert_cpus(&plan, cpus);
    assert_nodes(&plan, nodes);
    assert_distances(&plan, distances);
    refuse_plan(hwloc, "8", 1, -EINVAL, "CPU 8");
    refuse_plan(hwloc, "auto", 0, -ERANGE, "out of range");
    refuse_plan(hwloc, "auto", ODEON_WORKERS_MAX + 1, -ERANGE, "out of range");
    refuse_plan(hwloc, "1,1", 1, -EINVAL, "list of CPUs");
    hwloc_topology_destroy(hwloc);
}

/* Who is not bound is somewhere on the machine. */
static void test_unbound(void **state)
{
    hwloc_topology_t one = make_machine("core:4 pu:1"), two = make_machine("numa:2 core:2 pu:1");
    const int none[] = { -1, -1 };
    const char *const near[] = { "SN", "NS" }, *const far[] = { "SM", "MS" };
    struct topology_plan plan;

    (void)state;
    make_plan(one, "none", false, 2, &plan);
    assert_int_equal(plan.n_cpus, 0);
    assert_cpus(&plan, none);
    assert_nodes(&plan, none);
    assert_distances(&plan, near);
    make_plan(two, "none", false, 2, &plan);
    assert_distances(&plan, far);
    hwloc_topology_destroy(one);
    hwloc_topology_destroy(two);
}

/* Four nodes of two cores with two threads, and a fifth that has memory only; described by a real
 * kernel, where hwloc shows the fifth with the processors of the first. */
static void test_memory_only(void **state)
{
    hwloc_topology_t hwloc = read_machine("4x2x2+memory.xml");
    const int cpus[] = { 0, 2, 4, 6, 8, 10, 12, 14 }, nodes[] = { 0, 0, 1, 1, 2, 2, 3, 3 };
    const char *const distances[] = { "S3MMMMMM", "3SMMMMMM", "MMS3MMMM", "MM3SMMMM",
                                      "MMMMS3MM", "MMMM3SMM", "MMMMMMS3", "MMMMMM3S" };
    struct topology_plan plan;
    hwloc_obj_t node = NULL;
    unsigned bare = 0;

    (void)state;
    assert_int_equal(hwloc_get_nbobjs_by_type(hwloc, HWLOC_OBJ_NUMANODE), 5);
    make_plan(hwloc, "auto", false, 8, &plan);
    assert_cpus(&plan, cpus);
    assert_nodes(&plan, nodes);
    assert_distances(&plan, distances);
    while ((node = hwloc_get_next_obj_by_type(hwloc, HWLOC_OBJ_NUMANODE, node))) {
        if (topology_node_has_cpus(hwloc, node))
            continue;
        assert_int_equal(node->os_index, 4);
        assert_true(hwloc_bitmap_isset(node->cpuset, 0)); /* or this test shows nothing */
        bare++;
    }
    assert_int_equal(bare, 1);
    hwloc_topology_destroy(hwloc);
}

static void replan(hwloc_topology_t hwloc, const struct topology_plan *wish, const char *usable,
                   unsigned moved, struct topology_plan *plan)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();

    assert_int_equal(hwloc_bitmap_list_sscanf(set, usable), 0);
    assert_int_equal(topology_replan(hwloc, wish, set, plan), moved);
    topology_plan_get_distances(hwloc, plan, distances_now);
    hwloc_bitmap_free(set);
}

static void test_replan(void **state)
{
    hwloc_topology_t hwloc = make_machine("numa:2 l3:1 core:3 pu:1");
    const int one_gone[] = { 0, 0, 2, 3, 4, 5 }, node_gone[] = { 0, 1, 2, 0, 1, 2 };
    const int node_of_gone[] = { 0, 0, 0, 0, 0, 0 }, nobody[] = { -1, -1, -1, -1, -1, -1 };
    const char *const one_distances[] = {
        "SC3MMM", "CS3MMM", "33SMMM", "MMMS33", "MMM3S3", "MMM33S"
    };
    struct topology_plan wish, plan;

    (void)state;
    make_plan(hwloc, "auto", false, 6, &wish);
    replan(hwloc, &wish, "0-5", 0, &plan);
    assert_memory_equal(&plan, &wish, sizeof(plan));
    /* Only who has lost a CPU moves, and stays on its node if it can. */
    replan(hwloc, &wish, "0,2-5", 1, &plan);
    assert_cpus(&plan, one_gone);
    assert_distances(&plan, one_distances);
    replan(hwloc, &wish, "3-5", 3, &plan);
    assert_int_equal(plan.nodes[0], 1);
    replan(hwloc, &wish, "0-2", 3, &plan);
    assert_cpus(&plan, node_gone);
    assert_nodes(&plan, node_of_gone);
    /* A CPU that the configuration does not name is no way out. */
    make_plan(hwloc, "0-2", false, 6, &wish);
    replan(hwloc, &wish, "3-5", 6, &plan);
    assert_cpus(&plan, nobody);
    assert_nodes(&plan, nobody);
    hwloc_topology_destroy(hwloc);
}

/* A CPU that the executor before this one could use: planned for, and replaced until it is back. */
static void test_restart_without_a_cpu(void **state)
{
    hwloc_topology_t hwloc = make_machine("numa:2 core:2 pu:1");
    const struct topology_request request = { .affinity = "3,9", .n_workers = 3, .restart = true };
    const int wished[] = { 3, 9, 3 }, wished_nodes[] = { 1, -1, 1 }, now[] = { 3, 3, 3 },
              now_nodes[] = { 1, 1, 1 };
    struct topology_plan wish, plan;
    struct explain explain;

    (void)state;
    refuse_plan(hwloc, "3,9", 3, -EINVAL, "CPU 9");
    explain_init(&explain);
    assert_int_equal(topology_make_plan(hwloc, &request, &wish, &explain), 0);
    assert_cpus(&wish, wished);
    assert_nodes(&wish, wished_nodes);
    replan(hwloc, &wish, "0-3", 1, &plan);
    assert_cpus(&plan, now);
    assert_nodes(&plan, now_nodes);
    hwloc_topology_destroy(hwloc);
}

static struct topology *this_machine(const char *affinity)
{
    const struct topology_request request = { .affinity = affinity, .n_workers = 1 };
    struct topology *topology = NULL;
    struct explain explain;

    explain_init(&explain);
    assert_int_equal(topology_new(&topology), 0);
    assert_int_equal(topology_plan_workers(topology, &request, &explain), 0);
    return topology;
}

static bool bound_only_to(int cpu)
{
    cpu_set_t set;

    assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
    return CPU_COUNT(&set) == 1 && CPU_ISSET((size_t)cpu, &set);
}

static void *worker_main(void *argument)
{
    struct topology *topology = argument;
    int cpu = topology_get_plan(topology)->cpus[0];
    cpu_set_t all;

    assert_true(cpu >= 0);
    assert_int_equal(topology_bind(topology, 0), 0);
    assert_true(bound_only_to(cpu));
    /* As the kernel does when the CPU goes or the cpuset changes. */
    CPU_ZERO(&all);
    for (size_t i = 0; i < CPU_SETSIZE; i++)
        CPU_SET(i, &all);
    assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
    return NULL;
}

/* On a thread of its own, as workers do: the control thread must stay unbound. */
static void test_this_machine(void **state)
{
    struct topology *topology = this_machine("auto");
    pthread_t thread;

    (void)state;
    assert_true(topology_get_cores(topology) >= 1);
    assert_true(topology_get_threads(topology) >= topology_get_cores(topology));
    assert_int_equal(pthread_create(&thread, NULL, worker_main, topology), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    /* the thread is no more: nothing to bind, no mistake either */
    assert_int_equal(topology_refresh(topology), 0);
    assert_int_equal(topology_bind(topology, 1000), 0); /* no such number: nothing to bind */
    topology_free(topology);
}

static void *detached_main(void *argument)
{
    cpu_set_t all, now;

    assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
    assert_int_equal(topology_bind(argument, 0), 0);
    assert_int_equal(topology_bind(argument, 1), 0); /* one worker is planned for */
    assert_int_equal(sched_getaffinity(0, sizeof(now), &now), 0);
    assert_memory_equal(&now, &all, sizeof(now));
    return NULL;
}

/* A thread for blocking handlers may have been made by a worker, and does not share its CPU for
 * that. */
static void test_detached_runs_anywhere(void **state)
{
    struct topology *topology = this_machine("auto");
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, detached_main, topology), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    topology_free(topology);
}

static void *unbindable_main(void *argument)
{
    cpu_set_t before, after;

    assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
    assert_true(topology_bind(argument, 0) < 0);
    assert_int_equal(sched_getaffinity(0, sizeof(after), &after), 0);
    assert_memory_equal(&before, &after, sizeof(before));
    return NULL;
}

/* A CPU that went away between plan and start: said, and the thread is as it was. */
static void test_bind_fails(void **state)
{
    struct topology *topology = this_machine("auto");
    pthread_t thread;

    (void)state;
    topology->plan.cpus[0] = CPU_SETSIZE - 1;
    assert_int_equal(pthread_create(&thread, NULL, unbindable_main, topology), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    topology_free(topology);
}

struct held {
    struct topology *topology;
    pthread_barrier_t barrier;
};

static void *held_main(void *argument)
{
    struct held *held = argument;
    int cpu = topology_get_plan(held->topology)->cpus[0];

    worker_main(held->topology);
    pthread_barrier_wait(&held->barrier);
    pthread_barrier_wait(&held->barrier); /* meanwhile it is refreshed */
    assert_true(bound_only_to(cpu));
    return NULL;
}

static void test_refresh_binds_again(void **state)
{
    struct held held = { .topology = this_machine("auto") };
    pthread_t thread;

    (void)state;
    pthread_barrier_init(&held.barrier, NULL, 2);
    assert_int_equal(pthread_create(&thread, NULL, held_main, &held), 0);
    pthread_barrier_wait(&held.barrier);
    assert_int_equal(topology_refresh(held.topology), 0);
    pthread_barrier_wait(&held.barrier);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_barrier_destroy(&held.barrier);
    topology_free(held.topology);
}

/* Newer kernels and hwloc say a preference for one node as one for many. */
#define PREFERRED_MANY 5

static void assert_policy(void *address, int policy, unsigned long nodes)
{
    unsigned long mask[16] = { 0 };
    int mode = -1;

    assert_int_equal(
        syscall(SYS_get_mempolicy, &mode, mask, sizeof(mask) * 8, address, MPOL_F_ADDR), 0);
    assert_int_equal(mode == PREFERRED_MANY ? MPOL_PREFERRED : mode, policy);
    assert_int_equal(mask[0], nodes);
}

/* What the kernel was told, on a shared mapping of which nothing is touched. */
static void test_memory(void **state)
{
    struct topology *topology = this_machine("auto");
    int node = topology_get_plan(topology)->nodes[0], fd = memfd_create("window", MFD_CLOEXEC);
    size_t bytes = (size_t)1 << 34;
    void *window;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
    window = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    assert_true(window != MAP_FAILED);
    topology_set_memory(topology, MEMORY_LOCAL);
    if (node < 0 || node > 63 || topology_bind_memory(topology, window, bytes, node) == -EPERM) {
        print_message("this kernel or sandbox does not bind memory\n");
        goto out;
    }
    assert_policy(window, MPOL_PREFERRED, 1ul << node);
    topology_set_memory(topology, MEMORY_INTERLEAVE);
    assert_int_equal(topology_bind_memory(topology, window, bytes, -1), 0);
    assert_policy(window, MPOL_INTERLEAVE, 1ul << node);
    /* The file remembers: the next run must be able to take it back. */
    topology_set_memory(topology, MEMORY_FIRST_TOUCH);
    assert_int_equal(topology_bind_memory(topology, window, bytes, node), 0);
    assert_policy(window, MPOL_DEFAULT, 0);
    topology_set_memory(topology, MEMORY_LOCAL);
    assert_int_equal(topology_bind_memory(topology, window, bytes, -1), 0);
    assert_policy(window, MPOL_DEFAULT, 0);
    assert_int_equal(
        topology_bind_memory(topology, (char *)window + bytes + (1 << 30), 1 << 20, node) < 0, 1);
out:
    munmap(window, bytes);
    close(fd);
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
    assert_int_equal(cpu_list_parse("0-1151", &list), 0);
    assert_int_equal(list.n, 1152);
    assert_int_equal(cpu_list_parse("0-1152", &list), -E2BIG);
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
        cmocka_unit_test(test_ladder),
        cmocka_unit_test(test_ladder_groups),
        cmocka_unit_test(test_more_workers_than_cores),
        cmocka_unit_test(test_smt),
        cmocka_unit_test(test_no_l3),
        cmocka_unit_test(test_restricted),
        cmocka_unit_test(test_list_across_nodes),
        cmocka_unit_test(test_unbound),
        cmocka_unit_test(test_memory_only),
        cmocka_unit_test(test_replan),
        cmocka_unit_test(test_restart_without_a_cpu),
        cmocka_unit_test(test_this_machine),
        cmocka_unit_test(test_detached_runs_anywhere),
        cmocka_unit_test(test_bind_fails),
        cmocka_unit_test(test_refresh_binds_again),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_cpu_list),
    };

    return cmocka_run_group_tests_name("executor topology", tests, NULL, NULL);
}
