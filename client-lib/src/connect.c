/* SPDX-License-Identifier: Apache-2.0 */
/* Connecting, saying hello, and leaving.  The round trips themselves are in request.c; invariants in connect.h. */
#include "client-lib/src/connect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "client-lib/src/error.h"
#include "client-lib/src/port.h"

enum { ALIVE_BYTES = 4096 }; /* the kernel rounds up to its page */

static int alive_new(const _Atomic uint32_t **ret_alive)
{
    _Atomic uint32_t *word = mmap(NULL, ALIVE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
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

static int explain_connect(int error, const char *path)
{
    switch (error) {
    case -ENOENT:
        return error_set(error, "no service at %s: the socket does not exist; start odeond, or set ODEON_SOCKET", path);
    case -ECONNREFUSED:
        return error_set(
            error, "no service at %s: nobody listens on the socket; odeond has stopped or is just starting", path);
    case -EACCES:
    case -EPERM:
        return error_set(-EACCES, "not allowed to use %s: run as the user that owns the socket, or as root", path);
    case -EPROTOTYPE:
    case -ENOTSOCK:
        return error_set(-EPROTO, "%s is not a control socket of odeond", path);
    default:
        return error_set(error, "cannot connect to %s: %s", path, error_describe(error));
    }
}

static int open_socket(const char *path, int *ret_socket)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    size_t length = strlen(path);
    int fd, result;

    if (length == 0 || length >= sizeof(address.sun_path))
        return error_set(-ENAMETOOLONG, "the socket's path has %zu bytes, 1 to %zu are possible: %s", length,
                         sizeof(address.sun_path) - 1, path);
    memcpy(address.sun_path, path, length + 1);
    fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return error_set(-errno, "cannot make a socket: %s", error_describe(-errno));
    do
        result = connect(fd, (struct sockaddr *)&address, sizeof(address));
    while (result < 0 && errno == EINTR);
    if (result < 0) {
        result = explain_connect(-errno, path);
        close(fd);
        return result;
    }
    *ret_socket = fd;
    return 0;
}

static int say_hello(struct odeon_client *client, const char *name)
{
    Odeon__Hello hello = ODEON__HELLO__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;
    struct client_answer answer;
    char shown[ODEON_NAME_MAX + 1] = "";
    int result;

    strncat(shown, name ? name : program_invocation_short_name, ODEON_NAME_MAX);
    hello.protocol = ODEON_PROTOCOL_VERSION;
    hello.library = (char[]){ ODEON_VERSION };
    hello.name = shown;
    request.body_case = ODEON__REQUEST__BODY_HELLO;
    request.hello = &hello;
    result = client_call(client, &request, ODEON__REPLY__BODY_HELLO, &answer);
    if (result < 0)
        return result;
    if (answer.reply->hello->protocol != ODEON_PROTOCOL_VERSION)
        result = error_set(-EPROTO,
                           "the service (version %s) speaks protocol %u, this library (version %s) protocol %d: use "
                           "those of one release",
                           answer.reply->hello->service, answer.reply->hello->protocol, ODEON_VERSION,
                           ODEON_PROTOCOL_VERSION);
    client->client_id = answer.reply->hello->client_id;
    client_answer_fini(&answer);
    return result;
}

static void client_free(struct odeon_client *client)
{
    if (client->socket >= 0)
        close(client->socket);
    names_fini(&client->names);
    pthread_mutex_destroy(&client->mutex);
    if (client->alive)
        munmap((void *)(uintptr_t)client->alive, ALIVE_BYTES);
    free(client->frame);
    free(client);
}

static struct odeon_client *client_new(void)
{
    struct odeon_client *client = calloc(1, sizeof(*client));

    if (!client)
        return NULL;
    client->socket = -1;
    client->pid = getpid();
    names_init(&client->names);
    pthread_mutex_init(&client->mutex, NULL);
    client->frame = malloc(sizeof(*client->frame));
    if (!client->frame || alive_new(&client->alive) < 0) {
        client_free(client);
        return NULL;
    }
    return client;
}

int odeon_connect(const char *path, const char *name, struct odeon_client **ret_client)
{
    struct odeon_client *client;
    int result;

    if (!ret_client)
        return error_set_literal(-EINVAL, "odeon_connect: no place for the client");
    *ret_client = NULL;
    if (!path)
        path = secure_getenv("ODEON_SOCKET");
    if (!path || !*path)
        path = ODEON_SOCKET_DEFAULT;
    client = client_new();
    if (!client)
        return error_set_literal(-ENOMEM, "odeon_connect: no memory");
    result = open_socket(path, &client->socket);
    if (result == 0)
        result = say_hello(client, name);
    if (result < 0) {
        client_free(client);
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
        return error_set(-ECHILD,
                         "the connection belongs to process %d, of which this one is a fork: connect again here",
                         (int)client->pid);
    return 0;
}

struct odeon_client *odeon_disconnect(struct odeon_client *client)
{
    if (!client)
        return NULL;
    /* No request to close each port: the end of the connection says so.  In a forked child this gives back memory and
     * descriptors and tells nobody; the mutex may be held by a thread that does not exist here, so it is not asked. */
    while (client->ports) {
        struct odeon_port *port = client->ports;

        client->ports = port->next;
        port_free(port);
    }
    client_free(client);
    return NULL;
}
