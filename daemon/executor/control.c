/* SPDX-License-Identifier: Apache-2.0 */
/* See control.h. */
#include "daemon/executor/control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/common/check.h"
#include "daemon/common/clock.h"
#include "daemon/common/frame_queue.h"
#include "daemon/common/log.h"
#include "daemon/executor/contain.h"

/* Commands taken in one turn of the loop: others have their turn, too. */
enum { COMMANDS_PER_TURN = 64 };

static const char gone[] = "the supervisor has gone";

struct control {
    uv_poll_t poll;
    int socket;
    int reserve[CONTROL_RESERVE]; /* control.C4 */
    unsigned n_reserve;
    bool closed;
    const struct control_handlers *handlers;
    void *userdata;
    struct frame_queue queue;
    struct frame frame;
};

static void control_on_poll(uv_poll_t *poll, int status, int events);

static void control_watch(struct control *control)
{
    int events = UV_DISCONNECT;

    if (control->closed) {
        uv_poll_stop(&control->poll);
        return;
    }
    if (control->queue.n_frames < CONTROL_WAITING_MAX)
        events |= UV_READABLE;
    if (!frame_queue_is_empty(&control->queue))
        events |= UV_WRITABLE;
    uv_poll_start(&control->poll, events, control_on_poll);
}

static void control_close(struct control *control, const char *why)
{
    if (control->closed)
        return;
    control->closed = true;
    uv_poll_stop(&control->poll);
    control->handlers->closed(control->userdata, why);
}

static void control_dispatch(struct control *control)
{
    Odeon__Command *command =
        odeon__command__unpack(NULL, control->frame.size, control->frame.data);

    check("control.C2", control->queue.n_frames < CONTROL_WAITING_MAX);
    check("control.C3", !control->closed);
    if (command)
        control->handlers->command(control->userdata, command, &control->frame);
    else /* no memory for it, most likely */
        control_close(control, "a command cannot be read");
    odeon__command__free_unpacked(command, NULL);
}

static void control_fill_reserve(struct control *control)
{
    while (control->n_reserve < CONTROL_RESERVE) {
        int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

        if (fd < 0)
            return;                   /* what is open is tried again with the next command */
        contain_guard_descriptor(fd); /* its number must stay ours (contain.CO3) */
        control->reserve[control->n_reserve++] = fd;
    }
}

static void control_open_reserve(struct control *control)
{
    while (control->n_reserve > 0)
        close(control->reserve[--control->n_reserve]);
}

static void control_read(struct control *control)
{
    for (unsigned i = 0;
         i < COMMANDS_PER_TURN && control->queue.n_frames < CONTROL_WAITING_MAX && !control->closed;
         i++) {
        int r;

        if (control->n_reserve > 0 && frame_next_has_fds(control->socket))
            control_open_reserve(control);
        r = frame_receive(control->socket, &control->frame);

        if (r == -EAGAIN)
            return;
        if (r == -EMSGSIZE || r == -EPROTO) {
            log_error("a command from the supervisor is %s: it is ignored",
                      r == -EMSGSIZE ? "too large" : "sent with too many descriptors");
            frame_fini(&control->frame);
            continue;
        }
        if (r < 0)
            log_error("the connection to the supervisor is broken: %s", strerror(-r));
        if (r <= 0) {
            control_close(control, gone);
            return;
        }
        if (control->frame.fds_lost) /* a part of them is as good as none */
            frame_fini(&control->frame);
        control_dispatch(control);
        frame_fini(&control->frame);
    }
}

/* No memory in the kernel: as good as a full socket. */
static bool control_is_later(int error)
{
    return error == -EAGAIN || error == -ENOBUFS || error == -ENOMEM;
}

/* 0: all has left, or the socket is full; negative errno: it is broken. */
static int control_write(struct control *control)
{
    int r = frame_queue_flush(&control->queue, control->socket);

    return control_is_later(r) ? 0 : r;
}

static void control_on_poll(uv_poll_t *poll, int status, int events)
{
    struct control *control = poll->data;

    if (events & UV_WRITABLE && control_write(control) < 0)
        status = UV_EPIPE;
    /* What the supervisor wrote before its end is still read: readable and disconnected come
     * together. */
    if (status == 0 && events & UV_READABLE)
        control_read(control);
    else if (status < 0 || events & UV_DISCONNECT)
        control_close(control, gone);
    if (!control->closed) {
        control_fill_reserve(control);
        control_watch(control);
    }
}

static void control_enqueue(struct control *control, const Odeon__Report *report)
{
    if (frame_queue_add(&control->queue, &report->base, NULL, 0) < 0)
        control_close(control, "there is no memory for a report");
    else
        control_watch(control);
}

void control_send(struct control *control, const Odeon__Report *report)
{
    int r = frame_queue_is_empty(&control->queue)
                ? frame_send(control->socket, &report->base, NULL, 0)
                : -EAGAIN;

    if (control_is_later(r))
        control_enqueue(control, report);
    else if (r < 0)
        /* A broken socket shows itself to the loop, which ends the process. */
        log_error("a report could not be sent to the supervisor: %s", strerror(-r));
}

int control_flush(struct control *control, int timeout_ms)
{
    int64_t deadline = clock_now_ms() + timeout_ms;

    while (!frame_queue_is_empty(&control->queue)) {
        struct pollfd pfd = { .fd = control->socket, .events = POLLOUT };
        int64_t left = deadline - clock_now_ms();
        int r = control_write(control);

        if (r < 0 || frame_queue_is_empty(&control->queue))
            return r;
        if (left <= 0)
            return -ETIMEDOUT;
        if (poll(&pfd, 1, (int)left) < 0 && errno != EINTR)
            return -errno;
    }
    return 0;
}

static int control_check_socket(int socket)
{
    int type = 0;
    socklen_t size = sizeof(type);

    if (getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size) < 0)
        return -errno;
    if (type != SOCK_SEQPACKET)
        return -EPROTOTYPE;
    if (fcntl(socket, F_SETFD, FD_CLOEXEC) < 0)
        return -errno;
    return 0;
}

int control_new(uv_loop_t *loop, int socket, const struct control_handlers *handlers,
                void *userdata, struct control **ret_control)
{
    struct control *control;
    int r = control_check_socket(socket);

    if (r < 0)
        return r;
    control = calloc(1, sizeof(*control));
    if (!control)
        return -ENOMEM;
    control->socket = socket;
    control->handlers = handlers;
    control->userdata = userdata;
    frame_queue_init(&control->queue);
    r = uv_poll_init(loop, &control->poll, socket); /* makes it non-blocking */
    if (r < 0) {
        free(control);
        return r;
    }
    control->poll.data = control;
    control_fill_reserve(control);
    control_watch(control);
    *ret_control = control;
    return 0;
}

static void control_on_closed(uv_handle_t *handle)
{
    struct control *control = handle->data;

    close(control->socket);
    free(control);
}

struct control *control_free(struct control *control)
{
    if (!control)
        return NULL;
    control->closed = true;
    frame_queue_clear(&control->queue);
    control_open_reserve(control);
    uv_close((uv_handle_t *)&control->poll, control_on_closed);
    return NULL;
}
