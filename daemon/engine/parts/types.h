/* SPDX-License-Identifier: Apache-2.0 */
/* Actor types as they are looked up while messages run (types.c). */
#pragma once

#include <stdint.h>

#include "daemon/engine/engine.h"

enum { BEHAVIOURS_SLOTS = 256, BEHAVIOUR_NONE = 255 };

/* `meta` is an envelope's third word for this behaviour when nothing is special about it: type,
 * exact length, index, no flags, no attempts: one comparison tells that the record can simply be
 * run. */
struct behaviour_slot {
    uint64_t meta;
    engine_behaviour_fn run;
};
struct behaviour_shape {
    uint16_t message_type; /* 0: none */
    uint16_t size;
    uint16_t slack; /* how much longer the payload may be */
};

/* Copied from the plugin at registration; immutable until retired. */
struct actor_type {
    /* the last one stays empty: BEHAVIOUR_NONE leads to a look-up */
    struct behaviour_slot behaviours[BEHAVIOURS_SLOTS];
    struct behaviour_shape shapes[BEHAVIOURS_SLOTS];
    uint8_t index_of[ODEON_MESSAGE_TYPES_MAX]; /* message type -> behaviour, BEHAVIOUR_NONE */
    struct engine_behaviour *listed;
    uint32_t id, version, state_size, n_behaviours;
    enum engine_restart restart;
    engine_init_fn init;
    engine_fini_fn fini;
    char name[ODEON_NAME_MAX + 1], plugin[ODEON_NAME_MAX + 1];
};

/* Of the engine. */
struct type_table {
    _Atomic(struct actor_type *) known[ODEON_ACTOR_TYPES_MAX];
    /* the same, but for a type that is about to be retired: new actors */
    _Atomic(struct actor_type *) spawnable[ODEON_ACTOR_TYPES_MAX];
};
