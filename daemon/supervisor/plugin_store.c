/* SPDX-License-Identifier: Apache-2.0 */
/* Plugins over restarts; the interface is in plugin_store.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/common/memfd.h"
#include "daemon/supervisor/plugin_store.h"

static int plugin_store_refuse(char *text, int error, const char *path, const char *why)
{
    snprintf(text, PLUGIN_TEXT_MAX, "plugin %.300s %s", path[0] ? path : "(descriptor)", why);
    return error;
}

static int plugin_store_check_file(int fd, const char *path, char *text)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return plugin_store_refuse(text, -errno, path, strerror(errno));
    if (S_ISDIR(st.st_mode))
        return plugin_store_refuse(text, -EISDIR, path,
                                   "is a directory; give the path of a shared object");
    if (S_ISLNK(st.st_mode))
        return plugin_store_refuse(text, -ELOOP, path,
                                   "is a symbolic link; give the path of the file itself");
    if (!S_ISREG(st.st_mode))
        return plugin_store_refuse(text, -EINVAL, path,
                                   "is not a regular file; give the path of a shared object");
    if (st.st_size == 0)
        return plugin_store_refuse(text, -ENOEXEC, path, "is empty");
    if ((uint64_t)st.st_size > PLUGIN_FILE_MAX)
        return plugin_store_refuse(text, -EFBIG, path, "is larger than a plugin can be (256 MiB)");
    return 0;
}

/* O_NONBLOCK: a FIFO must not hold up the service; it is refused after that. */
static int plugin_store_open_path(const char *path, char *text)
{
    int fd;

    if (path[0] != '/')
        return plugin_store_refuse(
            text, -EINVAL, path,
            "is not an absolute path; the service has another working directory than you");
    fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0)
        return fd;
    switch (errno) {
    case ELOOP:
        return plugin_store_refuse(text, -ELOOP, path,
                                   "is a symbolic link; give the path of the file itself");
    case ENOENT:
        return plugin_store_refuse(
            text, -ENOENT, path,
            "does not exist for the service, which may have a /tmp of its own and see no "
            "home directories");
    case EACCES:
        return plugin_store_refuse(
            text, -EACCES, path,
            "cannot be read by the service; pass a descriptor, or change its mode");
    case ENXIO:
        return plugin_store_refuse(text, -EINVAL, path,
                                   "is not a regular file; give the path of a shared object");
    default: {
        int error = errno;

        return plugin_store_refuse(text, -error, path, strerror(error));
    }
    }
}

int plugin_copy(const char *path, int fd, char *text)
{
    int file = fd >= 0 ? fd : plugin_store_open_path(path, text), copy;

    if (file < 0)
        return file;
    copy = plugin_store_check_file(file, path, text);
    if (copy == 0) {
        copy = memfd_copy_file(file, PLUGIN_FILE_MAX);
        if (copy == -EBADF)
            plugin_store_refuse(text, copy, path, "was passed as a descriptor that cannot be read");
        else if (copy < 0)
            plugin_store_refuse(text, copy, path, strerror(-copy));
    }
    if (file != fd)
        close(file);
    return copy;
}

struct kept_plugin *plugin_store_add(struct plugin_store *store, const char *name, const char *path,
                                     int fd)
{
    struct kept_plugin *plugin = &store->list[store->n];
    char *own_name = NULL, *own_path = NULL;

    if (store->n == ODEON_PLUGINS_MAX)
        goto fail;
    own_path = strdup(path);
    if (name)
        own_name = strdup(name);
    if (!own_path || (name && !own_name))
        goto fail;
    *plugin = (struct kept_plugin){ .name = own_name, .path = own_path, .fd = fd };
    store->n++;
    return plugin;
fail:
    free(own_name);
    free(own_path);
    close(fd);
    return NULL;
}

/* A line that nobody knows is one that a build before this has recorded: they got their serials in
 * their order. */
static uint32_t plugin_store_rank(const struct kept_plugin *plugin)
{
    if (plugin->line > 0)
        return plugin->line;
    return plugin->configured ? 0 : UINT32_MAX;
}

/* Who has no serial has come last, or there is no store, and they lie as they came. */
static bool plugin_store_is_before(const struct kept_plugin *a, const struct kept_plugin *b)
{
    uint32_t rank_a = plugin_store_rank(a), rank_b = plugin_store_rank(b);

    return rank_a != rank_b ? rank_a < rank_b : a->serial - 1 < b->serial - 1;
}

void plugin_store_sort(struct plugin_store *store)
{
    for (size_t i = 1; i < store->n; i++) {
        struct kept_plugin plugin = store->list[i];
        size_t at = i;

        for (; at > 0 && plugin_store_is_before(&plugin, &store->list[at - 1]); at--)
            store->list[at] = store->list[at - 1];
        store->list[at] = plugin;
    }
}

uint32_t plugin_store_line_of(char *const *lines, size_t n_lines, const char *path)
{
    for (size_t i = 0; i < n_lines; i++)
        if (strcmp(lines[i], path) == 0)
            return (uint32_t)i + 1;
    return 0;
}

void plugin_store_number(struct plugin_store *store, char *const *lines, size_t n_lines)
{
    for (size_t i = 0; i < store->n; i++) {
        struct kept_plugin *plugin = &store->list[i];
        uint32_t line = plugin_store_line_of(lines, n_lines, plugin->path);

        if (line > 0 || !plugin->configured)
            plugin->line = line;
    }
}

int plugin_store_set_name(struct kept_plugin *plugin, const char *name)
{
    char *own = strdup(name);

    if (!own)
        return -ENOMEM;
    free(plugin->name);
    plugin->name = own;
    return 0;
}

struct kept_plugin *plugin_store_find(struct plugin_store *store, const char *name)
{
    for (size_t i = 0; i < store->n; i++)
        if (store->list[i].name && !store->list[i].left_out &&
            strcmp(store->list[i].name, name) == 0)
            return &store->list[i];
    return NULL;
}

struct kept_plugin *plugin_store_find_unloaded(struct plugin_store *store, const char *name,
                                               const char *path)
{
    for (size_t i = 0; i < store->n; i++) {
        struct kept_plugin *plugin = &store->list[i];

        if (!plugin->loaded &&
            (plugin->name ? strcmp(plugin->name, name) : strcmp(plugin->path, path)) == 0)
            return plugin;
    }
    return NULL;
}

struct kept_plugin *plugin_store_find_path(struct plugin_store *store, const char *path)
{
    for (size_t i = 0; i < store->n; i++)
        if (strcmp(store->list[i].path, path) == 0)
            return &store->list[i];
    return NULL;
}

void plugin_store_remove(struct plugin_store *store, struct kept_plugin *plugin)
{
    size_t index = (size_t)(plugin - store->list);

    free(plugin->name);
    free(plugin->path);
    close(plugin->fd);
    memmove(plugin, plugin + 1, (store->n - index - 1) * sizeof(*plugin));
    store->n--;
}

size_t plugin_store_count_loaded(const struct plugin_store *store)
{
    size_t n = 0;

    for (size_t i = 0; i < store->n; i++)
        n += store->list[i].loaded;
    return n;
}

void plugin_store_fini(struct plugin_store *store)
{
    while (store->n > 0)
        plugin_store_remove(store, &store->list[store->n - 1]);
}
