/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/aside.h"

#include <string.h>

#include "daemon/engine/commit.h"
#include "daemon/engine/queue.h"

/* Copies those of [from, to) that are, or are not, for `actor`; the new end. */
static uint64_t copy_those(uint8_t *batch, uint64_t from, uint64_t to, uint64_t end, actor_ref actor, bool its)
{
    while (from < to) {
        const struct envelope *envelope = (const struct envelope *)(batch + from);
        uint64_t size = envelope_record_size(envelope);
        if ((envelope->to == actor) == its) {
            memcpy(batch + end, envelope, size);
            end += size;
        }
        from += size;
    }
    return end;
}

bool aside_move(struct worker *w)
{
    const struct segment *segment = &w->engine->segment;
    const struct segment_commit *slot = w->slot;
    if (slot->source == 0 || slot->source > segment->n_queues || slot->redo_how == COMMIT_DIRECT || slot->wrap)
        return false;
    uint32_t queue = slot->source - 1, sel = load_relaxed(&segment->queues[queue].sel);
    uint64_t cursor = commit_cursor(slot), tail = commit_tail(slot), bytes = tail - cursor;
    if (!queue_has_batch(sel) || cursor >= tail || bytes > segment_window_bytes(segment, queue) - ENVELOPE_SIZE_MAX - tail)
        return false;
    uint8_t *batch = segment_window(segment, queue, queue_active(sel) ^ 1);
    actor_ref actor = ((const struct envelope *)(batch + cursor))->to;
    uint64_t end = copy_those(batch, cursor, tail, tail, actor, false);
    if (end == tail)
        return false;
    end = copy_those(batch, cursor, tail, end, actor, true);
    INJECT(RECOVERY);
    w->wrap = 0;
    commit_flip(w, slot->source, tail, end, 0, 0, 0); /* AS1 */
    store_relaxed(&segment->queues[queue].ring, 0);   /* of the old batch */
    return true;
}
