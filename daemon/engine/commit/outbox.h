/* SPDX-License-Identifier: Apache-2.0 */
/* The outbox: a worker's log of what its handlers sent (docs/engine.md, Sends). The flush that
 * carries it to the receivers is flush.h's, with the rule flush.B3.
 *
 * Threads: a worker's own; in recovery, the control thread in the name of each.
 *
 * outbox.B1  A record's destination is fixed when it is written [DEST_LATE]: grouping gives the
 *     same steps before and after a crash.
 * outbox.B2  Bytes below the committed length change only after a flip with out = 0 [OUT_REUSE].
 * outbox.B4  A window holds twice its limit (overflow.X2) plus all outboxes, so that a flush into a
 *     message queue always fits.
 */
#pragma once

#include <string.h>

#include "daemon/engine/base/points.h"
#include "daemon/engine/commit/commit.h"
#include "daemon/engine/core/budget.h"
#include "daemon/engine/segment/queue.h"

enum {
    OUTBOX_FLUSH_BYTES = 16384, /* flush at a message boundary above this: within the L1 cache */
    OUTBOX_SMALL_BYTES = 64,    /* a run's header and a small record */
    /* kept for refusals and dead letters of the engine's own */
    OUTBOX_SYSTEM_BYTES = 2 * (ODEON_PAYLOAD_MAX + 4096),
};

int outbox_init(struct worker *w);
void outbox_fini(struct worker *w);
/* Groups the log up to `out` by destination. */
void outbox_group(struct worker *w, uint64_t out);
void outbox_reset(struct worker *w);

/* The loop of the turns looks at the next flush, as usual. Whoever stored 0 meanwhile wants a look
 * now, for what is read behind this. */
static inline void outbox_want(struct worker *w)
{
    if (likely(load_relaxed(&w->outbox.wanted) == OUTBOX_FLUSH_BYTES))
        return;
    store_relaxed(&w->outbox.wanted, OUTBOX_FLUSH_BYTES);
    full_barrier(); /* urgent.G3 */
}

/* Is a message's commit to be a whole flip? When the batch has gone on at the beginning of its
 * buffer, or more was sent than fits. */
static inline bool outbox_wants_flip(const struct worker *w)
{
    return VALUE(flip_whole, w->outbox.length >= load_relaxed(&w->outbox.wanted));
}

/* A step's entry. Recovery may still need the one of the step before. */
static inline struct segment_journal_entry *journal_entry(struct segment_worker *durable,
                                                          uint32_t step)
{
    return &durable->entry[VALUE(journal_entry, step & 1)];
}

/* Arms the journal for a step; the length of `destination` will be `length` once published. */
static inline void journal_arm(struct worker *w, uint32_t step, uint32_t destination,
                               uint64_t length)
{
    struct segment_journal_entry *entry = journal_entry(w->durable, step);
    entry->destination = destination;
    entry->length = length;
    crash_order();
    store_release(&w->durable->arm,
                  commit_count(w) << JOURNAL_STEP_BITS | (step & JOURNAL_STEP_MASK));
    crash_order();
}

/* The run so far gets its length, for a walk to step over it; a new one begins. */
static inline void outbox_run_begin(struct worker *w, uint32_t destination)
{
    struct outbox_run *run = (struct outbox_run *)(w->outbox.log + w->outbox.length);
    *w->outbox.run_bytes = (uint32_t)((w->outbox.length - w->outbox.run_at) >> 3);
    *run = (struct outbox_run){ .destination = destination };
    w->outbox.run_bytes = &run->bytes;
    w->outbox.length += sizeof(*run);
    w->outbox.run_at = w->outbox.length;
    w->outbox.run_destination = destination;
}

/* Room for an envelope of `size` bytes; the caller has checked that it fits (outbox_fits), and
 * fills it. A record for the destination of the last one just goes behind it. */
static inline struct envelope *outbox_append(struct worker *w, uint32_t destination, uint64_t size)
{
    if (unlikely(w->outbox.run_destination != destination))
        outbox_run_begin(w, destination);
    struct envelope *at = (struct envelope *)(w->outbox.log + w->outbox.length);
    w->outbox.length += size;
    w->outbox.n_logged++;
    return at;
}

/* Small records go the short way, as long as there is room; who closes it stores 0. */
static inline void outbox_open_short_way(struct worker *w)
{
    w->outbox.room = w->outbox.limit - OUTBOX_SMALL_BYTES;
}

/* A record is refused: the client at `destination`, whose port is `client`, is told. Of the record
 * only receiver and type are looked at. */
void outbox_refuse(struct worker *w, uint32_t destination, actor_ref client,
                   const struct envelope *record, uint64_t correlation,
                   enum envelope_reason reason);

static inline bool outbox_fits(const struct worker *w, uint64_t size)
{
    return w->outbox.length + sizeof(struct outbox_run) + size <= w->outbox.limit;
}

static inline const struct envelope *outbox_run_envelopes(const struct worker *w, uint32_t run,
                                                          uint64_t *ret_bytes)
{
    *ret_bytes = (uint64_t)w->flush.runs[run].bytes << 3;
    return (const struct envelope *)(w->outbox.log + ((uint64_t)w->flush.runs[run].at << 3));
}

/* Bytes of a group's envelopes. */
uint64_t outbox_group_bytes(const struct worker *w, const struct outbox_group *group);

/* Is the destination below its limit? Looked at when a flush interval first sends there: a window
 * has room for all outboxes beyond it (outbox.B4). */
static inline bool outbox_look_for_room(struct worker *w, uint32_t destination)
{
    const struct segment *segment = &w->engine->segment;
    if (likely(w->outbox.has_room[destination]))
        return true;
    if (destination < segment->n_queues) {
        const struct segment_queue *queue = &segment->queues[destination];
        prefetch_write(queue); /* the flush takes its lock */
        if (unlikely(queue_backlog_bytes(queue) > segment->header->limit_bytes ||
                     budget_is_full(w->engine)))
            return false;
    }
    /* a port's bound is applied when it is delivered to */
    w->outbox.has_room[destination] = destination < segment->n_queues;
    return true;
}

/* Of an urgent lane, which is for what is small and rare: with what is on its way to it. */
static inline bool outbox_urgent_fits(const struct worker *w, uint32_t destination, uint64_t size)
{
    const struct segment *segment = &w->engine->segment;
    uint64_t limit = segment->header->limit_bytes < ODEON_URGENT_BYTES
                         ? segment->header->limit_bytes
                         : ODEON_URGENT_BYTES;
    return queue_backlog_bytes(&segment->queues[destination]) + w->outbox.sent_urgent + size <=
           limit;
}
