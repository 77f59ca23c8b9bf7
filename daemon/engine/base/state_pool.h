/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of actors' states: small ones from pools by size, so that states which are used together
 * lie together and an actor's making and ending costs no allocator; large ones from the allocator.
 *
 * Threads: a worker's pool is its own; what one has too much of goes, many at a time, to the
 * engine's stock, under its mutex, and from there to whoever has none: an actor may end elsewhere
 * than where it began.
 *
 * state_pool.S1  Memory of a pool is cut from chunks that live as long as the engine: it is used
 *     again, and given back at the end.
 * state_pool.S2  What is handed out is zeroed.
 * state_pool.S3  ... and aligned to 16 bytes if its size is a multiple of that, else to 8: a type's
 *     size is a multiple of its alignment.
 */
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

enum { STATE_SMALL_BYTES = 256, STATE_CLASSES = STATE_SMALL_BYTES / 8 };

struct state_list {
    void *first; /* a free state's first word links it to the next one */
    uint32_t n;
};

struct state_pool {
    struct state_list free[STATE_CLASSES];
};

struct state_stock {
    pthread_mutex_t mutex;
    struct state_list free[STATE_CLASSES];
    void *chunks; /* linked by their first word */
};

void state_stock_init(struct state_stock *stock);
void state_stock_fini(struct state_stock *stock);

/* Zeroed; NULL: no memory.  `size` is not 0. */
void *state_new(struct state_stock *stock, struct state_pool *pool, size_t size);
void state_free(struct state_stock *stock, struct state_pool *pool, void *state, size_t size);
