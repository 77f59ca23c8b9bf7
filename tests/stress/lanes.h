/* SPDX-License-Identifier: Apache-2.0 */
/* The message of the long run, and how everybody who sends or receives it is numbered, for its
 * plugin and its clients.
 *
 * A lane is a path of stations (actors) that a client chooses and posts numbered hops along; the
 * last station sends them back. Whoever receives a hop checks two numbers: `number`, consecutive in
 * its lane at each place of the path, and `pair`, consecutive from this sender to this receiver,
 * whatever the lane.
 *
 * A peer is whoever sends or receives: the fixed stations first, then the ports, then the stations
 * that come and go with a port. A client's ports have lives, from 1; what was posted in one life
 * may arrive while the next one is under way, so that the last LANE_LIVES of them are counted
 * apart. */
#ifndef LANES_H
#define LANES_H

#include <odeon/message.h>

enum {
    LANE_HOPS = 4, /* stations in a path, at most */
    LANE_CLIENTS = 6,
    LANES_EACH = 4, /* lanes of a client */
    LANE_LIVES = 64,
    LANE_STATIONS = 24, /* those that stay */
    LANE_PORTS = LANE_STATIONS,
    LANE_GUESTS = LANE_PORTS + LANE_CLIENTS * LANE_LIVES,
    LANE_PEERS = LANE_GUESTS + LANE_CLIENTS * LANE_LIVES,
    LANE_TRACKS = LANE_CLIENTS * LANES_EACH * LANE_LIVES,
};

ODEON_MESSAGE(lane_hop, 1, {
    odeon_ref origin; /* the client's port */
    odeon_ref path[4];
    /* pair 0: pairs are not counted (the executor is killed, and its actors forget) */
    uint64_t number, pair;
    uint32_t life, lane; /* of the port; of all lanes */
    uint16_t peers[4];   /* those of the path */
    uint16_t from, port; /* who has sent it on; the client's */
    /* place in the path; its length; a station has seen something wrong */
    uint8_t at, hops, flawed, rest;
});
ODEON_SIGNAL(lane_ask, 1);
/* What a station has seen; `wrong` above 0: the first of these, in words. */
ODEON_MESSAGE(lane_told, 1, {
    uint64_t hops, wrong, failed; /* failed: sends */
    char first[160];
});
ODEON_INTERFACE(lane_station, lane_hop, lane_ask);

/* Arguments of a station. */
struct lane_station_args {
    uint32_t peer;
    /* the executor is killed: a number that is the first since the init is taken as it is */
    uint32_t forgets;
};

/* A count of one life; a later life begins anew. */
struct lane_count {
    uint32_t life;
    uint64_t n;
};

static inline uint64_t *lane_count_of(struct lane_count *count, uint32_t life)
{
    if (life > count->life)
        *count = (struct lane_count){ .life = life };
    return &count->n;
}

/* Stations that stay have one life. */
static inline uint32_t lane_life_of(unsigned peer, uint32_t life)
{
    return peer < LANE_STATIONS ? 0 : life;
}

#endif
