/* SPDX-License-Identifier: Apache-2.0 */
/* Clients as others see them: list, show, kick. All but the executor's figures are answered also
 * while it is down. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/common/log.h"
#include "daemon/supervisor/audit.h"
#include "daemon/supervisor/commands_client.h"
#include "daemon/supervisor/commands_executor.h"
#include "daemon/supervisor/configuration.h"
#include "daemon/supervisor/seat.h"
#include "daemon/supervisor/traffic.h"

enum {
    ROWS_DEFAULT = 64,
    REPLY_ROOM = 64 /* for what surrounds the rows in a frame */,
    USAGES_MAX = 8
};

static void commands_client_fill_row(const struct port_table *ports, const struct client *client,
                                     Odeon__Client *row, Odeon__Traffic *traffic,
                                     char roles[ROLES_TEXT_MAX])
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
    row->roles = (char *)roles_describe(client->roles, roles);
    row->command = (char *)client->peer.command;
    traffic_of_client(ports, client->id, traffic);
    row->traffic = traffic;
}

/* The next client that goes into a listing: one that has said hello, with a greater id. */
static const struct client *commands_client_next_row(const struct client *client, uint64_t after)
{
    while (client && (!client->said_hello || client->id <= after))
        client = client->next;
    return client;
}

void command_client_list(struct seat *seat, struct client *client, Odeon__Request **request,
                         struct frame *frame)
{
    const Odeon__Page *page = (*request)->client_list->page;
    uint32_t wanted = page && page->rows ? page->rows : ROWS_DEFAULT;
    Odeon__Client rows[ODEON_PAGE_ROWS_MAX], *list[ODEON_PAGE_ROWS_MAX];
    char roles[ODEON_PAGE_ROWS_MAX][ROLES_TEXT_MAX];
    Odeon__Traffic traffic[ODEON_PAGE_ROWS_MAX];
    Odeon__ClientListReply body = ODEON__CLIENT_LIST_REPLY__INIT;
    Odeon__Reply reply = ODEON__REPLY__INIT;
    const struct client *row =
        commands_client_next_row(seat->service->clients->first, page ? page->after : 0);
    size_t room = ODEON_CONTROL_FRAME_MAX - REPLY_ROOM;

    (void)frame;
    if (wanted > ODEON_PAGE_ROWS_MAX)
        wanted = ODEON_PAGE_ROWS_MAX;
    body.clients = list;
    while (row && body.n_clients < wanted) {
        Odeon__Client *to = &rows[body.n_clients];
        size_t size;

        commands_client_fill_row(&seat->ports, row, to, &traffic[body.n_clients],
                                 roles[body.n_clients]);
        size = odeon__client__get_packed_size(to) + 8; /* tag and length */
        if (size > room)
            break;
        room -= size;
        list[body.n_clients++] = to;
        row = commands_client_next_row(row->next, 0);
    }
    body.more = row != NULL;
    reply.id = (*request)->id;
    reply.body_case = ODEON__REPLY__BODY_CLIENT_LIST;
    reply.client_list = &body;
    client_send(client, &reply, NULL, 0);
}

static struct client *commands_client_find_other(struct client *asker, uint64_t request_id,
                                                 uint64_t id)
{
    struct client *other = clients_find(asker->clients, id);

    if (!other || !other->said_hello)
        client_refuse(asker, request_id, -ENOENT,
                      "there is no client %" PRIu64 "; odeonctl client list shows who is there",
                      id);
    return other && other->said_hello ? other : NULL;
}

/* The supervisor's quotas, and behind them what the executor had to say. */
static void commands_client_send_show(const struct seat *seat, struct client *asker,
                                      uint64_t request_id, const struct client *shown,
                                      const Odeon__ClientShowReply *executors)
{
    const struct account *account = account_find(asker->clients->world.accounts, shown->uid);
    Odeon__Usage own[QUOTA_N], *list[QUOTA_N + USAGES_MAX];
    Odeon__ClientShowReply body = ODEON__CLIENT_SHOW_REPLY__INIT;
    Odeon__Client row;
    Odeon__Traffic traffic;
    Odeon__Reply reply = ODEON__REPLY__INIT;
    char roles[ROLES_TEXT_MAX];

    commands_client_fill_row(&seat->ports, shown, &row, &traffic, roles);
    for (unsigned i = 0; i < QUOTA_N; i++) {
        odeon__usage__init(&own[i]);
        own[i].name = (char *)quota_name((enum quota)i);
        own[i].client = shown->held.amounts[i];
        own[i].user = account ? account->used.amounts[i] : 0;
        own[i].limit = asker->clients->world.config->quotas.limits[i];
        list[body.n_usage++] = &own[i];
    }
    for (size_t i = 0; executors && i < executors->n_usage && i < USAGES_MAX; i++)
        list[body.n_usage++] = executors->usage[i];
    if (executors) {
        body.ports = executors->ports;
        body.n_ports = executors->n_ports;
    }
    body.client = &row;
    body.usage = list;
    body.bound = client_is_bound(shown);
    body.refusals = account ? account->refusals : 0;
    reply.id = request_id;
    reply.body_case = ODEON__REPLY__BODY_CLIENT_SHOW;
    reply.client_show = &body;
    client_send(asker, &reply, NULL, 0);
}

/* Both may have gone meanwhile.  An executor that does not answer leaves its figures out. */
static void commands_client_on_show(void *userdata, struct link_request *request,
                                    Odeon__Reply *reply)
{
    struct seat *seat = userdata;
    struct client *asker = clients_find(seat->service->clients, request->asker.client_id), *shown;

    if (!asker)
        return;
    client_end_request(asker);
    shown = commands_client_find_other(asker, request->tag, request->request->client_show->id);
    if (shown)
        commands_client_send_show(seat, asker, request->tag, shown,
                                  reply->error == 0 &&
                                          reply->body_case == ODEON__REPLY__BODY_CLIENT_SHOW
                                      ? reply->client_show
                                      : NULL);
}

/* The executor does not know whose a port is. */
static int commands_client_name_ports(const struct seat *seat, const struct client *shown,
                                      Odeon__ClientShow *show)
{
    free(show->ports);
    show->n_ports = 0;
    show->ports = calloc(2 * ODEON_PORTS_PER_CLIENT_MAX, sizeof(*show->ports));
    if (!show->ports)
        return -ENOMEM;
    show->uid = shown->uid;
    for (uint32_t i = 0; i < ODEON_PORTS_MAX && show->n_ports < 2 * ODEON_PORTS_PER_CLIENT_MAX;
         i++) {
        const struct seat_port *port = &seat->ports.ports[i];

        if (port->state != PORT_OPEN || port->client_id != shown->id)
            continue;
        show->ports[show->n_ports++] = port->index;
        show->ports[show->n_ports++] = port->generation;
    }
    return 0;
}

void command_client_show(struct seat *seat, struct client *client, Odeon__Request **request,
                         struct frame *frame)
{
    struct client *shown =
        commands_client_find_other(client, (*request)->id, (*request)->client_show->id);

    (void)frame;
    if (!shown)
        return;
    if (seat->executor.state != LINK_READY || seat->stopping)
        commands_client_send_show(seat, client, (*request)->id, shown, NULL);
    else if (commands_client_name_ports(seat, shown, (*request)->client_show) < 0)
        client_refuse(client, (*request)->id, -ENOMEM, "no memory");
    else
        command_ask_executor(seat, client, request, -1, commands_client_on_show);
}

void command_client_kick(struct seat *seat, struct client *client, Odeon__Request **request,
                         struct frame *frame)
{
    struct client *other =
        commands_client_find_other(client, (*request)->id, (*request)->client_kick->id);
    Odeon__Reply reply = ODEON__REPLY__INIT;
    Odeon__Ok ok = ODEON__OK__INIT;
    char why[160];

    (void)seat;
    (void)frame;
    if (!other)
        return;
    if (other == client) {
        client_refuse(client, (*request)->id, -EINVAL, "client %" PRIu64 " is you", client->id);
        return;
    }
    snprintf(why, sizeof(why), "thrown out by process %d, user %u", (int)client->pid, client->uid);
    audit_kick(client, other);
    client_refuse(other, 0, -ECONNABORTED, "%s", why);
    client_drop(other, why);
    reply.id = (*request)->id;
    reply.body_case = ODEON__REPLY__BODY_OK;
    reply.ok = &ok;
    client_send(client, &reply, NULL, 0);
}
