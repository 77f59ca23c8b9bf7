/* SPDX-License-Identifier: Apache-2.0 */
/* Brief lives: actors that a worker spawns, runs once and ends, one after the other. What their
 * spawns, beginnings and ends ask about type and queue is the same each time: it is asked once, and
 * their counts are added up apart. Whatever is not as usual goes the general way (spawn.h, begin.h,
 * special.h), which makes no difference to anybody but for the time that it takes.
 *
 * Threads: a worker's own, from within a turn; of a worker that is held in a handler (hold.H1), the
 * control thread.
 *
 * brief.L1  `kind` is the lower half of the key, ACTOR_LIVE, of actors whose type may be spawned
 *     and keeps no states, in an ordinary queue of a worker that runs. It has been asked since the
 *     worker's last quiescent point: publication forgets it, and a run ends with one.
 * brief.L2  n_spawned and n_ended are of that kind, and not counted anywhere else until they are
 *     published: at a look, before what they have sent is carried out, and when the kind changes.
 * brief.L3  `begun` is the last actor that began with nothing but a key: its type has no init, no
 *     fini and no state. References are not used again, so it may have ended since.
 */
#pragma once

#include "daemon/engine/actors/actors.h"
#include "daemon/engine/actors/live.h"
#include "daemon/engine/base/probe.h"
#include "daemon/engine/core/core.h"
#include "daemon/engine/segment/slot.h"

static inline uint32_t brief_kind(uint32_t type, uint32_t queue)
{
    return (uint32_t)actor_key(0, queue, type, ACTOR_LIVE);
}

/* Another kind than the last one. False: it cannot be one (brief.L1). */
bool brief_begin_kind(struct worker *w, uint32_t kind);
void brief_publish_counts(struct worker *w);
/* brief.L2 */
static inline void brief_publish(struct worker *w)
{
    if (w->actors.brief.kind)
        brief_publish_counts(w);
}

/* Is an end at hand that leaves no more than a slot to be given back? */
static inline bool brief_may_end(const struct worker *w, actor_ref who, uint64_t key)
{
    return w->actors.brief.begun == who && w->actors.brief.kind == (uint32_t)key &&
           w->actors.ring_n == SLOT_RING && w->actors.n_slots < w->actors.slots_max &&
           actor_ref_generation(who) != ACTOR_GENERATION_SPENT;
}

/* What actors_ended() does of such an actor, below the commit that says so (actors.A3). True: its
 * slot has not been given back, for something hangs at it. */
static inline bool brief_ended(struct worker *w, uint32_t slot, actor_ref who)
{
    struct actor_store *store = &w->actors;
    uint64_t next = slot_word(actor_ref_generation(who) + 1, 0, ACTOR_SLOT_FREE);
    store_release(&w->turn.actors[slot].key, next | actor_key(0, NO_DESTINATION, 0, ACTOR_FREE));
    store_release(&w->turn.slots[slot].word, next | slot_word(0, REASON_FINISHED, ACTOR_SLOT_FREE));
    PROBE(end, who, REASON_FINISHED);
    w->turn.states[slot] = NULL;
    store->brief.n_ended++;
    if (unlikely(load_relaxed(&w->engine->timers.attached[slot]) != 0)) /* watches.W1 */
        return true;
    /* actors.A5: the ring is full, and goes on by one */
    uint32_t *oldest = &store->ring[store->ring_first++ % SLOT_RING];
    store->slots[store->n_slots++] = *oldest;
    *oldest = slot;
    return false;
}
