/* SPDX-License-Identifier: Apache-2.0 */
/* Clients of the service, the caller's among them: listed, one of them with what its user has of
 * each quota, thrown out. Any thread.
 */
#include <errno.h>

#include "client-lib/src/admin_call.h"
#include "client-lib/src/traffic.h"

static struct odeon_client_info client_copy(void *result, const Odeon__Client *from)
{
    return (struct odeon_client_info){
        .id = from->id,
        .pid = from->pid,
        .uid = from->uid,
        .ports = from->ports,
        .broken_ports = from->broken_ports,
        .connected_ns = from->connected_ns,
        .name = arena_string(result, from->name),
        .library = arena_string(result, from->library),
        .roles = arena_string(result, from->roles),
        .command = arena_string(result, from->command),
        .traffic = traffic_copy(from->traffic),
    };
}

static int client_fill_list(const struct admin_call *call, void *result, const Odeon__Reply *reply)
{
    const Odeon__ClientListReply *from = reply->client_list;
    struct odeon_list *list = result;
    struct odeon_client_info *rows =
        admin_list_rows(call, list, from->n_clients, sizeof(*rows), from->more);

    for (size_t i = 0; i < list->n; i++) {
        rows[i] = client_copy(list, from->clients[i]);
        list->next = rows[i].id;
    }
    return 0;
}

int odeon_client_list(struct odeon_client *client, uint64_t after, uint32_t rows,
                      struct odeon_list **ret)
{
    Odeon__Page page = admin_page(after, rows);
    Odeon__ClientList body = ODEON__CLIENT_LIST__INIT;

    body.page = &page;
    return admin_call(client, &(struct admin_call){ .request = ODEON__REQUEST__BODY_CLIENT_LIST,
                                                    .body = &body,
                                                    .reply = ODEON__REPLY__BODY_CLIENT_LIST,
                                                    .size = sizeof(struct odeon_list),
                                                    .ret = ret,
                                                    .fill = client_fill_list,
                                                    .after = after });
}

static void client_fill_usage(struct odeon_client_detail *detail,
                              const Odeon__ClientShowReply *reply)
{
    detail->usage = arena_alloc(detail, reply->n_usage, sizeof(*detail->usage));
    for (; detail->usage && detail->n_usage < reply->n_usage; detail->n_usage++) {
        const Odeon__Usage *from = reply->usage[detail->n_usage];

        detail->usage[detail->n_usage] = (struct odeon_usage){
            .name = arena_string(detail, from->name),
            .client = from->client,
            .user = from->user,
            .client_known = !from->user_only,
            .user_known = !from->client_only,
            .limit = from->limit,
            .unlimited = from->unlimited || !reply->bound,
            .per_second = from->per_second,
        };
    }
}

static void client_fill_ports(struct odeon_client_detail *detail,
                              const Odeon__ClientShowReply *reply)
{
    detail->ports = arena_alloc(detail, reply->n_ports, sizeof(*detail->ports));
    for (; detail->ports && detail->n_ports < reply->n_ports; detail->n_ports++) {
        const Odeon__ClientPort *from = reply->ports[detail->n_ports];

        detail->ports[detail->n_ports] = (struct odeon_port_info){
            .id = from->port_id,
            .ref = from->ref,
            .posts = from->posts,
            .not_taken = from->not_taken,
            .delivered = from->delivered,
            .not_received = from->not_received,
            .backlog = from->backlog,
            .dropped = from->dropped,
            .waits_for = arena_string(detail, from->waits_for),
            .refused = from->refused,
        };
    }
}

static int client_fill_detail(const struct admin_call *call, void *result,
                              const Odeon__Reply *reply)
{
    const Odeon__ClientShowReply *from = reply->client_show;
    struct odeon_client_detail *detail = result;

    (void)call;
    if (!from->client)
        return error_set_literal(-EPROTO, "the service's answer lacks the client");
    detail->struct_size = sizeof(*detail);
    detail->bound = from->bound;
    detail->refusals = from->refusals;
    detail->client = client_copy(detail, from->client);
    client_fill_usage(detail, from);
    client_fill_ports(detail, from);
    return 0;
}

int odeon_client_show(struct odeon_client *client, uint64_t id, struct odeon_client_detail **ret)
{
    Odeon__ClientShow body = ODEON__CLIENT_SHOW__INIT;

    body.id = id;
    return admin_call(client, &(struct admin_call){ .request = ODEON__REQUEST__BODY_CLIENT_SHOW,
                                                    .body = &body,
                                                    .reply = ODEON__REPLY__BODY_CLIENT_SHOW,
                                                    .size = sizeof(struct odeon_client_detail),
                                                    .ret = ret,
                                                    .fill = client_fill_detail });
}

int odeon_client_kick(struct odeon_client *client, uint64_t id)
{
    Odeon__ClientKick body = ODEON__CLIENT_KICK__INIT;

    body.id = id;
    return admin_call(client, &(struct admin_call){ .request = ODEON__REQUEST__BODY_CLIENT_KICK,
                                                    .body = &body,
                                                    .reply = ODEON__REPLY__BODY_OK });
}
