/* SPDX-License-Identifier: Apache-2.0 */
/* Binding of memory.  See topology.h.
 *
 * The engine's windows are shared mappings of one file in memory. There the kernel keeps a policy
 * with the file, by range, and beside it one per mapping: windows that lie side by side and get the
 * same policy stay one mapping, so their number is that of changes of node along the segment.
 *
 * Flags: neither STRICT (a full node must not end in a kill: with BIND hwloc then asks for a
 * preference) nor MIGRATE (what a restart finds is used where it lies; to move it would mean to
 * walk through all of it).
 */
#include <errno.h>

#include "daemon/executor/topology.h"
#include "daemon/executor/topology_private.h"

void topology_set_memory(struct topology *topology, enum memory_policy policy)
{
    topology->memory = policy;
}

/* The nodes that workers are on. */
static void memory_add_worker_nodes(struct topology *topology, hwloc_nodeset_t set)
{
    pthread_mutex_lock(&topology->lock);
    for (unsigned i = 0; i < topology->wish.n_workers; i++)
        if (topology->wish.nodes[i] >= 0)
            hwloc_bitmap_set(set, (unsigned)topology->wish.nodes[i]);
    pthread_mutex_unlock(&topology->lock);
}

static int memory_set(struct topology *topology, void *address, uint64_t bytes,
                      hwloc_const_nodeset_t set, hwloc_membind_policy_t policy)
{
    if (hwloc_set_area_membind(topology->first, address, bytes, set, policy,
                               HWLOC_MEMBIND_BYNODESET) < 0)
        return errno > 0 ? -errno : -EIO;
    return 0;
}

int topology_bind_memory(void *userdata, void *address, uint64_t bytes, int node)
{
    struct topology *topology = userdata;
    hwloc_membind_policy_t policy = HWLOC_MEMBIND_BIND;
    hwloc_nodeset_t set;
    int r;

    set = hwloc_bitmap_alloc();
    if (!set)
        return -ENOMEM;
    if (topology->memory == MEMORY_INTERLEAVE) {
        policy = HWLOC_MEMBIND_INTERLEAVE;
        memory_add_worker_nodes(topology, set);
    } else if (topology->memory == MEMORY_LOCAL && node >= 0) {
        hwloc_bitmap_set(set, (unsigned)node);
    }
    /* The file outlives the process and keeps what an earlier run has asked for: nothing is to be
     * said, too. */
    if (hwloc_bitmap_iszero(set)) {
        policy = HWLOC_MEMBIND_DEFAULT;
        hwloc_bitmap_copy(set, hwloc_topology_get_topology_nodeset(topology->first));
    }
    r = memory_set(topology, address, bytes, set, policy);
    hwloc_bitmap_free(set);
    return r;
}
