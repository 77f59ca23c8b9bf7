/* SPDX-License-Identifier: Apache-2.0 */
/* Requests about message queues. */
#include <errno.h>
#include <string.h>

#include "daemon/executor/command.h"

/* Who has ended is named by the reference alone. */
static void queue_row_add_oldest(struct engine *engine, uint32_t queue, Odeon__Queue *row)
{
    struct engine_oldest oldest = engine_queue_oldest(engine, queue);
    struct engine_actor_view actor;
    struct engine_actor_type_view type;

    row->oldest_to = oldest.to;
    row->oldest_ns = oldest.ns;
    if (oldest.to == 0 || engine_actor_get(engine, oldest.to, &actor) < 0)
        return;
    row->oldest_name = reply_string(actor.name);
    if (engine_actor_type_get(engine, actor.type, &type) == 0)
        row->oldest_type = reply_string(type.name);
}

static void queue_row_init(struct engine *engine, const struct engine_queue_view *queue,
                           Odeon__Queue *row)
{
    odeon__queue__init(row);
    row->id = queue->queue;
    row->kind = reply_string(queue->kind);
    row->home = queue->home;
    row->owner = queue->worker;
    row->bytes = queue->bytes;
    row->urgent_bytes = queue->urgent_bytes;
    row->actors = queue->actors;
    row->retiring = queue->retired;
    queue_row_add_oldest(engine, queue->queue, row);
}

static bool command_queue_kind_is_known(const char *kind)
{
    static const char *const kinds[] = { "", "ordinary", "pinned", "follow", "aside", "detached" };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(kind, kinds[i]) == 0)
            return true;
    return false;
}

/* `after`: the first id to look at. */
int command_queue_list(struct executor *executor, const Odeon__Request *request,
                       struct frame *frame, struct reply *reply)
{
    const Odeon__Page *page = request->queue_list->page;
    const char *kind = request->queue_list->kind;
    size_t n_rows = reply_page_rows(page);
    Odeon__QueueListReply *body = reply_alloc(reply, sizeof(*body));
    Odeon__Queue **rows = reply_alloc(reply, (n_rows + 1) * sizeof(*rows));
    Odeon__Queue *storage = reply_alloc(reply, (n_rows + 1) * sizeof(*storage));
    struct engine_queue_view queue;

    (void)frame;
    if (!body || !rows || !storage)
        return -ENOMEM;
    if (!command_queue_kind_is_known(kind))
        return explain_set(
            &reply->explain, -EINVAL,
            "'%.64s' is no kind of queue: there are ordinary, pinned, follow, aside and detached "
            "ones",
            kind);
    odeon__queue_list_reply__init(body);
    body->queues = rows;
    for (uint64_t id = page ? page->after : 0;
         id <= UINT32_MAX && engine_queue_get(executor->engine, (uint32_t)id, &queue) == 0; id++) {
        Odeon__Queue *row = &storage[body->n_queues];

        if (kind[0] != '\0' && strcmp(kind, queue.kind) != 0)
            continue;
        queue_row_init(executor->engine, &queue, row);
        body->more = body->n_queues == n_rows || !reply_row_fits(reply, &row->base);
        if (body->more)
            break;
        rows[body->n_queues++] = row;
    }
    reply->message.queue_list = body;
    reply->message.body_case = ODEON__REPLY__BODY_QUEUE_LIST;
    return 0;
}
