/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/actors/unbegun.h"

#include "daemon/engine/core/events.h"
#include "daemon/engine/segment/slot.h"

/* The last one and its reason are two words, and may be of two actors: they are an example. */
void unbegun_note(struct worker *w, actor_ref ref, enum envelope_reason reason)
{
    struct engine *e = w->engine;
    const struct segment_actor *durable = &e->segment.actors[actor_ref_slot(ref)];
    uint32_t type = slot_word_type(load_relaxed(&durable->word));
    struct unbegun *of = &e->types.unbegun[type];
    store_relaxed(&of->last, ref);
    store_relaxed(&of->by, durable->spawned_by);
    store_relaxed(&of->reason, reason);
    if (atomic_fetch_add_explicit(&of->n, 1, memory_order_release) == 0) /* unbegun.UB1 */
        events_push(e, ENGINE_EVENT_TYPE_UNBEGUN, type, 0, 0);
}

uint32_t engine_type_unbegun(struct engine *e, uint32_t type, struct engine_unbegun_view *ret_view)
{
    struct unbegun *of = &e->types.unbegun[type];
    uint32_t n = atomic_exchange_explicit(&of->n, 0, memory_order_acquire);
    *ret_view = (struct engine_unbegun_view){ .last = load_relaxed(&of->last),
                                              .by = load_relaxed(&of->by),
                                              .reason = load_relaxed(&of->reason) };
    return n;
}
