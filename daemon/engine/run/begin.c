/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/run/begin.h"

#include <string.h>

#include "daemon/engine/actors/actors.h"
#include "daemon/engine/commit/commit.h"
#include "daemon/engine/commit/durable.h"
#include "daemon/engine/segment/slot.h"
#include "daemon/engine/timers/owed.h"

/* A guessed reference to an actor that does not exist yet? */
static bool begin_is_uncommitted(struct worker *w, uint32_t slot)
{
    const struct segment_actor *durable = &w->engine->segment.actors[slot];
    return durable->spawn_worker == w->id ? durable->spawn_count == commit_count(w)
                                          : !actors_is_committed(w->engine, slot);
}

/* The type of the actor in this slot, or why nothing of it is run. */
static inline enum envelope_reason begin_type_look(const struct engine *e, uint32_t slot,
                                                   struct actor_type **ret_type)
{
    *ret_type =
        load_acquire(&e->types.known[slot_word_type(load_relaxed(&e->segment.actors[slot].word))]);
    if (!*ret_type)
        return REASON_TYPE_NOT_LOADED;
    return load_relaxed(&e->segment.actor_types[(*ret_type)->id].quarantined) ? REASON_QUARANTINED
                                                                              : REASON_NONE;
}

/* The same, for one that has not begun: then it is owed that it does. */
static enum envelope_reason begin_type(struct engine *e, uint32_t slot,
                                       struct actor_type **ret_type)
{
    enum envelope_reason reason = begin_type_look(e, slot, ret_type);
    if (likely(reason == REASON_NONE))
        return reason;
    owed_note(e, slot_word_type(load_relaxed(&e->segment.actors[slot].word)));
    return begin_type_look(e, slot, ret_type); /* it may be run by now (owed.h) */
}

/* An init answers its spawner, and no message: the one that comes behind it is put back for its
 * behaviour. */
static int begin_init(struct worker *w, const struct actor_type *type, uint32_t slot, void *state)
{
    const struct segment *s = &w->engine->segment;
    struct engine_context *ctx = &w->ctx;
    if (!type->init)
        return 0;
    actor_ref sender = ctx->sender;
    uint64_t meta = ctx->meta, correlation = ctx->correlation, kind = ctx->kind, hops = ctx->hops;
    ctx->sender = s->actors[slot].spawned_by;
    ctx->meta = envelope_meta(MESSAGE_TYPE_INIT, 0, 0);
    ctx->correlation = ctx->kind = ctx->hops = 0;
    int r = type->init(state, s->args + (uint64_t)slot * ODEON_SPAWN_ARGS_MAX,
                       s->actors[slot].args_size, ctx);
    ctx->sender = sender;
    ctx->meta = meta;
    ctx->correlation = correlation;
    ctx->kind = kind;
    ctx->hops = hops;
    return r;
}

enum envelope_reason begin_actor(struct worker *w, struct actor *actor, actor_ref ref)
{
    uint32_t slot = actor_ref_slot(ref);
    if (begin_is_uncommitted(w, slot))
        return REASON_NO_SUCH_ACTOR;
    struct actor_type *type;
    enum envelope_reason reason = begin_type(w->engine, slot, &type);
    if (unlikely(reason != REASON_NONE))
        return reason;
    void *state = actors_state_new(w, type);
    if (!state)
        return REASON_INIT_FAILED;
    if (begin_init(w, type, slot, state) != 0) {
        actors_state_drop(w, type, state, ALLOCATION_DELETE);
        return REASON_INIT_FAILED;
    }
    actors_state_set(w, actor, state); /* actors.A6 */
    uint64_t key = load_relaxed(&actor->key);
    /* it may have been set aside while it was initialised */
    if (likely(actor_key_kind(key) == ACTOR_NEW))
        store_release(&actor->key, actor_key(actor_key_generation(key), actor_key_destination(key),
                                             actor_key_type(key), ACTOR_LIVE));
    return REASON_NONE;
}

enum envelope_reason begin_kept(struct worker *w, struct actor *actor, actor_ref ref)
{
    struct engine *e = w->engine;
    uint32_t slot = actor_ref_slot(ref), generation = actor_ref_generation(ref);
    bool is_new = !durable_is_initialised(e, slot, generation);
    if (is_new && begin_is_uncommitted(w, slot))
        return REASON_NO_SUCH_ACTOR;
    struct actor_type *type;
    enum envelope_reason reason =
        is_new ? begin_type(e, slot, &type) : begin_type_look(e, slot, &type);
    if (unlikely(reason != REASON_NONE))
        return reason;
    struct segment_state *state = durable_begin(w, slot, type->state_size);
    *actors_state_of(w, actor) = state->bytes;
    if (!is_new)
        return REASON_NONE;
    memset(state->bytes, 0, type->state_size);
    if (begin_init(w, type, slot, state->bytes) != 0)
        return REASON_INIT_FAILED;
    store_relaxed(&state->generation, generation); /* durable.K1 */
    return REASON_NONE;
}

bool begin_is_new(const struct worker *w, uint64_t key, actor_ref ref)
{
    return actor_key_kind(key) == ACTOR_NEW ||
           (actor_key_kind(key) == ACTOR_ASIDE && !w->turn.states[actor_ref_slot(ref)]) ||
           (actor_key_kind(key) == ACTOR_KEPT &&
            !durable_is_initialised(w->engine, actor_ref_slot(ref), actor_ref_generation(ref)));
}
