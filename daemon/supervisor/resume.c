/* SPDX-License-Identifier: Apache-2.0 */
/* Going on with what another odeond has left; the interface is in persist.h. */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/common/events.h"
#include "daemon/common/log.h"
#include "daemon/common/memfd.h"
#include "daemon/supervisor/client.h"
#include "daemon/supervisor/configuration.h"
#include "daemon/supervisor/crash_point.h"
#include "daemon/supervisor/departed.h"
#include "daemon/supervisor/own_settings.h"
#include "daemon/supervisor/persist.h"
#include "daemon/supervisor/resume.h"
#include "daemon/supervisor/seat.h"
#include "daemon/supervisor/seat_ports.h"
#include "proto/port_layout.h"

/* ---- settings */

/* For want of memory or descriptors, not for what it is: the next start may find them. */
static int resume_put_off(int error)
{
    log_error("the state of the former service cannot be taken up now, it stays as it is: %s",
              strerror(-error));
    return error;
}

/* 0, also where a build has left the state that kept none: then what has been read counts. Where
 * they are spoilt nobody has a role, whatever the configuration says: it may have been edited, and
 * give more than had been read. */
static int resume_restore_own(struct persist *persist, struct config *config)
{
    struct setting_list own = { 0 };
    int r = registry_get_own(&persist->registry, &own);

    if (r < 0)
        setting_list_fini(&own);
    if (r == -ENOMEM)
        return resume_put_off(r);
    if (r < 0)
        log_error("roles and quotas as the former service had read them are spoilt: until a reload "
                  "nobody has a role, and limits are the defaults; so is the socket's mode until "
                  "an orderly restart");
    if (r < 0 || own.n > 0 || config->unread)
        own_settings_restore(config, &own);
    setting_list_fini(&own);
    return 0;
}

/* After a crash everything is as it was, and the configuration counts as it was last read by the
 * former service: a later reload finds what has changed since. After an orderly end the
 * configuration, which may have been edited for this start, wins; what it does not mention stays.
 */
static int resume_restore_settings(struct seat *seat, struct config *config)
{
    struct persist *persist = seat->service->persist;
    struct setting_list known = { 0 };
    int r = registry_get_settings(&persist->registry, &seat->settings, &known);

    if (r < 0)
        log_error("the executor's settings in the kept registry cannot be read: %s; odeond "
                  "--discard-state gives the state up",
                  strerror(-r));
    if (persist->resumed && !persist->clean) {
        struct setting_list edited = config->executor;

        config->executor = known;
        known = edited;
        if (r == 0)
            r = resume_restore_own(persist, config);
    } else if (r == 0) {
        r = setting_list_merge(&seat->settings, &config->executor);
    }
    setting_list_fini(&known);
    return r;
}

/* ---- plugins */

static uint32_t resume_line_of(const struct config *config, const char *path)
{
    return plugin_store_line_of(config->plugins, config->n_plugins, path);
}

/* It goes from the store and the registry when the first executor is ready, not before:
 * persist.R1. */
static void resume_drop_plugin(struct seat *seat, struct kept_plugin *plugin)
{
    struct persist *persist = seat->service->persist;

    persist->dropped[persist->n_dropped++] = plugin->serial;
    plugin_store_remove(&seat->plugins, plugin);
}

/* 0, also when it is lost; -ENOMEM. */
static int resume_restore_plugin(struct seat *seat, const struct registry_plugin *entry)
{
    int fd = store_take(&seat->service->persist->store, "plugin-%u", entry->serial);
    struct kept_plugin *plugin;

    if (fd < 0) {
        log_error("plugin %s is lost: its file is not in the store", entry->path);
        seat->service->persist->dropped[seat->service->persist->n_dropped++] = entry->serial;
        /* its line is no new one, and another one may stand in its place */
        seat->service->persist->has_dropped_lines |= entry->configured & REGISTRY_CONFIGURED;
        return 0;
    }
    plugin = plugin_store_add(&seat->plugins, entry->name[0] ? entry->name : NULL, entry->path, fd);
    if (!plugin) {
        log_error("plugin %s: no memory for it", entry->path);
        return -ENOMEM;
    }
    plugin->serial = entry->serial;
    plugin->configured = entry->configured & REGISTRY_CONFIGURED;
    plugin->line = entry->configured >> REGISTRY_LINE_SHIFT;
    plugin->replaces = entry->replaces;
    return 0;
}

/* One of its name that was loaded later has taken its place, too, whoever failed to forget it: they
 * cannot both be loaded. */
static bool resume_is_replaced(const struct plugin_store *store, const struct kept_plugin *plugin)
{
    for (size_t i = 0; i < store->n; i++) {
        const struct kept_plugin *other = &store->list[i];

        if (other->replaces == plugin->serial ||
            (other->serial > plugin->serial && other->name && plugin->name &&
             strcmp(other->name, plugin->name) == 0))
            return true;
    }
    return false;
}

/* registry_layout.G6.  Looked at before any of them goes: one that is replaced may have replaced
 * another. */
static void resume_drop_replaced(struct seat *seat)
{
    bool replaced[ODEON_PLUGINS_MAX];

    for (size_t i = 0; i < seat->plugins.n; i++)
        replaced[i] = resume_is_replaced(&seat->plugins, &seat->plugins.list[i]);
    for (size_t i = seat->plugins.n; i-- > 0;)
        if (replaced[i])
            resume_drop_plugin(seat, &seat->plugins.list[i]);
}

/* Of those from this path the one that was loaded last: what is there now is likest to it.  NULL:
 * there is none, or the file has been read anew for a line before this one. */
static struct kept_plugin *resume_find_newest(struct seat *seat, const char *path)
{
    struct kept_plugin *newest = NULL;

    for (size_t i = 0; i < seat->plugins.n; i++) {
        struct kept_plugin *plugin = &seat->plugins.list[i];

        if (strcmp(plugin->path, path) != 0)
            continue;
        if (plugin->serial == 0)
            return NULL;
        if (!newest || plugin->serial > newest->serial)
            newest = plugin;
    }
    return newest;
}

/* After an orderly end the files of configured plugins are read again, like the rest of the
 * configuration. */
static void resume_refresh_plugin(struct seat *seat, struct kept_plugin *old)
{
    const char *path = old->path;
    struct kept_plugin *plugin;
    char text[PLUGIN_TEXT_MAX];
    int fd = plugin_copy(path, -1, text);

    if (fd < 0) {
        log_event(LOG_LEVEL_WARNING, CATALOGUE_PLUGIN_REFUSED,
                  "%s: the copy that the former service had is used", text);
        return;
    }
    plugin = plugin_store_add(&seat->plugins, old->name, path, fd);
    if (!plugin) {
        log_warning("plugin %s: no room for its file: the copy that the former service had is used",
                    path);
        return;
    }
    plugin->configured = true;
    plugin->replaces = old->serial;
    resume_drop_plugin(seat, old);
}

/* After an orderly end the configuration wins. */
static void resume_follow_lines(struct seat *seat)
{
    const struct config *config = seat->service->config;

    for (size_t i = seat->plugins.n; i-- > 0;)
        if (seat->plugins.list[i].configured &&
            resume_line_of(config, seat->plugins.list[i].path) == 0) {
            log_notice("plugin %s is no longer configured", seat->plugins.list[i].path);
            seat->service->persist->has_dropped_lines = true;
            resume_drop_plugin(seat, &seat->plugins.list[i]);
        }
    for (size_t i = 0; i < config->n_plugins; i++) {
        struct kept_plugin *old = resume_find_newest(seat, config->plugins[i]);

        if (old)
            resume_refresh_plugin(seat, old);
    }
}

/* After a crash all places are as they are recorded, unless a plugin was loaded by hand from a
 * line's path: its place is not (registry_layout.G9), and a number of today's lines says nothing
 * beside recorded ones. */
static void resume_number_lines(struct seat *seat)
{
    const struct config *config = seat->service->config;
    bool anew = seat->service->persist->clean;

    for (size_t i = 0; i < seat->plugins.n; i++)
        anew |= !seat->plugins.list[i].configured &&
                resume_line_of(config, seat->plugins.list[i].path) > 0;
    if (anew)
        plugin_store_number(&seat->plugins, config->plugins, config->n_plugins);
}

/* Where an entry lies in the registry says nothing: one that is free is taken again. */
static int resume_restore_plugins(struct seat *seat)
{
    const struct registry *map = seat->service->persist->registry.map;
    int r = 0;

    for (uint32_t i = 0; i < ODEON_PLUGINS_MAX && r == 0; i++)
        if (atomic_load_explicit(&map->plugins[i].state, memory_order_acquire) != REGISTRY_FREE)
            r = resume_restore_plugin(seat, &map->plugins[i]);
    if (r < 0)
        return r;
    resume_drop_replaced(seat);
    if (seat->service->persist->clean)
        resume_follow_lines(seat);
    resume_number_lines(seat);
    plugin_store_sort(&seat->plugins);
    return 0;
}

/* ---- ports */

static int resume_take_part(struct seat *seat, const struct seat_port *port, const char *part)
{
    return store_take(&seat->service->persist->store, "port-%u-%u-%s", port->index,
                      port->generation, part);
}

/* One of a build before this may have a pipe(2) there, into which nothing may be written
 * (port_pipe.h). */
static bool resume_is_socket(int fd)
{
    struct stat about;

    return fd >= 0 && fstat(fd, &about) == 0 && S_ISSOCK(about.st_mode);
}

static bool resume_is_complete(const struct seat_port *port, bool pipe)
{
    return port->client_fd >= 0 && port->executor_fd >= 0 && port->doorbell_fd >= 0 &&
           (!pipe || (port->pipe_read_fd >= 0 && resume_is_socket(port->pipe_write_fd)));
}

/* To its user, as when it was opened, whatever the quotas are now. */
static int resume_charge(struct seat *seat, const struct seat_port *port)
{
    struct account *account = account_open(seat->service->accounts, port->uid);

    if (!account)
        return -ENOMEM;
    account_charge(account, &port->held);
    return 0;
}

/* 0, also when it is lost; -ENOMEM. */
static int resume_restore_port(struct seat *seat, uint32_t index, const struct registry_port *entry)
{
    struct seat_port *port = port_table_restore(&seat->ports, index, entry);

    port->client_fd = resume_take_part(seat, port, "client");
    port->executor_fd = resume_take_part(seat, port, "executor");
    port->doorbell_fd = resume_take_part(seat, port, "bell");
    port->pipe_read_fd = resume_take_part(seat, port, "out");
    port->pipe_write_fd = resume_take_part(seat, port, "in");
    if (resume_is_complete(port, entry->pipe))
        return resume_charge(seat, port);
    log_error("port %u of client %" PRIu64 " is lost: the store has not all of its descriptors",
              index, port->client_id);
    persist_forget_port(seat->service->persist, port);
    port_table_release(&seat->ports, port);
    return 0;
}

static int resume_restore_ports(struct seat *seat)
{
    const struct registry *map = seat->service->persist->registry.map;
    int r = 0;

    for (uint32_t i = 0; i < ODEON_PORTS_MAX && r == 0; i++) {
        seat->ports.ports[i].generation = map->ports[i].generation; /* registry_layout.G4 */
        if (atomic_load_explicit(&map->ports[i].state, memory_order_acquire) != REGISTRY_FREE)
            r = resume_restore_port(seat, i, &map->ports[i]);
    }
    return r;
}

/* ---- clients */

/* With its ports, whose account has been charged already. */
static int resume_known_client(struct seat *seat, const struct registry_client *entry, int pidfd)
{
    struct clients *clients = seat->service->clients;
    int r = client_restore(clients, entry, pidfd);
    struct client *client = r == 0 ? clients_find(clients, entry->id) : NULL;

    for (uint32_t i = 0; client && i < ODEON_PORTS_MAX; i++) {
        struct seat_port *port = &seat->ports.ports[i];

        if (port->state == PORT_FREE || port->client_id != client->id)
            continue;
        port->pid = client->pid;
        client_take_port(client, &port->held);
    }
    return r;
}

/* 0, also when nothing is left of it; -ENOMEM. */
static int resume_restore_client(struct seat *seat, const struct registry_client *entry)
{
    int pidfd = store_take(&seat->service->persist->store, "client-%" PRIu64, entry->id);

    if (pidfd >= 0 && departed_has_open_port(seat, entry->id))
        return resume_known_client(seat, entry, pidfd);
    log_info("client %" PRIu64 " (%.63s, process %u) has left nothing that could be gone on with",
             entry->id, entry->name, entry->pid);
    if (pidfd >= 0) {
        close(pidfd);
        store_remove(&seat->service->persist->store, "client-%" PRIu64, entry->id);
    }
    seat_ports_close_of_client(seat, entry->id);
    registry_free_client(&seat->service->persist->registry, entry->id);
    return 0;
}

int resume_clients(struct seat *seat)
{
    const struct registry *map = seat->service->persist->registry.map;
    struct persist *persist = seat->service->persist;
    size_t nobodys;
    int r = 0;

    if (!persist->resumed || persist->refused)
        return 0;
    seat->service->clients->last_id =
        atomic_load_explicit(&map->header.last_client, memory_order_relaxed);
    for (uint32_t i = 0; i < ODEON_CLIENTS_MAX && r == 0; i++)
        if (atomic_load_explicit(&map->clients[i].state, memory_order_acquire) != REGISTRY_FREE)
            r = resume_restore_client(seat, &map->clients[i]);
    if (r < 0)
        return r;
    for (uint32_t i = 0; i < ODEON_PORTS_MAX; i++) {
        struct seat_port *port = &seat->ports.ports[i];

        if (port->state == PORT_OPEN && !clients_find(seat->service->clients, port->client_id))
            seat_ports_close(seat, port);
    }
    nobodys = store_drop_rest(&persist->store);
    log_event(LOG_LEVEL_NOTICE, CATALOGUE_STATE_RESUMED,
              "going on with the state of the former service: start %llu, %u clients, %u ports, "
              "%zu plugins%s",
              (unsigned long long)map->header.epoch, seat->service->clients->n, seat->ports.n_used,
              seat->plugins.n, nobodys ? "; descriptors that were nobody's are dropped" : "");
    return 0;
}

/* ---- the intake */

static int resume_begin_anew(struct seat *seat, uint64_t instance)
{
    struct persist *persist = seat->service->persist;
    size_t n = store_drop_rest(&persist->store);
    int r;

    if (n > 0)
        log_warning("%zu descriptors of a former service are dropped", n);
    r = registry_make(&persist->registry, instance);
    if (r < 0)
        log_error("the registry cannot be made: %s", strerror(-r));
    return r;
}

static int resume_state(struct seat *seat)
{
    struct persist *persist = seat->service->persist;
    struct registry *map = persist->registry.map;
    int r;

    persist->resumed = true;
    persist->clean = atomic_load_explicit(&map->header.clean, memory_order_acquire);
    persist->stats_fd = persist_take_stats(persist);
    r = resume_restore_plugins(seat);
    if (r == 0)
        r = resume_restore_ports(seat);
    return r < 0 ? resume_put_off(r) : 0;
}

static int resume_take_state(struct seat *seat, bool discard)
{
    struct persist *persist = seat->service->persist;
    char text[REGISTRY_TEXT_MAX];
    int registry = -1, r;

    if (!discard)
        registry = store_take(&persist->store, "registry");
    if (registry < 0)
        return resume_begin_anew(seat, 0);
    r = registry_open(&persist->registry, registry, text);
    if (r < 0 && r != -EPROTO)
        return resume_put_off(r);
    if (r < 0) {
        store_forget_rest(&persist->store);
        (void)persist_refuse(persist, text);
        return 0;
    }
    /* registry_layout.G7 */
    if (!atomic_load_explicit(&persist->registry.map->header.settled, memory_order_acquire)) {
        uint64_t instance = persist->registry.map->header.instance;

        registry_close(&persist->registry);
        store_remove(&persist->store, "registry");
        return resume_begin_anew(seat, instance);
    }
    seat->segment_fd = store_take(&persist->store, "segment");
    if (seat->segment_fd >= 0)
        return resume_state(seat);
    registry_close(&persist->registry);
    store_forget_rest(&persist->store);
    (void)persist_refuse(persist, "the service manager has kept a registry, but no engine segment");
    return 0;
}

int resume_open(struct seat *seat, bool store)
{
    struct persist *persist = seat->service->persist;
    int r = store_open(&persist->store, store);

    if (r < 0) {
        log_error("what the service manager has passed cannot be taken: %s", strerror(-r));
        return r;
    }
    persist->listener_fd = store_take_listener(&persist->store);
    return 0;
}

bool resume_knows_configuration(const struct seat *seat)
{
    const struct store *store = &seat->service->persist->store;
    int fd = store->enabled ? store_look(store, "registry") : -1;

    return fd >= 0 && registry_is_of_crash(fd);
}

int resume_begin(struct seat *seat, struct config *config, bool discard)
{
    struct persist *persist = seat->service->persist;
    int r = 0;

    if (persist->store.enabled)
        r = resume_take_state(seat, discard);
    if (r == 0 && !persist->refused)
        r = resume_restore_settings(seat, config);
    return r;
}

/* ---- clients that come back */

static bool resume_same_token(const uint8_t *token, const ProtobufCBinaryData *said)
{
    unsigned difference = 0;

    if (said->len != REGISTRY_TOKEN_BYTES)
        return false;
    for (size_t i = 0; i < REGISTRY_TOKEN_BYTES; i++) /* no shorter for a better guess */
        difference |= token[i] ^ said->data[i];
    return difference == 0;
}

static int resume_refuse(char *text, int error, const char *why)
{
    snprintf(text, REGISTRY_TEXT_MAX, "%s", why);
    return error;
}

static bool resume_is_claimed(const struct seat_port *port, const Odeon__Resume *resume)
{
    for (size_t i = 0; i < resume->n_ports; i++)
        if (resume->ports[i]->port_id == port->index &&
            resume_same_token(port->token, &resume->ports[i]->token))
            return true;
    return false;
}

int resume_client(struct seat *seat, struct client *client, const Odeon__Resume *resume, char *text)
{
    struct client *former;

    if (!persist_is_on(seat->service->persist) ||
        resume->instance != seat->service->persist->registry.map->header.instance)
        return resume_refuse(
            text, -ESTALE,
            "the service has begun anew: nothing of what this client had with the former "
            "one is left; "
            "connect again");
    former = clients_find(seat->service->clients, resume->client_id);
    if (!former) /* it had no ports, or has been turned out: it begins anew */
        return 0;
    if (!resume_same_token(former->token, &resume->token))
        return resume_refuse(text, -EACCES,
                             "this is not the client that it claims to be: its token is another");
    if (former->channel)
        return resume_refuse(text, -EBUSY, "the client that is claimed is connected");
    if (former->uid != client->uid || former->pid != client->pid)
        return resume_refuse(text, -EACCES,
                             "the client that is claimed is another process, or another user's");
    client_adopt(client, former);
    for (uint32_t i = 0; i < ODEON_PORTS_MAX; i++) {
        struct seat_port *port = &seat->ports.ports[i];

        if (port->state == PORT_OPEN && port->client_id == client->id &&
            !resume_is_claimed(port, resume))
            seat_ports_close(seat, port);
    }
    return 0;
}
