/* SPDX-License-Identifier: Apache-2.0 */
/* The file of what actors do (proto/observed_layout.h), as a reader sees it: a copy of what has
 * been written so far.
 *
 * Read with pread() from one piece of data to the next: a mapping would fill the holes, on the
 * account of the service. One thread at a time.
 *
 * observe_file.OF1  The file is the executor's to write, and so are its figures plugins': sizes are
 *     checked when it is opened, and no number in it is used as an index without a look.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "proto/observed_layout.h"

/* Of one type, over all workers. */
struct observe_type {
    uint64_t messages, run_ns, sends, waited, wait_ns, timed, samples, sampled, failed;
    uint64_t run[TIME_CELLS], wait[TIME_CELLS];
    uint64_t live; /* actors; while it is added up it may be below 0, round the end */
};
struct observe_name {
    char type[ODEON_NAME_MAX + 1], plugin[ODEON_NAME_MAX + 1];
    uint64_t state_size;
};
/* Of one worker: what its last two windows say, if they are of late. */
struct observe_window {
    uint64_t span_ns;
    struct observed_window window[2];
    bool is_late[2];
};

struct observe_file {
    int fd;
    uint64_t size;
    uint32_t n_workers, worker_size, workers_offset, types_offset, types_max, trace_offset,
        live_offset;
    /* of the last look */
    uint64_t looked_ns;
    uint32_t n_types;
    struct observe_name *names; /* [n_types] */
    struct observe_type *types; /* [n_types] */
    uint32_t n_windows;
    struct observe_window *windows;
};

/* The descriptor is the file's from now on, also when it is refused. */
int observe_file_open(struct observe_file *file, int fd);
/* Takes a look: into `ret`, whose tables are its own; negative errno: nothing is there. */
int observe_file_look(const struct observe_file *file, struct observe_file *ret);
void observe_file_forget(struct observe_file *look);

/* The first worker from this one on that has ever run anything; n_workers: none has. */
uint32_t observe_file_next_worker(const struct observe_file *file, uint32_t worker);
/* Of one worker's messages, those behind the number *after, oldest first; how many are in `ret`,
 * with *after moved to the last of them. *ret_lost: so many in between were written over, or cannot
 * be read. None when the worker has none. */
uint32_t observe_file_trace(const struct observe_file *file, uint32_t worker, uint64_t *after,
                            struct observed_record ret[OBSERVED_RECORDS], uint64_t *ret_lost);
