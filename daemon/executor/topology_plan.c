/* SPDX-License-Identifier: Apache-2.0 */
/* See topology_plan.h. */
#include "daemon/executor/topology_plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/engine/engine.h"
#include "daemon/executor/cpu_list.h"

/* ---- CPUs */

/* The allowed CPU of the core with this index, -1: it has not so many. By logical order, which
 * keeps neighbours together. */
static int topology_plan_core_cpu(hwloc_topology_t hwloc, hwloc_obj_t core, unsigned index)
{
    hwloc_const_bitmap_t allowed = hwloc_topology_get_allowed_cpuset(hwloc);
    int n = hwloc_get_nbobjs_inside_cpuset_by_type(hwloc, core->cpuset, HWLOC_OBJ_PU);

    for (int i = 0; i < n; i++) {
        hwloc_obj_t pu =
            hwloc_get_obj_inside_cpuset_by_type(hwloc, core->cpuset, HWLOC_OBJ_PU, (unsigned)i);

        if (pu && hwloc_bitmap_isset(allowed, pu->os_index) && index-- == 0)
            return (int)pu->os_index;
    }
    return -1;
}

/* One hardware thread of each core; machines of which hwloc knows no cores are taken CPU by CPU.
 * Appends to `list` as far as there is room; the number found. */
static unsigned plan_list_threads(hwloc_topology_t hwloc, unsigned index, struct cpu_list *list)
{
    hwloc_obj_type_t type =
        hwloc_get_nbobjs_by_type(hwloc, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
    unsigned n = 0;

    for (hwloc_obj_t core = hwloc_get_next_obj_by_type(hwloc, type, NULL); core;
         core = hwloc_get_next_obj_by_type(hwloc, type, core)) {
        int cpu = topology_plan_core_cpu(hwloc, core, index);

        if (cpu < 0)
            continue;
        n++;
        if (list && list->n < ODEON_WORKERS_MAX)
            list->cpus[list->n++] = cpu;
    }
    return n;
}

unsigned topology_count_cores(hwloc_topology_t hwloc)
{
    unsigned n = plan_list_threads(hwloc, 0, NULL);

    return n > 0 ? n : 1;
}

unsigned topology_count_threads(hwloc_topology_t hwloc)
{
    unsigned n = 0, more;

    for (unsigned index = 0; (more = plan_list_threads(hwloc, index, NULL)) > 0; index++)
        n += more;
    return n > 0 ? n : 1;
}

static int plan_check_list(hwloc_topology_t hwloc, const struct cpu_list *list,
                           struct explain *explain)
{
    hwloc_const_bitmap_t allowed = hwloc_topology_get_allowed_cpuset(hwloc);
    char *text = NULL;

    for (unsigned i = 0; i < list->n; i++) {
        if (hwloc_bitmap_isset(allowed, (unsigned)list->cpus[i]))
            continue;
        if (hwloc_bitmap_list_asprintf(&text, allowed) < 0)
            text = NULL;
        explain_set(
            explain, -EINVAL,
            "setting affinity: CPU %d is not there or the service may not use it: allowed are %s",
            list->cpus[i], text ? text : "unknown");
        free(text);
        return -EINVAL;
    }
    return 0;
}

static int plan_list(hwloc_topology_t hwloc, const struct topology_request *request,
                     struct cpu_list *ret_list, struct explain *explain)
{
    int r;

    ret_list->n = 0;
    if (strcmp(request->affinity, "none") == 0)
        return 0;
    if (strcmp(request->affinity, "auto") == 0) {
        for (unsigned index = 0; plan_list_threads(hwloc, index, ret_list) > 0 && request->smt;
             index++)
            ;
        return 0;
    }
    r = cpu_list_parse(request->affinity, ret_list);
    if (r < 0)
        return explain_set(explain, r, "setting affinity: '%.64s' cannot be read as a list of CPUs",
                           request->affinity);
    return request->restart ? 0 : plan_check_list(hwloc, ret_list, explain);
}

/* ---- memory nodes */

/* hwloc places a node without processors beside its nearest neighbour, with the neighbour's
 * processors as its own. The kernel knows better; where it is not the machine in question, nodes
 * with processors have the lower numbers (Linux numbers them first). */
static bool topology_plan_node_is_of_cpu(hwloc_topology_t hwloc, unsigned node, int cpu)
{
    char path[64];

    snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/node%u", cpu, node);
    return hwloc_topology_is_thissystem(hwloc) && access(path, F_OK) == 0;
}

int topology_node_of_cpu(hwloc_topology_t hwloc, int cpu)
{
    hwloc_const_bitmap_t allowed = hwloc_topology_get_allowed_nodeset(hwloc);
    int best = -1, best_weight = 0;

    for (hwloc_obj_t node = hwloc_get_next_obj_by_type(hwloc, HWLOC_OBJ_NUMANODE, NULL); node;
         node = hwloc_get_next_obj_by_type(hwloc, HWLOC_OBJ_NUMANODE, node)) {
        int weight = hwloc_bitmap_weight(node->cpuset);

        if (!hwloc_bitmap_isset(node->cpuset, (unsigned)cpu) ||
            !hwloc_bitmap_isset(allowed, node->os_index) || node->attr->numanode.local_memory == 0)
            continue;
        if (topology_plan_node_is_of_cpu(hwloc, node->os_index, cpu))
            return (int)node->os_index;
        /* The narrowest one around the CPU, and of equal ones the lowest number. */
        if (best < 0 || weight < best_weight ||
            (weight == best_weight && (int)node->os_index < best)) {
            best = (int)node->os_index;
            best_weight = weight;
        }
    }
    return best;
}

bool topology_node_has_cpus(hwloc_topology_t hwloc, hwloc_obj_t node)
{
    int cpu;

    for (cpu = hwloc_bitmap_first(node->cpuset); cpu >= 0;
         cpu = hwloc_bitmap_next(node->cpuset, cpu))
        if (topology_node_of_cpu(hwloc, cpu) == (int)node->os_index)
            return true;
    return false;
}

/* ---- distances */

enum { N_LEVELS = 3 }; /* at which hardware is shared, nearest first */

/* What a worker's CPU has a part in; NULL: no such level there. */
struct topology_plan_shares {
    hwloc_obj_t at[N_LEVELS];
};

static void topology_plan_look_up_shares(hwloc_topology_t hwloc, int cpu,
                                         struct topology_plan_shares *ret)
{
    static const hwloc_obj_type_t types[N_LEVELS] = { HWLOC_OBJ_CORE, HWLOC_OBJ_L2CACHE,
                                                      HWLOC_OBJ_L3CACHE };
    hwloc_obj_t pu = cpu < 0 ? NULL : hwloc_get_pu_obj_by_os_index(hwloc, (unsigned)cpu);

    for (unsigned i = 0; i < N_LEVELS; i++)
        ret->at[i] = pu ? hwloc_get_ancestor_obj_by_type(hwloc, types[i], pu) : NULL;
}

static enum engine_distance topology_plan_pair_distance(hwloc_topology_t hwloc,
                                                        const struct topology_plan *plan,
                                                        const struct topology_plan_shares *of_a,
                                                        unsigned a, unsigned b)
{
    static const enum engine_distance levels[N_LEVELS] = { DISTANCE_CORE, DISTANCE_L2,
                                                           DISTANCE_L3 };
    int cpu_a = plan->cpus[a], cpu_b = plan->cpus[b];

    /* Who is not bound may be anywhere. */
    if (cpu_a < 0 || cpu_b < 0)
        return hwloc_get_nbobjs_by_type(hwloc, HWLOC_OBJ_NUMANODE) > 1 ? DISTANCE_MACHINE
                                                                       : DISTANCE_NODE;
    if (cpu_a == cpu_b)
        return DISTANCE_CORE;
    for (unsigned i = 0; i < N_LEVELS; i++)
        if (of_a->at[i] && hwloc_bitmap_isset(of_a->at[i]->cpuset, (unsigned)cpu_b))
            return levels[i];
    return plan->nodes[a] == plan->nodes[b] && plan->nodes[a] >= 0 ? DISTANCE_NODE
                                                                   : DISTANCE_MACHINE;
}

/* Distances are symmetric: half of them are looked up. */
void topology_plan_get_distances(hwloc_topology_t hwloc, const struct topology_plan *plan,
                                 uint8_t *ret_distances)
{
    unsigned n = plan->n_workers;

    for (unsigned i = 0; i < n; i++) {
        struct topology_plan_shares shares;

        topology_plan_look_up_shares(hwloc, plan->cpus[i], &shares);
        ret_distances[(size_t)i * n + i] = DISTANCE_SELF;
        for (unsigned j = 0; j < i; j++)
            ret_distances[(size_t)i * n + j] = ret_distances[(size_t)j * n + i] =
                (uint8_t)topology_plan_pair_distance(hwloc, plan, &shares, i, j);
    }
}

static void plan_set_nodes(hwloc_topology_t hwloc, struct topology_plan *plan)
{
    for (unsigned i = 0; i < plan->n_workers; i++)
        plan->nodes[i] = plan->cpus[i] < 0 ? -1 : topology_node_of_cpu(hwloc, plan->cpus[i]);
}

/* ---- plans */

int topology_make_plan(hwloc_topology_t hwloc, const struct topology_request *request,
                       struct topology_plan *ret_plan, struct explain *explain)
{
    struct cpu_list list;
    int r;

    if (request->n_workers < 1 || request->n_workers > ODEON_WORKERS_MAX)
        return explain_set(explain, -ERANGE,
                           "%u workers are out of range: from 1 to %d are allowed",
                           request->n_workers, ODEON_WORKERS_MAX);
    r = plan_list(hwloc, request, &list, explain);
    if (r < 0)
        return r;
    ret_plan->n_workers = request->n_workers;
    ret_plan->n_cpus = list.n;
    for (unsigned i = 0; i < request->n_workers; i++)
        ret_plan->cpus[i] = list.n > 0 ? list.cpus[i % list.n] : -1;
    plan_set_nodes(hwloc, ret_plan);
    return 0;
}

static unsigned plan_count_workers(const struct topology_plan *plan, int cpu)
{
    unsigned n = 0;

    for (unsigned i = 0; i < plan->n_workers; i++)
        n += plan->cpus[i] == cpu;
    return n;
}

/* Of the CPUs that the wish names and that can be used; the plan already says where the others
 * are. */
static int topology_plan_replan_substitute(const struct topology_plan *wish,
                                           hwloc_const_bitmap_t usable, int node,
                                           const struct topology_plan *plan)
{
    unsigned best_load = 0;
    int best = -1, best_near = 0;

    for (unsigned i = 0; i < wish->n_workers; i++) {
        int cpu = wish->cpus[i], near = wish->nodes[i] == node;
        unsigned load;

        if (cpu < 0 || !hwloc_bitmap_isset(usable, (unsigned)cpu))
            continue;
        load = plan_count_workers(plan, cpu);
        if (best < 0 || near > best_near || (near == best_near && load < best_load)) {
            best = cpu;
            best_near = near;
            best_load = load;
        }
    }
    return best;
}

unsigned topology_replan(hwloc_topology_t hwloc, const struct topology_plan *wish,
                         hwloc_const_bitmap_t usable, struct topology_plan *ret_plan)
{
    unsigned moved = 0;

    *ret_plan = *wish;
    for (unsigned i = 0; i < wish->n_workers; i++)
        if (wish->cpus[i] >= 0 && !hwloc_bitmap_isset(usable, (unsigned)wish->cpus[i]))
            ret_plan->cpus[i] = -1;
    for (unsigned i = 0; i < wish->n_workers; i++) {
        if (wish->cpus[i] < 0 || ret_plan->cpus[i] >= 0)
            continue;
        ret_plan->cpus[i] = topology_plan_replan_substitute(wish, usable, wish->nodes[i], ret_plan);
        moved++;
    }
    plan_set_nodes(hwloc, ret_plan);
    return moved;
}
