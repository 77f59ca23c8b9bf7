/* SPDX-License-Identifier: Apache-2.0 */
/* This machine: where workers run, and on which nodes the engine's memory lies.
 *
 * Owned by the control thread.  Workers call topology_bind() on their own threads, and the engine
 * topology_bind_memory() on any; a lock of ours keeps them apart from topology_refresh().
 *
 * Threads are bound here, at once; the engine, which shows where workers are and steals by it, has
 * to be told (places.h).
 *
 * topology.T1  A thread that cannot be bound goes on unbound, and the log says so.
 * topology.T2  A CPU that goes away (taken offline, or no longer in the service's cpuset) takes
 *     nobody with it: its workers get another CPU of the plan, and their own again when it comes
 *     back; also where it was away when the machine was looked at. Threads without a CPU of their
 *     own go wherever the service may.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/executor/memory_policy.h"
#include "daemon/executor/topology_plan.h"

struct topology;

/* As far as the process is allowed to use it. */
int topology_new(struct topology **ret_topology);
struct topology *topology_free(struct topology *topology);
unsigned topology_get_cores(const struct topology *topology);
unsigned topology_get_threads(const struct topology *topology);
/* Whether there are such places: nothing is changed.  Errors as topology_make_plan(). */
int topology_check_workers(const struct topology *topology, const struct topology_request *request,
                           struct explain *explain);
/* Binds all threads that are known to topology_bind(), too.  Errors likewise; -ENOMEM. */
int topology_plan_workers(struct topology *topology, const struct topology_request *request,
                          struct explain *explain);
/* Where workers are now; changed by topology_plan_workers() and topology_refresh() only. */
const struct topology_plan *topology_get_plan(const struct topology *topology);
/* How far its workers are from each other, to be freed (topology_plan_get_distances()). NULL: no
 * memory. */
uint8_t *topology_make_distances(const struct topology *topology);
/* Says in the log, before workers start, what a person should know of this machine and `n_workers`
 * running workers. */
void topology_log_notes(const struct topology *topology, unsigned n_workers);

/* On the worker's own thread, at its start and whenever there is another plan: binds it, and gives
 * it a name. `userdata` is the topology. 0, also for a worker that is not to be bound; negative
 * errno. A number behind those of workers is a thread that may run anywhere. */
int topology_bind(void *userdata, unsigned worker);
/* Looks which CPUs may be used now, and binds all threads that are known to topology_bind() anew.
 * The number of workers whose CPU has changed. */
unsigned topology_refresh(struct topology *topology);

void topology_set_memory(struct topology *topology, enum memory_policy policy);
/* For engine_config.bind_memory: says where pages of this area that are touched from now on shall
 * lie. One system call, whatever the size; nothing is touched or moved. -1 is no node in
 * particular. Negative errno. */
int topology_bind_memory(void *userdata, void *address, uint64_t bytes, int node);
