/* SPDX-License-Identifier: Apache-2.0 */
/* The control connection itself: its socket, its greeting, its records, and its end; see
 * connect.h. */
#include "client-lib/src/connect.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "client-lib/src/error.h"
#include "client-lib/src/wait.h"

static int connect_explain_connect(int error, const char *path)
{
    switch (error) {
    case -ENOENT:
        return error_set(
            error, "no service at %s: the socket does not exist; start odeond, or set ODEON_SOCKET",
            path);
    case -ECONNREFUSED:
        return error_set(error,
                         "no service at %s: nobody listens on the socket; odeond has stopped or is "
                         "just starting",
                         path);
    case -EACCES:
    case -EPERM:
        return error_set(-EACCES,
                         "not allowed to use %s: run as the user that owns the socket, or as root",
                         path);
    case -ETIMEDOUT:
        return error_set(error,
                         "the service at %s takes no connections: odeond stands still, or is "
                         "crowded",
                         path);
    case -EPROTOTYPE:
    case -ENOTSOCK:
        return error_set(-EPROTO, "%s is not a control socket of odeond", path);
    default:
        return error_set(error, "cannot connect to %s: %s", path, error_describe(error));
    }
}

/* An address has no room for a long path: that goes by way of its directory, whose descriptor is
 * the caller's to close then (-1: none). */
static int connect_fill_address(const char *path, struct sockaddr_un *address, int *ret_directory)
{
    size_t length = strlen(path);
    const char *name = strrchr(path, '/');
    char directory[PATH_MAX];
    int n;

    *address = (struct sockaddr_un){ .sun_family = AF_UNIX };
    *ret_directory = -1;
    if (length < sizeof(address->sun_path)) {
        memcpy(address->sun_path, path, length + 1);
        return 0;
    }
    if (!name || length >= sizeof(directory))
        return error_set(-ENAMETOOLONG, "the socket's path is too long: %s", path);
    snprintf(directory, sizeof(directory), "%.*s/", (int)(name - path), path);
    *ret_directory = wire_lift_fd(open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (*ret_directory < 0)
        return connect_explain_connect(-errno, path);
    n = snprintf(address->sun_path, sizeof(address->sun_path), "/proc/self/fd/%d%s", *ret_directory,
                 name);
    if ((size_t)n < sizeof(address->sun_path))
        return 0;
    close(*ret_directory);
    return error_set(-ENAMETOOLONG, "the socket's name in its directory is too long: %s", path);
}

static void connect_close_directory(int *directory)
{
    int error = errno;

    wire_close_fds(directory, 1);
    errno = error;
}

/* How long connect() waits for somebody to accept: below 0 for ever, which is 0 for the kernel. */
static void connect_set_timeout(int fd, int64_t timeout_ns)
{
    int64_t us = timeout_ns < 0 ? 0 : timeout_ns / 1000 + (timeout_ns % 1000 > 0 || !timeout_ns);
    struct timeval time = { .tv_sec = (time_t)(us / 1000000),
                            .tv_usec = (suseconds_t)(us % 1000000) };

    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof(time));
}

/* A signal ends the kernel's wait, and the next one has what is left. */
static int connect_until(int fd, const struct sockaddr_un *address, int64_t deadline_ns)
{
    int result;

    do {
        int64_t left_ns = deadline_ns - monotonic_ns();

        if (deadline_ns == DEADLINE_NEVER)
            left_ns = -1;
        else if (left_ns < 0)
            left_ns = 0;
        if (deadline_ns != WIRE_NOW)
            connect_set_timeout(fd, left_ns);
        result = connect(fd, (const struct sockaddr *)address, sizeof(*address));
    } while (result < 0 && errno == EINTR &&
             (deadline_ns == DEADLINE_NEVER || monotonic_ns() < deadline_ns));
    if (result < 0 && errno == EINTR)
        errno = EAGAIN;
    return result;
}

int client_open_socket(const struct odeon_client *client, int64_t deadline_ns, int *ret_socket)
{
    const char *path = client->path;
    const bool now = deadline_ns == WIRE_NOW;
    struct sockaddr_un address;
    int fd, directory, result = connect_fill_address(path, &address, &directory);

    if (result < 0)
        return result;
    fd =
        wire_lift_fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | (now ? SOCK_NONBLOCK : 0), 0));
    if (fd < 0) {
        result = error_set(-errno, "cannot make a socket: %s", error_describe(-errno));
        wire_close_fds(&directory, 1);
        return result;
    }
    result = connect_until(fd, &address, deadline_ns);
    connect_close_directory(&directory);
    if (result < 0) {
        result = connect_explain_connect(errno == EAGAIN && !now ? -ETIMEDOUT : -errno, path);
        close(fd);
        return result;
    }
    *ret_socket = fd;
    return 0;
}

void client_fill_hello(const struct odeon_client *client, Odeon__Resume *resume,
                       Odeon__Hello *hello, Odeon__Request *request)
{
    odeon__hello__init(hello);
    odeon__request__init(request);
    hello->protocol = ODEON_PROTOCOL_VERSION;
    hello->library = (char *)(uintptr_t)ODEON_VERSION;
    hello->name = client->name;
    hello->resume = resume;
    request->body_case = ODEON__REQUEST__BODY_HELLO;
    request->hello = hello;
}

int client_send_hello(struct odeon_client *client, Odeon__Resume *resume)
{
    Odeon__Request request;
    Odeon__Hello hello;

    client_fill_hello(client, resume, &hello, &request);
    request.id = ++client->last_id;
    client->hellos++;
    return wire_send(client->socket, &request.base, client->frame, WIRE_NOW);
}

void client_take_identity(struct odeon_client *client, const Odeon__HelloReply *hello)
{
    client->client_id = hello->client_id;
    client->instance = hello->token.len == sizeof(client->token) ? hello->instance : 0;
    atomic_store_explicit(&client->epoch, hello->epoch, memory_order_relaxed);
    if (client->instance)
        memcpy(client->token, hello->token.data, sizeof(client->token));
}

int client_check(const struct odeon_client *client)
{
    if (!client)
        return error_set_literal(-EINVAL, "no client was given");
    if (atomic_load_explicit(client->alive, memory_order_relaxed) == 0)
        return error_set(
            -ECHILD,
            "the connection belongs to process %d, of which this one is a fork: connect again here",
            (int)client->pid);
    return 0;
}

/* A client that is lost so: what that is to its ports. */
static enum odeon_closed connect_closed_by(int error)
{
    switch (error) {
    case -ECONNRESET:
        return ODEON_CLOSED_SERVICE_GONE;
    case -ECONNABORTED:
        return ODEON_CLOSED_TURNED_OUT;
    case -EPROTO:
        return ODEON_CLOSED_IMPOSSIBLE;
    default: /* its last word, in the text */
        return ODEON_CLOSED_BY_SERVICE;
    }
}

int client_lose(struct odeon_client *client, int error, const char *why)
{
    /* -EAGAIN is to be tried again, by whoever waits here: an end is nothing of the kind, whatever
     * the service has called it. */
    if (error == -EAGAIN)
        error = -ECONNRESET;
    if (client->lost == 0) {
        if (client->socket >= 0)
            shutdown(client->socket, SHUT_RDWR);
        pthread_mutex_lock(&client->ports_mutex);
        client->lost = error;
        for (struct odeon_port *port = client->ports; port; port = port->next)
            port_mark_closed(port, -EPIPE, connect_closed_by(error), why);
        pthread_mutex_unlock(&client->ports_mutex);
    }
    return error_set(error, "%s", why);
}

static void connect_close_socket(struct odeon_client *client)
{
    if (client->socket >= 0)
        close(client->socket);
    client->socket = -1;
    client->n_late = 0;
}

int client_break(struct odeon_client *client, const char *why)
{
    int64_t now_ns = monotonic_ns();

    if (client->lost || client->instance == 0 || client_patience_ns(client) == 0)
        return client_lose(client, -ECONNRESET, why);
    connect_close_socket(client);
    if (client->link == LINK_UP) {
        client->away_ns = now_ns;
        client->retry_wait_ns = 0;
    }
    client->link = LINK_AWAY;
    client->retry_ns = now_ns + client->retry_wait_ns;
    client->retry_wait_ns = client->retry_wait_ns == 0 ? CONNECT_RETRY_FIRST_NS
                            : client->retry_wait_ns * 2 > CONNECT_RETRY_MAX_NS
                                ? CONNECT_RETRY_MAX_NS
                                : client->retry_wait_ns * 2;
    return error_set(-ECONNRESET, "%s", why);
}

int client_error_of(const Odeon__Reply *reply)
{
    if (reply->error > 0 || reply->error < -4095 || reply->error == -EPROTONOSUPPORT)
        return -EPROTO;
    return reply->error;
}

void client_answer_fini(struct client_answer *answer)
{
    wire_close_fds(answer->fds, answer->n_fds);
    odeon__reply__free_unpacked(answer->reply, NULL);
    *answer = (struct client_answer){ 0 };
}

int client_receive_reply(struct odeon_client *client, int64_t deadline_ns,
                         struct client_answer *ret_answer)
{
    struct wire_frame *frame = client->frame;
    int result = wire_receive(client->socket, frame, deadline_ns);

    if (result == -EAGAIN)
        return result;
    if (result == 0)
        return client_break(client, "the service has closed the connection: odeond has stopped, or "
                                    "has turned this client out");
    if (result == -EPROTO)
        return client_lose(client, -EPROTO,
                           "the service sent a record that is larger than the protocol allows");
    if (result < 0)
        return client_break(client, "the connection to the service has failed");
    ret_answer->reply = odeon__reply__unpack(NULL, frame->size, frame->data);
    ret_answer->n_fds = frame->n_fds;
    ret_answer->fds_lost = frame->fds_lost;
    memcpy(ret_answer->fds, frame->fds, sizeof(ret_answer->fds));
    if (!ret_answer->reply) {
        wire_close_fds(ret_answer->fds, ret_answer->n_fds);
        *ret_answer = (struct client_answer){ 0 };
        return client_lose(client, -EPROTO,
                           "the service sent a record that this library cannot parse");
    }
    return 0;
}

bool client_add_port(struct odeon_client *client, struct odeon_port *port, uint64_t hellos)
{
    bool ours;

    pthread_mutex_lock(&client->ports_mutex);
    ours = client->hellos == hellos; /* connect.C5 */
    if (ours) {
        port->next = client->ports;
        client->ports = port;
        if (client->lost)
            port_mark_closed(port, -EPIPE, connect_closed_by(client->lost),
                             "the service has closed the connection");
    }
    pthread_mutex_unlock(&client->ports_mutex);
    return ours;
}

void client_remove_port(struct odeon_client *client, struct odeon_port *port)
{
    pthread_mutex_lock(&client->ports_mutex);
    for (struct odeon_port **at = &client->ports; *at; at = &(*at)->next)
        if (*at == port) {
            *at = port->next;
            break;
        }
    pthread_mutex_unlock(&client->ports_mutex);
}

void client_close_later(struct odeon_client *client, const Odeon__PortClose *close)
{
    pthread_mutex_lock(&client->ports_mutex);
    if (client->n_closing < ODEON_PORTS_PER_CLIENT_MAX) {
        struct client_closing *closing = &client->closing[client->n_closing++];

        closing->port_id = close->port_id;
        closing->token_bytes = close->token.len == sizeof(closing->token) ? close->token.len : 0;
        if (closing->token_bytes)
            memcpy(closing->token, close->token.data, closing->token_bytes);
    }
    pthread_mutex_unlock(&client->ports_mutex);
}
