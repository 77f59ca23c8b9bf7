/* SPDX-License-Identifier: Apache-2.0 */
/* From a segment that was found to workers that run, and back: recovery, start, stop. */
#include "daemon/common/clock.h"
#include "daemon/engine/base/probe.h"
#include "daemon/engine/engine.h"

#include <errno.h>

#include "daemon/engine/actors/actors.h"
#include "daemon/engine/core/core.h"
#include "daemon/engine/core/reclaim.h"
#include "daemon/engine/recovery/recover.h"
#include "daemon/engine/run/fault.h"
#include "daemon/engine/run/reconfigure.h"
#include "daemon/engine/run/worker.h"
#include "daemon/engine/signal/own_thread.h"
#include "daemon/engine/signal/wake.h"
#include "daemon/engine/stuck/hold.h"
#include "daemon/engine/timers/timer_fire.h"
#include "daemon/engine/timers/watches.h"

static void engine_start_recovery_publish(struct engine *e, const struct engine_recovery *r)
{
    struct stats_recovery *last = &e->stats->recovery_last, *total = &e->stats->recovery_total;
#define PUBLISH(field)                                                                             \
    do {                                                                                           \
        store_relaxed(&last->field, r->field);                                                     \
        store_relaxed(&total->field, load_relaxed(&total->field) + r->field);                      \
    } while (0)
    PUBLISH(running_handlers);
    PUBLISH(unflushed_outboxes);
    PUBLISH(armed_journals);
    PUBLISH(held_locks);
    PUBLISH(parked_batches);
    PUBLISH(attached_batches);
    PUBLISH(ports_attached);
    PUBLISH(spawns_undone);
    PUBLISH(states_undone);
    PUBLISH(redeliveries);
    PUBLISH(faults);
    PUBLISH(duration_ns);
#undef PUBLISH
    store_relaxed(&last->boots, r->boots);
    store_relaxed(&total->boots, r->boots);
    stat_add(e->control, STAT_redeliveries, r->redeliveries);
}

/* Created less ended is what lives: spawns that were undone, and counts that died with their
 * worker, are put right here. */
static void engine_start_counts_settle(struct engine *e)
{
    int64_t created = 0, ended = 0, live = 0;
    for (uint32_t id = 0; id < e->segment.n_ids; id++) {
        created += (int64_t)load_relaxed(&e->workers[id]->stats->value[STAT_actors_created]);
        ended += (int64_t)load_relaxed(&e->workers[id]->stats->value[STAT_actors_ended]);
    }
    for (uint32_t type = 0; type < ODEON_ACTOR_TYPES_MAX; type++)
        live += load_relaxed(&e->control->actors.type_live[type]);
    int64_t missing = live - (created - ended);
    stat_add(e->control, missing > 0 ? STAT_actors_created : STAT_actors_ended,
             (uint64_t)(missing > 0 ? missing : -missing));
}

int engine_recover(struct engine *e, struct engine_recovery *ret_report)
{
    fault_install(&e->segment.workers[e->segment.n_ids - 1].suspicion.verdict);
    PROBE(recovery_begin, e->segment.n_ids);
    int r = recover_run(e, ret_report);
    PROBE(recovery_end, r);
    if (r == 0) {
        engine_start_recovery_publish(e, ret_report);
        engine_start_counts_settle(e);
        store_relaxed(&e->stats->start_ns[START_RECOVERED], clock_now_ns());
    }
    return r;
}

int engine_fault_get(const struct engine *e, unsigned index, struct engine_fault *ret_fault)
{
    if (index >= e->faults.n)
        return -ENOENT;
    *ret_fault = e->faults.list[index];
    return 0;
}

int engine_suspect_get(const struct engine *e, unsigned index, struct engine_suspect *ret_suspect)
{
    if (index >= e->suspects.n)
        return -ENOENT;
    *ret_suspect = e->suspects.list[index];
    return 0;
}

/* Who has not asked for them by now does not want to know. */
static void engine_start_faults_done(struct engine *e)
{
    for (unsigned i = 0; i < e->faults.n; i++)
        engine_fault_done(e, i);
}

int engine_start(struct engine *e)
{
    hold_install();
    engine_start_faults_done(e);
    if (sched_getaffinity(0, sizeof(e->own_threads.allowed), &e->own_threads.allowed) < 0)
        return -errno;
    reclaim_start(e);
    watches_judge(e);
    actors_end_stopped(e);
    timer_fire_ends(e); /* watches.W7 */
    e->started = true;
    store_relaxed(&e->stats->executor_started_ns, clock_now_ns());
    for (uint32_t id = 0; id < engine_workers(e); id++) {
        int r = worker_start(e->workers[id], 0);
        if (r < 0)
            return r;
    }
    return own_thread_start_all(e);
}

void engine_widen(struct engine *e)
{
    actors_widen(e);
}

void engine_stop(struct engine *e)
{
    if (!e->started)
        return;
    reconfigure_cancel(e);
    store_relaxed(&e->stopping, 1);
    full_barrier();
    for (uint32_t id = 0; id < engine_workers(e); id++)
        wake(e->workers[id]);
    for (uint32_t id = 0; id < engine_workers(e); id++)
        worker_join(e->workers[id]);
    own_thread_join_all(e);
    e->started = false;
    store_release(&e->segment.header->clean, 1);
}
