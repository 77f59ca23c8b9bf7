/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/run/reconfigure.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "daemon/common/clock.h"
#include "daemon/engine/actors/actors.h"
#include "daemon/engine/actors/placement.h"
#include "daemon/engine/base/points.h"
#include "daemon/engine/core/memory.h"
#include "daemon/engine/core/near.h"
#include "daemon/engine/ports/port.h"
#include "daemon/engine/run/barrier.h"
#include "daemon/engine/run/sources.h"
#include "daemon/engine/run/worker.h"
#include "daemon/engine/segment/queue.h"
#include "daemon/engine/signal/doorbells.h"
#include "daemon/engine/signal/urgent.h"
#include "daemon/engine/signal/wake.h"

/* ---- before and after the pause ---- */

static void reconfigure_doorbells_unwatch(struct engine *e, struct worker *w)
{
    for (uint32_t id = 0; id < ODEON_PORTS_MAX; id++)
        if (load_relaxed(&e->ports.table[id].state) != PORT_FREE)
            doorbells_unwatch_by(w, e->ports.table[id].doorbell_fd);
}

static int reconfigure_doorbells_watch(struct engine *e, struct worker *w)
{
    int r = 0;
    for (uint32_t id = 0; r == 0 && id < ODEON_PORTS_MAX; id++)
        if (load_relaxed(&e->ports.table[id].state) != PORT_FREE)
            r = doorbells_watch_by(w, id, e->ports.table[id].doorbell_fd);
    return r;
}

/* Workers [from, to) have no thread any more, or their threads end. */
static void reconfigure_workers_dismiss(struct engine *e, uint32_t from, uint32_t to)
{
    for (uint32_t id = from; id < to; id++) {
        control_waits(e);
        worker_join(e->workers[id]);
        reconfigure_doorbells_unwatch(e, e->workers[id]);
        actors_slots_return(e->workers[id]);
    }
}

/* What can fail: threads for workers [from, to), which stand at the coming pause from the
 * beginning, and their doorbells. */
static int reconfigure_workers_enlist(struct engine *e, uint32_t from, uint32_t to)
{
    for (uint32_t id = from; id < to; id++) {
        int r = reconfigure_doorbells_watch(e, e->workers[id]);
        if (r == 0)
            r = worker_start(e->workers[id], barrier_next(e));
        if (r < 0) {
            reconfigure_doorbells_unwatch(e, e->workers[id]);
            barrier_skip(e);
            reconfigure_workers_dismiss(e, from, id);
            return r;
        }
    }
    return 0;
}

/* How long one try to stop all workers takes at most; between two they run. */
enum { STAND_NS = 20 * 1000 * 1000 };

/* ---- while all stand ---- */

/* Where each worker is: those whose CPU is another one bind themselves when they go on. */
static void reconfigure_places_apply(struct engine *e, const struct engine_config *config)
{
    for (uint32_t id = 0; id < e->segment.workers_max; id++) {
        struct worker *w = e->workers[id];
        int cpu = config->cpus ? config->cpus[id] : -1,
            node = config->nodes ? config->nodes[id] : -1;
        w->stand.rebind = w->stand.rebind || w->stand.cpu != cpu;
        w->stand.cpu = cpu;
        store_relaxed(&w->placing.node, node);
    }
}

static void reconfigure_config_apply(struct engine *e, const struct engine_config *config)
{
    reconfigure_places_apply(e, config);
    memory_copy_places(e, config);
    struct engine_config *mine = &e->config;
    mine->n_workers = config->n_workers;
    mine->mode = config->mode;
    mine->steal_sources = config->steal_sources;
    mine->spin_ns = config->spin_ns;
    mine->moderate_sleeps = config->moderate_sleeps;
    mine->moderate_ns = config->moderate_ns;
    mine->relaxed_ns = config->relaxed_ns;
    engine_set_stall_limits(e, config->stall_warn_ns, config->stall_kill_ns);
    store_relaxed(&e->n_workers, config->n_workers);
    store_relaxed(&e->stats->n_workers, config->n_workers);
    near_build(e);
    engine_set_stealing(e, config->stealing);
    engine_set_throughput(e, config->throughput);
}

/* reconfigure.X2.  To its home: when that has changed, when its owner does not run any more, or
 * when from now
 *      on nobody takes anything from anybody. */
static bool reconfigure_source_move(struct engine *e, uint32_t id, bool all_home)
{
    struct source *source = &e->sources[id];
    uint64_t own = load_relaxed(source->own);
    uint32_t home = placement_home(e, id, engine_workers(e)), owner = own_worker(own);
    bool moves = home != load_relaxed(&source->home) || owner >= engine_workers(e) || all_home;
    engine_check("reconfigure.X2", !own_is_running(own) || id >= e->segment.n_mailboxes ||
                                       owner >= e->segment.workers_max);
    store_relaxed(&source->home, (uint16_t)home);
    if (own_is_running(own) || !moves || owner == home)
        return false; /* running: a port that is dead, or is none */
    (void)ready_clear(e->workers[owner]->called.ready, id); /* reconfigure.X4 */
    store_release(source->own, own_idle(home));
    return true;
}

/* Those of detached actors stay with their threads, which do not stand. */
static bool reconfigure_source_may_move(const struct engine *e, uint32_t id)
{
    uint32_t index;
    return source_kind_of(e, id, &index) != SOURCE_MAILBOX || index < e->segment.detached_first;
}

static uint64_t reconfigure_sources_redraw(struct engine *e, bool all_home)
{
    uint64_t moved = 0;
    for (uint32_t id = 0; id < e->n_sources; id++)
        if (reconfigure_source_may_move(e, id))
            moved += reconfigure_source_move(e, id, all_home);
    full_barrier(); /* reconfigure.X3 */
    for (uint32_t id = 0; id < e->n_sources; id++)
        if (reconfigure_source_may_move(e, id) && sources_has_work(e, id))
            /* nobody sleeps: a bit, by the rules of the policy */
            source_hand_back(e, e->control, id);
    return moved;
}

/* What a worker that goes was to do for others goes to one that stays. */
static void reconfigure_workers_retire(struct engine *e, uint32_t from, uint32_t to)
{
    for (uint32_t id = from; id < to; id++) {
        struct worker *w = e->workers[id];
        memset(w->ports.hot, 0, sizeof(w->ports.hot)); /* their owners will run them once */
        e->workers[0]->loop.stalled = e->workers[0]->loop.stalled || w->loop.stalled;
        w->loop.stalled = false;
    }
}

static uint64_t reconfigure_change_apply(struct engine *e, const struct engine_config *config)
{
    uint32_t before = engine_workers(e);
    bool all_home = config->stealing == STEAL_NONE && load_relaxed(&e->steal.policy) != STEAL_NONE;
    wake_forget(e);
    reconfigure_config_apply(e, config);
    reconfigure_workers_retire(e, engine_workers(e), before);
    return reconfigure_sources_redraw(e, all_home);
}

static void reconfigure_stats_note(struct engine *e, uint64_t pause_ns)
{
    store_relaxed(&e->stats->reconfigurations, load_relaxed(&e->stats->reconfigurations) + 1);
    store_relaxed(&e->stats->pause_last_ns, pause_ns);
    if (pause_ns > load_relaxed(&e->stats->pause_longest_ns))
        store_relaxed(&e->stats->pause_longest_ns, pause_ns);
}

/* One try.  A handler that hangs makes nobody wait for longer than this. */
static int reconfigure_all_stand(struct engine *e, uint32_t before, uint32_t after, uint32_t *stuck)
{
    int r = reconfigure_workers_enlist(e, before, after);
    if (r < 0)
        return r;
    r = barrier_close(e, before > after ? before : after, STAND_NS, stuck);
    if (r < 0)
        reconfigure_workers_dismiss(e, before, after);
    return r;
}

int reconfigure_run(struct engine *e, const struct engine_config *config, uint64_t timeout_ns,
                    struct engine_change *ret_change)
{
    uint32_t before = engine_workers(e), after = config->n_workers,
             most = before > after ? before : after;
    memset(ret_change, 0, sizeof(*ret_change));
    if (!e->started) { /* nobody runs: there is nobody to wait for */
        ret_change->moved = reconfigure_change_apply(e, config);
        return 0;
    }
    int r;
    ret_change->stuck = UINT32_MAX;
    for (uint64_t until = clock_now_ns() + timeout_ns;
         (r = reconfigure_all_stand(e, before, after, &ret_change->stuck)) == -EBUSY &&
         clock_now_ns() < until;) {
        control_waits(e);
        struct timespec pause = { .tv_nsec = STAND_NS };
        nanosleep(&pause, NULL);
    }
    if (r < 0)
        return r;
    ret_change->moved = reconfigure_change_apply(e, config);
    ret_change->pause_ns = barrier_open(e, most, before);
    reconfigure_workers_dismiss(e, after, before);
    reconfigure_stats_note(e, ret_change->pause_ns);
    return 0;
}
