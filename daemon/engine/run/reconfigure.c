/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/run/reconfigure.h"

#include <errno.h>
#include <string.h>

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

/* The threads of workers [from, to) end.  They are looked after by reconfigure_threads_end. */
static void reconfigure_workers_dismiss(struct engine *e, uint32_t from, uint32_t to)
{
    e->reconfiguration.ends = from;
    e->reconfiguration.ends_to = to > from ? to : from;
}

/* False: one has not ended yet. */
static bool reconfigure_threads_end(struct engine *e)
{
    struct reconfiguration *r = &e->reconfiguration;
    for (; r->ends < r->ends_to; r->ends++) {
        struct worker *w = e->workers[r->ends];
        if (!worker_has_ended(w))
            return false;
        actors_slots_return(w);
    }
    return true;
}

/* Threads for workers [from, to), which stand at the coming pause from the beginning.  *ret_n: so
 * many have been made. */
static int reconfigure_workers_enlist(struct engine *e, uint32_t from, uint32_t to, uint32_t *ret_n)
{
    int r = 0;
    for (*ret_n = 0; r == 0 && from + *ret_n < to; *ret_n += r == 0)
        r = worker_start(e->workers[from + *ret_n], barrier_next(e));
    return r;
}

/* How long one try to stop all workers takes at most, and how long they run between two. */
enum { STAND_NS = 20 * 1000 * 1000 };

static uint32_t reconfigure_most(const struct reconfiguration *r)
{
    return r->before > r->after ? r->before : r->after;
}

/* A handler that hangs makes nobody stand for longer than one try. */
static void reconfigure_try(struct engine *e)
{
    struct reconfiguration *r = &e->reconfiguration;
    uint32_t made;
    r->phase = RECONFIGURATION_COME;
    r->seen = 0;
    r->try_until_ns = clock_now_ns() + STAND_NS;
    r->error = reconfigure_workers_enlist(e, r->before, r->after, &made);
    if (r->error == 0) {
        barrier_ask(e, reconfigure_most(r));
        return;
    }
    barrier_let_go(e);
    reconfigure_workers_dismiss(e, r->before, r->before + made);
}

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
    mine->packing = config->packing;
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
    store_relaxed(&source->lent, 0);
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

/* Those who do not run, or not yet, do not hear of ports that come and go: so those who come get
 * the doorbells, and those who go lose them, in the turn in which all stand. */
static void reconfigure_deafen(struct engine *e, uint32_t from, uint32_t to)
{
    for (uint32_t id = from; id < to; id++)
        reconfigure_doorbells_unwatch(e, e->workers[id]);
}

static int reconfigure_newcomers_listen(struct engine *e)
{
    int r = 0;
    for (uint32_t id = e->reconfiguration.before; r == 0 && id < e->reconfiguration.after; id++)
        r = reconfigure_doorbells_watch(e, e->workers[id]);
    return r;
}

/* The try is over, or the change is given up.  It may be begun anew, where there is no error. */
static void reconfigure_take_back(struct engine *e, int error)
{
    struct reconfiguration *r = &e->reconfiguration;
    reconfigure_deafen(e, r->before, r->after);
    barrier_let_go(e);
    reconfigure_workers_dismiss(e, r->before, r->after);
    r->error = error;
    r->phase = RECONFIGURATION_REST;
}

static void reconfigure_look_who_comes(struct engine *e)
{
    struct reconfiguration *r = &e->reconfiguration;
    uint64_t now = clock_now_ns();
    uint32_t n = reconfigure_most(r);
    if (barrier_have_come(e, n, &r->seen)) {
        int error = reconfigure_newcomers_listen(e);
        if (error < 0)
            reconfigure_take_back(e, error);
        else
            r->phase = RECONFIGURATION_STAND;
    } else if (now >= r->try_until_ns) {
        r->stuck = barrier_missing(e, n, r->seen, r->stuck);
        reconfigure_take_back(e, now >= r->until_ns ? -EBUSY : 0);
        r->rest_until_ns = now + STAND_NS;
    }
}

int reconfigure_ask(struct engine *e, uint32_t n_workers, uint64_t timeout_ns)
{
    struct reconfiguration *r = &e->reconfiguration;
    uint64_t now = clock_now_ns();
    if (r->phase != RECONFIGURATION_NONE)
        return -EALREADY;
    *r = (struct reconfiguration){ .before = engine_workers(e),
                                   .after = n_workers,
                                   .stuck = UINT32_MAX,
                                   .until_ns = timeout_ns < UINT64_MAX - now ? now + timeout_ns
                                                                             : UINT64_MAX };
    if (e->started)
        reconfigure_try(e);
    else /* nobody runs: there is nobody to wait for */
        r->phase = RECONFIGURATION_STAND;
    return 0;
}

int reconfigure_look(struct engine *e, uint32_t *ret_stuck)
{
    struct reconfiguration *r = &e->reconfiguration;
    if (!reconfigure_threads_end(e))
        return -EINPROGRESS;
    *ret_stuck = r->stuck;
    if (r->error < 0) {
        r->phase = RECONFIGURATION_NONE;
        return r->error;
    }
    if (r->phase == RECONFIGURATION_COME)
        reconfigure_look_who_comes(e);
    else if (r->phase == RECONFIGURATION_REST && clock_now_ns() >= r->rest_until_ns)
        reconfigure_try(e);
    return r->phase == RECONFIGURATION_STAND ? 0 : -EINPROGRESS;
}

void reconfigure_make(struct engine *e, const struct engine_config *config)
{
    struct reconfiguration *r = &e->reconfiguration;
    engine_check("reconfigure.X5",
                 r->phase == RECONFIGURATION_STAND && config->n_workers == r->after);
    r->moved = reconfigure_change_apply(e, config);
    r->phase = RECONFIGURATION_GO;
    r->seen = 0;
    if (!e->started)
        return;
    reconfigure_deafen(e, r->after, r->before);
    barrier_let_go(e);
    reconfigure_workers_dismiss(e, r->after, r->before);
}

int reconfigure_end(struct engine *e, struct engine_change *ret_change)
{
    struct reconfiguration *r = &e->reconfiguration;
    *ret_change = (struct engine_change){ .moved = r->moved, .stuck = UINT32_MAX };
    if (e->started) {
        uint32_t n = reconfigure_most(r);
        if (!barrier_have_gone(e, n, &r->seen) || !reconfigure_threads_end(e))
            return -EINPROGRESS;
        ret_change->pause_ns = barrier_pause_ns(e, n, r->before);
        reconfigure_stats_note(e, ret_change->pause_ns);
    }
    r->phase = RECONFIGURATION_NONE;
    return 0;
}

void reconfigure_cancel(struct engine *e)
{
    struct reconfiguration *r = &e->reconfiguration;
    /* with an error it has been taken back, and only that remains to be told */
    if (r->error == 0 && (r->phase == RECONFIGURATION_COME || r->phase == RECONFIGURATION_STAND))
        reconfigure_take_back(e, 0);
    for (uint32_t id = r->ends; e->started && id < r->ends_to; id++) {
        control_waits(e);
        worker_join(e->workers[id]);
        actors_slots_return(e->workers[id]);
    }
    r->ends = r->ends_to = 0;
    r->phase = RECONFIGURATION_NONE;
}
