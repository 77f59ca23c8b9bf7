/* SPDX-License-Identifier: Apache-2.0 */
/* What accesses are counted for: the message that a worker runs, and what it does meanwhile.
 *
 * A message's accesses are those from its behaviour's beginning to the next one's: what is done for
 * many at once (a flush, a gulp) belongs to the last one before, and a line that is looked at again
 * and again while nothing comes counts once. What is done besides has a unit of its own, from the
 * entry of one function of the engine to its return.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/counting/words.h"

enum unit {
    UNIT_MESSAGE,
    UNIT_GROUP, /* of records, carried to one queue or port */
    UNIT_SEARCH_FAILED,
    UNIT_SEARCH_FOUND,
    UNIT_SIGNAL, /* of a queue that has got something; nobody is woken */
    UNIT_WAKE,   /* ... and somebody is */
    UNIT_HELPER, /* a look for somebody to help, who is woken or not */
    UNIT_VISIT,  /* of a port, of which something is taken */
    UNIT_VISIT_EMPTY,
    UNITS_N
};
const char *unit_name(enum unit unit);

/* `lines`: different ones, in each unit, of those that several workers touch. `foreign`: transfers
 * from another thread's cache, or from its readers'. `locked`: locked instructions and full
 * barriers. */
struct tally {
    uint64_t n, lines, foreign, locked;
    struct tally_word {
        uint64_t lines, foreign, locked;
    } words[WORDS_N];
};

/* The engine is open, and its memory has names. */
void scope_begin(const struct engine *engine);
void scope_end(void);
/* From now on, and from zero; or not any more. */
void scope_measure(bool on);
bool scope_is_measuring(void);
const struct tally *scope_tally(enum unit unit);
/* Groups that were carried to a queue of another worker. */
uint64_t scope_crossing(void);

/* ---- called by the hooks ---- */

void scope_thread_is(uint32_t fiber, const struct worker *worker);
void scope_access(const volatile void *at, size_t bytes, bool writes, bool locked);
void scope_barrier(void);
void scope_lock_taken(const volatile void *at);
void scope_function_begins(uintptr_t pc);
void scope_function_ends(void);
/* A worker begins to run a message. */
void scope_message(void);
