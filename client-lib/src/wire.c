/* SPDX-License-Identifier: Apache-2.0 */
/* Records of the control connection; see wire.h. */
#include "client-lib/src/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client-lib/src/wait.h"

/* False: the deadline has passed. Whatever ends the wait, the caller tries again. */
static bool wire_wait(int socket, short events, int64_t deadline_ns)
{
    struct pollfd look = { .fd = socket, .events = events };
    int64_t left_ns = 0;
    struct timespec left;

    if (deadline_ns != DEADLINE_NEVER) {
        left_ns = deadline_ns - monotonic_ns();
        if (left_ns <= 0)
            return false;
        left = (struct timespec){ .tv_sec = left_ns / 1000000000, .tv_nsec = left_ns % 1000000000 };
    }
    (void)ppoll(&look, 1, left_ns ? &left : NULL, NULL);
    return true;
}

int wire_send(int socket, const ProtobufCMessage *message, struct wire_frame *frame,
              int64_t deadline_ns)
{
    size_t size = protobuf_c_message_get_packed_size(message);
    ssize_t sent;

    if (size > sizeof(frame->data))
        return -EMSGSIZE;
    protobuf_c_message_pack(message, frame->data);
    do
        sent = send(socket, frame->data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 &&
           (errno == EINTR || (errno == EAGAIN && wire_wait(socket, POLLOUT, deadline_ns))));
    return sent < 0 ? -errno : 0;
}

int wire_lift_fd(int fd)
{
    int lifted, error;

    if (fd < 0 || fd > STDERR_FILENO)
        return fd;
    lifted = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    error = errno;
    close(fd);
    errno = error;
    return lifted;
}

void wire_close_fds(int *fds, size_t n_fds)
{
    for (size_t i = 0; i < n_fds; i++)
        if (fds[i] >= 0) {
            close(fds[i]);
            fds[i] = -1;
        }
}

static void wire_frame_take_fds(struct wire_frame *frame, struct msghdr *header)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c; c = CMSG_NXTHDR(header, c)) {
        size_t n;

        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        /* cannot be: the control buffer has no room for more */
        if (n > WIRE_FDS_MAX - frame->n_fds)
            n = WIRE_FDS_MAX - frame->n_fds;
        memcpy(frame->fds + frame->n_fds, CMSG_DATA(c), n * sizeof(int));
        for (size_t i = frame->n_fds; i < frame->n_fds + n; i++) {
            frame->fds[i] = wire_lift_fd(frame->fds[i]);
            frame->fds_lost |= frame->fds[i] < 0;
        }
        frame->n_fds += n;
    }
}

int wire_receive(int socket, struct wire_frame *frame, int64_t deadline_ns)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int) * WIRE_FDS_MAX)];
    } control;
    struct iovec part = { .iov_base = frame->data, .iov_len = sizeof(frame->data) };
    struct msghdr header = { .msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control) };
    ssize_t got;

    frame->size = 0;
    frame->n_fds = 0;
    frame->fds_lost = false;
    do
        got = recvmsg(socket, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    while (got < 0 &&
           (errno == EINTR || (errno == EAGAIN && wire_wait(socket, POLLIN, deadline_ns))));
    if (got < 0)
        return -errno;
    wire_frame_take_fds(frame, &header);
    frame->fds_lost |= (header.msg_flags & MSG_CTRUNC) != 0;
    if (header.msg_flags & MSG_TRUNC) {
        wire_close_fds(frame->fds, frame->n_fds);
        frame->n_fds = 0;
        return -EPROTO;
    }
    frame->size = (size_t)got;
    /* An empty record cannot be told from the end; a message of the protocol is never empty. */
    return got > 0;
}
