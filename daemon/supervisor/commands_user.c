/* SPDX-License-Identifier: Apache-2.0 */
/* Users who have clients, or ports that have not come to their end: what these have done. Answered
 * also while the executor is down. */
#include "daemon/supervisor/commands_user.h"

#include "daemon/supervisor/seat.h"
#include "daemon/supervisor/traffic.h"

enum { USER_ROWS_DEFAULT = 64 };

/* The next one of those that go into a listing, by number; NULL: there is none behind `after`, a
 * key. Accounts are in no order. */
static const struct account *commands_user_next(const struct accounts *accounts, uint64_t after)
{
    const struct account *next = NULL;

    for (const struct account *a = accounts->first; a; a = a->next)
        if (a->uid + UINT64_C(1) > after && (!next || a->uid < next->uid))
            next = a;
    return next;
}

static void commands_user_fill_row(const struct seat *seat, const struct account *account,
                                   Odeon__User *row, Odeon__Traffic *traffic)
{
    odeon__user__init(row);
    row->uid = account->uid;
    row->clients = (uint32_t)account->used.amounts[QUOTA_CLIENTS];
    row->ports = (uint32_t)account->used.amounts[QUOTA_PORTS];
    row->refusals = account->refusals;
    traffic_of_user(&seat->ports, account->uid, traffic);
    row->traffic = traffic;
}

/* A row is small: a page of them fits a frame. */
void command_user_list(struct seat *seat, struct client *client, Odeon__Request **request,
                       struct frame *frame)
{
    const Odeon__Page *page = (*request)->user_list->page;
    uint32_t wanted = page && page->rows ? page->rows : USER_ROWS_DEFAULT;
    Odeon__User rows[ODEON_PAGE_ROWS_MAX], *list[ODEON_PAGE_ROWS_MAX];
    Odeon__Traffic traffic[ODEON_PAGE_ROWS_MAX];
    Odeon__UserListReply body = ODEON__USER_LIST_REPLY__INIT;
    Odeon__Reply reply = ODEON__REPLY__INIT;
    const struct account *account =
        commands_user_next(seat->service->accounts, page ? page->after : 0);

    (void)frame;
    if (wanted > ODEON_PAGE_ROWS_MAX)
        wanted = ODEON_PAGE_ROWS_MAX;
    body.users = list;
    while (account && body.n_users < wanted) {
        list[body.n_users] = &rows[body.n_users];
        commands_user_fill_row(seat, account, &rows[body.n_users], &traffic[body.n_users]);
        body.n_users++;
        account = commands_user_next(seat->service->accounts, account->uid + UINT64_C(1));
    }
    body.more = account != NULL;
    reply.id = (*request)->id;
    reply.body_case = ODEON__REPLY__BODY_USER_LIST;
    reply.user_list = &body;
    client_send(client, &reply, NULL, 0);
}
