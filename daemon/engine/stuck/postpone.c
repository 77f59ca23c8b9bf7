/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/stuck/postpone.h"

#include <string.h>

#include "daemon/engine/commit/commit.h"
#include "daemon/engine/segment/queue.h"

/* Copies those of [from, to) that are, or are not, for `actor` behind `end`; the new end. */
static uint64_t postpone_copy_those(uint8_t *batch, uint64_t end, const uint8_t *from,
                                    const uint8_t *to, actor_ref actor, bool its)
{
    while (from < to) {
        const struct envelope *envelope = (const struct envelope *)from;
        uint64_t size = envelope_record_size(envelope);
        if ((envelope->to == actor) == its) {
            memcpy(batch + end, envelope, size);
            end += size;
        }
        from += size;
    }
    return end;
}

void postpone_redo(struct engine *e, const struct segment_commit *slot)
{
    struct segment_queue *queue = &e->segment.queues[slot->source - 1];
    store_relaxed(&queue->len[queue_active(load_relaxed(&queue->sel))], 0);
    store_relaxed(&queue->ring, 0); /* of the batch as it was */
    crash_order();
}

bool postpone_move(struct worker *w)
{
    const struct segment *segment = &w->engine->segment;
    const struct segment_commit *slot = w->slot;
    /* a direct one is like any other: its redo is done */
    if (slot->source == 0 || slot->source > segment->n_queues || slot->wrap)
        return false;
    uint32_t id = slot->source - 1, source = slot->source;
    struct segment_queue *queue = &segment->queues[id];
    uint32_t sel = load_relaxed(&queue->sel);
    unsigned active = queue_active(sel);
    uint64_t cursor = commit_cursor(slot), tail = commit_tail(slot),
             behind = load_relaxed(&queue->len[active]);
    if (!queue_has_batch(sel) || cursor >= tail ||
        tail - cursor + behind > segment_window_bytes(segment, id) - ENVELOPE_SIZE_MAX - tail)
        return false;
    uint8_t *batch = segment_window(segment, id, active ^ 1),
            *later = segment_window(segment, id, active);
    actor_ref actor = ((const struct envelope *)(batch + cursor))->to;
    uint64_t end = postpone_copy_those(batch, tail, batch + cursor, batch + tail, actor, false);
    end = postpone_copy_those(batch, end, later, later + behind, actor, false);
    if (end == tail)
        return false;
    end = postpone_copy_those(batch, end, batch + cursor, batch + tail, actor, true);
    end = postpone_copy_those(batch, end, later, later + behind, actor, true);
    POINT(recovery);
    /* postpone.PP1; w->wrap is 0: nothing runs yet */
    commit_flip(w, source, tail, end, 0, 1, COMMIT_POSTPONED);
    POINT(recovery);
    postpone_redo(w->engine, w->slot);
    return true;
}
