/* SPDX-License-Identifier: Apache-2.0 */
/* Requests about monitors and links. */
#include <errno.h>

#include "daemon/executor/command.h"
#include "proto/envelope.h"

/* As in command_timer.c: they are numbers of one table. */
enum { MONITOR_LOOKS_MAX = 4096 };

static void command_monitor_row_init(const struct engine_timer_view *view, Odeon__Monitor *row)
{
    odeon__monitor__init(row);
    row->id = view->id;
    row->watcher = view->owner;
    row->watched = view->watched;
    row->link = view->message_type != MESSAGE_TYPE_DOWN;
}

static bool command_monitor_is_wanted(const struct engine_timer_view *view, uint64_t of)
{
    return view->watched != 0 && (of == 0 || view->owner == of || view->watched == of);
}

/* `after`: the first number to look at. */
int command_monitor_list(struct executor *executor, const Odeon__Request *request,
                         struct frame *frame, struct reply *reply)
{
    const Odeon__Page *page = request->monitor_list->page;
    uint64_t of = request->monitor_list->of, at = page ? page->after : 0;
    size_t n_rows = reply_page_rows(page);
    Odeon__MonitorListReply *body = reply_alloc(reply, sizeof(*body));
    Odeon__Monitor **rows = reply_alloc(reply, n_rows * sizeof(*rows));
    Odeon__Monitor *storage = reply_alloc(reply, (n_rows + 1) * sizeof(*storage));
    struct engine_timer_view view;

    (void)frame;
    if (!body || !rows || !storage)
        return -ENOMEM;
    odeon__monitor_list_reply__init(body);
    body->monitors = rows;
    for (unsigned looks = 0;
         at <= UINT32_MAX && engine_timer_next(executor->engine, (uint32_t)at, &view) == 0;
         looks++) {
        Odeon__Monitor *row = &storage[body->n_monitors];
        bool wanted = command_monitor_is_wanted(&view, of);

        if (wanted)
            command_monitor_row_init(&view, row);
        body->more = looks == MONITOR_LOOKS_MAX ||
                     (wanted && (body->n_monitors == n_rows || !reply_row_fits(reply, &row->base)));
        if (body->more)
            break;
        at = (uint64_t)view.timer + 1;
        if (wanted)
            rows[body->n_monitors++] = row;
    }
    body->next = at;
    reply->message.monitor_list = body;
    reply->message.body_case = ODEON__REPLY__BODY_MONITOR_LIST;
    return 0;
}
