/* SPDX-License-Identifier: Apache-2.0 */
/* Records of the control protocol; the interface is in frame.h. Stateless: any thread, one at a
 * time per socket. */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/common/frame.h"

union control_buffer {
    struct cmsghdr header; /* for its alignment */
    char bytes[CMSG_SPACE(sizeof(int) * FRAME_FDS_MAX)];
};

int frame_send_packed(int socket, const void *data, size_t size, const int *fds, size_t n_fds)
{
    struct iovec part = { (void *)data, size };
    struct msghdr record = { .msg_iov = &part, .msg_iovlen = 1 };
    union control_buffer control = { 0 };
    ssize_t n;

    if (size > ODEON_CONTROL_FRAME_MAX)
        return -EMSGSIZE;
    if (n_fds > FRAME_FDS_MAX)
        return -EINVAL;
    if (n_fds > 0) {
        struct cmsghdr *rights;

        record.msg_control = control.bytes;
        record.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
        rights = CMSG_FIRSTHDR(&record);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
        memcpy(CMSG_DATA(rights), fds, sizeof(int) * n_fds);
    }
    do
        n = sendmsg(socket, &record, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno == EWOULDBLOCK ? -EAGAIN : -errno;
    return (size_t)n == size ? 0 : -EIO; /* a record goes whole or not at all */
}

int frame_send(int socket, const ProtobufCMessage *message, const int *fds, size_t n_fds)
{
    uint8_t packed[ODEON_CONTROL_FRAME_MAX];

    if (protobuf_c_message_get_packed_size(message) > sizeof(packed))
        return -EMSGSIZE;
    return frame_send_packed(socket, packed, protobuf_c_message_pack(message, packed), fds, n_fds);
}

static void frame_collect_fds(struct frame *frame, struct msghdr *record)
{
    for (struct cmsghdr *part = CMSG_FIRSTHDR(record); part; part = CMSG_NXTHDR(record, part)) {
        size_t n;

        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
            continue;
        n = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < n; i++) {
            int fd;

            memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
            if (frame->n_fds < FRAME_FDS_MAX)
                frame->fds[frame->n_fds++] = fd;
            else
                close(fd);
        }
    }
}

/* An empty record and the end of file look the same to recvmsg(); only after the latter has the
 * other side hung up. */
static int frame_peer_is_gone(int socket)
{
    struct pollfd p = { .fd = socket, .events = POLLRDHUP };

    return poll(&p, 1, 0) > 0 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL));
}

/* Without room for them the kernel lets go of the descriptors itself: they never come into this
 * process. */
static int frame_do_receive(int socket, struct frame *frame, bool take_fds)
{
    struct iovec part = { frame->data, sizeof(frame->data) };
    union control_buffer control;
    struct msghdr record = { .msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = take_fds ? control.bytes : NULL,
                             .msg_controllen = take_fds ? sizeof(control.bytes) : 0 };
    ssize_t n;

    frame->size = frame->n_fds = 0;
    frame->fds_lost = false;
    do
        n = recvmsg(socket, &record, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno == EWOULDBLOCK ? -EAGAIN : -errno;
    frame_collect_fds(frame, &record);
    /* fewer than there was room for: it is the table of this process that is full */
    frame->fds_lost = take_fds && record.msg_flags & MSG_CTRUNC && frame->n_fds < FRAME_FDS_MAX;
    if (frame->fds_lost)
        frame_fini(frame);
    if (record.msg_flags & MSG_TRUNC || (record.msg_flags & MSG_CTRUNC && !frame->fds_lost)) {
        frame_fini(frame);
        return record.msg_flags & MSG_TRUNC ? -EMSGSIZE : -EPROTO;
    }
    if (n == 0 && frame->n_fds == 0 && !frame->fds_lost && frame_peer_is_gone(socket))
        return 0;
    frame->size = (size_t)n;
    return 1;
}

int frame_receive(int socket, struct frame *frame)
{
    return frame_do_receive(socket, frame, true);
}

int frame_receive_data(int socket, struct frame *frame)
{
    return frame_do_receive(socket, frame, false);
}

bool frame_next_has_fds(int socket)
{
    char byte;
    struct iovec part = { &byte, sizeof(byte) };
    struct msghdr record = { .msg_iov = &part, .msg_iovlen = 1 };

    /* there is no room for any here, which it says when there are some */
    return recvmsg(socket, &record, MSG_PEEK | MSG_DONTWAIT) >= 0 && record.msg_flags & MSG_CTRUNC;
}

void frame_fini(struct frame *frame)
{
    for (size_t i = 0; i < frame->n_fds; i++)
        if (frame->fds[i] >= 0)
            close(frame->fds[i]);
    frame->n_fds = 0;
}

int frame_take_fd(struct frame *frame, size_t index)
{
    int fd;

    if (index >= frame->n_fds)
        return -1;
    fd = frame->fds[index];
    frame->fds[index] = -1;
    return fd;
}
