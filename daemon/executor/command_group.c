/* SPDX-License-Identifier: Apache-2.0 */
/* Requests about groups and their members. */
#include <errno.h>

#include "daemon/executor/command.h"
#include "daemon/executor/ref_text.h"

/* As in command_timer.c: they are numbers of one table. */
enum { MEMBER_LOOKS_MAX = 4096 };

/* `after`: the first entry to look at. */
int command_group_list(struct executor *executor, const Odeon__Request *request,
                       struct frame *frame, struct reply *reply)
{
    const Odeon__Page *page = request->group_list->page;
    uint64_t at = page ? page->after : 0;
    size_t n_rows = reply_page_rows(page);
    Odeon__GroupListReply *body = reply_alloc(reply, sizeof(*body));
    Odeon__Group **rows = reply_alloc(reply, n_rows * sizeof(*rows));
    Odeon__Group *storage = reply_alloc(reply, (n_rows + 1) * sizeof(*storage));
    struct engine_group_view view;

    (void)frame;
    if (!body || !rows || !storage)
        return -ENOMEM;
    odeon__group_list_reply__init(body);
    body->groups = rows;
    while (at <= UINT32_MAX && engine_group_next(executor->engine, (uint32_t)at, &view) == 0) {
        Odeon__Group *row = &storage[body->n_groups];

        odeon__group__init(row);
        row->ref = view.ref;
        row->name = reply_string(view.name);
        row->members = view.members;
        at = view.at;
        body->more = body->n_groups == n_rows || !reply_row_fits(reply, &row->base);
        if (body->more)
            break;
        at++;
        rows[body->n_groups++] = row;
    }
    body->next = at;
    reply->message.group_list = body;
    reply->message.body_case = ODEON__REPLY__BODY_GROUP_LIST;
    return 0;
}

static int command_group_check(const struct executor *executor, actor_ref group,
                               struct explain *explain)
{
    struct engine_actor_type_view type;
    struct engine_actor_view actor;

    if (engine_actor_get(executor->engine, group, &actor) < 0)
        return explain_set(explain, -ESRCH,
                           "there is no group " REF_FORMAT ": it has never been one",
                           REF_ARGS(group));
    if (engine_actor_type_get(executor->engine, actor.type, &type) < 0 || !type.is_group)
        return explain_set(explain, -EINVAL, "actor " REF_FORMAT " is no group", REF_ARGS(group));
    return 0;
}

static void command_member_row_init(const struct engine_timer_view *view, Odeon__Member *row)
{
    odeon__member__init(row);
    row->member = view->owner;
    row->group = view->group;
}

int command_member_list(struct executor *executor, const Odeon__Request *request,
                        struct frame *frame, struct reply *reply)
{
    const Odeon__Page *page = request->member_list->page;
    uint64_t group = request->member_list->group, at = page ? page->after : 0;
    size_t n_rows = reply_page_rows(page);
    Odeon__MemberListReply *body = reply_alloc(reply, sizeof(*body));
    Odeon__Member **rows = reply_alloc(reply, n_rows * sizeof(*rows));
    Odeon__Member *storage = reply_alloc(reply, (n_rows + 1) * sizeof(*storage));
    struct engine_timer_view view;

    int r = group ? command_group_check(executor, group, &reply->explain) : 0;

    (void)frame;
    if (r < 0)
        return r;
    if (!body || !rows || !storage)
        return -ENOMEM;
    odeon__member_list_reply__init(body);
    body->members = rows;
    for (unsigned looks = 0;
         at <= UINT32_MAX && engine_timer_next(executor->engine, (uint32_t)at, &view) == 0;
         looks++) {
        Odeon__Member *row = &storage[body->n_members];
        bool wanted = view.group != 0 && (group == 0 || view.group == group);

        if (wanted)
            command_member_row_init(&view, row);
        body->more = looks == MEMBER_LOOKS_MAX ||
                     (wanted && (body->n_members == n_rows || !reply_row_fits(reply, &row->base)));
        if (body->more)
            break;
        at = (uint64_t)view.timer + 1;
        if (wanted)
            rows[body->n_members++] = row;
    }
    body->next = at;
    reply->message.member_list = body;
    reply->message.body_case = ODEON__REPLY__BODY_MEMBER_LIST;
    return 0;
}
