/* SPDX-License-Identifier: Apache-2.0 */
/* Requests about timers. */
#include <errno.h>

#include "daemon/common/clock.h"
#include "daemon/executor/command.h"

/* Timers of others are passed by while those of one are looked for: so many a request, which takes
 * the control thread less than a millisecond. */
enum { TIMER_LOOKS_MAX = 4096 };

static void command_timer_row_init(const struct executor *executor,
                                   const struct engine_timer_view *timer, Odeon__Timer *row)
{
    uint64_t now_ns = timer->by_boot_time ? clock_boot_ns() : clock_now_ns();
    struct engine_message_type message;

    odeon__timer__init(row);
    row->id = timer->id;
    row->owner = timer->owner;
    row->to = timer->to;
    row->size = timer->size;
    row->period_ns = timer->period_ns;
    row->by_boot_time = timer->by_boot_time;
    row->due_in_ns = timer->deadline_ns > now_ns ? timer->deadline_ns - now_ns : 0;
    if (engine_message_type_get(executor->engine, timer->message_type, &message) == 0)
        row->message = reply_string(message.name);
}

/* `after`: the first number to look at. */
int command_timer_list(struct executor *executor, const Odeon__Request *request,
                       struct frame *frame, struct reply *reply)
{
    const Odeon__Page *page = request->timer_list->page;
    uint64_t owner = request->timer_list->owner, at = page ? page->after : 0;
    size_t n_rows = reply_page_rows(page);
    Odeon__TimerListReply *body = reply_alloc(reply, sizeof(*body));
    Odeon__Timer **rows = reply_alloc(reply, n_rows * sizeof(*rows));
    Odeon__Timer *storage = reply_alloc(reply, (n_rows + 1) * sizeof(*storage));
    struct engine_timer_view timer;

    (void)frame;
    if (!body || !rows || !storage)
        return -ENOMEM;
    odeon__timer_list_reply__init(body);
    body->timers = rows;
    for (unsigned looks = 0;
         at <= UINT32_MAX && engine_timer_next(executor->engine, (uint32_t)at, &timer) == 0;
         looks++) {
        Odeon__Timer *row = &storage[body->n_timers];
        bool wanted =
            timer.watched == 0 && timer.group == 0 && (owner == 0 || timer.owner == owner);

        if (wanted)
            command_timer_row_init(executor, &timer, row);
        body->more = looks == TIMER_LOOKS_MAX ||
                     (wanted && (body->n_timers == n_rows || !reply_row_fits(reply, &row->base)));
        if (body->more)
            break;
        at = (uint64_t)timer.timer + 1;
        if (wanted)
            rows[body->n_timers++] = row;
    }
    body->next = at;
    reply->message.timer_list = body;
    reply->message.body_case = ODEON__REPLY__BODY_TIMER_LIST;
    return 0;
}
