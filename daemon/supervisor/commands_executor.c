/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that the executor answers: passed on and back without a look inside, but for what must
 * survive a restart: plugins and changed settings.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/common/log.h"
#include "daemon/supervisor/audit.h"
#include "daemon/supervisor/closer.h"
#include "daemon/supervisor/commands_executor.h"
#include "daemon/supervisor/configuration.h"
#include "daemon/supervisor/copier.h"
#include "daemon/supervisor/line.h"
#include "daemon/supervisor/load_watch.h"
#include "daemon/supervisor/persist.h"
#include "daemon/supervisor/seat.h"
#include "daemon/supervisor/seat_settings.h"

static void commands_executor_forget(struct seat *seat, struct kept_plugin *plugin)
{
    persist_forget_plugin(seat->service->persist, plugin);
    plugin_store_remove(&seat->plugins, plugin);
}

/* Those that the loaded one repairs (safe_mode.SM2), or a later start would load both: a client is
 * answered by an executor that is ready, so that what is not loaded by now has been left out or
 * refused.  Its path when one of them is a line of the configuration, which it stands for from now
 * on; the caller's to free. */
static char *commands_executor_forget_unloaded(struct seat *seat, const char *name,
                                               const char *path)
{
    struct kept_plugin *plugin;
    char *line = NULL;

    while ((plugin = plugin_store_find_unloaded(&seat->plugins, name, path))) {
        if (plugin->configured && !line)
            line = strdup(plugin->path);
        commands_executor_forget(seat, plugin);
    }
    return line;
}

static void commands_executor_remember_plugin(struct seat *seat, struct link_request *request,
                                              const Odeon__Reply *reply)
{
    const char *path = request->request->plugin_load->path;
    const struct config *config = seat->service->config;
    struct kept_plugin *plugin;
    char *line;

    if (reply->body_case != ODEON__REPLY__BODY_PLUGIN || !reply->plugin || request->fd < 0)
        return;
    line = commands_executor_forget_unloaded(seat, reply->plugin->name, path);
    plugin = plugin_store_add(&seat->plugins, reply->plugin->name, line ? line : path, request->fd);
    request->fd = -1;
    if (plugin) {
        plugin->loaded = true;
        plugin->configured = line != NULL;
        /* whoever puts a new build where a line's was wants it in that place */
        plugin_store_number(&seat->plugins, config->plugins, config->n_plugins);
        persist_keep_plugin(seat->service->persist, &seat->plugins, plugin);
        persist_record_lines(seat->service->persist, &seat->plugins);
        plugin_store_sort(&seat->plugins);
    } else {
        log_error("plugin %s is loaded, but there is no room to keep its file: a restart of the "
                  "executor will lose it",
                  reply->plugin->name);
    }
    free(line);
}

static void commands_executor_forget_plugin(struct seat *seat, const char *name)
{
    struct kept_plugin *plugin = plugin_store_find(&seat->plugins, name);

    if (plugin)
        commands_executor_forget(seat, plugin);
}

/* What a success changes in the start of the next executor. */
static void commands_executor_note_success(struct seat *seat, struct link_request *request,
                                           const Odeon__Reply *reply)
{
    const Odeon__Request *asked = request->request;

    switch (asked->body_case) {
    case ODEON__REQUEST__BODY_PLUGIN_LOAD:
        commands_executor_remember_plugin(seat, request, reply);
        break;
    case ODEON__REQUEST__BODY_PLUGIN_UNLOAD:
        commands_executor_forget_plugin(seat, asked->plugin_unload->name);
        break;
    case ODEON__REQUEST__BODY_EXECUTOR_SET:
        seat_settings_note(seat, asked->executor_set, reply->reconfigured);
        break;
    default:
        return;
    }
    seat_update_counts(seat);
}

static void commands_executor_answer(struct client *client, Odeon__Reply *reply)
{
    client_end_request(client);
    client_send(client, reply, NULL, 0);
}

/* An answer that promises what is on its way into the store. */
struct commands_executor_promise {
    struct line_waiter waiter;
    struct seat *seat;
    uint64_t client_id;
    size_t size;
    uint8_t reply[];
};

static void commands_executor_on_kept(struct line_waiter *waiter, int error)
{
    struct commands_executor_promise *promise = (struct commands_executor_promise *)waiter;
    struct client *client = clients_find(promise->seat->service->clients, promise->client_id);
    Odeon__Reply *reply = client ? odeon__reply__unpack(NULL, promise->size, promise->reply) : NULL;

    (void)error; /* it is loaded, and the log has said what a restart will lose */
    if (reply)
        commands_executor_answer(client, reply);
    else if (client)
        client_drop(client, "no memory for an answer to it");
    odeon__reply__free_unpacked(reply, NULL);
    free(promise);
}

/* False: there is nothing to wait for, or no memory to wait in. */
static bool commands_executor_hold(struct seat *seat, const struct client *client,
                                   const Odeon__Reply *reply)
{
    size_t size = odeon__reply__get_packed_size(reply);
    struct commands_executor_promise *promise =
        persist_is_on(seat->service->persist) ? malloc(sizeof(*promise) + size) : NULL;

    if (!promise)
        return false;
    *promise = (struct commands_executor_promise){ .waiter.passed = commands_executor_on_kept,
                                                   .seat = seat,
                                                   .client_id = client->id,
                                                   .size = size };
    odeon__reply__pack(reply, promise->reply);
    if (store_add(&seat->service->persist->store, &promise->waiter) == 0)
        return true;
    free(promise);
    return false;
}

/* The log says which bound it was, the answer how much of it. */
static void commands_executor_blame(struct client *client, const struct link_request *request,
                                    const Odeon__Reply *reply)
{
    if (reply->error != -EDQUOT)
        return;
    if (request->request->body_case == ODEON__REQUEST__BODY_MESSAGE_TYPE_INTERN)
        client_blame(client, "is refused a message type: its user has its share of them");
    else if (request->request->body_case == ODEON__REQUEST__BODY_SPAWN)
        client_blame(client, reply->text && strstr(reply->text, "(quota-actors)")
                                 ? "is refused an actor: its user's quota-actors"
                                 : "is refused an actor: its user has its share of names or of "
                                   "threads");
}

static void commands_executor_on_answer(void *userdata, struct link_request *request,
                                        Odeon__Reply *reply)
{
    struct seat *seat = userdata;
    struct client *client = clients_find(seat->service->clients, request->asker.client_id);

    if (request->request->body_case == ODEON__REQUEST__BODY_PLUGIN_LOAD)
        load_watch_note_answer(seat);
    if (reply->error == 0) {
        audit_request(seat, client, request->asker.uid, request->request, reply);
        commands_executor_note_success(seat, request, reply);
    }
    if (!client)
        return;
    commands_executor_blame(client, request, reply);
    reply->id = request->tag;
    /* behind the plugin's own waiter, which records it */
    if (reply->error != 0 || request->request->body_case != ODEON__REQUEST__BODY_PLUGIN_LOAD ||
        !commands_executor_hold(seat, client, reply))
        commands_executor_answer(client, reply);
}

void command_ask_executor(struct seat *seat, struct client *client, Odeon__Request **request,
                          int fd,
                          void (*done)(void *userdata, struct link_request *request,
                                       Odeon__Reply *reply))
{
    struct link_ask ask = { .asker = { .client_id = client->id,
                                       .uid = client->uid,
                                       .bound = client_is_bound(client),
                                       .may_register = client->roles & 1U << ROLE_REGISTER },
                            .tag = (*request)->id,
                            .request = *request,
                            .fd = fd,
                            .done = done };
    int r;

    *request = NULL;
    client_begin_request(client);
    r = executor_link_ask(&seat->executor, &ask);
    if (r == 0)
        return;
    client_end_request(client);
    if (r == -EBUSY)
        client_refuse(client, ask.tag, r,
                      "%u requests wait for the executor, %u of them of user %u; it takes %d, and "
                      "of one user half of what others leave; try again later",
                      seat->executor.n_requests,
                      executor_link_count_requests(&seat->executor, client->uid), client->uid,
                      LINK_REQUESTS_MAX);
    else if (r == -EMSGSIZE)
        client_refuse(
            client, ask.tag, r,
            "the request is too large to be passed on; leave some bytes of the frame's %d free",
            ODEON_CONTROL_FRAME_MAX);
    else
        client_refuse(client, ask.tag, r, "the request cannot be passed to the executor: %s",
                      strerror(-r));
}

bool command_refuse_without_executor(const struct seat *seat, struct client *client,
                                     const Odeon__Request *request)
{
    if (seat->stopping)
        client_refuse(client, request->id, -ESHUTDOWN, "the service is stopping");
    else if (seat->boot.rule_stops.held)
        client_refuse(client, request->id, -EHOSTDOWN,
                      "the executor is down: it has stopped itself again and again over a broken "
                      "rule, which the log names; a reload (systemctl reload odeond, or SIGHUP) "
                      "starts it");
    return seat->stopping || seat->boot.rule_stops.held;
}

void command_forward(struct seat *seat, struct client *client, Odeon__Request **request,
                     struct frame *frame)
{
    (void)frame;
    if (!command_refuse_without_executor(seat, client, *request))
        command_ask_executor(seat, client, request, -1, commands_executor_on_answer);
}

bool command_refuse_unkept(struct client *client, const Odeon__Request *request)
{
    if (!line_is_full())
        return false;
    client_refuse(client, request->id, -EBUSY,
                  "the service manager, which keeps what ports and plugins are made of, takes "
                  "nothing at the moment, and %d messages wait for it; try again later",
                  LINE_WAITING_MAX);
    return true;
}

/* A plugin whose file is being copied; its client may have gone when that is done. */
struct commands_executor_load {
    struct copier_asker asker;
    struct seat *seat;
    uint64_t client_id;
    Odeon__Request *request;
};

static void commands_executor_on_copied(struct copier_asker *asker, int copy, const char *text)
{
    struct commands_executor_load *load = (struct commands_executor_load *)asker;
    struct client *client = clients_find(load->seat->service->clients, load->client_id);
    Odeon__Request *request = load->request;

    if (client)
        client_end_request(client);
    if (client && copy < 0) {
        client_refuse(client, request->id, copy, "%s", text);
    } else if (client && !command_refuse_without_executor(load->seat, client, request)) {
        command_ask_executor(load->seat, client, &request, copy, commands_executor_on_answer);
        load_watch_begin(load->seat);
        copy = -1;
    }
    if (copy >= 0)
        close(copy);
    odeon__request__free_unpacked(request, NULL);
    free(load);
}

void command_plugin_load(struct seat *seat, struct client *client, Odeon__Request **request,
                         struct frame *frame)
{
    struct commands_executor_load *load;
    char text[PLUGIN_TEXT_MAX] = "the service has no memory to read it";
    int fd, r = -ENOMEM;

    if (command_refuse_without_executor(seat, client, *request) ||
        command_refuse_unkept(client, *request))
        return;
    fd = frame_take_fd(frame, 0);
    load = malloc(sizeof(*load));
    if (load) {
        *load = (struct commands_executor_load){ .asker.done = commands_executor_on_copied,
                                                 .seat = seat,
                                                 .client_id = client->id,
                                                 .request = *request };
        r = copier_ask((*request)->plugin_load->path, fd, client->uid, client_is_bound(client),
                       &load->asker, text);
    }
    if (r == 0) {
        *request = NULL;
        client_begin_request(client);
        return;
    }
    free(load);
    if (fd >= 0)
        closer_close(fd);
    client_refuse(client, (*request)->id, r, "%s", text);
}
