/* SPDX-License-Identifier: Apache-2.0 */
/* Actors: slots, their states, and the end (docs/engine.md, First messages). How one begins is
 * spawn.h's, what it is called actor_names.h's.
 *
 * Threads: an end by whichever worker id runs the turn; slots out of a worker's own cache, beyond
 * that under a mutex.
 *
 * actors.A1  A slot's word is LIVE from before the commit that spawns its actor; the spawn tag
 *     tells whether that commit came.  A slot whose tag equals its worker's count was never
 *     committed [SLOT_NOTAG].
 * actors.A2  An actor is initialised by the first message that reaches it, whichever that is; the
 *     init record only makes sure that one does.  So nothing that can reach an actor can reach it
 *     before its init, whatever way it travelled.
 * actors.A3  Ending is a redo: after the commit that says so, by generation [REDO_BLIND].
 * actors.A4  A slot has each generation once.  When the last one has ended, the slot is spent:
 *     nobody is put into it as long as the segment lives, neither an actor nor a port.
 * actors.A5  A slot that has become free waits behind SLOT_RING others of its worker before it is
 *     used again, so that generations are spent evenly, and a stale reference meets nobody for
 *     long.
 * actors.A6  A state that is not kept is the actor's once its init has succeeded: who has none has
 *     not begun, also when it has been set aside within its init.
 * actors.A7  The caches of all ids have an eighth of the slots at most, two each at least, and the
 *     rings (actors.A5) beside them: so many can be free while another id finds none.
 */
#pragma once

#include "daemon/engine/core/core.h"

int actors_init(struct engine *engine);
void actors_fini(struct engine *engine);
/* Before workers run: those that end with an executor have ended, also where the plugin of their
 * type is not there. */
void actors_end_stopped(struct engine *engine);
/* What engine_actor_type_register_made() and engine_actor_type_release() are, but for what the
 * type's actors are owed (timers/owed.h). */
int actor_types_register(struct engine *engine, const struct engine_actor_type_info *info,
                         struct actor_type *made, uint32_t *ret_id);
int actor_types_release(struct engine *engine, uint32_t id);
/* The id of a type's name, old or new, or what is in its way. */
int actor_types_look(struct engine *engine, const struct engine_actor_type_info *info,
                     uint32_t *ret_id);
/* Large pages for what senders and workers look up of receivers: one TLB entry for many of them.
 * Workers may be running. */
void actors_widen(struct engine *engine);
/* Free slots that an id may set aside (actors.A7), SLOT_CACHE at most. */
uint32_t actors_cache_max(const struct engine *engine);
/* Half a cache of free slots, as far as there are any. */
void actors_slots_refill(struct worker *w);
/* The free slots that this id has set aside go back to the common stock.  Its thread has ended. */
void actors_slots_return(struct worker *w);
/* From the segment: keys, free slots, counts (recovery pass 7). */
void actors_rebuild(struct engine *engine);

/* From the segment: at recovery no type has been registered. */
static inline enum actor_kind actors_kind_at_spawn(const struct engine *e, uint32_t type)
{
    return e->segment.actor_types[type].restart == RESTART_KEEP ? ACTOR_KEPT : ACTOR_NEW;
}
/* Is a message for an actor of this type run, or refused whatever it says: its plugin is not there,
 * or the type is in quarantine? */
static inline bool actors_are_run(const struct engine *e, uint32_t type)
{
    return load_relaxed(&e->types.known[type]) &&
           !load_relaxed(&e->segment.actor_types[type].quarantined);
}
/* Has the spawn of this slot been committed?  For the first message only. */
bool actors_is_committed(struct engine *engine, uint32_t slot);
static inline struct actor_type *actors_type_of(const struct worker *w, const struct actor *actor)
{
    /* not NULL while an actor of it lives */
    return load_relaxed(&w->turn.types[actor_key_type(load_relaxed(&actor->key))]);
}
static inline void **actors_state_of(const struct worker *w, const struct actor *actor)
{
    return &w->turn.states[actor - w->turn.actors];
}
/* How an actor, or the port that has a slot, has ended: the first three by a message of its own,
 * which says what becomes of its state. */
enum actor_end {
    ACTOR_END_DELETE = ALLOCATION_DELETE,
    ACTOR_END_DESTROY = ALLOCATION_DESTROY,
    ACTOR_END_FINISHED = ALLOCATION_FINISHED,
    ACTOR_END_PORT, /* its client is gone */
    ACTOR_END_TYPE, /* a crash has left it over, and its type does not survive one */
    ACTOR_END_REDO, /* the executor before has committed it: recovery, of the segment alone */
};
/* Below the flip that says so, the one place where anybody ends: the slot is free, its generation
 * one more, and says why it ended. Nothing if that has been done. True: something hangs at the slot
 * (timers.h, watches.h); an actor's is then not given back, which is the caller's to see to. */
bool actors_ended(struct worker *w, actor_ref who, enum actor_end how, enum envelope_reason why);
/* The slot of an actor that has ended is anybody's (actors.A5). */
void actors_slot_give_back(struct worker *w, uint32_t slot);

/* The reference that the port's slot will have next, 0 if it is spent (actors.A4), and making it
 * so. */
actor_ref actors_port_ref_next(struct engine *engine, uint32_t port);
void actors_make_port(struct engine *engine, uint32_t port, actor_ref ref);

/* What all actors of types without state share: there is nothing to keep apart. */
extern uint64_t actors_no_state;
/* Does the running actor accept a message of this type? */
static inline bool actors_self_accepts(const struct worker *w, uint32_t message_type)
{
    uint64_t key = load_relaxed(&w->turn.actors[actor_ref_slot(w->ctx.self)].key);
    const struct actor_type *self = load_relaxed(&w->turn.types[actor_key_type(key)]);
    return self && self->index_of[message_type] != BEHAVIOUR_NONE;
}
/* While an actor is aside, its state's address alone says whether it has begun: its runner stores
 * it, and those who only show it look from another thread. */
static inline void actors_state_set(const struct worker *w, const struct actor *actor, void *state)
{
    __atomic_store_n(actors_state_of(w, actor), state, __ATOMIC_RELAXED);
}
static inline bool actors_has_state(const struct engine *e, uint32_t slot)
{
    return __atomic_load_n(&e->actors.states[slot], __ATOMIC_RELAXED) != NULL;
}
/* State of an actor: zeroed, from the type's kept storage when there is some. */
void *actors_state_new(struct worker *w, struct actor_type *type);
void actors_state_drop(struct worker *w, struct actor_type *type, void *state,
                       enum engine_allocation how);

/* Frees what is kept for a type: its next version may have larger states. The worker is gone, or
 * has passed a quiescent point since the type was made unavailable. It may be running all the same,
 * so what is freed goes to the pool of `by`, who is the caller. */
void actors_state_forget(struct worker *by, struct worker *w, const struct actor_type *type);
