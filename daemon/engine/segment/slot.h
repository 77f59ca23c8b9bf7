/* SPDX-License-Identifier: Apache-2.0 */
/* The word of an actor's slot in the segment: {generation, type, state}. It is stored last when an
 * actor comes, and first when it goes. Any thread.
 */
#pragma once

#include <stdint.h>
#include <string.h>

#include "proto/segment_layout.h"

static inline uint64_t slot_word(uint32_t generation, uint32_t type, enum actor_slot_state state)
{
    return (uint64_t)generation << 32 | (uint64_t)type << 16 | state;
}
/* Three words of 4, 2 and 2 bytes that lie side by side, in one store. */
static inline void slot_place_store(struct segment_actor *durable, uint32_t worker, uint32_t queue,
                                    uint32_t args_size)
{
    static_assert(offsetof(struct segment_actor, queue) ==
                          offsetof(struct segment_actor, spawn_worker) + 4 &&
                      offsetof(struct segment_actor, args_size) ==
                          offsetof(struct segment_actor, spawn_worker) + 6,
                  "words of a slot's place");
    uint64_t words = worker | (uint64_t)queue << 32 | (uint64_t)args_size << 48;
    memcpy(&durable->spawn_worker, &words, sizeof(words));
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
