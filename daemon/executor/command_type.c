/* SPDX-License-Identifier: Apache-2.0 */
/* Requests about message types and actor types. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "daemon/common/log.h"
#include "daemon/common/name.h"
#include "daemon/common/share.h"
#include "daemon/executor/command.h"
#include "daemon/executor/command_type.h"
#include "daemon/executor/plugin_descriptor.h"

/* Left to whom quotas do not bind, and to plugins. */
enum { TYPES_RESERVE = 512 };

static int command_type_reply_message_type(struct reply *reply,
                                           const struct engine_message_type *type)
{
    Odeon__MessageType *body = reply_alloc(reply, sizeof(*body));

    if (!body)
        return -ENOMEM;
    odeon__message_type__init(body);
    body->id = type->id;
    body->name = reply_string(type->name);
    body->version = type->version;
    body->size = type->size;
    body->tail = type->has_tail != 0;
    body->fields = reply_string(type->fields);
    reply->message.message_type = body;
    reply->message.body_case = ODEON__REPLY__BODY_MESSAGE_TYPE;
    return 0;
}

/* A client's word is no better than a plugin's. */
static int command_type_check_message_type(const Odeon__MessageType *type, struct explain *explain)
{
    if (!type)
        return explain_set(explain, -EINVAL, "the request names no message type");
    if (!name_is_good(type->name))
        return explain_set(
            explain, -EINVAL,
            "message type '%.64s': 1 to %d letters, digits, '_', '.' or '-' make a name",
            type->name, ODEON_NAME_MAX);
    if (type->version == 0)
        return explain_set(explain, -EINVAL, "message %s has version 0: versions begin with 1",
                           type->name);
    if (type->size > ODEON_PAYLOAD_MAX)
        return explain_set(explain, -EMSGSIZE, "message %s has %u bytes: at most %d are allowed",
                           type->name, type->size, ODEON_PAYLOAD_MAX);
    if (strlen(type->fields) > ODEON_FIELDS_MAX)
        return explain_set(explain, -EINVAL,
                           "message %s: the description of its fields is too long: at most %d "
                           "characters are allowed",
                           type->name, ODEON_FIELDS_MAX);
    return 0;
}

/* What a user's clients may make known: it is known for ever. */
static int command_type_check_share(const struct executor *executor, uint32_t account,
                                    struct explain *explain)
{
    enum { MOST = ODEON_MESSAGE_TYPES_MAX - MESSAGE_TYPE_FIRST_USER - TYPES_RESERVE };
    uint32_t own, all = engine_message_types_count(executor->engine, account, &own);

    if (!executor->asker.bound || share_room(MOST, all - own, own, 1) > 0)
        return 0;
    return explain_set(explain, -EDQUOT,
                       "clients of user %u have made %u message types known; a user may have half "
                       "of what the others leave of %d, and %u are known in all",
                       executor->asker.uid, own, MOST, all);
}

/* Makes it known on the user's account. */
static int command_type_intern_new(struct executor *executor, const Odeon__MessageType *type,
                                   struct explain *explain, uint16_t *ret_id)
{
    uint32_t account = executor->asker.client ? actor_account_of(executor->asker.uid) : 0;
    int r;

    if (!executor->asker.may_register)
        return explain_set(
            explain, -EACCES,
            "message %s version %u is not known here, and making it known needs the role register",
            type->name, type->version);
    r = command_type_check_share(executor, account, explain);
    if (r < 0)
        return r;
    r = engine_message_type_intern(executor->engine, type->name, type->version, type->size,
                                   type->tail, type->fields, ret_id);
    if (r == 0)
        engine_message_type_charge(executor->engine, *ret_id, account);
    return r;
}

int command_message_type_intern(struct executor *executor, const Odeon__Request *request,
                                struct frame *frame, struct reply *reply)
{
    const Odeon__MessageType *type = request->message_type_intern->type;
    struct engine_message_type known;
    uint16_t id;
    int r;

    (void)frame;
    r = command_type_check_message_type(type, &reply->explain);
    if (r < 0)
        return r;
    if (engine_message_type_find(executor->engine, type->name, type->version, &known) < 0)
        r = command_type_intern_new(executor, type, &reply->explain, &id);
    else
        r = engine_message_type_intern(executor->engine, type->name, type->version, type->size,
                                       type->tail, type->fields, &id);
    if (r == -EBADMSG &&
        engine_message_type_find(executor->engine, type->name, type->version, &known) == 0)
        return explain_set(
            &reply->explain, r,
            "message %s version %u has %u bytes%s and the fields '%s' here, but is known with %u "
            "bytes%s and the fields '%s': "
            "compile both sides with the same header",
            type->name, type->version, type->size, type->tail ? " and a tail" : "", type->fields,
            known.size, known.has_tail ? " and a tail" : "", known.fields);
    if (r == -ENOSPC)
        return explain_set(&reply->explain, r,
                           "no room for message %s: %d message types are known, which is the limit",
                           type->name, ODEON_MESSAGE_TYPES_MAX);
    if (r < 0)
        return r;
    r = engine_message_type_get(executor->engine, id, &known);
    return r < 0 ? r : command_type_reply_message_type(reply, &known);
}

int type_message_refuse(const char *name, uint32_t version, int error, struct explain *explain)
{
    if (error != -ENOENT)
        return error;
    if (version == 0)
        return explain_set(
            explain, error,
            "no message type '%.64s' is known: a plugin or client that uses it makes it known",
            name);
    return explain_set(explain, error, "no message type '%.64s' of version %u is known", name,
                       version);
}

int command_message_type_find(struct executor *executor, const Odeon__Request *request,
                              struct frame *frame, struct reply *reply)
{
    const Odeon__MessageTypeFind *find = request->message_type_find;
    struct engine_message_type type;
    int r;

    (void)frame;
    if (find->id != 0 && !*find->name) {
        r = find->id > UINT16_MAX
                ? -ENOENT
                : engine_message_type_get(executor->engine, (uint16_t)find->id, &type);
        return r < 0 ? explain_set(&reply->explain, r, "no message type has the id %" PRIu32,
                                   find->id)
                     : command_type_reply_message_type(reply, &type);
    }
    r = engine_message_type_find(executor->engine, find->name, find->version, &type);
    return r < 0 ? type_message_refuse(find->name, find->version, r, &reply->explain)
                 : command_type_reply_message_type(reply, &type);
}

int type_find(const struct executor *executor, const char *name,
              struct engine_actor_type_view *ret_view)
{
    for (uint32_t id = 1; engine_actor_type_get(executor->engine, id, ret_view) == 0; id++)
        if (strcmp(ret_view->name, name) == 0)
            return 0;
    return -ENOENT;
}

char **type_accepts(const struct executor *executor, const struct engine_actor_type_view *view,
                    struct reply *reply, size_t *ret_n)
{
    char **accepts = reply_alloc(reply, (view->n_behaviours + 1) * sizeof(*accepts));

    *ret_n = 0;
    if (!accepts)
        return NULL;
    for (uint32_t i = 0; i < view->n_behaviours; i++) {
        struct engine_message_type message;

        if (engine_message_type_get(executor->engine, view->behaviours[i].message_type, &message) ==
            0)
            accepts[(*ret_n)++] = reply_string(message.name);
    }
    return accepts;
}

static const char *command_type_restart_name(enum engine_restart restart)
{
    switch (restart) {
    case RESTART_STOP:
        return "stop";
    case RESTART_KEEP:
        return "keep";
    default:
        return "init";
    }
}

static Odeon__ActorType *type_row(const struct executor *executor,
                                  const struct engine_actor_type_view *view, struct reply *reply)
{
    Odeon__ActorType *row = reply_alloc(reply, sizeof(*row));

    if (!row)
        return NULL;
    odeon__actor_type__init(row);
    row->name = reply_string(view->name);
    row->plugin = reply_string(view->plugin);
    row->version = view->version;
    row->state_size = view->state_size;
    row->live = view->live;
    row->loaded = view->loaded;
    row->quarantined = view->quarantined;
    row->restart = reply_string(command_type_restart_name(view->restart));
    row->overflow = reply_string(engine_overflow_name(view->overflow));
    row->args_fields =
        reply_string(plugin_registry_find_args(executor->plugins, view->id, &row->args_size));
    row->accepts = type_accepts(executor, view, reply, &row->n_accepts);
    return row->accepts ? row : NULL;
}

/* `after`: ids are dense, so the last id of a page is the number of types seen. */
int command_type_list(struct executor *executor, const Odeon__Request *request, struct frame *frame,
                      struct reply *reply)
{
    const Odeon__Page *page = request->type_list->page;
    size_t n_rows = reply_page_rows(page);
    Odeon__TypeListReply *body = reply_alloc(reply, sizeof(*body));
    Odeon__ActorType **rows = reply_alloc(reply, n_rows * sizeof(*rows));
    uint64_t after = page ? page->after : 0;
    struct engine_actor_type_view view;

    (void)frame;
    if (!body || !rows)
        return -ENOMEM;
    odeon__type_list_reply__init(body);
    body->types = rows;
    for (uint64_t id = after + 1; after < ODEON_ACTOR_TYPES_MAX &&
                                  engine_actor_type_get(executor->engine, (uint32_t)id, &view) == 0;
         id++) {
        Odeon__ActorType *row = type_row(executor, &view, reply);

        if (!row)
            return -ENOMEM;
        body->more = body->n_types == n_rows || !reply_row_fits(reply, &row->base);
        if (body->more)
            break;
        rows[body->n_types++] = row;
    }
    reply->message.type_list = body;
    reply->message.body_case = ODEON__REPLY__BODY_TYPE_LIST;
    return 0;
}

int command_type_release(struct executor *executor, const Odeon__Request *request,
                         struct frame *frame, struct reply *reply)
{
    const char *name = request->type_release->name;
    struct engine_actor_type_view view;

    (void)frame;
    if (type_find(executor, name, &view) < 0)
        return explain_set(&reply->explain, -ENOENT,
                           "no actor type '%.64s' is known: 'type list' shows those that are",
                           name);
    if (engine_actor_type_release(executor->engine, view.id) != 0)
        return explain_set(&reply->explain, -EALREADY, "actor type %s is not in quarantine",
                           view.name);
    log_notice("actor type %s is run again", view.name);
    return reply_ok(reply);
}
