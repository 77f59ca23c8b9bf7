/* SPDX-License-Identifier: Apache-2.0 */
#include "client-lib/exporter/status.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "client-lib/ctl/json.h"
#include "client-lib/ctl/topology/topology.h"

enum { STATUS_WORKERS = 256, STATUS_ROWS = 256, STATUS_FLOWS = 64 };

/* ---- for everybody ---- */

static void status_service(const struct status *status, struct json *json)
{
    const struct figures *f = status->figures;
    const struct odeon_stats_service *s = &f->service;

    json_string(json, "state", f->supervisor_up ? s->state_name : "stopped");
    json_bool(json, "up", f->executor_up);
    json_uint(json, "looked_ns", f->looked_ns);
    json_begin_object(json, "service");
    json_uint(json, "workers", s->workers);
    json_uint(json, "queues", s->queues);
    json_uint(json, "clients", s->clients);
    json_uint(json, "ports", s->ports);
    json_uint(json, "plugins", s->plugins);
    json_uint(json, "actors", s->actors);
    json_uint(json, "executor_restarts", s->executor_restarts);
    json_string(json, "stealing", s->stealing);
    json_end_object(json);
    json_begin_object(json, "totals");
    for (size_t i = 0; i < f->n; i++)
        if (f->figures[i].kind == ODEON_STATS_COUNTER)
            json_double(json, f->figures[i].name, figures_total(f, i));
    json_end_object(json);
}

static void status_place(int cpu, struct json *json)
{
    struct topology_place place = topology_find(cpu);

    json_double(json, "core", place.core);
    json_double(json, "l2", place.l2);
    json_double(json, "l3", place.l3);
    json_double(json, "node", place.node);
}

static void status_workers(const struct status *status, struct json *json)
{
    static const char *const names[] = { "state",   "handler_overdue",
                                         "resting", "messages_processed",
                                         "steals",  "parks" };
    const struct figures *f = status->figures;

    json_begin_array(json, "workers");
    for (unsigned k = 0; k < f->n_workers && k < STATUS_WORKERS; k++) {
        json_begin_object(json, NULL);
        json_uint(json, "worker", k);
        json_double(json, "cpu", f->cpus[k]);
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
            json_double(json, names[i], figures_of_block(f, figures_find(f, names[i]), k));
        status_place(f->cpus[k], json);
        json_end_object(json);
    }
    json_end_array(json);
}

/* ---- with the token (status.S1) ---- */

static void status_types(struct odeon_observer *observer, struct json *json)
{
    struct odeon_list *list = NULL;
    const struct odeon_type_figures *rows;

    if (odeon_observe_types(observer, 1, &list) < 0)
        return;
    rows = list->rows;
    json_begin_array(json, "types");
    for (size_t i = 0; i < list->n && i < STATUS_ROWS; i++) {
        json_begin_object(json, NULL);
        json_string(json, "type", rows[i].type);
        json_string(json, "plugin", rows[i].plugin);
        json_uint(json, "messages", rows[i].messages);
        json_uint(json, "sends", rows[i].sends);
        json_uint(json, "run_ns", rows[i].run_ns);
        json_uint(json, "run_p99_ns", rows[i].run_p99_ns);
        json_uint(json, "wait_p99_ns", rows[i].wait_p99_ns);
        json_uint(json, "actors", rows[i].actors);
        json_uint(json, "state_bytes", rows[i].state_bytes);
        json_end_object(json);
    }
    json_end_array(json);
    odeon_list_free(list);
}

static void status_flows(struct odeon_observer *observer, struct json *json)
{
    struct odeon_list *list = NULL;
    const struct odeon_flow_figures *rows;

    if (odeon_observe_flows(observer, &list) < 0)
        return;
    rows = list->rows;
    json_begin_array(json, "flows");
    for (size_t i = 0; i < list->n && i < STATUS_FLOWS; i++) {
        json_begin_object(json, NULL);
        json_string(json, "from", rows[i].from);
        json_uint(json, "port", rows[i].port);
        json_string(json, "to", rows[i].to);
        json_double(json, "rate", rows[i].most);
        json_end_object(json);
    }
    json_end_array(json);
    odeon_list_free(list);
}

/* Nothing of an older service. */
static void status_traffic(const struct odeon_traffic *traffic, struct json *json)
{
    if (!traffic->known)
        return;
    json_uint(json, "posts", traffic->posts);
    json_uint(json, "refused", traffic->refused);
    json_uint(json, "calls_answered", traffic->calls_answered);
    json_uint(json, "call_p99_ns", traffic->call_p99_ns);
}

static void status_clients(const struct odeon_list *list, struct json *json)
{
    const struct odeon_client_info *rows = list->rows;

    json_begin_array(json, "clients");
    for (size_t i = 0; i < list->n && i < STATUS_ROWS; i++) {
        json_begin_object(json, NULL);
        json_uint(json, "id", rows[i].id);
        json_string(json, "name", rows[i].name);
        json_uint(json, "uid", rows[i].uid);
        json_uint(json, "pid", rows[i].pid);
        json_uint(json, "ports", rows[i].ports);
        status_traffic(&rows[i].traffic, json);
        json_end_object(json);
    }
    json_end_array(json);
}

static void status_queues(const struct odeon_list *list, struct json *json)
{
    const struct odeon_queue_info *rows = list->rows;

    json_begin_array(json, "queues");
    for (size_t i = 0; i < list->n && i < STATUS_ROWS; i++) {
        json_begin_object(json, NULL);
        json_uint(json, "id", rows[i].id);
        json_uint(json, "home", rows[i].home);
        json_uint(json, "owner", rows[i].owner);
        json_uint(json, "bytes", rows[i].bytes + rows[i].urgent_bytes);
        json_uint(json, "actors", rows[i].actors);
        json_end_object(json);
    }
    json_end_array(json);
}

static void status_named(const struct status *status, struct json *json)
{
    if (status->observed) {
        status_types(status->observed->observer, json);
        status_flows(status->observed->observer, json);
    } else {
        json_string(json, "types_why", "the service does not tell, or has not yet");
    }
    if (status->asked->now.clients)
        status_clients(status->asked->now.clients, json);
    if (status->asked->now.queues)
        status_queues(status->asked->now.queues, json);
}

int status_write(const struct status *status, struct buffer *out)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    struct json json;

    if (!file)
        return -ENOMEM;
    json_begin_document(&json, file);
    json_bool(&json, "readable", status->readable);
    json_bool(&json, "token", status->token);
    if (status->readable) {
        status_service(status, &json);
        status_workers(status, &json);
    }
    if (status->token)
        status_named(status, &json);
    json_end_document(&json);
    if (fclose(file) == 0)
        buffer_add(out, text, size);
    else
        out->failed = true;
    free(text);
    return out->failed ? -ENOMEM : 0;
}
