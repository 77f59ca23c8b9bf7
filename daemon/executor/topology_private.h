/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the topology share; nobody else includes it. */
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include "daemon/executor/topology.h"

struct topology {
    hwloc_topology_t hwloc;           /* immutable once loaded */
    pthread_mutex_t lock;             /* what follows, against workers that bind themselves */
    struct topology_plan wish, plan;  /* as configured; as it is now */
    pid_t threads[ODEON_WORKERS_MAX]; /* of the workers that were bound, 0: none */
    enum memory_policy memory;
};
