/* SPDX-License-Identifier: Apache-2.0 */
/* Which CPU each worker is bound to, as hwloc sees the machine.
 *
 * Made by the control thread before workers start, immutable from then on: workers read it from topology_bind() on
 * their own threads.  The plan is a function of an hwloc topology, so that tests can plan for machines that they do not
 * run on.
 */
#pragma once

#include <hwloc.h>
#include <stdbool.h>

#include "daemon/executor/explain.h"
#include "proto/bounds.h"

struct topology;

struct topology_plan {
    unsigned n_workers;
    bool shared;                 /* more workers than cores or CPUs: some share one */
    int cpus[ODEON_WORKERS_MAX]; /* operating system's number, -1: not bound */
};

/* Cores of which at least one CPU is allowed; at least 1. */
unsigned topology_count_cores(hwloc_topology_t hwloc);
/* `affinity`: "auto": the first allowed CPU of each core, "none", or a list (cpu_list.h).  Workers beyond the last go
 * round again. -EINVAL: a CPU of the list is not there or not allowed. */
int topology_make_plan(hwloc_topology_t hwloc, const char *affinity, unsigned n_workers, struct topology_plan *ret_plan,
                       struct explain *explain);

/* This machine, as far as the process is allowed to use it. */
int topology_new(struct topology **ret_topology);
struct topology *topology_free(struct topology *topology);
unsigned topology_get_cores(const struct topology *topology);
int topology_plan_workers(struct topology *topology, const char *affinity, unsigned n_workers, struct explain *explain);
const struct topology_plan *topology_get_plan(const struct topology *topology);
/* On the worker's own thread; `userdata` is the topology.  0, also for a worker that is not to be bound; negative
 * errno. */
int topology_bind(void *userdata, unsigned worker);
