/* SPDX-License-Identifier: Apache-2.0 */
/* The views of `odeonctl top`: their names and columns, and what lists of the library and
 * statistics are as their rows.
 *
 * Constant data and plain functions, any thread.
 */
#pragma once

#include "client-lib/ctl/top/table.h"

#include <odeon/observe.h>

#include <stdbool.h>
#include <stddef.h>

enum view_id {
    VIEW_TYPES,
    VIEW_ACTORS,
    VIEW_FLOWS,
    VIEW_QUEUES,
    VIEW_WORKERS,
    VIEW_CLIENTS,
    VIEW_USERS,
    VIEW_N,
};

struct snapshot;

struct view {
    const char *name;  /* as a word of the command line */
    const char *title; /* for people */
    const char *of;    /* before what its rows belong to: "Actors of the type" */
    const struct table_column *columns;
    size_t n_columns;
    size_t sort;        /* the column that it is sorted by at first */
    enum view_id leads; /* where Enter leads from a row; itself: nowhere */
    const char *empty;  /* said where there is no row */
    const char *tables; /* the command that prints it; NULL: `odeonctl top` itself */
};
extern const struct view views[VIEW_N];

/* VIEW_N: there is none of this name. */
enum view_id view_find(const char *name);
/* The column of a view that `--sort` means; its own first one where it has none. */
size_t view_sort(enum view_id view, enum odeon_observe_by by);
struct table *view_table(enum view_id view);

/* Each adds rows; false: no memory. Lists are as the library gives them. */
bool view_add_types(struct table *table, const struct odeon_list *types, double seconds);
/* The three lists of actors as one: by[] is in the order of odeon_observe_by, NULL: none. */
bool view_add_actors(struct table *table, struct odeon_list *const by[3]);
bool view_add_flows(struct table *table, const struct odeon_list *flows);
bool view_add_queues(struct table *table, const struct odeon_list *queues);
bool view_add_clients(struct table *table, const struct odeon_list *clients);
/* Those who hold most memory; `users`, who has done what: NULL, not known. */
bool view_add_users(struct table *table, const struct odeon_memory *memory,
                    const struct odeon_list *users);
/* From the statistics; `before` NULL: rates are not known. Shares are those of threads.h. */
bool view_add_workers(struct table *table, const struct snapshot *now,
                      const struct snapshot *before, const double *shares, size_t n_shares);
