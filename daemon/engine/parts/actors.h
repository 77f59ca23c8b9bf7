/* SPDX-License-Identifier: Apache-2.0 */
/* Actors: what senders look up of a receiver, and what a worker keeps of slots and states
 * (actors.h). core.C2 is about the key.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/engine/base/atomic.h"
#include "daemon/engine/base/state_pool.h"
#include "daemon/engine/engine.h"

/* Kinds in actor.key = {generation : 32, destination : 16, type : 12, kind : 4} */
enum actor_kind {
    ACTOR_FREE,
    ACTOR_LIVE,
    ACTOR_NEW,
    ACTOR_PORT,
    ACTOR_KEPT /* durable.h; new or not is said there */,
    ACTOR_ASIDE /* set_aside.h */
};
static_assert(ODEON_ACTOR_TYPES_MAX + ODEON_PHASES_MAX <= 1 << 12, "a type's id fits the key");

/* What a sender needs of a receiver, and nothing else: the lines of many receivers are read by
 * all. */
struct actor {
    _Atomic uint64_t key; /* core.C2; written by whoever spawns or ends the actor */
};
static_assert(sizeof(struct actor) == 8, "eight actors a cache line");

/* Of a free slot: no queue's id, so that a send to it takes the long way. */
enum { NO_DESTINATION = 0xffff };

static inline uint64_t actor_key(uint32_t generation, uint32_t destination, uint32_t type,
                                 enum actor_kind kind)
{
    return (uint64_t)generation << 32 | destination << 16 | type << 4 | kind;
}
static inline uint32_t actor_key_generation(uint64_t key)
{
    return (uint32_t)(key >> 32);
}
static inline uint32_t actor_key_destination(uint64_t key)
{
    return (key >> 16) & 0xffff;
}
static inline enum actor_kind actor_key_kind(uint64_t key)
{
    return (enum actor_kind)(key & 0xf);
}
static inline uint32_t actor_key_type(uint64_t key)
{
    return (key >> 4) & 0xfff;
}
/* Of an actor that exists, as opposed to a port or nobody. */
static inline bool actor_key_lives(uint64_t key)
{
    return actor_key_kind(key) == ACTOR_LIVE || actor_key_kind(key) == ACTOR_NEW ||
           actor_key_kind(key) == ACTOR_KEPT || actor_key_kind(key) == ACTOR_ASIDE;
}
#define ACTOR_KEY_TYPE_MASK UINT64_C(0xfff0)

/* Entries of the segment's table of names, each + 1, 0: none (name_index.h); under names_mutex. */
struct name_index {
    uint32_t *heads;    /* [chains] */
    uint32_t *next;     /* [ODEON_NAMES_MAX] */
    uint32_t *chain_of; /* [ODEON_NAMES_MAX], + 1; 0: in none */
    uint64_t met;       /* entries that look-ups have met */
};

/* Of the engine. */
struct actor_table {
    struct actor *table;
    void **states; /* by slot; the runner of its queue; NULL before init has run */
    struct state_stock stock;
    pthread_mutex_t slots_mutex; /* free slots beyond the workers' caches */
    uint32_t *slots_free;
    uint32_t n_slots_free, slots_fresh;
    pthread_mutex_t names_mutex;
    struct name_index names;
};

enum { SLOT_CACHE = 128, SLOT_RING = 16 };
static_assert((SLOT_RING & (SLOT_RING - 1)) == 0, "a ring of slots is indexed by a mask");
/* Of a worker: it alone (brief.h). */
struct brief {
    uint32_t kind; /* brief.L1; the lower half of their keys, 0: none */
    uint32_t n_spawned, n_ended;
    actor_ref begun; /* brief.L3 */
};
/* Of a worker: it alone, but for type_live. */
struct actor_store {
    uint32_t slots[SLOT_CACHE];
    uint32_t n_slots, slots_max; /* at most so many (actors.A7) */
    uint32_t ring[SLOT_RING];    /* those that became free last, in order (actors.A5) */
    uint32_t ring_first, ring_n;
    actor_ref leaving; /* has ended, and something hangs at its slot (special_end()) */
    struct brief brief;
    uint64_t spawned_count; /* count of the turn that last spawned */
    uint64_t stashed_count; /* ... that last put its message off (asks/stash.h) */
    /* by actor type id: storage that its last actor has left to the next (ODEON_DESTROY) */
    void **kept;
    struct state_pool states;
    _Atomic int64_t *type_live; /* by actor type id (live.h); read by anybody */
    _Atomic int64_t *type_told; /* the same in the file of what actors do; else that one itself */
};
