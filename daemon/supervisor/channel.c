/* SPDX-License-Identifier: Apache-2.0 */
/* A connection in the event loop; the interface is in channel.h. */
#include <errno.h>
#include <limits.h>
#include <linux/sockios.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/common/check.h"
#include "daemon/common/frame_queue.h"
#include "daemon/common/turn_count.h"
#include "daemon/supervisor/channel.h"
#include "daemon/supervisor/closer.h"
#include "daemon/supervisor/peer.h"
#include "daemon/supervisor/turn_share.h"
#include "daemon/supervisor/turns.h"

enum {
    FRAMES_A_TURN = 32,       /* then the others are served */
    DRAIN_RECORDS_MAX = 4096, /* at the end; a socket's buffer holds fewer */
    AGAIN_MS = 10             /* until what the kernel had no means for is tried again */
};

struct channel {
    uv_poll_t poll;
    uv_timer_t again; /* runs while `later` */
    uv_timer_t wait;  /* runs while `waits` */
    unsigned n_handles;
    int fd;
    bool reading, watches_end, takes_fds, waits, failed, closed;
    bool receives;            /* a frame is being handled, and its time counted */
    bool is_last;             /* its peer has died: only what it has sent is taken in */
    int n_last;               /* so many of that have been */
    struct turn_share *share; /* channel.C6; NULL: it is read from in each turn */
    struct turn_part part;
    int later;  /* why the first frame of the queue could not be sent (channel.C3); 0: it could */
    bool reset; /* failed so: the peer died with records unread */
    size_t queue_bytes_max;
    struct frame_queue queue;
    size_t told;   /* of the queue's memory, the last time */
    size_t n_sent; /* descriptors, since the peer had last read everything (channel.C4) */
    const struct channel_ops *ops;
    void *userdata;
    void (*freed)(void *userdata);
};

static void channel_on_poll(uv_poll_t *poll, int status, int events);

static void channel_update_events(struct channel *channel)
{
    int events = frame_queue_is_empty(&channel->queue) || channel->later < 0 ? 0 : UV_WRITABLE;

    if (!channel->failed)
        events |= channel->reading && !channel->waits ? UV_READABLE
                  : channel->watches_end              ? UV_DISCONNECT
                                                      : 0;
    if (!channel->closed)
        uv_poll_start(&channel->poll, events, channel_on_poll);
}

bool channel_is_short(int error)
{
    return error == -ENOMEM || error == -EMFILE || error == -ENFILE;
}

/* Not the socket's fault: too many descriptors of this user's are in flight, or the kernel has no
 * memory for the record. */
static bool channel_passes(int error)
{
    return error == -ETOOMANYREFS || error == -ENOBUFS || error == -ENOMEM;
}

static void channel_on_again(uv_timer_t *timer);

static void channel_try_later(struct channel *channel, int error)
{
    channel->later = error;
    uv_timer_start(&channel->again, channel_on_again, AGAIN_MS, 0);
}

static void channel_tell_memory(struct channel *channel)
{
    if (!channel->ops->waits || channel->told == channel->queue.bytes)
        return;
    channel->told = channel->queue.bytes;
    channel->ops->waits(channel->userdata, channel->told);
}

/* Until the socket is full.  A socket that fails loses the queue: nobody will read it. */
static void channel_flush(struct channel *channel)
{
    size_t waited = channel->queue.n_fds;
    int r = frame_queue_flush(&channel->queue, channel->fd);

    channel->n_sent += waited - channel->queue.n_fds;
    if (channel_passes(r))
        channel_try_later(channel, r);
    else if (r < 0 && r != -EAGAIN)
        frame_queue_clear(&channel->queue);
    channel_tell_memory(channel);
}

static void channel_on_again(uv_timer_t *timer)
{
    struct channel *channel = timer->data;

    channel->later = 0;
    channel_flush(channel);
    channel_update_events(channel);
}

int channel_lacks(const struct channel *channel)
{
    return channel->later;
}

bool channel_socket_is_read(int socket)
{
    int bytes = 0;

    /* what is gone from the queue, and what lies with the peer, count until they are read */
    return ioctl(socket, SIOCOUTQ, &bytes) < 0 || bytes == 0;
}

size_t channel_descriptors(struct channel *channel)
{
    if (channel->n_sent > 0 && channel_socket_is_read(channel->fd))
        channel->n_sent = 0;
    return channel->n_sent + channel->queue.n_fds;
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

static void channel_on_waited(uv_timer_t *timer)
{
    struct channel *channel = timer->data;

    channel->waits = false;
    channel_update_events(channel);
}

/* channel.C5 */
static bool channel_must_wait(struct channel *channel)
{
    if (!channel->takes_fds || !closer_has_many_sent() || !frame_next_has_fds(channel->fd))
        return false;
    channel->waits = true;
    uv_timer_start(&channel->wait, channel_on_waited, AGAIN_MS, 0);
    return true;
}

/* What a look at the clock costs is left out where nobody wants to know. */
static uint64_t channel_look_at_clock(const struct channel *channel)
{
    return channel->ops->spent ? turn_count_cpu_ns() : 0;
}

/* Since `since`, which is now then.  True: it has had enough of this turn. */
static bool channel_tell_spent(struct channel *channel, uint64_t *since)
{
    uint64_t before = *since;

    if (!channel->ops->spent)
        return false;
    *since = turn_count_cpu_ns();
    channel->ops->spent(channel->userdata, *since - before);
    return channel->share && !channel->closed &&
           turn_share_count(channel->share, &channel->part, turns_number(), *since - before);
}

/* One frame.  False: there is no further one now. */
static bool channel_receive_one(struct channel *channel)
{
    struct frame frame;
    int r = channel_must_wait(channel) ? -EAGAIN : channel_take(channel, &frame);

    if (r == -EAGAIN)
        return false;
    if (r > 0)
        channel->ops->on_frame(channel->userdata, &frame);
    closer_close_frame(&frame);
    if (r <= 0)
        channel_fail(channel, r);
    return r > 0;
}

/* `in_turns`: until it has had enough of this turn. True: that is why it has ended, and it goes on
 * in another one. */
static bool channel_receive(struct channel *channel, int frames_max, bool in_turns)
{
    uint64_t since = channel_look_at_clock(channel);
    bool more = true;

    for (int i = 0;
         i < frames_max && more && channel->reading && !channel->failed && !channel->closed; i++) {
        channel->receives = true;
        more = channel_receive_one(channel);
        channel->receives = false;
        channel->n_last += channel->is_last;
        if (channel_tell_spent(channel, &since) && in_turns)
            return more && channel->reading && !channel->failed && !channel->closed;
    }
    return false;
}

/* For no frame: answers that were not ready when it had been handled, and events. */
static void channel_flush_counted(struct channel *channel)
{
    uint64_t since = channel_look_at_clock(channel);

    channel_flush(channel);
    (void)channel_tell_spent(channel, &since);
}

static int channel_send_now(struct channel *channel, const ProtobufCMessage *message,
                            const int *fds, size_t n_fds)
{
    uint64_t since = channel->receives ? 0 : channel_look_at_clock(channel);
    int r = frame_send(channel->fd, message, fds, n_fds);

    if (!channel->receives)
        (void)channel_tell_spent(channel, &since);
    return r;
}

/* channel.C6 */
static bool channel_has_turn(struct channel *channel)
{
    return !channel->share || turn_share_may(channel->share, &channel->part, turns_number());
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
        channel_flush_counted(channel);
    if (!(events & UV_READABLE) && events & UV_DISCONNECT)
        channel_fail(channel, 0);
    else if (events & UV_READABLE && channel_has_turn(channel))
        channel_receive(channel, FRAMES_A_TURN, true);
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
    uv_timer_init(loop, &channel->again);
    uv_timer_init(loop, &channel->wait);
    channel->poll.data = channel->again.data = channel->wait.data = channel;
    channel_update_events(channel);
    return channel;
}

void channel_take_turns(struct channel *channel, struct turn_share *share)
{
    channel->share = share;
}

static int channel_enqueue(struct channel *channel, const ProtobufCMessage *message, size_t size,
                           const int *fds, size_t n_fds)
{
    size_t cost = frame_queue_cost(size, n_fds);
    int r;

    if (cost > channel->queue_bytes_max - channel->queue.bytes)
        return -ENOBUFS;
    if (channel->ops->room && cost > channel->ops->room(channel->userdata))
        return -EDQUOT;
    r = frame_queue_add(&channel->queue, message, fds, n_fds);
    check("client.K1", channel->queue.bytes <= channel->queue_bytes_max);
    channel_tell_memory(channel);
    return r;
}

int channel_send(struct channel *channel, const ProtobufCMessage *message, const int *fds,
                 size_t n_fds)
{
    size_t size = protobuf_c_message_get_packed_size(message);
    int sent = -EAGAIN, r;

    if (size > ODEON_CONTROL_FRAME_MAX)
        return -EMSGSIZE;
    if (n_fds > FRAME_FDS_MAX)
        return -EINVAL;
    if (channel->closed)
        return -EPIPE;
    if (frame_queue_is_empty(&channel->queue))
        sent = channel_send_now(channel, message, fds, n_fds);
    if (sent == 0)
        channel->n_sent += n_fds;
    if (sent != -EAGAIN && !channel_passes(sent))
        return sent;
    r = channel_enqueue(channel, message, size, fds, n_fds);
    if (r == 0 && sent != -EAGAIN)
        channel_try_later(channel, sent);
    if (r == 0)
        channel_update_events(channel);
    return r;
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

    channel_receive(channel, INT_MAX, false);
    /* The reset is told before what the peer had sent, once; poll() tells it, too, and takes
     * nothing. */
    while (channel->reset && !channel->closed) {
        r = channel_take(channel, &frame);
        if (r == -ECONNRESET && resets++ == 0)
            continue;
        if (r > 0)
            channel->ops->on_frame(channel->userdata, &frame);
        closer_close_frame(&frame);
        if (r <= 0)
            return;
    }
}

bool channel_receive_last(struct channel *channel)
{
    if (!channel_has_turn(channel))
        return true;
    channel->is_last = true;
    return channel->n_last < DRAIN_RECORDS_MAX &&
           channel_receive(channel, DRAIN_RECORDS_MAX - channel->n_last, true);
}

static void channel_on_closed(uv_handle_t *handle)
{
    struct channel *channel = handle->data;

    if (--channel->n_handles > 0)
        return;
    if (channel->freed)
        channel->freed(channel->userdata);
    free(channel);
}

int channel_free_unread(struct channel *channel, void (*freed)(void *userdata))
{
    bool unread;

    if (!channel || channel->closed)
        return -1;
    channel_flush(channel);
    channel->closed = true;
    channel->freed = freed;
    frame_queue_clear(&channel->queue);
    channel_tell_memory(channel);
    unread = channel_descriptors(channel) > 0;
    shutdown(channel->fd, unread ? SHUT_RDWR : SHUT_RD);
    channel->n_handles = 3;
    uv_close((uv_handle_t *)&channel->poll, channel_on_closed);
    uv_close((uv_handle_t *)&channel->wait, channel_on_closed);
    uv_close((uv_handle_t *)&channel->again, channel_on_closed);
    if (unread)
        return channel->fd;
    channel->n_sent = 0;
    closer_end(channel->fd);
    return -1;
}

void channel_free(struct channel *channel, void (*freed)(void *userdata))
{
    int fd = channel_free_unread(channel, freed);

    if (fd >= 0)
        closer_end(fd);
}
