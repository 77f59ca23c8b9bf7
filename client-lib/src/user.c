/* SPDX-License-Identifier: Apache-2.0 */
/* Users of the service, and what their clients have done. Any thread. */
#include "client-lib/src/admin_call.h"
#include "client-lib/src/traffic.h"

static int user_fill_list(const struct admin_call *call, void *result, const Odeon__Reply *reply)
{
    const Odeon__UserListReply *from = reply->user_list;
    struct odeon_list *list = result;
    struct odeon_user_info *rows =
        admin_list_rows(call, list, from->n_users, sizeof(*rows), from->more);

    for (size_t i = 0; i < list->n; i++) {
        rows[i] = (struct odeon_user_info){
            .uid = from->users[i]->uid,
            .clients = from->users[i]->clients,
            .ports = from->users[i]->ports,
            .refusals = from->users[i]->refusals,
            .traffic = traffic_copy(from->users[i]->traffic),
        };
        list->next = rows[i].uid + UINT64_C(1);
    }
    return 0;
}

int odeon_user_list(struct odeon_client *client, uint64_t after, uint32_t rows,
                    struct odeon_list **ret)
{
    Odeon__Page page = admin_page(after, rows);
    Odeon__UserList body = ODEON__USER_LIST__INIT;

    body.page = &page;
    return admin_call(client, &(struct admin_call){ .request = ODEON__REQUEST__BODY_USER_LIST,
                                                    .body = &body,
                                                    .reply = ODEON__REPLY__BODY_USER_LIST,
                                                    .size = sizeof(struct odeon_list),
                                                    .ret = ret,
                                                    .fill = user_fill_list,
                                                    .after = after });
}
