/* SPDX-License-Identifier: Apache-2.0 */
/* What odeond says about itself.  Answered also while the executor is down. */
#include <errno.h>
#include <odeon/version.h>
#include <stdio.h>
#include <string.h>

#include "daemon/supervisor/commands_status.h"
#include "daemon/supervisor/runtime.h"
#include "daemon/supervisor/seat.h"
#include "daemon/supervisor/turns.h"

void command_status(struct seat *seat, struct client *client, Odeon__Request **request,
                    struct frame *frame)
{
    const struct stats_header *header = seat->stats.header;
    Odeon__Reply reply = ODEON__REPLY__INIT;
    Odeon__StatusReply body = ODEON__STATUS_REPLY__INIT;
    char stealing[sizeof(header->stealing_name)], steal_mode[sizeof(header->steal_mode_name)],
        work[sizeof(header->control_turn_work)], roles[ROLES_TEXT_MAX];
    const char *own_work;

    (void)frame;
    memcpy(stealing, header->stealing_name, sizeof(stealing));
    memcpy(steal_mode, header->steal_mode_name, sizeof(steal_mode));
    stealing[sizeof(stealing) - 1] = '\0'; /* the executor writes them: its word is not enough */
    steal_mode[sizeof(steal_mode) - 1] = '\0';
    memcpy(work, header->control_turn_work, sizeof(work));
    work[sizeof(work) - 1] = '\0';
    body.version = (char *)ODEON_VERSION;
    body.state = (char *)seat_state_name(seat_get_state(seat));
    body.supervisor_pid = atomic_load_explicit(&header->supervisor_pid, memory_order_relaxed);
    body.executor_pid = (uint32_t)seat->executor.child.pid;
    body.uptime_ns = uv_hrtime() - seat->service->started_ns;
    body.executor_restarts = seat->boot.restarts;
    body.workers = atomic_load_explicit(&header->n_workers, memory_order_relaxed);
    body.queues = atomic_load_explicit(&header->n_queues, memory_order_relaxed);
    body.plugins = (uint32_t)plugin_store_count_loaded(&seat->plugins);
    body.clients = seat->service->clients->n;
    body.ports = port_table_count_open(&seat->ports);
    body.actors = stats_file_count_actors(&seat->stats);
    body.stealing = stealing;
    body.throughput = atomic_load_explicit(&header->throughput, memory_order_relaxed);
    body.steal_mode = steal_mode;
    body.reconfigurations = atomic_load_explicit(&header->reconfigurations, memory_order_relaxed);
    body.reconfigure_last_ns = atomic_load_explicit(&header->pause_last_ns, memory_order_relaxed);
    body.reconfigure_longest_ns =
        atomic_load_explicit(&header->pause_longest_ns, memory_order_relaxed);
    body.control_waits = stats_file_count_of(&seat->stats, STAT_control_waits);
    body.control_turn_longest_ns =
        atomic_load_explicit(&header->control_turn_longest_ns, memory_order_relaxed);
    body.control_turn_work = work;
    body.supervisor_turn_longest_ns = turns_get_longest_ns(&own_work);
    body.supervisor_turn_work = (char *)own_work;
    body.runtime_dir = seat->service->runtime->dir;
    body.your_id = client->id;
    body.your_uid = client->uid;
    body.your_pid = (uint32_t)client->pid;
    body.your_roles = (char *)roles_describe(client->roles, roles);
    reply.id = (*request)->id;
    reply.body_case = ODEON__REPLY__BODY_STATUS;
    reply.status = &body;
    client_send(client, &reply, NULL, 0);
}
