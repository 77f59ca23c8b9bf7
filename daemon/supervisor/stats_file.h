/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the statistics segment: layout and invariants are in proto/stats_layout.h.
 *
 * A new file at each start of odeond, put in place by rename(): a reader that maps the former one
 * keeps a file whose size does not change under it.
 */
#pragma once

#include "proto/stats_layout.h"

struct stats_file {
    int fd; /* read-write: for the executors */
    struct stats_header *header;
};

/* `former` (-1: none): another file, of this or another layout, whose counters are gone on from. 0
 * or negative errno. */
int stats_file_make(struct stats_file *file, const char *path, int former);
/* Actors alive. By the layout that we gave the file, not by what its header says now: executors,
 * and the plugins in them, can write there. */
uint64_t stats_file_count_actors(const struct stats_file *file);
/* Adds one to a counter that is odeond's own (stats_layout.S1). */
void stats_file_count(struct stats_file *file, enum stat_index stat);
/* Of the control thread's block. */
uint64_t stats_file_count_of(const struct stats_file *file, enum stat_index stat);
void stats_file_fini(struct stats_file *file);
