/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/worker.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "daemon/engine/actors.h"
#include "daemon/engine/barrier.h"
#include "daemon/engine/commit.h"
#include "daemon/engine/fault.h"
#include "daemon/engine/memory.h"
#include "daemon/engine/near.h"
#include "daemon/engine/overflow.h"
#include "daemon/engine/park.h"
#include "daemon/engine/port.h"
#include "daemon/engine/reclaim.h"
#include "daemon/engine/seed.h"
#include "daemon/engine/steal.h"
#include "daemon/engine/turn.h"
#include "daemon/engine/urgent.h"

enum {
    DOORBELL_POLL_NS = 50 * 1000, /* a busy worker looks at cold ports' doorbells this often */
    FRUITLESS_ROUNDS = 2,         /* before it tries to steal (thesis, "Stealing Mechanism") */
    SEARCH_LOOKS = 16,      /* at what is our own, between the first two looks at the others */
    SEARCH_LOOKS_MAX = 128, /* twice as many each time, up to so many: a few microseconds */
};

int worker_new(struct engine *e, uint32_t id, struct worker **ret_worker)
{
    size_t mask_bytes = ((e->n_sources + 63) / 64 * sizeof(uint64_t) + 127) & ~(size_t)127,
           own_bytes = (sizeof(struct worker) + 127) & ~(size_t)127;
    struct worker *w = memory_alloc(e, id, own_bytes + mask_bytes);
    if (!w)
        return -ENOMEM;
    w->block_bytes = own_bytes + mask_bytes;
    w->ready = (_Atomic uint64_t *)((uint8_t *)w + own_bytes);
    w->engine = e;
    w->id = id;
    w->is_thread = id < e->segment.workers_max;
    w->is_detached = !w->is_thread && id + 1 < e->segment.n_ids;
    w->actors = e->actors;
    w->actors_max = e->config.actors_max;
    w->types = e->types;
    w->actor_states = e->actor_states;
    w->durable = &e->segment.workers[id];
    w->slot = segment_commit_valid(w->durable);
    w->queue = NO_QUEUE;
    w->ctx.host = e->config.host;
    w->ctx.worker = id;
    w->random = (id + 1) * UINT64_C(0x9e3779b97f4a7c15);
    w->spawn_next = w->spread_worker = id;
    w->epoll_fd = w->wake_fd = -1;
    w->stats = (struct stats_worker *)((uint8_t *)e->stats + STATS_WORKER_OFFSET) +
               (id + 1 < e->segment.n_ids ? id : STATS_CONTROL_BLOCK);
    w->cpu = w->is_thread && e->config.cpus ? e->config.cpus[id] : -1;
    store_relaxed(&w->node, w->is_thread && e->config.nodes ? e->config.nodes[id] : -1);
    w->state_kept = calloc(ODEON_ACTOR_TYPES_MAX, sizeof(*w->state_kept));
    w->type_live = calloc(ODEON_ACTOR_TYPES_MAX, sizeof(*w->type_live));
    w->queue_live = calloc(e->segment.n_mailboxes, sizeof(*w->queue_live));
    w->near = calloc(1, sizeof(*w->near));
    int r = w->state_kept && w->type_live && w->queue_live && w->near ? outbox_init(w) : -ENOMEM;
    if (r == 0 && w->is_thread)
        r = park_worker_init(w);
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
    park_worker_fini(w);
    outbox_fini(w);
    for (uint32_t i = 0; w->state_kept && i < ODEON_ACTOR_TYPES_MAX; i++) {
        const struct actor_type *type = load_relaxed(&w->types[i]);
        if (type)
            actors_state_forget(w, type);
    }
    free(w->state_kept);
    free((void *)w->type_live);
    free((void *)w->queue_live);
    free(w->near);
    memory_free(w, w->block_bytes);
    return NULL;
}

/* ---- running a queue ---- */

/* `id`: of the queue; its mailbox is the one that is run. */
static void attach(struct worker *w, uint32_t mailbox, uint32_t id, struct segment_queue *queue)
{
    struct engine *e = w->engine;
    bool urgent = id != mailbox;
    uint32_t sel = load_relaxed(&queue->sel);
    unsigned active = queue_active(sel);
    w->batch = segment_window(&e->segment, id, active ^ 1);
    w->active_len = &queue->len[active];
    w->cursor = load_relaxed(&queue->cursor);
    w->tail = load_acquire(&queue->len[active ^ 1]); /* Q2 */
    w->wrap = load_relaxed(&queue->wrap);
    w->ring = load_relaxed(&queue->ring);
    if (unlikely(urgent)) {
        w->ring = 0;           /* closed: G5 of urgent.h */
    } else if (w->ring == 0) { /* gulped just now, or by an executor that is no more */
        w->ring = turn_ring_bytes(w, w->wrap > w->tail ? w->wrap : w->tail);
        store_relaxed(&queue->ring, w->ring);
    }
    w->tail_limit = w->wrap ? w->cursor : w->ring;
    w->gives_way = &e->urgent[e->segment.n_mailboxes]; /* nobody's: at least one message is run */
    w->gives_way_to = urgent ? w->gives_way : &e->urgent[mailbox];
    w->queue = mailbox;
    w->key_live = actor_key(0, mailbox, 0, ACTOR_LIVE);
    w->source = id + 1;
    commit_flip(w, w->source, w->cursor, w->tail, 0, 0, 0);
}

static uint64_t count_records(const uint8_t *batch, uint64_t cursor, uint64_t tail, uint64_t wrap)
{
    uint64_t n = 0;
    for (uint64_t end = wrap ? wrap : tail; cursor < end; n++)
        cursor += envelope_record_size((const struct envelope *)(batch + cursor));
    return wrap ? n + count_records(batch, 0, tail, 0) : n;
}

static void detach(struct worker *w, struct segment_queue *queue, uint32_t id, bool done)
{
    if (!SEEDED(own_early))
        /* before own goes idle: the next runner's sends must not overtake ours [REL_FLUSH] */
        turn_flush(w);
    INJECT(RELEASE);
    if (SEEDED(own_early)) {
        owner_release(&w->engine->sources[id], w->id);
        INJECT_PAUSE();
        turn_flush(w);
    }
    if (SEEDED(detach_first))
        commit_flip(w, 0, 0, 0, 0, 0, 0);
    if (done)
        queue_release_batch(queue);
    else
        queue_park_batch(queue, w->cursor, w->tail, w->wrap);
    w->source = 0;
    w->queue = NO_QUEUE;
    w->wrap = 0;
    commit_flip(w, 0, 0, 0, 0, 0, 0);
    if (!done)
        INJECT(PARKED);
}

static void release(struct worker *w, uint32_t id, bool left)
{
    if (source_release(w, id, source_goes_to(w, id), left) &&
        urgent_mailbox_has_work(w->engine, id))
        source_hand_back(w->engine, w, id); /* [VISIT_RECHECK] */
}

/* What a run of a mailbox has come to. */
struct mailbox_run {
    uint32_t id; /* of the mailbox: another one behind a message that has been set aside */
    uint64_t n;  /* messages, so far */
    bool left;   /* in its ordinary queue */
};

/* The ordinary lane, at most `limit` messages. */
static void run_ordinary(struct worker *w, struct mailbox_run *run, bool stolen, uint64_t limit)
{
    struct engine *e = w->engine;
    uint32_t id = run->id;
    struct segment_queue *queue = &e->segment.queues[id];
    uint32_t sel = load_relaxed(&queue->sel);
    bool gulped = !queue_has_batch(sel);
    run->left = false;
    if (gulped && load_acquire(&queue->len[queue_active(sel)]) == 0) {
        if (SEEDED(bit_late))
            (void)ready_clear(w->ready, id);
        return;
    }
    if (gulped) {
        queue_gulp(queue, w->id);
        store_relaxed(&queue->ring, 0);
        if (SEEDED(bit_late))
            (void)ready_clear(w->ready, id);
    }
    attach(w, id, id, queue);
    overflow_attached(w, id, gulped);
    if (stolen)
        stat_add(w, STAT_messages_stolen, count_records(w->batch, w->cursor, w->tail, w->wrap));
    uint64_t appended = load_relaxed(&w->stats->value[STAT_tail_appends]);
    uint64_t n = turn_run_batch(w, limit);
    run->n += n;
    appended = load_relaxed(&w->stats->value[STAT_tail_appends]) - appended;
    /* it has been set aside with one message (aside.h): this is the queue of that */
    if (unlikely(w->queue != id)) {
        run->id = id = w->queue;
        queue = &e->segment.queues[id];
    }
    stat_add(w, STAT_gulps, gulped);
    /* over the life of the batch: all that it held less what was appended */
    stat_add(w, STAT_gulped_messages, n - appended);
    bool done = w->cursor == w->tail && w->wrap == 0;
    if (!done)
        stat_add(w, STAT_batches_parked, 1);
    detach(w, queue, id, done);
    reclaim_after_run(w, id, queue, done);
    run->left = !done || load_relaxed(&queue->len[queue_active(load_relaxed(&queue->sel))]) > 0;
}

/* The urgent lane, if there is anything in it. */
static void run_urgent(struct worker *w, struct mailbox_run *run, uint64_t limit)
{
    struct engine *e = w->engine;
    uint32_t mailbox = run->id, id = segment_urgent_queue(&e->segment, mailbox);
    struct segment_queue *queue = &e->segment.queues[id];
    store_relaxed(&e->urgent[mailbox], 0); /* before the gulp: G1 */
    full_barrier();
    if (!queue_has_batch(load_relaxed(&queue->sel))) {
        if (load_acquire(&queue->len[queue_active(load_relaxed(&queue->sel))]) == 0)
            return;
        queue_gulp(queue, w->id);
        /* how far it was touched */
        store_relaxed(&queue->ring,
                      load_relaxed(&queue->len[queue_active(load_relaxed(&queue->sel)) ^ 1]));
    }
    attach(w, mailbox, id, queue);
    uint64_t n = turn_run_batch(w, limit);
    run->n += n;
    stat_add(w, STAT_urgent_messages, n);
    bool done = w->cursor == w->tail;
    detach(w, queue, mailbox, done);
    reclaim_after_run(w, id, queue, done);
    if (SEEDED(urgent_forgot) ? !done : queue_has_work(queue))
        store_relaxed(&e->urgent[mailbox], 1); /* G2 */
    park_mid_look(w, mailbox); /* the ordinary message that comes next may take long */
}

/* The caller holds the owner word. */
static void run_queue(struct worker *w, uint32_t id, bool stolen)
{
    struct engine *e = w->engine;
    uint64_t limit = load_relaxed(&e->throughput);
    struct mailbox_run run = { .id = id };
    do {
        if (unlikely(urgent_waits(e, run.id)))
            run_urgent(w, &run, limit);
        run_ordinary(w, &run, stolen, run.n < limit ? limit - run.n : 1);
        stolen = false;
    } while (unlikely(urgent_waits(e, run.id)) && run.n < limit && !worker_wants_halt(w));
    run.left = run.left || urgent_waits(e, run.id);
    if (!SEEDED(own_early))
        release(w, run.id, run.left);
    else if (run.left)
        ready_set(w->ready, run.id);
}

void worker_run_queue(struct worker *w, uint32_t queue)
{
    run_queue(w, queue, false);
}

static void port_serve(struct worker *w, uint32_t port)
{
    int64_t queue = port_run(w, port, true);
    if (queue < 0)
        return;
    /* a run of its own: the port may have become a polled one, or others may have work by now */
    park_begin_run(w, (uint32_t)queue);
    run_queue(w, (uint32_t)queue, false);
}

static void run_source(struct worker *w, uint32_t source, bool stolen)
{
    park_begin_run(w, source);
    if (unlikely(load_relaxed(&w->stats->value[STAT_state]) != WORKER_BUSY))
        store_relaxed(&w->stats->value[STAT_state], WORKER_BUSY);
    if (source < w->engine->segment.n_mailboxes)
        run_queue(w, source, stolen);
    else
        port_serve(w, source - w->engine->segment.n_mailboxes);
    park_end_run(w);
    w->fruitless = 0;
}

/* The next bit of a mask at *from or behind it, round; *from moves behind it. */
static int64_t mask_next(const struct worker *w, const _Atomic uint64_t *mask, uint32_t *from)
{
    uint32_t n_words = (w->engine->n_sources + 63) / 64;
    for (uint32_t i = 0; i <= n_words; i++) {
        uint32_t word = (*from / 64 + i) % n_words;
        uint64_t bits = load_relaxed(&mask[word]);
        if (i == 0)
            bits &= ~UINT64_C(0) << (*from % 64);
        if (bits) {
            uint32_t source = word * 64 + (uint32_t)__builtin_ctzll(bits);
            *from = (source + 1) % (n_words * 64);
            return source;
        }
    }
    return -1;
}

/* A bit of the own mask, cleared before the owner word is tried [CLEAR_FIRST]; -1: none. Goes
 * round, so that no source starves. */
static int64_t take_own(struct worker *w)
{
    for (int64_t source; (source = mask_next(w, w->ready, &w->scan_from)) >= 0;) {
        if (!(SEEDED(bit_late) && source < w->engine->segment.n_mailboxes) &&
            !ready_clear(w->ready, (uint32_t)source))
            continue;               /* a thief's, who cleared it */
        store_relaxed(&w->busy, 1); /* [BUSY_ORDER]: the compare-and-swap is the barrier */
        if (likely(owner_take(&w->engine->sources[source], w->id, w->id)))
            return source;
        store_relaxed(&w->busy, 0);
        stat_add(w, STAT_missed_gulps, 1);
        if (SEEDED(bit_late))
            (void)ready_clear(w->ready, (uint32_t)source);
        source_pass_on(w->engine, w, (uint32_t)source);
    }
    return -1;
}

/* A bit of the common mask: whoever had the source last, it is ours if nobody runs it (and it has
 * not become a fixed one since). */
static int64_t take_common(struct worker *w)
{
    struct engine *e = w->engine;
    for (int64_t source; (source = mask_next(w, e->common, &w->common_from)) >= 0;) {
        if (!ready_clear(e->common, (uint32_t)source))
            continue;
        uint64_t own = load_relaxed(&e->sources[source].own);
        bool mine =
            own_worker(own) == w->id || !(load_relaxed(&e->sources[source].flags) & SOURCE_FIXED);
        store_relaxed(&w->busy, 1);
        if (mine && !own_is_running(own) && owner_take(&e->sources[source], own_worker(own), w->id))
            return source;
        store_relaxed(&w->busy, 0);
        stat_add(w, STAT_missed_gulps, 1);
        source_pass_on(e, w, (uint32_t)source); /* [PASS_ON] */
    }
    return -1;
}

/* Own and common bits; once there are common ones, each is first in turn. */
static int64_t take_ready(struct worker *w)
{
    if (likely(!load_relaxed(&w->engine->common_used)))
        return take_own(w);
    w->common_first = !w->common_first;
    int64_t source = w->common_first ? take_common(w) : take_own(w);
    if (source < 0)
        source = w->common_first ? take_own(w) : take_common(w);
    return source;
}

static int64_t try_steal(struct worker *w)
{
    struct engine *e = w->engine;
    if (++w->fruitless <= FRUITLESS_ROUNDS && !w->searcher)
        return -1;
    if (!w->searcher) {
        _Atomic uint32_t *searching = near_searching(e, w);
        uint32_t none = 0;
        if (load_relaxed(&e->stealing) == STEAL_NONE || engine_workers(e) < 2 ||
            load_relaxed(searching) != 0 ||
            !atomic_compare_exchange_strong_explicit(searching, &none, 1, memory_order_seq_cst,
                                                     memory_order_relaxed))
            return -1; /* one searcher a node */
        w->searcher = true;
    }
    return steal_try(w);
}

/* One look everywhere.  True: something was run. */
static bool work_once(struct worker *w)
{
    port_poll_hot(w);
    int64_t source = take_ready(w);
    bool stolen = false;
    if (source < 0) {
        source = try_steal(w);
        stolen = source >= 0;
    }
    if (source < 0)
        return false;
    run_source(w, (uint32_t)source, stolen);
    return true;
}

/* ---- nothing to do ---- */

/* Without a pause for spin_ns: looks at the own mask and the polled ports all the time, at the
 * others and the clock now and then, and more and more rarely. True: something was run. */
static bool search(struct worker *w)
{
    struct engine *e = w->engine;
    uint64_t until = engine_now_ns() + e->config.spin_ns;
    int looks = SEARCH_LOOKS;
    do {
        store_release(&w->passes, load_relaxed(&w->passes) + 1);
        for (int i = 0; i < looks; i++) {
            port_poll_hot(w);
            if (!mask_is_empty(w))
                break;
            cpu_relax();
        }
        if (work_once(w))
            return true;
        looks = looks < SEARCH_LOOKS_MAX ? 2 * looks : looks;
    } while (!engine_wants_halt(e) && engine_now_ns() < until);
    return false;
}

/* One step of being idle: the search, when something was found or a wake-up came since the last
 * time; then a short sleep, so many times; then a long one. The look everywhere that follows a
 * sleep is the caller's next one. */
static void idle(struct worker *w)
{
    struct engine *e = w->engine;
    store_relaxed(&w->stats->value[STAT_state], WORKER_SEARCHING);
    if ((w->sleeps == 0 && search(w)) || engine_wants_halt(e))
        return;
    bool moderate = w->sleeps < e->config.moderate_sleeps;
    w->sleeps += w->sleeps <= e->config.moderate_sleeps;
    stat_add(w, STAT_parks_moderate, moderate);
    if (park_sleep(w, moderate ? e->config.moderate_ns : e->config.relaxed_ns) == PARK_WOKEN) {
        w->sleeps = 0;
        return;
    }
    stat_add(w, STAT_relaxed_timeouts, !moderate);
    w->fruitless = FRUITLESS_ROUNDS; /* that look takes in the others */
}

static void worker_bind(struct worker *w)
{
    struct engine *e = w->engine;
    w->rebind = false;
    if (e->config.bind)
        (void)e->config.bind(e->config.userdata, w->id);
    store_relaxed(&w->stats->cpu, (uint32_t)w->cpu);
}

/* At a quiescent point.  False: the thread ends. */
static bool goes_on(struct worker *w)
{
    struct engine *e = w->engine;
    if (unlikely(load_relaxed(&e->pause) & 1))
        barrier_stand(w);
    if (load_relaxed(&e->stopping) || w->id >= engine_workers(e))
        return false;
    if (unlikely(w->rebind))
        worker_bind(w);
    return true;
}

static void *worker_main(void *argument)
{
    struct worker *w = argument;
    fault_thread_enter(w);
    barrier_enlist(w);
    w->rebind = true;
    store_relaxed(&w->stats->thread, (uint32_t)syscall(SYS_gettid));
    store_relaxed(&w->stats->value[STAT_state], WORKER_BUSY);
    uint32_t rounds = 0;
    while (goes_on(w)) {
        /* a quiescent point; read (acquire) by worker_quiesce */
        store_release(&w->passes, load_relaxed(&w->passes) + 1);
        if (w->stalled) {
            w->stalled = false;
            port_rescue(w);
        }
        if (work_once(w))
            w->sleeps = 0;
        else
            idle(w);
        if ((++rounds & 15) == 0) {
            uint64_t now = engine_now_ns();
            if (now - w->polled_ns > DOORBELL_POLL_NS) {
                w->polled_ns = now;
                park_poll_doorbells(w);
            }
        }
    }
    store_relaxed(&w->stats->value[STAT_state], WORKER_STOPPED);
    fault_thread_leave(w);
    return NULL;
}

int worker_start(struct worker *w, uint32_t epoch)
{
    w->start_epoch = epoch;
    return -pthread_create(&w->thread, NULL, worker_main, w);
}

void worker_join(struct worker *w)
{
    pthread_join(w->thread, NULL);
}

bool worker_quiesce(struct engine *e, uint64_t timeout_ns)
{
    uint64_t until = engine_now_ns() + timeout_ns;
    full_barrier();
    for (uint32_t i = 0; i < engine_workers(e); i++) {
        struct worker *w = e->workers[i];
        uint64_t passes = load_acquire(&w->passes);
        while (load_acquire(&w->passes) - passes < 2 && !park_worker_sleeps(e, i)) {
            if (engine_now_ns() > until)
                return false;
            struct timespec pause = { .tv_nsec = 20000 };
            nanosleep(&pause, NULL);
        }
    }
    return true;
}
