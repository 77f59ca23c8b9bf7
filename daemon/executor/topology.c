/* SPDX-License-Identifier: Apache-2.0 */
/* See topology.h. */
#include "daemon/executor/topology.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/executor/cpu_list.h"

struct topology {
    hwloc_topology_t hwloc;
    struct topology_plan plan;
};

/* The first allowed CPU of the core, -1: it has none.  By logical order, which keeps neighbours together. */
static int core_first_cpu(hwloc_topology_t hwloc, hwloc_obj_t core)
{
    hwloc_const_bitmap_t allowed = hwloc_topology_get_allowed_cpuset(hwloc);
    int n = hwloc_get_nbobjs_inside_cpuset_by_type(hwloc, core->cpuset, HWLOC_OBJ_PU);

    for (int i = 0; i < n; i++) {
        hwloc_obj_t pu = hwloc_get_obj_inside_cpuset_by_type(hwloc, core->cpuset, HWLOC_OBJ_PU, (unsigned)i);

        if (pu && hwloc_bitmap_isset(allowed, pu->os_index))
            return (int)pu->os_index;
    }
    return -1;
}

/* CPUs in the order of "auto"; machines of which hwloc knows no cores are taken CPU by CPU. */
static unsigned topology_list_cores(hwloc_topology_t hwloc, int *cpus, unsigned room)
{
    hwloc_obj_type_t type = hwloc_get_nbobjs_by_type(hwloc, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
    unsigned n = 0;

    for (hwloc_obj_t core = hwloc_get_next_obj_by_type(hwloc, type, NULL); core;
         core = hwloc_get_next_obj_by_type(hwloc, type, core)) {
        int cpu = core_first_cpu(hwloc, core);

        if (cpu < 0)
            continue;
        if (n < room)
            cpus[n] = cpu;
        n++;
    }
    return n;
}

unsigned topology_count_cores(hwloc_topology_t hwloc)
{
    unsigned n = topology_list_cores(hwloc, NULL, 0);

    return n > 0 ? n : 1;
}

static int topology_check_list(hwloc_topology_t hwloc, const struct cpu_list *list, struct explain *explain)
{
    hwloc_const_bitmap_t allowed = hwloc_topology_get_allowed_cpuset(hwloc);
    char *text = NULL;

    for (unsigned i = 0; i < list->n; i++) {
        if (hwloc_bitmap_isset(allowed, (unsigned)list->cpus[i]))
            continue;
        if (hwloc_bitmap_list_asprintf(&text, allowed) < 0)
            text = NULL;
        explain_set(explain, -EINVAL,
                    "setting affinity: CPU %d is not there or the service may not use it: allowed are %s",
                    list->cpus[i], text ? text : "unknown");
        free(text);
        return -EINVAL;
    }
    return 0;
}

int topology_make_plan(hwloc_topology_t hwloc, const char *affinity, unsigned n_workers, struct topology_plan *ret_plan,
                       struct explain *explain)
{
    struct topology_plan plan = { .n_workers = n_workers };
    struct cpu_list list = { .n = 0 };
    int r;

    if (n_workers < 1 || n_workers > ODEON_WORKERS_MAX)
        return explain_set(explain, -ERANGE, "%u workers are out of range: from 1 to %d are allowed", n_workers,
                           ODEON_WORKERS_MAX);
    if (strcmp(affinity, "auto") == 0) {
        list.n = topology_list_cores(hwloc, list.cpus, ODEON_WORKERS_MAX);
        if (list.n > ODEON_WORKERS_MAX)
            list.n = ODEON_WORKERS_MAX;
    } else if (strcmp(affinity, "none") != 0) {
        r = cpu_list_parse(affinity, &list);
        if (r < 0)
            return explain_set(explain, r, "setting affinity: '%.64s' cannot be read as a list of CPUs", affinity);
        r = topology_check_list(hwloc, &list, explain);
        if (r < 0)
            return r;
    }
    for (unsigned i = 0; i < n_workers; i++)
        plan.cpus[i] = list.n > 0 ? list.cpus[i % list.n] : -1;
    plan.shared = list.n > 0 && n_workers > list.n;
    *ret_plan = plan;
    return 0;
}

/* hwloc's allowed set knows control groups; what the process was bound to at its start (taskset, systemd's
 * CPUAffinity=) is meant as a limit, too. */
static void topology_restrict(hwloc_topology_t hwloc)
{
    hwloc_bitmap_t bound = hwloc_bitmap_alloc();

    if (bound && hwloc_topology_is_thissystem(hwloc) && hwloc_get_cpubind(hwloc, bound, HWLOC_CPUBIND_PROCESS) == 0)
        (void)hwloc_topology_restrict(hwloc, bound, 0);
    hwloc_bitmap_free(bound);
}

int topology_new(struct topology **ret_topology)
{
    struct topology *topology = calloc(1, sizeof(*topology));

    if (!topology)
        return -ENOMEM;
    if (hwloc_topology_init(&topology->hwloc) < 0) {
        free(topology);
        return -ENOMEM;
    }
    /* Caches, groups and devices cost time to discover, and a restart should be quick. */
    if (hwloc_topology_set_all_types_filter(topology->hwloc, HWLOC_TYPE_FILTER_KEEP_NONE) < 0 ||
        hwloc_topology_set_type_filter(topology->hwloc, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL) < 0 ||
        hwloc_topology_load(topology->hwloc) < 0) {
        int r = errno > 0 ? -errno : -EIO;

        topology_free(topology);
        return r;
    }
    topology_restrict(topology->hwloc);
    *ret_topology = topology;
    return 0;
}

struct topology *topology_free(struct topology *topology)
{
    if (topology) {
        hwloc_topology_destroy(topology->hwloc);
        free(topology);
    }
    return NULL;
}

unsigned topology_get_cores(const struct topology *topology)
{
    return topology_count_cores(topology->hwloc);
}

int topology_plan_workers(struct topology *topology, const char *affinity, unsigned n_workers, struct explain *explain)
{
    return topology_make_plan(topology->hwloc, affinity, n_workers, &topology->plan, explain);
}

const struct topology_plan *topology_get_plan(const struct topology *topology)
{
    return &topology->plan;
}

int topology_bind(void *userdata, unsigned worker)
{
    const struct topology *topology = userdata;
    hwloc_bitmap_t set;
    int cpu, r = 0;

    if (worker >= topology->plan.n_workers)
        return 0;
    cpu = topology->plan.cpus[worker];
    if (cpu < 0)
        return 0;
    set = hwloc_bitmap_alloc();
    if (!set)
        return -ENOMEM;
    if (hwloc_bitmap_only(set, (unsigned)cpu) < 0 || hwloc_set_cpubind(topology->hwloc, set, HWLOC_CPUBIND_THREAD) < 0)
        r = errno > 0 ? -errno : -EIO;
    hwloc_bitmap_free(set);
    return r;
}
