/* SPDX-License-Identifier: Apache-2.0 */
/* See word_table.h. */
#include "word_table.h"

#include <errno.h>
#include <stdlib.h>

enum { FIRST_SIZE = 1024, BLOCK_SIZE = 65536 };

struct word_arena_block {
    struct word_arena_block *next;
    uint32_t size, used;
    char bytes[];
};

void word_table_fini(struct word_table *table)
{
    for (struct word_arena_block *block = table->blocks; block != NULL;) {
        struct word_arena_block *next = block->next;
        free(block);
        block = next;
    }
    free(table->slots);
    *table = (struct word_table){ .slots = NULL };
}

static const char *arena_copy(struct word_table *table, const char *text, uint32_t length)
{
    struct word_arena_block *block = table->blocks;
    if (block == NULL || block->size - block->used < length) {
        uint32_t size = length > BLOCK_SIZE ? length : BLOCK_SIZE;
        block = malloc(sizeof(*block) + size);
        if (block == NULL)
            return NULL;
        *block = (struct word_arena_block){ .next = table->blocks, .size = size };
        table->blocks = block;
    }
    char *copy = block->bytes + block->used;
    memcpy(copy, text, length);
    block->used += length;
    return copy;
}

/* The word's slot, or the free one where it belongs. */
static struct word_slot *table_find(const struct word_table *table, uint32_t hash, const char *text,
                                    uint32_t length)
{
    for (uint32_t i = hash;; i++) {
        struct word_slot *slot = &table->slots[i & (table->size - 1)];
        if (slot->entry.text == NULL)
            return slot;
        if (slot->hash == hash && slot->entry.length == length &&
            memcmp(slot->entry.text, text, length) == 0)
            return slot;
    }
}

static int table_grow(struct word_table *table)
{
    struct word_table larger = *table;
    larger.size = table->size != 0 ? 2 * table->size : FIRST_SIZE;
    if (larger.size == 0)
        return -ENOMEM;
    larger.slots = calloc(larger.size, sizeof(larger.slots[0]));
    if (larger.slots == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < table->size; i++) {
        const struct word_slot *slot = &table->slots[i];
        if (slot->entry.text != NULL)
            *table_find(&larger, slot->hash, slot->entry.text, slot->entry.length) = *slot;
    }
    free(table->slots);
    *table = larger;
    return 0;
}

int word_table_add(struct word_table *table, uint32_t hash, const char *text, uint32_t length,
                   uint64_t count)
{
    if (table->used >= table->size / 4 * 3) {
        int r = table_grow(table);
        if (r < 0)
            return r;
    }
    struct word_slot *slot = table_find(table, hash, text, length);
    if (slot->entry.text == NULL) {
        const char *copy = arena_copy(table, text, length);
        if (copy == NULL)
            return -ENOMEM;
        *slot = (struct word_slot){ .entry = { .text = copy, .length = length }, .hash = hash };
        table->used++;
    }
    slot->entry.count += count;
    table->words += count;
    return 0;
}

struct word_entry *word_table_top(const struct word_table *table, uint32_t top, uint32_t *ret_n)
{
    *ret_n = 0;
    struct word_entry *all = table->used != 0 ? malloc(table->used * sizeof(all[0])) : NULL;
    if (all == NULL)
        return NULL;
    uint32_t n = 0;
    for (uint32_t i = 0; i < table->size; i++)
        if (table->slots[i].entry.text != NULL)
            all[n++] = table->slots[i].entry;
    qsort(all, n, sizeof(all[0]), word_entry_compare);
    *ret_n = n < top ? n : top;
    return all;
}
