/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/send/detour.h"

#include <string.h>

#include "daemon/engine/commit/outbox.h"
#include "daemon/engine/segment/queue.h"
#include "daemon/engine/send/place.h"
#include "daemon/engine/signal/wake.h"

/* The aside queue of this actor; NO_QUEUE: it has none. */
static uint32_t detour_queue_of(const struct engine *e, actor_ref ref)
{
    for (uint32_t i = 0; i < e->segment.workers_max; i++)
        if (load_relaxed(&e->aside[i]) == ref)
            return e->segment.aside_first + i;
    return NO_QUEUE;
}

void detour_kind_set(struct actor *actor, enum actor_kind kind)
{
    uint64_t key = load_relaxed(&actor->key);
    store_release(&actor->key, actor_key(actor_key_generation(key), actor_key_destination(key),
                                         actor_key_type(key), kind));
}

/* detour.A4 */
void detour_come_back(struct worker *w, struct actor *actor, actor_ref ref)
{
    struct engine *e = w->engine;
    uint32_t aside = detour_queue_of(e, ref);
    if (actor_key_generation(load_relaxed(&actor->key)) != actor_ref_generation(ref) ||
        aside == NO_QUEUE || w->batch.queue == aside || w->outbox.sent_aside)
        return;
    uint64_t own = load_acquire(e->sources[aside].own);
    if (own_is_running(own) || !owner_take(&e->sources[aside], own_worker(own), w->id))
        return;
    bool empty = !queue_has_work(&e->segment.queues[aside]);
    if (empty) {
        store_relaxed(&e->aside[aside - e->segment.aside_first], 0);
        detour_kind_set(actor, w->turn.states[actor - w->turn.actors] ? ACTOR_LIVE : ACTOR_NEW);
        place_close_tail(w); /* what it has sent from there to this queue comes first (place.U3) */
    }
    owner_release(&e->sources[aside], own_worker(own));
    full_barrier();
    if (!empty)
        source_signal(e, w, aside); /* its bit may have been taken in vain meanwhile */
}

enum detour_verdict detour_look(struct worker *w, actor_ref ref)
{
    uint32_t aside = detour_queue_of(w->engine, ref);
    if (w->batch.queue == aside)
        return DETOUR_RUN;
    return outbox_look_for_room(w, aside) ? DETOUR_SEND_ON : DETOUR_FULL;
}

bool detour_is_full(const struct engine *e, actor_ref ref)
{
    uint32_t aside = detour_queue_of(e, ref);
    return aside != NO_QUEUE &&
           queue_backlog_bytes(&e->segment.queues[aside]) > e->segment.header->limit_bytes;
}

void detour_send_on(struct worker *w, const struct envelope *envelope, actor_ref ref)
{
    uint64_t size = envelope_record_size(envelope);
    memcpy(outbox_append(w, detour_queue_of(w->engine, ref), size), envelope, size);
    w->outbox.sent_aside = true;
    stat_add(w, STAT_passed_aside, 1);
}
