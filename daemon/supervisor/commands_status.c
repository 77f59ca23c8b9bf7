/* SPDX-License-Identifier: Apache-2.0 */
/* What odeond says about itself: status and clients.  Answered also while the executor is down. */
#include <errno.h>
#include <odeon/version.h>
#include <stdio.h>
#include <string.h>

#include "daemon/supervisor/commands.h"
#include "daemon/supervisor/supervisor.h"

enum { ROWS_DEFAULT = 64, REPLY_ROOM = 64 /* for what surrounds the rows in a frame */ };

void command_status(struct supervisor *supervisor, struct client *client, Odeon__Request **request, struct frame *frame)
{
    const struct stats_header *header = supervisor->stats.header;
    Odeon__Reply reply = ODEON__REPLY__INIT;
    Odeon__StatusReply body = ODEON__STATUS_REPLY__INIT;
    char stealing[sizeof(header->stealing_name)], steal_mode[sizeof(header->steal_mode_name)];

    (void)frame;
    memcpy(stealing, header->stealing_name, sizeof(stealing));
    memcpy(steal_mode, header->steal_mode_name, sizeof(steal_mode));
    stealing[sizeof(stealing) - 1] = '\0'; /* the executor writes them: its word is not enough */
    steal_mode[sizeof(steal_mode) - 1] = '\0';
    body.version = (char *)ODEON_VERSION;
    body.state = (char *)supervisor_state_name(supervisor_get_state(supervisor));
    body.supervisor_pid = atomic_load_explicit(&header->supervisor_pid, memory_order_relaxed);
    body.executor_pid = (uint32_t)supervisor->executor.child.pid;
    body.uptime_ns = uv_hrtime() - supervisor->started_ns;
    body.executor_restarts = supervisor->boot.restarts;
    body.workers = atomic_load_explicit(&header->n_workers, memory_order_relaxed);
    body.queues = atomic_load_explicit(&header->n_queues, memory_order_relaxed);
    body.plugins = (uint32_t)plugin_store_count_loaded(&supervisor->plugins);
    body.clients = supervisor->clients.n;
    body.ports = supervisor_count_ports(supervisor);
    body.actors = stats_file_count_actors(&supervisor->stats);
    body.stealing = stealing;
    body.throughput = atomic_load_explicit(&header->throughput, memory_order_relaxed);
    body.steal_mode = steal_mode;
    body.reconfigurations = atomic_load_explicit(&header->reconfigurations, memory_order_relaxed);
    body.reconfigure_last_ns = atomic_load_explicit(&header->pause_last_ns, memory_order_relaxed);
    body.reconfigure_longest_ns = atomic_load_explicit(&header->pause_longest_ns, memory_order_relaxed);
    body.runtime_dir = supervisor->runtime.dir;
    reply.id = (*request)->id;
    reply.body_case = ODEON__REPLY__BODY_STATUS;
    reply.status = &body;
    client_send(client, &reply, NULL, 0);
}

static void fill_row(const struct client *client, Odeon__Client *row)
{
    odeon__client__init(row);
    row->id = client->id;
    row->name = (char *)client->name;
    row->pid = (uint32_t)client->pid;
    row->uid = client->uid;
    row->ports = client->n_ports;
    row->connected_ns = uv_hrtime() - client->connected_ns;
    row->library = (char *)client->library;
    row->broken_ports = client->n_broken_ports;
}

/* The next client that goes into a listing: one that has said hello, with a greater id. */
static const struct client *next_row(const struct client *client, uint64_t after)
{
    while (client && (!client->said_hello || client->id <= after))
        client = client->next;
    return client;
}

void command_client_list(struct supervisor *supervisor, struct client *client, Odeon__Request **request,
                         struct frame *frame)
{
    const Odeon__Page *page = (*request)->client_list->page;
    uint32_t wanted = page && page->rows ? page->rows : ROWS_DEFAULT;
    Odeon__Client rows[ODEON_PAGE_ROWS_MAX], *list[ODEON_PAGE_ROWS_MAX];
    Odeon__ClientListReply body = ODEON__CLIENT_LIST_REPLY__INIT;
    Odeon__Reply reply = ODEON__REPLY__INIT;
    const struct client *row = next_row(supervisor->clients.first, page ? page->after : 0);
    size_t room = ODEON_CONTROL_FRAME_MAX - REPLY_ROOM;

    (void)frame;
    if (wanted > ODEON_PAGE_ROWS_MAX)
        wanted = ODEON_PAGE_ROWS_MAX;
    body.clients = list;
    while (row && body.n_clients < wanted) {
        Odeon__Client *to = &rows[body.n_clients];
        size_t size;

        fill_row(row, to);
        size = odeon__client__get_packed_size(to) + 8; /* tag and length */
        if (size > room)
            break;
        room -= size;
        list[body.n_clients++] = to;
        row = next_row(row->next, 0);
    }
    body.more = row != NULL;
    reply.id = (*request)->id;
    reply.body_case = ODEON__REPLY__BODY_CLIENT_LIST;
    reply.client_list = &body;
    client_send(client, &reply, NULL, 0);
}
