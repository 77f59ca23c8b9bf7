/* SPDX-License-Identifier: Apache-2.0 */
/* Monitors and links of actors, listed.  Any thread. */
#include "client-lib/src/admin_call.h"

static int monitor_fill_list(const struct admin_call *call, void *result, const Odeon__Reply *reply)
{
    const Odeon__MonitorListReply *from = reply->monitor_list;
    struct odeon_list *list = result;
    struct odeon_monitor_info *rows =
        admin_list_rows(call, list, from->n_monitors, sizeof(*rows), from->more);

    for (size_t i = 0; i < list->n; i++)
        rows[i] = (struct odeon_monitor_info){ .id = from->monitors[i]->id,
                                               .watcher = from->monitors[i]->watcher,
                                               .watched = from->monitors[i]->watched,
                                               .link = from->monitors[i]->link };
    list->next = from->next;
    return 0;
}

int odeon_monitor_list(struct odeon_client *client, odeon_ref of, uint64_t after, uint32_t rows,
                       struct odeon_list **ret)
{
    Odeon__Page page = admin_page(after, rows);
    Odeon__MonitorList body = ODEON__MONITOR_LIST__INIT;

    body.page = &page;
    body.of = of;
    return admin_call(client, &(struct admin_call){ .request = ODEON__REQUEST__BODY_MONITOR_LIST,
                                                    .body = &body,
                                                    .reply = ODEON__REPLY__BODY_MONITOR_LIST,
                                                    .size = sizeof(struct odeon_list),
                                                    .ret = ret,
                                                    .fill = monitor_fill_list,
                                                    .after = after });
}
