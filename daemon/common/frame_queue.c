/* SPDX-License-Identifier: Apache-2.0 */
/* Frames that wait for a socket; see frame_queue.h. */
#include "daemon/common/frame_queue.h"
#include "daemon/common/check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

struct queued_frame {
    struct queued_frame *next;
    size_t size, n_fds;
    int fds[]; /* and the packed frame behind them */
};

/* What malloc() keeps for itself beside an allocation, and rounds it up to. */
enum { ALLOCATION_EXTRA = 8, ALLOCATION_STEP = 16 };

static size_t frame_queue_size_of(size_t size, size_t n_fds)
{
    return sizeof(struct queued_frame) + n_fds * sizeof(int) + size;
}

static uint8_t *frame_queue_data(struct queued_frame *frame)
{
    return (uint8_t *)&frame->fds[frame->n_fds];
}

size_t frame_queue_cost(size_t size, size_t n_fds)
{
    size_t all = frame_queue_size_of(size, n_fds) + ALLOCATION_EXTRA;

    return (all + ALLOCATION_STEP - 1) / ALLOCATION_STEP * ALLOCATION_STEP;
}

void frame_queue_init(struct frame_queue *queue)
{
    *queue = (struct frame_queue){ .end = &queue->first };
}

static void frame_queue_free_frame(struct queued_frame *frame)
{
    for (size_t i = 0; i < frame->n_fds; i++)
        close(frame->fds[i]);
    free(frame);
}

static void frame_queue_drop_first(struct frame_queue *queue)
{
    struct queued_frame *first = queue->first;

    queue->first = first->next;
    if (!queue->first)
        queue->end = &queue->first;
    queue->n_frames--;
    queue->bytes -= frame_queue_cost(first->size, first->n_fds);
    queue->n_fds -= first->n_fds;
    frame_queue_free_frame(first);
}

void frame_queue_clear(struct frame_queue *queue)
{
    while (queue->first)
        frame_queue_drop_first(queue);
    check("frame_queue.Q2", queue->n_frames == 0 && queue->bytes == 0 && queue->n_fds == 0);
}

int frame_queue_add(struct frame_queue *queue, const ProtobufCMessage *message, const int *fds,
                    size_t n_fds)
{
    size_t size = protobuf_c_message_get_packed_size(message);
    struct queued_frame *frame = malloc(frame_queue_size_of(size, n_fds));

    if (!frame)
        return -ENOMEM;
    frame->next = NULL;
    frame->size = size;
    for (frame->n_fds = 0; frame->n_fds < n_fds; frame->n_fds++) {
        int copy = fcntl(fds[frame->n_fds], F_DUPFD_CLOEXEC, 3);

        if (copy < 0) {
            int r = -errno;

            frame_queue_free_frame(frame);
            return r;
        }
        frame->fds[frame->n_fds] = copy;
    }
    protobuf_c_message_pack(message, frame_queue_data(frame));
    *queue->end = frame;
    queue->end = &frame->next;
    queue->n_frames++;
    queue->bytes += frame_queue_cost(size, n_fds);
    queue->n_fds += n_fds;
    return 0;
}

int frame_queue_flush(struct frame_queue *queue, int socket)
{
    while (queue->first) {
        struct queued_frame *first = queue->first;
        int r = frame_send_packed(socket, frame_queue_data(first), first->size, first->fds,
                                  first->n_fds);

        if (r < 0)
            return r;
        frame_queue_drop_first(queue);
    }
    return 0;
}
