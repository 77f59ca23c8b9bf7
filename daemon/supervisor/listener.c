/* SPDX-License-Identifier: Apache-2.0 */
/* Admits clients; the interface is in listener.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/common/check.h"
#include "daemon/common/events.h"
#include "daemon/common/frame.h"
#include "daemon/common/log.h"
#include "daemon/supervisor/access.h"
#include "daemon/supervisor/client.h"
#include "daemon/supervisor/closer.h"
#include "daemon/supervisor/configuration.h"
#include "daemon/supervisor/listener.h"
#include "daemon/supervisor/turns.h"

#define TOLD_AGAIN_NS UINT64_C(60000000000)

enum { ACCEPTS_A_TURN = 16, PAUSE_MS = 100, BEHIND_MS = 10, REFUSAL_MAX = 256 };

static void listener_on_connection(uv_poll_t *poll, int status, int events);

/* One frame that says why, then the end.  The socket is new: the frame fits. */
static void listener_refuse(int fd, int error, const char *text)
{
    Odeon__Reply reply = ODEON__REPLY__INIT;

    reply.error = error;
    reply.text = (char *)text;
    frame_send(fd, &reply.base, NULL, 0);
    shutdown(fd, SHUT_RD);
    closer_end(fd);
}

/* 0: the peer is let in. */
static int listener_judge(const struct listener *listener, const struct peer *peer,
                          char text[REFUSAL_MAX])
{
    const struct account *known = account_find(listener->clients->world.accounts, peer->uid),
                         nothing = { .uid = peer->uid };
    const struct access *access = &listener->clients->world.config->access;
    const struct quotas *quotas = &listener->clients->world.config->quotas;
    uint32_t most =
        ODEON_CLIENTS_MAX - (quotas_bind(quotas, peer->uid) ? ODEON_CLIENTS_RESERVED : 0);
    unsigned roles = access_roles(access, peer);

    check("access.A1", (peer->uid != 0 && peer->uid != geteuid()) || roles == ROLES_ALL);
    if (roles == 0) {
        if (access_is_overflow_user(peer->uid) && !access->overflow_user)
            snprintf(text, REFUSAL_MAX,
                     "user %u is the one whom a user namespace has no number for: it is let in "
                     "where overflow-user = "
                     "yes in odeond.conf says so",
                     peer->uid);
        else
            snprintf(text, REFUSAL_MAX,
                     "user %u may not use this service: it has no role here; role-observe and "
                     "role-post in odeond.conf "
                     "say who has",
                     peer->uid);
        return -EACCES;
    }
    if (account_room(known ? known : &nothing, quotas, &nothing.used, QUOTA_CLIENTS) == 0) {
        snprintf(text, REFUSAL_MAX,
                 "user %u has %llu clients, its quota (quota-clients); try again when one has gone",
                 peer->uid, (unsigned long long)quotas->limits[QUOTA_CLIENTS]);
        return -EDQUOT;
    }
    if (listener->clients->n - listener->clients->n_absent >= most) {
        snprintf(text, REFUSAL_MAX,
                 "the service has %u clients, the most that it takes; try again when one has gone",
                 listener->clients->n);
        return -EUSERS;
    }
    return 0;
}

/* A user who is refused has no account here; who knocks again and again is told of once a minute
 * (told.T1). */
static void listener_blame(struct listener *listener, const struct peer *peer, const char *why)
{
    char pid[48];
    const char *const fields[] = { CATALOGUE_CLIENT_REFUSED, pid, NULL };
    uint64_t more = 0;

    if (!told_note(&listener->strangers, peer->uid, uv_hrtime(), &more))
        return;
    snprintf(pid, sizeof(pid), "ODEON_CLIENT_PID=%d", (int)peer->pid);
    log_fields(
        LOG_LEVEL_WARNING, fields,
        "a connection of process %d, user %u, is refused (and %llu since that was last told): %s",
        (int)peer->pid, peer->uid, (unsigned long long)more, why);
}

static void listener_admit(struct listener *listener, int fd)
{
    struct peer peer;
    char text[REFUSAL_MAX];
    int r;

    turns_begin_piece("a connection");
    r = peer_read(&peer, fd);

    if (r < 0) {
        listener_refuse(fd, r, "the service cannot tell who you are");
        return;
    }
    r = listener_judge(listener, &peer, text);
    if (r < 0) {
        listener_blame(listener, &peer, text);
        listener_refuse(fd, r, text);
        peer_fini(&peer);
        return;
    }
    if (client_add(listener->clients, fd, &peer) < 0)
        log_error("a connection is refused: no memory");
}

static void listener_on_pause_over(uv_timer_t *timer)
{
    struct listener *listener = timer->data;

    if (listener->open)
        uv_poll_start(&listener->poll, UV_READABLE, listener_on_connection);
}

/* The connection stays in the kernel's queue: polling for it would spin. */
static void listener_pause(struct listener *listener, unsigned ms)
{
    uv_poll_stop(&listener->poll);
    uv_timer_start(&listener->pause, listener_on_pause_over, ms, 0);
}

/* Whoever connects, sends descriptors and goes, costs the service one of its own until they have
 * been closed; no account holds that, since some have none. */
static bool listener_waits_for_closer(struct listener *listener)
{
    uint64_t now = uv_hrtime();

    if (!closer_is_behind())
        return false;
    if (listener->behind_told_ns == 0 || now - listener->behind_told_ns >= TOLD_AGAIN_NS) {
        listener->behind_told_ns = now;
        log_warning("connections wait: %d or more that ended with descriptors unread are being "
                    "closed",
                    CLOSER_BEHIND);
    }
    listener_pause(listener, BEHIND_MS);
    return true;
}

static void listener_on_connection(uv_poll_t *poll, int status, int events)
{
    struct listener *listener = poll->data;

    (void)status;
    (void)events;
    for (int i = 0; i < ACCEPTS_A_TURN && !listener_waits_for_closer(listener); i++) {
        int fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd >= 0) {
            listener_admit(listener, fd);
            continue;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
            log_warning("a connection cannot be taken: %s; clients wait", strerror(errno));
            listener_pause(listener, PAUSE_MS);
        }
        if (errno != EINTR && errno != ECONNABORTED)
            return;
    }
}

int listener_start(struct listener *listener, int fd, struct clients *clients)
{
    int r = uv_poll_init(clients->world.loop, &listener->poll, fd);

    if (r < 0)
        return r;
    uv_timer_init(clients->world.loop, &listener->pause);
    listener->poll.data = listener->pause.data = listener;
    listener->fd = fd;
    listener->clients = clients;
    listener->open = true;
    /* who is accepted inherits it: nothing comes before it is known who that is */
    peer_allow_descriptors(fd, false);
    return uv_poll_start(&listener->poll, UV_READABLE, listener_on_connection);
}

void listener_stop(struct listener *listener)
{
    told_fini(&listener->strangers);
    if (!listener->open)
        return;
    listener->open = false;
    uv_close((uv_handle_t *)&listener->poll, NULL);
    uv_close((uv_handle_t *)&listener->pause, NULL);
}
