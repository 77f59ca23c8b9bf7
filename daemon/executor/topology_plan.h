/* SPDX-License-Identifier: Apache-2.0 */
/* Which CPU each worker gets, on which memory node that is, and how far workers are from each
 * other.
 *
 * Pure functions of an hwloc topology, so that tests can plan for machines that they do not run on.
 * The topology must have been loaded with PUs, cores, and the caches of level 2 and 3 where
 * distances are to tell them.
 *
 * topology_plan.P1  Workers are numbered so that neighbours in number are neighbours in the
 *     machine.
 * topology_plan.P2  A node that has memory but no processors is nobody's node, although hwloc lends
 *     it the processors of a neighbour.
 */
#pragma once

#include <hwloc.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/executor/explain.h"
#include "proto/bounds.h"

struct topology_request {
    /* "auto": the first allowed CPU of each core, "none", or a list (cpu_list.h) */
    const char *affinity;
    bool smt;           /* "auto" goes on with the second hardware thread of each core, and so on */
    unsigned n_workers; /* to plan for, whether or not they run yet */
    /* CPUs of the list that are not there are no mistake: they were, and may come back */
    bool restart;
};

struct topology_plan {
    unsigned n_workers;
    unsigned n_cpus; /* different ones; workers beyond them go round again; 0: nobody is bound */
    int cpus[ODEON_WORKERS_MAX];  /* operating system's number, -1: not bound */
    int nodes[ODEON_WORKERS_MAX]; /* likewise, -1: not known */
};

/* Cores, or hardware threads, of which at least one may be used; at least 1. */
unsigned topology_count_cores(hwloc_topology_t hwloc);
unsigned topology_count_threads(hwloc_topology_t hwloc);
/* -EINVAL: a CPU of the list is not there or not allowed; -ERANGE: n_workers. Makes no use of what
 * has happened since the topology was loaded: topology_replan(). */
int topology_make_plan(hwloc_topology_t hwloc, const struct topology_request *request,
                       struct topology_plan *ret_plan, struct explain *explain);
/* The memory node that the CPU belongs to; -1: none, or none that may be used. */
int topology_node_of_cpu(hwloc_topology_t hwloc, int cpu);
/* Whether a CPU that may be used belongs to this node. */
bool topology_node_has_cpus(hwloc_topology_t hwloc, hwloc_obj_t node);
/* Replaces the CPUs that are not in `usable` by the next best of the plan: of the same node if
 * there is one, and of those the one with the fewest workers; -1 if none is left. Nodes follow. The
 * number of workers moved. */
unsigned topology_replan(hwloc_topology_t hwloc, const struct topology_plan *wish,
                         hwloc_const_bitmap_t usable, struct topology_plan *ret_plan);
/* How far its workers are from each other: ret_distances[n_workers][n_workers], enum
 * engine_distance. */
void topology_plan_get_distances(hwloc_topology_t hwloc, const struct topology_plan *plan,
                                 uint8_t *ret_distances);
