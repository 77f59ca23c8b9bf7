/* SPDX-License-Identifier: Apache-2.0 */
/* Frames that a full socket did not take, in order, until it takes them.
 *
 * Owned by the connection that it belongs to, one thread. No bound of its own: the owner asks for
 * `bytes` or `n_frames` before it adds. Descriptors are duplicated: the caller keeps its own.
 *
 * frame_queue.Q1  Nothing is sent past a queue that is not empty: the owner sends directly only
 *     when frame_queue_is_empty() says so.
 * frame_queue.Q2  `n_frames`, `bytes` and `n_fds` are those of what waits.
 */
#pragma once

#include <stdbool.h>

#include "daemon/common/frame.h"

struct queued_frame;

struct frame_queue {
    struct queued_frame *first, **end;
    size_t n_frames;
    size_t bytes; /* of memory, for all that wait */
    size_t n_fds; /* likewise */
};

void frame_queue_init(struct frame_queue *queue);
/* Drops what waits, and closes its descriptors. */
void frame_queue_clear(struct frame_queue *queue);

static inline bool frame_queue_is_empty(const struct frame_queue *queue)
{
    return queue->n_frames == 0;
}

/* The memory that a frame takes while it waits. */
size_t frame_queue_cost(size_t size, size_t n_fds);
/* 0; -ENOMEM; what duplicating a descriptor failed with. A failure leaves the queue as it was. */
int frame_queue_add(struct frame_queue *queue, const ProtobufCMessage *message, const int *fds,
                    size_t n_fds);
/* Sends as much as the socket takes. 0: all has left; -EAGAIN: the socket is full; other negative
 * errno: the connection is broken, and the frame at which it broke stays the first. */
int frame_queue_flush(struct frame_queue *queue, int socket);
