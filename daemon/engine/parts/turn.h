/* SPDX-License-Identifier: Apache-2.0 */
/* What the loop of the turns looks up of every message's receiver (turn.h): one cache line. */
#pragma once

#include <stdint.h>

#include "daemon/engine/parts/actors.h"
#include "daemon/engine/parts/types.h"
#include "proto/segment_layout.h"

struct turn {
    struct actor *actors;                /* the engine's */
    void **states;                       /* the engine's */
    struct segment_actor *slots;         /* the segment's */
    _Atomic(struct actor_type *) *types; /* the engine's */
    uint64_t key_live; /* what actor.key must be below the generation, but for the type */
    /* the mailbox's byte in engine.urgent; of an urgent batch, and before the first message, one
     * that is 0 */
    const _Atomic uint8_t *gives_way, *gives_way_to;
    uint32_t actors_max;
};
