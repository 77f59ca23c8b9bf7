/* SPDX-License-Identifier: Apache-2.0 */
/* References: who somebody is, in 64 bits, wherever that is written: in handlers, on the wire, in
 * kept states, in the segment, in dead letters.
 *
 *   {generation : 32, executor : 8, slot : 24}      0: nobody (generations begin at 1)
 *
 * Nothing else takes a reference apart or puts one together. No state, any thread.
 *
 * reference.Q1  There is one executor, and it has number 1.  A reference with another number is
 *     well formed and stands for nobody here: -ESRCH at the host table, no-such-actor at a port,
 *     -ESRCH in recovery.
 * reference.Q2  actor_ref_slot() of a reference that is not this executor's, or is nobody's, is no
 *     slot: at least ODEON_ACTORS_MAX.  So whoever compares it with the number of slots, as
 *     everybody has to, has refused those, too.
 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "bounds.h"

typedef uint64_t actor_ref;

enum { ACTOR_REF_SLOT_BITS = 24, ACTOR_REF_EXECUTOR = 1 };
#define ACTOR_REF_OWN          ((uint32_t)ACTOR_REF_EXECUTOR << ACTOR_REF_SLOT_BITS)
#define ACTOR_REF_GENERATIONS  UINT64_C(0xffffffff00000000)
#define ACTOR_GENERATION_SPENT UINT32_MAX /* there is none behind it */
static_assert(ODEON_ACTORS_MAX <= 1 << ACTOR_REF_SLOT_BITS, "a slot has 24 bits");

/* Of the table of this executor's actors (reference.Q2). */
static inline uint32_t actor_ref_slot(actor_ref ref)
{
    return (uint32_t)ref - ACTOR_REF_OWN;
}
static inline uint32_t actor_ref_generation(actor_ref ref)
{
    return (uint32_t)(ref >> 32);
}
/* {generation : 32, 0 : 32}: the upper half where it is, to be compared with that of a word. */
static inline uint64_t actor_ref_upper(actor_ref ref)
{
    return ref & ACTOR_REF_GENERATIONS;
}
static inline uint32_t actor_ref_executor(actor_ref ref)
{
    return (uint32_t)ref >> ACTOR_REF_SLOT_BITS;
}
/* The slot's number in its own executor's table, whoever that is: for texts. */
static inline uint32_t actor_ref_number(actor_ref ref)
{
    return (uint32_t)ref & ((UINT32_C(1) << ACTOR_REF_SLOT_BITS) - 1);
}
/* Of another executor: nobody's reference is not. */
static inline bool actor_ref_is_foreign(actor_ref ref)
{
    return ref != 0 && actor_ref_executor(ref) != ACTOR_REF_EXECUTOR;
}
static inline actor_ref actor_ref_of(uint32_t executor, uint32_t number, uint32_t generation)
{
    return (uint64_t)generation << 32 | executor << ACTOR_REF_SLOT_BITS | number;
}
/* Of this executor: `slot` is below ODEON_ACTORS_MAX. */
static inline actor_ref actor_ref_make(uint32_t slot, uint32_t generation)
{
    return actor_ref_of(ACTOR_REF_EXECUTOR, slot, generation);
}
