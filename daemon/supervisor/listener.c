/* SPDX-License-Identifier: Apache-2.0 */
/* Admits clients; the interface is in listener.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/common/events.h"
#include "daemon/common/frame.h"
#include "daemon/common/log.h"
#include "daemon/supervisor/listener.h"
#include "daemon/supervisor/supervisor.h"

enum { ACCEPTS_A_TURN = 16, PAUSE_MS = 100 };

static void on_connection(uv_poll_t *poll, int status, int events);

/* One frame that says why, then the end.  The socket is new: the frame fits. */
static void refuse(int fd, int error, const char *text)
{
    Odeon__Reply reply = ODEON__REPLY__INIT;

    reply.error = error;
    reply.text = (char *)text;
    frame_send(fd, &reply.base, NULL, 0);
    /* an end with unread records would reach the client before the frame does */
    shutdown(fd, SHUT_RD);
    while (recv(fd, NULL, 0, MSG_DONTWAIT | MSG_TRUNC) > 0)
        ;
    close(fd);
}

/* A line about somebody who does not become a client. */
static void __attribute__((format(printf, 2, 3))) log_refused(const struct ucred *peer, const char *format, ...)
{
    char pid[48], why[160];
    const char *const fields[] = { CATALOGUE_CLIENT_REFUSED, pid, NULL };
    va_list args;

    va_start(args, format);
    vsnprintf(why, sizeof(why), format, args);
    va_end(args);
    snprintf(pid, sizeof(pid), "ODEON_CLIENT_PID=%d", (int)peer->pid);
    log_fields(LOG_LEVEL_WARNING, fields, "a connection of process %d, user %u, is refused: %s", (int)peer->pid,
               peer->uid, why);
}

static void admit(struct supervisor *supervisor, int fd)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    char text[256];

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0) {
        refuse(fd, -errno, "the service cannot tell who you are");
        return;
    }
    if (peer.uid != 0 && peer.uid != geteuid()) {
        log_refused(&peer, "not this service's user");
        snprintf(text, sizeof(text), "user %u may not use this service: it serves user %u and root", peer.uid,
                 geteuid());
        refuse(fd, -EACCES, text);
        return;
    }
    if (supervisor->clients.n - supervisor->clients.n_absent >= ODEON_CLIENTS_MAX) {
        log_refused(&peer, "%u clients are connected", supervisor->clients.n);
        snprintf(text, sizeof(text), "the service has %d clients, the most that it takes; try again when one has gone",
                 ODEON_CLIENTS_MAX);
        refuse(fd, -EUSERS, text);
        return;
    }
    if (client_add(supervisor, fd, &peer) < 0)
        log_refused(&peer, "no memory");
}

static void on_pause_over(uv_timer_t *timer)
{
    struct supervisor *supervisor = timer->data;

    if (supervisor->listener.open)
        uv_poll_start(&supervisor->listener.poll, UV_READABLE, on_connection);
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
    struct supervisor *supervisor = poll->data;

    (void)status;
    (void)events;
    for (int i = 0; i < ACCEPTS_A_TURN; i++) {
        int fd = accept4(supervisor->runtime.listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd >= 0) {
            admit(supervisor, fd);
            continue;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
            /* the connection stays in the kernel's queue: polling for it would spin */
            log_warning("a connection cannot be taken: %s; clients wait", strerror(errno));
            uv_poll_stop(poll);
            uv_timer_start(&supervisor->listener.pause, on_pause_over, PAUSE_MS, 0);
        }
        if (errno != EINTR && errno != ECONNABORTED)
            return;
    }
}

int listener_start(struct supervisor *supervisor, int fd)
{
    struct listener *listener = &supervisor->listener;
    int r = uv_poll_init(&supervisor->loop, &listener->poll, fd);

    if (r < 0)
        return r;
    uv_timer_init(&supervisor->loop, &listener->pause);
    listener->poll.data = listener->pause.data = supervisor;
    listener->open = true;
    return uv_poll_start(&listener->poll, UV_READABLE, on_connection);
}

void listener_stop(struct supervisor *supervisor)
{
    struct listener *listener = &supervisor->listener;

    if (!listener->open)
        return;
    listener->open = false;
    uv_close((uv_handle_t *)&listener->poll, NULL);
    uv_close((uv_handle_t *)&listener->pause, NULL);
}
