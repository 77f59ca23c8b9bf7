/* SPDX-License-Identifier: Apache-2.0 */
/* Loaded plugins: from a sealed file to registered actor types, and back.
 *
 * Owned by the executor, control thread only.
 *
 * plugin.L1  A plugin is in the registry from the moment its types are registered until they are
 *     retired: no half-loaded plugin is listed.
 * plugin.L2  The loader knows files by their names, and remembers all names of what it has mapped:
 *     each load has one of its own (a descriptor's number alone comes back), but for those that are
 *     loaded in place.
 * plugin.L3  A load that is refused leaves no code mapped and no type registered; interned message
 *     types stay (their ids are for ever).
 * plugin.L4  While starts are held, none is run: what it sends and makes is committed, and stays
 *     when the executor ends over a plugin behind it, to be done by the next one again.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/engine/engine.h"
#include "daemon/executor/explain.h"
#include "daemon/executor/host.h"

struct plugin;
struct plugin_registry;

enum plugin_state { PLUGIN_LOADING, PLUGIN_ACTIVE, PLUGIN_RETIRED };

/* Neither engine nor host become the registry's. `in_place`: files are loaded from their labels,
 * which are paths (plugin_place.h). */
int plugin_registry_new(struct engine *engine, const struct host *host, bool in_place,
                        struct plugin_registry **ret_registry);
/* Calls the fini of each plugin; no behaviour may run any more. Code stays mapped: the process is
 * about to end. */
struct plugin_registry *plugin_registry_free(struct plugin_registry *registry);

/* Takes `fd`, whatever becomes of it.  `label`: where it came from, for people.
 * -EINVAL: refused; -EEXIST: plugin or actor type is loaded already; -ENOSPC; -EBADMSG: a message
 * type is known otherwise. */
int plugin_load(struct plugin_registry *registry, int fd, const char *label,
                struct explain *explain, const struct plugin **ret_plugin);
/* The same for a plugin whose code is a part of the program. */
int plugin_load_linked(struct plugin_registry *registry, const struct odeon_plugin *descriptor,
                       struct explain *explain, const struct plugin **ret_plugin);
/* -ENOENT; -EBUSY: the text lists everything that is in the way. PLUGIN_LATER: nobody waits for the
 * workers that may still be in its code: call it again, for the same plugin, until it says
 * something else. */
enum { PLUGIN_LATER = 1 };
int plugin_unload(struct plugin_registry *registry, const char *name, struct explain *explain);
/* The plugin that was about to go stays. */
void plugin_unload_cancel(struct plugin_registry *registry);

/* From now on loads leave starts undone; ... */
void plugin_registry_hold_starts(struct plugin_registry *registry);
/* ... until here: those that are owed, in the order of loading, `before` being told of each by its
 * index, and from now on by each load itself. */
void plugin_registry_run_starts(struct plugin_registry *registry,
                                void (*before)(void *userdata, unsigned index), void *userdata);
/* The start is over: a plugin that is loaded from now on ends the quarantine of its types. */
void plugin_registry_set_runs(struct plugin_registry *registry);
unsigned plugin_registry_count(const struct plugin_registry *registry);
/* By index below the count, in the order of loading; NULL behind the last. */
const struct plugin *plugin_registry_get(const struct plugin_registry *registry, unsigned index);

/* For a process that outlives its engine, which has gone by now: code is unmapped, after the fini
 * of each plugin where the engine has `ended`, not crashed. */
struct plugin_registry *plugin_registry_drop(struct plugin_registry *registry, bool ended);
/* What the engine is to call in place of each behaviour, from the next load on; ... */
void plugin_registry_set_around(struct plugin_registry *registry, engine_behaviour_fn around);
/* ... and the behaviour that was meant, by the engine's ids, in a phase; NULL: there is none. */
odeon_behaviour_fn plugin_registry_find_behaviour(const struct plugin_registry *registry,
                                                  uint32_t type, const char *phase,
                                                  uint32_t message);

/* The plugin whose code the loader knows by this name; NULL: none. */
const char *plugin_registry_name_of(const struct plugin_registry *registry,
                                    const char *loader_name);

const char *plugin_get_name(const struct plugin *plugin);
const char *plugin_get_version(const struct plugin *plugin);
const char *plugin_get_label(const struct plugin *plugin);
/* Whether the message type, by the engine's id, is in its list, or one of its behaviours names
 * it. */
bool plugin_declares(const struct plugin *plugin, uint32_t message);
unsigned plugin_count_types(const struct plugin *plugin);
uint32_t plugin_get_type(const struct plugin *plugin, unsigned index); /* the engine's id */

/* What a type is spawned with, as its plugin describes it; "" and 0: it does not, or no plugin that
 * is loaded has the type. The text is the plugin's. */
const char *plugin_registry_find_args(const struct plugin_registry *registry, uint32_t type,
                                      uint32_t *ret_size);
