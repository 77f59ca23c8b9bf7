/* SPDX-License-Identifier: Apache-2.0 */
/* odeonctl plugin: loading, listing, unloading. */
#include "client-lib/ctl/ctl.h"
#include "client-lib/ctl/output.h"
#include "client-lib/ctl/suggest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void plugin_print_done(struct ctl *ctl, const char *key, const char *what)
{
    struct json json;

    if (!ctl->json) {
        fprintf(ctl->out, "%s %s\n", key, what);
        return;
    }
    json_begin_document(&json, ctl->out);
    json_string(&json, key, what);
    json_end_document(&json);
}

/* The service has another working directory. Links stay as they are: whether they may be followed
 * is its decision. */
static char *plugin_absolute_path(const char *path)
{
    char *cwd, *joined = NULL;

    if (*path == '/')
        return strdup(path);
    cwd = getcwd(NULL, 0);
    if (!cwd)
        return NULL;
    if (asprintf(&joined, "%s/%s", cwd, !strncmp(path, "./", 2) ? path + 2 : path) < 0)
        joined = NULL;
    free(cwd);
    return joined;
}

int ctl_plugin_load(struct ctl *ctl)
{
    const char *given = ctl->words[0];
    char *path;
    int r, code;

    if (!*given)
        return ctl_fail(ctl, CTL_USAGE,
                        "plugin load: the path is empty. Write the path of a shared object");
    code = ctl_connect(ctl);
    if (code)
        return code;
    path = plugin_absolute_path(given);
    if (!path)
        return ctl_fail(ctl, CTL_REFUSED, "cannot load '%s': %s. Write its whole path", given,
                        strerror(errno));
    r = odeon_plugin_load(ctl->client, path);
    if (r < 0)
        code = ctl_refuse(ctl, r, "cannot load '%s'", path);
    else
        plugin_print_done(ctl, "loaded", path);
    free(path);
    return code;
}

static int plugin_fetch(struct odeon_client *client, const char *filter, uint64_t after,
                        uint32_t rows, struct odeon_list **ret)
{
    (void)filter;
    return odeon_plugin_list(client, after, rows, ret);
}

static void plugin_add(struct listing *listing, const void *row)
{
    const struct odeon_plugin_info *p = row;

    listing_add(listing,
                (struct cell[]){ CELL_TEXT(p->name), CELL_TEXT(p->version), CELL_NUMBER(p->actors),
                                 CELL_LIST(p->types, p->n_types), CELL_TEXT(p->path) });
}

int ctl_plugin_list(struct ctl *ctl)
{
    static const struct column columns[] = {
        { "NAME", "name", false },   { "VERSION", "version", false }, { "ACTORS", "actors", true },
        { "TYPES", "types", false }, { "PATH", "path", false },
    };
    static const struct listing_source source = { .what = "cannot list the plugins",
                                                  .fetch = plugin_fetch,
                                                  .row_size = sizeof(struct odeon_plugin_info),
                                                  .add = plugin_add };

    return listing_fetch(ctl, "plugins", columns, 5, &source);
}

/* The name of a loaded plugin that is near, to be freed; NULL: there is none. */
static char *plugin_nearest(struct ctl *ctl, const char *name)
{
    struct odeon_list *list = NULL;
    char *best;

    if (odeon_plugin_list(ctl->client, 0, 0, &list) < 0)
        return NULL;
    best = suggestion_of_rows(list, sizeof(struct odeon_plugin_info), name);
    odeon_list_free(list);
    return best;
}

int ctl_plugin_unload(struct ctl *ctl)
{
    const char *name = ctl->words[0];
    int r, code;

    code = ctl_connect(ctl);
    if (code)
        return code;
    r = odeon_plugin_unload(ctl->client, name);
    if (r == -ENOENT) {
        char *near = plugin_nearest(ctl, name);

        if (near)
            code = ctl_fail(ctl, CTL_REFUSED,
                            "cannot unload '%s': no such plugin is loaded. Did you mean %s?", name,
                            near);
        else
            code = ctl_fail(ctl, CTL_REFUSED,
                            "cannot unload '%s': no such plugin is loaded. odeonctl plugin list "
                            "shows those that are",
                            name);
        free(near);
        return code;
    }
    if (r < 0)
        return ctl_refuse(ctl, r, "cannot unload '%s'", name);
    plugin_print_done(ctl, "unloaded", name);
    return 0;
}
