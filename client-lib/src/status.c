/* SPDX-License-Identifier: Apache-2.0 */
/* The service as a whole.  Any thread. */
#include "client-lib/src/admin_call.h"

static int status_fill(const struct admin_call *call, void *result, const Odeon__Reply *reply)
{
    const Odeon__StatusReply *from = reply->status;
    struct odeon_status *status = result;

    (void)call;
    *status = (struct odeon_status){
        .struct_size = sizeof(*status),
        .version = arena_string(status, from->version),
        .state = arena_string(status, from->state),
        .stealing = arena_string(status, from->stealing),
        .runtime_dir = arena_string(status, from->runtime_dir),
        .supervisor_pid = from->supervisor_pid,
        .executor_pid = from->executor_pid,
        .workers = from->workers,
        .queues = from->queues,
        .plugins = from->plugins,
        .clients = from->clients,
        .ports = from->ports,
        .throughput = from->throughput,
        .uptime_ns = from->uptime_ns,
        .executor_restarts = from->executor_restarts,
        .actors = from->actors,
        .steal_mode = arena_string(status, from->steal_mode),
        .reconfigurations = from->reconfigurations,
        .reconfigure_last_ns = from->reconfigure_last_ns,
        .reconfigure_longest_ns = from->reconfigure_longest_ns,
        .control_waits = from->control_waits,
        .control_turn_longest_ns = from->control_turn_longest_ns,
        .control_turn_work = arena_string(status, from->control_turn_work),
        .supervisor_turn_longest_ns = from->supervisor_turn_longest_ns,
        .supervisor_turn_work = arena_string(status, from->supervisor_turn_work),
        .your_id = from->your_id,
        .your_uid = from->your_uid,
        .your_pid = from->your_pid,
        .your_roles = arena_string(status, from->your_roles),
    };
    return 0;
}

int odeon_service_status(struct odeon_client *client, struct odeon_status **ret)
{
    Odeon__Status body = ODEON__STATUS__INIT;

    return admin_call(client, &(struct admin_call){ .request = ODEON__REQUEST__BODY_STATUS,
                                                    .body = &body,
                                                    .reply = ODEON__REPLY__BODY_STATUS,
                                                    .size = sizeof(struct odeon_status),
                                                    .ret = ret,
                                                    .fill = status_fill });
}
