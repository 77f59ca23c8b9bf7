/* SPDX-License-Identifier: Apache-2.0 */
#include "client-lib/exporter/door.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <time.h>
#include <unistd.h>

enum { DOOR_BACKLOG = 512, DOOR_SEND_BYTES = 64 << 10 };

static uint64_t door_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

void door_init(struct door *door, struct tally *tally)
{
    memset(door, 0, sizeof(*door));
    door->tally = tally;
}

void door_fini(struct door *door)
{
    for (size_t i = 0; i < door->n_listeners; i++)
        close(door->listeners[i]);
    door->n_listeners = 0;
}

/* ---- listening ---- */

/* "[::1]:9464" becomes "::1" and "9464". */
static bool door_split(const char *where, char *host, size_t size, const char **ret_port)
{
    const char *colon = strrchr(where, ':'), *begin = where, *end = colon;

    if (!colon || colon == where || colon[1] == '\0' ||
        strspn(colon + 1, "0123456789") != strlen(colon + 1))
        return false;
    if (*where == '[') {
        begin++;
        end--;
        if (*end != ']')
            return false;
    } else if (strchr(where, ':') != colon) {
        return false;
    }
    if (end <= begin || (size_t)(end - begin) >= size)
        return false;
    memcpy(host, begin, (size_t)(end - begin));
    host[end - begin] = '\0';
    *ret_port = colon + 1;
    return true;
}

static int door_bind(const struct addrinfo *address)
{
    int one = 1, fd, r;

    fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (address->ai_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
    if (bind(fd, address->ai_addr, address->ai_addrlen) < 0 || listen(fd, DOOR_BACKLOG) < 0) {
        r = -errno;
        close(fd);
        return r;
    }
    return fd;
}

int door_listen(struct door *door, const char *where, char *why, size_t why_size)
{
    struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
                              .ai_socktype = SOCK_STREAM },
                    *address = NULL;
    char host[INET6_ADDRSTRLEN];
    const char *port;
    int fd;

    if (door->n_listeners == DOOR_LISTENERS) {
        snprintf(why, why_size, "%d addresses are the most to listen on", DOOR_LISTENERS);
        return -E2BIG;
    }
    if (!door_split(where, host, sizeof(host), &port) || atol(port) > 65535 ||
        getaddrinfo(host, port, &hints, &address) != 0) {
        snprintf(why, why_size,
                 "'%s' is no address to listen on. Write 127.0.0.1:9464 or [::1]:9464", where);
        return -EINVAL;
    }
    fd = door_bind(address);
    freeaddrinfo(address);
    if (fd < 0) {
        snprintf(why, why_size, "cannot listen on %s: %s", where, strerror(-fd));
        return fd;
    }
    door->listeners[door->n_listeners++] = fd;
    return 0;
}

int door_inherit(struct door *door, char *why, size_t why_size)
{
    int n = sd_listen_fds(1);

    if (n > DOOR_LISTENERS) {
        snprintf(why, why_size, "the service manager passes %d sockets, %d are the most", n,
                 DOOR_LISTENERS);
        return -E2BIG;
    }
    for (int fd = SD_LISTEN_FDS_START; fd < SD_LISTEN_FDS_START + n; fd++) {
        if (sd_is_socket(fd, AF_UNSPEC, SOCK_STREAM, 1) <= 0) {
            snprintf(why, why_size, "the service manager passes a descriptor that does not listen");
            return -EINVAL;
        }
        if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0) {
            snprintf(why, why_size, "a socket of the service manager: %s", strerror(errno));
            return -errno;
        }
        door->listeners[door->n_listeners++] = fd;
    }
    return n < 0 ? 0 : n;
}

const char *door_where(const struct door *door, size_t listener, char text[static DOOR_WHERE])
{
    struct sockaddr_storage address;
    socklen_t size = sizeof(address);
    char host[INET6_ADDRSTRLEN] = "", port[8] = "";

    if (getsockname(door->listeners[listener], (struct sockaddr *)&address, &size) < 0 ||
        getnameinfo((struct sockaddr *)&address, size, host, sizeof(host), port, sizeof(port),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return "a socket";
    snprintf(text, DOOR_WHERE, address.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
    return text;
}

/* ---- connections ---- */

static void door_address(const struct sockaddr_storage *from, struct in6_addr *ret)
{
    const struct sockaddr_in *in = (const struct sockaddr_in *)from;

    memset(ret, 0, sizeof(*ret));
    if (from->ss_family == AF_INET6) {
        *ret = ((const struct sockaddr_in6 *)from)->sin6_addr;
    } else if (from->ss_family == AF_INET) {
        ret->s6_addr[10] = ret->s6_addr[11] = 0xff;
        memcpy(&ret->s6_addr[12], &in->sin_addr, 4);
    }
}

static unsigned door_count_of(const struct door *door, const struct in6_addr *address)
{
    unsigned n = 0;

    for (unsigned i = 0; i < DOOR_CONNECTIONS; i++)
        n += door->connections[i].phase != DOOR_FREE &&
             memcmp(&door->connections[i].address, address, sizeof(*address)) == 0;
    return n;
}

/* door.D1: a goes before b. */
static bool door_goes_first(const struct door *door, const struct door_connection *a,
                            const struct door_connection *b)
{
    unsigned n_a = door_count_of(door, &a->address), n_b = door_count_of(door, &b->address);

    if (n_a != n_b)
        return n_a > n_b;
    if (a->phase != b->phase)
        return a->phase == DOOR_ASKING;
    return a->since_ns < b->since_ns;
}

/* libmicrohttpd notices the end of a connection as if the other side had hung up. */
static void door_end(struct door_connection *connection)
{
    connection->ended = true;
    (void)shutdown(connection->fd, SHUT_RDWR);
}

bool door_end_reader(struct door *door)
{
    struct door_connection *first = NULL;

    for (unsigned i = 0; i < DOOR_CONNECTIONS; i++) {
        struct door_connection *c = &door->connections[i];

        if (c->phase == DOOR_ANSWERED && !c->ended && (!first || c->since_ns < first->since_ns))
            first = c;
    }
    if (!first)
        return false;
    door_end(first);
    door->tally->ended_for_others++;
    return true;
}

static struct door_connection *door_find_place(struct door *door)
{
    struct door_connection *first = NULL;

    for (unsigned i = 0; i < DOOR_CONNECTIONS; i++) {
        struct door_connection *c = &door->connections[i];

        if (c->phase == DOOR_FREE)
            return c;
        if (!first || door_goes_first(door, c, first))
            first = c;
    }
    door_end(first);
    door->tally->ended_for_others++;
    MHD_run(door->daemon);
    return first->phase == DOOR_FREE ? first : NULL;
}

static void door_let_in(struct door *door, int fd, const struct sockaddr_storage *from,
                        socklen_t size)
{
    struct door_connection *place = door_find_place(door);
    uint64_t now = door_now_ns();

    if (!place) {
        close(fd);
        return;
    }
    *place = (struct door_connection){ .fd = fd,
                                       .since_ns = now,
                                       .until_ns = now + DOOR_ASK_S * UINT64_C(1000000000) };
    door_address(from, &place->address);
    /* what is answered waits here, where it is counted, and not in the kernel */
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &(int){ DOOR_SEND_BYTES }, sizeof(int));
    door->tally->accepted++;
    door->adding = place;
    /* closes the socket when it fails */
    (void)MHD_add_connection(door->daemon, fd, (const struct sockaddr *)from, size);
    door->adding = NULL;
}

void door_accept(struct door *door, size_t listener)
{
    for (int i = 0; i < DOOR_AT_ONCE; i++) {
        struct sockaddr_storage from = { .ss_family = AF_UNSPEC };
        socklen_t size = sizeof(from);
        int fd = accept4(door->listeners[listener], (struct sockaddr *)&from, &size,
                         SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd < 0)
            return;
        door_let_in(door, fd, &from, size);
    }
}

void door_notify(void *cls, struct MHD_Connection *connection, void **socket_context,
                 enum MHD_ConnectionNotificationCode what)
{
    struct door *door = cls;
    struct door_connection *place;

    (void)connection;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        *socket_context = place = door->adding;
        if (place) {
            place->phase = DOOR_ASKING;
            door->tally->connections++;
        }
        return;
    }
    place = *socket_context;
    if (place) {
        place->phase = DOOR_FREE;
        door->tally->connections--;
    }
}

static struct door_connection *door_place_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return info ? info->socket_context : NULL;
}

static void door_enter(struct MHD_Connection *connection, enum door_phase phase, unsigned seconds)
{
    struct door_connection *place = door_place_of(connection);

    if (!place || place->phase == DOOR_FREE)
        return;
    place->phase = phase;
    place->since_ns = door_now_ns();
    place->until_ns = place->since_ns + seconds * UINT64_C(1000000000);
}

void door_answered(struct MHD_Connection *connection)
{
    door_enter(connection, DOOR_ANSWERED, DOOR_READ_S);
}

void door_completed(struct MHD_Connection *connection)
{
    door_enter(connection, DOOR_ASKING, DOOR_IDLE_S);
}

/* door.D2 */
uint64_t door_end_late(struct door *door)
{
    uint64_t now = door_now_ns(), next = UINT64_MAX;

    for (unsigned i = 0; i < DOOR_CONNECTIONS; i++) {
        struct door_connection *c = &door->connections[i];

        if (c->phase == DOOR_FREE || c->ended)
            continue;
        if (c->until_ns <= now) {
            door_end(c);
            door->tally->ended_late++;
        } else if (c->until_ns < next) {
            next = c->until_ns;
        }
    }
    return next;
}
