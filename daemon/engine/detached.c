/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/detached.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/engine/fault.h"
#include "daemon/engine/queue.h"
#include "daemon/engine/urgent.h"
#include "daemon/engine/worker.h"

enum { THREAD_NONE, THREAD_BEGINS, THREAD_RUNS }; /* detached.has_thread */

static struct worker *slot_worker(struct engine *e, uint32_t slot)
{
    return e->workers[e->segment.workers_max + slot];
}

/* ---- its thread ---- */

/* N2 */
static void slot_sleep(struct worker *w, struct detached *slot, uint32_t queue)
{
    struct engine *e = w->engine;
    (void)atomic_exchange_explicit(&slot->asleep, 1, memory_order_seq_cst);
    full_barrier_after_exchange();
    if ((load_relaxed(&w->ready[queue / 64]) >> (queue % 64) & 1) || load_relaxed(&e->stopping)) {
        store_relaxed(&slot->asleep, 0);
        return;
    }
    store_relaxed(&w->stats->value[STAT_state], WORKER_PARKED);
    stat_add(w, STAT_parks, 1);
    while (load_acquire(&slot->asleep))
        (void)syscall(SYS_futex, &slot->asleep, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
    stat_add(w, STAT_wakeups_received, 1);
    store_relaxed(&w->stats->value[STAT_state], WORKER_BUSY);
}

static void slot_wake(struct detached *slot)
{
    if (atomic_exchange_explicit(&slot->asleep, 0, memory_order_seq_cst))
        (void)syscall(SYS_futex, &slot->asleep, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *slot_main(void *argument)
{
    struct worker *w = argument;
    struct engine *e = w->engine;
    uint32_t index = w->id - e->segment.workers_max, queue = e->segment.detached_first + index;
    struct detached *slot = &e->detached[index];
    fault_thread_enter(w);
    /* Its maker may have been a worker, bound to a CPU; refused: it stays there. */
    if (e->config.bind)
        (void)e->config.bind(e->config.userdata, w->id);
    else
        (void)sched_setaffinity(0, sizeof(e->allowed), &e->allowed);
    store_relaxed(&w->stats->thread, (uint32_t)syscall(SYS_gettid));
    store_relaxed(&w->stats->cpu, UINT32_MAX);
    store_relaxed(&w->stats->value[STAT_state], WORKER_BUSY);
    while (!load_relaxed(&e->stopping)) {
        if (ready_clear(w->ready, queue)) { /* [CLEAR_FIRST] */
            store_relaxed(&w->busy, 1);
            if (owner_take(&e->sources[queue], w->id, w->id)) /* nobody else ever does */
                worker_run_queue(w, queue);
            store_release(&w->busy, 0);
        } else {
            slot_sleep(w, slot, queue);
        }
        if (slot->ended) {
            slot->ended = false;
            /* N1; read (acquire) by detached_take and by detached_runs_type */
            store_release(&slot->taken, 0);
        }
    }
    store_relaxed(&w->stats->value[STAT_state], WORKER_STOPPED);
    fault_thread_leave(w);
    return NULL;
}

/* One thread a slot: engine_start may look at a slot that a worker, started just before, has taken
 * and is starting. */
static int slot_start(struct engine *e, uint32_t index)
{
    struct detached *slot = &e->detached[index];
    uint32_t none = THREAD_NONE;
    /* relaxed: only who is to make it; what the thread reads, its creation orders */
    if (!atomic_compare_exchange_strong_explicit(&slot->has_thread, &none, THREAD_BEGINS,
                                                 memory_order_relaxed, memory_order_relaxed))
        return 0;
    struct worker *w = slot_worker(e, index);
    int r = -pthread_create(&w->thread, NULL, slot_main, w);
    /* read (acquire) by detached_join_all: the handle stands */
    store_release(&slot->has_thread, r == 0 ? THREAD_RUNS : THREAD_NONE);
    return r;
}

/* ---- others ---- */

int detached_take(struct worker *w, uint32_t type, uint32_t *ret_queue)
{
    struct engine *e = w->engine;
    for (uint32_t index = 0; index < e->segment.detached_max; index++) {
        uint32_t none = 0;
        /* acquire: what the slot's last actor and its maker left; seq_cst: N3 */
        if (!atomic_compare_exchange_strong_explicit(&e->detached[index].taken, &none, type,
                                                     memory_order_seq_cst, memory_order_relaxed))
            continue;
        full_barrier_after_exchange();
        int r = load_relaxed(&e->spawnable[type]) ? 0 : -ENOENT;
        if (r == 0 && e->started)
            r = slot_start(e, index);
        if (r < 0) {
            detached_give_back(e, index);
            return r;
        }
        *ret_queue = e->segment.detached_first + index;
        return 0;
    }
    return -ENOSPC;
}

void detached_give_back(struct engine *e, uint32_t index)
{
    store_release(&e->detached[index].taken, 0);
}

void detached_ended(struct worker *w, uint32_t index)
{
    if (w->is_detached)
        w->engine->detached[index].ended = true;
    else
        detached_give_back(w->engine, index); /* before the start: there is no thread */
}

void detached_signal(struct engine *e, struct worker *me, uint32_t id, uint32_t queue)
{
    struct worker *w = e->workers[id];
    ready_set(w->ready, queue);
    if (w == me)
        return;     /* it looks before it sleeps */
    full_barrier(); /* N2 */
    struct detached *slot = &e->detached[id - e->segment.workers_max];
    if (load_relaxed(&slot->asleep)) {
        stat_add(me, STAT_wakeups_sent, 1);
        slot_wake(slot);
    }
}

int detached_start_all(struct engine *e)
{
    int r = 0;
    for (uint32_t index = 0; r == 0 && index < e->segment.detached_max; index++)
        if (load_relaxed(&e->detached[index].taken) ||
            urgent_mailbox_has_work(e, e->segment.detached_first + index))
            r = slot_start(e, index);
    return r;
}

/* A thread that ends may have made another one before. */
void detached_join_all(struct engine *e)
{
    bool found;
    do {
        found = false;
        for (uint32_t index = 0; index < e->segment.detached_max; index++) {
            struct detached *slot = &e->detached[index];
            if (load_acquire(&slot->has_thread) != THREAD_RUNS)
                continue;
            found = true;
            slot_wake(slot);
            pthread_join(slot_worker(e, index)->thread, NULL);
            store_relaxed(&slot->has_thread, THREAD_NONE);
        }
    } while (found);
}

bool detached_runs_type(struct engine *e, uint32_t type)
{
    for (uint32_t index = 0; index < e->segment.detached_max; index++)
        if (load_acquire(&e->detached[index].taken) == type)
            return true;
    return false;
}
