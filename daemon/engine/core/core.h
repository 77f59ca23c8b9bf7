/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's private structures: what lives in the executor's own memory and is made anew by each
 * start.
 *
 * Threads: each field group says who writes it. `worker` means the thread (or the control thread)
 * whose id the block has.
 *
 * core.C1  A behaviour's context is the first member of its worker's block: the functions of the
 *     host table get from one to the other without a look-up.
 * core.C2  actor.key is one word, so that a stale or forged reference is told by one comparison:
 *     generation, destination, type and kind change together.
 */
#pragma once

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/engine/base/atomic.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/parts/actors.h"
#include "daemon/engine/parts/barrier.h"
#include "daemon/engine/parts/budget.h"
#include "daemon/engine/parts/doorbells.h"
#include "daemon/engine/parts/events.h"
#include "daemon/engine/parts/fault.h"
#include "daemon/engine/parts/hold.h"
#include "daemon/engine/parts/letters.h"
#include "daemon/engine/parts/mailbox.h"
#include "daemon/engine/parts/memory.h"
#include "daemon/engine/parts/observe.h"
#include "daemon/engine/parts/outbox.h"
#include "daemon/engine/parts/overflow.h"
#include "daemon/engine/parts/own_thread.h"
#include "daemon/engine/parts/pace.h"
#include "daemon/engine/parts/pack.h"
#include "daemon/engine/parts/place.h"
#include "daemon/engine/parts/placement.h"
#include "daemon/engine/parts/port.h"
#include "daemon/engine/parts/reclaim.h"
#include "daemon/engine/parts/reconfigure.h"
#include "daemon/engine/parts/rota.h"
#include "daemon/engine/parts/stall.h"
#include "daemon/engine/parts/steal.h"
#include "daemon/engine/parts/suspect.h"
#include "daemon/engine/parts/timers.h"
#include "daemon/engine/parts/turn.h"
#include "daemon/engine/parts/types.h"
#include "daemon/engine/parts/wake.h"
#include "daemon/engine/parts/worker.h"
#include "daemon/engine/segment/owner.h"
#include "daemon/engine/segment/segment.h"
#include "proto/stats_layout.h"

struct worker {
    struct engine_context ctx; /* core.C1 */

    /* who it is, and its block in the segment */
    alignas(64) struct engine *engine;
    struct segment_worker *durable;
    struct segment_commit *slot; /* the valid one of durable->slot */
    uint32_t id;
    bool is_thread; /* a worker */
    bool is_detached;
    struct stats_worker *stats;

    /* hot state of the turn: this worker alone, a cache line each */
    alignas(64) struct turn turn;
    alignas(64) struct batch batch;
    alignas(64) struct outbox outbox;

    /* this worker alone */
    alignas(64) struct place place;
    struct flush flush;
    struct allowance allowance;
    struct actor_store actors;
    struct placing placing;

    /* scheduling: what others read, and what they write */
    alignas(64) struct shown shown;
    alignas(64) struct called called;
    struct near *near; /* the other workers by distance (near.h) */

    /* scheduling, private */
    alignas(64) struct polled_ports ports;
    struct loop loop;
    struct rota rota;
    struct pace pace;
    struct observer observer;
    struct search search;
    struct doorbells doorbells;
    struct hold hold;
    pthread_t thread;
    void *signal_stack;
    uint64_t block_bytes; /* of this structure and its mask */

    alignas(64) struct stand stand;
};
static_assert(offsetof(struct worker, ctx) == 0, "C1");
static_assert(sizeof(struct turn) <= 64 && sizeof(struct batch) <= 64, "a cache line each");
static_assert(offsetof(struct outbox, limit) == 64, "what every send looks at fills a cache line");
static_assert(offsetof(struct worker, turn) % 64 == 0 && offsetof(struct worker, batch) % 64 == 0 &&
                  offsetof(struct worker, outbox) % 64 == 0,
              "the hot groups begin a line");
static_assert(offsetof(struct worker, called) - offsetof(struct worker, shown) == 128 &&
                  offsetof(struct worker, ports) - offsetof(struct worker, called) == 64,
              "what others read, and what they write, are alone in their lines");
static_assert(offsetof(struct worker, stand) % 64 == 0, "others wait for it");

struct engine {
    struct engine_config config;
    struct segment segment;
    struct stats_header *stats;
    struct source *sources; /* mailboxes, then ports */
    uint32_t n_sources;
    bool recovered, started;
    atomic_bool cannot_populate; /* populate.PP2 */
    bool can_order_all;          /* the kernel has that barrier (order_all.h) */
    /* [n_ids]: workers that run or may come, detached actors, the control thread */
    struct worker **workers;
    struct worker *control;
    /* [n_mailboxes]: 1: its urgent lane has to be looked at (urgent.h); and one that is always 0 */
    _Atomic uint8_t *urgent;
    /* [workers_max]: whom each aside queue is for, 0: nobody; control thread, and detour.h */
    _Atomic actor_ref *aside;
    /* [2 * dead_letters]: the buffers of message queues and backlogs */
    struct window_history *windows;
    struct actor_table actors;
    struct type_table types;
    struct own_threads own_threads;
    struct memory_places memory;
    struct faults faults;
    struct suspects suspects;
    struct events events;
    struct overflow overflow;
    struct port_table ports;

    /* read by all, written seldom */
    alignas(64) struct steal steal;
    _Atomic uint32_t throughput;
    /* that run; changes while they stand, detached threads see one or the other number */
    _Atomic uint32_t n_workers;
    _Atomic uint32_t pause;    /* odd: workers are to stand still (barrier.h) */
    _Atomic uint32_t stopping; /* workers end */
    alignas(64) _Atomic uint64_t sleepers[(ODEON_WORKERS_MAX + 63) / 64];
    alignas(64) struct watch watch;
    struct packing packing;
    struct budget budget;
    struct letter_marks letter_marks;
    struct reconfiguration reconfiguration;
    struct timers timers;
    struct observation observation;
};
static_assert(offsetof(struct engine, stopping) + 4 - offsetof(struct engine, steal) <= 64,
              "what workers look at all the time is one cache line");
static_assert(offsetof(struct engine, sleepers) % 64 == 0 &&
                  offsetof(struct engine, watch) % 64 == 0,
              "what is written meanwhile is in others");

/* Workers that run. */
static inline uint32_t engine_workers(const struct engine *engine)
{
    return load_relaxed(&engine->n_workers);
}

/* Of those, how many do not rest: the first ones (pack.h). */
static inline uint32_t pack_active(const struct engine *engine)
{
    uint32_t active = load_relaxed(&engine->steal.active), workers = engine_workers(engine);
    return active < workers ? active : workers;
}

static inline bool worker_rests(const struct worker *w)
{
    return w->id >= load_relaxed(&w->engine->steal.active);
}

/* Is a worker to come to its quiescent point, to end or to stand still? */
static inline bool engine_wants_halt(const struct engine *engine)
{
    return load_relaxed(&engine->stopping) || (load_relaxed(&engine->pause) & 1);
}

/* The same of one id: detached threads go on while workers stand. */
static inline bool worker_wants_halt(const struct worker *w)
{
    return w->is_detached ? load_relaxed(&w->engine->stopping) != 0 : engine_wants_halt(w->engine);
}

static inline struct worker *worker_of_context(struct engine_context *ctx)
{
    return (struct worker *)ctx;
}

/* What a worker can run. Each kind has a range of the sources' ids, in this order; what else there
 * is to know of one stands in the table of run/sources.h. */
enum source_kind { SOURCE_MAILBOX, SOURCE_PORT, SOURCE_KIND_N };

/* The kind of a source, and its number among those of its kind. */
static inline enum source_kind source_kind_of(const struct engine *engine, uint32_t source,
                                              uint32_t *ret_index)
{
    uint32_t n_mailboxes = engine->segment.n_mailboxes;
    bool is_mailbox = source < n_mailboxes;
    *ret_index = is_mailbox ? source : source - n_mailboxes;
    return is_mailbox ? SOURCE_MAILBOX : SOURCE_PORT;
}
static inline uint32_t engine_source_of_port(const struct engine *engine, uint32_t port)
{
    return engine->segment.n_mailboxes + port;
}
/* Of what a record's destination is: a mailbox's, or the port's that it is delivered to. */
static inline uint32_t engine_source_of_destination(const struct engine *engine,
                                                    uint32_t destination)
{
    return destination < engine->segment.n_mailboxes
               ? destination
               : engine_source_of_port(engine, destination - engine->segment.n_queues);
}

/* 0: nothing is counted, in a build that shows what counting costs. */
#ifndef ODEON_STATISTICS
#define ODEON_STATISTICS 1
#endif

/* Counters: one writer, so load and store are enough (stats_layout.S1). */
static inline void stat_add(struct worker *w, enum stat_index stat, uint64_t n)
{
    if (!ODEON_STATISTICS)
        return;
    _Atomic uint64_t *p = &w->stats->value[stat];
    store_relaxed(p, load_relaxed(p) + n);
}

/* The control thread is about to wait for somebody: a worker, a handler.  Each place that may is in
 * the table of docs/engine/control.md. */
static inline void control_waits(struct engine *engine)
{
    stat_add(engine->control, STAT_control_waits, 1);
}
