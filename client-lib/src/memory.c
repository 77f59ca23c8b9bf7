/* SPDX-License-Identifier: Apache-2.0 */
/* Who holds how much memory.  Any thread. */
#include "client-lib/src/admin_call.h"

static void memory_fill_parts(struct odeon_memory *memory, const Odeon__MemoryShowReply *from)
{
    memory->parts = arena_alloc(memory, from->n_parts, sizeof(*memory->parts));
    for (; memory->parts && memory->n_parts < from->n_parts; memory->n_parts++) {
        const Odeon__MemoryPart *part = from->parts[memory->n_parts];

        memory->parts[memory->n_parts] =
            (struct odeon_memory_part){ .what = arena_string(memory, part->what),
                                        .bytes = part->bytes,
                                        .of_clients = part->of_clients,
                                        .within = part->within };
        if (part->of_clients && !part->within)
            memory->shared += part->bytes;
        else if (!part->within)
            memory->bytes += part->bytes;
    }
}

static void memory_fill_holders(struct odeon_memory *memory, const Odeon__MemoryShowReply *from)
{
    memory->holders = arena_alloc(memory, from->n_holders, sizeof(*memory->holders));
    for (; memory->holders && memory->n_holders < from->n_holders; memory->n_holders++) {
        const Odeon__MemoryHolder *holder = from->holders[memory->n_holders];

        memory->holders[memory->n_holders] =
            (struct odeon_memory_holder){ .uid = holder->uid,
                                          .clients = holder->clients,
                                          .ports = holder->ports,
                                          .client = holder->client,
                                          .port = holder->port,
                                          .name = arena_string(memory, holder->name),
                                          .rings = holder->rings,
                                          .backlogs = holder->backlogs,
                                          .answers = holder->answers,
                                          .waiting = holder->waiting };
    }
}

static int memory_fill(const struct admin_call *call, void *result, const Odeon__Reply *reply)
{
    const Odeon__MemoryShowReply *from = reply->memory_show;
    struct odeon_memory *memory = result;

    (void)call;
    memory->struct_size = sizeof(*memory);
    memory->executor_silent = from->executor_silent;
    memory->limit = from->limit;
    memory->others = from->others;
    memory->others_bytes = from->others_bytes;
    memory_fill_parts(memory, from);
    memory_fill_holders(memory, from);
    return 0;
}

int odeon_memory_show(struct odeon_client *client, const char *by, struct odeon_memory **ret)
{
    Odeon__MemoryShow body = ODEON__MEMORY_SHOW__INIT;

    body.by = admin_string(by);
    return admin_call(client, &(struct admin_call){ .request = ODEON__REQUEST__BODY_MEMORY_SHOW,
                                                    .body = &body,
                                                    .reply = ODEON__REPLY__BODY_MEMORY_SHOW,
                                                    .size = sizeof(struct odeon_memory),
                                                    .ret = ret,
                                                    .fill = memory_fill });
}
