/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the topology share; nobody else includes it. */
#pragma once

#include <pthread.h>
#include <sched.h>
#include <sys/types.h>

#include "daemon/executor/cpu_list.h"
#include "daemon/executor/memory_policy.h"
#include "daemon/executor/topology_plan.h"

/* A thread that was bound says when it ends: the kernel gives its number to others. */
struct topology_thread {
    struct topology *topology;
    pid_t id; /* 0: none */
};

/* As many as the kernel can be built for. hwloc's own functions know no CPU that has come after it
 * was loaded. */
union cpu_mask {
    cpu_set_t set;
    unsigned long words[(CPU_NUMBER_MAX + 1) / (8 * sizeof(unsigned long))];
};

struct topology {
    hwloc_topology_t first;          /* as it was at the start: immutable, any thread's */
    hwloc_topology_t hwloc;          /* as it was loaded last: the control thread's */
    struct topology_request request; /* likewise: what the wish was made of */
    char *affinity;                  /* the request's */
    pthread_key_t ending;            /* of each thread: its entry below */
    pthread_mutex_t lock;            /* what follows, against workers that bind themselves */
    struct topology_plan wish, plan; /* as configured; as it is now */
    struct topology_thread threads[ODEON_WORKERS_MAX]; /* those of detached actors, too */
    union cpu_mask usable;                             /* by the service, when the plan was made */
    enum memory_policy memory;
};

/* For the key: the thread of this entry ends. */
void topology_thread_end(void *entry);
/* Why a worker is not where it was. */
void topology_log_moved(unsigned worker, int before, int now);
/* What the control thread may run on now is what the service may.  False: nobody can tell. */
bool topology_read_usable(union cpu_mask *ret_mask);
/* The plan follows the wish as far as the CPUs can be used now.  The caller holds the lock. */
void topology_update_plan(struct topology *topology);
/* All threads that are known go where the plan has them.  The caller holds the lock. */
void topology_bind_all(struct topology *topology);
/* Looks at the machine anew, and has the wish made of what there is now, if a CPU may be used that
 * was away when it was looked at last. Takes some milliseconds: the caller does not hold the
 * lock. */
void topology_renew(struct topology *topology);
