/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/send/place.h"

#include "daemon/engine/core/tag.h"
#include "daemon/engine/observe/observe.h"
#include "daemon/engine/send/overflow.h"

static struct envelope place_init_record(const struct worker *w)
{
    return (struct envelope){ .to = w->place.newborn,
                              .from = w->ctx.self,
                              .type = MESSAGE_TYPE_INIT,
                              .flags = ENVELOPE_INIT };
}

/* place.U5 */
static bool place_newborn_is_spared(const struct worker *w)
{
    return place_newborn_is_sent_to(w) &&
           !overflow_drops_oldest(w->engine, w->place.newborn, w->place.newborn_queue);
}

/* In a traced message's turn. */
static __attribute__((noinline)) void place_newborn_settle_traced(struct worker *w)
{
    bool spared = place_newborn_is_spared(w);
    struct envelope init = place_init_record(w);
    init.prefix = (uint8_t)tag_prefix(w);
    init.length = (uint16_t)envelope_prefix_bytes(init.prefix);
    place_newborn_settled(w);
    if (spared)
        return;
    struct envelope *out = place_record(w, w->place.newborn_queue, envelope_record_size(&init));
    *out = init;
    tag_put(w, out, 0);
}

void place_newborn_settle(struct worker *w)
{
    if (unlikely(tag_of(w))) {
        place_newborn_settle_traced(w);
        return;
    }
    bool spared = place_newborn_is_spared(w);
    struct envelope init = place_init_record(w);
    place_newborn_settled(w);
    if (!spared)
        *place_record(w, w->place.newborn_queue, envelope_size(0)) = init;
}

bool place_make_tail_room(struct worker *w, uint64_t size)
{
    uint64_t committed = commit_cursor(w->slot);
    if (w->batch.wrap == 0) {
        if (committed < size + RING_PAGE_BYTES / 2)
            return false; /* too little has been consumed to be worth it */
        if (w->place.newborn && w->place.newborn_first == place_newborn_behind(w)) {
            /* nothing stands there yet (place.U5) */
            w->place.newborn_first = (uint64_t *)w->batch.base;
            *w->place.newborn_first = 0;
        }
        w->batch.wrap = w->batch.tail;
        w->batch.tail = 0;
        store_relaxed(&w->outbox.wanted, 0); /* a batch in two pieces is committed in full */
        w->place.held_wanted = 0;
    }
    w->batch.tail_limit = committed; /* place.U4 */
    return w->batch.tail + size <= w->batch.tail_limit;
}

void place_unwrap(struct worker *w)
{
    observe_unwrap(w);
    w->batch.cursor = 0;
    w->batch.wrap = 0;
    w->batch.tail_limit = w->batch.ring;
    commit_flip(w, w->batch.source, 0, w->batch.tail, w->outbox.length, 0, 0);
}
