/* SPDX-License-Identifier: Apache-2.0 */
/* Connecting, saying hello, and leaving. The round trips themselves are in request.c; invariants in
 * connect.h. */
#include "client-lib/src/connect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "client-lib/src/error.h"
#include "client-lib/src/port.h"
#include "client-lib/src/reconnect.h"

enum { ALIVE_BYTES = 4096 }; /* the kernel rounds up to its page */

static int connect_alive_new(const _Atomic uint32_t **ret_alive)
{
    _Atomic uint32_t *word =
        mmap(NULL, ALIVE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int error;

    if (word == MAP_FAILED)
        return -errno;
    if (madvise(word, ALIVE_BYTES, MADV_WIPEONFORK) < 0) {
        error = -errno;
        munmap(word, ALIVE_BYTES);
        return error;
    }
    atomic_init(word, 1);
    *ret_alive = word;
    return 0;
}

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
    case -EPROTOTYPE:
    case -ENOTSOCK:
        return error_set(-EPROTO, "%s is not a control socket of odeond", path);
    default:
        return error_set(error, "cannot connect to %s: %s", path, error_describe(error));
    }
}

int client_open_socket(const char *path, bool now, int *ret_socket)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    size_t length = strlen(path);
    int fd, result;

    if (length == 0 || length >= sizeof(address.sun_path))
        return error_set(-ENAMETOOLONG,
                         "the socket's path has %zu bytes, 1 to %zu are possible: %s", length,
                         sizeof(address.sun_path) - 1, path);
    memcpy(address.sun_path, path, length + 1);
    fd =
        wire_lift_fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | (now ? SOCK_NONBLOCK : 0), 0));
    if (fd < 0)
        return error_set(-errno, "cannot make a socket: %s", error_describe(-errno));
    do
        result = connect(fd, (struct sockaddr *)&address, sizeof(address));
    while (result < 0 && errno == EINTR);
    if (result == 0 && now) /* from here on it waits */
        result = fcntl(fd, F_SETFL, 0);
    if (result < 0) {
        result = connect_explain_connect(-errno, path);
        close(fd);
        return result;
    }
    *ret_socket = fd;
    return 0;
}

static void connect_fill_hello(const struct odeon_client *client, Odeon__Resume *resume,
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

    connect_fill_hello(client, resume, &hello, &request);
    request.id = ++client->last_id;
    client->hellos++;
    return wire_send(client->socket, &request.base, client->frame);
}

void client_take_identity(struct odeon_client *client, const Odeon__HelloReply *hello)
{
    client->client_id = hello->client_id;
    client->instance = hello->token.len == sizeof(client->token) ? hello->instance : 0;
    client->epoch = hello->epoch;
    if (client->instance)
        memcpy(client->token, hello->token.data, sizeof(client->token));
}

static int connect_say_hello(struct odeon_client *client)
{
    struct client_answer answer;
    Odeon__Request request;
    Odeon__Hello hello;
    int result;

    connect_fill_hello(client, NULL, &hello, &request);
    result = client_call(client, &request, ODEON__REPLY__BODY_HELLO, &answer);
    if (result < 0)
        return result;
    if (answer.reply->hello->protocol != ODEON_PROTOCOL_VERSION)
        result = error_set(-EPROTO,
                           "the service (version %s) speaks protocol %u, this library (version %s) "
                           "protocol %d: use "
                           "those of one release",
                           answer.reply->hello->service, answer.reply->hello->protocol,
                           ODEON_VERSION, ODEON_PROTOCOL_VERSION);
    client_take_identity(client, answer.reply->hello);
    client_answer_fini(&answer);
    return result;
}

static void connect_client_free(struct odeon_client *client)
{
    if (client->socket >= 0)
        close(client->socket);
    names_fini(&client->names);
    pthread_mutex_destroy(&client->mutex);
    if (client->alive)
        munmap((void *)(uintptr_t)client->alive, ALIVE_BYTES);
    free(client->frame);
    free(client->path);
    free(client->name);
    free(client);
}

static struct odeon_client *connect_client_new(const char *path, const char *name)
{
    struct odeon_client *client = calloc(1, sizeof(*client));

    if (!client)
        return NULL;
    client->socket = -1;
    client->pid = getpid();
    client->patience_ns = -1;
    client->path = strdup(path);
    client->name = strndup(name ? name : program_invocation_short_name, ODEON_NAME_MAX);
    names_init(&client->names);
    pthread_mutex_init(&client->mutex, NULL);
    client->frame = malloc(sizeof(*client->frame));
    if (!client->frame || !client->path || !client->name || connect_alive_new(&client->alive) < 0) {
        connect_client_free(client);
        return NULL;
    }
    return client;
}

int odeon_client_connect(const char *path, const char *name, struct odeon_client **ret_client)
{
    struct odeon_client *client;
    int result;

    if (!ret_client)
        return error_set_literal(-EINVAL, "odeon_client_connect: no place for the client");
    *ret_client = NULL;
    if (!path)
        path = secure_getenv("ODEON_SOCKET");
    if (!path || !*path)
        path = ODEON_SOCKET_DEFAULT;
    client = connect_client_new(path, name);
    if (!client)
        return error_set_literal(-ENOMEM, "odeon_client_connect: no memory");
    result = client_open_socket(path, false, &client->socket);
    if (result == 0)
        result = connect_say_hello(client);
    if (result < 0) {
        connect_client_free(client);
        return result;
    }
    *ret_client = client;
    return 0;
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

/* The end of a connection says everything to the odeond at its other end. Where that one has died,
 * the next one learns it from the ports' memory when it starts, or, when it has started already,
 * from a greeting that ends with its connection. */
static void connect_take_leave(struct odeon_client *client)
{
    for (struct odeon_port *port = client->ports; port; port = port->next)
        port_depart(port);
    client_poll_events(client);
    if (client->lost == 0 && client->link == LINK_AWAY) {
        client->retry_ns = 0;
        error_keep();
        (void)client_come_back(client);
        (void)error_settle(0);
    }
}

struct odeon_client *odeon_client_disconnect(struct odeon_client *client)
{
    if (!client)
        return NULL;
    /* No request to close each port: the end of the connection says so. In a forked child this
     * gives back memory and descriptors and tells nobody; the mutex may be held by a thread that
     * does not exist here, so it is not asked. */
    if (client_check(client) == 0)
        connect_take_leave(client);
    while (client->ports) {
        struct odeon_port *port = client->ports;

        client->ports = port->next;
        port_free(port);
    }
    connect_client_free(client);
    return NULL;
}
