/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/run/traced.h"

#include "daemon/engine/base/points.h"
#include "daemon/engine/observe/observe.h"
#include "daemon/engine/send/place.h"

/* Is the actor that it names there? */
static bool traced_is_there(uint64_t key, const struct envelope *envelope)
{
    return actor_key_generation(key) == actor_ref_generation(envelope->to) && actor_key_lives(key);
}

uint64_t traced_id(const struct worker *w, const struct actor *actor,
                   const struct envelope *envelope)
{
    uint64_t key = load_relaxed(&actor->key);
    return traced_is_there(key, envelope) && observe_is_passed_on(w, key)
               ? 0
               : VALUE(trace_id, envelope_trace(envelope), envelope);
}

void traced_note(const struct worker *w, const struct actor *actor, const struct envelope *envelope,
                 struct observe_turn *turn)
{
    uint64_t key = load_relaxed(&actor->key);
    turn->trace = envelope_trace(envelope);
    turn->sent_ns = envelope_sent_ns(envelope);
    turn->hops = (uint8_t)envelope_hops(envelope);
    if (traced_is_there(key, envelope))
        turn->type = segment_type_of_key(&w->engine->segment, actor_key_type(key));
}

struct traced traced_begin(struct worker *w, uint64_t id)
{
    struct traced traced = { .room = w->outbox.room, .queue = w->batch.queue };
    place_close_tail(w);
    w->outbox.room = 0;
    w->place.trace = w->ctx.trace = id;
    return traced;
}

/* Where an actor has been set aside meanwhile the batch is another queue's, and the outbox closed
 * for that (set_aside.A3). */
void traced_end(struct worker *w, const struct traced *traced)
{
    if (w->batch.queue == traced->queue)
        w->outbox.room = traced->room;
    STEP(trace_end, w->place.trace = w->ctx.trace = 0);
}
