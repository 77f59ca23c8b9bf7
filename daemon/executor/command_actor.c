/* SPDX-License-Identifier: Apache-2.0 */
/* Requests about actors. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "daemon/executor/command.h"
#include "daemon/executor/command_type.h"
#include "daemon/executor/ref_text.h"

/* Slots of nobody, and of other types, are passed by while those of one are looked for: so many a
 * request, which takes the control thread a fraction of a millisecond. */
enum { ACTOR_LOOKS_MAX = 2048 };

int command_lookup(struct executor *executor, const Odeon__Request *request, struct frame *frame,
                   struct reply *reply)
{
    actor_ref ref = 0;
    int r;

    (void)frame;
    r = engine_actor_lookup(executor->engine, request->lookup->name, &ref);
    if (r == -ENOENT)
        return explain_set(&reply->explain, r, "no actor is registered as '%.64s'",
                           request->lookup->name);
    return r < 0 ? r : reply_ref(reply, ref);
}

/* The type's name of an actor; ports have none of their own. */
static const char *actor_type_name(const struct executor *executor, uint32_t type)
{
    struct engine_actor_type_view view;

    if (type == 0)
        return "port";
    return engine_actor_type_get(executor->engine, type, &view) == 0 ? view.name : "";
}

static void actor_row_init(const struct executor *executor, const struct engine_actor_view *actor,
                           Odeon__Actor *row)
{
    struct engine_queue_view queue;

    odeon__actor__init(row);
    row->ref = actor->ref;
    row->type = reply_string(actor_type_name(executor, actor->type));
    row->name = reply_string(actor->name);
    row->queue = actor->queue;
    row->worker = actor->worker;
    row->state = reply_string(actor->state);
    row->spawned_by = actor->spawned_by;
    if (actor->type != 0 && engine_queue_get(executor->engine, actor->queue, &queue) == 0)
        row->kind = reply_string(queue.kind);
}

/* `type_name` "": all.  0: *ret_type is the wanted one, or UINT32_MAX for all. */
static int actor_filter_parse(const struct executor *executor, const char *type_name,
                              struct explain *explain, uint32_t *ret_type)
{
    struct engine_actor_type_view type;

    *ret_type = UINT32_MAX;
    if (type_name[0] == '\0')
        return 0;
    if (strcmp(type_name, "port") == 0) {
        *ret_type = 0;
        return 0;
    }
    if (type_find(executor, type_name, &type) < 0)
        return explain_set(explain, -ENOENT,
                           "there is no actor type '%.64s': 'type list' shows those that are",
                           type_name);
    *ret_type = type.id;
    return 0;
}

/* `after`: the first slot to look at. */
int command_actor_list(struct executor *executor, const Odeon__Request *request,
                       struct frame *frame, struct reply *reply)
{
    const Odeon__Page *page = request->actor_list->page;
    size_t n_rows = reply_page_rows(page);
    Odeon__ActorListReply *body = reply_alloc(reply, sizeof(*body));
    Odeon__Actor **rows = reply_alloc(reply, n_rows * sizeof(*rows));
    Odeon__Actor *storage = reply_alloc(reply, (n_rows + 1) * sizeof(*storage));
    uint64_t slot = page ? page->after : 0;
    struct engine_actor_view actor;
    uint32_t wanted = 0;
    int r;

    (void)frame;
    if (!body || !rows || !storage)
        return -ENOMEM;
    r = actor_filter_parse(executor, request->actor_list->type, &reply->explain, &wanted);
    if (r < 0)
        return r;
    odeon__actor_list_reply__init(body);
    body->actors = rows;
    for (unsigned looks = 0; slot < engine_actor_slots(executor->engine); slot++, looks++) {
        Odeon__Actor *row = &storage[body->n_actors];
        bool is_row = engine_actor_at(executor->engine, (uint32_t)slot, &actor) &&
                      (wanted == UINT32_MAX || actor.type == wanted);

        if (is_row)
            actor_row_init(executor, &actor, row);
        body->more = looks == ACTOR_LOOKS_MAX ||
                     (is_row && (body->n_actors == n_rows || !reply_row_fits(reply, &row->base)));
        if (body->more)
            break;
        if (is_row)
            rows[body->n_actors++] = row;
    }
    body->next = slot;
    reply->message.actor_list = body;
    reply->message.body_case = ODEON__REPLY__BODY_ACTOR_LIST;
    return 0;
}

static int actor_get(const struct executor *executor, actor_ref ref, struct explain *explain,
                     struct engine_actor_view *ret_actor)
{
    int r = engine_actor_get(executor->engine, ref, ret_actor);

    if (r == -ESRCH)
        return explain_set(explain, r,
                           "there is no actor " REF_FORMAT ": it has ended or never was",
                           REF_ARGS(ref));
    return r;
}

int command_actor_show(struct executor *executor, const Odeon__Request *request,
                       struct frame *frame, struct reply *reply)
{
    const Odeon__ActorShow *show = request->actor_show;
    Odeon__ActorShowReply *body = reply_alloc(reply, sizeof(*body));
    Odeon__Actor *row = reply_alloc(reply, sizeof(*row));
    struct engine_actor_type_view type;
    struct engine_actor_view actor;
    actor_ref ref = show->ref;
    int r;

    (void)frame;
    if (!body || !row)
        return -ENOMEM;
    if (ref == 0 && engine_actor_lookup(executor->engine, show->name, &ref) < 0)
        return explain_set(&reply->explain, -ENOENT, "no actor is registered as '%.64s'",
                           show->name);
    r = actor_get(executor, ref, &reply->explain, &actor);
    if (r < 0)
        return r == -ESRCH ? -ENOENT : r; /* by reference as by name */
    odeon__actor_show_reply__init(body);
    actor_row_init(executor, &actor, row);
    body->actor = row;
    body->queue_bytes = actor.queue_bytes;
    body->phase = reply_string(actor.phase);
    body->stashed = engine_actor_stashed(executor->engine, ref, &body->stashed_bytes);
    if (actor.type != 0 && engine_actor_type_get(executor->engine, actor.type, &type) == 0) {
        body->state_size = type.state_size;
        body->accepts = type_accepts(executor, &type, reply, &body->n_accepts);
    }
    reply->message.actor_show = body;
    reply->message.body_case = ODEON__REPLY__BODY_ACTOR_SHOW;
    return 0;
}

/* What an actor takes under a message's name: of several versions the newest that it has a
 * behaviour for, or the one that was asked for. */
static const struct engine_behaviour *
command_actor_behaviour_find(const struct executor *executor,
                             const struct engine_actor_type_view *type,
                             const Odeon__ActorSend *send)
{
    const struct engine_behaviour *newest = NULL;
    uint32_t version = 0;

    for (uint32_t i = 0; i < type->n_behaviours; i++) {
        const struct engine_behaviour *behaviour = &type->behaviours[i];
        struct engine_message_type known;

        if (engine_message_type_get(executor->engine, behaviour->message_type, &known) < 0 ||
            strcmp(known.name, send->message) != 0 || known.version < version ||
            (send->type != 0 && known.id != send->type))
            continue;
        newest = behaviour;
        version = known.version;
    }
    return newest;
}

/* An id of another service's, or of another message, is none. */
static int command_actor_message_find(const struct executor *executor, const Odeon__ActorSend *send,
                                      struct engine_message_type *ret_message)
{
    int r;

    if (send->type == 0)
        return engine_message_type_find(executor->engine, send->message, 0, ret_message);
    if (send->type > UINT16_MAX)
        return -ENOENT;
    r = engine_message_type_get(executor->engine, (uint16_t)send->type, ret_message);
    return r == 0 && strcmp(ret_message->name, send->message) != 0 ? -ENOENT : r;
}

static int command_actor_refuse_message(const struct engine_actor_type_view *type,
                                        const struct engine_message_type *message,
                                        const Odeon__ActorSend *send, struct explain *explain)
{
    char version[32] = "";

    if (send->type != 0)
        snprintf(version, sizeof(version), " in version %" PRIu32, message->version);
    return explain_set(explain, -EOPNOTSUPP,
                       "actors of type %s do not accept %s%s: 'actor show' lists what they accept",
                       type->name, message->name, version);
}

static int command_actor_check_payload(const char *message, size_t size, size_t needed,
                                       bool has_tail, struct explain *explain)
{
    if (size > ODEON_PAYLOAD_MAX)
        return explain_set(explain, -EMSGSIZE, "%zu bytes of payload: at most %d are allowed", size,
                           ODEON_PAYLOAD_MAX);
    if (has_tail ? size < needed : size != needed)
        return explain_set(explain, -EINVAL, "message %s has %s%zu bytes, %zu were given", message,
                           has_tail ? "at least " : "", needed, size);
    return 0;
}

/* Finds the type's id for the receiver and checks the payload against it. */
static int command_actor_send_check(const struct executor *executor,
                                    const struct engine_actor_view *actor,
                                    const Odeon__ActorSend *send, struct explain *explain,
                                    uint16_t *ret_type)
{
    const struct engine_behaviour *behaviour;
    struct engine_actor_type_view type;
    struct engine_message_type message;

    if (actor->type == 0)
        return explain_set(explain, -EOPNOTSUPP,
                           REF_FORMAT " is a client's port, not an actor: its client receives what "
                                      "actors send it, and nothing from here",
                           REF_ARGS(actor->ref));
    if (command_actor_message_find(executor, send, &message) < 0)
        return explain_set(
            explain, -ENOENT,
            "no message type '%.64s' is known: 'actor show' lists what an actor accepts",
            send->message);
    if (engine_actor_type_get(executor->engine, actor->type, &type) < 0 || !type.loaded)
        return explain_set(explain, -EHOSTDOWN, "the actor cannot run: its plugin is not loaded");
    if (type.is_group) { /* what its members accept is for each of them to say */
        *ret_type = message.id;
        return command_actor_check_payload(message.name, send->payload.len, message.size,
                                           message.has_tail != 0, explain);
    }
    behaviour = command_actor_behaviour_find(executor, &type, send);
    if (!behaviour)
        return command_actor_refuse_message(&type, &message, send, explain);
    *ret_type = behaviour->message_type;
    return command_actor_check_payload(message.name, send->payload.len, behaviour->size,
                                       behaviour->has_tail != 0, explain);
}

static int command_actor_send_finish(struct reply *reply, int error, actor_ref ref)
{
    switch (error) {
    case 0:
        return reply_ok(reply);
    case -ESRCH:
        return explain_set(&reply->explain, error,
                           "there is no actor " REF_FORMAT ": it has ended or never was",
                           REF_ARGS(ref));
    case -EAGAIN:
        return explain_set(&reply->explain, error,
                           "the queue of actor " REF_FORMAT " is at its limit: try again later",
                           REF_ARGS(ref));
    case -EMSGSIZE:
        return explain_set(&reply->explain, error,
                           "the message is too large: at most %d bytes are allowed",
                           ODEON_PAYLOAD_MAX);
    default:
        return explain_set(&reply->explain, error,
                           "nothing could be sent to actor " REF_FORMAT ": %s", REF_ARGS(ref),
                           strerror(-error));
    }
}

static int command_actor_send_too_much(const struct executor *executor, uint32_t user,
                                       struct explain *explain)
{
    const struct settings *is = &executor->settings;

    return explain_set(
        explain, -EDQUOT,
        "as much waits for actors on behalf of user %u as may: %" PRIu64
        " bytes (quota-waiting-bytes %" PRIu64
        ", 0: half of what is free of waiting-bytes, %" PRIu64 "), and works of %" PRIu64
        " ms (quota-waiting-ms: %" PRIu64 " a queue, and for each worker)",
        actor_account_uid(user), engine_user_waiting_bytes(executor->engine, user),
        is->quota_waiting_bytes, is->waiting_bytes,
        engine_user_waiting_ns(executor->engine, user) / 1000000, is->quota_waiting_ms);
}

int command_actor_send(struct executor *executor, const Odeon__Request *request,
                       struct frame *frame, struct reply *reply)
{
    const Odeon__ActorSend *send = request->actor_send;
    struct engine_actor_view actor;
    uint16_t type = 0;
    int r;

    (void)frame;
    r = actor_get(executor, send->ref, &reply->explain, &actor);
    if (r < 0)
        return r;
    r = command_actor_send_check(executor, &actor, send, &reply->explain, &type);
    if (r < 0)
        return r;
    if (executor->asker.bound) {
        uint32_t user = actor_account_of(executor->asker.uid);

        r = engine_actor_send_for(executor->engine, user, send->ref, type, send->payload.data,
                                  send->payload.len);
        if (r == -EDQUOT)
            return command_actor_send_too_much(executor, user, &reply->explain);
    } else {
        r = engine_actor_send(executor->engine, send->ref, type, send->payload.data,
                              send->payload.len);
    }
    return command_actor_send_finish(reply, r, send->ref);
}

int command_actor_stop(struct executor *executor, const Odeon__Request *request,
                       struct frame *frame, struct reply *reply)
{
    static const uint16_t poison[] = {
        [ALLOCATION_DELETE] = MESSAGE_TYPE_POISON_DELETE,
        [ALLOCATION_DESTROY] = MESSAGE_TYPE_POISON_DESTROY,
        [ALLOCATION_FINISHED] = MESSAGE_TYPE_POISON_FINISHED,
    };
    const Odeon__ActorStop *stop = request->actor_stop;
    struct engine_actor_type_view type;
    struct engine_actor_view actor;
    int r;

    (void)frame;
    if (stop->how < ALLOCATION_DELETE || stop->how > ALLOCATION_FINISHED)
        return explain_set(&reply->explain, -EINVAL,
                           "%u is no way to stop an actor: 1 deletes, 2 destroys, 3 finishes it",
                           stop->how);
    r = actor_get(executor, stop->ref, &reply->explain, &actor);
    if (r < 0)
        return r;
    if (actor.type == 0)
        return explain_set(&reply->explain, -EOPNOTSUPP,
                           REF_FORMAT " is a client's port, not an actor: its client closes it",
                           REF_ARGS(stop->ref));
    if (engine_actor_type_get(executor->engine, actor.type, &type) == 0 && type.is_group)
        return explain_set(&reply->explain, -EOPNOTSUPP,
                           REF_FORMAT " is a group, which stays: its members leave it",
                           REF_ARGS(stop->ref));
    r = engine_actor_send(executor->engine, stop->ref, poison[stop->how], NULL, 0);
    return command_actor_send_finish(reply, r, stop->ref);
}
