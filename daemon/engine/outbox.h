/* SPDX-License-Identifier: Apache-2.0 */
/* The outbox: a worker's log of what its handlers sent, and the flush that carries it to the receivers (ENGINE.md 4,
 * COMMIT-PROTOCOL 3).
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

static inline struct outbox_record *outbox_record_at(const struct worker *w, uint32_t offset8)
{
    return (struct outbox_record *)(w->outbox + (uint64_t)offset8 * 8);
}
static inline struct envelope *outbox_envelope(struct outbox_record *record)
{
    return (struct envelope *)(record + 1);
}

/* A record's start, behind what is logged already. */
static inline struct envelope *outbox_log(struct worker *w, uint32_t destination, uint64_t size)
{
    struct outbox_record *record = (struct outbox_record *)(w->outbox + w->out);
    record->destination = destination;
    w->out += sizeof(*record) + size;
    return outbox_envelope(record);
}

struct envelope *outbox_append_slow(struct worker *w, uint32_t destination, uint64_t size);

/* Room for an envelope of `size` bytes; the caller has checked that it fits, and fills it.  As long as all records go to one
 * destination the log is its group; the chains are made when a second one appears. */
static inline struct envelope *outbox_append(struct worker *w, uint32_t destination, uint64_t size)
{
    w->n_logged++;
    if (likely(w->n_groups == 1 && w->groups[0].destination == destination)) {
        w->groups[0].bytes += size;
        return outbox_log(w, destination, size);
    }
    return outbox_append_slow(w, destination, size);
}

/* The groups' records one after the other; `at` starts as group->first. */
static inline uint32_t outbox_next(const struct worker *w, const struct outbox_group *group, uint32_t at)
{
    const struct outbox_record *record = outbox_record_at(w, at);
    if (w->n_groups > 1)
        return at == group->last ? 0 : record->next;
    at += (uint32_t)((sizeof(*record) + envelope_record_size((const struct envelope *)(record + 1))) / 8);
    return (uint64_t)at * 8 < w->out ? at : 0;
}

/* Records are multiples of 8 bytes, mostly a few words. */
static inline void record_copy(uint8_t *to, const struct envelope *from, uint64_t size)
{
    if (likely(size <= 64)) {
        uint64_t *t = (uint64_t *)to;
        const uint64_t *f = (const uint64_t *)from;
        for (uint64_t i = 0; i < size / 8; i++)
            t[i] = f[i];
    } else {
        memcpy(to, from, size);
    }
}

static inline void payload_copy(void *to, const void *from, size_t size)
{
    if (size == 8) {
        memcpy(to, from, 8);
    } else if (size == 16) {
        memcpy(to, from, 16);
    } else if (size > 0) {
        ((uint64_t *)to)[(size - 1) / 8] = 0; /* padding carries nothing of what lay here before */
        memcpy(to, from, size);
    }
}
