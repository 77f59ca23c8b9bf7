/* SPDX-License-Identifier: Apache-2.0 */
/* Message types: the id of one that the caller describes, the description of one by its name, the
 * list of all.  Any thread. */
#include <errno.h>
#include <string.h>

#include "client-lib/src/admin_call.h"

static int message_check_type(const struct odeon_message_type *type)
{
    int r;

    if (!type || type->struct_size < offsetof(struct odeon_message_type, id))
        return error_set_literal(
            -EINVAL, "message type: no description was given, or struct_size is not set");
    r = admin_check_name("message type", type->name);
    if (r < 0)
        return r;
    if (type->fields && strnlen(type->fields, ODEON_FIELDS_MAX + 1) > ODEON_FIELDS_MAX)
        return error_set(-EINVAL, "message type %s: its fields take more than %d bytes as written",
                         type->name, ODEON_FIELDS_MAX);
    if (type->size > ODEON_PAYLOAD_MAX)
        return error_set(-EMSGSIZE, "message type %s: %u bytes, at most %d can be sent", type->name,
                         type->size, ODEON_PAYLOAD_MAX);
    return 0;
}

static int message_fill_id(const struct admin_call *call, void *ret_id, const Odeon__Reply *reply)
{
    const Odeon__MessageTypeIntern *asked = call->body;
    uint64_t id = reply->message_type->id;

    if (id == 0 || id > UINT16_MAX)
        return error_set(-EPROTO, "the service gave message type %s the impossible id %llu",
                         asked->type->name, (unsigned long long)id);
    *(uint32_t *)ret_id = (uint32_t)id;
    return 0;
}

/* The first time: a round trip. */
static int message_intern(struct odeon_client *client, const struct odeon_message_type *type,
                          uint32_t *ret_id)
{
    Odeon__MessageType described = ODEON__MESSAGE_TYPE__INIT;
    Odeon__MessageTypeIntern body = ODEON__MESSAGE_TYPE_INTERN__INIT;

    described.name = admin_string(type->name);
    described.version = type->version;
    described.size = type->size;
    described.tail = type->has_tail != 0;
    described.fields = admin_string(type->fields);
    body.type = &described;
    return admin_call(client,
                      &(struct admin_call){ .request = ODEON__REQUEST__BODY_MESSAGE_TYPE_INTERN,
                                            .body = &body,
                                            .reply = ODEON__REPLY__BODY_MESSAGE_TYPE,
                                            .ret = ret_id,
                                            .fill = message_fill_id });
}

int odeon_message_id(struct odeon_client *client, const struct odeon_message_type *type,
                     uint32_t *ret_id)
{
    uint32_t id;
    int r = client_check(client);

    if (r == 0)
        r = message_check_type(type);
    if (r == 0 && !ret_id)
        r = error_set_literal(-EINVAL, "odeon_message_id: no place for the id");
    if (r < 0)
        return r;
    id = names_find(&client->names, type);
    if (id == 0) {
        r = message_intern(client, type, &id);
        if (r < 0)
            return r;
        names_add(&client->names, type, id);
    }
    *ret_id = id;
    return 0;
}

const struct odeon_message_type *odeon_message_type(struct odeon_client *client, uint32_t id)
{
    const struct odeon_message_type *type;

    if (client_check(client) < 0)
        return NULL;
    type = names_of(&client->names, id);
    if (!type)
        error_set(-ENOENT, "odeon_message_id() has given no type the id %u", id);
    return type;
}

static struct odeon_message_info message_copy(void *result, const Odeon__MessageType *from)
{
    return (struct odeon_message_info){
        .struct_size = sizeof(struct odeon_message_info),
        .id = (uint32_t)from->id,
        .version = from->version,
        .size = from->size,
        .has_tail = from->tail,
        .name = arena_string(result, from->name),
        .fields = arena_string(result, from->fields),
    };
}

static int message_fill_info(const struct admin_call *call, void *result, const Odeon__Reply *reply)
{
    (void)call;
    *(struct odeon_message_info *)result = message_copy(result, reply->message_type);
    return 0;
}

int odeon_message_find(struct odeon_client *client, const char *name, uint32_t version,
                       struct odeon_message_info **ret)
{
    Odeon__MessageTypeFind body = ODEON__MESSAGE_TYPE_FIND__INIT;
    int r = admin_check_given("odeon_message_find", name);

    if (r < 0)
        return r;
    body.name = admin_string(name);
    body.version = version;
    return admin_call(client,
                      &(struct admin_call){ .request = ODEON__REQUEST__BODY_MESSAGE_TYPE_FIND,
                                            .body = &body,
                                            .reply = ODEON__REPLY__BODY_MESSAGE_TYPE,
                                            .size = sizeof(struct odeon_message_info),
                                            .ret = ret,
                                            .fill = message_fill_info });
}

int odeon_message_show(struct odeon_client *client, uint32_t id, struct odeon_message_info **ret)
{
    Odeon__MessageTypeFind body = ODEON__MESSAGE_TYPE_FIND__INIT;

    if (id == 0 || id > UINT16_MAX)
        return error_set(-EINVAL, "odeon_message_show: %u is no message type", id);
    body.id = id;
    return admin_call(client,
                      &(struct admin_call){ .request = ODEON__REQUEST__BODY_MESSAGE_TYPE_FIND,
                                            .body = &body,
                                            .reply = ODEON__REPLY__BODY_MESSAGE_TYPE,
                                            .size = sizeof(struct odeon_message_info),
                                            .ret = ret,
                                            .fill = message_fill_info });
}

static int message_copy_detail(void *result, const Odeon__MessageDetail *from,
                               struct odeon_message_detail *ret)
{
    if (!from->type)
        return error_set_literal(-EPROTO, "the service's answer lacks the message type");
    *ret = (struct odeon_message_detail){
        .struct_size = sizeof(*ret),
        .message = message_copy(result, from->type),
        .by_user = from->by_user,
        .user = from->user,
        .accepting = from->accepting,
    };
    ret->plugins = admin_copy_strings(result, from->plugins, from->n_plugins, &ret->n_plugins);
    ret->accepted_by =
        admin_copy_strings(result, from->accepted_by, from->n_accepted_by, &ret->n_accepted_by);
    return 0;
}

static int message_fill_list(const struct admin_call *call, void *result, const Odeon__Reply *reply)
{
    const Odeon__MessageListReply *from = reply->message_list;
    struct odeon_list *list = result;
    struct odeon_message_detail *rows =
        admin_list_rows(call, list, from->n_messages, sizeof(*rows), from->more);
    int r = 0;

    for (size_t i = 0; i < list->n && r == 0; i++)
        r = message_copy_detail(list, from->messages[i], &rows[i]);
    list->next = from->next;
    return r;
}

int odeon_message_list(struct odeon_client *client, uint64_t after, uint32_t rows,
                       struct odeon_list **ret)
{
    Odeon__Page page = admin_page(after, rows);
    Odeon__MessageList body = ODEON__MESSAGE_LIST__INIT;

    body.page = &page;
    return admin_call(client, &(struct admin_call){ .request = ODEON__REQUEST__BODY_MESSAGE_LIST,
                                                    .body = &body,
                                                    .reply = ODEON__REPLY__BODY_MESSAGE_LIST,
                                                    .size = sizeof(struct odeon_list),
                                                    .ret = ret,
                                                    .fill = message_fill_list,
                                                    .after = after });
}

static int message_fill_detail(const struct admin_call *call, void *result,
                               const Odeon__Reply *reply)
{
    (void)call;
    return message_copy_detail(result, reply->message_detail, result);
}

int odeon_message_detail(struct odeon_client *client, const char *name, uint32_t version,
                         struct odeon_message_detail **ret)
{
    Odeon__MessageShow body = ODEON__MESSAGE_SHOW__INIT;
    int r = admin_check_given("odeon_message_detail", name);

    if (r < 0)
        return r;
    body.name = admin_string(name);
    body.version = version;
    return admin_call(client, &(struct admin_call){ .request = ODEON__REQUEST__BODY_MESSAGE_SHOW,
                                                    .body = &body,
                                                    .reply = ODEON__REPLY__BODY_MESSAGE_DETAIL,
                                                    .size = sizeof(struct odeon_message_detail),
                                                    .ret = ret,
                                                    .fill = message_fill_detail });
}
