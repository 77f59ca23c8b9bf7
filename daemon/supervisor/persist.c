/* SPDX-License-Identifier: Apache-2.0 */
/* What outlives odeond: keeping it and forgetting it; the interface is in persist.h. Taking it up
 * again is in resume.c. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/common/check.h"
#include "daemon/common/events.h"
#include "daemon/common/log.h"
#include "daemon/supervisor/client.h"
#include "daemon/supervisor/crash_point.h"
#include "daemon/supervisor/line.h"
#include "daemon/supervisor/notify.h"
#include "daemon/supervisor/persist.h"
#include "daemon/supervisor/plugin_store.h"
#include "daemon/supervisor/port_table.h"

static void persist_forget_serial(struct persist *persist, uint32_t serial)
{
    registry_free_plugin(&persist->registry, serial);
    store_remove(&persist->store, "plugin-%u", serial);
}

bool persist_is_on(const struct persist *persist)
{
    bool is_on = persist->registry.map != NULL;

    check("persist.R3", !is_on || !persist->ended);
    return is_on;
}

/* A name is removed with all that has it, so these take turns. */
static const char *const persist_stats_names[] = { "stats", "stats-next" };

int persist_take_stats(struct persist *persist)
{
    int fd = store_take(&persist->store, "%s", persist_stats_names[0]);
    int next = store_take(&persist->store, "%s", persist_stats_names[1]);

    persist->stats_turn = fd < 0 && next >= 0;
    if (fd < 0)
        return next;
    if (next >= 0) /* between the two steps of a start: nobody has counted in one of them alone */
        close(next);
    return fd;
}

/* persist.R5 */
static int persist_replace_stats(struct persist *persist, int stats_fd)
{
    const char *former = persist_stats_names[persist->stats_turn];
    const char *next = persist_stats_names[persist->stats_turn ^ 1];
    int r;

    store_remove(&persist->store, "%s", next);
    r = store_push(&persist->store, stats_fd, "%s", next);
    if (r == 0)
        store_remove(&persist->store, "%s", former);
    return r;
}

int persist_publish(struct persist *persist, int segment_fd, int stats_fd)
{
    int r = 0;

    if (!persist_is_on(persist))
        return 0;
    if (persist->resumed)
        r = persist_replace_stats(persist, stats_fd);
    else
        r = store_push(&persist->store, segment_fd, "segment");
    if (r == 0 && !persist->resumed)
        r = store_push(&persist->store, stats_fd, "%s", persist_stats_names[0]);
    if (r == 0 && !persist->resumed) /* last: with it, the rest means something */
        r = store_push(&persist->store, persist->registry.fd, "registry");
    if (r == 0)
        r = store_barrier(&persist->store);
    if (r < 0)
        log_error("the service manager does not keep descriptors: %s", strerror(-r));
    return r;
}

void persist_end(struct persist *persist, bool clean)
{
    if (!persist_is_on(persist))
        return;
    /* persist.R1.  Another end needs no word: `clean` went when the state came into force. Before
     * that it is the former service's, which the next start goes by, however this one ends. */
    if (!persist->refused && persist->in_force && clean)
        atomic_store_explicit(&persist->registry.map->header.clean, 1, memory_order_release);
    registry_close(&persist->registry);
    persist->store.enabled = false;
    persist->ended = true;
}

void persist_fini(struct persist *persist)
{
    registry_close(&persist->registry);
    store_close(&persist->store);
    if (persist->stats_fd >= 0)
        close(persist->stats_fd);
    if (persist->listener_fd >= 0)
        close(persist->listener_fd);
}

bool persist_refuse(struct persist *persist, const char *why)
{
    if (persist->refused)
        return false;
    persist->refused = true;
    log_error("%s", why);
    log_event(LOG_LEVEL_ERROR, CATALOGUE_STATE_REFUSED,
              "the state of the former service is kept, nothing of it is touched, and nobody is "
              "served.  Start the build "
              "and the settings that it belongs to; or give it up: odeond --discard-state, or "
              "systemctl stop");
    if (persist->store.enabled)
        notify_refused(why);
    return true;
}

/* ---- ports and clients */

static const char *const port_parts[] = { "client", "executor", "bell", "out", "in" };
enum { PORT_PARTS = sizeof(port_parts) / sizeof(port_parts[0]) };

static void persist_list_fds(const struct seat_port *port, int fds[PORT_PARTS])
{
    fds[0] = port->client_fd;
    fds[1] = port->executor_fd;
    fds[2] = port->doorbell_fd;
    fds[3] = port->pipe_read_fd;
    fds[4] = port->pipe_write_fd;
}

static int persist_push_port(const struct store *store, const struct seat_port *port)
{
    int fds[PORT_PARTS], r = 0;

    persist_list_fds(port, fds);
    for (size_t i = 0; i < PORT_PARTS && r == 0; i++)
        if (fds[i] >= 0)
            r = store_push(store, fds[i], "port-%u-%u-%s", port->index, port->generation,
                           port_parts[i]);
    return r;
}

static void persist_remove_port(const struct persist *persist, const struct seat_port *port)
{
    const struct store *store = &persist->store;
    int fds[PORT_PARTS];

    check("registry_layout.G4", !registry_has_port(&persist->registry, port->index));
    persist_list_fds(port, fds);
    for (size_t i = 0; i < PORT_PARTS; i++)
        if (fds[i] >= 0)
            store_remove(store, "port-%u-%u-%s", port->index, port->generation, port_parts[i]);
}

/* Once for all its ports: it is recorded, or on the way, where nothing has been lost since. */
static int persist_push_client(const struct persist *persist, struct client *client)
{
    int pidfd, r;

    if (registry_has_client(&persist->registry, client->id) ||
        (client->stored && client->stored_lost == line_lost()))
        return 0;
    pidfd = client_open_pidfd(client);
    if (pidfd < 0)
        return pidfd;
    if (client->stored) /* perhaps: never twice under one name */
        store_remove(&persist->store, "client-%" PRIu64, client->id);
    client->stored_lost = line_lost();
    r = store_push(&persist->store, pidfd, "client-%" PRIu64, client->id);
    client->stored = r == 0;
    close(pidfd);
    return r;
}

static void persist_describe_client(const struct client *client, struct registry_client *entry)
{
    *entry = (struct registry_client){
        .id = client->id, .uid = client->uid, .gid = client->peer.gid, .pid = (uint32_t)client->pid
    };
    memcpy(entry->token, client->token, sizeof(entry->token));
    memcpy(entry->name, client->name, sizeof(entry->name));
    memcpy(entry->library, client->library, sizeof(entry->library));
}

static void persist_describe_port(const struct seat_port *port, struct registry_port *entry)
{
    *entry = (struct registry_port){ .generation = port->generation,
                                     .client = port->client_id,
                                     .pipe = port->pipe_write_fd >= 0,
                                     .submission_bytes = port->submission_bytes,
                                     .delivery_bytes = port->delivery_bytes,
                                     .overflow = port->overflow,
                                     .uid = port->uid,
                                     .may_not_stop = port->may_not_stop,
                                     .backlog_bytes = port->held.amounts[QUOTA_BACKLOG_BYTES] };
    memcpy(entry->token, port->token, sizeof(entry->token));
}

int persist_store_port(struct persist *persist, struct client *client, struct seat_port *port)
{
    int r = 0;

    port->stored.lost = line_lost();
    if (persist_is_on(persist))
        r = persist_push_client(persist, client);
    if (r == 0)
        r = persist_push_port(&persist->store, port);
    return r < 0 ? r : store_add(&persist->store, &port->stored); /* registry_layout.G3 */
}

int persist_record_port(struct persist *persist, const struct client *client,
                        const struct seat_port *port)
{
    struct registry_client client_entry;
    struct registry_port port_entry;
    int r = 0;

    if (!persist_is_on(persist))
        return 0;
    CRASH_POINT();
    persist_describe_client(client, &client_entry);
    if (!registry_has_client(&persist->registry, client->id))
        r = registry_put_client(&persist->registry, &client_entry);
    if (r < 0)
        return r;
    persist_describe_port(port, &port_entry);
    registry_put_port(&persist->registry, port->index, &port_entry);
    return 0;
}

void persist_forget_port(struct persist *persist, const struct seat_port *port)
{
    if (!persist_is_on(persist))
        return;
    registry_set_port(&persist->registry, port->index, REGISTRY_FREE); /* registry_layout.G4 */
    persist_remove_port(persist, port);
}

void persist_forget_client(struct persist *persist, const struct client *client)
{
    if (!persist_is_on(persist) || !client->stored)
        return;
    if (registry_has_client(&persist->registry, client->id))
        registry_free_client(&persist->registry, client->id);
    store_remove(&persist->store, "client-%" PRIu64, client->id);
}

/* ---- plugins */

static void persist_lose_plugin(struct persist *persist, const struct kept_plugin *plugin,
                                int error)
{
    log_error("plugin %s cannot be kept: %s: a restart of odeond will lose it", plugin->path,
              strerror(-error));
    store_remove(&persist->store, "plugin-%u", plugin->serial);
}

static int persist_push_plugin(struct persist *persist, struct kept_plugin *plugin)
{
    check("persist.R4", plugin->serial == 0);
    plugin->serial = registry_next_plugin(&persist->registry);
    return store_push(&persist->store, plugin->fd, "plugin-%u", plugin->serial);
}

/* registry_layout.G9 */
static uint32_t persist_configured(const struct kept_plugin *plugin)
{
    return plugin->configured ? plugin->line << REGISTRY_LINE_SHIFT | REGISTRY_CONFIGURED : 0;
}

static int persist_record_plugin(struct persist *persist, const struct kept_plugin *plugin)
{
    return registry_put_plugin(&persist->registry, plugin->serial, plugin->name, plugin->path,
                               persist_configured(plugin), plugin->replaces);
}

void persist_record_lines(struct persist *persist, const struct plugin_store *plugins)
{
    for (size_t i = 0; i < plugins->n; i++)
        registry_set_plugin_configured(&persist->registry, plugins->list[i].serial,
                                       persist_configured(&plugins->list[i]));
}

/* A plugin on its way into the store; it may go before it is there. */
struct persist_plugin {
    struct line_waiter waiter;
    struct persist *persist;
    struct plugin_store *plugins;
    uint32_t serial;
};

static void persist_on_plugin_stored(struct line_waiter *waiter, int error)
{
    struct persist_plugin *step = (struct persist_plugin *)waiter;
    struct plugin_store *plugins = step->plugins;
    struct persist *persist = step->persist;
    uint32_t serial = step->serial;

    free(step);
    CRASH_POINT();
    for (size_t i = 0; i < plugins->n; i++) {
        struct kept_plugin *plugin = &plugins->list[i];

        if (plugin->serial != serial)
            continue;
        if (error == 0)
            error = persist_record_plugin(persist, plugin);
        if (error < 0 && error != -ESHUTDOWN)
            persist_lose_plugin(persist, plugin, error);
        return;
    }
}

void persist_keep_plugin(struct persist *persist, struct plugin_store *plugins,
                         struct kept_plugin *plugin)
{
    struct persist_plugin *step;
    int r = -ENOMEM;

    if (!persist_is_on(persist))
        return;
    step = malloc(sizeof(*step));
    if (step) {
        *step = (struct persist_plugin){ .waiter = { .lost = line_lost(),
                                                     .passed = persist_on_plugin_stored },
                                         .persist = persist,
                                         .plugins = plugins };
        r = persist_push_plugin(persist, plugin);
        step->serial = plugin->serial;
    }
    if (r == 0)
        r = store_add(&persist->store, &step->waiter);
    if (r == 0)
        return;
    free(step);
    persist_lose_plugin(persist, plugin, r);
}

void persist_forget_plugin(struct persist *persist, const struct kept_plugin *plugin)
{
    if (!persist_is_on(persist) || plugin->serial == 0)
        return;
    persist_forget_serial(persist, plugin->serial);
}

/* ---- the first executor is ready */

static bool persist_any_unrecorded(const struct plugin_store *plugins)
{
    for (size_t i = 0; i < plugins->n; i++)
        if (plugins->list[i].unrecorded)
            return true;
    return false;
}

int persist_settle(struct persist *persist, struct plugin_store *plugins,
                   struct line_waiter *waiter)
{
    /* else they have been on the way since an executor that died before they were there */
    if (!persist_any_unrecorded(plugins))
        waiter->lost = line_lost();
    for (size_t i = 0; persist_is_on(persist) && i < plugins->n; i++) {
        struct kept_plugin *plugin = &plugins->list[i];
        int r;

        if (plugin->serial != 0)
            continue;
        r = persist_push_plugin(persist, plugin);
        plugin->unrecorded = r == 0;
        if (r < 0)
            persist_lose_plugin(persist, plugin, r);
    }
    if (persist_any_unrecorded(plugins))
        return store_add(&persist->store, waiter);
    waiter->passed(waiter, 0);
    return 0;
}

bool persist_wants_actors(const struct persist *persist)
{
    return !persist->resumed || persist->clean || !persist_is_on(persist) ||
           !atomic_load_explicit(&persist->registry.map->header.actors_made, memory_order_acquire);
}

void persist_note_actors(struct persist *persist, bool made)
{
    if (persist_is_on(persist))
        atomic_store_explicit(&persist->registry.map->header.actors_made, made,
                              memory_order_release);
}

void persist_record_settled(struct persist *persist, struct plugin_store *plugins,
                            const struct setting_list *in_force,
                            const struct setting_list *configured, const struct setting_list *own,
                            int error)
{
    if (!persist_is_on(persist))
        return;
    CRASH_POINT();
    persist->in_force = true;
    for (size_t i = 0; i < plugins->n; i++) {
        struct kept_plugin *plugin = &plugins->list[i];
        int r = error;

        if (!plugin->unrecorded) { /* it is there; its line may stand elsewhere by now */
            registry_set_plugin_configured(&persist->registry, plugin->serial,
                                           persist_configured(plugin));
            continue;
        }
        plugin->unrecorded = false;
        if (r == 0)
            r = persist_record_plugin(persist, plugin);
        if (r < 0)
            persist_lose_plugin(persist, plugin, r);
    }
    for (size_t i = 0; i < persist->n_dropped; i++)
        persist_forget_serial(persist, persist->dropped[i]);
    persist->n_dropped = 0;
    if (registry_put_settings(&persist->registry, in_force, configured, own) < 0)
        log_error("the settings have no room in the registry: a restart of odeond will lose them");
    if (persist_wants_actors(persist))
        persist_note_actors(persist, false);
    CRASH_POINT();
    /* From now on an end that is not in order finds it so. */
    atomic_store_explicit(&persist->registry.map->header.clean, 0, memory_order_release);
    /* registry_layout.G7 */
    atomic_store_explicit(&persist->registry.map->header.settled, 1, memory_order_release);
}
