/* SPDX-License-Identifier: Apache-2.0 */
/* The long run: what its parts share (long.c: the service and the verdict; long_walker.c: clients;
 * long_changes.c: changes and kills).
 *
 * Threads: one per client, one that kills if that is asked for, and the main one, which changes
 * settings. A walker is its thread's until joined, but for the atomics. `long_run` is written
 * before the threads begin, but for the atomics. */
#ifndef LONG_H
#define LONG_H

#include <odeon/admin.h>
#include <odeon/client.h>
#include <odeon/stats.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lanes.h"
#include "tests/run/patience.h"

enum { WORKERS_MAX = 6, DETACHED = 3, WINDOW = 256, RING_BYTES = 1 << 17 };

struct long_run {
    const char *bin, *plugin;
    unsigned seconds, seed;
    bool kill;
    char directory[64], socket_path[96], stats_path[96];
    odeon_ref stations[LANE_STATIONS];
    atomic_bool stop; /* no more lives, no more changes */
    atomic_bool lull; /* nobody posts: workers go to sleep */
    atomic_bool broken;
};
extern struct long_run long_run;

struct walker_lane {
    odeon_ref path[LANE_HOPS];
    uint16_t peers[LANE_HOPS], hops;
    uint64_t posted, received;
};

struct walker {
    pthread_t thread;
    unsigned index, seed;
    bool visits; /* its ports come and go */
    struct odeon_client *client;
    struct odeon_port *port;
    uint32_t type, life;
    odeon_ref guest; /* a station of this life's; ODEON_NOBODY: none */
    struct walker_lane lanes[LANES_EACH];
    /* of this life, the last one: the guest */
    uint64_t sent_pairs[LANE_STATIONS + 1], got_pairs[LANE_STATIONS + 1];
    uint64_t posted, received;        /* in this life */
    uint64_t expected[LANE_STATIONS]; /* hops that each station must have seen at the end */
    uint64_t all_posted, all_received, abandoned; /* abandoned: under way when a port was closed */
    unsigned closed_at_once, stopped_unheard;     /* the answer was lost with its executor */
    char wrong[256];
};

struct changes {
    uint64_t made, busy, moved, pause_longest_ns, pause_sum_ns, paused, workers_changed;
    unsigned per_policy[16], kills;
    char wrong[256];
};

uint64_t now_ns(void);
void nap_us(unsigned us);
/* Says what is wrong, once, and has everybody end. */
void say_wrong(char *wrong, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* For as long as the executor may be down: true until `call` has not failed, or it is of no use. */
bool try_again(int r, uint64_t until_ns);

void walker_prepare(struct walker *walker, unsigned index, unsigned seed);
void *walker_main(void *walker);

/* Changes settings until `until_ns`; `progress` is called now and then. */
void changes_make(struct changes *changes, struct odeon_client *client, uint64_t until_ns,
                  void (*progress)(const struct changes *));
/* Thread: kills the executor now and then. */
void *kills_main(void *changes);

#endif
