/* SPDX-License-Identifier: Apache-2.0 */
/* See topology.h. */
#include "daemon/executor/topology.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/common/log.h"
#include "daemon/executor/topology_private.h"

/* hwloc's allowed set knows control groups; what the process was bound to at its start (taskset,
 * systemd's CPUAffinity=) is meant as a limit, too. The control thread still is: workers are not
 * asked. */
static void topology_restrict(hwloc_topology_t hwloc)
{
    hwloc_bitmap_t bound = hwloc_bitmap_alloc();

    if (bound && hwloc_topology_is_thissystem(hwloc) &&
        hwloc_get_cpubind(hwloc, bound, HWLOC_CPUBIND_THREAD) == 0)
        (void)hwloc_topology_restrict(hwloc, bound, 0);
    hwloc_bitmap_free(bound);
}

/* Restarts should be quick: what plans do not need is not discovered. The component x86 asks every
 * processor from a thread bound to it; on Linux the kernel has told all of that already. */
static int topology_load(hwloc_topology_t hwloc)
{
    static const hwloc_obj_type_t kept[] = { HWLOC_OBJ_PACKAGE, HWLOC_OBJ_CORE, HWLOC_OBJ_L2CACHE,
                                             HWLOC_OBJ_L3CACHE };

    if (hwloc_topology_set_all_types_filter(hwloc, HWLOC_TYPE_FILTER_KEEP_NONE) < 0)
        return -errno;
    (void)hwloc_topology_set_components(hwloc, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
    for (unsigned i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
        if (hwloc_topology_set_type_filter(hwloc, kept[i], HWLOC_TYPE_FILTER_KEEP_ALL) < 0)
            return -errno;
    return hwloc_topology_load(hwloc) < 0 ? -errno : 0;
}

static int topology_look(hwloc_topology_t *ret_hwloc)
{
    hwloc_topology_t hwloc;
    int r;

    if (hwloc_topology_init(&hwloc) < 0)
        return -ENOMEM;
    errno = EIO; /* not every failure of hwloc sets it */
    r = topology_load(hwloc);
    if (r < 0) {
        hwloc_topology_destroy(hwloc);
        return r;
    }
    topology_restrict(hwloc);
    *ret_hwloc = hwloc;
    return 0;
}

int topology_new(struct topology **ret_topology)
{
    struct topology *topology = calloc(1, sizeof(*topology));
    int r;

    if (!topology)
        return -ENOMEM;
    if (pthread_key_create(&topology->ending, topology_thread_end) != 0) {
        free(topology);
        return -EAGAIN;
    }
    pthread_mutex_init(&topology->lock, NULL);
    r = topology_look(&topology->first);
    if (r < 0) {
        topology_free(topology);
        return r;
    }
    topology->hwloc = topology->first;
    *ret_topology = topology;
    return 0;
}

/* The first one stays: threads that bind memory look at it. */
static void topology_drop_last(struct topology *topology)
{
    if (topology->hwloc != topology->first)
        hwloc_topology_destroy(topology->hwloc);
    topology->hwloc = NULL;
}

struct topology *topology_free(struct topology *topology)
{
    if (topology) {
        topology_drop_last(topology);
        if (topology->first)
            hwloc_topology_destroy(topology->first);
        free(topology->affinity);
        pthread_key_delete(topology->ending);
        pthread_mutex_destroy(&topology->lock);
        free(topology);
    }
    return NULL;
}

unsigned topology_get_cores(const struct topology *topology)
{
    return topology_count_cores(topology->hwloc);
}

unsigned topology_get_threads(const struct topology *topology)
{
    return topology_count_threads(topology->hwloc);
}

int topology_check_workers(const struct topology *topology, const struct topology_request *request,
                           struct explain *explain)
{
    struct topology_plan plan;

    return topology_make_plan(topology->hwloc, request, &plan, explain);
}

int topology_plan_workers(struct topology *topology, const struct topology_request *request,
                          struct explain *explain)
{
    struct topology_plan plan;
    char *affinity;
    int r = topology_make_plan(topology->hwloc, request, &plan, explain);

    if (r < 0)
        return r;
    affinity = strdup(request->affinity);
    if (!affinity)
        return explain_set(explain, -ENOMEM, "no memory for the places of workers");
    free(topology->affinity);
    topology->affinity = affinity;
    topology->request = *request;
    topology->request.affinity = affinity;
    topology->request.restart = true; /* from now on nothing of it is a mistake */
    pthread_mutex_lock(&topology->lock);
    topology->wish = plan;
    topology_update_plan(topology);
    topology_bind_all(topology);
    pthread_mutex_unlock(&topology->lock);
    return 0;
}

/* False also where nobody can tell. */
static bool topology_has_grown(const struct topology *topology)
{
    hwloc_const_bitmap_t known = hwloc_topology_get_allowed_cpuset(topology->hwloc);
    union cpu_mask usable;

    if (!hwloc_topology_is_thissystem(topology->hwloc) || !topology_read_usable(&usable))
        return false;
    for (unsigned cpu = 0; cpu <= CPU_NUMBER_MAX; cpu++)
        if (CPU_ISSET_S(cpu, sizeof(usable), &usable.set) && !hwloc_bitmap_isset(known, cpu))
            return true;
    return false;
}

void topology_renew(struct topology *topology)
{
    struct explain nobody_reads_it;
    struct topology_plan wish;
    hwloc_topology_t hwloc;
    int r;

    if (!topology_has_grown(topology))
        return;
    r = topology_look(&hwloc);
    if (r < 0) {
        log_warning("CPUs have come, and hwloc cannot tell where they are (%s): they are not used",
                    strerror(-r));
        return;
    }
    topology_drop_last(topology);
    topology->hwloc = hwloc;
    explain_init(&nobody_reads_it);
    if (!topology->affinity ||
        topology_make_plan(hwloc, &topology->request, &wish, &nobody_reads_it) < 0)
        return;
    pthread_mutex_lock(&topology->lock);
    topology->wish = wish;
    pthread_mutex_unlock(&topology->lock);
}

uint8_t *topology_make_distances(const struct topology *topology)
{
    size_t n = topology->plan.n_workers;
    uint8_t *distances = malloc(n * n);

    if (distances)
        topology_plan_get_distances(topology->hwloc, &topology->plan, distances);
    return distances;
}

const struct topology_plan *topology_get_plan(const struct topology *topology)
{
    return &topology->plan;
}

void topology_log_notes(const struct topology *topology, unsigned n_workers)
{
    const struct topology_plan *plan = &topology->wish;

    if (plan->n_cpus > 0 && n_workers > plan->n_cpus)
        log_warning("%u workers are more than there are CPUs for them (%u): some share one",
                    n_workers, plan->n_cpus);
    for (unsigned i = 0; i < plan->n_workers && i < n_workers; i++)
        if (plan->cpus[i] != topology->plan.cpus[i])
            topology_log_moved(i, plan->cpus[i], topology->plan.cpus[i]);
    for (hwloc_obj_t node = hwloc_get_next_obj_by_type(topology->hwloc, HWLOC_OBJ_NUMANODE, NULL);
         node; node = hwloc_get_next_obj_by_type(topology->hwloc, HWLOC_OBJ_NUMANODE, node))
        if (!topology_node_has_cpus(topology->hwloc, node))
            log_notice("memory node %u has no processor of its own that the service may use: no "
                       "worker runs there, and "
                       "no queue lies there",
                       node->os_index);
}
