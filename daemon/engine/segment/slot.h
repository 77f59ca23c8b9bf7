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
 * actors.h). Where the type was stands why it has ended, until somebody else has the slot. */
static inline uint64_t slot_word_ended(uint64_t word, enum envelope_reason reason)
{
    uint32_t generation = slot_word_generation(word);
    return generation == ACTOR_GENERATION_SPENT
               ? slot_word(generation, reason, ACTOR_SLOT_SPENT)
               : slot_word(generation + 1, reason, ACTOR_SLOT_FREE);
}
/* Of the one that is there, or has been there last; 0: nobody has. */
static inline uint32_t slot_word_last(uint64_t word)
{
    uint32_t generation = slot_word_generation(word);
    return generation - (generation != 0 && slot_word_state(word) == ACTOR_SLOT_FREE);
}
/* Why the one of this generation has ended; REASON_NONE: it has not, and is there; of one that
 * ended before another one, nobody knows. */
static inline enum envelope_reason slot_word_reason(uint64_t word, uint32_t generation)
{
    if (generation != slot_word_last(word))
        return REASON_NO_SUCH_ACTOR;
    if (slot_word_state(word) == ACTOR_SLOT_LIVE || slot_word_state(word) == ACTOR_SLOT_PORT)
        return REASON_NONE;
    uint32_t reason = slot_word_type(word);
    return reason > REASON_NONE && reason < REASON_N ? (enum envelope_reason)reason
                                                     : REASON_NO_SUCH_ACTOR;
}
