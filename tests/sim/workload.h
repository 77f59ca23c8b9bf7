/* SPDX-License-Identifier: Apache-2.0 */
/* What a simulated engine is given to do, drawn from the seed, and what must come of it.
 *
 * Clients post numbered messages along lanes: each lane leads through up to three actors and back
 * to its client, some of them as urgent messages all the way. One lane in three
 * has, at one of its places, a child made for each message, which passes it on and ends. Some
 * actors are accounts, whose state is kept: the first place of a lane pays an amount, the second
 * one receives it.
 *
 * workload.H1  Each number comes back once; in order, unless children carry it.  In a load that
 *     overflows (`overflow`) it may come back as a refusal, or from an actor that could not pass it
 *     on, or, if the policy of queues or ports drops, not at all; the engine has counted those.
 * workload.H2  An actor sees each number of a place once, in order; a second time only if it is
 *     marked as redelivered, and the engine has died since. A kept state has not seen what is
 *     redelivered, and in the end is the sum of what its actor ran.
 * workload.H3  When nobody can run, nobody sleeps who has something to do (check.h).
 * workload.H4  What a client has published before it died is consumed, and answered to nobody; its
 *     port's next client gets nothing of it.
 * workload.H5  A message with which a handler faults is tried as often as the settings say, and
 *     then refused; nothing else is blamed for it.
 * workload.H6  In the end nothing is left: no record, no child, no descriptor; and an engine that
 *     was stopped has nothing to recover.
 * workload.H7  What is posted in a trace is run in it, place by place, by a child and its init too,
 *     behind a crash as before it, and comes back with its id; nothing else is.
 * workload.H8  What is posted for later is sent no sooner, in its order, whether its client lives
 *     or not; and in the end none is left.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/engine/engine.h"
#include "tests/sim/client.h"
#include "tests/sim/endless.h"
#include "tests/sim/promises.h"
#include "tests/sim/sim.h"
#include "tests/sim/watchers.h"

enum { LANES_MAX = 4, ROOTS_MAX = 6, PLACES_MAX = 3, NUMBERS_MAX = 96 };

struct lane {
    uint32_t n_places, roots[PLACES_MAX];
    uint32_t child_at; /* place whose actor has a child pass it on; n_places: none */
    uint32_t numbers, bytes;
    /* a number with which the first actor's handler faults, as often as it is tried; NUMBERS_MAX:
     * none */
    uint32_t poison;
    uint32_t faults;
    uint32_t floor;  /* numbers below are of a life before */
    bool urgent;     /* all the way, through urgent lanes */
    bool correlated; /* posted with a correlation id, which a refusal repeats */
    uint64_t trace;  /* whose id its messages are posted with; 0: in none */
    /* each is posted to be sent so much later; 0: at once. And when each is due. */
    uint64_t late_ns, due_ns[NUMBERS_MAX];
    uint32_t posted, returned, next;
    bool came[NUMBERS_MAX];
    bool seen[PLACES_MAX][NUMBERS_MAX];
    uint32_t last[PLACES_MAX];                 /* number + 1 */
    uint32_t seen_in[PLACES_MAX][NUMBERS_MAX]; /* crashes so far */
};

/* JOINING: its port is being opened again. LEAVING: it has died, or has gone; its port is to be
 * closed. */
enum presence { CLIENT_HERE, CLIENT_LEAVING, CLIENT_GONE, CLIENT_JOINING };
enum { PARKED_CLIENTS = 1 };

struct workload_client {
    struct client client;
    struct sim_random random;
    struct lane lanes[LANES_MAX];
    struct watched_ends watches;
    uint32_t n_lanes, window, burst;
    bool lazy;            /* seldom receives */
    uint32_t written_off; /* dropped: nothing is under way, and they have not come back */
    uint32_t life, lives, dies_after; /* posts, but for its last life */
    enum presence presence;
    bool died;
    bool leaves; /* in the end */
    struct fiber *fiber;
    bool done;
};

struct workload_root {
    actor_ref ref;
    enum engine_placement placement;
    uint32_t place;
    bool kept; /* an account */
};

enum { OVERFLOW_NEVER = -1 };

struct workload {
    struct sim_random random;
    struct engine_config config; /* as it is now */
    struct engine *engine;       /* NULL: being opened, or closed */
    uint32_t n_clients, n_roots, n_changes, changed;
    uint32_t stall_one_in;
    bool asked_to_close[CLIENTS_MAX]; /* this engine */
    struct workload_client clients[CLIENTS_MAX];
    struct workload_root roots[ROOTS_MAX];
    int overflow;      /* enum engine_overflow of all actors, with tiny queues */
    int port_overflow; /* enum port_overflow of all ports, with small backlogs */
    uint16_t message_type;
    uint32_t root_type, account_type, child_type;
    struct endless endless;
    struct promises promises;
    bool poisoned;    /* some handlers fault */
    bool late;        /* some lanes are posted for later */
    bool ready;       /* clients may post */
    uint64_t moved;   /* when a client, a root, or a keeper last got something, or it was revoked */
    uint64_t revoked; /* messages, when that was last looked at */
    uint64_t messages, runs, children, redelivered, stalls, reloads;
    uint64_t traced, traced_again;    /* runs in a trace, and those behind a crash */
    uint64_t late_runs, late_orphans; /* of what was posted for later; ... by who has died since */
    uint64_t watches_told, watches_given_up;
    struct fiber *control;
};
extern struct workload workload;

static inline bool workload_drops(void)
{
    return workload.overflow == OVERFLOW_POLICY_DROP_NEWEST ||
           workload.overflow == OVERFLOW_POLICY_DROP_OLDEST ||
           workload.port_overflow != OVERFLOW_NEVER;
}
/* What is left to post, and what has not come back. */
void workload_client_state(const struct workload_client *client, uint32_t *ret_left,
                           uint32_t *ret_away);
void workload_draw(uint64_t seed); /* draw.c */
/* Of a load with timers: room for more of them than it can arm at once. */
void workload_have_timers(void);
void *workload_client_main(void *client); /* clients.c */
void workload_client_rejoin(struct workload_client *client);
/* All that has come. */
void workload_client_receive(struct workload_client *client);

/* Runs one seed to its end: sim.failed says how. */
void workload_run(uint64_t seed);
