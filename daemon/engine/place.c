/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/place.h"

bool place_make_tail_room(struct worker *w, uint64_t size)
{
    uint64_t committed = commit_cursor(w->slot);
    if (w->wrap == 0) {
        if (committed < size + RING_PAGE_BYTES / 2)
            return false; /* too little has been consumed to be worth it */
        w->wrap = w->tail;
        w->tail = 0;
        store_relaxed(&w->out_wanted, 0); /* a batch in two pieces is committed in full */
    }
    w->tail_limit = committed; /* U4 */
    return w->tail + size <= w->tail_limit;
}

void place_unwrap(struct worker *w)
{
    w->cursor = 0;
    w->wrap = 0;
    w->tail_limit = w->ring;
    commit_flip(w, w->source, 0, w->tail, w->out, 0, 0);
}
