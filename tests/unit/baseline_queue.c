/* SPDX-License-Identifier: Apache-2.0 */
#include "baseline_queue.h"

#include <stdlib.h>

#include "bench/baseline/copy_queue.h"

struct baseline_queue {
    struct copy_queue shared, local;
};

struct baseline_queue *baseline_queue_make(void)
{
    struct baseline_queue *queue = calloc(1, sizeof(*queue));
    if (!queue)
        abort();
    copy_queue_init(&queue->shared);
    copy_queue_init(&queue->local);
    return queue;
}

struct baseline_queue *baseline_queue_free(struct baseline_queue *queue)
{
    copy_queue_destroy(&queue->shared);
    copy_queue_destroy(&queue->local);
    free(queue);
    return NULL;
}

void baseline_queue_gulp(struct baseline_queue *queue, uint32_t n, uint64_t *ret_most,
                         uint64_t *ret_left)
{
    for (uint32_t i = 0; i < n; i++)
        copy_queue_push(&queue->shared, NULL, NULL, NULL);
    copy_queue_swap(&queue->shared, &queue->local);
    *ret_most = (uint64_t)queue->local.capacity * sizeof(struct envelope);
    copy_queue_reclaim(&queue->local, n);
    *ret_left = (uint64_t)queue->local.capacity * sizeof(struct envelope);
}
