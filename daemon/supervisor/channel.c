/* SPDX-License-Identifier: Apache-2.0 */
/* A connection in the event loop; the interface is in channel.h. */
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/common/check.h"
#include "daemon/common/frame_queue.h"
#include "daemon/supervisor/channel.h"
#include "daemon/supervisor/peer.h"

enum {
    FRAMES_A_TURN = 32,      /* then the others are served */
    DRAIN_RECORDS_MAX = 4096 /* at the end; a socket's buffer holds fewer */
};

struct channel {
    uv_poll_t poll;
    int fd;
    bool reading, watches_end, takes_fds, failed, closed;
    bool reset; /* failed so: the peer died with records unread */
    size_t queue_bytes_max;
    struct frame_queue queue;
    const struct channel_ops *ops;
    void *userdata;
    void (*freed)(void *userdata);
};

static void channel_on_poll(uv_poll_t *poll, int status, int events);

static void channel_update_events(struct channel *channel)
{
    int events = frame_queue_is_empty(&channel->queue) ? 0 : UV_WRITABLE;

    if (!channel->failed)
        events |= channel->reading ? UV_READABLE : channel->watches_end ? UV_DISCONNECT : 0;
    if (!channel->closed)
        uv_poll_start(&channel->poll, events, channel_on_poll);
}

/* Until the socket is full.  A socket that fails loses the queue: nobody will read it. */
static void channel_flush(struct channel *channel)
{
    int r = frame_queue_flush(&channel->queue, channel->fd);

    if (r < 0 && r != -EAGAIN)
        frame_queue_clear(&channel->queue);
}

static void channel_fail(struct channel *channel, int error)
{
    if (channel->failed)
        return;
    check("channel.C1", !channel->closed);
    channel->failed = true;
    channel->reset = error == -ECONNRESET;
    channel_update_events(channel);
    channel->ops->on_error(channel->userdata, error);
}

static int channel_take(struct channel *channel, struct frame *frame)
{
    return channel->takes_fds ? frame_receive(channel->fd, frame)
                              : frame_receive_data(channel->fd, frame);
}

static void channel_receive(struct channel *channel, int frames_max)
{
    struct frame frame;

    for (int i = 0; i < frames_max && channel->reading && !channel->failed && !channel->closed;
         i++) {
        int r = channel_take(channel, &frame);

        if (r == -EAGAIN)
            return;
        if (r <= 0) {
            channel_fail(channel, r);
            return;
        }
        channel->ops->on_frame(channel->userdata, &frame);
        frame_fini(&frame);
    }
}

static void channel_on_poll(uv_poll_t *poll, int status, int events)
{
    struct channel *channel = poll->data;

    check("channel.C1", !channel->closed);
    if (status < 0) { /* libuv says EBADF for POLLERR: the peer died with records unread */
        channel_fail(channel, status == UV_EBADF ? -ECONNRESET : status);
        return;
    }
    if (events & UV_WRITABLE)
        channel_flush(channel);
    if (events & UV_READABLE)
        channel_receive(channel, FRAMES_A_TURN);
    else if (events & UV_DISCONNECT)
        channel_fail(channel, 0);
    channel_update_events(channel);
}

struct channel *channel_new(uv_loop_t *loop, int fd, size_t queue_bytes_max,
                            const struct channel_ops *ops, void *userdata)
{
    struct channel *channel = calloc(1, sizeof(*channel));

    if (!channel)
        return NULL;
    channel->fd = fd;
    channel->reading = channel->takes_fds = true;
    channel->queue_bytes_max = queue_bytes_max;
    frame_queue_init(&channel->queue);
    channel->ops = ops;
    channel->userdata = userdata;
    if (uv_poll_init(loop, &channel->poll, fd) < 0) {
        free(channel);
        return NULL;
    }
    channel->poll.data = channel;
    channel_update_events(channel);
    return channel;
}

static int channel_enqueue(struct channel *channel, const ProtobufCMessage *message, size_t size,
                           const int *fds, size_t n_fds)
{
    int r;

    if (size > channel->queue_bytes_max - channel->queue.bytes)
        return -ENOBUFS;
    r = frame_queue_add(&channel->queue, message, fds, n_fds);
    check("client.K1", channel->queue.bytes <= channel->queue_bytes_max);
    if (r == 0)
        channel_update_events(channel);
    return r;
}

int channel_send(struct channel *channel, const ProtobufCMessage *message, const int *fds,
                 size_t n_fds)
{
    size_t size = protobuf_c_message_get_packed_size(message);

    if (size > ODEON_CONTROL_FRAME_MAX)
        return -EMSGSIZE;
    if (n_fds > FRAME_FDS_MAX)
        return -EINVAL;
    if (channel->closed)
        return -EPIPE;
    if (frame_queue_is_empty(&channel->queue)) {
        int r = frame_send(channel->fd, message, fds, n_fds);

        if (r != -EAGAIN)
            return r;
    }
    return channel_enqueue(channel, message, size, fds, n_fds);
}

void channel_allow_descriptors(struct channel *channel, bool allow)
{
    channel->takes_fds = allow;
    peer_allow_descriptors(channel->fd, allow);
}

void channel_set_reading(struct channel *channel, bool reading)
{
    if (channel->reading == reading)
        return;
    channel->reading = reading;
    channel_update_events(channel);
}

void channel_watch_end(struct channel *channel, bool watch)
{
    if (channel->watches_end == watch)
        return;
    channel->watches_end = watch;
    channel_update_events(channel);
}

void channel_receive_rest(struct channel *channel)
{
    struct frame frame;
    int resets = 0, r;

    channel_receive(channel, INT_MAX);
    /* The reset is told before what the peer had sent, once; poll() tells it, too, and takes
     * nothing. */
    while (channel->reset && !channel->closed) {
        r = channel_take(channel, &frame);
        if (r == -ECONNRESET && resets++ == 0)
            continue;
        if (r <= 0)
            return;
        channel->ops->on_frame(channel->userdata, &frame);
        frame_fini(&frame);
    }
}

void channel_receive_last(struct channel *channel)
{
    channel_receive(channel, DRAIN_RECORDS_MAX);
}

static void channel_on_closed(uv_handle_t *handle)
{
    struct channel *channel = handle->data;

    if (channel->freed)
        channel->freed(channel->userdata);
    free(channel);
}

void channel_free(struct channel *channel, void (*freed)(void *userdata))
{
    if (!channel || channel->closed)
        return;
    channel_flush(channel);
    channel->closed = true;
    channel->freed = freed;
    frame_queue_clear(&channel->queue);
    /* Closing a socket with unread records would hand its peer a reset in the place of our last
     * answer. */
    shutdown(channel->fd, SHUT_RD);
    for (int i = 0;
         i < DRAIN_RECORDS_MAX && recv(channel->fd, NULL, 0, MSG_DONTWAIT | MSG_TRUNC) > 0; i++)
        ;
    uv_close((uv_handle_t *)&channel->poll, channel_on_closed);
    close(channel->fd);
}
