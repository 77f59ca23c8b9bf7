/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/run/own_thread_main.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/engine/base/futex.h"
#include "daemon/engine/base/points.h"
#include "daemon/engine/run/fault.h"
#include "daemon/engine/run/mailbox.h"
#include "daemon/engine/segment/owner.h"

/* own_thread.N2 */
static void own_thread_main_slot_sleep(struct worker *w, struct detached *slot, uint32_t queue)
{
    struct engine *e = w->engine;
    (void)atomic_exchange_explicit(&slot->asleep, 1, memory_order_seq_cst);
    full_barrier_after_exchange();
    if ((load_relaxed(&w->called.ready[queue / 64]) >> (queue % 64) & 1) ||
        load_relaxed(&e->stopping)) {
        store_relaxed(&slot->asleep, 0);
        return;
    }
    store_relaxed(&w->stats->value[STAT_state], WORKER_PARKED);
    stat_add(w, STAT_parks, 1);
    while (load_acquire(&slot->asleep))
        futex_wait(&slot->asleep, 1, NULL);
    stat_add(w, STAT_wakeups_received, 1);
    store_relaxed(&w->stats->value[STAT_state], WORKER_BUSY);
}

void *own_thread_main(void *argument)
{
    struct worker *w = argument;
    struct engine *e = w->engine;
    uint32_t index = w->id - e->segment.workers_max, queue = e->segment.detached_first + index;
    struct detached *slot = &e->own_threads.slots[index];
    fault_thread_enter(w);
    /* Its maker may have been a worker, bound to a CPU; refused: it stays there. */
    if (e->config.bind)
        (void)e->config.bind(e->config.userdata, w->id);
    else
        (void)sched_setaffinity(0, sizeof(e->own_threads.allowed), &e->own_threads.allowed);
    store_relaxed(&w->stats->thread, (uint32_t)syscall(SYS_gettid));
    store_relaxed(&w->stats->cpu, UINT32_MAX);
    store_relaxed(&w->stats->value[STAT_state], WORKER_BUSY);
    while (!load_relaxed(&e->stopping)) {
        if (ready_clear(w->called.ready, queue)) { /* [CLEAR_FIRST] */
            store_relaxed(&w->shown.busy, 1);
            if (owner_take(&e->sources[queue], w->id, w->id)) /* nobody else ever does */
                mailbox_run(w, queue, false);
            store_release(&w->shown.busy, 0);
        } else {
            own_thread_main_slot_sleep(w, slot, queue);
        }
        if (slot->ended) {
            slot->ended = false;
            engine_check("own_thread.N1", load_relaxed(&slot->taken) != 0);
            /* read (acquire) by own_thread_take and by own_thread_runs_type */
            store_release(&slot->taken, 0);
        }
    }
    store_relaxed(&w->stats->value[STAT_state], WORKER_STOPPED);
    fault_thread_leave(w);
    store_release(&w->shown.left, 1); /* read (acquire) by engine_halt */
    return NULL;
}
