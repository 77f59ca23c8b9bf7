/* SPDX-License-Identifier: Apache-2.0 */
/* The soak: what its parts share (soak.c: the run and its report; kills.c: who is killed when;
 * client.c: the clients; books.c: what must be true at the end; bank.h: the actors).
 *
 * The run is one process, the driver, which starts the service and the clients. A client is the
 * same program started anew for each of its lives; it may be killed at any moment, so that what it
 * must know in its next life lies in memory shared with the driver: struct soak_shared, written by
 * the driver before the clients start, but for a client's own book (and the flags). A track's
 * numbers go up: `begun` is stored before a post, `sent` behind it; what lies between is in doubt
 * after a kill. (seq_cst throughout: nothing here is fast.) */
#pragma once

#include <odeon/client.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tests/soak/bank.h"
#include "tests/system/harness.h"

enum { SOAK_SHARED_FD = 3 };

struct soak_track {
    _Atomic uint64_t begun, sent;
};

struct soak_book {
    struct soak_track tellers[BANK_TELLERS_EACH], lanes[BANK_LANES_EACH];
    _Atomic uint64_t port; /* of the latest life that has posted; ODEON_NOBODY: none */
    _Atomic uint64_t lives, receipts, hops, was_there, was_not; /* the last two: numbers in doubt */
    char wrong[240];
};

struct soak_shared {
    char socket[96];
    uint64_t seed;
    odeon_ref accounts[BANK_ACCOUNTS], tellers[BANK_TELLERS], lanes[BANK_LANES],
        recorders[BANK_LANES];
    atomic_bool stop; /* no more posts: wait for what is under way, and end */
    atomic_bool broken;
    struct soak_book books[BANK_CLIENTS];
};

/* The same everywhere: from a seed of one's own. */
static inline uint64_t soak_draw(uint64_t *seed, uint64_t below)
{
    *seed += UINT64_C(0x9e3779b97f4a7c15);
    return bank_mix(*seed) % below;
}

/* ---- client.c: one life; the exit status: 0 all is well (or the run is broken elsewhere), 1 the
 * book says what is wrong ---- */
int soak_client(struct soak_shared *shared, unsigned index);

/* ---- kills.c ---- */

enum soak_victim {
    SOAK_EXECUTOR,
    SOAK_RECOVERY, /* the executor, and the next one while it recovers */
    SOAK_CLIENT,
    SOAK_BOTH,            /* executor and a client */
    SOAK_SUPERVISOR,      /* with it goes the executor */
    SOAK_SUPERVISOR_BOOT, /* ... and the next one while it begins */
    SOAK_RESTART,         /* the supervisor is asked to end, and started again */
    SOAK_ALL,             /* supervisor, executor and a client, each by a signal of its own */
    SOAK_VICTIMS_N,
};

struct soak_run; /* the driver's; soak.c */

struct soak_kills {
    uint64_t seed;
    bool supervisor; /* may be killed: a service manager starts it again */
    uint64_t made[SOAK_VICTIMS_N], signals, supervisors, bad_ends; /* bad: of one that was asked */
    int bad_status;
    pid_t executor; /* the last one that was killed */
    int64_t next_ns;
};

struct manager;
/* Kills if it is time.  `clients`: their processes, 0: none at the moment. */
void soak_kills_turn(struct soak_kills *kills, struct service *service, struct manager *manager,
                     const pid_t *clients);
const char *soak_victim_name(enum soak_victim victim);

/* Thread: changes settings until the stop. */
struct soak_changes {
    struct soak_shared *shared;
    uint64_t seed;
    _Atomic uint64_t made, failed;
    char wrong[240];
};
void *soak_changes_main(void *changes);

/* ---- books.c ---- */

struct soak_verdict {
    uint64_t transfers, entries, hops; /* that must be there */
    /* entries and hops; numbers found wrong by actors; sends that failed */
    uint64_t lost, doubled, wrong, failed;
    uint64_t runs_again;     /* messages that were marked as redelivered */
    uint64_t accounts_wrong; /* whose ledger is not what the transfers say */
    int64_t sum, sum_expected;
    char first[240];
};
/* Asks all actors; all clients have ended well.  Negative errno: somebody did not answer. */
int soak_books_judge(const struct soak_shared *shared, struct odeon_client *client,
                     struct soak_verdict *ret_verdict);
