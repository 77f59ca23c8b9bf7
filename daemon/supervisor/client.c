/* SPDX-License-Identifier: Apache-2.0 */
/* The clients; the interface is in client.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/common/log.h"
#include "daemon/supervisor/client.h"
#include "daemon/supervisor/commands.h"
#include "daemon/supervisor/ports.h"
#include "daemon/supervisor/supervisor.h"
#include "proto/registry_layout.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* from Linux 6.5 on */
#endif

void clients_init(struct clients *clients)
{
    *clients = (struct clients){ 0 };
    clients->end = &clients->first;
}

struct client *clients_find(struct clients *clients, uint32_t id)
{
    for (struct client *client = clients->first; client; client = client->next)
        if (client->id == id)
            return client;
    return NULL;
}

void clients_drop_all(struct supervisor *supervisor)
{
    while (supervisor->clients.first)
        client_drop(supervisor->clients.first, "the service stops");
}

void clients_tell(struct supervisor *supervisor, Odeon__Event *event)
{
    struct client *next;

    for (struct client *client = supervisor->clients.first; client; client = next) {
        next = client->next;
        if (client->said_hello)
            client_tell(client, event);
    }
}

const char *client_describe(const struct client *client, char *text, size_t size)
{
    snprintf(text, size, "client %u (%s%sprocess %d, user %u)", client->id, client->name, client->name[0] ? ", " : "",
             (int)client->pid, client->uid);
    return text;
}

static void __attribute__((format(printf, 3, 4)))
log_about(const struct client *client, enum log_level level, const char *format, ...)
{
    char pid[48], who[160], what[512];
    const char *const fields[] = { pid, NULL };
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    snprintf(pid, sizeof(pid), "ODEON_CLIENT_PID=%d", (int)client->pid);
    log_fields(level, fields, "%s %s", client_describe(client, who, sizeof(who)), what);
}

static void on_frame(void *userdata, struct frame *frame)
{
    struct client *client = userdata;

    commands_handle(client->supervisor, client, frame);
}

static void on_error(void *userdata, int error)
{
    struct client *client = userdata;

    if (error == 0) {
        client_drop(client, NULL);
        return;
    }
    if (error == -EMSGSIZE)
        client_refuse(client, 0, error, "a request of more than %d bytes; the connection is closed",
                      ODEON_CONTROL_FRAME_MAX);
    else if (error == -EPROTO)
        client_refuse(client, 0, error, "a request with more than %d descriptors; the connection is closed",
                      FRAME_FDS_MAX);
    client_drop(client, error == -EMSGSIZE ? "sent a record that is too large"
                        : error == -EPROTO ? "sent too many descriptors"
                                           : strerror(-error));
}

/* In the order of ids. */
static void insert(struct clients *clients, struct client *client)
{
    struct client **at = &clients->first;

    while (*at && (*at)->id < client->id)
        at = &(*at)->next;
    client->next = *at;
    *at = client;
    if (!client->next)
        clients->end = &client->next;
    clients->n++;
    clients->n_absent += client->channel == NULL;
}

static void take_out(struct clients *clients, struct client *client)
{
    for (struct client **at = &clients->first; *at; at = &(*at)->next)
        if (*at == client) {
            *at = client->next;
            if (!*at)
                clients->end = at;
            break;
        }
    clients->n--;
    clients->n_absent -= client->channel == NULL;
}

int client_add(struct supervisor *supervisor, int fd, const struct ucred *peer)
{
    static const struct channel_ops ops = { .on_frame = on_frame, .on_error = on_error };
    struct clients *clients = &supervisor->clients;
    struct client *client = calloc(1, sizeof(*client));

    if (client && getrandom(client->token, sizeof(client->token), 0) == sizeof(client->token))
        client->channel = channel_new(&supervisor->loop, fd, CLIENT_QUEUE_BYTES, &ops, client);
    if (!client || !client->channel) {
        free(client);
        close(fd);
        return -ENOMEM;
    }
    client->supervisor = supervisor;
    client->id = ++clients->last_id;
    registry_note_client_id(&supervisor->persist.registry, client->id);
    client->pid = peer->pid;
    client->uid = peer->uid;
    client->gid = peer->gid;
    client->pidfd = -1;
    client->connected_ns = uv_hrtime();
    insert(clients, client);
    supervisor_update_counts(supervisor);
    log_about(client, LOG_LEVEL_DEBUG, "connected");
    return 0;
}

static void on_end(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    client_drop(poll->data, "its process has ended while it was not connected");
}

int client_restore(struct supervisor *supervisor, const struct registry_client *entry, int pidfd)
{
    struct client *client = calloc(1, sizeof(*client));

    if (!client)
        return -ENOMEM;
    client->supervisor = supervisor;
    client->id = entry->id;
    client->pid = (pid_t)entry->pid;
    client->uid = entry->uid;
    client->gid = entry->gid;
    memcpy(client->token, entry->token, sizeof(client->token));
    memcpy(client->name, entry->name, sizeof(client->name) - 1);
    memcpy(client->library, entry->library, sizeof(client->library) - 1);
    client->said_hello = true;
    client->connected_ns = uv_hrtime();
    client->end = malloc(sizeof(*client->end));
    if (!client->end || uv_poll_init(&supervisor->loop, client->end, pidfd) < 0) {
        free(client->end);
        free(client);
        return -ENOMEM;
    }
    client->end->data = client;
    client->pidfd = pidfd;
    uv_poll_start(client->end, UV_READABLE, on_end);
    for (uint32_t i = 0; i < ODEON_PORTS_MAX; i++)
        client->n_ports +=
            supervisor->ports.ports[i].state != PORT_FREE && supervisor->ports.ports[i].client_id == client->id;
    insert(&supervisor->clients, client);
    return 0;
}

static void on_end_closed(uv_handle_t *handle)
{
    free(handle);
}

static void stop_watching(struct client *client)
{
    if (!client->end)
        return;
    uv_close((uv_handle_t *)client->end, on_end_closed);
    close(client->pidfd);
    client->end = NULL;
    client->pidfd = -1;
}

void client_adopt(struct client *client, struct client *former)
{
    struct clients *clients = &client->supervisor->clients;

    take_out(clients, former);
    take_out(clients, client);
    stop_watching(former);
    client->id = former->id;
    memcpy(client->token, former->token, sizeof(client->token));
    client->n_ports = former->n_ports;
    client->n_broken_ports = former->n_broken_ports;
    insert(clients, client);
    free(former);
    log_about(client, LOG_LEVEL_INFO, "is back, with %u ports", client->n_ports);
    supervisor_update_counts(client->supervisor);
}

/* By the connection where the kernel can: no other process can have taken its number then. */
int client_open_pidfd(const struct client *client)
{
    socklen_t size = sizeof(int);
    int pidfd = -1;

    if (getsockopt(channel_fd(client->channel), SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size) == 0)
        return pidfd;
    pidfd = (int)syscall(SYS_pidfd_open, client->pid, 0);
    return pidfd < 0 ? -errno : pidfd;
}

/* Names are shown on terminals and in tables: printable ASCII. */
static void copy_printable(char *to, size_t size, const char *from)
{
    size_t n = 0;

    for (; from[n] && n < size - 1; n++)
        to[n] = from[n] >= 0x20 && from[n] < 0x7f ? from[n] : '?';
    to[n] = '\0';
}

void client_set_hello(struct client *client, const char *name, const char *library)
{
    copy_printable(client->name, sizeof(client->name), name);
    copy_printable(client->library, sizeof(client->library), library);
    client->said_hello = true;
    log_about(client, LOG_LEVEL_DEBUG, "said hello, library %s", client->library);
}

static void on_freed(void *userdata)
{
    free(userdata);
}

void client_drop(struct client *client, const char *why)
{
    struct supervisor *supervisor = client->supervisor;
    struct clients *clients = &supervisor->clients;

    if (client->dropped)
        return;
    client->dropped = true;
    take_out(clients, client);
    if (why)
        log_about(client, LOG_LEVEL_NOTICE, "is disconnected: %s", why);
    else
        log_about(client, LOG_LEVEL_DEBUG, "has gone");
    ports_close_of_client(supervisor, client->id);
    persist_forget_client(supervisor, client);
    stop_watching(client);
    if (client->channel)
        channel_free(client->channel, on_freed);
    else
        free(client);
    supervisor_update_counts(supervisor);
}

void client_send(struct client *client, Odeon__Reply *reply, const int *fds, size_t n_fds)
{
    int r;

    if (client->dropped || !client->channel) /* K4 */
        return;
    r = channel_send(client->channel, &reply->base, fds, n_fds);
    if (r == -EMSGSIZE) {
        Odeon__Reply refusal = ODEON__REPLY__INIT;

        refusal.id = reply->id;
        refusal.error = r;
        refusal.text = (char *)"the answer does not fit into a frame; ask for fewer rows";
        r = channel_send(client->channel, &refusal.base, NULL, 0);
    }
    if (r == -ENOBUFS)
        client_drop(client, "it does not read its answers (1 MiB is waiting)");
    else if (r < 0 && r != -EPIPE && r != -ECONNRESET) /* these two: the end of file follows */
        client_drop(client, strerror(-r));
}

void client_refuse(struct client *client, uint64_t request_id, int error, const char *format, ...)
{
    Odeon__Reply reply = ODEON__REPLY__INIT;
    char text[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    reply.id = request_id;
    reply.error = error;
    reply.text = text;
    client_send(client, &reply, NULL, 0);
}

void client_tell(struct client *client, Odeon__Event *event)
{
    Odeon__Reply reply = ODEON__REPLY__INIT;

    reply.event = event;
    client_send(client, &reply, NULL, 0);
}

void client_begin_request(struct client *client)
{
    if (++client->n_requests == CLIENT_REQUESTS_MAX && !client->dropped)
        channel_set_reading(client->channel, false);
}

void client_end_request(struct client *client)
{
    if (client->n_requests-- == CLIENT_REQUESTS_MAX && !client->dropped)
        channel_set_reading(client->channel, true);
}
