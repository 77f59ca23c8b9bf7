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
    char bytes[CMSG_SPACE(sizeof(int) * FRAME_FDS_KERNEL_MAX)];
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
        size_t n = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);

        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
            continue;
        memcpy(frame->fds + frame->n_fds, CMSG_DATA(part), n * sizeof(int));
        frame->n_fds += n;
    }
}

/* An empty record and the end of file look the same to recvmsg(); only after the latter has the
 * other side hung up. */
static int frame_peer_is_gone(int socket)
{
    struct pollfd p = { .fd = socket, .events = POLLRDHUP };

    return poll(&p, 1, 0) > 0 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL));
}

/* There is room for all that the kernel lets pass: what there is no room for it would close itself,
 * in this thread. */
int frame_receive(int socket, struct frame *frame)
{
    struct iovec part = { frame->data, sizeof(frame->data) };
    union control_buffer control;
    struct msghdr record = { .msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes) };
    ssize_t n;

    frame->size = frame->n_fds = 0;
    frame->fds_lost = false;
    do
        n = recvmsg(socket, &record, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno == EWOULDBLOCK ? -EAGAIN : -errno;
    frame_collect_fds(frame, &record);
    frame->fds_lost = record.msg_flags & MSG_CTRUNC; /* the table of this process is full */
    if (record.msg_flags & MSG_TRUNC)
        return -EMSGSIZE;
    if (frame->n_fds > FRAME_FDS_MAX)
        return -EPROTO;
    if (n == 0 && frame->n_fds == 0 && !frame->fds_lost && frame_peer_is_gone(socket))
        return 0;
    frame->size = (size_t)n;
    return 1;
}

/* 1: the next record brings descriptors; 0: it brings none, or there will be no more; negative
 * errno. */
static int frame_peek(int socket)
{
    char byte;
    struct iovec part = { &byte, sizeof(byte) };
    struct msghdr record = { .msg_iov = &part, .msg_iovlen = 1 };

    /* there is no room for any here, which it says when there are some */
    if (recvmsg(socket, &record, MSG_PEEK | MSG_DONTWAIT) < 0)
        return errno == EWOULDBLOCK ? -EAGAIN : -errno;
    return record.msg_flags & MSG_CTRUNC ? 1 : 0;
}

/* What has been looked at is what is taken: where there was nothing yet, nothing is. */
int frame_receive_data(int socket, struct frame *frame)
{
    int r = frame_peek(socket);

    frame->size = frame->n_fds = 0;
    frame->fds_lost = false;
    return r < 0 ? r : r > 0 ? -EPROTO : frame_receive(socket, frame);
}

bool frame_next_has_fds(int socket)
{
    return frame_peek(socket) > 0;
}

/* With a record, and with nothing else, come its sender's credentials; there is room for them
 * alone. */
enum frame_next frame_next(int socket)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(struct ucred))];
    } control;
    struct msghdr record = { .msg_control = control.bytes, .msg_controllen = sizeof(control) };
    const int yes = 1;
    ssize_t n;

    (void)setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes));
    for (int resets = 0; resets < 2; resets++) { /* a reset is told once, before what there is */
        n = recvmsg(socket, &record, MSG_PEEK | MSG_DONTWAIT);
        if (n >= 0 || errno != ECONNRESET)
            break;
        record.msg_controllen = sizeof(control);
    }
    if (n < 0 || record.msg_controllen == 0)
        return FRAME_NEXT_NONE;
    return record.msg_flags & MSG_CTRUNC ? FRAME_NEXT_FDS : FRAME_NEXT_PLAIN;
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
