/* SPDX-License-Identifier: Apache-2.0 */
/* The executor's part of what is told of memory: what is inside the process, and what waits for
 * whom. The supervisor has asked, and adds what the kernel says. */
#include <errno.h>

#include "daemon/executor/command.h"

enum { MEMORY_HOLDERS_MAX = 2 * ODEON_PORTS_MAX };

static Odeon__MemoryPart *command_memory_part(struct reply *reply, const char *what, uint64_t bytes)
{
    Odeon__MemoryPart *part = reply_alloc(reply, sizeof(*part));

    if (!part)
        return NULL;
    odeon__memory_part__init(part);
    part->what = reply_string(what);
    part->bytes = bytes;
    return part;
}

/* Users for whom something waits. False: no memory. */
static bool command_memory_list_users(const struct engine *engine, struct reply *reply,
                                      Odeon__MemoryShowReply *body)
{
    uint64_t waiting;
    uint32_t user;

    for (uint32_t i = 0; engine_user_at(engine, i, &user, &waiting); i++) {
        Odeon__MemoryHolder *row;

        if (user == 0 || waiting == 0 || body->n_holders == MEMORY_HOLDERS_MAX)
            continue;
        row = reply_alloc(reply, sizeof(*row));
        if (!row)
            return false;
        odeon__memory_holder__init(row);
        row->uid = actor_account_uid(user);
        row->waiting = waiting;
        body->holders[body->n_holders++] = row;
    }
    return true;
}

int command_memory_show(struct executor *executor, const Odeon__Request *request,
                        struct frame *frame, struct reply *reply)
{
    Odeon__MemoryShowReply *body = reply_alloc(reply, sizeof(*body));
    Odeon__MemoryPart **parts = reply_alloc(reply, sizeof(*parts));
    Odeon__MemoryHolder **holders = reply_alloc(reply, MEMORY_HOLDERS_MAX * sizeof(*holders));
    Odeon__MemoryPart *states =
        command_memory_part(reply, "states of actors", engine_states_bytes(executor->engine));

    (void)request;
    (void)frame;
    if (!body || !parts || !holders || !states)
        return -ENOMEM;
    odeon__memory_show_reply__init(body);
    parts[0] = states;
    body->parts = parts;
    body->n_parts = 1;
    body->holders = holders;
    if (!command_memory_list_users(executor->engine, reply, body))
        return -ENOMEM;
    reply->message.memory_show = body;
    reply->message.body_case = ODEON__REPLY__BODY_MEMORY_SHOW;
    return 0;
}
