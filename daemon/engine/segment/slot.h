/* SPDX-License-Identifier: Apache-2.0 */
/* The word of an actor's slot in the segment: {generation, type, state}. It is stored last when an
 * actor comes, and first when it goes. Any thread.
 */
#pragma once

#include <stdint.h>

#include "proto/segment_layout.h"

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
/* Of a slot whose actor, or port, has ended: free for the next generation, or spent (actors.A4 of
 * actors.h). */
static inline uint64_t slot_word_ended(uint64_t word)
{
    uint32_t generation = slot_word_generation(word);
    return generation == ACTOR_GENERATION_SPENT ? slot_word(generation, 0, ACTOR_SLOT_SPENT)
                                                : slot_word(generation + 1, 0, ACTOR_SLOT_FREE);
}
