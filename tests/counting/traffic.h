/* SPDX-License-Identifier: Apache-2.0 */
/* Actors and clients that make one kind of traffic until enough of it has been counted. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/engine/engine.h"
#include "tests/sim/sim.h"

/* What the command line asks for, defaults filled in. */
struct wish {
    const struct traffic *traffic;
    uint32_t workers, queues;
    uint32_t actors;   /* of all workers together */
    uint32_t payload;  /* bytes of a message, a multiple of 8; 0: a signal */
    uint64_t messages; /* that are counted; a third as many come before, to get going */
    enum engine_placement placement;
    enum steal_policy_id stealing;
    uint32_t clients;
    uint64_t seed;
};

struct traffic {
    const char *name, *what;
    /* where its actors live, if not where the wish says */
    bool pinned;
    /* NULL: as many as are wished for */
    uint32_t (*actors)(const struct wish *wish);
    uint32_t (*clients)(const struct wish *wish); /* NULL: none */
    enum steal_policy_id stealing;
    uint64_t spin_ns;
    uint32_t payload;
    bool posts;      /* its clients do; else they only have ports, and actors begin */
    bool one_begins; /* the first actor alone gets a message at the beginning, else each */
    /* 0; or what the engine says */
    int (*run)(uint32_t index, struct engine_context *ctx);
};
extern const struct traffic traffics[];
const struct traffic *traffic_find(const char *name);

/* What has been counted, besides units: the statistics' sums over all workers. */
struct traffic_sums {
    uint64_t flushes, flushed, tail_appends, searches, wakeups, parks, steals, begin_ns, end_ns;
};

/* Runs in the simulator's main stack until it is done; sim.failed says how. */
void traffic_run(const struct wish *wish, struct traffic_sums *ret_sums);
