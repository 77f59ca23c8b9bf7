/* SPDX-License-Identifier: Apache-2.0 */
/* The processors of this machine, and what the service has on each: what odeonctl topology shows.
 *
 * Owned by the command, one thread.
 *
 * rows.TR1  Each processor that is online has a row for each worker that is bound to it, or one
 *     without a worker; a worker that is bound to none, or to one that is not there, has a row
 *     without a processor. So each worker has one row.
 * rows.TR2  Rows that share a node lie together, in each those that share a cache of the third
 *     level, then of the second, then a core. Those without a processor come last.
 */
#pragma once

#include "client-lib/ctl/stats_view.h"
#include "client-lib/ctl/topology/topology.h"

#include <odeon/admin.h>

enum { ROWS_NONE = -1 };

struct topology_row {
    int cpu, worker; /* ROWS_NONE */
    struct topology_place place;
    const char *state;              /* of the worker; NULL: it has none that is known */
    uint64_t queues, actors, bytes; /* its own queues, what lives there, and what waits */
};

struct rows {
    size_t n;
    struct topology_row *row;
};

/* Of the workers that run now. -ENOMEM. */
int rows_make(const struct snapshot *snapshot, struct rows *ret_rows);
void rows_free(struct rows *rows);
/* A queue counts for the worker whose it is; those that follow senders, or have a thread of their
 * own, for nobody. */
void rows_count_queue(struct rows *rows, const struct odeon_queue_info *queue);
