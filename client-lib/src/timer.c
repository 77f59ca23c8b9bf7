/* SPDX-License-Identifier: Apache-2.0 */
/* Timers of actors, listed.  Any thread. */
#include "client-lib/src/admin_call.h"

static int timer_fill_list(const struct admin_call *call, void *result, const Odeon__Reply *reply)
{
    const Odeon__TimerListReply *from = reply->timer_list;
    struct odeon_list *list = result;
    struct odeon_timer_info *rows =
        admin_list_rows(call, list, from->n_timers, sizeof(*rows), from->more);

    for (size_t i = 0; i < list->n; i++) {
        const Odeon__Timer *timer = from->timers[i];

        rows[i] = (struct odeon_timer_info){
            .id = timer->id,
            .owner = timer->owner,
            .to = timer->to,
            .message = arena_string(list, timer->message),
            .size = timer->size,
            .due_in_ns = timer->due_in_ns,
            .period_ns = timer->period_ns,
            .by_boot_time = timer->by_boot_time,
        };
    }
    list->next = from->next;
    return 0;
}

int odeon_timer_list(struct odeon_client *client, odeon_ref owner, uint64_t after, uint32_t rows,
                     struct odeon_list **ret)
{
    Odeon__Page page = admin_page(after, rows);
    Odeon__TimerList body = ODEON__TIMER_LIST__INIT;

    body.page = &page;
    body.owner = owner;
    return admin_call(client, &(struct admin_call){ .request = ODEON__REQUEST__BODY_TIMER_LIST,
                                                    .body = &body,
                                                    .reply = ODEON__REPLY__BODY_TIMER_LIST,
                                                    .size = sizeof(struct odeon_list),
                                                    .ret = ret,
                                                    .fill = timer_fill_list,
                                                    .after = after });
}
