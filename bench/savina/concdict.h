/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the concurrent dictionary, and the key that a drawn number means. Also of the same
 * program for CAF (caf/concdict.cpp), so that both look into the same table. */
#ifndef CONCDICT_H
#define CONCDICT_H

#include <stdint.h>
#include <stdlib.h>

enum { CONCDICT_KEYS = INT32_MAX / 4096, CONCDICT_PLACES = 1 << 20 };

struct concdict_place {
    int32_t key, value; /* a key of -1: it is free */
};

/* The place of a key, or the free one where it would be. */
static inline struct concdict_place *concdict_find(struct concdict_place *table, int32_t key)
{
    uint32_t i = (uint32_t)key * 2654435761u >> 12;
    while (table[i].key != key && table[i].key >= 0)
        i = (i + 1) % CONCDICT_PLACES;
    return &table[i];
}

/* Each key with itself as its value; to be freed; NULL: there is no memory. */
static inline struct concdict_place *concdict_fill(void)
{
    struct concdict_place *table =
        (struct concdict_place *)malloc(CONCDICT_PLACES * sizeof(*table));
    for (uint32_t i = 0; table != NULL && i < CONCDICT_PLACES; i++)
        table[i].key = -1;
    for (int32_t key = 0; table != NULL && key < CONCDICT_KEYS; key++) {
        struct concdict_place *place = concdict_find(table, key);
        place->key = place->value = key;
    }
    return table;
}

static inline int64_t concdict_size(const struct concdict_place *table)
{
    int64_t size = 0;
    for (uint32_t i = 0; i < CONCDICT_PLACES; i++)
        size += table[i].key >= 0;
    return size;
}

static inline int32_t concdict_key(int64_t drawn)
{
    return (int32_t)((drawn < 0 ? -drawn : drawn) % CONCDICT_KEYS);
}

#endif
