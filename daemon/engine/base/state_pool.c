/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/base/state_pool.h"

#include <stdlib.h>
#include <string.h>

enum {
    CHUNK_BYTES = 64 * 1024,
    CHUNK_HEADER_BYTES = 64,
    /* free states of a class that a worker keeps; half of them go to the stock at once */
    POOL_MAX = 4096,
};

/* Sanitizers see what is used after its end only when every state has memory of its own. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { POOLED_BYTES = 0 };
#else
enum { POOLED_BYTES = STATE_SMALL_BYTES };
#endif

static unsigned state_pool_class_of(size_t size)
{
    return (unsigned)((size - 1) / 8);
}

static void state_pool_list_push(struct state_list *list, void *state)
{
    *(void **)state = list->first;
    list->first = state;
    list->n++;
}

static void *state_pool_list_pop(struct state_list *list)
{
    void *state = list->first;
    list->first = *(void **)state;
    list->n--;
    return state;
}

void state_stock_init(struct state_stock *stock)
{
    memset(stock, 0, sizeof(*stock));
    pthread_mutex_init(&stock->mutex, NULL);
}

void state_stock_fini(struct state_stock *stock)
{
    for (void *chunk = stock->chunks, *next; chunk; chunk = next) {
        next = *(void **)chunk;
        free(chunk);
    }
    stock->chunks = NULL;
    pthread_mutex_destroy(&stock->mutex);
}

/* A chunk's states, the first one on top: they are handed out in the order of their addresses. */
static void state_pool_chunk_cut(struct state_stock *stock, struct state_list *list, size_t bytes)
{
    uint8_t *chunk = aligned_alloc(CHUNK_HEADER_BYTES, CHUNK_BYTES);
    if (!chunk)
        return;
    *(void **)chunk = stock->chunks;
    stock->chunks = chunk;
    for (size_t n = (CHUNK_BYTES - CHUNK_HEADER_BYTES) / bytes; n-- > 0;)
        state_pool_list_push(list, chunk + CHUNK_HEADER_BYTES + n * bytes);
}

static __attribute__((noinline)) void pool_refill(struct state_stock *stock,
                                                  struct state_list *list, unsigned class)
{
    pthread_mutex_lock(&stock->mutex);
    struct state_list *more = &stock->free[class];
    while (more->first && list->n < POOL_MAX / 2)
        state_pool_list_push(list, state_pool_list_pop(more));
    if (!list->first)
        state_pool_chunk_cut(stock, list, (class + 1) * 8ul);
    pthread_mutex_unlock(&stock->mutex);
}

static __attribute__((noinline)) void pool_spill(struct state_stock *stock, struct state_list *list,
                                                 unsigned class)
{
    pthread_mutex_lock(&stock->mutex);
    while (list->n > POOL_MAX / 2)
        state_pool_list_push(&stock->free[class], state_pool_list_pop(list));
    pthread_mutex_unlock(&stock->mutex);
}

void *state_new(struct state_stock *stock, struct state_pool *pool, size_t size)
{
    if (size > POOLED_BYTES)
        return calloc(1, size < sizeof(void *) ? sizeof(void *) : size);
    unsigned class = state_pool_class_of(size);
    struct state_list *list = &pool->free[class];
    if (!list->first) {
        pool_refill(stock, list, class);
        if (!list->first)
            return NULL;
    }
    uint64_t *state = state_pool_list_pop(list);
    for (unsigned i = 0; i <= class; i++)
        state[i] = 0; /* state_pool.S2 */
    return state;
}

void state_free(struct state_stock *stock, struct state_pool *pool, void *state, size_t size)
{
    if (size > POOLED_BYTES) {
        free(state);
        return;
    }
    struct state_list *list = &pool->free[state_pool_class_of(size)];
    state_pool_list_push(list, state);
    if (list->n > POOL_MAX)
        pool_spill(stock, list, state_pool_class_of(size));
}
