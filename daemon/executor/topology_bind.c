/* SPDX-License-Identifier: Apache-2.0 */
/* Binding of threads, at first and when CPUs come and go.  See topology.h. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon/common/log.h"
#include "daemon/executor/cpu_list.h"
#include "daemon/executor/topology.h"
#include "daemon/executor/topology_private.h"

/* A thread without a CPU of its own goes wherever the service may. */
static int topology_bind_thread_bind(const struct topology *topology, pid_t thread, int cpu)
{
    union cpu_mask mask = topology->usable;

    if (cpu >= 0) {
        memset(&mask, 0, sizeof(mask));
        CPU_SET_S((size_t)cpu, sizeof(mask), &mask.set);
    }
    return sched_setaffinity(thread, sizeof(mask), &mask.set) < 0 ? -errno : 0;
}

void topology_thread_end(void *entry)
{
    struct topology_thread *thread = entry;

    pthread_mutex_lock(&thread->topology->lock);
    if (thread->id == gettid()) /* else its worker has another thread by now */
        thread->id = 0;
    pthread_mutex_unlock(&thread->topology->lock);
}

/* The entry's thread to the CPU of the plan, or to all: the kernel keeps a mask that a thread was
 * given once, however many CPUs come later. */
static int topology_bind_entry_bind(const struct topology *topology, unsigned worker)
{
    int cpu = worker < topology->plan.n_workers ? topology->plan.cpus[worker] : -1;
    int r = topology_bind_thread_bind(topology, topology->threads[worker].id, cpu);

    if (r < 0 && cpu >= 0)
        log_warning("worker %u cannot be bound to CPU %d (%s): it goes on unbound", worker, cpu,
                    strerror(-r));
    return r;
}

void topology_bind_all(struct topology *topology)
{
    for (unsigned i = 0; i < ODEON_WORKERS_MAX; i++)
        if (topology->threads[i].id != 0 && topology_bind_entry_bind(topology, i) < 0 &&
            i < topology->plan.n_workers)
            topology->plan.cpus[i] = topology->plan.nodes[i] = -1;
}

/* For debuggers, perf and top. The control thread is the process's first one, whose name is the
 * process's. */
static void topology_bind_thread_name(const struct topology *topology, unsigned worker)
{
    unsigned n_workers = topology->plan.n_workers;
    char name[16]; /* what the kernel keeps */

    if (worker < n_workers)
        snprintf(name, sizeof(name), "worker/%hu", (unsigned short)worker);
    else
        snprintf(name, sizeof(name), "detached/%hu", (unsigned short)(worker - n_workers));
    (void)pthread_setname_np(pthread_self(), name);
}

int topology_bind(void *userdata, unsigned worker)
{
    struct topology *topology = userdata;
    struct topology_thread *thread;
    int r;

    if (worker >= ODEON_WORKERS_MAX)
        return 0;
    thread = &topology->threads[worker];
    pthread_mutex_lock(&topology->lock);
    topology_bind_thread_name(topology, worker);
    if (thread->id != gettid())
        *thread = (struct topology_thread){ topology, gettid() };
    /* one without a CPU was made by a worker, perhaps, whose CPU it must not stay on */
    r = topology_bind_entry_bind(topology, worker);
    (void)pthread_setspecific(topology->ending, thread);
    pthread_mutex_unlock(&topology->lock);
    return r;
}

/* ---- CPUs that come and go */

void topology_log_moved(unsigned worker, int before, int now)
{
    if (now < 0)
        log_warning("CPU %d may not be used any more, nor any other of the configuration: worker "
                    "%u goes on unbound",
                    before, worker);
    else
        log_warning("CPU %d may not be used any more: worker %u goes on on CPU %d", before, worker,
                    now);
}

static void topology_bind_refresh_log(unsigned worker, int wished, int before, int now)
{
    if (now == wished)
        log_notice("CPU %d may be used again: worker %u runs there", now, worker);
    else
        topology_log_moved(worker, before < 0 ? wished : before, now);
}

/* The control thread is bound to nothing of its own: where it may run is where the service may. */
bool topology_read_usable(union cpu_mask *ret_mask)
{
    memset(ret_mask, 0, sizeof(*ret_mask));
    return sched_getaffinity(0, sizeof(*ret_mask), &ret_mask->set) >= 0;
}

void topology_update_plan(struct topology *topology)
{
    union cpu_mask *mask = &topology->usable;
    hwloc_bitmap_t usable = hwloc_bitmap_alloc();

    if (!usable || !topology_read_usable(mask)) {
        memset(mask, 0xff, sizeof(*mask)); /* the kernel takes what of it there is */
        topology->plan = topology->wish;
    } else {
        for (unsigned cpu = 0; cpu <= CPU_NUMBER_MAX; cpu++)
            if (CPU_ISSET_S(cpu, sizeof(*mask), &mask->set))
                hwloc_bitmap_set(usable, cpu);
        topology_replan(topology->hwloc, &topology->wish, usable, &topology->plan);
    }
    hwloc_bitmap_free(usable);
}

/* The kernel forgets a thread's binding when its CPU goes, and on a change of the cpuset
 * everybody's: all are bound anew. */
unsigned topology_refresh(struct topology *topology)
{
    int before[ODEON_WORKERS_MAX], planned[ODEON_WORKERS_MAX];
    unsigned changed = 0;

    topology_renew(topology);
    pthread_mutex_lock(&topology->lock);
    memcpy(before, topology->plan.cpus, sizeof(before));
    topology_update_plan(topology);
    memcpy(planned, topology->plan.cpus, sizeof(planned));
    topology_bind_all(topology);
    for (unsigned i = 0; i < topology->plan.n_workers; i++) {
        changed += topology->plan.cpus[i] != before[i];
        /* one that could not be bound has said so itself */
        if (topology->threads[i].id != 0 && planned[i] != before[i] &&
            topology->plan.cpus[i] == planned[i])
            topology_bind_refresh_log(i, topology->wish.cpus[i], before[i], planned[i]);
    }
    pthread_mutex_unlock(&topology->lock);
    return changed;
}
