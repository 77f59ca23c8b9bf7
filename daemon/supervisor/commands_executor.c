/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that the executor answers: passed on and back without a look inside, but for what must
 * survive a restart: plugins and changed settings.
 */
#include <errno.h>
#include <string.h>

#include "daemon/common/log.h"
#include "daemon/supervisor/commands.h"
#include "daemon/supervisor/supervisor.h"

static void commands_executor_remember_plugin(struct supervisor *supervisor,
                                              struct link_request *request,
                                              const Odeon__Reply *reply)
{
    struct kept_plugin *plugin;

    if (reply->body_case != ODEON__REPLY__BODY_PLUGIN || !reply->plugin || request->fd < 0)
        return;
    plugin = plugin_store_add(&supervisor->plugins, reply->plugin->name,
                              request->request->plugin_load->path, request->fd);
    request->fd = -1;
    if (plugin) {
        plugin->loaded = true;
        persist_keep_plugin(supervisor, plugin);
    } else {
        log_error("plugin %s is loaded, but there is no room to keep its file: a restart of the "
                  "executor will lose it",
                  reply->plugin->name);
    }
}

static void commands_executor_forget_plugin(struct supervisor *supervisor, const char *name)
{
    struct kept_plugin *plugin = plugin_store_find(&supervisor->plugins, name);

    if (!plugin)
        return;
    persist_forget_plugin(supervisor, plugin);
    plugin_store_remove(&supervisor->plugins, plugin);
}

/* What a success changes in the start of the next executor. */
static void commands_executor_note_success(struct supervisor *supervisor,
                                           struct link_request *request, const Odeon__Reply *reply)
{
    const Odeon__Request *asked = request->request;

    switch (asked->body_case) {
    case ODEON__REQUEST__BODY_PLUGIN_LOAD:
        commands_executor_remember_plugin(supervisor, request, reply);
        break;
    case ODEON__REQUEST__BODY_PLUGIN_UNLOAD:
        commands_executor_forget_plugin(supervisor, asked->plugin_unload->name);
        break;
    case ODEON__REQUEST__BODY_EXECUTOR_SET:
        supervisor_note_settings(supervisor, asked->executor_set, reply->reconfigured);
        break;
    default:
        return;
    }
    supervisor_update_counts(supervisor);
}

static void commands_executor_on_answer(void *userdata, struct link_request *request,
                                        Odeon__Reply *reply)
{
    struct supervisor *supervisor = userdata;
    struct client *client = clients_find(&supervisor->clients, request->asker.client_id);

    if (reply->error == 0)
        commands_executor_note_success(supervisor, request, reply);
    if (!client)
        return;
    client_end_request(client);
    if (reply->error == -EDQUOT && request->request->body_case == ODEON__REQUEST__BODY_SPAWN)
        client_blame(client, "is refused an actor: its user's quota-actors");
    reply->id = request->tag;
    client_send(client, reply, NULL, 0);
}

void command_ask_executor(struct client *client, Odeon__Request **request, int fd,
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
    r = executor_link_ask(&client->supervisor->executor, &ask);
    if (r == 0)
        return;
    client_end_request(client);
    if (r == -EBUSY)
        client_refuse(client, ask.tag, r,
                      "%d requests wait for the executor already; try again later",
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

/* True: there is no executor to wait for, and the client has been told. */
static bool commands_executor_refuse(struct supervisor *supervisor, struct client *client,
                                     const Odeon__Request *request)
{
    if (supervisor->stopping)
        client_refuse(client, request->id, -ESHUTDOWN, "the service is stopping");
    else if (supervisor->boot.rule_stops.held)
        client_refuse(client, request->id, -EHOSTDOWN, COMMANDS_EXECUTOR_IS_HELD);
    return supervisor->stopping || supervisor->boot.rule_stops.held;
}

void command_forward(struct supervisor *supervisor, struct client *client, Odeon__Request **request,
                     struct frame *frame)
{
    (void)frame;
    if (!commands_executor_refuse(supervisor, client, *request))
        command_ask_executor(client, request, -1, commands_executor_on_answer);
}

void command_plugin_load(struct supervisor *supervisor, struct client *client,
                         Odeon__Request **request, struct frame *frame)
{
    char text[PLUGIN_TEXT_MAX];
    int fd;

    if (commands_executor_refuse(supervisor, client, *request))
        return;
    fd = plugin_copy((*request)->plugin_load->path, frame->n_fds > 0 ? frame->fds[0] : -1, text);
    if (fd < 0)
        client_refuse(client, (*request)->id, fd, "%s", text);
    else
        command_ask_executor(client, request, fd, commands_executor_on_answer);
}
