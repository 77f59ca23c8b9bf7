/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/actors/spawn.h"
#include "daemon/engine/actors/live.h"

#include <errno.h>
#include <string.h>

#include "daemon/common/name.h"
#include "daemon/engine/actors/actor_names.h"
#include "daemon/engine/actors/actors.h"
#include "daemon/engine/actors/brief.h"
#include "daemon/engine/actors/placement.h"
#include "daemon/engine/base/points.h"
#include "daemon/engine/base/probe.h"
#include "daemon/engine/commit/outbox.h"
#include "daemon/engine/segment/slot.h"
#include "daemon/engine/send/place.h"

/* What a spawner asks for. */
struct spawn_request {
    uint32_t type;
    actor_ref by;
    const struct engine_spawn *spawn;
};

/* A few words, mostly: not worth a call. */
static inline void spawn_args_copy(uint8_t *to, const uint8_t *from, size_t size)
{
    for (; size >= 8; size -= 8, to += 8, from += 8)
        memcpy(to, from, 8);
    for (; size > 0; size--)
        *to++ = *from++;
}

/* The slot's word is stored last; a name entry counts only once its slot is live with this
 * generation. */
static int spawn_slot_reserve(struct worker *w, const struct spawn_request *request, uint32_t slot,
                              uint32_t generation, uint32_t queue)
{
    struct engine *e = w->engine;
    struct segment_actor *durable = &e->segment.actors[slot];
    const struct engine_spawn *spawn = request->spawn;
    actor_ref ref = actor_ref_make(slot, generation);
    POINT(spawn_slot, durable, slot_word(generation, request->type, ACTOR_SLOT_LIVE));
    durable->name = 0;
    durable->queue = (uint16_t)queue;
    durable->args_size = (uint16_t)spawn->args_size;
    durable->spawn_worker = w->id;
    w->actors.spawned_count = commit_count(w);
    engine_check("actors.A1", !spawn->at_once || spawn->name);
    /* no count is ever 0: it is there, whatever becomes of this turn */
    durable->spawn_count = spawn->at_once ? 0 : commit_count(w);
    durable->spawned_by = request->by;
    durable->account = spawn->account;
    spawn_args_copy(e->segment.args + (uint64_t)slot * ODEON_SPAWN_ARGS_MAX, spawn->args,
                    spawn->args_size);
    int r = 0;
    if (spawn->name) {
        pthread_mutex_lock(&e->actors.names_mutex);
        r = actor_names_take(e, spawn->name, ref);
        if (r == 0) {
            if (spawn->at_once) /* who finds the name finds it alive */
                store_release(&e->actors.table[slot].key,
                              actor_key(generation, queue, request->type,
                                        actors_kind_at_spawn(e, request->type)));
            store_release(&durable->word, slot_word(generation, request->type, ACTOR_SLOT_LIVE));
        }
        pthread_mutex_unlock(&e->actors.names_mutex);
    } else {
        store_release(&durable->word, slot_word(generation, request->type, ACTOR_SLOT_LIVE));
    }
    return r;
}

/* A queue with room for the init record. */
static int spawn_queue_choose(struct worker *w, const struct spawn_request *request,
                              uint32_t *ret_queue)
{
    const struct engine_spawn *spawn = request->spawn;
    int r = placement_choose(w, request->type, spawn->placement, spawn->place, ret_queue);
    if (r < 0 || place_has_room(w, *ret_queue, envelope_size(0)))
        return r;
    placement_undo(w, *ret_queue);
    return outbox_fits(w, envelope_size(0)) ? -EAGAIN : -ENOBUFS;
}

static int spawn_reserve(struct worker *w, const struct spawn_request *request, actor_ref *ret_ref)
{
    struct engine *e = w->engine;
    uint32_t queue;
    int r = spawn_queue_choose(w, request, &queue);
    if (r < 0)
        return r;
    uint32_t slot = w->actors.slots[w->actors.n_slots - 1];
    uint32_t generation = slot_word_generation(load_relaxed(&e->segment.actors[slot].word));
    if (generation == 0)
        generation = 1;
    r = spawn_slot_reserve(w, request, slot, generation, queue);
    if (r < 0) {
        placement_undo(w, queue);
        return r;
    }
    w->actors.n_slots--;
    actor_ref ref = actor_ref_make(slot, generation);
    store_release(&e->actors.table[slot].key, actor_key(generation, queue, request->type,
                                                        actors_kind_at_spawn(e, request->type)));
    PROBE(spawn, request->type, ref);
    place_newborn(w, ref, queue,
                  place_newborn_is_behind(w, queue) ? place_newborn_behind(w)
                                                    : place_newborn_logged(w, queue));
    *ret_ref = ref;
    return 0;
}

int spawn_actor(struct worker *w, uint32_t type, actor_ref by, const struct engine_spawn *spawn,
                actor_ref *ret_ref)
{
    struct engine *e = w->engine;
    const struct spawn_request request = { .type = type, .by = by, .spawn = spawn };
    if (type == 0 || type >= ODEON_ACTOR_TYPES_MAX)
        return -ESRCH;
    if (spawn->args_size > ODEON_SPAWN_ARGS_MAX)
        return -E2BIG;
    if (spawn->name && !name_is_good_for_actor(spawn->name))
        return -EINVAL;
    if (w->actors.n_slots == 0) {
        actors_slots_refill(w);
        if (w->actors.n_slots == 0)
            return -ENOSPC;
    }
    if (w->place.newborn)
        place_newborn_settle(w);
    live_add(w, type, 1);
    if (w->is_detached)
        /* retiring a type does not wait for these threads: one of the two sees the other */
        full_barrier();
    int r = load_acquire(&e->types.spawnable[type]) ? spawn_reserve(w, &request, ret_ref) : -ESRCH;
    if (r < 0) {
        live_add(w, type, -1);
        return r;
    }
    stat_add(w, STAT_actors_created, 1);
    return 0;
}

/* ---- brief lives (brief.h) ---- */

/* Whatever is not as usual. */
static __attribute__((noinline)) int spawn_otherwise(struct worker *w, uint32_t type,
                                                     enum engine_placement placement,
                                                     actor_ref *ret_ref)
{
    const struct engine_spawn spawn = { .placement = placement };
    return spawn_actor(w, type, w->ctx.self, &spawn, ret_ref);
}

/* Of the block of siblings that goes on, NO_QUEUE: another one begins. */
static inline uint32_t spawn_brief_queue(const struct worker *w, uint32_t type,
                                         enum engine_placement placement)
{
    if (placement == PLACE_NEAR)
        return w->batch.queue;
    return w->placing.block_left > 0 && w->placing.block_type == type ? w->placing.block_queue
                                                                      : NO_QUEUE;
}

/* Where the init record would stand, NULL: it has to be looked for. */
static inline uint64_t *spawn_brief_room(const struct worker *w, uint32_t queue)
{
    if (likely(place_newborn_is_behind(w, queue)))
        return place_newborn_behind(w);
    return queue != w->batch.queue && w->outbox.length < w->outbox.room && w->outbox.has_room[queue]
               ? place_newborn_logged(w, queue)
               : NULL;
}

/* As spawn_slot_reserve(), without a name and arguments. */
static inline void spawn_brief_store(struct worker *w, struct segment_actor *durable,
                                     uint32_t queue, uint64_t live)
{
    POINT(spawn_slot, durable, live);
    durable->spawn_count = w->actors.spawned_count = commit_count(w);
    slot_place_store(durable, w->id, queue, 0);
    durable->spawned_by = w->ctx.self;
    durable->name = 0;
    durable->account = 0;
    store_release(&durable->word, live);
}

/* Of brief.kind, in `queue`, with room at `first`. */
static inline actor_ref spawn_brief(struct worker *w, uint32_t type, uint32_t queue,
                                    uint64_t *first)
{
    uint32_t slot = w->actors.slots[--w->actors.n_slots];
    struct segment_actor *durable = &w->turn.slots[slot];
    uint64_t upper = load_relaxed(&durable->word) & ACTOR_REF_GENERATIONS;
    if (unlikely(upper == 0))
        upper = actor_ref_upper(actor_ref_make(0, 1));
    spawn_brief_store(w, durable, queue, upper | slot_word(0, type, ACTOR_SLOT_LIVE));
    w->actors.brief.n_spawned++;
    store_release(&w->turn.actors[slot].key,
                  upper | (brief_kind(type, queue) ^ ACTOR_LIVE ^ ACTOR_NEW));
    actor_ref ref = upper | actor_ref_make(slot, 0);
    PROBE(spawn, type, ref);
    place_newborn(w, ref, queue, first);
    return ref;
}

/* Another kind of brief lives than the last one. */
static __attribute__((noinline)) int spawn_brief_kind(struct worker *w, uint32_t type,
                                                      enum engine_placement placement,
                                                      actor_ref *ret_ref)
{
    uint32_t queue = spawn_brief_queue(w, type, placement);
    return type > 0 && type < ODEON_ACTOR_TYPES_MAX && queue != NO_QUEUE &&
                   brief_begin_kind(w, brief_kind(type, queue))
               ? spawn_plain(w, type, placement, ret_ref)
               : spawn_otherwise(w, type, placement, ret_ref);
}

/* All that does not follow the shortest way is left to functions of its own, by a jump. */
int spawn_plain(struct worker *w, uint32_t type, enum engine_placement placement,
                actor_ref *ret_ref)
{
    uint32_t queue = spawn_brief_queue(w, type, placement);
    if (unlikely(w->actors.brief.kind != brief_kind(type, queue)))
        return spawn_brief_kind(w, type, placement, ret_ref);
    uint64_t *first = spawn_brief_room(w, queue);
    if (unlikely(!first || w->actors.n_slots == 0))
        return spawn_otherwise(w, type, placement, ret_ref);
    if (w->place.newborn) {
        if (unlikely(!place_newborn_is_sent_to(w)))
            return spawn_otherwise(w, type, placement, ret_ref);
        place_newborn_settled(w);
    }
    if (placement != PLACE_NEAR)
        w->placing.block_left--;
    *ret_ref = spawn_brief(w, type, queue, first);
    return 0;
}
