/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/commit/durable.h"

#include <string.h>

#include "daemon/engine/base/points.h"
#include "daemon/engine/commit/commit.h"

struct segment_state *durable_begin(struct worker *w, uint32_t slot, uint32_t size)
{
    struct segment_undo *undo = segment_undo(&w->engine->segment, w->id);
    struct segment_state *state = durable_state(w->engine, slot);
    /* A torn copy is harmless: the tag is an older count. */
    undo->slot = slot;
    undo->size = size;
    undo->generation = load_relaxed(&state->generation);
    memcpy(undo->bytes, state->bytes, size);
    crash_order();
    STEP(undo_tag, store_relaxed(&undo->tag, commit_count(w)));
    crash_order();
    POINT(undo);
    return state;
}

bool durable_undo(struct engine *e, uint32_t id)
{
    const struct segment_undo *undo = segment_undo(&e->segment, id);
    if (load_relaxed(&undo->tag) != segment_count(&e->segment.workers[id]))
        return false;
    struct segment_state *state = durable_state(e, undo->slot);
    memcpy(state->bytes, undo->bytes, undo->size);
    POINT(recovery);
    store_relaxed(&state->generation, undo->generation);
    crash_order();
    return true;
}
