/* SPDX-License-Identifier: Apache-2.0 */
/* The torture of promises: what its parts share (promises.c: the run; promises_kills.c: who is
 * killed; promises_client.c: the clients; scribe.c: the actors, whose messages are in scribe.h).
 *
 * The run is one process, the driver, which starts the service and the clients. A client is the
 * same program, started anew; it is not killed. Driver and clients share struct promises_shared;
 * the driver writes it before the clients start, but for the flags, and a client its own book. */
#pragma once

#include <odeon/client.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tests/stress/scribe.h"
#include "tests/system/harness.h"

enum { PROMISES_CLIENTS = SCRIBES, PROMISES_SHARED_FD = 3 };

struct promises_book {
    _Atomic uint64_t came; /* outcomes */
    char wrong[240];
};

struct promises_shared {
    char socket[96], directory[64];
    uint64_t seed;
    int64_t patience_s; /* without an outcome, before what is missing counts as lost */
    odeon_ref scribes[SCRIBES];
    atomic_bool stop; /* no more posts: wait for what is under way, and end */
    atomic_bool broken;
    struct promises_book books[PROMISES_CLIENTS];
};

static inline uint64_t promises_draw(uint64_t *seed, uint64_t below)
{
    return scribe_mix(*seed += UINT64_C(0x9e3779b97f4a7c15)) % below;
}

/* ---- promises_client.c: the exit status; 1: its book says what is wrong ---- */
int promises_client(struct promises_shared *shared, unsigned index);

/* ---- promises_kills.c ---- */

enum promises_victim {
    PROMISES_EXECUTOR,
    PROMISES_RECOVERY,   /* the executor, and the next one while it recovers */
    PROMISES_SUPERVISOR, /* with it goes the executor */
    PROMISES_BOOT,       /* ... and the next one while it begins */
    PROMISES_BOTH,       /* the executor and the supervisor, each by a signal of its own */
    PROMISES_VICTIMS_N,
};

struct manager;

struct promises_kills {
    uint64_t seed, signals, made[PROMISES_VICTIMS_N];
    int64_t patience_s; /* for whom to kill */
    pid_t executor;     /* the last one that was killed */
};
/* Kills somebody, after a moment; true: it was done. */
bool promises_kill(struct promises_kills *kills, struct service *service, struct manager *manager);
const char *promises_victim_name(enum promises_victim victim);
