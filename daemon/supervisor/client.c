/* SPDX-License-Identifier: Apache-2.0 */
/* The clients; the interface is in client.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/common/log.h"
#include "daemon/supervisor/client.h"
#include "daemon/supervisor/commands.h"
#include "daemon/supervisor/ports.h"
#include "daemon/supervisor/supervisor.h"

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

int client_add(struct supervisor *supervisor, int fd, pid_t pid, uid_t uid)
{
    static const struct channel_ops ops = { .on_frame = on_frame, .on_error = on_error };
    struct clients *clients = &supervisor->clients;
    struct client *client = calloc(1, sizeof(*client));

    if (client)
        client->channel = channel_new(&supervisor->loop, fd, CLIENT_QUEUE_BYTES, &ops, client);
    if (!client || !client->channel) {
        free(client);
        close(fd);
        return -ENOMEM;
    }
    client->supervisor = supervisor;
    client->id = ++clients->last_id;
    client->pid = pid;
    client->uid = uid;
    client->connected_ns = uv_hrtime();
    *clients->end = client;
    clients->end = &client->next;
    clients->n++;
    supervisor_update_counts(supervisor);
    log_about(client, LOG_LEVEL_DEBUG, "connected");
    return 0;
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
    for (struct client **at = &clients->first; *at; at = &(*at)->next)
        if (*at == client) {
            *at = client->next;
            if (!*at)
                clients->end = at;
            break;
        }
    clients->n--;
    if (why)
        log_about(client, LOG_LEVEL_NOTICE, "is disconnected: %s", why);
    else
        log_about(client, LOG_LEVEL_DEBUG, "has gone");
    ports_close_of_client(supervisor, client->id);
    channel_free(client->channel, on_freed);
    supervisor_update_counts(supervisor);
}

void client_send(struct client *client, Odeon__Reply *reply, const int *fds, size_t n_fds)
{
    int r;

    if (client->dropped)
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
