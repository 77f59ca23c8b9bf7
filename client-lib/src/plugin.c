/* SPDX-License-Identifier: Apache-2.0 */
/* Plugins: loaded, unloaded, listed.  Any thread. */
#include <errno.h>

#include "client-lib/src/admin_call.h"

int odeon_plugin_load(struct odeon_client *client, const char *path)
{
    Odeon__PluginLoad body = ODEON__PLUGIN_LOAD__INIT;

    if (!path || path[0] != '/')
        return error_set(-EINVAL,
                         "odeon_plugin_load: the service has another working directory, so the "
                         "path must begin with '/': %s",
                         path ? path : "(none)");
    body.path = admin_string(path);
    return admin_call(client, &(struct admin_call){ .request = ODEON__REQUEST__BODY_PLUGIN_LOAD,
                                                    .body = &body,
                                                    .reply = ODEON__REPLY__BODY_PLUGIN });
}

int odeon_plugin_unload(struct odeon_client *client, const char *name)
{
    Odeon__PluginUnload body = ODEON__PLUGIN_UNLOAD__INIT;
    int r = admin_check_given("odeon_plugin_unload", name);

    if (r < 0)
        return r;
    body.name = admin_string(name);
    return admin_call(client, &(struct admin_call){ .request = ODEON__REQUEST__BODY_PLUGIN_UNLOAD,
                                                    .body = &body,
                                                    .reply = ODEON__REPLY__BODY_OK });
}

static int plugin_fill_list(const struct admin_call *call, void *result, const Odeon__Reply *reply)
{
    const Odeon__PluginListReply *from = reply->plugin_list;
    struct odeon_list *list = result;
    struct odeon_plugin_info *rows =
        admin_list_rows(call, list, from->n_plugins, sizeof(*rows), from->more);

    for (size_t i = 0; i < list->n; i++) {
        const Odeon__Plugin *plugin = from->plugins[i];

        rows[i].name = arena_string(list, plugin->name);
        rows[i].version = arena_string(list, plugin->version);
        rows[i].path = arena_string(list, plugin->path);
        rows[i].actors = plugin->actors;
        rows[i].types = admin_copy_strings(list, plugin->types, plugin->n_types, &rows[i].n_types);
    }
    list->next += list->n;
    return 0;
}

int odeon_plugin_list(struct odeon_client *client, uint64_t after, uint32_t rows,
                      struct odeon_list **ret)
{
    Odeon__Page page = admin_page(after, rows);
    Odeon__PluginList body = ODEON__PLUGIN_LIST__INIT;

    body.page = &page;
    return admin_call(client, &(struct admin_call){ .request = ODEON__REQUEST__BODY_PLUGIN_LIST,
                                                    .body = &body,
                                                    .reply = ODEON__REPLY__BODY_PLUGIN_LIST,
                                                    .size = sizeof(struct odeon_list),
                                                    .ret = ret,
                                                    .fill = plugin_fill_list,
                                                    .after = after });
}
