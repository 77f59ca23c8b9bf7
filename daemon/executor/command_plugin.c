/* SPDX-License-Identifier: Apache-2.0 */
/* Requests about plugins. */
#include <errno.h>
#include <stdio.h>

#include "daemon/common/events.h"
#include "daemon/common/log.h"
#include "daemon/executor/command.h"

/* With room for so many types; NULL: there is no memory. */
static Odeon__Plugin *command_plugin_make_row(struct reply *reply, unsigned n_types)
{
    Odeon__Plugin *row = reply_alloc(reply, sizeof(*row));
    char **types = reply_alloc(reply, (n_types + 1) * sizeof(*types));

    if (!row || !types)
        return NULL;
    odeon__plugin__init(row);
    row->types = types;
    return row;
}

static void command_plugin_fill_row(const struct executor *executor, const struct plugin *plugin,
                                    Odeon__Plugin *row)
{
    unsigned n = plugin_count_types(plugin);

    row->name = reply_string(plugin_get_name(plugin));
    row->version = reply_string(plugin_get_version(plugin));
    row->path = reply_string(plugin_get_label(plugin));
    for (unsigned i = 0; i < n; i++) {
        struct engine_actor_type_view view;

        if (engine_actor_type_get(executor->engine, plugin_get_type(plugin, i), &view) < 0)
            continue;
        row->types[row->n_types++] = reply_string(view.name);
        row->actors += view.live;
    }
}

static void command_plugin_log_plugin(const struct plugin *plugin)
{
    char field[ODEON_NAME_MAX + 32];
    const char *const fields[] = { CATALOGUE_PLUGIN_LOADED, field, NULL };

    snprintf(field, sizeof(field), "ODEON_PLUGIN=%s", plugin_get_name(plugin));
    log_fields(LOG_LEVEL_NOTICE, fields, "plugin %s %s loaded from %s: %u actor types",
               plugin_get_name(plugin), plugin_get_version(plugin), plugin_get_label(plugin),
               plugin_count_types(plugin));
}

int command_plugin_load(struct executor *executor, const Odeon__Request *request,
                        struct frame *frame, struct reply *reply)
{
    const char *label = request->plugin_load->path;
    const struct plugin *plugin = NULL;
    /* first: odeond takes what has no name for refused, and keeps a plugin by its name */
    Odeon__Plugin *row = command_plugin_make_row(reply, ODEON_PLUGIN_TYPES_MAX);
    int fd = row ? frame_take_fd(frame, 0) : -1, r;
    /* also of one that ends before it begins: the places are those of odeond's list */
    uint32_t place = executor->state == EXECUTOR_PLUGINS ? ++executor->started_plugins : 0;

    if (!row)
        return -ENOMEM;
    if (frame->fds_lost)
        return explain_set(&reply->explain, -EMFILE,
                           "the executor has no room for the plugin's file (LimitNOFILE=): other "
                           "plugins have opened too many");
    if (fd < 0)
        return explain_set(&reply->explain, -EBADF,
                           "the request to load a plugin came without the plugin's file");
    executor_publish_loading(executor, place > 0 ? place : PLUGIN_LOADING_ASKED);
    r = plugin_load(executor->plugins, fd, label, &reply->explain, &plugin);
    executor_publish_loading(executor, 0);
    if (r < 0) {
        log_event(LOG_LEVEL_WARNING, CATALOGUE_PLUGIN_REFUSED, "plugin file %s refused: %s", label,
                  reply->explain.text);
        return r;
    }
    if (place > 0)
        executor->plugin_places[plugin_registry_count(executor->plugins) - 1] = place;
    executor_publish_plugins(executor);
    command_plugin_log_plugin(plugin);
    command_plugin_fill_row(executor, plugin, row);
    reply->message.plugin = row;
    reply->message.body_case = ODEON__REPLY__BODY_PLUGIN;
    return 0;
}

int command_plugin_unload(struct executor *executor, const Odeon__Request *request,
                          struct frame *frame, struct reply *reply)
{
    const char *name = request->plugin_unload->name;
    int r;

    (void)frame;
    if (!executor->is_first)
        return EXECUTOR_LATER;
    r = plugin_unload(executor->plugins, name, &reply->explain);
    if (r == PLUGIN_LATER)
        return EXECUTOR_LATER;
    if (r < 0)
        return r;
    executor_publish_plugins(executor);
    log_notice("plugin %s unloaded", name);
    return reply_ok(reply);
}

/* `after` counts the plugins that earlier pages had. */
int command_plugin_list(struct executor *executor, const Odeon__Request *request,
                        struct frame *frame, struct reply *reply)
{
    const Odeon__Page *page = request->plugin_list->page;
    size_t n_rows = reply_page_rows(page);
    Odeon__PluginListReply *body = reply_alloc(reply, sizeof(*body));
    Odeon__Plugin **rows = reply_alloc(reply, n_rows * sizeof(*rows));
    uint64_t index = page ? page->after : 0;
    const struct plugin *plugin;

    (void)frame;
    if (!body || !rows)
        return -ENOMEM;
    odeon__plugin_list_reply__init(body);
    body->plugins = rows;
    for (; index < plugin_registry_count(executor->plugins); index++) {
        Odeon__Plugin *row;

        plugin = plugin_registry_get(executor->plugins, (unsigned)index);
        row = command_plugin_make_row(reply, plugin_count_types(plugin));
        if (!row)
            return -ENOMEM;
        command_plugin_fill_row(executor, plugin, row);
        body->more = body->n_plugins == n_rows || !reply_row_fits(reply, &row->base);
        if (body->more)
            break;
        rows[body->n_plugins++] = row;
    }
    reply->message.plugin_list = body;
    reply->message.body_case = ODEON__REPLY__BODY_PLUGIN_LIST;
    return 0;
}
