/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/run/worker.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "daemon/common/clock.h"
#include "daemon/engine/actors/actors.h"
#include "daemon/engine/base/points.h"
#include "daemon/engine/base/ticks.h"
#include "daemon/engine/commit/outbox.h"
#include "daemon/engine/core/masks.h"
#include "daemon/engine/core/memory.h"
#include "daemon/engine/core/near.h"
#include "daemon/engine/core/rota.h"
#include "daemon/engine/observe/observe.h"
#include "daemon/engine/ports/port.h"
#include "daemon/engine/ports/port_poll.h"
#include "daemon/engine/ports/port_steal.h"
#include "daemon/engine/run/barrier.h"
#include "daemon/engine/run/fault.h"
#include "daemon/engine/run/park.h"
#include "daemon/engine/run/polled.h"
#include "daemon/engine/run/sources.h"
#include "daemon/engine/run/steal.h"
#include "daemon/engine/signal/doorbells.h"
#include "daemon/engine/signal/help.h"
#include "daemon/engine/signal/wake.h"

enum {
    /* A busy worker looks at cold ports' doorbells behind so many runs, if that took as long as
     * this, and behind any run when it has not for so much longer. */
    DOORBELL_POLL_RUNS = 16,
    DOORBELL_POLL_NS = 50 * 1000,
    DOORBELL_LATE_NS = 500 * 1000,
    FRUITLESS_ROUNDS = 2,   /* before it tries to steal (thesis, "Stealing Mechanism") */
    SEARCH_LOOKS = 16,      /* at what is our own, between the first two looks at the others */
    SEARCH_LOOKS_MAX = 128, /* twice as many each time, up to so many: a few microseconds */
    SUMMARY_IDLES = 64,     /* so often it has nothing to do between two looks at its summary */
    SEARCH_ROUND_NS = 16,   /* no processor is so quick with the first of them */
};

int worker_new(struct engine *e, uint32_t id, struct worker **ret_worker)
{
    size_t mask_bytes = ((e->n_sources + 63) / 64 * sizeof(uint64_t) + 127) & ~(size_t)127,
           own_bytes = (sizeof(struct worker) + 127) & ~(size_t)127;
    struct worker *w = memory_alloc(e, id, own_bytes + 2 * mask_bytes);
    if (!w)
        return -ENOMEM;
    w->block_bytes = own_bytes + 2 * mask_bytes;
    w->called.ready = (_Atomic uint64_t *)((uint8_t *)w + own_bytes);
    w->rota.marked = (uint64_t *)((uint8_t *)w + own_bytes + mask_bytes);
    w->engine = e;
    w->id = id;
    w->is_thread = id < e->segment.workers_max;
    w->is_detached = !w->is_thread && id + 1 < e->segment.n_ids;
    w->turn.actors = e->actors.table;
    w->turn.actors_max = e->config.actors_max;
    w->turn.types = e->types.known;
    w->turn.states = e->actors.states;
    w->turn.slots = e->segment.actors;
    w->durable = &e->segment.workers[id];
    w->slot = segment_commit_valid(w->durable);
    w->batch.queue = w->observer.destination = NO_QUEUE;
    w->batch.probe = MARKS_NONE;
    w->observer.tail.plan = OBSERVE_NEVER;
    w->loop.ran = -1;
    w->loop.polled = POLLED_NONE;
    w->ctx.host = e->config.host;
    w->ctx.inline_block = e->config.inline_block;
    w->ctx.worker = id;
    w->search.random = (id + 1) * UINT64_C(0x9e3779b97f4a7c15);
    w->placing.spawn_next = w->placing.spread_worker = id;
    w->doorbells.epoll_fd = w->doorbells.wake_fd = -1;
    w->stats = (struct stats_worker *)((uint8_t *)e->stats + STATS_WORKER_OFFSET) +
               (id + 1 < e->segment.n_ids ? id : STATS_CONTROL_BLOCK);
    store_relaxed(&w->stats->cpu, UINT32_MAX); /* until its thread is bound */
    w->stand.cpu = w->is_thread && e->config.cpus ? e->config.cpus[id] : -1;
    store_relaxed(&w->placing.node, w->is_thread && e->config.nodes ? e->config.nodes[id] : -1);
    w->actors.kept = calloc(ODEON_ACTOR_TYPES_MAX, sizeof(*w->actors.kept));
    w->actors.type_live = calloc(ODEON_ACTOR_TYPES_MAX, sizeof(*w->actors.type_live));
    w->actors.type_told = w->actors.type_live;
    w->actors.slots_max = actors_cache_max(e);
    w->placing.live = calloc(e->segment.n_mailboxes, sizeof(*w->placing.live));
    w->near = calloc(1, sizeof(*w->near));
    int r = w->actors.kept && w->actors.type_live && w->placing.live && w->near ? outbox_init(w)
                                                                                : -ENOMEM;
    if (r == 0 && w->is_thread)
        r = doorbells_worker_init(w);
    if (r < 0) {
        worker_free(w);
        return r;
    }
    *ret_worker = w;
    return 0;
}

struct worker *worker_free(struct worker *w)
{
    if (!w)
        return NULL;
    doorbells_worker_fini(w);
    outbox_fini(w);
    for (uint32_t i = 0; w->actors.kept && i < ODEON_ACTOR_TYPES_MAX; i++) {
        const struct actor_type *type = load_relaxed(&w->turn.types[i]);
        if (type)
            actors_state_forget(w, w, type);
    }
    free(w->actors.kept);
    free((void *)w->actors.type_live);
    free((void *)w->placing.live);
    free(w->near);
    memory_free(w, w->block_bytes);
    return NULL;
}

static void worker_run_source(struct worker *w, uint32_t source, bool stolen)
{
    polled_end(w);
    help_begin_run(w, source);
    if (unlikely(load_relaxed(&w->stats->value[STAT_state]) != WORKER_BUSY))
        store_relaxed(&w->stats->value[STAT_state], WORKER_BUSY);
    sources_run(w, source, stolen);
    help_end_run(w);
    w->loop.fruitless = 0;
}

/* The next bit of the common mask, round. */
static int64_t worker_common_next(struct worker *w)
{
    uint32_t n_words = (w->engine->n_sources + 63) / 64, from = w->loop.common_from;
    for (uint32_t i = 0; i <= n_words; i++) {
        uint32_t word = (from / 64 + i) % n_words;
        uint64_t bits = load_relaxed(&w->engine->steal.common[word]);
        if (i == 0)
            bits &= ~UINT64_C(0) << (from % 64);
        if (bits) {
            uint32_t source = word * 64 + (uint32_t)__builtin_ctzll(bits);
            w->loop.common_from = (source + 1) % (n_words * 64);
            return source;
        }
    }
    return -1;
}

/* A source that was ours a moment ago. False: somebody else has it, and has been told. */
static bool worker_take(struct worker *w, uint32_t source)
{
    store_relaxed(&w->shown.busy, 1); /* [BUSY_ORDER]: the compare-and-swap is the barrier */
    if (likely(owner_take(&w->engine->sources[source], w->id, w->id)))
        return true;
    store_relaxed(&w->shown.busy, 0);
    stat_add(w, STAT_missed_gulps, 1);
    POINT(bit_looked, w, source);
    source_pass_on(w->engine, w, source);
    return false;
}

/* A bit of the own mask, in the rota's order, cleared before the owner word is tried [CLEAR_FIRST];
 * -1: none. */
static int64_t worker_take_own(struct worker *w)
{
    for (int64_t source; (source = rota_next(w)) >= 0;) {
        /* they come while the bit is cleared */
        prefetch_write((const void *)w->engine->sources[source].own);
        if (source == w->loop.ran)
            prefetch_read(w->loop.ran_next);
        if (!VALUE(bit_cleared, ready_clear(w->called.ready, (uint32_t)source), w, source))
            continue; /* a thief's, who cleared it */
        if (likely(worker_take(w, (uint32_t)source)))
            return source;
    }
    return -1;
}

/* A bit of the common mask: whoever had the source last, it is ours if nobody runs it (and it has
 * not become a fixed one since). */
static int64_t worker_take_common(struct worker *w)
{
    struct engine *e = w->engine;
    for (int64_t source; (source = worker_common_next(w)) >= 0;) {
        if (!ready_clear(e->steal.common, (uint32_t)source))
            continue;
        uint64_t own = load_relaxed(e->sources[source].own);
        bool mine =
            own_worker(own) == w->id || !(load_relaxed(&e->sources[source].flags) & SOURCE_FIXED);
        store_relaxed(&w->shown.busy, 1);
        if (mine && !own_is_running(own) && owner_take(&e->sources[source], own_worker(own), w->id))
            return source;
        store_relaxed(&w->shown.busy, 0);
        stat_add(w, STAT_missed_gulps, 1);
        source_pass_on(e, w, (uint32_t)source); /* [PASS_ON] */
    }
    return -1;
}

/* Own and common bits; once there are common ones, each is first in turn. */
static int64_t worker_take_ready(struct worker *w)
{
    if (likely(!load_relaxed(&w->engine->steal.common_used)))
        return worker_take_own(w);
    w->loop.common_first = !w->loop.common_first;
    int64_t source = w->loop.common_first ? worker_take_common(w) : worker_take_own(w);
    if (source < 0)
        source = w->loop.common_first ? worker_take_own(w) : worker_take_common(w);
    return source;
}

static int64_t worker_try_steal(struct worker *w)
{
    struct engine *e = w->engine;
    if (++w->loop.fruitless <= FRUITLESS_ROUNDS && !w->search.searcher)
        return -1;
    if (!w->search.searcher) {
        _Atomic uint32_t *searching = near_searching(e, w);
        uint32_t none = 0;
        if (load_relaxed(&e->steal.policy) == STEAL_NONE || engine_workers(e) < 2 ||
            worker_rests(w) || load_relaxed(searching) != 0 ||
            !atomic_compare_exchange_strong_explicit(searching, &none, 1, memory_order_seq_cst,
                                                     memory_order_relaxed))
            return -1; /* one searcher a node */
        w->search.searcher = true;
    }
    return steal_try(w);
}

/* One look everywhere; `port`: what a look at the polled ports has come to just now. True:
 * something was run. */
static bool worker_work_once(struct worker *w, int64_t port)
{
    int64_t source = port >= 0 && worker_take(w, (uint32_t)port) ? port : polled_take(w);
    bool stolen = false;
    if (source < 0)
        source = worker_take_ready(w);
    if (source < 0) {
        source = worker_try_steal(w);
        stolen = source >= 0;
    }
    if (source < 0)
        return false;
    worker_run_source(w, (uint32_t)source, stolen);
    return true;
}

/* ---- nothing to do ---- */

/* Without a pause for spin_ns: looks at the own mask and the polled ports all the time, at the
 * others and the clock now and then, and more and more rarely. True: something was run. */
static bool worker_search(struct worker *w)
{
    struct engine *e = w->engine;
    uint64_t until = clock_now_ns() + e->config.spin_ns;
    /* it ends though the clock stands still, too */
    uint64_t rounds = e->config.spin_ns / SEARCH_ROUND_NS;
    int looks = SEARCH_LOOKS;
    if (e->config.spin_ns > 0 && !worker_rests(w))
        polled_begin(w); /* who rests leaves it to senders */
    do {
        store_release(&w->shown.passes, load_relaxed(&w->shown.passes) + 1);
        int64_t port = -1;
        for (int i = 0; i < looks; i++) {
            port = port_poll_hot(w);
            if (port >= 0 || polled_shows_work(w) || !mask_is_empty(w))
                break;
            cpu_relax();
        }
        if (worker_work_once(w, port))
            return true;
        looks = looks < SEARCH_LOOKS_MAX ? 2 * looks : looks;
    } while (!engine_wants_halt(e) && rounds-- > 0 && clock_now_ns() < until);
    polled_end(w); /* before the sleepers bit, and before it stands */
    return false;
}

/* One step of being idle: the search, when something was found or a wake-up came since the last
 * time; then a short sleep, so many times; then a long one. The look everywhere that follows a
 * sleep is the caller's next one. */
static void worker_idle(struct worker *w)
{
    struct engine *e = w->engine;
    store_relaxed(&w->stats->value[STAT_state], WORKER_SEARCHING);
    w->pace.run_messages = 0;
    rota_forget(w);
    if (w->loop.sleeps > 0 || ++w->loop.idles % SUMMARY_IDLES == 0)
        mask_summary_renew(w);
    if ((w->loop.sleeps == 0 && worker_search(w)) || engine_wants_halt(e))
        return;
    bool moderate = w->loop.sleeps < e->config.moderate_sleeps;
    w->loop.sleeps += w->loop.sleeps <= e->config.moderate_sleeps;
    stat_add(w, STAT_parks_moderate, moderate);
    if (park_sleep(w, moderate ? e->config.moderate_ns : e->config.relaxed_ns) == PARK_WOKEN) {
        w->loop.sleeps = 0;
        return;
    }
    stat_add(w, STAT_relaxed_timeouts, !moderate);
    w->loop.fruitless = FRUITLESS_ROUNDS; /* that look takes in the others */
}

static void worker_bind(struct worker *w)
{
    struct engine *e = w->engine;
    int r = e->config.bind ? e->config.bind(e->config.userdata, w->id) : 0;
    w->stand.rebind = false;
    store_relaxed(&w->stats->cpu, r < 0 ? UINT32_MAX : (uint32_t)w->stand.cpu);
}

/* At a quiescent point.  False: the thread ends. */
static bool worker_goes_on(struct worker *w)
{
    struct engine *e = w->engine;
    if (unlikely(load_relaxed(&e->pause) & 1))
        barrier_stand(w);
    if (load_relaxed(&e->stopping) || w->id >= engine_workers(e))
        return false;
    if (unlikely(w->stand.rebind))
        worker_bind(w);
    return true;
}

/* Now and then between two runs. The clock that was looked at during the last one costs nothing. */
static void worker_look_at_doorbells(struct worker *w, uint32_t rounds)
{
    bool late =
        load_relaxed(&w->pace.looked) - w->loop.polled_ticks >= ticks_of_ns(DOORBELL_LATE_NS);
    if (likely(rounds % DOORBELL_POLL_RUNS != 0 && !late))
        return;
    polled_hide(w);
    uint64_t now = clock_now_ns();
    /* a clock that stands still says nothing */
    if (now - w->loop.polled_ns <= DOORBELL_POLL_NS && now != w->loop.polled_ns)
        return;
    w->loop.polled_ns = now;
    w->loop.polled_ticks = load_relaxed(&w->pace.looked);
    doorbells_poll(w);
}

static void *worker_main(void *argument)
{
    struct worker *w = argument;
    fault_thread_enter(w);
    barrier_enlist(w);
    w->stand.rebind = true;
    store_relaxed(&w->stats->thread, (uint32_t)syscall(SYS_gettid));
    store_relaxed(&w->stats->value[STAT_state], WORKER_BUSY);
    uint32_t rounds = 0;
    while (worker_goes_on(w)) {
        /* a quiescent point; read (acquire) by quiesce_is_over and reap_collect */
        store_release(&w->shown.passes, load_relaxed(&w->shown.passes) + 1);
        if (w->loop.stalled) {
            w->loop.stalled = false;
            port_rescue(w);
        }
        if (worker_work_once(w, port_poll_hot(w)))
            w->loop.sleeps = 0;
        else
            worker_idle(w);
        worker_look_at_doorbells(w, ++rounds);
    }
    store_relaxed(&w->stats->value[STAT_state], WORKER_STOPPED);
    fault_thread_leave(w);
    store_release(&w->shown.left, 1); /* read (acquire) by engine_halt */
    return NULL;
}

int worker_start(struct worker *w, uint32_t epoch)
{
    store_relaxed(&w->shown.left, 0);
    w->stand.start_epoch = epoch;
    return -pthread_create(&w->thread, NULL, worker_main, w);
}

void worker_join(struct worker *w)
{
    pthread_join(w->thread, NULL);
}

bool worker_has_ended(struct worker *w)
{
    return pthread_tryjoin_np(w->thread, NULL) == 0;
}
