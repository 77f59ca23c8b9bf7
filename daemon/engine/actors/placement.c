/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/actors/placement.h"

#include <errno.h>

#include "daemon/engine/actors/live.h"
#include "daemon/engine/base/points.h"
#include "daemon/engine/signal/own_thread.h"
#include "daemon/engine/signal/wake.h"

static bool placement_is_near(struct engine *e, uint32_t a, uint32_t b)
{
    return load_relaxed(&e->workers[a]->placing.node) == load_relaxed(&e->workers[b]->placing.node);
}

/* placement.M3: number `turn` of the workers that run and share the absent one's node, or of
 *     all. */
static uint32_t placement_substitute(struct engine *e, uint32_t absent, uint32_t turn, uint32_t n)
{
    uint32_t near = 0;
    for (uint32_t id = 0; id < n; id++)
        near += placement_is_near(e, absent, id);
    if (near == 0)
        return turn % n;
    uint32_t skip = turn % near, id = 0;
    while (!placement_is_near(e, absent, id) || skip-- > 0)
        id++;
    engine_check("placement.M3", id < n);
    return id;
}

uint32_t placement_home(struct engine *e, uint32_t source, uint32_t n)
{
    const struct segment *s = &e->segment;
    uint32_t index;
    if (source_kind_of(e, source, &index) != SOURCE_MAILBOX)
        return index % n;
    switch (segment_queue_range(s, source, &index)) {
    case QUEUE_FOLLOW:
        return index % n;
    case QUEUE_DETACHED:
        return s->workers_max + index;
    default:
        return index < n ? index : placement_substitute(e, index, source, n);
    }
}

void placement_init(struct engine *e)
{
    static const unsigned flags[] = { [QUEUE_ORDINARY] = 0,
                                      [QUEUE_PINNED] = SOURCE_FIXED,
                                      [QUEUE_FOLLOW] = SOURCE_FOLLOW,
                                      [QUEUE_ASIDE] = 0,
                                      [QUEUE_DETACHED] = SOURCE_FIXED };
    for (uint32_t queue = 0, index; queue < e->segment.n_mailboxes; queue++) {
        uint32_t home = placement_home(e, queue, engine_workers(e));
        settle_relaxed(e->sources[queue].own, own_idle(home)); /* a dead executor's may run */
        source_place(e, queue, home, flags[segment_queue_range(&e->segment, queue, &index)]);
    }
}

/* ---- new actors ---- */

enum {
    PLACEMENT_BLOCK_MOST = 1024,    /* siblings in a row in one queue */
    PLACEMENT_BLOCK_LEAST = 16,     /* of a type in each queue, before it is dealt in blocks */
    PLACEMENT_BLOCKS_OF_QUEUE = 2,  /* that a queue has at least */
    PLACEMENT_BLOCKS_OF_WORKER = 8, /* ... and a worker */
    PLACEMENT_BLOCK_LOOK = 64,      /* spawns between two counts of a type's actors */
};

/* Round robin over the workers first, then over the queues of each. */
static uint32_t placement_choose_each(struct worker *w)
{
    uint32_t n = engine_workers(w->engine), k = w->engine->segment.queues_per_worker;
    uint32_t worker = w->placing.spread_worker < n ? w->placing.spread_worker : 0,
             queue = w->placing.spread_queue;
    w->placing.spread_worker = worker + 1;
    if (w->placing.spread_worker == n) {
        w->placing.spread_worker = 0;
        w->placing.spread_queue = queue + 1 == k ? 0 : queue + 1;
    }
    return worker * k + queue;
}

/* How many siblings in a row share a queue, as many as there are by now. */
static uint32_t placement_block(struct engine *e, uint32_t type)
{
    uint32_t n = engine_workers(e);
    uint64_t live = live_of_type(e, type), of_queue = live / (n * e->segment.queues_per_worker),
             block = of_queue / PLACEMENT_BLOCKS_OF_QUEUE,
             most = live / n / PLACEMENT_BLOCKS_OF_WORKER;
    if (of_queue < PLACEMENT_BLOCK_LEAST)
        return 1;
    block = block < most ? block : most;
    return block < PLACEMENT_BLOCK_MOST ? (uint32_t)block : PLACEMENT_BLOCK_MOST;
}

/* Another block begins. */
static __attribute__((noinline)) void placement_block_begin(struct worker *w, uint32_t type)
{
    struct placing *p = &w->placing;
    if (p->block_type != type) {
        p->block_type = type;
        p->block = 1;
        p->block_look = PLACEMENT_BLOCK_LOOK;
    } else if (p->block_look <= p->block) {
        p->block = placement_block(w->engine, type);
        p->block_look = PLACEMENT_BLOCK_LOOK;
    } else {
        p->block_look -= p->block;
    }
    engine_check("placement.M4", p->block - 1 < PLACEMENT_BLOCK_MOST);
    p->block_left = p->block;
    p->block_queue = placement_choose_each(w);
}

/* placement.M4 */
static uint32_t placement_choose_spread(struct worker *w, uint32_t type)
{
    struct placing *p = &w->placing;
    uint32_t n = engine_workers(w->engine) * w->engine->segment.queues_per_worker;
    if (p->block_left == 0 || p->block_type != type || p->block_queue >= n)
        placement_block_begin(w, type);
    p->block_left--;
    return p->block_queue;
}

/* The spawner's own queue; of a worker that has gone, the ones who took it over have queues of
 * their own (placement.M2). */
static uint32_t placement_choose_near(struct worker *w, uint32_t type)
{
    const struct segment *s = &w->engine->segment;
    uint32_t index;
    /* an ordinary queue of a worker that runs */
    if (likely(w->batch.queue < engine_workers(w->engine) * s->queues_per_worker))
        return w->batch.queue;
    if (w->batch.queue == NO_QUEUE)
        return placement_choose_spread(w, type);
    switch (segment_queue_range(s, w->batch.queue, &index)) {
    case QUEUE_DETACHED: /* that thread is for one actor */
    case QUEUE_ASIDE:    /* its actor may go back to its own queue */
        return placement_choose_spread(w, type);
    case QUEUE_FOLLOW:
        return w->batch.queue;
    default:
        if (index < engine_workers(w->engine))
            return w->batch.queue;
        return load_relaxed(&w->engine->sources[w->batch.queue].home) * s->queues_per_worker +
               w->batch.queue % s->queues_per_worker;
    }
}

static int placement_choose_on_node(struct worker *w, uint32_t node, uint32_t *ret_queue)
{
    struct engine *e = w->engine;
    uint32_t n = engine_workers(e), k = e->segment.queues_per_worker, there = 0;
    for (uint32_t id = 0; id < n; id++)
        there += load_relaxed(&e->workers[id]->placing.node) == (int)node;
    if (there == 0)
        return -ENODEV;
    uint32_t i = w->placing.spawn_next++, skip = i % there, id = 0;
    while (load_relaxed(&e->workers[id]->placing.node) != (int)node || skip-- > 0)
        if (++id == n)
            return -ENODEV; /* nodes are being changed */
    *ret_queue = id * k + i / there % k;
    return 0;
}

static int placement_choose_pinned(struct worker *w, uint32_t worker, uint32_t *ret_queue)
{
    uint32_t n = engine_workers(w->engine);
    if (worker == ENGINE_ANYWHERE)
        worker = w->placing.spawn_next++ % n;
    if (worker >= n)
        return -ENODEV;
    *ret_queue = w->engine->segment.pinned_first + worker;
    return 0;
}

uint32_t placement_live(struct engine *e, uint32_t queue)
{
    int32_t live = 0;
    for (uint32_t id = 0; id < e->segment.n_ids; id++)
        live += load_relaxed(&e->workers[id]->placing.live[queue]);
    return live > 0 ? (uint32_t)live : 0;
}

int placement_choose(struct worker *w, uint32_t type, enum engine_placement placement,
                     uint32_t place, uint32_t *ret_queue)
{
    int r = 0;
    switch (placement) {
    case PLACE_SPREAD:
        *ret_queue = placement_choose_spread(w, type);
        break;
    case PLACE_EACH:
        *ret_queue = placement_choose_each(w);
        break;
    case PLACE_NEAR:
        *ret_queue = placement_choose_near(w, type);
        break;
    case PLACE_NODE:
        r = placement_choose_on_node(w, place, ret_queue);
        break;
    case PLACE_PINNED:
        r = placement_choose_pinned(w, place, ret_queue);
        break;
    case PLACE_FOLLOW:
        *ret_queue =
            w->engine->segment.follow_first + w->placing.spawn_next++ % ODEON_FOLLOW_QUEUES;
        break;
    case PLACE_DETACHED:
        r = own_thread_take(w, type, ret_queue);
        break;
    default:
        r = -EINVAL;
        break;
    }
    if (r == 0)
        live_add_in(w, *ret_queue, 1);
    return r;
}

void placement_undo(struct worker *w, uint32_t queue)
{
    struct engine *e = w->engine;
    live_add_in(w, queue, -1);
    if (queue >= e->segment.detached_first)
        own_thread_give_back(e, queue - e->segment.detached_first);
}

void placement_actor_found(struct engine *e, uint32_t queue, uint32_t type)
{
    live_add_in(e->control, queue, 1);
    if (queue >= e->segment.detached_first)
        store_relaxed(&e->own_threads.slots[queue - e->segment.detached_first].taken, type);
}

void placement_actor_ended(struct worker *w, uint32_t queue)
{
    struct engine *e = w->engine;
    live_add_in(w, queue, -1);
    if (queue >= e->segment.detached_first)
        own_thread_ended(w, queue - e->segment.detached_first);
}
