/* SPDX-License-Identifier: Apache-2.0 */
/* odeonctl status: what the service says of itself. */
#include "client-lib/ctl/ctl.h"
#include "client-lib/ctl/output.h"

static struct cell status_pid(uint32_t pid)
{
    return pid ? CELL_NUMBER(pid) : CELL_NONE;
}

int ctl_status(struct ctl *ctl)
{
    char uptime[OUTPUT_DURATION_TEXT], last[OUTPUT_DURATION_TEXT], longest[OUTPUT_DURATION_TEXT],
        turn[OUTPUT_DURATION_TEXT], own_turn[OUTPUT_DURATION_TEXT];
    struct odeon_status *s = NULL;
    struct properties p;
    int r, code;

    code = ctl_connect(ctl);
    if (code)
        return code;
    r = odeon_service_status(ctl->client, &s);
    if (r < 0)
        return ctl_refuse(ctl, r, "cannot get the service's status");

    properties_begin(&p, ctl, "status");
    properties_add(&p, "State", "state", CELL_TEXT(s->state));
    properties_add(&p, "Version", "service_version", CELL_TEXT(s->version));
    properties_add(&p, "Up for", "uptime_ns",
                   CELL_SHOWN(s->uptime_ns, output_format_duration(s->uptime_ns, uptime)));
    properties_add(&p, "Supervisor process", "supervisor_pid", status_pid(s->supervisor_pid));
    properties_add(&p, "Executor process", "executor_pid", status_pid(s->executor_pid));
    properties_add(&p, "Executor restarts", "executor_restarts", CELL_NUMBER(s->executor_restarts));
    properties_add(&p, "Workers", "workers", CELL_NUMBER(s->workers));
    properties_add(&p, "Queues", "queues", CELL_NUMBER(s->queues));
    properties_add(&p, "Stealing", "stealing", CELL_TEXT(s->stealing));
    properties_add(&p, "Stolen sources", "steal_mode", CELL_TEXT(s->steal_mode));
    properties_add(&p, "Throughput", "throughput", CELL_NUMBER(s->throughput));
    properties_add(&p, "Reconfigurations", "reconfigurations", CELL_NUMBER(s->reconfigurations));
    properties_add(
        &p, "Last pause for one", "reconfigure_last_ns",
        CELL_SHOWN(s->reconfigure_last_ns, output_format_duration(s->reconfigure_last_ns, last)));
    properties_add(&p, "Longest pause for one", "reconfigure_longest_ns",
                   CELL_SHOWN(s->reconfigure_longest_ns,
                              output_format_duration(s->reconfigure_longest_ns, longest)));
    properties_add(&p, "Waits of the control thread", "control_waits",
                   CELL_NUMBER(s->control_waits));
    properties_add(&p, "Its longest turn", "control_turn_longest_ns",
                   CELL_SHOWN(s->control_turn_longest_ns,
                              output_format_duration(s->control_turn_longest_ns, turn)));
    properties_add(&p, "That was", "control_turn_work",
                   *s->control_turn_work ? CELL_TEXT(s->control_turn_work) : CELL_NONE);
    properties_add(&p, "The supervisor's longest turn", "supervisor_turn_longest_ns",
                   CELL_SHOWN(s->supervisor_turn_longest_ns,
                              output_format_duration(s->supervisor_turn_longest_ns, own_turn)));
    properties_add(&p, "That was", "supervisor_turn_work",
                   *s->supervisor_turn_work ? CELL_TEXT(s->supervisor_turn_work) : CELL_NONE);
    properties_add(&p, "Plugins", "plugins", CELL_NUMBER(s->plugins));
    properties_add(&p, "Actors", "actors", CELL_NUMBER(s->actors));
    properties_add(&p, "Clients", "clients", CELL_NUMBER(s->clients));
    properties_add(&p, "Ports", "ports", CELL_NUMBER(s->ports));
    properties_add(&p, "Runtime directory", "runtime_dir", CELL_TEXT(s->runtime_dir));
    properties_add(&p, "Your user", "your_uid", CELL_NUMBER(s->your_uid));
    properties_add(&p, "Your process", "your_pid", status_pid(s->your_pid));
    properties_add(&p, "Your roles", "your_roles", CELL_TEXT(s->your_roles));
    odeon_result_free(s);
    return properties_end(&p);
}
