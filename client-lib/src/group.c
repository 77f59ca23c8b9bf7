/* SPDX-License-Identifier: Apache-2.0 */
/* Groups and their members, listed.  Any thread. */
#include "client-lib/src/admin_call.h"

static int group_fill_list(const struct admin_call *call, void *result, const Odeon__Reply *reply)
{
    const Odeon__GroupListReply *from = reply->group_list;
    struct odeon_list *list = result;
    struct odeon_group_info *rows =
        admin_list_rows(call, list, from->n_groups, sizeof(*rows), from->more);

    for (size_t i = 0; i < list->n; i++)
        rows[i] = (struct odeon_group_info){ .ref = from->groups[i]->ref,
                                             .name = arena_string(list, from->groups[i]->name),
                                             .members = from->groups[i]->members };
    list->next = from->next;
    return 0;
}

int odeon_group_list(struct odeon_client *client, uint64_t after, uint32_t rows,
                     struct odeon_list **ret)
{
    Odeon__Page page = admin_page(after, rows);
    Odeon__GroupList body = ODEON__GROUP_LIST__INIT;

    body.page = &page;
    return admin_call(client, &(struct admin_call){ .request = ODEON__REQUEST__BODY_GROUP_LIST,
                                                    .body = &body,
                                                    .reply = ODEON__REPLY__BODY_GROUP_LIST,
                                                    .size = sizeof(struct odeon_list),
                                                    .ret = ret,
                                                    .fill = group_fill_list,
                                                    .after = after });
}

static int group_fill_members(const struct admin_call *call, void *result,
                              const Odeon__Reply *reply)
{
    const Odeon__MemberListReply *from = reply->member_list;
    struct odeon_list *list = result;
    struct odeon_group_member_info *rows =
        admin_list_rows(call, list, from->n_members, sizeof(*rows), from->more);

    for (size_t i = 0; i < list->n; i++)
        rows[i] = (struct odeon_group_member_info){ .member = from->members[i]->member,
                                                    .group = from->members[i]->group };
    list->next = from->next;
    return 0;
}

int odeon_group_member_list(struct odeon_client *client, odeon_ref group, uint64_t after,
                            uint32_t rows, struct odeon_list **ret)
{
    Odeon__Page page = admin_page(after, rows);
    Odeon__MemberList body = ODEON__MEMBER_LIST__INIT;

    body.page = &page;
    body.group = group;
    return admin_call(client, &(struct admin_call){ .request = ODEON__REQUEST__BODY_MEMBER_LIST,
                                                    .body = &body,
                                                    .reply = ODEON__REPLY__BODY_MEMBER_LIST,
                                                    .size = sizeof(struct odeon_list),
                                                    .ret = ret,
                                                    .fill = group_fill_members,
                                                    .after = after });
}
