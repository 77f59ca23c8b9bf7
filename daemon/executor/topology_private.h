/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the topology share; nobody else includes it. */
#pragma once

#include <pthread.h>
#include <sched.h>
#include <sys/types.h>

#include "daemon/executor/cpu_list.h"
#include "daemon/executor/memory_policy.h"
#include "daemon/executor/topology_plan.h"

/* A bound thread says when it ends: the kernel gives its number to others. */
struct topology_thread {
    struct topology *topology;
    pid_t id; /* 0: none */
    int cpu;  /* it was bound to, -1: none */
};

/* As many as the kernel can be built for. hwloc's own functions know no CPU that has come after it
 * was loaded. */
union cpu_mask {
    cpu_set_t set;
    unsigned long words[(CPU_NUMBER_MAX + 1) / (8 * sizeof(unsigned long))];
};

struct topology {
    hwloc_topology_t hwloc;          /* immutable once loaded */
    pthread_key_t ending;            /* of each bound thread: its entry below */
    pthread_mutex_t lock;            /* what follows, against workers that bind themselves */
    struct topology_plan wish, plan; /* as configured; as it is now */
    struct topology_thread threads[ODEON_WORKERS_MAX];
    union cpu_mask usable; /* by the service, when the plan was made */
    enum memory_policy memory;
};

/* For the key: the thread of this entry ends. */
void topology_thread_end(void *entry);
/* Why a worker is not where it was. */
void topology_log_moved(unsigned worker, int before, int now);
/* The plan follows the wish as far as the CPUs can be used now.  The caller holds the lock. */
void topology_update_plan(struct topology *topology);
