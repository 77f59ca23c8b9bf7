/* SPDX-License-Identifier: Apache-2.0 */
/* See message_object.h. */
#include "daemon/executor/message_object.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/common/check.h"
#include "proto/bounds.h"

/* Words that memory which is no object hardly holds. */
enum object_state {
    OBJECT_LIVE = 0x6f626a31,
    OBJECT_FINISHED = 0x6f626a32,
    OBJECT_FREE = 0x6f626a33
};

struct object {
    /* what the plugin sees, and may have written anything into */
    struct odeon_message_object public;
    uint32_t state;
    uint16_t type;
    bool sent;
    size_t capacity;
    struct object *next;
    alignas(max_align_t) unsigned char payload[];
};

/* Storage kept for one type by one worker: enough for a burst, not a leak. */
enum { KEPT_MAX = 256 };

struct kept {
    struct object *first;
    unsigned n;
};

struct pool_worker {
    alignas(128) _Atomic uint64_t made;
    _Atomic uint64_t sent;
    _Atomic uint64_t freed_unsent;
    struct kept *kept; /* [ODEON_MESSAGE_TYPES_MAX], made at the first ODEON_DESTROY */
};

struct message_pool {
    unsigned n_workers;
    struct pool_worker *workers;
};

/* One writer (message_object.M2): a plain addition, relaxed since nothing hangs on the order. */
static void message_object_count(_Atomic uint64_t *counter)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

int message_pool_new(unsigned n_workers, struct message_pool **ret_pool)
{
    struct message_pool *pool = calloc(1, sizeof(*pool));
    size_t size = (n_workers + 1) * sizeof(struct pool_worker);

    if (!pool)
        return -ENOMEM;
    pool->n_workers = n_workers + 1;
    pool->workers = aligned_alloc(alignof(struct pool_worker), size);
    if (!pool->workers) {
        free(pool);
        return -ENOMEM;
    }
    memset(pool->workers, 0, size);
    *ret_pool = pool;
    return 0;
}

static void message_object_pool_worker_fini(struct pool_worker *worker)
{
    if (!worker->kept)
        return;
    for (unsigned i = 0; i < ODEON_MESSAGE_TYPES_MAX; i++) {
        struct object *next;

        for (struct object *o = worker->kept[i].first; o; o = next) {
            next = o->next;
            free(o);
        }
    }
    free(worker->kept);
}

struct message_pool *message_pool_free(struct message_pool *pool)
{
    if (pool) {
        for (unsigned i = 0; i < pool->n_workers; i++)
            message_object_pool_worker_fini(&pool->workers[i]);
        free(pool->workers);
        free(pool);
    }
    return NULL;
}

static struct pool_worker *message_object_pool_get_worker(struct message_pool *pool,
                                                          unsigned worker)
{
    check("message_object.M2", worker < pool->n_workers);
    return &pool->workers[worker];
}

/* The kept object that was put away last and is large enough. */
static struct object *message_object_kept_take(struct pool_worker *worker, uint16_t type,
                                               size_t capacity)
{
    struct object **link;

    if (!worker->kept)
        return NULL;
    for (link = &worker->kept[type].first; *link; link = &(*link)->next) {
        struct object *o = *link;

        if (o->capacity >= capacity) {
            *link = o->next;
            worker->kept[type].n--;
            return o;
        }
    }
    return NULL;
}

static void message_object_kept_put(struct pool_worker *worker, struct object *object)
{
    struct kept *kept;

    if (!worker->kept)
        worker->kept = calloc(ODEON_MESSAGE_TYPES_MAX, sizeof(*worker->kept));
    object->state = OBJECT_FREE;
    if (!worker->kept || worker->kept[object->type].n == KEPT_MAX) {
        free(object);
        return;
    }
    kept = &worker->kept[object->type];
    object->next = kept->first;
    kept->first = object;
    kept->n++;
}

/* What a plugin never sends or frees is counted and reported at the end (Drained.messages_unsent):
 * no second report of it. */
#ifdef __SANITIZE_ADDRESS__
void __lsan_ignore_object(const void *object);
#define leak_is_reported_elsewhere(object) __lsan_ignore_object(object)
#else
#define leak_is_reported_elsewhere(object) ((void)(object))
#endif

struct odeon_message_object *message_object_new(struct message_pool *pool, unsigned worker,
                                                const struct odeon_message_type *type,
                                                size_t tail_size)
{
    struct pool_worker *w = message_object_pool_get_worker(pool, worker);
    struct object *o;
    size_t capacity;

    if (!type || type->id == 0 || type->id >= ODEON_MESSAGE_TYPES_MAX ||
        (tail_size > 0 && !type->has_tail)) {
        errno = EINVAL;
        return NULL;
    }
    if (type->size > ODEON_PAYLOAD_MAX || tail_size > ODEON_PAYLOAD_MAX) {
        errno = EMSGSIZE;
        return NULL;
    }
    capacity = type->size + tail_size;
    o = message_object_kept_take(w, (uint16_t)type->id, capacity);
    if (!o) {
        o = malloc(sizeof(*o) + capacity);
        if (!o)
            return NULL;
        o->capacity = capacity;
        leak_is_reported_elsewhere(o);
    }
    memset(o->payload, 0, o->capacity);
    o->public = (struct odeon_message_object){ .type = type,
                                               .allocation = ODEON_NODELETE,
                                               .payload = o->payload };
    o->state = OBJECT_LIVE;
    o->type = (uint16_t)type->id;
    o->sent = false;
    o->next = NULL;
    message_object_count(&w->made);
    return &o->public;
}

static struct object *object_from_public(const struct odeon_message_object *object)
{
    return (struct object *)((uintptr_t)object - offsetof(struct object, public));
}

int message_object_check(struct message_pool *pool, const struct odeon_message_object *object,
                         size_t size)
{
    const struct object *o = object_from_public(object);

    (void)pool;
    if (!object || o->state != OBJECT_LIVE)
        return -ESTALE;
    if (size > o->capacity)
        return -EMSGSIZE;
    if (object->allocation > ODEON_FINISHED)
        return -EINVAL;
    return 0;
}

void message_object_sent(struct message_pool *pool, unsigned worker,
                         struct odeon_message_object *object)
{
    struct pool_worker *w = message_object_pool_get_worker(pool, worker);
    struct object *o = object_from_public(object);

    assert(o->state == OBJECT_LIVE);
    if (!o->sent)
        message_object_count(&w->sent);
    o->sent = true;
    object->sent++;
    switch (object->allocation) {
    case ODEON_DELETE:
        if (object->fini)
            object->fini(o->payload);
        o->state = OBJECT_FREE;
        free(o);
        break;
    case ODEON_DESTROY:
        if (object->fini)
            object->fini(o->payload);
        message_object_kept_put(w, o);
        break;
    case ODEON_FINISHED:
        o->state = OBJECT_FINISHED;
        break;
    default:
        break;
    }
}

int message_object_free(struct message_pool *pool, unsigned worker,
                        struct odeon_message_object *object)
{
    struct pool_worker *w = message_object_pool_get_worker(pool, worker);
    struct object *o = object_from_public(object);
    int unsent = 0;

    if (!object || (o->state != OBJECT_LIVE && o->state != OBJECT_FINISHED))
        return -ESTALE;
    if (!o->sent) {
        message_object_count(&w->freed_unsent);
        unsent = (int)(atomic_load_explicit(&w->freed_unsent, memory_order_relaxed) & INT_MAX);
    }
    o->state = OBJECT_FREE;
    free(o);
    return unsent;
}

void message_pool_get_totals(const struct message_pool *pool,
                             struct message_pool_totals *ret_totals)
{
    *ret_totals = (struct message_pool_totals){ 0 };
    for (unsigned i = 0; i < pool->n_workers; i++) {
        const struct pool_worker *w = &pool->workers[i];

        ret_totals->made += atomic_load_explicit(&w->made, memory_order_relaxed);
        ret_totals->sent += atomic_load_explicit(&w->sent, memory_order_relaxed);
        ret_totals->freed_unsent += atomic_load_explicit(&w->freed_unsent, memory_order_relaxed);
    }
}
