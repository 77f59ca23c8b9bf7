/* SPDX-License-Identifier: Apache-2.0 */
/* The clients; the interface is in client.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/common/check.h"
#include "daemon/common/log.h"
#include "daemon/common/name.h"
#include "daemon/supervisor/client.h"
#include "daemon/supervisor/closer.h"
#include "daemon/supervisor/configuration.h"
#include "daemon/supervisor/registry.h"
#include "proto/registry_layout.h"

enum { REFILL_MS = 10, LOOK_MS = 100 };

void clients_init(struct clients *clients, const struct clients_world *world)
{
    *clients = (struct clients){ .world = *world, .unreads.accounts = world->accounts };
    clients->end = &clients->first;
}

struct client *clients_find(struct clients *clients, uint64_t id)
{
    for (struct client *client = clients->first; client; client = client->next)
        if (client->id == id)
            return client;
    return NULL;
}

void clients_drop_all(struct clients *clients)
{
    clients->world.accounts->on_kept = NULL; /* nobody comes back */
    while (clients->first)
        client_drop(clients->first, "the service stops");
    unreads_fini(&clients->unreads);
    for (unsigned how = 0; how < CLIENT_PART_N; how++)
        told_fini(&clients->parted[how]);
}

void clients_tell(struct clients *clients, Odeon__Event *event)
{
    struct client *next;

    for (struct client *client = clients->first; client; client = next) {
        next = client->next;
        if (client->said_hello)
            client_tell(client, event);
    }
}

const char *client_describe(const struct client *client, char *text, size_t size)
{
    snprintf(text, size, "client %" PRIu64 " (%s%sprocess %d, user %u)", client->id, client->name,
             client->name[0] ? ", " : "", (int)client->pid, client->uid);
    return text;
}

static void __attribute__((format(printf, 3, 4)))
client_log_about(const struct client *client, enum log_level level, const char *format, ...)
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

static void client_update_reading(struct client *client)
{
    if (client->dropped)
        return;
    channel_watch_end(client->channel, client->held_until_ns > 0);
    channel_set_reading(client->channel, !client->throttled &&
                                             client->n_requests < CLIENT_REQUESTS_MAX &&
                                             client->request_bytes < CLIENT_REQUEST_BYTES);
}

bool client_is_bound(const struct client *client)
{
    return quotas_bind(&client->clients->world.config->quotas, client->uid);
}

void client_blame(struct client *client, const char *what)
{
    struct account *account = account_find(client->clients->world.accounts, client->uid);
    uint64_t more = 0;

    if (!account || !account_blame(account, uv_hrtime(), &more))
        return;
    if (more > 0)
        client_log_about(client, LOG_LEVEL_WARNING,
                         "%s; its user was refused %llu times more since that was last told", what,
                         (unsigned long long)more);
    else
        client_log_about(client, LOG_LEVEL_WARNING, "%s", what);
}

/* client.K6: its user's bucket has something for it. */
static bool client_may_ask(const struct client *client, uint64_t now)
{
    const struct clients_world *world = &client->clients->world;
    struct account *account = account_find(world->accounts, client->uid);

    return !account || account_may_ask(account, &world->config->quotas, now);
}

static void client_on_refill(uv_timer_t *timer)
{
    struct clients *clients = timer->data;
    uint64_t now = uv_hrtime();
    bool any = accounts_sweep(clients->world.accounts, &clients->world.config->quotas, now);

    for (struct client *client = clients->first; client; client = client->next) {
        if (!client->throttled)
            continue;
        if (client->held_until_ns <= now)
            client->held_until_ns = 0;
        client->throttled = client->held_until_ns > 0 || !client_may_ask(client, now);
        any |= client->throttled;
        if (!client->throttled)
            client->listened_ns = now;
        client_update_reading(client);
    }
    if (any)
        uv_timer_start(timer, client_on_refill, REFILL_MS, 0);
}

/* Some client is to be read from again, or some account to be forgotten. */
static void clients_on_kept(void *userdata)
{
    struct clients *clients = userdata;

    if (!uv_is_active((uv_handle_t *)&clients->refill))
        uv_timer_start(&clients->refill, client_on_refill, REFILL_MS, 0);
}

void clients_start(struct clients *clients)
{
    uv_timer_init(clients->world.loop, &clients->refill);
    uv_timer_init(clients->world.loop, &clients->look);
    clients->refill.data = clients->look.data = clients;
    clients->world.accounts->on_kept = clients_on_kept;
    clients->world.accounts->userdata = clients;
}

static void client_throttle(struct client *client)
{
    client->throttled = true;
    client_update_reading(client);
    clients_on_kept(client->clients);
}

static void client_look_at_bucket(struct client *client)
{
    if (client_may_ask(client, uv_hrtime()))
        return;
    client_throttle(client);
    client_blame(client, "asks too much: its user is served more slowly (quota-requests)");
}

/* client.K6 */
static void client_count_request(struct client *client)
{
    const struct clients_world *world = &client->clients->world;
    struct account *account = account_find(world->accounts, client->uid);

    if (!account || world->config->quotas.requests == 0 || !client_is_bound(client))
        return;
    account_ask(account);
    client_look_at_bucket(client);
}

/* client.K13.  It may have gone with the frame that this is about. */
static void client_on_spent(void *userdata, uint64_t ns)
{
    struct client *client = userdata;
    const struct clients_world *world = &client->clients->world;
    struct account *account = account_find(world->accounts, client->uid);

    if (account && client_is_bound(client) &&
        account_ask_longer(account, &world->config->quotas, ns) && !client->dropped &&
        !client->throttled)
        client_look_at_bucket(client);
}

/* client.K7 */
static void client_hold(struct client *client, uint64_t until_ns)
{
    struct clients *clients = client->clients;

    if (client->held_until_ns == 0) {
        clients->world.ops->held(clients->world.userdata);
        client_blame(client, "is listened to only after a while: its process offends again and "
                             "again (offender-hold-ms)");
    }
    client->held_until_ns = until_ns;
    client_throttle(client);
}

static uint64_t client_hold_max_ns(const struct clients *clients)
{
    return clients->world.config->quotas.hold_ms * 1000000;
}

void clients_note_offence(struct clients *clients, pid_t pid, uid_t uid)
{
    struct offenders *offenders = &clients->offenders;
    uint64_t now = uv_hrtime(),
             until = offenders_note(offenders, pid, uid, now, client_hold_max_ns(clients));

    if (until <= now)
        return;
    for (struct client *client = clients->first; client; client = client->next)
        if (client->pid == pid && client->uid == uid && client->channel &&
            client->held_until_ns < until)
            client_hold(client, until);
}

/* offenders.F1, offenders.F2 */
static void client_hold_newcomer(struct client *client)
{
    struct offenders *offenders = &client->clients->offenders;
    uint64_t now = uv_hrtime();
    uint64_t until = offenders_admit(offenders, client->pid, client->uid, now,
                                     client_hold_max_ns(client->clients));

    if (until > now)
        client_hold(client, until);
}

static void client_on_frame(void *userdata, struct frame *frame)
{
    struct client *client = userdata;

    check("client.K4", client->channel);
    check("client.K5", !client->dropped);
    check("client.K6", !client->throttled);
    check("client.K7", client->held_until_ns == 0);
    client_count_request(client);
    client->clients->world.ops->frame(client->clients->world.userdata, client, frame);
}

static void client_on_error(void *userdata, int error)
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
        client_refuse(client, 0, error,
                      client->roles & 1U << ROLE_LOAD
                          ? "a request with more than %d descriptors; the connection is closed"
                          : "a request with descriptors, which take the role load to send; the "
                            "connection is closed",
                      FRAME_FDS_MAX);
    if (error == -EMSGSIZE)
        client_throw_out(client, "sent a record that is too large");
    else if (error == -EPROTO)
        client_throw_out(client, "sent descriptors that it may not send");
    else
        client_part(client, CLIENT_PART_LOST, strerror(-error));
}

/* client.K11 */
static uint64_t client_answers_room(const struct client *client, bool *ret_own)
{
    const struct clients_world *world = &client->clients->world;
    const struct account *account = account_find(world->accounts, client->uid);
    uint64_t own = account_room(account, &world->config->quotas, &client->held, QUOTA_ANSWER_BYTES),
             all = accounts_answers_room(world->accounts, &world->config->quotas, account);

    *ret_own = own <= all;
    return *ret_own ? own : all;
}

static uint64_t client_on_room(void *userdata)
{
    bool own;

    return client_answers_room(userdata, &own);
}

static void client_on_waits(void *userdata, size_t bytes)
{
    struct client *client = userdata;
    struct account *account = account_find(client->clients->world.accounts, client->uid);
    uint64_t *has = &client->held.amounts[QUOTA_ANSWER_BYTES];

    check("client.K11", account && account->used.amounts[QUOTA_ANSWER_BYTES] >= *has);
    account->used.amounts[QUOTA_ANSWER_BYTES] += bytes - *has;
    *has = bytes;
}

/* In the order of ids. */
static void client_insert(struct clients *clients, struct client *client)
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

static void client_take_out(struct clients *clients, struct client *client)
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

/* Plugins come as descriptors; nobody else has any to send. */
static void client_set_roles(struct client *client)
{
    client->roles = access_roles(&client->clients->world.config->access, &client->peer);
    check("access.A1",
          (client->uid != 0 && client->uid != geteuid()) || client->roles == ROLES_ALL);
    if (client->channel)
        channel_allow_descriptors(client->channel, client->roles & 1U << ROLE_LOAD);
}

void clients_update_roles(struct clients *clients)
{
    for (struct client *client = clients->first; client; client = client->next)
        client_set_roles(client);
}

/* client.K9: what it had sent is taken first, and with it the end of the connection, unless
 * somebody else has a copy of that. */
static void client_on_end(uv_poll_t *poll, int status, int events)
{
    struct client *client = poll->data;

    (void)status;
    (void)events;
    if (client->channel && channel_receive_last(client->channel))
        return;          /* the poll comes again: who has ended stays so */
    if (client->dropped) /* by the end of its connection; the poll is being closed */
        return;
    uv_poll_stop(poll);
    client_part(client, CLIENT_PART_PROCESS,
                client->channel ? "its process has ended, and left its connection to another"
                                : "its process has ended while it was not connected");
}

static int client_watch_process(struct client *client, int pidfd)
{
    uv_poll_t *end = malloc(sizeof(*end));

    if (!end || uv_poll_init(client->clients->world.loop, end, pidfd) < 0) {
        free(end);
        return -ENOMEM;
    }
    end->data = client;
    client->end = end;
    uv_poll_start(end, UV_READABLE, client_on_end);
    return 0;
}

/* A kernel that does not say whose the connection is, is asked by number. One whose process cannot
 * be watched ends with its connection alone. */
static void client_watch_peer(struct client *client)
{
    int pidfd = client->peer.pidfd;

    if (pidfd < 0)
        pidfd = client->pidfd = client->pid > 0 ? client_open_pidfd(client) : -1;
    if (pidfd >= 0 && client_watch_process(client, pidfd) == 0)
        return;
    if (client->pidfd >= 0)
        close(client->pidfd);
    client->pidfd = -1;
}

int client_add(struct clients *clients, int fd, struct peer *peer)
{
    static const struct channel_ops ops = { .on_frame = client_on_frame,
                                            .on_error = client_on_error,
                                            .room = client_on_room,
                                            .waits = client_on_waits,
                                            .spent = client_on_spent };
    struct account *account = account_open(clients->world.accounts, peer->uid);
    struct client *client = account ? calloc(1, sizeof(*client)) : NULL;

    if (client)
        client->unread = calloc(1, sizeof(*client->unread));
    if (client && client->unread &&
        getrandom(client->token, sizeof(client->token), 0) == sizeof(client->token))
        client->channel = channel_new(clients->world.loop, fd, CLIENT_QUEUE_BYTES, &ops, client);
    if (!client || !client->channel) {
        if (client)
            free(client->unread);
        free(client);
        shutdown(fd, SHUT_RD);
        closer_end(fd);
        account_settle(clients->world.accounts, peer->uid);
        peer_fini(peer);
        return -ENOMEM;
    }
    channel_take_turns(client->channel, &account->share);
    client->clients = clients;
    client->id = ++clients->last_id;
    registry_note_client_id(clients->world.registry, client->id);
    client->peer = *peer;
    client->pid = peer->pid;
    client->uid = peer->uid;
    client->pidfd = -1;
    client_set_roles(client);
    client->connected_ns = client->listened_ns = uv_hrtime();
    client->held.amounts[QUOTA_CLIENTS] = 1;
    account_charge(account, &client->held);
    client_insert(clients, client);
    clients->world.ops->changed(clients->world.userdata);
    client_log_about(client, LOG_LEVEL_DEBUG, "connected");
    client_watch_peer(client);
    client_count_request(client);
    client_hold_newcomer(client);
    return 0;
}

int client_restore(struct clients *clients, const struct registry_client *entry, int pidfd)
{
    struct client *client = calloc(1, sizeof(*client));

    if (!client)
        return -ENOMEM;
    /* client.K3: an id from before was given before the last one */
    check("client.K3", entry->id <= clients->last_id);
    client->clients = clients;
    client->id = entry->id;
    client->pid = (pid_t)entry->pid;
    client->uid = entry->uid;
    client->peer =
        (struct peer){ .pid = client->pid, .uid = client->uid, .gid = entry->gid, .pidfd = -1 };
    client_set_roles(client);
    memcpy(client->token, entry->token, sizeof(client->token));
    memcpy(client->name, entry->name, sizeof(client->name) - 1);
    memcpy(client->library, entry->library, sizeof(client->library) - 1);
    client->said_hello = client->stored = true;
    client->connected_ns = uv_hrtime();
    if (client_watch_process(client, pidfd) < 0) {
        free(client);
        return -ENOMEM;
    }
    client->pidfd = pidfd;
    client_insert(clients, client);
    return 0;
}

void client_take_port(struct client *client, const struct holding *held)
{
    client->n_ports++;
    holding_add(&client->held, held);
}

void client_give_port(struct client *client, const struct holding *held)
{
    check("client.K8", client->n_ports > 0);
    client->n_ports--;
    holding_subtract(&client->held, held);
}

static void client_on_end_closed(uv_handle_t *handle)
{
    free(handle);
}

static void client_stop_watching(struct client *client)
{
    if (!client->end)
        return;
    uv_close((uv_handle_t *)client->end, client_on_end_closed);
    if (client->pidfd >= 0)
        close(client->pidfd);
    client->end = NULL;
    client->pidfd = -1;
}

static void client_on_freed(void *userdata)
{
    struct client *client = userdata;

    peer_fini(&client->peer);
    free(client->unread);
    free(client);
}

void client_adopt(struct client *client, struct client *former)
{
    struct clients *clients = client->clients;

    client_take_out(clients, former);
    client_take_out(clients, client);
    client_stop_watching(former);
    client->id = former->id;
    memcpy(client->token, former->token, sizeof(client->token));
    client->n_ports = former->n_ports;
    client->n_broken_ports = former->n_broken_ports;
    client->stored = former->stored;
    client->stored_lost = former->stored_lost;
    holding_add(&client->held, &former->held);
    client_insert(clients, client);
    client_on_freed(former);
    client_log_about(client, LOG_LEVEL_INFO, "is back, with %u ports", client->n_ports);
    clients->world.ops->changed(clients->world.userdata);
}

/* By the connection where the kernel can: no other process can have taken its number then. */
int client_open_pidfd(const struct client *client)
{
    int pidfd = client->peer.pidfd >= 0 ? fcntl(client->peer.pidfd, F_DUPFD_CLOEXEC, 3)
                                        : (int)syscall(SYS_pidfd_open, client->pid, 0);

    return pidfd < 0 ? -errno : pidfd;
}

void client_set_hello(struct client *client, const char *name, const char *library)
{
    name_copy_printable(client->name, sizeof(client->name), name);
    name_copy_printable(client->library, sizeof(client->library), library);
    client->said_hello = true;
    client_log_about(client, LOG_LEVEL_DEBUG, "said hello, library %s", client->library);
}

static uint64_t client_count_descriptors(struct client *client)
{
    struct account *account = account_find(client->clients->world.accounts, client->uid);
    uint64_t *has = &client->held.amounts[QUOTA_DESCRIPTORS],
             now = client->n_fds_due + channel_descriptors(client->channel);

    check("client.K10", account && account->used.amounts[QUOTA_DESCRIPTORS] >= *has);
    account->used.amounts[QUOTA_DESCRIPTORS] += now - *has;
    return *has = now;
}

static void client_on_look(uv_timer_t *timer)
{
    struct clients *clients = timer->data;
    bool any = unreads_look(&clients->unreads);

    for (struct client *client = clients->first; client; client = client->next)
        if (client->held.amounts[QUOTA_DESCRIPTORS] > 0)
            any |= client_count_descriptors(client) > 0;
    if (any)
        uv_timer_start(timer, client_on_look, LOOK_MS, 0);
}

void clients_count_descriptors(struct clients *clients, struct account *account)
{
    uint64_t now = uv_now(clients->world.loop);
    uid_t uid = account->uid;

    if (account->counted_ms == now)
        return;
    account->counted_ms = now;
    unreads_look(&clients->unreads);
    for (struct client *client = clients->first; client; client = client->next)
        if (client->uid == uid && client->held.amounts[QUOTA_DESCRIPTORS] > 0)
            client_count_descriptors(client);
}

void client_expect_descriptors(struct client *client, int n)
{
    uv_timer_t *look = &client->clients->look;

    if (client->dropped || !client->channel)
        return;
    check("client.K10", n >= 0 || client->n_fds_due >= (uint32_t)-n);
    client->n_fds_due += (uint32_t)n;
    if (client_count_descriptors(client) > 0 && !uv_is_active((uv_handle_t *)look))
        uv_timer_start(look, client_on_look, LOOK_MS, 0);
}

/* What it has not read goes on counting (unread.U1). */
static void client_leave_unread(struct client *client)
{
    struct clients *clients = client->clients;
    struct unread *unread = client->unread;

    if (!client->channel)
        return;
    client->n_fds_due = 0;
    unread->fd = channel_free_unread(client->channel, client_on_freed);
    client_count_descriptors(client); /* what waited has left, or never will */
    if (unread->fd < 0)
        return;
    unread->uid = client->uid;
    unread->held =
        (struct holding){ .amounts[QUOTA_DESCRIPTORS] = client->held.amounts[QUOTA_DESCRIPTORS] };
    client->held.amounts[QUOTA_DESCRIPTORS] = 0;
    client->unread = NULL;
    unreads_keep(&clients->unreads, unread);
    if (!uv_is_active((uv_handle_t *)&clients->look))
        uv_timer_start(&clients->look, client_on_look, LOOK_MS, 0);
}

/* Its ports stay on the account until they are drained. One without a connection is not on it
 * itself. */
static void client_close_account(struct client *client)
{
    struct accounts *accounts = client->clients->world.accounts;
    struct holding own = { .amounts = { [QUOTA_CLIENTS] = client->held.amounts[QUOTA_CLIENTS],
                                        [QUOTA_DESCRIPTORS] =
                                            client->held.amounts[QUOTA_DESCRIPTORS] } };
    struct account *account = account_find(accounts, client->uid);

    if (account)
        account_discharge(account, &own);
    account_settle(accounts, client->uid);
}

static void client_end(struct client *client, enum log_level level, const char *why)
{
    struct clients *clients = client->clients;

    client->dropped = true;
    client_take_out(clients, client);
    if (why)
        client_log_about(client, level, "is disconnected: %s", why);
    else
        client_log_about(client, level, "has gone");
    clients->world.ops->gone(clients->world.userdata, client);
    client_leave_unread(client);
    client_close_account(client);
    client_stop_watching(client);
    if (!client->channel)
        client_on_freed(client);
    clients->world.ops->changed(clients->world.userdata);
}

void client_drop(struct client *client, const char *why)
{
    if (!client->dropped)
        client_end(client, why ? LOG_LEVEL_NOTICE : LOG_LEVEL_DEBUG, why);
}

bool clients_tell_of(struct clients *clients, enum client_parting how, uid_t uid,
                     uint64_t *ret_more)
{
    uint64_t now = uv_hrtime();

    if (how == CLIENT_PART_OFFENCE && !offenders_are_many(&clients->offenders, uid, now))
        return true;
    return told_note(&clients->parted[how], uid, now, ret_more);
}

void client_part(struct client *client, enum client_parting how, const char *why)
{
    char text[400];
    uint64_t more = 0;

    if (client->dropped)
        return;
    if (!clients_tell_of(client->clients, how, client->uid, &more)) {
        client_end(client, LOG_LEVEL_DEBUG, why);
        return;
    }
    snprintf(text, sizeof(text), "%s; %" PRIu64 " more since that was last told", why, more);
    client_end(client, LOG_LEVEL_NOTICE, more > 0 ? text : why);
}

void client_throw_out(struct client *client, const char *why)
{
    struct clients *clients = client->clients;

    client_part(client, CLIENT_PART_OFFENCE, why); /* client.K5 */
    clients_note_offence(clients, client->pid, client->uid);
}

/* In the place of an answer. */
static int client_send_instead(struct client *client, const Odeon__Reply *reply, int error,
                               const char *text)
{
    Odeon__Reply refusal = ODEON__REPLY__INIT;

    refusal.id = reply->id;
    refusal.error = error;
    refusal.text = (char *)text;
    return channel_send(client->channel, &refusal.base, NULL, 0);
}

/* client.K11 */
static void client_drop_deaf(struct client *client)
{
    const struct clients_world *world = &client->clients->world;
    const struct account *account = account_find(world->accounts, client->uid);
    char why[256];
    bool own;

    (void)client_answers_room(client, &own);
    snprintf(why, sizeof(why),
             "it does not read its answers: %llu bytes of them wait for it, %llu for its user, of "
             "%llu%s",
             (unsigned long long)client->held.amounts[QUOTA_ANSWER_BYTES],
             (unsigned long long)account->used.amounts[QUOTA_ANSWER_BYTES],
             (unsigned long long)(own ? world->config->quotas.limits[QUOTA_ANSWER_BYTES]
                                      : world->accounts->answer_bytes_max),
             own ? " (quota-answer-bytes)" : " for all users");
    client_blame(client, own ? "does not read its answers (quota-answer-bytes)"
                             : "does not read its answers, and all users have too many");
    client_part(client, CLIENT_PART_DEAF, why);
}

int client_send(struct client *client, Odeon__Reply *reply, const int *fds, size_t n_fds)
{
    int r, instead = 0;

    if (client->dropped || !client->channel) /* client.K4 */
        return 0;
    r = channel_send(client->channel, &reply->base, fds, n_fds);
    if (r == -EMSGSIZE)
        r = client_send_instead(client, reply, r,
                                "the answer does not fit into a frame; ask for fewer rows");
    if (channel_is_short(r) && !reply->event) {
        instead = r;
        r = client_send_instead(client, reply, r,
                                "the service has no memory or no descriptors for the answer");
    }
    if (r == -ENOBUFS)
        client_part(client, CLIENT_PART_DEAF, "it does not read its answers (1 MiB is waiting)");
    else if (r == -EDQUOT)
        client_drop_deaf(client);
    else if (r < 0 && r != -EPIPE && r != -ECONNRESET) /* these two: the end of file follows */
        client_part(client, CLIENT_PART_LOST, strerror(-r));
    return instead;
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
    check("client.K2", client->n_requests < CLIENT_REQUESTS_MAX);
    client->n_requests++;
    client->request_bytes += client->read_bytes;
    client_update_reading(client);
}

void client_end_request(struct client *client)
{
    check("client.K2", client->n_requests > 0);
    client->request_bytes -= client->request_bytes / client->n_requests;
    client->n_requests--;
    client_update_reading(client);
}
