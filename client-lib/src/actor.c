/* SPDX-License-Identifier: Apache-2.0 */
/* Actors: found by name, made, listed, looked at, sent to, ended.  Any thread. */
#include <errno.h>

#include "client-lib/src/admin_call.h"
#include "proto/envelope.h"

static int actor_fill_ref(const struct admin_call *call, void *ret_ref, const Odeon__Reply *reply)
{
    (void)call;
    *(odeon_ref *)ret_ref = reply->ref->ref;
    return 0;
}

int odeon_actor_find(struct odeon_client *client, const char *name, odeon_ref *ret_ref)
{
    Odeon__Lookup body = ODEON__LOOKUP__INIT;
    int r = admin_check_name("odeon_actor_find", name);

    if (r < 0)
        return r;
    body.name = admin_string(name);
    return admin_call(client, &(struct admin_call){ .request = ODEON__REQUEST__BODY_LOOKUP,
                                                    .body = &body,
                                                    .reply = ODEON__REPLY__BODY_REF,
                                                    .ret = ret_ref,
                                                    .fill = actor_fill_ref });
}

static int actor_fill_where(const struct odeon_spawn_where *where, Odeon__Spawn *spawn)
{
    if (!where)
        return 0;
    if (where->struct_size < sizeof(*where))
        return error_set(-EINVAL,
                         "odeon_actor_spawn_at: struct_size is %u, sizeof (struct "
                         "odeon_spawn_where) was expected",
                         where->struct_size);
    spawn->place = (uint32_t)where->where;
    if (where->where == ODEON_WHERE_NODE)
        spawn->node = where->node;
    if (where->where == ODEON_WHERE_PINNED && where->worker != ODEON_WORKER_ANY)
        spawn->worker = where->worker + 1;
    return 0;
}

static int actor_fill_args(const void *args, size_t size, Odeon__Spawn *spawn)
{
    if (size > ODEON_SPAWN_ARGS_MAX)
        return error_set(
            -E2BIG,
            "odeon_actor_spawn: %zu bytes of arguments, at most %d are kept with an actor; "
            "send it a message instead",
            size, ODEON_SPAWN_ARGS_MAX);
    if (size > 0 && !args)
        return error_set_literal(-EINVAL,
                                 "odeon_actor_spawn: arguments have a size but no address");
    spawn->args.data = (uint8_t *)(uintptr_t)args;
    spawn->args.len = size;
    return 0;
}

int odeon_actor_spawn_at(struct odeon_client *client, const char *type, const char *name,
                         const void *args, size_t args_size, const struct odeon_spawn_where *where,
                         odeon_ref *ret_ref)
{
    Odeon__Spawn body = ODEON__SPAWN__INIT;
    int r = admin_check_name("odeon_actor_spawn: actor type", type);

    if (r == 0 && name)
        r = admin_check_name("odeon_actor_spawn: actor", name);
    if (r == 0)
        r = actor_fill_where(where, &body);
    if (r == 0)
        r = actor_fill_args(args, args_size, &body);
    if (r < 0)
        return r;
    body.type = admin_string(type);
    body.name = admin_string(name);
    return admin_call(client, &(struct admin_call){ .request = ODEON__REQUEST__BODY_SPAWN,
                                                    .body = &body,
                                                    .reply = ODEON__REPLY__BODY_REF,
                                                    .ret = ret_ref,
                                                    .fill = actor_fill_ref });
}

int odeon_actor_spawn(struct odeon_client *client, const char *type, const char *name,
                      const void *args, size_t args_size, odeon_ref *ret_ref)
{
    return odeon_actor_spawn_at(client, type, name, args, args_size, NULL, ret_ref);
}

static struct odeon_actor_info actor_copy(void *result, const Odeon__Actor *from)
{
    return (struct odeon_actor_info){
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

static int actor_fill_list(const struct admin_call *call, void *result, const Odeon__Reply *reply)
{
    const Odeon__ActorListReply *from = reply->actor_list;
    struct odeon_list *list = result;
    struct odeon_actor_info *rows =
        admin_list_rows(call, list, from->n_actors, sizeof(*rows), from->more);

    for (size_t i = 0; i < list->n; i++)
        rows[i] = actor_copy(list, from->actors[i]);
    list->next = from->next;
    if (list->next == 0 && list->n > 0) /* an older service does not say */
        list->next = (uint64_t)actor_ref_slot(rows[list->n - 1].ref) + 1;
    return 0;
}

int odeon_actor_list(struct odeon_client *client, const char *type, uint64_t after, uint32_t rows,
                     struct odeon_list **ret)
{
    Odeon__Page page = admin_page(after, rows);
    Odeon__ActorList body = ODEON__ACTOR_LIST__INIT;

    body.page = &page;
    body.type = admin_string(type);
    return admin_call(client, &(struct admin_call){ .request = ODEON__REQUEST__BODY_ACTOR_LIST,
                                                    .body = &body,
                                                    .reply = ODEON__REPLY__BODY_ACTOR_LIST,
                                                    .size = sizeof(struct odeon_list),
                                                    .ret = ret,
                                                    .fill = actor_fill_list,
                                                    .after = after });
}

static int actor_fill_detail(const struct admin_call *call, void *result, const Odeon__Reply *reply)
{
    const Odeon__ActorShowReply *from = reply->actor_show;
    struct odeon_actor_detail *detail = result;

    (void)call;
    if (!from->actor)
        return error_set_literal(-EPROTO, "the service's answer lacks the actor");
    detail->struct_size = sizeof(*detail);
    detail->state_size = from->state_size;
    detail->queue_bytes = from->queue_bytes;
    detail->actor = actor_copy(detail, from->actor);
    detail->phase = arena_string(detail, from->phase);
    detail->stashed = from->stashed;
    detail->stashed_bytes = from->stashed_bytes;
    detail->accepts =
        admin_copy_strings(detail, from->accepts, from->n_accepts, &detail->n_accepts);
    return 0;
}

int odeon_actor_show(struct odeon_client *client, odeon_ref ref, const char *name,
                     struct odeon_actor_detail **ret)
{
    Odeon__ActorShow body = ODEON__ACTOR_SHOW__INIT;

    body.ref = ref;
    body.name = admin_string(name);
    return admin_call(client, &(struct admin_call){ .request = ODEON__REQUEST__BODY_ACTOR_SHOW,
                                                    .body = &body,
                                                    .reply = ODEON__REPLY__BODY_ACTOR_SHOW,
                                                    .size = sizeof(struct odeon_actor_detail),
                                                    .ret = ret,
                                                    .fill = actor_fill_detail });
}

/* `type` 0: by the name alone. */
static int actor_send(struct odeon_client *client, odeon_ref ref, const char *message,
                      uint32_t type, const void *payload, size_t size)
{
    Odeon__ActorSend body = ODEON__ACTOR_SEND__INIT;

    if (!message || (!payload && size > 0))
        return error_set_literal(-EINVAL,
                                 "odeon_actor_send: no message type, or a payload without address");
    if (size > ODEON_PAYLOAD_MAX)
        return error_set(-EMSGSIZE, "a payload of %zu bytes: at most %d can be sent", size,
                         ODEON_PAYLOAD_MAX);
    body.ref = ref;
    body.message = admin_string(message);
    body.type = type;
    body.payload.data = (uint8_t *)(uintptr_t)payload;
    body.payload.len = size;
    return admin_call(client, &(struct admin_call){ .request = ODEON__REQUEST__BODY_ACTOR_SEND,
                                                    .body = &body,
                                                    .reply = ODEON__REPLY__BODY_OK });
}

int odeon_actor_send(struct odeon_client *client, odeon_ref ref, const char *message,
                     const void *payload, size_t size)
{
    return actor_send(client, ref, message, 0, payload, size);
}

int odeon_actor_send_as(struct odeon_client *client, odeon_ref ref,
                        const struct odeon_message_info *message, const void *payload, size_t size)
{
    return actor_send(client, ref, message ? message->name : NULL, message ? message->id : 0,
                      payload, size);
}

int odeon_actor_stop(struct odeon_client *client, odeon_ref ref, enum odeon_allocation how)
{
    Odeon__ActorStop body = ODEON__ACTOR_STOP__INIT;

    if (how != ODEON_DELETE && how != ODEON_DESTROY && how != ODEON_FINISHED)
        return error_set(-EINVAL,
                         "odeon_actor_stop: an actor stops by ODEON_DELETE, ODEON_DESTROY "
                         "or ODEON_FINISHED, not by %d",
                         (int)how);
    body.ref = ref;
    body.how = (uint32_t)how;
    return admin_call(client, &(struct admin_call){ .request = ODEON__REQUEST__BODY_ACTOR_STOP,
                                                    .body = &body,
                                                    .reply = ODEON__REPLY__BODY_OK });
}
