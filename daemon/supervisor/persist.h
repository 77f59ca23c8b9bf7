/* SPDX-License-Identifier: Apache-2.0 */
/* What outlives odeond: which descriptors go into the service manager's store and come back from
 * it, and the registry that says what they are (registry_layout.G1 to registry_layout.G6). Taking
 * it up again is resume.h's. Event loop thread only.
 *
 * In the store: registry, segment, stats or stats-next, plugin-SERIAL, client-ID (a pidfd), and of
 * each port port-INDEX-GENERATION- with client, executor, bell, out and in (the last two: the
 * pipe's reading and writing end).
 *
 * persist.R1  State that cannot be gone on with, for whatever reason, is not touched: it stays in
 *     the store, the service says why and what to do, and waits.  Only --discard-state, or a stop,
 *     drops it.
 * persist.R2  A client that was connected is dead when its process is (its pidfd says so) or when
 *     it comes without its ports; no clock ever decides it.
 * persist.R3  After persist_end() nothing is recorded: what the end of this odeond does to its
 *     objects is not what happened to them.
 * persist.R4  A plugin's file is in the store once, under the serial that it gets when it is put
 *     there.
 * persist.R5  Statistics are in the store at each moment of a start: the former ones are removed
 *     when those that go on from them are there, under the other of two names, and nobody counts
 *     before that.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "daemon/supervisor/registry.h"
#include "daemon/supervisor/store.h"
#include "proto/bounds.h"

struct client;
struct kept_plugin;
struct line_waiter;
struct plugin_store;
struct seat_port;

struct persist {
    struct store store;
    struct registry_file registry;
    bool resumed;    /* goes on with what another odeond has left */
    bool clean;      /* ... which had ended because it was told to */
    bool in_force;   /* this odeond's state has been recorded */
    bool refused;    /* persist.R1 */
    bool ended;      /* persist.R3 */
    int stats_fd;    /* the former statistics; -1: none */
    bool stats_turn; /* their name: persist.R5 */
    int listener_fd; /* the socket unit's; -1: none, or it is in use */
    size_t n_dropped;
    bool has_dropped_lines;              /* ... among them some that the configuration named, and
                                names no more, or whose file the store has lost */
    uint32_t dropped[ODEON_PLUGINS_MAX]; /* serials of plugins that are not gone on with */
};

/* The former statistics, now the caller's, or -1. */
int persist_take_stats(struct persist *persist);
/* Everything that clients will rely on is there: into the store. */
int persist_publish(struct persist *persist, int segment_fd, int stats_fd);
/* The first executor is ready with what it was given: what this start has changed goes to the
 * store, and when the waiter has been told that it is there, it is recorded. 0, or negative errno:
 * it will not be told. */
int persist_settle(struct persist *persist, struct plugin_store *plugins,
                   struct line_waiter *waiter);
void persist_record_settled(struct persist *persist, struct plugin_store *plugins,
                            const struct setting_list *in_force,
                            const struct setting_list *configured, const struct setting_list *own,
                            int error);
/* Whether this start finds or makes the actors that the configuration names: not after a crash, if
 * the former service had done so. */
bool persist_wants_actors(const struct persist *persist);
/* registry_layout.G8 */
void persist_note_actors(struct persist *persist, bool made);
/* persist.R1.  From here on the service only waits for its end.  False: that had been said
 * before. */
bool persist_refuse(struct persist *persist, const char *why);
/* persist.R3.  `clean`: the end is one that was wanted. */
void persist_end(struct persist *persist, bool clean);
void persist_fini(struct persist *persist);
/* There is a store, and state in it. */
bool persist_is_on(const struct persist *persist);

/* registry_layout.G3, in two steps: its descriptors, and its client's, go to the store; when the
 * port's waiter has been told that they are there, it is recorded. 0 or negative errno: the port is
 * not kept, must not be handed out, and is to be forgotten. */
int persist_store_port(struct persist *persist, struct client *client, struct seat_port *port);
int persist_record_port(struct persist *persist, const struct client *client,
                        const struct seat_port *port);
/* registry_layout.G4.  Whatever step it has come to, but for the waiter. */
void persist_forget_port(struct persist *persist, const struct seat_port *port);
void persist_forget_client(struct persist *persist, const struct client *client);
/* Of one that was loaded at run time. Gives it a serial. A failure is logged: a restart of odeond
 * will lose it. */
void persist_keep_plugin(struct persist *persist, struct plugin_store *plugins,
                         struct kept_plugin *plugin);
/* Their lines have other numbers (plugin_store_number()). One store for each that is recorded: a
 * crash among them leaves some as they were. */
void persist_record_lines(struct persist *persist, const struct plugin_store *plugins);
void persist_forget_plugin(struct persist *persist, const struct kept_plugin *plugin);
