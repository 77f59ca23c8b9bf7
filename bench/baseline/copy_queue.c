/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy_queue.c - the rare half of the copy queue: making, freeing and resizing its array.
 *
 * Kept out of the header so that every send does not carry it. Called under the rules of
 * copy_queue.h: growing by the holder of the lock, cutting by the owning worker, the rest by the
 * driver thread. Invariants are those of the header.
 */
#include "copy_queue.h"

#include <stdio.h>
#include <stdlib.h>

static void copy_queue_resize(struct copy_queue *queue, uint32_t capacity)
{
    struct envelope *envelopes =
        realloc(queue->envelopes, (size_t)capacity * sizeof(struct envelope));
    if (envelopes == NULL) {
        fputs("odeon-baseline: out of memory for a copy queue\n", stderr);
        abort();
    }
    queue->envelopes = envelopes;
    queue->capacity = capacity;
}

void copy_queue_init(struct copy_queue *queue)
{
    queue->envelopes = NULL;
    copy_queue_resize(queue, COPY_QUEUE_LOW);
    atomic_init(&queue->count, 0);
}

void copy_queue_destroy(struct copy_queue *queue)
{
    free(queue->envelopes);
    queue->envelopes = NULL;
}

void copy_queue_grow(struct copy_queue *queue)
{
    if (queue->capacity > UINT32_MAX / 2) {
        fputs("odeon-baseline: too many messages in one queue\n", stderr);
        abort();
    }
    copy_queue_resize(queue, queue->capacity * 2);
}

void copy_queue_cut(struct copy_queue *queue)
{
    copy_queue_resize(queue, queue->capacity - 1);
}
