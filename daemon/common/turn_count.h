/* SPDX-License-Identifier: Apache-2.0 */
/* How long an event loop is at one thing, in processor time, so that a machine with others on it
 * does not count.
 *
 * One thread: the loop's.
 *
 * turn_count.TC1  A turn is all that lies between two looks of the loop for something to do.
 *     Whoever begins a piece of work in it names it; a piece ends where the next one begins, or the
 *     turn.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct turn_count {
    bool counts;       /* else turns end, and are nobody's */
    uint64_t begin_ns; /* of this turn */
    uint64_t piece_ns; /* of this piece */
    const char *piece; /* static text; NULL: nothing that has a name */
    uint64_t most_ns;  /* of the turn's pieces the longest */
    const char *most;
    /* of all turns the longest, and what the most of it was: "" if that has no name */
    uint64_t longest_ns;
    const char *longest_work;
};

/* Of this thread. */
uint64_t turn_count_cpu_ns(void);
/* `what`: static text. */
void turn_count_piece(struct turn_count *turns, const char *what);
/* The loop looks for something to do. True: this turn was the longest. */
bool turn_count_end(struct turn_count *turns);
