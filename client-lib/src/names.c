/* SPDX-License-Identifier: Apache-2.0 */
/* The table of message ids; see names.h.  What asks the service is in message.c. */
#include "client-lib/src/names.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    NAMES_SIZE_FIRST = 64,
    /* a process that brings more descriptions asks more often */
    NAMES_SIZE_MAX = ODEON_MESSAGE_TYPES_MAX * 8,
};

void names_init(struct names *names)
{
    *names = (struct names){ 0 };
    pthread_mutex_init(&names->mutex, NULL);
}

void names_fini(struct names *names)
{
    pthread_mutex_destroy(&names->mutex);
    free(names->entries);
    free(names->ids);
}

/* The type's entry, or the free one where it belongs. There is always a free one: at most half is
 * used. */
static struct name_entry *names_entry_of(struct name_entry *entries, size_t size,
                                         const struct odeon_message_type *type)
{
    size_t at = (size_t)((uintptr_t)type * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (size - 1);

    while (entries[at].type && entries[at].type != type)
        at = (at + 1) & (size - 1);
    return &entries[at];
}

/* FNV-1a: descriptions that differ by mistake differ here; nobody gains by making two alike. */
static uint64_t names_hash(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (; text && *text; text++)
        hash = (hash ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
    return hash;
}

static bool names_is_same(const struct name_entry *entry, const struct odeon_message_type *type)
{
    return entry->type && entry->version == type->version && entry->size == type->size &&
           entry->has_tail == type->has_tail && entry->fields == names_hash(type->fields) &&
           strcmp(entry->name, type->name) == 0;
}

uint32_t names_find(struct names *names, const struct odeon_message_type *type)
{
    uint32_t id = 0;

    pthread_mutex_lock(&names->mutex);
    if (names->size > 0) {
        const struct name_entry *entry = names_entry_of(names->entries, names->size, type);

        if (names_is_same(entry, type))
            id = entry->id;
    }
    pthread_mutex_unlock(&names->mutex);
    return id;
}

static void names_grow(struct names *names)
{
    size_t size = names->size ? names->size * 2 : NAMES_SIZE_FIRST;
    struct name_entry *entries = size <= NAMES_SIZE_MAX ? calloc(size, sizeof(*entries)) : NULL;

    if (!entries)
        return;
    for (size_t i = 0; i < names->size; i++)
        if (names->entries[i].type)
            *names_entry_of(entries, size, names->entries[i].type) = names->entries[i];
    free(names->entries);
    names->entries = entries;
    names->size = size;
}

static void names_add_id(struct names *names, const struct odeon_message_type *type, uint32_t id)
{
    size_t n = names->n_ids ? names->n_ids : NAMES_SIZE_FIRST;
    const struct odeon_message_type **ids;

    if (id >= ODEON_MESSAGE_TYPES_MAX)
        return;
    while (n <= id)
        n *= 2;
    if (n > names->n_ids) {
        ids = reallocarray(names->ids, n, sizeof(*ids));
        if (!ids)
            return;
        memset(ids + names->n_ids, 0, (n - names->n_ids) * sizeof(*ids));
        names->ids = ids;
        names->n_ids = n;
    }
    names->ids[id] = type;
}

const struct odeon_message_type *names_of(struct names *names, uint32_t id)
{
    const struct odeon_message_type *type;

    pthread_mutex_lock(&names->mutex);
    type = id < names->n_ids ? names->ids[id] : NULL;
    pthread_mutex_unlock(&names->mutex);
    return type;
}

void names_add(struct names *names, const struct odeon_message_type *type, uint32_t id)
{
    struct name_entry *entry;

    pthread_mutex_lock(&names->mutex);
    names_add_id(names, type, id);
    if (names->used * 2 >= names->size)
        names_grow(names);
    if (names->size > 0) {
        entry = names_entry_of(names->entries, names->size, type);
        if (entry->type || names->used * 2 < names->size) {
            names->used += !entry->type;
            *entry = (struct name_entry){ .type = type,
                                          .id = id,
                                          .version = type->version,
                                          .size = type->size,
                                          .has_tail = type->has_tail,
                                          .fields = names_hash(type->fields) };
            strncat(entry->name, type->name, ODEON_NAME_MAX);
        }
    }
    pthread_mutex_unlock(&names->mutex);
}
