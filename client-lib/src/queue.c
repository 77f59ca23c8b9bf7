/* SPDX-License-Identifier: Apache-2.0 */
/* Message queues, listed.  Any thread. */
#include "client-lib/src/admin_call.h"

static int queue_fill_list(const struct admin_call *call, void *result, const Odeon__Reply *reply)
{
    const Odeon__QueueListReply *from = reply->queue_list;
    struct odeon_list *list = result;
    struct odeon_queue_info *rows =
        admin_list_rows(call, list, from->n_queues, sizeof(*rows), from->more);

    for (size_t i = 0; i < list->n; i++) {
        const Odeon__Queue *queue = from->queues[i];

        rows[i] = (struct odeon_queue_info){
            .id = queue->id,
            .home = queue->home,
            .owner = queue->owner,
            .bytes = queue->bytes,
            .actors = queue->actors,
            .urgent_bytes = queue->urgent_bytes,
            .retiring = queue->retiring,
            .kind = arena_string(list, queue->kind),
            .oldest_to = queue->oldest_to,
            .oldest_ns = queue->oldest_ns,
            .oldest_name = arena_string(list, queue->oldest_name),
            .oldest_type = arena_string(list, queue->oldest_type),
        };
        list->next = (uint64_t)queue->id + 1;
    }
    return 0;
}

int odeon_queue_list(struct odeon_client *client, const char *kind, uint64_t after, uint32_t rows,
                     struct odeon_list **ret)
{
    Odeon__Page page = admin_page(after, rows);
    Odeon__QueueList body = ODEON__QUEUE_LIST__INIT;

    body.page = &page;
    body.kind = admin_string(kind);
    return admin_call(client, &(struct admin_call){ .request = ODEON__REQUEST__BODY_QUEUE_LIST,
                                                    .body = &body,
                                                    .reply = ODEON__REPLY__BODY_QUEUE_LIST,
                                                    .size = sizeof(struct odeon_list),
                                                    .ret = ret,
                                                    .fill = queue_fill_list,
                                                    .after = after });
}
