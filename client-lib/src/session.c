/* SPDX-License-Identifier: Apache-2.0 */
/* A client from its connecting to its leaving. Any thread. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "client-lib/src/error.h"
#include "client-lib/src/reconnect.h"
#include "client-lib/src/request.h"
#include "client-lib/src/wait.h"

enum { ALIVE_BYTES = 4096 }; /* the kernel rounds up to its page */
enum {
    TIMEOUT_MS_DEFAULT = 60000,
    SESSION_GREETING_NS = 1000000000, /* that the last try has, however little time is left */
};

static int session_alive_new(const _Atomic uint32_t **ret_alive)
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

static int session_say_hello(struct odeon_client *client)
{
    struct client_answer answer;
    Odeon__Request request;
    Odeon__Hello hello;
    int result;

    client_fill_hello(client, NULL, &hello, &request);
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

static void session_client_free(struct odeon_client *client)
{
    if (client->socket >= 0)
        close(client->socket);
    names_fini(&client->names);
    pthread_mutex_destroy(&client->mutex);
    pthread_mutex_destroy(&client->ports_mutex);
    if (client->alive)
        munmap((void *)(uintptr_t)client->alive, ALIVE_BYTES);
    free(client->frame);
    free(client->path);
    free(client->name);
    free(client);
}

/* A relative path is where it was when the client connected, whatever the program does with its
 * working directory later. One that has no such name (it is out of reach) stays as it is. */
static char *session_resolve(const char *path)
{
    char *directory = *path == '/' ? NULL : getcwd(NULL, 0), *resolved = NULL;

    if (!directory || *directory != '/' ||
        asprintf(&resolved, "%s/%s", strcmp(directory, "/") == 0 ? "" : directory, path) < 0)
        resolved = strdup(path);
    free(directory);
    return resolved;
}

/* ODEON_TIMEOUT_MS goes before the default; what is no number of milliseconds is none. */
static int64_t session_default_timeout(void)
{
    const char *text = secure_getenv("ODEON_TIMEOUT_MS");
    long long ms = TIMEOUT_MS_DEFAULT;
    char rest;

    if (text && (sscanf(text, "%lld%c", &ms, &rest) != 1 || ms < -1 || ms > INT64_MAX / 1000000))
        ms = TIMEOUT_MS_DEFAULT;
    return ms < 0 ? -1 : (int64_t)ms * 1000000;
}

static struct odeon_client *session_client_new(const char *path, const char *name)
{
    struct odeon_client *client = calloc(1, sizeof(*client));

    if (!client)
        return NULL;
    client->socket = -1;
    client->pid = getpid();
    atomic_init(&client->patience_ns, -1);
    atomic_init(&client->timeout_ns, session_default_timeout());
    client->path = session_resolve(path);
    client->name = strndup(name ? name : program_invocation_short_name, ODEON_NAME_MAX);
    names_init(&client->names);
    pthread_mutex_init(&client->mutex, NULL);
    pthread_mutex_init(&client->ports_mutex, NULL);
    client->frame = malloc(sizeof(*client->frame));
    if (!client->frame || !client->path || !client->name || session_alive_new(&client->alive) < 0) {
        session_client_free(client);
        return NULL;
    }
    return client;
}

static const char *session_choose_path(const char *path)
{
    if (!path)
        path = secure_getenv("ODEON_SOCKET");
    return path && *path ? path : ODEON_SOCKET_DEFAULT;
}

/* `most_ns`: how long the greeting waits at most, below 0: as long as any request. */
static int session_connect(const char *path, const char *name, int64_t most_ns,
                           struct odeon_client **ret_client)
{
    struct odeon_client *client = session_client_new(session_choose_path(path), name);
    int64_t timeout_ns;
    int result;

    if (!client)
        return error_set_literal(-ENOMEM, "odeon_client_connect: no memory");
    timeout_ns = client_timeout_ns(client);
    if (most_ns >= 0 && (timeout_ns < 0 || most_ns < timeout_ns))
        atomic_store_explicit(&client->timeout_ns, most_ns, memory_order_relaxed);
    result = client_open_socket(client, deadline_after(client_timeout_ns(client)), &client->socket);
    if (result == 0)
        result = session_say_hello(client);
    if (result < 0) {
        session_client_free(client);
        return result;
    }
    atomic_store_explicit(&client->timeout_ns, timeout_ns, memory_order_relaxed);
    *ret_client = client;
    return 0;
}

int odeon_client_connect(const char *path, const char *name, struct odeon_client **ret_client)
{
    WITHOUT_CANCELLATION;

    if (!ret_client)
        return error_set_literal(-EINVAL, "odeon_client_connect: no place for the client");
    *ret_client = NULL;
    return session_connect(path, name, -1, ret_client);
}

/* Nobody is there, or somebody who has just come or is going. */
static bool session_passes(int error)
{
    switch (error) {
    case -ENOENT:
    case -ECONNREFUSED:
    case -ECONNRESET:
    case -EPIPE:
    case -EAGAIN:
    case -ETIMEDOUT:
    case -EHOSTDOWN:
    case -ESHUTDOWN:
    case -EUSERS:
    case -EDQUOT:
    case -EBUSY:
        return true;
    default:
        return false;
    }
}

/* Between two tries, and not beyond the deadline. */
static void session_pause(int64_t *wait_ns, int64_t deadline_ns)
{
    int64_t left_ns = deadline_ns - monotonic_ns();
    struct timespec time;

    *wait_ns = *wait_ns == 0                         ? CONNECT_RETRY_FIRST_NS
               : *wait_ns * 2 > CONNECT_RETRY_MAX_NS ? CONNECT_RETRY_MAX_NS
                                                     : *wait_ns * 2;
    if (left_ns > *wait_ns)
        left_ns = *wait_ns;
    if (left_ns <= 0)
        return;
    time = (struct timespec){ .tv_nsec = left_ns };
    clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

static int session_connect_until(const char *path, const char *name, int64_t timeout_ns,
                                 struct odeon_client **ret_client)
{
    int64_t deadline_ns = deadline_after(timeout_ns), wait_ns = 0;
    char why[512];
    int result;

    for (;;) {
        int64_t left_ns = deadline_ns - monotonic_ns();

        if (left_ns < SESSION_GREETING_NS)
            left_ns = SESSION_GREETING_NS;
        result = session_connect(path, name, timeout_ns >= 0 ? left_ns : -1, ret_client);
        if (result == 0 || !session_passes(result))
            return result;
        if (deadline_ns != DEADLINE_NEVER && monotonic_ns() >= deadline_ns)
            break;
        session_pause(&wait_ns, deadline_ns);
    }
    snprintf(why, sizeof(why), "%s", odeon_error_text());
    return error_set(result, "%s (waited for it for %lld ms)", why,
                     (long long)(timeout_ns / 1000000));
}

int odeon_client_connect_wait(const char *path, const char *name, int64_t timeout_ns,
                              struct odeon_client **ret_client)
{
    WITHOUT_CANCELLATION;

    if (!ret_client)
        return error_set_literal(-EINVAL, "odeon_client_connect_wait: no place for the client");
    *ret_client = NULL;
    error_keep();
    return error_settle(session_connect_until(path, name, timeout_ns, ret_client));
}

/* The end of a connection says everything to the odeond at its other end. Where that one has died,
 * the next one learns it from the ports' memory when it starts, or, when it has started already,
 * from a greeting that ends with its connection. */
static void session_take_leave(struct odeon_client *client)
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
    WITHOUT_CANCELLATION;

    if (!client)
        return NULL;
    /* No request to close each port: the end of the connection says so. In a forked child this
     * gives back memory and descriptors and tells nobody; the mutex may be held by a thread that
     * does not exist here, so it is not asked. */
    if (client_check(client) == 0)
        session_take_leave(client);
    while (client->ports) {
        struct odeon_port *port = client->ports;

        client->ports = port->next;
        port_free(port);
    }
    session_client_free(client);
    return NULL;
}

int odeon_client_set_patience(struct odeon_client *client, int64_t timeout_ns)
{
    int result = client_check(client);

    if (result == 0)
        atomic_store_explicit(&client->patience_ns, timeout_ns, memory_order_relaxed);
    return result;
}

int odeon_client_set_timeout(struct odeon_client *client, int64_t timeout_ns)
{
    int result = client_check(client);

    if (result == 0)
        atomic_store_explicit(&client->timeout_ns, timeout_ns, memory_order_relaxed);
    return result;
}

uint64_t odeon_client_epoch(struct odeon_client *client)
{
    if (client_check(client) < 0)
        return 0;
    client_poll_events(client); /* unless another thread's request is under way */
    return atomic_load_explicit(&client->epoch, memory_order_relaxed);
}
