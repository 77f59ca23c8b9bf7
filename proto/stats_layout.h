/* SPDX-License-Identifier: Apache-2.0 */
/* The statistics segment: a file in the runtime directory (mode 0644), written by the executor's
 * workers with plain relaxed stores, one writer a block, read by anybody without asking.
 *
 *   struct stats_header      names, offsets, service state
 *   struct stats_worker[n]   one block a worker id, detached actors behind the workers; the last
 *                            one of all is the control thread's
 *
 * stats_layout.S1  A block has one writer: the worker whose id it is, or the control thread while
 *     it holds that one still.  Readers take no lock and stall nobody. Of the control thread's, the
 *     counter clients_held is odeond's, which alone writes it.
 * stats_layout.S2  Counters go on over restarts of the executor and of odeond; they start at zero
 *     with the segment.
 * stats_layout.S3  A reader finds a counter by name in `names` (count in n_stats), never by its own
 *     idea of the order.
 * stats_layout.S4  `magic` is stored last when the file is made; a reader that sees another value
 *     finds no statistics.
 */
#pragma once

#include <assert.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "bounds.h"

#define STATS_MAGIC   UINT64_C(0x6f64656f6e737431) /* "odeonst1" */
#define STATS_VERSION 4

enum stat_index {
#define STAT(name, doc)       STAT_##name,
#define STAT_GAUGE(name, doc) STAT_##name,
#include "stats.def"
    STAT_N
};

enum { STATS_SLOTS = 128, STATS_STAT_NAME = 40 };
static_assert((int)STAT_N <= (int)STATS_SLOTS, "room for counters");

enum { STATS_CONTROL_BLOCK = ODEON_WORKERS_MAX }; /* index */

enum worker_state { WORKER_STOPPED, WORKER_BUSY, WORKER_SEARCHING, WORKER_PARKED };
enum service_state {
    SERVICE_STARTING,
    SERVICE_RECOVERING,
    SERVICE_RUNNING,
    SERVICE_DRAINING,
    SERVICE_EXECUTOR_DOWN,
    SERVICE_STOPPED
};

/* What the last recovery found; the totals since the segment was made are in
 * stats_header.recovery_total. */
struct stats_recovery {
    _Atomic uint64_t boots; /* starts, the first one included */
    /* workers killed inside a handler, or between its return and the commit */
    _Atomic uint64_t running_handlers;
    _Atomic uint64_t unflushed_outboxes;
    _Atomic uint64_t armed_journals; /* rolled forward because the lock was still held */
    _Atomic uint64_t held_locks;
    _Atomic uint64_t parked_batches; /* batches present with no worker attached */
    _Atomic uint64_t attached_batches;
    _Atomic uint64_t ports_attached;
    _Atomic uint64_t spawns_undone;
    _Atomic uint64_t redeliveries;
    _Atomic uint64_t faults; /* handler faults that were blamed on a message */
    _Atomic uint64_t duration_ns;
    /* kept states set back to what they were before a turn that never committed */
    _Atomic uint64_t states_undone;
};

/* How far the last start of the executor has come; behind them comes executor_started_ns. */
enum start_step {
    START_NOTICED,   /* odeond: the former executor has ended; of the first one: never */
    START_FORKED,    /* odeond: a process has the executor's program */
    START_ENTERED,   /* its libraries are bound, its main() runs */
    START_PLACED,    /* settings read, processors known */
    START_MAPPED,    /* segment and tables mapped */
    START_VERIFIED,  /* the segment can be believed */
    START_RECOVERED, /* ports added before, the segment as if nothing had happened */
    START_LOADED,    /* plugins */
    START_STEPS
};

/* Of `plugin_loading`: the one that a client has asked for. */
#define PLUGIN_LOADING_ASKED UINT32_MAX

struct stats_header {
    _Atomic uint64_t magic;
    uint32_t version, header_size, worker_size, n_stats, worker_offset, workers_max;
    char names[STATS_SLOTS][STATS_STAT_NAME];
    /* worker threads now; blocks of others stay as they were */
    alignas(128) _Atomic uint32_t n_workers;
    _Atomic uint32_t n_queues;
    _Atomic uint32_t service_state; /* enum service_state */
    _Atomic uint32_t stealing;      /* index of the policy, names: docs/scheduling.md */
    _Atomic uint32_t throughput;    /* messages a bounded gulp */
    _Atomic uint32_t executor_pid;  /* 0: down */
    _Atomic uint32_t supervisor_pid;
    _Atomic uint32_t n_clients;
    _Atomic uint32_t n_ports;
    _Atomic uint32_t n_plugins;
    /* actors alive: actors_created less actors_ended, all workers together */
    _Atomic uint64_t reserved;
    _Atomic uint64_t executor_restarts;
    _Atomic uint64_t executor_started_ns; /* CLOCK_MONOTONIC */
    _Atomic uint64_t unreceived;          /* messages sent but not received at the last shutdown */
    /* by the control thread: how often all workers stood, and how long */
    _Atomic uint64_t reconfigurations;
    _Atomic uint64_t pause_last_ns, pause_longest_ns;
    char stealing_name[32]; /* written by the control thread alone; always NUL-terminated */
    struct stats_recovery recovery_last, recovery_total;
    char steal_mode_name[16]; /* as stealing_name */
    /* at a start: the plugin of so many that is being loaded, or whose start runs, from 1; 0: none;
     * PLUGIN_LOADING_ASKED. Control thread, odeond */
    _Atomic uint32_t plugin_loading;
    /* CLOCK_MONOTONIC; 0: not yet.  Cleared by odeond when an executor ends */
    _Atomic uint64_t start_ns[START_STEPS];
    /* of the executor that runs: the processor time of its control thread's longest turn since it
     * is ready, and what it was at for the most of that; as stealing_name */
    _Atomic uint64_t control_turn_longest_ns;
    char control_turn_work[32];
};

struct stats_worker {
    alignas(128) _Atomic uint64_t value[STATS_SLOTS];
    _Atomic uint32_t cpu;    /* the worker is bound to; UINT32_MAX: none */
    _Atomic uint32_t thread; /* kernel thread id */
};
static_assert(sizeof(struct stats_worker) % 128 == 0, "blocks do not share cache lines");

#define STATS_WORKER_OFFSET ((uint32_t)((sizeof(struct stats_header) + 4095) & ~(size_t)4095))
#define STATS_SEGMENT_SIZE                                                                         \
    (STATS_WORKER_OFFSET + (ODEON_WORKERS_MAX + 1) * sizeof(struct stats_worker))

/* Actors alive: created less ended, over all blocks, by name (stats_layout.S3). Recovery settles
 * both after a crash. */
static inline uint64_t stats_actors_live(const struct stats_header *header)
{
    uint64_t created = 0, ended = 0;
    for (uint32_t i = 0; i < header->n_stats && i < STATS_SLOTS; i++) {
        int sign = strncmp(header->names[i], "actors_created", STATS_STAT_NAME) == 0 ? 1
                   : strncmp(header->names[i], "actors_ended", STATS_STAT_NAME) == 0 ? -1
                                                                                     : 0;
        if (sign == 0)
            continue;
        for (uint32_t w = 0; w <= header->workers_max; w++) {
            const struct stats_worker *block =
                (const struct stats_worker *)((const char *)header + header->worker_offset +
                                              (uint64_t)w * header->worker_size);
            *(sign > 0 ? &created : &ended) +=
                atomic_load_explicit(&block->value[i], memory_order_relaxed);
        }
    }
    return created > ended ? created - ended : 0;
}
