/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's private structures: what lives in the executor's own memory and is made anew by each
 * start.
 *
 * Threads: each field group says who writes it. `worker` means the thread (or the control thread)
 * whose id the block has.
 *
 * C1  A behaviour's context is the first member of its worker's block: the functions of the host
 *     table get from one to the other without a look-up.
 * C2  actor.key is one word, so that a stale or forged reference is told by one comparison:
 *     generation, destination, type and kind change together.
 */
#pragma once

#include <pthread.h>
#include <sched.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/engine/atomic.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/owner.h"
#include "daemon/engine/segment.h"
#include "daemon/engine/state_pool.h"
#include "proto/port_layout.h"
#include "proto/stats_layout.h"

/* Kinds in actor.key = {generation : 32, destination : 16, type : 12, kind : 4} */
enum actor_kind {
    ACTOR_FREE,
    ACTOR_LIVE,
    ACTOR_NEW,
    ACTOR_PORT,
    ACTOR_KEPT /* durable.h; new or not is said there */,
    ACTOR_ASIDE /* set_aside.h */
};
static_assert(ODEON_ACTOR_TYPES_MAX <= 1 << 12, "a type's id fits the key");

/* What a sender needs of a receiver, and nothing else: the lines of many receivers are read by
 * all. */
struct actor {
    _Atomic uint64_t key; /* C2; written by whoever spawns or ends the actor */
};
static_assert(sizeof(struct actor) == 8, "eight actors a cache line");

/* Of a free slot: no queue's id, so that a send to it takes the long way. */
enum { NO_DESTINATION = 0xffff };

static inline uint64_t actor_key(uint32_t generation, uint32_t destination, uint32_t type,
                                 enum actor_kind kind)
{
    return (uint64_t)generation << 32 | destination << 16 | type << 4 | kind;
}
static inline uint32_t actor_key_generation(uint64_t key)
{
    return (uint32_t)(key >> 32);
}
static inline uint32_t actor_key_destination(uint64_t key)
{
    return (key >> 16) & 0xffff;
}
static inline enum actor_kind actor_key_kind(uint64_t key)
{
    return (enum actor_kind)(key & 0xf);
}
static inline uint32_t actor_key_type(uint64_t key)
{
    return (key >> 4) & 0xfff;
}
/* Of an actor that exists, as opposed to a port or nobody. */
static inline bool actor_key_lives(uint64_t key)
{
    return actor_key_kind(key) == ACTOR_LIVE || actor_key_kind(key) == ACTOR_NEW ||
           actor_key_kind(key) == ACTOR_KEPT || actor_key_kind(key) == ACTOR_ASIDE;
}
#define ACTOR_KEY_TYPE_MASK UINT64_C(0xfff0)

enum { BEHAVIOURS_SLOTS = 256, BEHAVIOUR_NONE = 255 };

/* `meta` is an envelope's third word for this behaviour when nothing is special about it: type,
 * exact length, index, no flags, no attempts: one comparison tells that the record can simply be
 * run. */
struct behaviour_slot {
    uint64_t meta;
    engine_behaviour_fn run;
};
struct behaviour_shape {
    uint16_t message_type; /* 0: none */
    uint16_t size;
    uint16_t slack; /* how much longer the payload may be */
};

/* Copied from the plugin at registration; immutable until retired. */
struct actor_type {
    /* the last one stays empty: BEHAVIOUR_NONE leads to a look-up */
    struct behaviour_slot behaviours[BEHAVIOURS_SLOTS];
    struct behaviour_shape shapes[BEHAVIOURS_SLOTS];
    uint8_t index_of[ODEON_MESSAGE_TYPES_MAX]; /* message type -> behaviour, BEHAVIOUR_NONE */
    struct engine_behaviour *listed;
    uint32_t id, version, state_size, n_behaviours;
    enum engine_restart restart;
    engine_init_fn init;
    engine_fini_fn fini;
    char name[ODEON_NAME_MAX + 1], plugin[ODEON_NAME_MAX + 1];
};

/* Runs of one destination in an outbox, in order of first touch (docs/commit-protocol.md, Flush),
 * linked by their index. Made from the log when it is flushed. */
struct outbox_group {
    uint32_t destination;
    uint32_t first, last;
};
struct outbox_link {
    uint32_t at;    /* offset of the run's first envelope, in units of 8 bytes */
    uint32_t bytes; /* of its envelopes, in the same units */
    uint32_t next;  /* index of the group's next run, 0: none (run 0 is never a next one) */
};

/* The private side of a port. Runner: the worker that holds its owner word; `lock`: its backlog's
 * lock. */
enum port_state { PORT_FREE, PORT_PENDING, PORT_OPEN, PORT_DEAD };
struct port {
    /* control thread: FREE -> (before recovery PENDING ->) OPEN; runner under the lock: OPEN ->
     * DEAD; control thread: -> FREE */
    _Atomic uint32_t state;
    _Atomic uint32_t closing; /* control thread: drain, then close */
    uint32_t generation, client;
    struct port_client *client_words;
    struct port_executor *executor_words;
    uint8_t *submission, *delivery; /* mapped twice in a row */
    uint64_t submission_bytes, delivery_bytes;
    int doorbell_fd, pipe_fd;
    uint64_t backlog_bytes;          /* control thread, before the port is open */
    _Atomic uint64_t granted;        /* control thread (port_rate.h) */
    _Atomic uint32_t rated;          /* control thread */
    bool may_not_stop;               /* control thread, before the port is open */
    alignas(64) uint32_t room_woken; /* runner: last room_wait that was answered */
    _Atomic uint32_t idle_polls;     /* its owner, running it or not; a thief that makes it hot */
    bool closing_seen;               /* runner */
    /* runner: queue + 1 that its next record waits for; back to 0 by it or by that queue's
     * runner */
    _Atomic uint32_t stalled_on;
    _Atomic uint32_t spent; /* runner, back to 0 also by the control thread */
    _Atomic uint64_t taken; /* runner: records */
    /* runner: what had been published when the client was found to be gone */
    uint64_t closing_tail;
    /* lock: the client's cursor as last believed; a hint for the poll */
    alignas(64) _Atomic uint64_t delivery_head;
    uint32_t delivery_woken; /* lock: last delivery_wait that was answered */
    _Atomic uint32_t broken; /* lock: enum port_broken; read by the runner */
    /* lock: 1: to be closed, since its client does not receive; the runner */
    _Atomic uint32_t slow;
    uint32_t overflow; /* enum port_overflow; control thread, before the port is open */
};

/* A thread of its own for one actor at a time (own_thread.h). */
struct detached {
    _Atomic uint32_t taken;      /* 0: free, else the actor's type */
    _Atomic uint32_t has_thread; /* claimed by whoever holds `taken`, or engine_start */
    /* futex of the thread: 1 while it sleeps, or is about to */
    alignas(64) _Atomic uint32_t asleep;
    bool ended; /* the thread: its actor has ended */
};

/* What a window has held and needed, in pages (reclaim.h). */
struct window_history {
    uint32_t resident; /* no page from here on exists */
    uint32_t need;     /* the most since more than half of that was used */
    uint32_t little;   /* uses since then */
};

enum { SLOT_CACHE = 128 };

struct worker {
    struct engine_context ctx; /* C1 */

    /* hot state of the turn: this worker alone */
    alignas(64) struct actor *actors; /* the engine's */
    void **actor_states;              /* the engine's */
    uint32_t actors_max;
    uint32_t run_destination; /* of the run that is being written to the outbox, NO_QUEUE: none */
    struct engine *engine;
    struct segment_worker *durable;
    struct segment_commit *slot; /* the valid one of durable->slot */
    uint8_t *batch;
    /* behind while the loop of the turns runs: there the committed slot's is the record's */
    uint64_t cursor;
    uint64_t tail, wrap; /* of the batch (segment_layout.h) */
    uint64_t tail_limit; /* tail appends must stay below; 0: closed [TAIL_REOPEN] */
    uint64_t ring;       /* of the queue; 0: closed */
    uint64_t key_live;   /* what actor.key must be below the generation, but for the type */
    _Atomic(struct actor_type *) *types; /* the engine's */
    _Atomic uint64_t *active_len;
    /* the mailbox's byte in engine.urgent; of an urgent batch, and before the first message, one
     * that is 0 */
    const _Atomic uint8_t *gives_way, *gives_way_to;
    uint32_t source; /* id + 1 of the attached source, as in the commit record */
    uint32_t queue;  /* message queue whose batch runs, NO_QUEUE: none */
    uint32_t id;
    bool sent_aside;        /* a record for an aside queue is in the outbox */
    uint64_t spawned_count; /* count of the turn that last spawned */
    uint8_t *outbox;
    uint64_t out;
    uint64_t sent_urgent; /* bytes for urgent lanes in the outbox */
    /* from here on the loop of the turns looks: at a flush, or, 0, at something else; anybody may
     * store 0 */
    _Atomic uint64_t out_wanted;
    uint64_t out_room; /* up to here a small record fits without a further look */
    uint64_t out_limit;
    uint64_t run_at; /* offset of the present run's first envelope */
    /* where its length goes when the next one begins; run_none when there is none */
    uint32_t *run_bytes;
    uint32_t run_none;
    /* by destination: it was below its limit when this flush interval first sent there */
    uint8_t *has_room;
    uint32_t n_runs, n_groups; /* of the flush */
    uint16_t *group_of;        /* by destination: index + 1 into groups, 0 outside a flush */
    struct outbox_group *groups;
    struct outbox_link *runs;
    uint32_t runs_capacity;
    uint64_t out_most; /* longest log that was flushed since the last look at out_window */
    struct window_history out_window;
    uint32_t spread_worker, spread_queue; /* round robin of ordinary spawns: the next one's */
    uint32_t spawn_next;                  /* of others */
    uint32_t newborn_queue;
    actor_ref newborn; /* the actor whose init record waits to be spared, 0: none (place.h, U5) */
    actor_ref newborn_by;
    uint64_t held_tail_limit, held_out_wanted;
    /* since the counters were last published */
    uint64_t n_logged, n_flushed, n_tail_appends, n_failed;
    bool recovering; /* flushes for a dead worker: nobody to notify */
    bool is_thread;  /* a worker */
    bool is_detached;

    /* storage: this worker alone */
    uint32_t slot_cache[SLOT_CACHE];
    uint32_t n_slot_cache;
    /* by actor type id: storage that its last actor has left to the next (ODEON_DESTROY) */
    void **state_kept;
    struct state_pool states;
    _Atomic int64_t *type_live; /* by actor type id; read by the control thread */
    /* by message queue: actors spawned less actors ended by this worker; read by the control
     * thread */
    _Atomic int32_t *queue_live;
    struct stats_worker *stats;

    /* scheduling, written by the worker, read by others */
    alignas(64) _Atomic uint32_t busy;
    _Atomic uint64_t passes;       /* quiescent points */
    _Atomic uint64_t last_attempt; /* stamp of its last steal attempt */
    _Atomic uint64_t count_seen; /* its commit count at the last stall look, by whoever did that */
    alignas(64) _Atomic uint64_t *ready; /* anybody sets, owner and thieves clear */
    _Atomic uint32_t hint; /* written by the claimer of its sleepers bit before the wake-up */
    _Atomic uint32_t given;
    struct near *near; /* the other workers by distance (near.h) */

    /* scheduling, private */
    alignas(64) uint64_t hot[ODEON_PORTS_MAX / 64];
    uint32_t scan_from, common_from;
    uint32_t fruitless;
    uint32_t sleeps;      /* since it last found something: which phase of being idle it is in */
    uint32_t victim_next; /* round robin: who is tried first */
    bool searcher;
    bool told; /* it searches because somebody woke it and told it whom to visit */
    bool common_first;
    bool stalled; /* the stall timer has chosen this worker to look after ports */
    uint64_t random;
    uint64_t polled_ns;
    int epoll_fd, wake_fd;
    _Atomic uint32_t hold; /* enum hold_state; futex of the worker and of the control thread */
    pthread_t thread;
    void *signal_stack;
    /* control thread: the count, plus 1, of the message that is to end the executor; the worker's
     * signal handler */
    _Atomic uint64_t condemned;
    uint64_t block_bytes; /* of this structure and its mask */

    /* the barrier (barrier.h) */
    alignas(64) _Atomic uint32_t paused_at;
    uint32_t start_epoch; /* control thread, before it makes the thread */
    /* the worker; read by the control thread behind paused_at */
    uint64_t pause_begin_ns, pause_end_ns;
    bool rebind;      /* control thread, while the worker stands; the worker */
    int cpu;          /* likewise: to be bound to, -1 none */
    _Atomic int node; /* control thread; read by all who spawn */
};

enum { NO_QUEUE = 0xffffffffu };

/* A worker as the control thread last saw it (stall.h). */
struct stall_watch {
    uint64_t count;  /* of its commits */
    uint64_t age_ns; /* for how long that has not changed while its batch runs */
    uint64_t cpu_ns; /* its processor time when that began to be measured, 0: not yet */
    bool told, condemned;
    uint32_t aside_tries;
};

/* Searchers of a node: a cache line of its own. */
struct search_count {
    alignas(64) _Atomic uint32_t n;
};

/* Bits of engine.placing. */
enum { PLACING_HOME = 1, PLACING_COMMON = 2 };

struct engine {
    struct engine_config config;
    struct segment segment;
    struct stats_header *stats;
    int stats_fd;
    struct actor *actors;
    void **actor_states;    /* by slot; the runner of its queue; NULL before init has run */
    struct source *sources; /* mailboxes, then ports */
    uint32_t n_sources;
    /* [n_ids]: workers that run or may come, detached actors, the control thread */
    struct worker **workers;
    struct worker *control;
    struct detached *detached; /* [detached_max] */
    /* what their threads do: own_thread_main(), set when the engine is opened */
    void *(*own_thread_main)(void *);
    _Atomic uint8_t *stalls; /* [n_queues]: ports wait for it (overflow.h) */
    /* [n_mailboxes]: 1: its urgent lane has to be looked at (urgent.h); and one that is always 0 */
    _Atomic uint8_t *urgent;
    /* [workers_max]: whom each aside queue is for, 0: nobody; control thread, and A4 of detour.h */
    _Atomic actor_ref *aside;
    struct window_history *windows; /* [2 * n_queues]: the buffers of the message queues */
    int *cpus, *nodes;              /* [workers_max], and */
    /* [workers_max][workers_max]: own copies (memory.h); config points to them, or is NULL */
    uint8_t *distances;
    uint64_t binds_failed;
    cpu_set_t allowed; /* where the process may run: detached threads are made by bound ones */
    struct port *ports;
    _Atomic(struct actor_type *) types[ODEON_ACTOR_TYPES_MAX];
    /* the same, but for a type that is about to be retired: new actors */
    _Atomic(struct actor_type *) spawnable[ODEON_ACTOR_TYPES_MAX];
    struct engine_fault *faults;
    uint32_t n_faults;
    bool recovered, started;

    struct state_stock states;
    pthread_mutex_t slots_mutex; /* free slots beyond the workers' caches */
    uint32_t *slots_free;
    uint32_t n_slots_free, slots_fresh, slots_high;
    pthread_mutex_t names_mutex;
    pthread_mutex_t events_mutex;
    struct engine_event *events;
    size_t n_events, events_capacity;
    struct port_lost *ports_lost; /* control thread (port_table.c) */
    int event_fd;

    alignas(64) _Atomic uint32_t throughput;
    _Atomic uint32_t stealing;
    _Atomic uint32_t steal_sources; /* at most so many a steal */
    /* PLACING_...: what a release does besides giving the source back; 0: nothing */
    _Atomic uint32_t placing;
    /* there has been policy share: everybody looks at `common`, for ever */
    _Atomic uint32_t common_used;
    /* that run; changes while they stand, detached threads see one or the other number */
    _Atomic uint32_t n_workers;
    _Atomic uint32_t pause;    /* odd: workers are to stand still (barrier.h) */
    _Atomic uint32_t stopping; /* workers end */
    /* a type with that policy has been registered, once: runners look at full batches */
    _Atomic uint32_t drops_oldest;
    _Atomic uint32_t ports_stopped; /* submission rings are left alone */
    alignas(64) _Atomic uint64_t sleepers[(ODEON_WORKERS_MAX + 63) / 64];
    struct search_count *searching; /* by node */
    _Atomic uint64_t *common;       /* ready bits that are nobody's in particular (policy share) */
    _Atomic uint64_t *fixed;        /* a bit for each source that is SOURCE_FIXED */
    alignas(64) _Atomic uint64_t ports_open[ODEON_PORTS_MAX / 64]; /* a hint: where thieves look */
    alignas(64) _Atomic uint32_t stall_armed;
    int stall_fd;
    _Atomic uint32_t watch_armed; /* a look at the workers' handlers is due (stall.h) */
    int watch_fd;
    _Atomic uint64_t watch_period_ns; /* control thread; read by whoever arms */
    uint64_t watch_looked_ns;         /* control thread, as what follows */
    struct stall_watch *watches;      /* [workers_max] */
};

/* Workers that run. */
static inline uint32_t engine_workers(const struct engine *engine)
{
    return load_relaxed(&engine->n_workers);
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

static inline uint32_t engine_source_of_port(const struct engine *engine, uint32_t port)
{
    return engine->segment.n_mailboxes + port;
}

/* 0: nothing is counted, in a build that shows what counting costs. */
#ifndef ODEON_STATISTICS
#define ODEON_STATISTICS 1
#endif

/* Counters: one writer, so load and store are enough (S1). */
static inline void stat_add(struct worker *w, enum stat_index stat, uint64_t n)
{
    if (!ODEON_STATISTICS)
        return;
    _Atomic uint64_t *p = &w->stats->value[stat];
    store_relaxed(p, load_relaxed(p) + n);
}
