/* SPDX-License-Identifier: Apache-2.0 */
/* Actor types as they are looked up while messages run (types.c). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/engine/base/atomic.h"
#include "daemon/engine/engine.h"

enum { BEHAVIOURS_SLOTS = 256, BEHAVIOUR_NONE = 255 };
/* Quick runs in a row that show that a behaviour is quick, and how many of them one that has not
 * been seen yet is credited with (pace.h). Slow ones in a row that show that it is slow: one that
 * was kept from its processor does not. */
enum { BEHAVIOUR_QUICK = 16, BEHAVIOUR_NEW = 12, BEHAVIOUR_SLOW = 3 };

/* `meta` is an envelope's third word for this behaviour when nothing is special about it: type,
 * exact length, index, no flags, no attempts: one comparison tells that the record can simply be
 * run. One that is not known to be quick has BEHAVIOUR_META_CLOSED instead (pace.h). */
#define BEHAVIOUR_META_CLOSED UINT64_MAX
struct behaviour_slot {
    _Atomic uint64_t meta;
    engine_behaviour_fn run;
};
struct behaviour_shape {
    uint16_t message_type; /* 0: none */
    uint16_t size;
    uint16_t slack; /* how much longer the payload may be */
};

/* Copied from the plugin at registration; immutable until retired, but for what is learned about
 * how long behaviours take. */
struct actor_type {
    /* the last one stays empty: BEHAVIOUR_NONE leads to a look-up; its word is 0, or closed while
     * init is not known to be quick */
    struct behaviour_slot behaviours[BEHAVIOURS_SLOTS];
    struct behaviour_shape shapes[BEHAVIOURS_SLOTS];
    uint8_t index_of[ODEON_MESSAGE_TYPES_MAX]; /* message type -> behaviour, BEHAVIOUR_NONE */
    /* quick runs in a row, up to BEHAVIOUR_QUICK; the last one is init's */
    _Atomic uint8_t quick[BEHAVIOURS_SLOTS];
    /* slow ones in a row, up to BEHAVIOUR_SLOW */
    _Atomic uint8_t slow[BEHAVIOURS_SLOTS];
    /* ns that a run of one takes in the mean, as far as it has been timed by itself; 0: never */
    _Atomic uint32_t took[BEHAVIOURS_SLOTS];
    struct engine_behaviour *listed;
    uint32_t id, version, state_size, n_behaviours;
    enum engine_restart restart;
    bool is_group; /* what is sent to its actors is for the members (asks/group.h) */
    bool is_brief; /* no init, no fini, no state: nothing is done for its actors but to run them */
    const _Atomic uint32_t *quarantined; /* the segment's word, which outlives the type */
    engine_init_fn init;
    engine_fini_fn fini;
    char name[ODEON_NAME_MAX + 1], plugin[ODEON_NAME_MAX + 1];
    /* Its sets of behaviours (actors/phases.h): each is a structure like this one, with the same id
     * and another `key_type`; that of the first one has all. */
    uint32_t key_type; /* what stands in the keys of its actors */
    char phase[ODEON_NAME_MAX + 1];
    struct actor_type *first;
    struct actor_type **others; /* [n_others], of the first one */
    uint32_t n_others;
};

/* One word says so, for two workers may learn different things at the same time; `index` may be
 * BEHAVIOUR_NONE: init. */
static inline bool actor_type_is_quick(const struct actor_type *type, uint32_t index)
{
    return load_relaxed(&type->behaviours[index].meta) != BEHAVIOUR_META_CLOSED;
}

/* What workers are to come to (quiesce.h).  Control thread. */
struct quiesce {
    uint32_t seen; /* workers below it have come to it */
    uint64_t passes[ODEON_WORKERS_MAX];
};

enum retiring_step {
    RETIRING_SPAWNS, /* until nobody can make an actor of it any more */
    RETIRING_THREADS,
    RETIRING_LOOKS /* until nobody can look at it any more */
};

/* A type that goes (retire.c).  Control thread. */
struct retiring {
    struct actor_type *type;
    enum retiring_step step;
    uint64_t until_ns; /* of this step */
    struct quiesce quiesce;
};

/* Of a type (unbegun.h): actors that could not begin, since the control thread last asked, and the
 * last of them. */
struct unbegun {
    _Atomic uint32_t n, reason;
    _Atomic actor_ref last, by;
};

/* Of the engine. */
struct type_table {
    uint32_t group; /* the type of groups, 0: there are none */
    /* behind the types, their phases but for the first ones */
    _Atomic(struct actor_type *) known[ODEON_ACTOR_TYPES_MAX + ODEON_PHASES_MAX];
    /* the same, but for a type that is about to be retired: new actors */
    _Atomic(struct actor_type *) spawnable[ODEON_ACTOR_TYPES_MAX];
    struct retiring *retiring[ODEON_ACTOR_TYPES_MAX]; /* NULL: it does not go */
    struct unbegun unbegun[ODEON_ACTOR_TYPES_MAX];
};
