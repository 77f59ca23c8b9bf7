/* SPDX-License-Identifier: Apache-2.0 */
/* Going on with what another odeond has left; the interface is in persist.h. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/common/events.h"
#include "daemon/common/log.h"
#include "daemon/common/memfd.h"
#include "daemon/supervisor/crash_point.h"
#include "daemon/supervisor/persist.h"
#include "daemon/supervisor/ports.h"
#include "daemon/supervisor/supervisor.h"
#include "proto/port_layout.h"

/* ---- settings */

/* The configuration as it was when it was last read by the former service: a later reload finds what has changed. */
static int make_known(struct config *config, const struct settings *in_force)
{
    struct settings known = { 0 };
    int r = 0;

    for (size_t i = 0; i < config->executor.n && r == 0; i++) {
        const char *value = settings_get(in_force, config->executor.list[i].key);

        if (value)
            r = settings_set(&known, config->executor.list[i].key, value);
    }
    settings_fini(&config->executor);
    config->executor = known;
    return r;
}

/* After a crash everything is as it was.  After an orderly end the configuration, which may have been edited for this
 * start, wins; what it does not mention stays. */
static int restore_settings(struct supervisor *supervisor)
{
    struct persist *persist = &supervisor->persist;
    int r = registry_get_settings(&persist->registry, &supervisor->settings);

    if (r == 0 && (!persist->resumed || persist->clean))
        r = settings_merge(&supervisor->settings, &supervisor->config.executor);
    else if (r == 0)
        r = make_known(&supervisor->config, &supervisor->settings);
    return r;
}

/* ---- plugins */

static bool is_configured(const struct config *config, const char *path)
{
    for (size_t i = 0; i < config->n_plugins; i++)
        if (strcmp(config->plugins[i], path) == 0)
            return true;
    return false;
}

/* It goes from the store and the registry when the first executor is ready, not before: R1. */
static void drop_plugin(struct supervisor *supervisor, struct plugin *plugin)
{
    struct persist *persist = &supervisor->persist;

    persist->dropped[persist->n_dropped++] = plugin->serial;
    plugin_store_remove(&supervisor->plugins, plugin);
}

static void restore_plugin(struct supervisor *supervisor, const struct registry_plugin *entry)
{
    int fd = store_take(&supervisor->persist.store, "plugin-%u", entry->serial);
    struct plugin *twin, *plugin;

    if (fd < 0) {
        log_error("plugin %s is lost: its file is not in the store", entry->path);
        supervisor->persist.dropped[supervisor->persist.n_dropped++] = entry->serial;
        return;
    }
    twin = plugin_store_find_path(&supervisor->plugins, entry->path);
    if (twin && twin->serial > entry->serial) { /* G6 */
        close(fd);
        supervisor->persist.dropped[supervisor->persist.n_dropped++] = entry->serial;
        return;
    }
    if (twin)
        drop_plugin(supervisor, twin);
    plugin = plugin_store_add(&supervisor->plugins, entry->name[0] ? entry->name : NULL, entry->path, fd);
    if (!plugin) {
        log_error("plugin %s is not loaded: no memory", entry->path);
        return;
    }
    plugin->serial = entry->serial;
    plugin->configured = entry->configured;
}

/* After an orderly end the files of configured plugins are read again, like the rest of the configuration. */
static void refresh_plugin(struct supervisor *supervisor, const char *path)
{
    struct plugin *old = plugin_store_find_path(&supervisor->plugins, path), *plugin;
    char text[PLUGIN_TEXT_MAX];
    int fd = plugin_copy(path, -1, text);

    if (fd < 0) {
        log_warning("%s: the copy that the former service had is used", text);
        return;
    }
    plugin = plugin_store_add(&supervisor->plugins, old->name, path, fd);
    if (!plugin) {
        log_warning("plugin %s: no room for its file: the copy that the former service had is used", path);
        return;
    }
    plugin->configured = true;
    drop_plugin(supervisor,
                plugin_store_find_path(&supervisor->plugins, path)); /* the first of this path: the old one */
}

static void restore_plugins(struct supervisor *supervisor)
{
    const struct registry *map = supervisor->persist.registry.map;

    for (uint32_t i = 0; i < ODEON_PLUGINS_MAX; i++)
        if (atomic_load_explicit(&map->plugins[i].state, memory_order_acquire) != REGISTRY_FREE)
            restore_plugin(supervisor, &map->plugins[i]);
    if (!supervisor->persist.clean)
        return;
    for (size_t i = supervisor->plugins.n; i-- > 0;)
        if (supervisor->plugins.list[i].configured &&
            !is_configured(&supervisor->config, supervisor->plugins.list[i].path)) {
            log_notice("plugin %s is no longer configured", supervisor->plugins.list[i].path);
            drop_plugin(supervisor, &supervisor->plugins.list[i]);
        }
    for (size_t i = 0; i < supervisor->config.n_plugins; i++)
        if (plugin_store_find_path(&supervisor->plugins, supervisor->config.plugins[i]))
            refresh_plugin(supervisor, supervisor->config.plugins[i]);
}

/* ---- ports */

static int take_part(struct supervisor *supervisor, const struct port *port, const char *part)
{
    return store_take(&supervisor->persist.store, "port-%u-%u-%s", port->index, port->generation, part);
}

static bool is_complete(const struct port *port, bool pipe)
{
    return port->client_fd >= 0 && port->executor_fd >= 0 && port->doorbell_fd >= 0 &&
           (!pipe || (port->pipe_read_fd >= 0 && port->pipe_write_fd >= 0));
}

/* To its user, as when it was opened, whatever the quotas are now. */
static int charge(struct supervisor *supervisor, const struct port *port)
{
    struct account *account = account_open(&supervisor->accounts, port->uid);

    if (!account)
        return -ENOMEM;
    account_charge(account, &port->held);
    return 0;
}

static void restore_port(struct supervisor *supervisor, uint32_t index, const struct registry_port *entry)
{
    struct port *port = port_table_restore(&supervisor->ports, index, entry);

    port->client_fd = take_part(supervisor, port, "client");
    port->executor_fd = take_part(supervisor, port, "executor");
    port->doorbell_fd = take_part(supervisor, port, "bell");
    port->pipe_read_fd = take_part(supervisor, port, "out");
    port->pipe_write_fd = take_part(supervisor, port, "in");
    if (is_complete(port, entry->pipe) && charge(supervisor, port) == 0)
        return;
    log_error("port %u of client %u is lost: the store has not all of its descriptors", index, port->client_id);
    persist_forget_port(supervisor, port);
    port_table_release(&supervisor->ports, port);
}

static void restore_ports(struct supervisor *supervisor)
{
    const struct registry *map = supervisor->persist.registry.map;

    for (uint32_t i = 0; i < ODEON_PORTS_MAX; i++) {
        supervisor->ports.ports[i].generation = map->ports[i].generation; /* G4 */
        if (atomic_load_explicit(&map->ports[i].state, memory_order_acquire) != REGISTRY_FREE)
            restore_port(supervisor, i, &map->ports[i]);
    }
}

/* ---- clients */

static bool has_open_port(const struct supervisor *supervisor, uint32_t client_id)
{
    for (uint32_t i = 0; i < ODEON_PORTS_MAX; i++)
        if (supervisor->ports.ports[i].state == PORT_OPEN && supervisor->ports.ports[i].client_id == client_id)
            return true;
    return false;
}

static void restore_client(struct supervisor *supervisor, const struct registry_client *entry)
{
    int pidfd = store_take(&supervisor->persist.store, "client-%u", entry->id);

    if (pidfd >= 0 && has_open_port(supervisor, entry->id) && client_restore(supervisor, entry, pidfd) == 0)
        return;
    log_info("client %u (%.63s, process %u) has left nothing that could be gone on with", entry->id, entry->name,
             entry->pid);
    if (pidfd >= 0) {
        close(pidfd);
        store_remove(&supervisor->persist.store, "client-%u", entry->id);
    }
    ports_close_of_client(supervisor, entry->id);
    registry_free_client(&supervisor->persist.registry, entry->id);
}

void persist_restore_clients(struct supervisor *supervisor)
{
    const struct registry *map = supervisor->persist.registry.map;
    struct persist *persist = &supervisor->persist;
    size_t nobodys;

    if (!persist->resumed || persist->refused)
        return;
    supervisor->clients.last_id = atomic_load_explicit(&map->header.last_client, memory_order_relaxed);
    for (uint32_t i = 0; i < ODEON_CLIENTS_MAX; i++)
        if (atomic_load_explicit(&map->clients[i].state, memory_order_acquire) != REGISTRY_FREE)
            restore_client(supervisor, &map->clients[i]);
    for (uint32_t i = 0; i < ODEON_PORTS_MAX; i++) {
        struct port *port = &supervisor->ports.ports[i];

        if (port->state == PORT_OPEN && !clients_find(&supervisor->clients, port->client_id))
            ports_close(supervisor, port);
    }
    nobodys = store_drop_rest(&persist->store);
    log_event(LOG_LEVEL_NOTICE, CATALOGUE_STATE_RESUMED,
              "going on with the state of the former service: start %llu, %u clients, %u ports, %zu plugins%s",
              (unsigned long long)map->header.epoch, supervisor->clients.n, supervisor->ports.n_used,
              supervisor->plugins.n, nobodys ? "; descriptors that were nobody's are dropped" : "");
}

/* Read from the file: odeond maps nothing that a client can write (V1).  A client that lies closes its own port. */
static bool has_departed(const struct port *port)
{
    uint32_t word = 0;

    return pread(port->client_fd, &word, sizeof(word), offsetof(struct port_client, departed)) == sizeof(word) &&
           word != 0;
}

/* After the socket listens: a client leaves word first and then tries to connect, so that one of the two is found. */
void persist_close_departed(struct supervisor *supervisor)
{
    struct client *next;

    for (struct client *client = supervisor->clients.first; client; client = next) {
        next = client->next;
        if (client->channel)
            continue;
        for (uint32_t i = 0; i < ODEON_PORTS_MAX; i++) {
            struct port *port = &supervisor->ports.ports[i];

            if (port->state == PORT_OPEN && port->client_id == client->id && has_departed(port))
                ports_close(supervisor, port);
        }
        if (!has_open_port(supervisor, client->id))
            client_drop(client, NULL);
    }
}

/* ---- the intake */

static int begin_anew(struct supervisor *supervisor)
{
    struct persist *persist = &supervisor->persist;
    size_t n = store_drop_rest(&persist->store);
    int r;

    if (n > 0)
        log_warning("%zu descriptors of a former service are dropped", n);
    r = registry_make(&persist->registry);
    if (r < 0)
        log_error("the registry cannot be made: %s", strerror(-r));
    return r;
}

static int resume(struct supervisor *supervisor)
{
    struct persist *persist = &supervisor->persist;
    struct registry *map = persist->registry.map;

    persist->resumed = true;
    persist->clean = atomic_load_explicit(&map->header.clean, memory_order_acquire);
    persist->stats_fd = store_take(&persist->store, "stats");
    restore_plugins(supervisor);
    restore_ports(supervisor);
    return 0;
}

static int take_state(struct supervisor *supervisor)
{
    struct persist *persist = &supervisor->persist;
    char text[REGISTRY_TEXT_MAX];
    int registry = -1;

    if (!supervisor->options.discard_state)
        registry = store_take(&persist->store, "registry");
    if (registry < 0)
        return begin_anew(supervisor);
    if (registry_open(&persist->registry, registry, text) < 0) {
        store_forget_rest(&persist->store);
        persist_refuse(supervisor, text);
        return 0;
    }
    supervisor->segment_fd = store_take(&persist->store, "segment");
    if (supervisor->segment_fd >= 0)
        return resume(supervisor);
    registry_close(&persist->registry);
    store_forget_rest(&persist->store);
    persist_refuse(supervisor, "the service manager has kept a registry, but no engine segment");
    return 0;
}

int persist_begin(struct supervisor *supervisor)
{
    struct persist *persist = &supervisor->persist;
    int r = store_open(&persist->store, !supervisor->options.foreground);

    if (r < 0) {
        log_error("what the service manager has passed cannot be taken: %s", strerror(-r));
        return r;
    }
    persist->listener_fd = store_take_listener(&persist->store);
    if (persist->store.enabled)
        r = take_state(supervisor);
    if (r == 0 && !persist->refused)
        r = restore_settings(supervisor);
    return r;
}

/* ---- clients that come back */

static bool same_token(const struct port *port, const Odeon__PortClaim *claim)
{
    unsigned difference = 0;

    if (claim->token.len != sizeof(port->token))
        return false;
    for (size_t i = 0; i < sizeof(port->token); i++) /* no shorter for a better guess */
        difference |= port->token[i] ^ claim->token.data[i];
    return difference == 0;
}

static int refuse(char *text, int error, const char *why)
{
    snprintf(text, REGISTRY_TEXT_MAX, "%s", why);
    return error;
}

/* Marks the ports that are to stay open.  How many of the claims hold, or -EACCES. */
static int check_claims(struct supervisor *supervisor, const Odeon__Resume *resume, bool claimed[ODEON_PORTS_MAX])
{
    int n = 0;

    for (size_t i = 0; i < resume->n_ports; i++) {
        const struct port *port =
            port_table_find_of_client(&supervisor->ports, resume->ports[i]->port_id, resume->client_id);

        if (!port)
            continue;
        if (!same_token(port, resume->ports[i]))
            return -EACCES;
        n++;
        claimed[port->index] = !resume->ports[i]->closed;
    }
    return n;
}

int persist_resume_client(struct supervisor *supervisor, struct client *client, const Odeon__Resume *resume, char *text)
{
    bool claimed[ODEON_PORTS_MAX] = { false };
    struct client *former;
    int n;

    if (!persist_is_on(supervisor) || resume->instance != supervisor->persist.registry.map->header.instance)
        return refuse(text, -ESTALE,
                      "the service has begun anew: nothing of what this client had with the former one is left; "
                      "connect again");
    n = check_claims(supervisor, resume, claimed);
    if (n < 0)
        return refuse(text, n, "a claimed port is not this client's: its token is another");
    former = n > 0 ? clients_find(&supervisor->clients, resume->client_id) : NULL;
    if (!former)
        return 0;
    if (former->channel)
        return refuse(text, -EBUSY, "the client that is claimed is connected");
    if (former->uid != client->uid || former->pid != client->pid)
        return refuse(text, -EACCES, "the client that is claimed is another process, or another user's");
    client_adopt(client, former);
    for (uint32_t i = 0; i < ODEON_PORTS_MAX; i++) {
        struct port *port = &supervisor->ports.ports[i];

        if (!claimed[i] && port->client_id == client->id && (port->state == PORT_OPEN || port->state == PORT_OPENING))
            ports_close(supervisor, port);
    }
    return 0;
}
