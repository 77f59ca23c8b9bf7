/* SPDX-License-Identifier: Apache-2.0 */
/* The outbox, and its flush: a worker's own (outbox.h, flush.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/engine/parts/reclaim.h"

/* Runs of one destination in an outbox, in order of first touch (docs/commit-protocol.md, Flush),
 * linked by their index. Made from the log when it is flushed. */
struct outbox_group {
    uint32_t destination;
    uint32_t first, last;
};
struct outbox_link {
    uint32_t at;    /* offset of the run's first envelope, in units of 8 bytes */
    uint32_t bytes; /* of its envelopes, in the same units */
    uint32_t next;  /* index of the group's next run, 0: none (run 0 is never a next one) */
};

/* What a send looks at before it writes a small record fills the first cache line. The last five
 * members are in the next one: what a record without room, an urgent one or one for an aside queue
 * looks at, and two counts, of which every logged record writes `n_logged`. */
struct outbox {
    uint8_t *log;
    uint64_t length;
    /* from here on the loop of the turns looks: at a flush, or, 0, at something else; anybody may
     * store 0 */
    _Atomic uint64_t wanted;
    uint64_t room;   /* up to here a small record fits without a further look */
    uint64_t run_at; /* offset of the present run's first envelope */
    /* where its length goes when the next one begins; run_none when there is none */
    uint32_t *run_bytes;
    uint32_t run_destination; /* of the run that is being written, NO_QUEUE: none */
    uint32_t run_none;
    /* by destination: it was below its limit when this flush interval first sent there */
    uint8_t *has_room;
    uint64_t limit;
    uint64_t sent_urgent; /* bytes for urgent lanes */
    /* since the counters were last published; of those that waited then, n_flushed lacks as many */
    uint64_t n_logged, n_flushed;
    bool sent_aside; /* a record for an aside queue is in it */
};

/* What the budget has had a port's records turned away for. */
enum turned_away { TURNED_AWAY_NOT, TURNED_AWAY_BY_MEMORY, TURNED_AWAY_BY_TIME };

/* The flush: the log in groups by destination. */
struct flush {
    uint32_t n_runs, n_groups;
    uint16_t *group_of; /* by destination: index + 1 into groups, 0 outside a flush */
    struct outbox_group *groups;
    struct outbox_link *runs;
    uint32_t runs_capacity;
    bool recovering; /* for a dead worker: nobody to notify */
    /* of a port's visit (budget.h): whose records they are, 0: nobody's, for bytes and for time;
     * bytes that there is memory for; what the records in the outbox will take, and what the
     * present one will, if its port waits for it; and why a record was turned away */
    uint32_t account, timed;
    uint32_t n_later; /* ... and how many of them timers have been armed with */
    uint64_t left, pending_ns, over_ns;
    enum turned_away turned_away;
    uint64_t longest; /* log that was flushed since the last look at the window */
    struct window_history window;
};
