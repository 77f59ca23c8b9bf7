/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/stuck/relieve.h"

#include <errno.h>
#include <string.h>

#include "daemon/engine/base/points.h"
#include "daemon/engine/commit/commit.h"
#include "daemon/engine/commit/outbox.h"
#include "daemon/engine/run/turn.h"
#include "daemon/engine/segment/queue.h"
#include "daemon/engine/send/flush.h"
#include "daemon/engine/signal/urgent.h"
#include "daemon/engine/signal/wake.h"
#include "daemon/engine/stuck/hold.h"

bool relieve_is_wanted(const struct worker *w)
{
    return load_relaxed(&w->durable->turn) && commit_out(segment_commit_valid(w->durable)) > 0;
}

/* What the handler has sent is at the outbox's beginning, and what was before it is gone:
 * `committed` bytes. The run that goes on across that boundary gets a header of its own. */
static void relieve_outbox_cut(struct worker *w, uint64_t committed)
{
    uint64_t at = 0, shift = 0;
    while (at < committed) {
        const struct outbox_run *run = (const struct outbox_run *)(w->outbox.log + at);
        uint64_t from = at + sizeof(*run), end = from == w->outbox.run_at
                                                     ? w->outbox.length
                                                     : from + run->bytes * UINT64_C(8);
        if (end > committed) {
            struct outbox_run header = { .destination = run->destination,
                                         .bytes = end == w->outbox.length
                                                      ? 0
                                                      : (uint32_t)((end - committed) >> 3) };
            memcpy(w->outbox.log, &header, sizeof(header));
            shift = sizeof(header);
        }
        at = end;
    }
    memmove(w->outbox.log + shift, w->outbox.log + committed, w->outbox.length - committed);
    w->outbox.run_at = w->outbox.run_at <= committed ? shift : w->outbox.run_at - committed + shift;
    w->outbox.run_bytes = &((struct outbox_run *)(w->outbox.log + w->outbox.run_at) - 1)->bytes;
    w->outbox.length = w->outbox.length - committed + shift;
}

/* Those that it went to, by the control thread. */
static void relieve_signal(struct engine *e, const struct worker *w)
{
    for (uint32_t i = 0; i < w->flush.n_groups; i++) {
        uint32_t destination = w->flush.groups[i].destination;
        if (destination >= e->segment.dead_letters)
            continue;
        if (destination >= e->segment.n_queues) {
            source_signal(e, e->control,
                          engine_source_of_port(e, destination - e->segment.n_queues));
            continue;
        }
        uint32_t mailbox = segment_mailbox(&e->segment, destination);
        if (mailbox != destination)
            urgent_interrupt(e, e->control, mailbox);
        source_signal(e, e->control, mailbox);
    }
}

/* relieve.RV1 */
void relieve_held(struct engine *e, struct worker *w)
{
    const struct segment_commit *slot = w->slot;
    uint64_t committed = commit_out(slot), all = w->outbox.length, cursor = commit_cursor(slot),
             tail = commit_tail(slot);
    if (committed == 0)
        return;
    w->flush.recovering = true; /* nobody is told here: the control thread does */
    w->outbox.length = committed;
    flush_from(w, 1);
    w->flush.recovering = false;
    /* outbox.B2: before any of it is overwritten */
    commit_flip(w, w->batch.source, cursor, tail, 0, 0, 0);
    POINT(aside);
    w->outbox.length = all;
    if (all == committed)
        outbox_reset(w);
    else
        relieve_outbox_cut(w, committed);
    w->outbox.sent_aside = false;
    relieve_signal(e, w);
}

/* relieve.RV2 */
static bool relieve_may(const struct engine *e, const struct worker *w)
{
    const struct segment_commit *slot = w->slot;
    return w->batch.queue != NO_QUEUE && slot->source == w->batch.source &&
           load_relaxed(&w->durable->turn) && slot->wrap == w->batch.wrap && !w->place.newborn &&
           w->actors.spawned_count != commit_count(w) &&
           load_relaxed(&segment_undo(&e->segment, w->id)->tag) != commit_count(w);
}

int relieve_held_worker(struct engine *e, struct worker *w)
{
    if (load_relaxed(&w->durable->turn))
        turn_publish_held(w); /* relieve.RV4 */
    if (!relieve_may(e, w))
        return -EBUSY;
    relieve_held(e, w);
    store_relaxed(&w->outbox.wanted, 0); /* relieve.RV3 */
    return 0;
}

int relieve_worker(struct engine *e, uint32_t id, uint64_t timeout_ns)
{
    struct worker *w = e->workers[id];
    int r = hold_begin(e, w, timeout_ns);
    if (r < 0)
        return r;
    r = relieve_held_worker(e, w);
    hold_end(w);
    return r;
}
