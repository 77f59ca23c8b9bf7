/* SPDX-License-Identifier: Apache-2.0 */
/* Actor types: listed, and released from quarantine.  Any thread. */
#include "client-lib/src/admin_call.h"

static int type_fill_list(const struct admin_call *call, void *result, const Odeon__Reply *reply)
{
    const Odeon__TypeListReply *from = reply->type_list;
    struct odeon_list *list = result;
    struct odeon_type_info *rows =
        admin_list_rows(call, list, from->n_types, sizeof(*rows), from->more);

    for (size_t i = 0; i < list->n; i++) {
        const Odeon__ActorType *type = from->types[i];

        rows[i].name = arena_string(list, type->name);
        rows[i].plugin = arena_string(list, type->plugin);
        rows[i].restart = arena_string(list, type->restart);
        rows[i].overflow = arena_string(list, type->overflow);
        rows[i].args_fields = arena_string(list, type->args_fields);
        rows[i].args_size = type->args_size;
        rows[i].version = type->version;
        rows[i].state_size = type->state_size;
        rows[i].actors = type->live;
        rows[i].loaded = type->loaded;
        rows[i].quarantined = type->quarantined;
        rows[i].accepts =
            admin_copy_strings(list, type->accepts, type->n_accepts, &rows[i].n_accepts);
    }
    list->next += list->n;
    return 0;
}

int odeon_type_list(struct odeon_client *client, uint64_t after, uint32_t rows,
                    struct odeon_list **ret)
{
    Odeon__Page page = admin_page(after, rows);
    Odeon__TypeList body = ODEON__TYPE_LIST__INIT;

    body.page = &page;
    return admin_call(client, &(struct admin_call){ .request = ODEON__REQUEST__BODY_TYPE_LIST,
                                                    .body = &body,
                                                    .reply = ODEON__REPLY__BODY_TYPE_LIST,
                                                    .size = sizeof(struct odeon_list),
                                                    .ret = ret,
                                                    .fill = type_fill_list,
                                                    .after = after });
}

int odeon_type_release(struct odeon_client *client, const char *name)
{
    Odeon__TypeRelease body = ODEON__TYPE_RELEASE__INIT;
    int r = admin_check_given("odeon_type_release", name);

    if (r < 0)
        return r;
    body.name = admin_string(name);
    return admin_call(client, &(struct admin_call){ .request = ODEON__REQUEST__BODY_TYPE_RELEASE,
                                                    .body = &body,
                                                    .reply = ODEON__REPLY__BODY_OK });
}
