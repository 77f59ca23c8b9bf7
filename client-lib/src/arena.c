/* SPDX-License-Identifier: Apache-2.0 */
/* Results that are freed as a whole; see arena.h. One thread touches a result: the one that made
 * it, then its user. */
#include "client-lib/src/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <odeon/admin.h>

struct block {
    struct block *next;
    size_t used, size;
    alignas(max_align_t) unsigned char data[];
};

/* Lies right in front of the result. */
struct arena {
    struct block *blocks;
    bool failed;
    alignas(max_align_t) unsigned char result[];
};

enum { ARENA_BLOCK_BYTES = 4096 };

static struct arena *arena_of(const void *result)
{
    return (struct arena *)((unsigned char *)(uintptr_t)result - offsetof(struct arena, result));
}

static void *arena_take(struct arena *arena, size_t bytes)
{
    struct block *block = arena->blocks;
    size_t room = (bytes + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);

    if (!block || block->size - block->used < room) {
        size_t size = room > ARENA_BLOCK_BYTES ? room : ARENA_BLOCK_BYTES;

        block = calloc(1, sizeof(*block) + size);
        if (!block) {
            arena->failed = true;
            return NULL;
        }
        block->size = size;
        block->next = arena->blocks;
        arena->blocks = block;
    }
    block->used += room;
    return block->data + block->used - room;
}

void *arena_new(size_t size)
{
    struct arena *arena = calloc(1, sizeof(*arena) + size);

    return arena ? arena->result : NULL;
}

void *arena_alloc(void *result, size_t n, size_t size)
{
    size_t bytes;

    if (n == 0)
        return NULL;
    if (__builtin_mul_overflow(n, size, &bytes) || bytes > SIZE_MAX / 2) {
        arena_of(result)->failed = true;
        return NULL;
    }
    return arena_take(arena_of(result), bytes);
}

const char *arena_string(void *result, const char *string)
{
    size_t bytes = string ? strlen(string) + 1 : 0;
    char *copy = bytes > 1 ? arena_take(arena_of(result), bytes) : NULL;

    return copy ? memcpy(copy, string, bytes) : "";
}

bool arena_failed(const void *result)
{
    return arena_of(result)->failed;
}

void odeon_result_free(void *result)
{
    struct arena *arena = result ? arena_of(result) : NULL;

    while (arena && arena->blocks) {
        struct block *block = arena->blocks;

        arena->blocks = block->next;
        free(block);
    }
    free(arena);
}

void odeon_list_free(struct odeon_list *list)
{
    odeon_result_free(list);
}
