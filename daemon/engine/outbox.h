/* SPDX-License-Identifier: Apache-2.0 */
/* The outbox: a worker's log of what its handlers sent, and the flush that carries it to the receivers (docs/engine.md,
 * Sends; docs/commit-protocol.md, Flush).
 *
 * Threads: a worker's own; in recovery, the control thread in the name of each.
 *
 * B1  A record's destination is fixed when it is written [DEST_LATE]: grouping gives the same steps before and after a crash.
 * B2  Bytes below the committed length change only after a flip with out = 0 [OUT_REUSE].
 * B3  In a flush step the journal is armed after the copy and before the publish, inside the lock [J_BEFORECOPY, J_AFTER]; two
 *     entries alternate [J_TORN]; the tag is the commit count [J_NOTAG]; it stays armed behind the unlock [J_DISARM].
 * B4  A window holds its limit plus all outboxes, so that a flush into a message queue always fits.
 */
#pragma once

#include <string.h>

#include "daemon/engine/core.h"
#include "daemon/engine/queue.h"

enum {
    OUTBOX_FLUSH_BYTES = 16384,                                  /* flush at a message boundary above this: within the L1 cache */
    OUTBOX_SYSTEM_BYTES = 2 * (ODEON_PAYLOAD_MAX + 4096),        /* kept for refusals and dead letters of the engine's own */
};

int outbox_init(struct worker *w);
void outbox_fini(struct worker *w);
/* Groups anew from the committed log (recovery). */
void outbox_rebuild(struct worker *w, uint64_t out);
/* Appends all groups from step `first` (1 = all) to their destinations.  The log is committed, the caller flips with out = 0
 * afterwards, and then calls outbox_reset(). */
void outbox_flush_from(struct worker *w, uint32_t first);
void outbox_reset(struct worker *w);

/* Arms the journal for a step; the length of `destination` will be `length` once published. */
static inline void journal_arm(struct worker *w, uint32_t step, uint32_t destination, uint64_t length)
{
    struct segment_journal_entry *entry = &w->durable->entry[step & 1];
    entry->destination = destination;
    entry->length = length;
    crash_order();
    store_release(&w->durable->arm, w->count << JOURNAL_STEP_BITS | (step & JOURNAL_STEP_MASK));
    crash_order();
}

int outbox_run_begin(struct worker *w, uint32_t destination);

/* Room for an envelope of `size` bytes; the caller has checked that it fits (outbox_fits), and fills it.  A record for the
 * destination of the last one just goes behind it. */
static inline struct envelope *outbox_append(struct worker *w, uint32_t destination, uint64_t size)
{
    if (unlikely(w->run_destination != destination))
        outbox_run_begin(w, destination);
    struct envelope *at = (struct envelope *)(w->outbox + w->out);
    w->out += size;
    w->n_logged++;
    return at;
}

/* A flush at the next message boundary: the loop of the turns is made to stop and look there. */
static inline void outbox_note(struct worker *w)
{
    if (unlikely(w->out > w->out_soft)) {
        w->out_soft = w->out_limit;
        w->budget_held = w->budget - 1;
        w->budget = 1;
    }
}

static inline bool outbox_fits(const struct worker *w, uint64_t size)
{
    return w->out + sizeof(struct outbox_run) + size <= w->out_limit;
}

static inline const struct envelope *outbox_run_envelopes(const struct worker *w, uint32_t run, uint64_t *ret_bytes)
{
    *ret_bytes = run + 1 < w->n_runs ? w->runs[run].bytes : w->out - w->runs[run].at;
    return (const struct envelope *)(w->outbox + w->runs[run].at);
}

/* Bytes of a group's envelopes. */
uint64_t outbox_group_bytes(const struct worker *w, const struct outbox_group *group);
