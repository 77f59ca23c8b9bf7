/* SPDX-License-Identifier: Apache-2.0 */
/* Administration: pages of listings.  Any thread.
 *
 * `next` of a page is what the service takes as "rows after this": the last row's key (clients: id;
 * actors: slot + 1;
 * queues: id + 1),
 * or the number of rows so far where rows have no key of their own (plugins, actor types).
 */
#include "client-lib/src/admin_list.h"

#include <errno.h>

#include "client-lib/src/arena.h"
#include "client-lib/src/connect.h"
#include "client-lib/src/error.h"
#include "proto/envelope.h"

const char **admin_copy_strings(void *result, char *const *strings, size_t n, size_t *ret_n)
{
    const char **copies = arena_alloc(result, n, sizeof(*copies));

    *ret_n = copies ? n : 0;
    for (size_t i = 0; i < *ret_n; i++)
        copies[i] = arena_string(result, strings[i]);
    return copies;
}

void admin_fill_actor(void *result, const Odeon__Actor *from, struct odeon_actor_info *to)
{
    *to = (struct odeon_actor_info){
        .ref = from->ref,
        .spawned_by = from->spawned_by,
        .type = arena_string(result, from->type),
        .name = arena_string(result, from->name),
        .state = arena_string(result, from->state),
        .queue = from->queue,
        .worker = from->worker,
        .kind = arena_string(result, from->kind),
    };
}

/* Asks for a page: `page` has been put into the request. */
static int admin_list_ask_page(struct odeon_client *client, Odeon__Request *request,
                               Odeon__Reply__BodyCase expected, struct odeon_list **ret,
                               struct client_answer *ret_answer)
{
    if (!ret)
        return error_set_literal(-EINVAL, "no place for the list");
    *ret = NULL;
    return client_call(client, request, expected, ret_answer);
}

static struct odeon_list *list_new(size_t n, size_t row_size, int more)
{
    struct odeon_list *list = arena_new(sizeof(*list));

    if (!list)
        return NULL;
    list->rows = arena_alloc(list, n, row_size);
    list->n = list->rows ? n : 0;
    list->more = more;
    return list;
}

static int admin_list_finish(struct odeon_list *list, struct client_answer *answer,
                             struct odeon_list **ret)
{
    client_answer_fini(answer);
    if (!list || arena_failed(list)) {
        odeon_list_free(list);
        return error_set_literal(-ENOMEM, "no memory for the service's list");
    }
    *ret = list;
    return 0;
}

int odeon_admin_plugin_list(struct odeon_client *client, uint64_t after, uint32_t rows,
                            struct odeon_list **ret)
{
    Odeon__Page page = ODEON__PAGE__INIT;
    Odeon__PluginList body = ODEON__PLUGIN_LIST__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;
    const Odeon__PluginListReply *reply;
    struct client_answer answer;
    struct odeon_list *list;
    int result;

    page.after = after;
    page.rows = rows;
    body.page = &page;
    request.body_case = ODEON__REQUEST__BODY_PLUGIN_LIST;
    request.plugin_list = &body;
    result = admin_list_ask_page(client, &request, ODEON__REPLY__BODY_PLUGIN_LIST, ret, &answer);
    if (result < 0)
        return result;
    reply = answer.reply->plugin_list;
    list = list_new(reply->n_plugins, sizeof(struct odeon_plugin_info), reply->more);
    for (size_t i = 0; list && i < list->n; i++) {
        struct odeon_plugin_info *row = (struct odeon_plugin_info *)list->rows + i;
        const Odeon__Plugin *from = reply->plugins[i];

        row->name = arena_string(list, from->name);
        row->version = arena_string(list, from->version);
        row->path = arena_string(list, from->path);
        row->actors = from->actors;
        row->types = admin_copy_strings(list, from->types, from->n_types, &row->n_types);
    }
    if (list)
        list->next = after + list->n;
    return admin_list_finish(list, &answer, ret);
}

int odeon_admin_type_list(struct odeon_client *client, uint64_t after, uint32_t rows,
                          struct odeon_list **ret)
{
    Odeon__Page page = ODEON__PAGE__INIT;
    Odeon__TypeList body = ODEON__TYPE_LIST__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;
    const Odeon__TypeListReply *reply;
    struct client_answer answer;
    struct odeon_list *list;
    int result;

    page.after = after;
    page.rows = rows;
    body.page = &page;
    request.body_case = ODEON__REQUEST__BODY_TYPE_LIST;
    request.type_list = &body;
    result = admin_list_ask_page(client, &request, ODEON__REPLY__BODY_TYPE_LIST, ret, &answer);
    if (result < 0)
        return result;
    reply = answer.reply->type_list;
    list = list_new(reply->n_types, sizeof(struct odeon_type_info), reply->more);
    for (size_t i = 0; list && i < list->n; i++) {
        struct odeon_type_info *row = (struct odeon_type_info *)list->rows + i;
        const Odeon__ActorType *from = reply->types[i];

        row->name = arena_string(list, from->name);
        row->plugin = arena_string(list, from->plugin);
        row->restart = arena_string(list, from->restart);
        row->overflow = arena_string(list, from->overflow);
        row->version = from->version;
        row->state_size = from->state_size;
        row->actors = from->live;
        row->loaded = from->loaded;
        row->quarantined = from->quarantined;
        row->accepts = admin_copy_strings(list, from->accepts, from->n_accepts, &row->n_accepts);
    }
    if (list)
        list->next = after + list->n;
    return admin_list_finish(list, &answer, ret);
}

int odeon_admin_actor_list(struct odeon_client *client, const char *type, uint64_t after,
                           uint32_t rows, struct odeon_list **ret)
{
    Odeon__Page page = ODEON__PAGE__INIT;
    Odeon__ActorList body = ODEON__ACTOR_LIST__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;
    const Odeon__ActorListReply *reply;
    struct client_answer answer;
    struct odeon_list *list;
    int result;

    page.after = after;
    page.rows = rows;
    body.page = &page;
    body.type = (char *)(uintptr_t)(type ? type : "");
    request.body_case = ODEON__REQUEST__BODY_ACTOR_LIST;
    request.actor_list = &body;
    result = admin_list_ask_page(client, &request, ODEON__REPLY__BODY_ACTOR_LIST, ret, &answer);
    if (result < 0)
        return result;
    reply = answer.reply->actor_list;
    list = list_new(reply->n_actors, sizeof(struct odeon_actor_info), reply->more);
    for (size_t i = 0; list && i < list->n; i++)
        admin_fill_actor(list, reply->actors[i], (struct odeon_actor_info *)list->rows + i);
    if (list)
        list->next =
            list->n ? (uint64_t)actor_ref_slot(reply->actors[list->n - 1]->ref) + 1 : after;
    return admin_list_finish(list, &answer, ret);
}

int odeon_admin_queue_list(struct odeon_client *client, const char *kind, uint64_t after,
                           uint32_t rows, struct odeon_list **ret)
{
    Odeon__Page page = ODEON__PAGE__INIT;
    Odeon__QueueList body = ODEON__QUEUE_LIST__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;
    const Odeon__QueueListReply *reply;
    struct client_answer answer;
    struct odeon_list *list;
    int result;

    page.after = after;
    page.rows = rows;
    body.page = &page;
    body.kind = (char *)(uintptr_t)(kind ? kind : "");
    request.body_case = ODEON__REQUEST__BODY_QUEUE_LIST;
    request.queue_list = &body;
    result = admin_list_ask_page(client, &request, ODEON__REPLY__BODY_QUEUE_LIST, ret, &answer);
    if (result < 0)
        return result;
    reply = answer.reply->queue_list;
    list = list_new(reply->n_queues, sizeof(struct odeon_queue_info), reply->more);
    for (size_t i = 0; list && i < list->n; i++) {
        const Odeon__Queue *from = reply->queues[i];

        ((struct odeon_queue_info *)list->rows)[i] = (struct odeon_queue_info){
            .id = from->id,
            .home = from->home,
            .owner = from->owner,
            .bytes = from->bytes,
            .actors = from->actors,
            .urgent_bytes = from->urgent_bytes,
            .retiring = from->retiring,
            .kind = arena_string(list, from->kind),
        };
    }
    if (list)
        list->next = list->n ? (uint64_t)reply->queues[list->n - 1]->id + 1 : after;
    return admin_list_finish(list, &answer, ret);
}

struct odeon_client_info admin_client_info(void *arena, const Odeon__Client *from)
{
    return (struct odeon_client_info){
        .id = from->id,
        .pid = from->pid,
        .uid = from->uid,
        .ports = from->ports,
        .broken_ports = from->broken_ports,
        .connected_ns = from->connected_ns,
        .name = arena_string(arena, from->name),
        .library = arena_string(arena, from->library),
        .roles = arena_string(arena, from->roles),
        .command = arena_string(arena, from->command),
    };
}

int odeon_admin_client_list(struct odeon_client *client, uint64_t after, uint32_t rows,
                            struct odeon_list **ret)
{
    Odeon__Page page = ODEON__PAGE__INIT;
    Odeon__ClientList body = ODEON__CLIENT_LIST__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;
    const Odeon__ClientListReply *reply;
    struct client_answer answer;
    struct odeon_list *list;
    int result;

    page.after = after;
    page.rows = rows;
    body.page = &page;
    request.body_case = ODEON__REQUEST__BODY_CLIENT_LIST;
    request.client_list = &body;
    result = admin_list_ask_page(client, &request, ODEON__REPLY__BODY_CLIENT_LIST, ret, &answer);
    if (result < 0)
        return result;
    reply = answer.reply->client_list;
    list = list_new(reply->n_clients, sizeof(struct odeon_client_info), reply->more);
    for (size_t i = 0; list && i < list->n; i++)
        ((struct odeon_client_info *)list->rows)[i] = admin_client_info(list, reply->clients[i]);
    if (list)
        list->next = list->n ? reply->clients[list->n - 1]->id : after;
    return admin_list_finish(list, &answer, ret);
}
