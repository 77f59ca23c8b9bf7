/* SPDX-License-Identifier: Apache-2.0 */
/* The plugins that are loaded again after a restart of the executor: sealed copies of their files.
 *
 * plugin_store.P1  They are loaded in the order of the list: those whose path a line of the
 *     configuration has, as the lines stand, then the others as they came. So one finds at a start
 *     what it found when it was loaded; and what is read anew for a line has its predecessor's
 *     place.
 *
 * A copy, because the file at the path may change or go: a restart must bring back the code that
 * ran. odeond never maps it. Event loop thread only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/bounds.h"

enum { PLUGIN_TEXT_MAX = 512 };
#define PLUGIN_FILE_MAX (UINT64_C(256) << 20)

struct kept_plugin {
    char *name; /* as the executor reported it; NULL: it has not been loaded yet */
    char *path;
    int fd;
    bool loaded;       /* in the executor that runs now */
    bool asked;        /* that one has been sent it at its start */
    bool left_out;     /* of later starts (safe_mode.h) */
    unsigned crashes;  /* of the executor while it was loaded at a start, in a row */
    unsigned refusals; /* in a row, by executors that were to go on with it */
    bool configured;   /* the configuration names it */
    uint32_t line;     /* which of its lines has this path, from 1; 0: none, or nobody knows */
    uint32_t serial;   /* of its descriptor in the store; 0: it is in none */
    uint32_t replaces; /* serial of the one whose file it has, read anew; 0: of none */
    bool unrecorded;   /* it is there, and the registry does not say so yet */
};

struct plugin_store {
    size_t n;
    struct kept_plugin list[ODEON_PLUGINS_MAX];
};

/* A sealed copy of the file at `path` or, when `fd` is not -1, behind `fd`, which stays the
 * caller's. The descriptor, or negative errno with a reason in `text`. */
int plugin_copy(const char *path, int fd, char *text);

/* Takes `fd`.  The plugin, or NULL: no room or memory (`fd` is closed). */
struct kept_plugin *plugin_store_add(struct plugin_store *store, const char *name, const char *path,
                                     int fd);
/* plugin_store.P1.  Pointers into the list, and places in it, are others then. */
void plugin_store_sort(struct plugin_store *store);
/* The line of a path among the configuration's, for `line`. */
uint32_t plugin_store_line_of(char *const *lines, size_t n_lines, const char *path);
/* `line` of all that there are, by one reading of the lines: numbers of two say nothing about each
 * other. Whoever stands for a line that has gone keeps its place. */
void plugin_store_number(struct plugin_store *store, char *const *lines, size_t n_lines);
int plugin_store_set_name(struct kept_plugin *plugin, const char *name);
/* But for those that are left out: they are not loaded. */
struct kept_plugin *plugin_store_find(struct plugin_store *store, const char *name);
/* While the executor is ready: one that it has not, because it is left out or was refused at the
 * start, and whose place a plugin of that name takes, or, where it has never told its own, one from
 * that path. */
struct kept_plugin *plugin_store_find_unloaded(struct plugin_store *store, const char *name,
                                               const char *path);
/* the first one */
struct kept_plugin *plugin_store_find_path(struct plugin_store *store, const char *path);
void plugin_store_remove(struct plugin_store *store, struct kept_plugin *plugin);
size_t plugin_store_count_loaded(const struct plugin_store *store);
void plugin_store_fini(struct plugin_store *store);
