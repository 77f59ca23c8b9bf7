/* SPDX-License-Identifier: Apache-2.0 */
/* See plugin.h. The order of a load: file -> loader -> descriptor -> names free? -> messages -> can
 * the types be had? -> the plugin's init -> out of quarantine -> types -> the plugin's start, which
 * at a start of the executor waits for the other plugins (plugin.L4). The plugin's own init comes
 * before its types can be seen: workers run, and whoever finds a type may spawn at once. */
#include "daemon/executor/plugin.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <odeon/plugin.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/common/check.h"
#include "daemon/common/log.h"
#include "daemon/executor/plugin_check.h"
#include "daemon/executor/plugin_descriptor.h"
#include "daemon/executor/plugin_messages.h"
#include "daemon/executor/plugin_place.h"
#include "daemon/executor/plugin_type.h"

struct plugin {
    enum plugin_state state;
    bool initialised; /* its init has said yes: fini is owed */
    bool start_owed;  /* until all plugins of this start are there */
    bool borrowed; /* the loader had this very file already: the code belongs to another plugin */
    int fd;
    void *handle;
    const struct odeon_plugin *descriptor;
    unsigned n_types;
    struct plugin_type *types;
    struct message_set messages; /* that it declares */
    char path[PATH_MAX];         /* what the loader was given */
    char label[PATH_MAX];
};

struct plugin_registry {
    struct engine *engine;
    const struct host *host;
    bool in_place;
    bool runs;         /* the service does: plugins are loaded by somebody who wants them to run */
    bool holds_starts; /* plugin.L4 */
    engine_behaviour_fn around; /* NULL: the engine calls behaviours themselves */
    struct plugin *entering;    /* none of the registry's yet */
    unsigned n;
    struct plugin *plugins[ODEON_PLUGINS_MAX];
    /* of the one plugin that is about to go: types that have gone, and whether the next one has
     * been asked to */
    unsigned n_retired;
    bool retiring;
};

/* ---- one plugin, undone in any state */

/* Code whose unloading the loader declines (it may: unique symbols, NODELETE) keeps its descriptor,
 * see plugin.L2. */
static void plugin_unmap(struct plugin *plugin)
{
    void *still = NULL;

    if (plugin->handle) {
        (void)dlclose(plugin->handle);
        plugin->handle = NULL;
        still = plugin->borrowed ? NULL : dlopen(plugin->path, RTLD_LAZY | RTLD_NOLOAD);
    }
    if (still) {
        (void)dlclose(still);
        log_warning("plugin file %s stays mapped: it was built in a way that forbids unloading",
                    plugin->label);
    } else if (plugin->fd >= 0) {
        close(plugin->fd);
    }
    plugin->fd = -1;
}

/* As the engine has it, which alone can tell whether it may still run the code. */
static bool plugin_is_in_engine(const struct plugin *plugin, struct engine *engine)
{
    for (unsigned i = 0; i < plugin->n_types; i++) {
        struct engine_actor_type_view view;
        uint32_t id;

        if (engine_actor_type_find(engine, plugin->types[i].info.name, &id) == 0 &&
            engine_actor_type_get(engine, id, &view) == 0 && view.loaded)
            return true;
    }
    return false;
}

static struct plugin *plugin_free(struct plugin *plugin, struct engine *engine)
{
    if (!plugin)
        return NULL;
    check("plugin.L3", plugin->state == PLUGIN_ACTIVE || !plugin_is_in_engine(plugin, engine));
    if (plugin->initialised && plugin->descriptor->fini)
        plugin->descriptor->fini();
    for (unsigned i = 0; i < plugin->n_types; i++)
        plugin_type_free(&plugin->types[i]);
    free(plugin->types);
    plugin_unmap(plugin);
    free(plugin);
    return NULL;
}

/* ---- loading */

/* The loader begins with the name that it was given, which says nothing to anybody else. */
static const char *plugin_loader_reason(const char *error, const char *path)
{
    size_t n = strlen(path);

    return strncmp(error, path, n) == 0 && strncmp(error + n, ": ", 2) == 0 ? error + n + 2 : error;
}

/* The descriptor's file under a name that no file has had before: the loader remembers each name of
 * what it has mapped, also the one under which a mapped file was asked for again, and a
 * descriptor's number comes back. */
static void plugin_name_file(struct plugin *plugin)
{
    static uint32_t loads; /* the control thread's */
    size_t n = strlen(strcpy(plugin->path, "/proc/self"));

    loads++;
    check("plugin.L2", loads != 0);
    for (unsigned bit = 0; bit < 32; bit++)
        n += strlen(strcpy(plugin->path + n, loads >> bit & 1 ? "/." : "//"));
    snprintf(plugin->path + n, sizeof(plugin->path) - n, "/fd/%d", plugin->fd);
}

static int plugin_map(struct plugin *plugin, bool in_place, struct explain *explain)
{
    const char *error;
    int r = in_place ? plugin_place_check(plugin->label, explain) : 0;

    if (r < 0)
        return r;
    if (in_place)
        strcpy(plugin->path, plugin->label);
    else
        plugin_name_file(plugin);
    plugin->handle = dlopen(plugin->path, RTLD_NOW | RTLD_LOCAL);
    if (!plugin->handle) {
        error = dlerror();
        return explain_set(explain, -EINVAL, "the plugin cannot be loaded: %s",
                           error ? plugin_loader_reason(error, plugin->path)
                                 : "the loader does not say why");
    }
    plugin->descriptor = dlsym(plugin->handle, ODEON_PLUGIN_SYMBOL);
    if (!plugin->descriptor)
        return explain_set(
            explain, -EINVAL,
            "the file is a shared object but no plugin: it exports no symbol %s (ODEON_PLUGIN(...) "
            "makes it; is it hidden?)",
            ODEON_PLUGIN_SYMBOL);
    return plugin_descriptor_check(plugin->descriptor, explain);
}

static struct plugin *plugin_registry_find(const struct plugin_registry *registry, const char *name,
                                           unsigned *ret_index)
{
    for (unsigned i = 0; i < registry->n; i++)
        if (strcmp(registry->plugins[i]->descriptor->name, name) == 0) {
            if (ret_index)
                *ret_index = i;
            return registry->plugins[i];
        }
    return NULL;
}

static bool plugin_registry_has_handle(const struct plugin_registry *registry, const void *handle)
{
    for (unsigned i = 0; i < registry->n; i++)
        if (registry->plugins[i]->handle == handle)
            return true;
    return false;
}

static int plugin_check_names_free(const struct plugin_registry *registry,
                                   const struct odeon_plugin *d, struct explain *explain)
{
    const struct plugin *other = plugin_registry_find(registry, d->name, NULL);

    if (other)
        return explain_set(
            explain, -EEXIST,
            "a plugin named %s is loaded already (version %s, from %s): unload it first", d->name,
            other->descriptor->version, other->label);
    for (uint32_t i = 0; i < d->n_types; i++) {
        struct engine_actor_type_view view;
        uint32_t id;

        if (engine_actor_type_find(registry->engine, d->types[i]->name, &id) < 0 ||
            engine_actor_type_get(registry->engine, id, &view) < 0 || !view.loaded)
            continue;
        return explain_set(explain, -EEXIST,
                           "plugin %s: the actor type %s is loaded already, by plugin %s: one of "
                           "them has to be renamed",
                           d->name, view.name, view.plugin);
    }
    return 0;
}

static int plugin_translate_types(struct plugin *plugin, engine_behaviour_fn around)
{
    const struct odeon_plugin *d = plugin->descriptor;

    plugin->types = calloc(d->n_types + 1, sizeof(*plugin->types));
    if (!plugin->types)
        return -ENOMEM;
    for (plugin->n_types = 0; plugin->n_types < d->n_types; plugin->n_types++) {
        struct plugin_type *type = &plugin->types[plugin->n_types];
        int r = plugin_type_make(type, d, d->types[plugin->n_types], around);

        if (r == 0)
            r = plugin_type_prepare(type);
        if (r < 0) {
            plugin_type_free(type);
            return r;
        }
    }
    return 0;
}

static const char *plugin_register_error(int error)
{
    switch (error) {
    case -ENOSPC:
        return "the table of actor types, or that of their phases, is full";
    case -E2BIG:
        return "its state is to be kept over crashes and is larger than the setting durable-bytes";
    case -ENOENT:
        return "actors of it live in a phase that it does not have (give it behaviours of that "
               "name, or stop them first: 'actor list' says which phase each is in)";
    case -EBADMSG:
        return "actors of it live whose kept state has another size (stop them first, or give the "
               "new type another name)";
    default:
        return strerror(-error);
    }
}

static int plugin_refuse_type(const struct plugin *plugin, const struct plugin_type *type,
                              int error, struct explain *explain)
{
    return explain_set(explain, error, "plugin %s: the actor type %s cannot be registered: %s",
                       plugin->descriptor->name, type->info.name, plugin_register_error(error));
}

/* All of them, before the first is registered: actors of it that there were before run from then
 * on, so that it could not be taken back for another one's sake (plugin.L3). */
static int plugin_check_types(struct engine *engine, const struct plugin *plugin,
                              struct explain *explain)
{
    struct engine_types_room room = { 0 };

    for (unsigned i = 0; i < plugin->n_types; i++) {
        int r = engine_actor_type_check(engine, &plugin->types[i].info, &room);

        if (r < 0)
            return plugin_refuse_type(plugin, &plugin->types[i], r, explain);
    }
    return 0;
}

/* What its types did before is forgotten, before anybody can run one: its start, too, may send to
 * actors of them. A type has kept its place, whether it is loaded or not. */
static void plugin_lift_quarantine(struct engine *engine, const struct plugin *plugin)
{
    struct engine_actor_type_view view;

    for (uint32_t id = 1; engine_actor_type_get(engine, id, &view) == 0; id++)
        for (unsigned i = 0; i < plugin->n_types; i++)
            if (strcmp(view.name, plugin->types[i].info.name) == 0)
                (void)engine_actor_type_release(engine, id);
}

/* The actors' ids go back into the plugin before anybody can run it. Nothing is in the way, and the
 * memory is there: the first could not be taken back for a later one's sake (plugin.L3). */
static void plugin_register_types(struct engine *engine, struct plugin *plugin)
{
    for (unsigned i = 0; i < plugin->n_types; i++) {
        check("plugin.L3", plugin_type_register(&plugin->types[i], engine) == 0);
        plugin->descriptor->types[i]->id = plugin->types[i].id;
    }
}

static bool plugin_has_registered_all(const struct plugin *plugin)
{
    for (unsigned i = 0; i < plugin->n_types; i++)
        if (plugin->types[i].id == 0)
            return false;
    return true;
}

static int plugin_start(struct plugin_registry *registry, struct plugin *plugin,
                        struct explain *explain)
{
    const struct odeon_plugin *d = plugin->descriptor;
    int r = plugin_check_names_free(registry, d, explain);

    if (r < 0)
        return r;
    r = plugin_messages_intern(registry->engine, d, &plugin->messages, explain);
    if (r < 0)
        return r;
    r = plugin_translate_types(plugin, registry->around);
    if (r < 0)
        return explain_set(explain, r, "plugin %s: no memory for its actor types", d->name);
    r = plugin_check_types(registry->engine, plugin, explain);
    if (r < 0)
        return r;
    r = d->init ? d->init(host_get_table(registry->host)) : 0;
    if (r != 0)
        return explain_set(
            explain, -EINVAL,
            "plugin %s: its init has failed with %d%s%s: nothing of it has been kept", d->name, r,
            r < 0 ? ": " : "", r < 0 ? strerror(-r) : "");
    plugin->initialised = true;
    if (registry->runs)
        plugin_lift_quarantine(registry->engine, plugin);
    plugin_register_types(registry->engine, plugin);
    return 0;
}

/* Its types can be spawned by now, by others, too: what it returns undoes nothing. */
static void plugin_run_start(struct engine *engine, const struct odeon_plugin *d)
{
    int r = d->start ? engine_run(engine, host_adapt_start(d->start)) : 0;

    if (r != 0)
        log_warning("plugin %s: its start has returned %d%s%s: what it has made stays", d->name, r,
                    r < 0 ? ": " : "", r < 0 ? strerror(-r) : "");
}

/* NULL: *ret_error, with a text. */
static struct plugin *plugin_new(const struct plugin_registry *registry, int fd, const char *label,
                                 struct explain *explain, int *ret_error)
{
    struct plugin *plugin;

    *ret_error = registry->n == ODEON_PLUGINS_MAX ? -ENOSPC : -ENOMEM;
    if (registry->n == ODEON_PLUGINS_MAX) {
        explain_set(explain, -ENOSPC, "%u plugins are loaded, which is the limit: unload one first",
                    registry->n);
        return NULL;
    }
    plugin = calloc(1, sizeof(*plugin));
    if (!plugin) {
        explain_set(explain, -ENOMEM, "no memory for another plugin");
        return NULL;
    }
    plugin->state = PLUGIN_LOADING;
    plugin->fd = fd;
    snprintf(plugin->label, sizeof(plugin->label), "%s", label[0] ? label : "a descriptor");
    return plugin;
}

/* Its code is there, or (`r`) is not: it becomes one of the registry's, or nothing. */
static int plugin_enter(struct plugin_registry *registry, struct plugin *plugin, int r,
                        struct explain *explain, const struct plugin **ret_plugin)
{
    registry->entering = plugin;
    if (r == 0)
        r = plugin_start(registry, plugin, explain);
    registry->entering = NULL;
    if (r < 0) {
        plugin_free(plugin, registry->engine);
        return r;
    }
    plugin->state = PLUGIN_ACTIVE;
    check("plugin.L1", plugin_has_registered_all(plugin));
    registry->plugins[registry->n++] = plugin;
    plugin->start_owed = registry->holds_starts;
    if (!plugin->start_owed)
        plugin_run_start(registry->engine, plugin->descriptor);
    if (ret_plugin)
        *ret_plugin = plugin;
    return 0;
}

int plugin_load(struct plugin_registry *registry, int fd, const char *label,
                struct explain *explain, const struct plugin **ret_plugin)
{
    int r = plugin_check_file(fd, explain);
    struct plugin *plugin = r == 0 ? plugin_new(registry, fd, label, explain, &r) : NULL;

    if (!plugin) {
        close(fd);
        return r;
    }
    r = plugin_map(plugin, registry->in_place, explain);
    plugin->borrowed = plugin->handle && plugin_registry_has_handle(registry, plugin->handle);
    return plugin_enter(registry, plugin, r, explain, ret_plugin);
}

int plugin_load_linked(struct plugin_registry *registry, const struct odeon_plugin *descriptor,
                       struct explain *explain, const struct plugin **ret_plugin)
{
    int r;
    struct plugin *plugin = plugin_new(registry, -1, "this program", explain, &r);

    if (!plugin)
        return r;
    plugin->descriptor = descriptor;
    r = plugin_descriptor_check(descriptor, explain);
    return plugin_enter(registry, plugin, r, explain, ret_plugin);
}

/* ---- unloading */

static int plugin_check_blockers(const struct plugin_registry *registry,
                                 const struct plugin *plugin, struct explain *explain)
{
    unsigned n = 0;

    for (unsigned i = 0; i < plugin->n_types; i++) {
        struct engine_actor_type_view view;

        if (engine_actor_type_get(registry->engine, plugin->types[i].id, &view) < 0 ||
            view.live == 0)
            continue;
        if (n++ == 0)
            explain_set(explain, -EBUSY,
                        "plugin %s cannot be unloaded: ", plugin->descriptor->name);
        explain_add(explain, "%s%" PRIu64 " live actor%s of type %s", n > 1 ? ", " : "", view.live,
                    view.live == 1 ? "" : "s", view.name);
    }
    if (n == 0)
        return 0;
    explain_add(explain, "; stop them first");
    return -EBUSY;
}

/* For types that are registered again should the unloading be given up. */
static int plugin_prepare_types(struct plugin *plugin, struct explain *explain)
{
    for (unsigned i = 0; i < plugin->n_types; i++)
        if (plugin_type_prepare(&plugin->types[i]) < 0)
            return explain_set(explain, -ENOMEM,
                               "plugin %s cannot be unloaded: there is no memory to have it back "
                               "should an actor of it be made meanwhile",
                               plugin->descriptor->name);
    return 0;
}

/* Types retired before one that came to life in between are registered again, under their old
 * ids. */
static void plugin_reactivate(struct plugin_registry *registry, struct plugin *plugin,
                              unsigned n_retired)
{
    for (unsigned i = 0; i < n_retired; i++) {
        int r = plugin_type_register(&plugin->types[i], registry->engine);

        if (r < 0)
            log_error("plugin %s: actor type %s could not be made available again: %s",
                      plugin->descriptor->name, plugin->types[i].info.name, strerror(-r));
    }
    plugin->state = PLUGIN_ACTIVE;
}

static int plugin_explain_retire(const struct plugin *plugin, const struct plugin_type *type,
                                 int error, uint64_t live, struct explain *explain)
{
    const char *name = plugin->descriptor->name;

    if (error == -EBUSY && live == 0)
        return explain_set(explain, error,
                           "plugin %s cannot be unloaded: a handler has been running for long, "
                           "and nobody can tell whether it is "
                           "in the plugin's code: try again when it has returned",
                           name);
    if (error == -EBUSY)
        return explain_set(explain, error,
                           "plugin %s cannot be unloaded: %" PRIu64
                           " actors of type %s have just been made",
                           name, live, type->info.name);
    return explain_set(explain, error,
                       "plugin %s cannot be unloaded: its actor type %s cannot be retired: %s",
                       name, type->info.name, strerror(-error));
}

/* 0: all its types are gone; else as engine_actor_type_retire_look(), and *ret_live. */
static int plugin_retire_types(struct plugin_registry *registry, struct plugin *plugin,
                               uint64_t *ret_live)
{
    while (registry->n_retired < plugin->n_types) {
        uint32_t id = plugin->types[registry->n_retired].id;
        int r = registry->retiring ? engine_actor_type_retire_look(registry->engine, id, ret_live)
                                   : engine_actor_type_retire_ask(registry->engine, id, ret_live);

        /* asked for, it is looked at; gone, the next one is asked for */
        registry->n_retired += r == 0 && registry->retiring;
        registry->retiring = registry->retiring ? r == -EAGAIN : r == 0;
        if (r < 0)
            return r;
    }
    return 0;
}

static void plugin_remove(struct plugin_registry *registry, unsigned index)
{
    struct plugin *plugin = registry->plugins[index];

    memmove(&registry->plugins[index], &registry->plugins[index + 1],
            (registry->n - index - 1) * sizeof(registry->plugins[0]));
    registry->n--;
    plugin_free(plugin, registry->engine);
}

int plugin_unload(struct plugin_registry *registry, const char *name, struct explain *explain)
{
    unsigned index = 0;
    struct plugin *plugin = plugin_registry_find(registry, name, &index);
    uint64_t live = 0;
    int r;

    if (!plugin)
        return explain_set(explain, -ENOENT,
                           "no plugin named '%.64s' is loaded: 'plugin list' shows those that are",
                           name);
    if (plugin->state != PLUGIN_RETIRED) {
        r = plugin_check_blockers(registry, plugin, explain);
        if (r == 0)
            r = plugin_prepare_types(plugin, explain);
        if (r < 0)
            return r;
        plugin->state = PLUGIN_RETIRED;
        registry->n_retired = 0;
    }
    r = plugin_retire_types(registry, plugin, &live);
    if (r == -EAGAIN)
        return PLUGIN_LATER;
    if (r < 0) {
        plugin_reactivate(registry, plugin, registry->n_retired);
        return plugin_explain_retire(plugin, &plugin->types[registry->n_retired], r, live, explain);
    }
    plugin_remove(registry, index);
    return 0;
}

void plugin_unload_cancel(struct plugin_registry *registry)
{
    for (unsigned i = 0; registry && i < registry->n; i++) {
        struct plugin *plugin = registry->plugins[i];

        if (plugin->state != PLUGIN_RETIRED)
            continue;
        if (registry->retiring)
            engine_actor_type_retire_cancel(registry->engine,
                                            plugin->types[registry->n_retired].id);
        registry->retiring = false;
        plugin_reactivate(registry, plugin, registry->n_retired);
    }
}

/* ---- the registry */

int plugin_registry_new(struct engine *engine, const struct host *host, bool in_place,
                        struct plugin_registry **ret_registry)
{
    struct plugin_registry *registry = calloc(1, sizeof(*registry));

    if (!registry)
        return -ENOMEM;
    registry->engine = engine;
    registry->host = host;
    registry->in_place = in_place;
    *ret_registry = registry;
    return 0;
}

struct plugin_registry *plugin_registry_free(struct plugin_registry *registry)
{
    if (!registry)
        return NULL;
    while (registry->n > 0) {
        struct plugin *plugin = registry->plugins[--registry->n];

        /* stays mapped: what it left running, or told atexit(), may still look at its code */
        plugin->handle = NULL;
        plugin_free(plugin, registry->engine);
    }
    free(registry);
    return NULL;
}

/* There is no engine that could run its code. */
static void plugin_drop(struct plugin *plugin, bool ended)
{
    plugin->state = PLUGIN_ACTIVE;
    plugin->initialised = plugin->initialised && ended;
    plugin_free(plugin, NULL);
}

struct plugin_registry *plugin_registry_drop(struct plugin_registry *registry, bool ended)
{
    if (!registry)
        return NULL;
    if (registry->entering)
        plugin_drop(registry->entering, ended);
    while (registry->n > 0)
        plugin_drop(registry->plugins[--registry->n], ended);
    free(registry);
    return NULL;
}

void plugin_registry_hold_starts(struct plugin_registry *registry)
{
    registry->holds_starts = true;
}

void plugin_registry_run_starts(struct plugin_registry *registry,
                                void (*before)(void *userdata, unsigned index), void *userdata)
{
    registry->holds_starts = false;
    for (unsigned i = 0; i < registry->n; i++) {
        struct plugin *plugin = registry->plugins[i];

        if (!plugin->start_owed)
            continue;
        plugin->start_owed = false;
        before(userdata, i);
        plugin_run_start(registry->engine, plugin->descriptor);
    }
}

void plugin_registry_set_runs(struct plugin_registry *registry)
{
    registry->runs = true;
}

void plugin_registry_set_around(struct plugin_registry *registry, engine_behaviour_fn around)
{
    registry->around = around;
}

odeon_behaviour_fn plugin_registry_find_behaviour(const struct plugin_registry *registry,
                                                  uint32_t type, const char *phase,
                                                  uint32_t message)
{
    for (unsigned i = 0; i < registry->n; i++)
        for (unsigned j = 0; j < registry->plugins[i]->n_types; j++) {
            const struct plugin_type *t = &registry->plugins[i]->types[j];

            if (t->id == type)
                return plugin_type_find_behaviour(t, phase, message);
        }
    return NULL;
}

unsigned plugin_registry_count(const struct plugin_registry *registry)
{
    return registry->n;
}

const struct plugin *plugin_registry_get(const struct plugin_registry *registry, unsigned index)
{
    return index < registry->n ? registry->plugins[index] : NULL;
}

const char *plugin_registry_name_of(const struct plugin_registry *registry, const char *loader_name)
{
    for (unsigned i = 0; i < registry->n; i++)
        if (strcmp(registry->plugins[i]->path, loader_name) == 0)
            return registry->plugins[i]->descriptor->name;
    return NULL;
}

const char *plugin_registry_find_args(const struct plugin_registry *registry, uint32_t type,
                                      uint32_t *ret_size)
{
    for (unsigned i = 0; i < registry->n; i++)
        for (unsigned j = 0; j < registry->plugins[i]->n_types; j++) {
            const struct odeon_actor_type *t = registry->plugins[i]->descriptor->types[j];

            if (registry->plugins[i]->types[j].id != type)
                continue;
            *ret_size = t->args_size;
            return t->args_fields ? t->args_fields : "";
        }
    *ret_size = 0;
    return "";
}

const char *plugin_get_name(const struct plugin *plugin)
{
    return plugin->descriptor->name;
}

const char *plugin_get_version(const struct plugin *plugin)
{
    return plugin->descriptor->version;
}

const char *plugin_get_label(const struct plugin *plugin)
{
    return plugin->label;
}

bool plugin_declares(const struct plugin *plugin, uint32_t message)
{
    return message_set_has(&plugin->messages, message);
}

unsigned plugin_count_types(const struct plugin *plugin)
{
    return plugin->n_types;
}

uint32_t plugin_get_type(const struct plugin *plugin, unsigned index)
{
    return plugin->types[index].id;
}
