/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table of words and their counts: open addressing, the letters in an arena. Belongs to
 * whoever has it, one thread at a time.
 *
 * word_table.T1  `size` is a power of two or 0, and at least a quarter of the slots is free.
 * word_table.T2  A slot is free when its entry has no text; nothing is ever removed.
 */
#ifndef WORD_TABLE_H
#define WORD_TABLE_H

#include "wordcount.h"

struct word_arena_block;

struct word_slot {
    struct word_entry entry;
    uint32_t hash;
};

struct word_table {
    struct word_slot *slots;
    struct word_arena_block *blocks;
    uint32_t size, used;
    uint64_t words; /* the sum of all counts */
};

/* Zeroed memory is an empty table. */
void word_table_fini(struct word_table *table);
/* Counts a word `count` times more.  0, -ENOMEM: nothing has changed. */
int word_table_add(struct word_table *table, uint32_t hash, const char *text, uint32_t length,
                   uint64_t count);
/* Allocates a sorted array of the `top` most frequent words (all, if they are fewer). NULL: no
 * memory, or *ret_n is 0.
 */
struct word_entry *word_table_top(const struct word_table *table, uint32_t top, uint32_t *ret_n);

#endif
