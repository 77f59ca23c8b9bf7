/* SPDX-License-Identifier: Apache-2.0 */
/* Cache lines, and who has them: caches without an end, in which a line is either written by one
 * thread or read by several. What would have to come from another processor is *foreign*.
 *
 * Threads are numbers (those of simulated fibers); one OS thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LINE_BYTES = 64, LINE_WORDS = 8, LINE_THREADS_MAX = 192 };

/* What an access to a part of one line was. */
struct line_seen {
    uint64_t line;
    bool foreign; /* another thread had it, or has written it since */
    bool shared;  /* more than one thread that counts has touched it */
    uint8_t word; /* the name of what was touched first there (words.h) */
};

/* Names are asked for once for each eight bytes that are touched. */
void lines_init(uint8_t (*name)(uint64_t address));
void lines_free(void);
/* `counts`: the thread is one of those between which lines are shared. */
struct line_seen lines_see(uint32_t thread, bool counts, uint64_t address, bool writes);

/* The lines of one thread since the last line_set_next(). */
struct line_set {
    struct line_entry *entries;
    uint32_t size; /* a power of two */
    uint64_t round;
};
void line_set_init(struct line_set *set, uint32_t size);
void line_set_free(struct line_set *set);
/* True: it has not been there in this round. */
bool line_set_add(struct line_set *set, uint64_t line);
static inline void line_set_next(struct line_set *set)
{
    set->round++;
}
