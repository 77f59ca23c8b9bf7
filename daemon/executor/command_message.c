/* SPDX-License-Identifier: Apache-2.0 */
/* Requests about who declares a message type, and who accepts it.  command_type.c makes them known
 * and finds them. */
#include <errno.h>

#include "daemon/executor/actor_quota.h"
#include "daemon/executor/command.h"
#include "daemon/executor/command_type.h"
#include "daemon/executor/plugin.h"

/* Names of accepting types in one answer: with those of all plugins they fit into a frame. */
enum { ACCEPTED_BY_MAX = 512 };

/* The loaded plugins that declare it. */
static bool command_message_add_plugins(const struct executor *executor, uint32_t id,
                                        struct reply *reply, Odeon__MessageDetail *row)
{
    unsigned n = plugin_registry_count(executor->plugins), declaring = 0;

    for (unsigned i = 0; i < n; i++)
        declaring += plugin_declares(plugin_registry_get(executor->plugins, i), id);
    row->plugins = reply_alloc(reply, (declaring + 1) * sizeof(*row->plugins));
    if (!row->plugins)
        return false;
    for (unsigned i = 0; i < n; i++) {
        const struct plugin *plugin = plugin_registry_get(executor->plugins, i);

        if (plugin_declares(plugin, id))
            row->plugins[row->n_plugins++] = reply_string(plugin_get_name(plugin));
    }
    return true;
}

/* All but who accepts it. */
static int command_message_init_row(const struct executor *executor,
                                    const struct engine_message_type *type, struct reply *reply,
                                    Odeon__MessageDetail *row)
{
    Odeon__MessageType *described = reply_alloc(reply, sizeof(*described));

    odeon__message_detail__init(row);
    if (!described || !command_message_add_plugins(executor, type->id, reply, row))
        return -ENOMEM;
    odeon__message_type__init(described);
    described->id = type->id;
    described->name = reply_string(type->name);
    described->version = type->version;
    described->size = type->size;
    described->tail = type->has_tail != 0;
    described->fields = reply_string(type->fields);
    row->type = described;
    row->by_user = type->account != 0;
    row->user = row->by_user ? actor_account_uid(type->account) : 0;
    return 0;
}

/* How many actor types accept each of the `n` message types from `first` on. One walk for all of a
 * page: there may be a thousand actor types with 255 behaviours each. */
static void command_message_count_accepting(const struct executor *executor, uint64_t first,
                                            size_t n, uint32_t *counts)
{
    struct engine_actor_type_view view;

    for (uint32_t id = 1; engine_actor_type_get(executor->engine, id, &view) == 0; id++)
        for (uint32_t i = 0; i < view.n_behaviours; i++) {
            uint64_t message = view.behaviours[i].message_type;

            if (message >= first && message - first < n)
                counts[message - first]++;
        }
}

/* `after`: the first id to look at. */
int command_message_list(struct executor *executor, const Odeon__Request *request,
                         struct frame *frame, struct reply *reply)
{
    const Odeon__Page *page = request->message_list->page;
    uint64_t after = page ? page->after : 0, first, at;
    size_t n_rows = reply_page_rows(page);
    Odeon__MessageListReply *body = reply_alloc(reply, sizeof(*body));
    Odeon__MessageDetail **rows = reply_alloc(reply, n_rows * sizeof(*rows));
    Odeon__MessageDetail *storage = reply_alloc(reply, n_rows * sizeof(*storage));
    uint32_t *accepting = reply_alloc(reply, n_rows * sizeof(*accepting));
    struct engine_message_type type;

    (void)frame;
    if (!body || !rows || !storage || !accepting)
        return -ENOMEM;
    odeon__message_list_reply__init(body);
    body->messages = rows;
    first = at = after < MESSAGE_TYPE_FIRST_USER ? MESSAGE_TYPE_FIRST_USER : after;
    command_message_count_accepting(executor, first, n_rows, accepting);
    for (; at < ODEON_MESSAGE_TYPES_MAX &&
           engine_message_type_get(executor->engine, (uint16_t)at, &type) == 0;
         at++) {
        Odeon__MessageDetail *row = &storage[body->n_messages];
        int r;

        body->more = body->n_messages == n_rows;
        if (body->more)
            break;
        r = command_message_init_row(executor, &type, reply, row);
        if (r < 0)
            return r;
        row->accepting = accepting[at - first];
        body->more = !reply_row_fits(reply, &row->base);
        if (body->more)
            break;
        rows[body->n_messages++] = row;
    }
    body->next = at;
    reply->message.message_list = body;
    reply->message.body_case = ODEON__REPLY__BODY_MESSAGE_LIST;
    return 0;
}

static bool command_message_is_accepted(const struct engine_actor_type_view *view, uint32_t id)
{
    for (uint32_t i = 0; i < view->n_behaviours; i++)
        if (view->behaviours[i].message_type == id)
            return true;
    return false;
}

int command_message_show(struct executor *executor, const Odeon__Request *request,
                         struct frame *frame, struct reply *reply)
{
    const Odeon__MessageShow *show = request->message_show;
    Odeon__MessageDetail *body = reply_alloc(reply, sizeof(*body));
    char **accepted_by = reply_alloc(reply, ACCEPTED_BY_MAX * sizeof(*accepted_by));
    struct engine_actor_type_view view;
    struct engine_message_type type;
    int r = engine_message_type_find(executor->engine, show->name, show->version, &type);

    (void)frame;
    if (r < 0)
        return type_message_refuse(show->name, show->version, r, &reply->explain);
    r = body && accepted_by ? command_message_init_row(executor, &type, reply, body) : -ENOMEM;
    if (r < 0)
        return r;
    body->accepted_by = accepted_by;
    for (uint32_t id = 1; engine_actor_type_get(executor->engine, id, &view) == 0; id++)
        if (command_message_is_accepted(&view, type.id)) {
            body->accepting++;
            if (body->n_accepted_by < ACCEPTED_BY_MAX)
                accepted_by[body->n_accepted_by++] = reply_string(view.name);
        }
    reply->message.message_detail = body;
    reply->message.body_case = ODEON__REPLY__BODY_MESSAGE_DETAIL;
    return 0;
}
