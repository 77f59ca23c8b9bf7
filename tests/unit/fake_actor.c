/* SPDX-License-Identifier: Apache-2.0 */
/* Actors, and who watches whom, of a library without a service (fake_odeon.h). */
#include "tests/unit/fake_odeon.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int odeon_actor_find(struct odeon_client *client, const char *name, odeon_ref *ret_ref)
{
    (void)client;
    if (strcmp(name, "total") != 0)
        return -ENOENT;
    *ret_ref = actor_ref_make(7, 5);
    return 0;
}

int odeon_actor_spawn_at(struct odeon_client *client, const char *type, const char *name,
                         const void *args, size_t args_size, const struct odeon_spawn_where *where,
                         odeon_ref *ret_ref)
{
    (void)client;
    if (fake.call_result < 0)
        return fake.call_result;
    if (strcmp(type, "counter") != 0)
        return -ENOENT;
    fake.where = *where;
    snprintf(fake.spawned_type, sizeof(fake.spawned_type), "%s", type);
    snprintf(fake.spawned_name, sizeof(fake.spawned_name), "%s", name ? name : "");
    if (args_size && args_size <= FAKE_PAYLOAD_MAX)
        memcpy(fake.payload, args, args_size);
    fake.payload_size = args_size;
    *ret_ref = actor_ref_make(42, 1);
    return 0;
}

int odeon_actor_list(struct odeon_client *client, const char *type, uint64_t after, uint32_t rows,
                     struct odeon_list **ret)
{
    size_t left = after < fake.n_actors ? fake.n_actors - after : 0, n = left < rows ? left : rows;

    (void)client;
    if (fake.call_result < 0)
        return fake.call_result;
    if (fake.knows_types && type && strcmp(type, "counter") != 0)
        return -ENOENT;
    snprintf(fake.type_filter, sizeof(fake.type_filter), "%s", type ? type : "");
    *ret = fake_list(n, sizeof(struct odeon_actor_info));
    for (size_t i = 0; i < n; i++)
        ((struct odeon_actor_info *)(*ret)->rows)[i] =
            (struct odeon_actor_info){ .ref = actor_ref_make((uint32_t)(after + i), 1),
                                       .type = "counter",
                                       .name = "",
                                       .state = "idle",
                                       .worker = UINT32_MAX,
                                       .kind = "ordinary" };
    (*ret)->more = n < left;
    (*ret)->next = fake.pages_go_round ? 0 : after + n;
    return 0;
}

int odeon_actor_show(struct odeon_client *client, odeon_ref ref, const char *name,
                     struct odeon_actor_detail **ret)
{
    bool is_port = strcmp(fake.receiver_type, "port") == 0;

    (void)client;
    if ((name && strcmp(name, "total") != 0) || ref == FAKE_GONE)
        return -ENOENT;
    if (fake.show_result < 0)
        return fake.show_result;
    *ret = fake_alloc(sizeof(**ret));
    **ret = (struct odeon_actor_detail){ .struct_size = sizeof(**ret),
                                         .actor = { .ref = ref ? ref : actor_ref_make(7, 5),
                                                    .type = fake.receiver_type,
                                                    .name = "total",
                                                    .state = "idle",
                                                    .kind = is_port ? "" : "pinned" },
                                         .phase = "open",
                                         .n_accepts = fake.accepts_nothing ? 0
                                                      : fake.accepts_other ? 1
                                                                           : 2,
                                         .accepts = (const char **)fake_accepts +
                                                    (fake.accepts_other ? 1 : 0) };
    return 0;
}

int odeon_actor_send(struct odeon_client *client, odeon_ref ref, const char *message,
                     const void *payload, size_t size)
{
    (void)client;
    fake.to = ref;
    snprintf(fake.message, sizeof(fake.message), "%s", message);
    if (size <= FAKE_PAYLOAD_MAX)
        memcpy(fake.payload, payload, size);
    fake.payload_size = size;
    fake.type = 0;
    return fake.call_result;
}

int odeon_actor_send_as(struct odeon_client *client, odeon_ref ref,
                        const struct odeon_message_info *message, const void *payload, size_t size)
{
    int r = odeon_actor_send(client, ref, message->name, payload, size);

    fake.type = message->id;
    return r;
}

int odeon_actor_stop(struct odeon_client *client, odeon_ref ref, enum odeon_allocation how)
{
    (void)client;
    fake.to = ref;
    fake.how = (int)how;
    return fake.call_result;
}

int odeon_monitor_list(struct odeon_client *client, odeon_ref of, uint64_t after, uint32_t rows,
                       struct odeon_list **ret)
{
    (void)client, (void)rows, (void)after;
    fake.to = of;
    *ret = fake_list(1, sizeof(struct odeon_monitor_info));
    *(struct odeon_monitor_info *)(*ret)->rows = (struct odeon_monitor_info){
        .id = 78, .watcher = odeon_ref_make(1, 5, 2), .watched = odeon_ref_make(1, 6, 3), .link = 1
    };
    return 0;
}
