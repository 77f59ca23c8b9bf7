/* SPDX-License-Identifier: Apache-2.0 */
/* What outlives odeond: which descriptors go into the service manager's store and come back from
 * it, and the registry that says what they are (proto/registry_layout.h, G1 to G6). Event loop
 * thread only.
 *
 * In the store: registry, segment, stats, plugin-SERIAL, client-ID (a pidfd), and of each port
 * port-INDEX-GENERATION- with client, executor, bell, out and in (the last two: the pipe's reading
 * and writing end).
 *
 * R1  State that cannot be gone on with, for whatever reason, is not touched: it stays in the
 *     store, the service says why and what to do, and waits.  Only --discard-state, or a stop,
 *     drops it.
 * R2  A client that was connected is dead when its process is (its pidfd says so) or when it comes
 *     without its ports; no clock ever decides it.
 * R3  After persist_end() nothing is recorded: what the end of this odeond does to its objects is
 *     not what happened to them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "daemon/supervisor/registry.h"
#include "daemon/supervisor/store.h"
#include "proto/control.pb-c.h"

struct supervisor;
struct client;
struct kept_plugin;
struct seat_port;

struct persist {
    struct store store;
    struct registry_file registry;
    bool resumed;    /* goes on with what another odeond has left */
    bool clean;      /* ... which had ended because it was told to */
    bool refused;    /* R1 */
    int stats_fd;    /* the former statistics; -1: none */
    int listener_fd; /* the socket unit's; -1: none, or it is in use */
    size_t n_dropped;
    uint32_t dropped[ODEON_PLUGINS_MAX]; /* serials of plugins that are not gone on with */
};

/* Before anything is made: the intake, and from it segment, settings, plugins and ports. 0 or
 * negative errno; R1 is `refused`. */
int persist_begin(struct supervisor *supervisor);
/* Everything that clients will rely on is there: into the store. */
int persist_publish(struct supervisor *supervisor);
/* The event loop is there: clients that may come back. -ENOMEM: nothing that is of use has been
 * touched. */
int persist_restore_clients(struct supervisor *supervisor);
/* Clients can come: those that have closed their ports, and could tell nobody, have left word in
 * them. */
void persist_close_departed(struct supervisor *supervisor);
/* The first executor is ready with what it was given: what this start has changed is recorded. */
void persist_settle(struct supervisor *supervisor);
/* R1.  From here on the service only waits for its end. */
void persist_refuse(struct supervisor *supervisor, const char *why);
/* R3. */
void persist_end(struct supervisor *supervisor);
void persist_fini(struct supervisor *supervisor);
/* There is a store, and state in it. */
bool persist_is_on(const struct supervisor *supervisor);

/* G3, G4.  0 or negative errno: the port is not kept, and must not be handed out. */
int persist_keep_port(struct supervisor *supervisor, struct client *client,
                      const struct seat_port *port);
void persist_forget_port(struct supervisor *supervisor, const struct seat_port *port);
void persist_forget_client(struct supervisor *supervisor, const struct client *client);
/* Of one that was loaded at run time. Gives it a serial. A failure is logged: a restart of odeond
 * will lose it. */
void persist_keep_plugin(struct supervisor *supervisor, struct kept_plugin *plugin);
void persist_forget_plugin(struct supervisor *supervisor, const struct kept_plugin *plugin);

/* A client that was connected to the former odeond proves it by its token: it becomes that client
 * again, and those of its ports that it does not claim are closed. 0, or negative errno with a
 * reason in `text` (REGISTRY_TEXT_MAX). */
int persist_resume_client(struct supervisor *supervisor, struct client *client,
                          const Odeon__Resume *resume, char *text);
