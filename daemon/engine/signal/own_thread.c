/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/signal/own_thread.h"

#include <errno.h>

#include "daemon/engine/base/futex.h"
#include "daemon/engine/base/points.h"
#include "daemon/engine/segment/queue.h"
#include "daemon/engine/signal/urgent.h"

enum { THREAD_NONE, THREAD_BEGINS, THREAD_RUNS }; /* detached.has_thread */

static struct worker *own_thread_slot_worker(struct engine *e, uint32_t slot)
{
    return e->workers[e->segment.workers_max + slot];
}

static void own_thread_slot_wake(struct detached *slot)
{
    if (atomic_exchange_explicit(&slot->asleep, 0, memory_order_seq_cst))
        futex_wake(&slot->asleep, 1);
}

/* One thread a slot: engine_start may look at a slot that a worker, started just before, has taken
 * and is starting. */
static int own_thread_slot_start(struct engine *e, uint32_t index)
{
    struct detached *slot = &e->own_threads.slots[index];
    uint32_t none = THREAD_NONE;
    /* relaxed: only who is to make it; what the thread reads, its creation orders */
    if (!atomic_compare_exchange_strong_explicit(&slot->has_thread, &none, THREAD_BEGINS,
                                                 memory_order_relaxed, memory_order_relaxed))
        return 0;
    struct worker *w = own_thread_slot_worker(e, index);
    store_relaxed(&w->shown.left, 0);
    int r = -pthread_create(&w->thread, NULL, e->own_threads.main, w);
    /* read (acquire) by own_thread_join_all: the handle stands */
    store_release(&slot->has_thread, r == 0 ? THREAD_RUNS : THREAD_NONE);
    return r;
}

int own_thread_take(struct worker *w, uint32_t type, uint32_t *ret_queue)
{
    struct engine *e = w->engine;
    for (uint32_t index = 0; index < e->segment.detached_max; index++) {
        uint32_t none = 0;
        /* acquire: what the slot's last actor and its maker left; seq_cst: own_thread.N3 */
        if (!atomic_compare_exchange_strong_explicit(&e->own_threads.slots[index].taken, &none,
                                                     type, memory_order_seq_cst,
                                                     memory_order_relaxed))
            continue;
        full_barrier_after_exchange();
        int r = load_relaxed(&e->types.spawnable[type]) ? 0 : -ESRCH;
        if (r == 0 && e->started)
            r = own_thread_slot_start(e, index);
        if (r < 0) {
            own_thread_give_back(e, index);
            return r;
        }
        *ret_queue = e->segment.detached_first + index;
        return 0;
    }
    return -ENOSPC;
}

void own_thread_give_back(struct engine *e, uint32_t index)
{
    engine_check("own_thread.N1", load_relaxed(&e->own_threads.slots[index].taken) != 0);
    store_release(&e->own_threads.slots[index].taken, 0);
}

void own_thread_ended(struct worker *w, uint32_t index)
{
    if (w->is_detached)
        w->engine->own_threads.slots[index].ended = true;
    else
        own_thread_give_back(w->engine, index); /* before the start: there is no thread */
}

void own_thread_signal(struct engine *e, struct worker *me, uint32_t id, uint32_t queue)
{
    struct worker *w = e->workers[id];
    ready_set(w->called.ready, queue);
    if (w == me)
        return;     /* it looks before it sleeps */
    full_barrier(); /* own_thread.N2 */
    struct detached *slot = &e->own_threads.slots[id - e->segment.workers_max];
    if (load_relaxed(&slot->asleep)) {
        stat_add(me, STAT_wakeups_sent, 1);
        own_thread_slot_wake(slot);
    }
}

int own_thread_start_all(struct engine *e)
{
    int r = 0;
    for (uint32_t index = 0; r == 0 && index < e->segment.detached_max; index++)
        if (load_relaxed(&e->own_threads.slots[index].taken) ||
            urgent_mailbox_has_work(e, e->segment.detached_first + index))
            r = own_thread_slot_start(e, index);
    return r;
}

bool own_thread_runs(const struct engine *e, uint32_t index)
{
    return load_acquire(&e->own_threads.slots[index].has_thread) == THREAD_RUNS;
}

void own_thread_wake_all(struct engine *e)
{
    for (uint32_t index = 0; index < e->segment.detached_max; index++)
        if (own_thread_runs(e, index))
            own_thread_slot_wake(&e->own_threads.slots[index]);
}

/* A thread that ends may have made another one before. */
void own_thread_join_all(struct engine *e)
{
    bool found;
    do {
        found = false;
        for (uint32_t index = 0; index < e->segment.detached_max; index++) {
            struct detached *slot = &e->own_threads.slots[index];
            if (load_acquire(&slot->has_thread) != THREAD_RUNS)
                continue;
            found = true;
            own_thread_slot_wake(slot);
            pthread_join(own_thread_slot_worker(e, index)->thread, NULL);
            store_relaxed(&slot->has_thread, THREAD_NONE);
        }
    } while (found);
}

bool own_thread_runs_type(struct engine *e, uint32_t type)
{
    for (uint32_t index = 0; index < e->segment.detached_max; index++)
        if (load_acquire(&e->own_threads.slots[index].taken) == type)
            return true;
    return false;
}
