/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/actors/spawn.h"
#include "daemon/engine/actors/live.h"

#include <errno.h>
#include <string.h>

#include "daemon/common/name.h"
#include "daemon/engine/actors/actor_names.h"
#include "daemon/engine/actors/actors.h"
#include "daemon/engine/actors/placement.h"
#include "daemon/engine/base/points.h"
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
    durable->spawn_count = w->actors.spawned_count = commit_count(w);
    durable->spawned_by = request->by;
    durable->account = spawn->account;
    spawn_args_copy(e->segment.args + (uint64_t)slot * ODEON_SPAWN_ARGS_MAX, spawn->args,
                    spawn->args_size);
    int r = 0;
    if (spawn->name) {
        pthread_mutex_lock(&e->actors.names_mutex);
        r = actor_names_take(e, spawn->name, ref);
        if (r >= 0) {
            durable->name = (uint32_t)r + 1;
            store_release(&durable->word, slot_word(generation, request->type, ACTOR_SLOT_LIVE));
            r = 0;
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
    place_newborn(w, ref, queue, request->by);
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
