/* SPDX-License-Identifier: Apache-2.0 */
/* What actors are doing, by type, by actor and by flow: a memory file beside the statistics
 * segment, which names what the latter only sums up, and is therefore handed out to those who may
 * observe. The executor's workers write it with plain relaxed stores from samples
 * (docs/observing.md), readers read it with pread() (a mapping would fill its holes).
 *
 *   struct observed_header        sizes, names of the actor types
 *   struct observed_worker[n]     one a worker id: its window of actors and flows, its types, what
 *                                 single messages came to
 *
 * observed_layout.V1  A worker's part has one writer, the worker whose id it is: a reader takes no
 *     lock and stalls nobody.
 * observed_layout.V2  Counters of types only grow as long as the file lives, over restarts of the
 *     executor; a file is odeond's for its life. How many actors live is no such counter: an
 *     executor begins at 0 and counts those that it finds.
 * observed_layout.V3  A window is read whole or not at all: `turns` is odd while it is written, and
 *     has changed when it has been written meanwhile.
 * observed_layout.V4  `magic` is stored last when the file is made, and a type's name before its
 *     number counts among n_types.
 * observed_layout.V5  The record of the number k, from 1 on, lies at k modulo OBSERVED_RECORDS, and
 *     is there when `n` has come to k. It is whole as long as an `n` that is read behind it is less
 *     than k + OBSERVED_RECORDS - 1.
 */
#pragma once

#include <assert.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "bounds.h"
#include "time_cells.h"

#define OBSERVED_MAGIC   UINT64_C(0x6f64656f6e6f6273) /* "odeonobs" */
#define OBSERVED_VERSION 4

/* What a type's messages have come to, as one worker has seen it. A sample stands for all messages
 * since the one before: figures are estimates but for what was timed by itself. */
struct observed_type {
    _Atomic uint64_t messages, run_ns;
    _Atomic uint64_t sends;   /* by its behaviours */
    _Atomic uint64_t waited;  /* messages whose waiting has been taken into account, */
    _Atomic uint64_t wait_ns; /* ... and how long they have waited */
    _Atomic uint64_t timed;   /* of `messages`, those that were timed one by one: exact */
    _Atomic uint64_t samples; /* that the others were estimated from */
    _Atomic uint64_t sampled; /* ... and the waiting */
    _Atomic uint64_t failed;  /* messages that could not be run, counted one by one */
    _Atomic uint64_t run[TIME_CELLS], wait[TIME_CELLS]; /* messages, by their times */
};

/* What is most in a window, by space-saving: whoever has more than `error` is among them. */
enum observed_by { OBSERVED_BY_RUN, OBSERVED_BY_MESSAGES, OBSERVED_BY_WAIT, OBSERVED_BY_N };
enum { OBSERVED_ACTORS = 32, OBSERVED_FLOWS = 64 };

struct observed_actor {
    _Atomic uint64_t ref;   /* 0: empty */
    _Atomic uint64_t value; /* ns, or messages; at most so much */
    _Atomic uint64_t error; /* ... of which so much may be others' */
    _Atomic uint64_t type;
};

/* Who sends to whom: `from` is an actor type's number, OBSERVED_PORT and a port's, or 0, nobody;
 * `to` a type's. */
#define OBSERVED_PORT UINT64_C(0x8000)
struct observed_flow {
    _Atomic uint64_t key; /* from << 16 | to; 0: empty, for `to` is never 0 */
    _Atomic uint64_t messages, error;
};

struct observed_window {
    _Atomic uint64_t turns;             /* observed_layout.V3 */
    _Atomic uint64_t begin_ns, last_ns; /* CLOCK_MONOTONIC; 0: empty */
    struct observed_actor actors[OBSERVED_BY_N][OBSERVED_ACTORS];
    struct observed_flow flows[OBSERVED_FLOWS];
};

/* What one message came to: of each sample, of each that was timed by itself, and of each with a
 * trace's id. */
struct observed_record {
    _Atomic uint64_t began_ns; /* CLOCK_MONOTONIC */
    _Atomic uint64_t to, from;
    _Atomic uint64_t run_ns, wait_ns; /* waiting OBSERVED_UNKNOWN: it was no sample */
    _Atomic uint64_t weight;          /* observed_weight() */
    _Atomic uint64_t what;            /* observed_what() */
    _Atomic uint64_t id;              /* its trace's; 0: none */
};
enum { OBSERVED_RECORDS = 2048 };
#define OBSERVED_UNKNOWN UINT64_MAX

/* So many messages it stands for, 0: timed by itself; why it was not run (enum envelope_reason), 0:
 * it was; so often it has been passed on. */
static inline uint64_t observed_weight(uint32_t messages, uint64_t reason, uint64_t hops)
{
    return messages | reason << 32 | hops << 40;
}
/* In the same word: it was taken for a quick one, ran for `run_ns` at least, and is among those
 * that a sample stands for; what it has sent is not known. */
#define OBSERVED_AT_LEAST (UINT64_C(1) << 48)
static inline uint64_t observed_weight_messages(uint64_t weight)
{
    return weight & UINT32_MAX;
}
static inline uint64_t observed_weight_reason(uint64_t weight)
{
    return weight >> 32 & 0xff;
}
static inline uint64_t observed_weight_hops(uint64_t weight)
{
    return weight >> 40 & 0xff;
}

/* The receiver's type, the sender as in a flow, the message's type, and how many were sent by it,
 * at most 65,535. */
static inline uint64_t observed_what(uint64_t type, uint64_t sender, uint64_t message,
                                     uint64_t sends)
{
    return type | sender << 16 | message << 32 | (sends < 0xffff ? sends : 0xffff) << 48;
}
static inline uint64_t observed_what_type(uint64_t what)
{
    return what & 0xffff;
}
static inline uint64_t observed_what_sender(uint64_t what)
{
    return what >> 16 & 0xffff;
}
static inline uint64_t observed_what_message(uint64_t what)
{
    return what >> 32 & 0xffff;
}
static inline uint64_t observed_what_sends(uint64_t what)
{
    return what >> 48;
}

struct observed_trace {
    _Atomic uint64_t n; /* so many there have been */
    struct observed_record record[OBSERVED_RECORDS];
};

struct observed_worker {
    alignas(4096) struct observed_window window[2]; /* the present one, and the one before */
    _Atomic uint64_t present;                       /* index of the present one */
    alignas(4096) struct observed_type types[ODEON_ACTOR_TYPES_MAX];
    alignas(4096) struct observed_trace trace;
    /* Of each type, the actors that it has spawned less those that it has ended: may be below 0;
     * the sum over all workers is how many live. */
    alignas(4096) _Atomic int64_t live[ODEON_ACTOR_TYPES_MAX];
};

struct observed_name {
    char type[ODEON_NAME_MAX + 1], plugin[ODEON_NAME_MAX + 1];
    _Atomic uint64_t state_size; /* bytes of each of its actors */
};

struct observed_header {
    _Atomic uint64_t magic;
    uint32_t version, header_size, worker_size, type_size, workers_offset, types_offset, n_workers;
    uint32_t trace_offset, live_offset;
    uint32_t types_max;
    _Atomic uint32_t n_types; /* 1 more than the largest number of a type */
    struct observed_name names[ODEON_ACTOR_TYPES_MAX];
};

#define OBSERVED_WORKERS_OFFSET                                                                    \
    ((uint32_t)((sizeof(struct observed_header) + 4095) & ~(size_t)4095))
#define OBSERVED_FILE_SIZE(n_workers)                                                              \
    (OBSERVED_WORKERS_OFFSET + (uint64_t)(n_workers) * sizeof(struct observed_worker))

/* Of a file that is all zeros, for so many ids of workers; `magic` comes behind it
 * (observed_layout.V4). */
static inline void observed_header_fill(struct observed_header *header, uint32_t n_workers)
{
    header->version = OBSERVED_VERSION;
    header->header_size = sizeof(*header);
    header->worker_size = sizeof(struct observed_worker);
    header->type_size = sizeof(struct observed_type);
    header->workers_offset = OBSERVED_WORKERS_OFFSET;
    header->types_offset = offsetof(struct observed_worker, types);
    header->trace_offset = offsetof(struct observed_worker, trace);
    header->live_offset = offsetof(struct observed_worker, live);
    header->n_workers = n_workers;
    header->types_max = ODEON_ACTOR_TYPES_MAX;
}
