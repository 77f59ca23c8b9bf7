/* SPDX-License-Identifier: Apache-2.0 */
/* Actors: slots, names, spawning and ending (docs/engine.md, First messages).
 *
 * Threads: spawn and end by whichever worker id runs the turn; names under a mutex; slots out of a
 * worker's own cache, beyond that under a mutex.
 *
 * A1  A slot's word is LIVE from before the commit that spawns its actor; the spawn tag tells
 *     whether that commit came.  A slot whose tag equals its worker's count was never committed
 *     [SLOT_NOTAG].
 * A2  An actor is initialised by the first message that reaches it, whichever that is; the init
 *     record only makes sure that one does.  So nothing that can reach an actor can reach it before
 *     its init, whatever way it travelled.
 * A3  Ending is a redo: after the commit that says so, by generation [REDO_BLIND].
 */
#pragma once

#include "daemon/engine/core.h"

int actors_init(struct engine *engine);
void actors_fini(struct engine *engine);
/* Large pages for what senders and workers look up of receivers: one TLB entry for many of them.
 * Workers may be running. */
void actors_widen(struct engine *engine);
/* The free slots that this id has set aside go back to the common stock.  Its thread has ended. */
void actors_slots_return(struct worker *w);
/* From the segment: keys, free slots, counts (recovery pass 7). */
void actors_rebuild(struct engine *engine);

struct spawn_request {
    uint32_t type;
    enum engine_placement placement;
    uint32_t place;
    const char *name;
    const void *args;
    size_t args_size;
    actor_ref spawned_by;
    uint32_t account; /* segment_actor.account */
};
/* Reserves a slot, registers the name, sends the init record.  Takes effect with the commit. */
int actors_spawn(struct worker *w, const struct spawn_request *request, actor_ref *ret_ref);
/* Has the spawn of this slot been committed?  For the first message only. */
bool actors_is_committed(struct engine *engine, uint32_t slot);
/* After the commit: the slot is free, its generation one more. */
void actors_free_slot(struct worker *w, actor_ref ref);
int actors_lookup(struct worker *w, const char *name, actor_ref *ret_ref);

/* The reference that the port's slot will have next, and making it so. */
actor_ref actors_port_ref_next(struct engine *engine, uint32_t port);
void actors_make_port(struct engine *engine, uint32_t port, actor_ref ref);
void actors_end_port(struct worker *w, actor_ref ref);

/* State of an actor: zeroed, from the type's kept storage when there is some. */
void *actors_state_new(struct worker *w, struct actor_type *type);
void actors_state_drop(struct worker *w, struct actor_type *type, void *state,
                       enum engine_allocation how);

/* Frees what is kept for a type: its next version may have larger states. The worker is gone, or
 * has passed a quiescent point since the type was made unavailable. */
void actors_state_forget(struct worker *w, const struct actor_type *type);

/* {generation, type, state} of a slot's word. */
static inline uint64_t slot_word(uint32_t generation, uint32_t type, enum actor_slot_state state)
{
    return (uint64_t)generation << 32 | (uint64_t)type << 16 | state;
}
static inline uint32_t slot_word_generation(uint64_t word)
{
    return (uint32_t)(word >> 32);
}
static inline uint32_t slot_word_type(uint64_t word)
{
    return (word >> 16) & 0xffff;
}
static inline enum actor_slot_state slot_word_state(uint64_t word)
{
    return (enum actor_slot_state)(word & 0xff);
}
static inline uint32_t generation_next(uint32_t generation)
{
    return generation == UINT32_MAX ? 1 : generation + 1;
}
