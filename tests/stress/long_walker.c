/* SPDX-License-Identifier: Apache-2.0 */
/* Clients of the long run: each has lanes through stations, posts numbered hops along them and
 * checks what comes back (lanes.h). Some keep their port, some close it after a while, half of the
 * time with hops under way: these must still be run. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "long.h"

static unsigned draw(struct walker *w, unsigned below)
{
    return (unsigned)rand_r(&w->seed) / 7 % below;
}

void walker_prepare(struct walker *w, unsigned index, unsigned seed)
{
    char name[32];
    *w = (struct walker){ .index = index,
                          .seed = seed * 31 + index,
                          .visits = index >= LANE_CLIENTS / 2 };
    snprintf(name, sizeof(name), "walker-%u", index);
    if (odeon_client_connect(long_run.socket_path, name, &w->client) < 0 ||
        odeon_message_id(w->client, odeon_message_of(lane_hop), &w->type) < 0)
        say_wrong(w->wrong, sizeof(w->wrong), "connecting: %s", odeon_error_text());
}

/* ---- lives ---- */

static unsigned guest_peer(const struct walker *w)
{
    return LANE_GUESTS + w->index * LANE_LIVES + w->life % LANE_LIVES;
}

static bool guest_spawn(struct walker *w)
{
    static const enum odeon_where places[] = { ODEON_WHERE_ANY, ODEON_WHERE_ANY, ODEON_WHERE_PINNED,
                                               ODEON_WHERE_FOLLOW };
    struct odeon_spawn_where where = { .struct_size = sizeof(where),
                                       .where = places[draw(w, 4)],
                                       .worker = ODEON_WORKER_ANY };
    struct lane_station_args args = { .peer = guest_peer(w), .forgets = long_run.kill };
    uint64_t until = now_ns() + PATIENCE_S * UINT64_C(1000000000);
    int r;
    do
        r = odeon_actor_spawn_at(w->client, "lane_station", NULL, &args, sizeof(args), &where,
                                 &w->guest);
    while (try_again(r, until));
    if (r < 0)
        say_wrong(w->wrong, sizeof(w->wrong), "spawning: %s", odeon_error_text());
    return r >= 0;
}

/* A path of different stations; the first lane leads through the guest as well. */
static void lane_choose(struct walker *w, struct walker_lane *lane, bool with_guest)
{
    *lane = (struct walker_lane){ .hops = (uint16_t)(1 + draw(w, LANE_HOPS)) };
    for (unsigned i = 0; i < lane->hops;) {
        unsigned peer = draw(w, LANE_STATIONS);
        bool there = false;
        for (unsigned k = 0; k < i; k++)
            there |= lane->peers[k] == peer;
        if (there)
            continue;
        lane->path[i] = long_run.stations[peer];
        lane->peers[i++] = (uint16_t)peer;
    }
    if (with_guest) {
        unsigned at = draw(w, lane->hops);
        lane->path[at] = w->guest;
        lane->peers[at] = (uint16_t)guest_peer(w);
    }
}

static bool life_begin(struct walker *w)
{
    struct odeon_port_options options = { .struct_size = sizeof(options),
                                          .submission_bytes = RING_BYTES,
                                          .delivery_bytes = RING_BYTES };
    uint64_t until = now_ns() + PATIENCE_S * UINT64_C(1000000000);
    int r;
    w->life++;
    w->posted = w->received = 0;
    w->guest = ODEON_NOBODY;
    memset(w->sent_pairs, 0, sizeof(w->sent_pairs));
    memset(w->got_pairs, 0, sizeof(w->got_pairs));
    do
        r = odeon_port_open(w->client, &options, &w->port);
    while (try_again(r, until));
    if (r < 0) {
        say_wrong(w->wrong, sizeof(w->wrong), "opening a port: %s", odeon_error_text());
        return false;
    }
    if (w->visits && draw(w, 2) && !guest_spawn(w))
        return false;
    for (unsigned i = 0; i < LANES_EACH; i++)
        lane_choose(w, &w->lanes[i], i == 0 && w->guest != ODEON_NOBODY);
    return true;
}

/* A stop whose answer was lost with its executor may have been carried out: the next one finds
 * nobody. */
static bool guest_stop(struct walker *w)
{
    uint64_t until = now_ns() + PATIENCE_S * UINT64_C(1000000000);
    bool asked = false;
    int r;
    for (;;) {
        r = odeon_actor_stop(w->client, w->guest, ODEON_DELETE);
        if (r == -ESRCH && asked) {
            w->stopped_unheard++;
            return true;
        }
        if (!try_again(r, until))
            break;
        asked = true;
    }
    if (r < 0)
        say_wrong(w->wrong, sizeof(w->wrong), "stopping an actor: %s", odeon_error_text());
    return r >= 0;
}

/* The guest ends behind the last hop through it, which has come back. */
static bool life_end(struct walker *w)
{
    for (unsigned i = 0; i < LANES_EACH; i++)
        for (unsigned k = 0; k < w->lanes[i].hops; k++)
            if (w->lanes[i].peers[k] < LANE_STATIONS)
                w->expected[w->lanes[i].peers[k]] += w->lanes[i].posted;
    w->all_posted += w->posted;
    w->all_received += w->received;
    w->abandoned += w->posted - w->received;
    w->port = odeon_port_close(w->port);
    return w->guest == ODEON_NOBODY || guest_stop(w);
}

/* ---- hops ---- */

/* Pairs of a client are counted by station; its guest is the last. */
static unsigned pair_index(unsigned peer)
{
    return peer < LANE_STATIONS ? peer : LANE_STATIONS;
}

static bool check_hop(struct walker *w, const struct odeon_delivery *d)
{
    struct lane_hop hop;
    if (d->type != w->type || d->size != sizeof(hop)) {
        const struct odeon_refusal *refusal = d->data;
        say_wrong(w->wrong, sizeof(w->wrong),
                  "a record of type %u with %u bytes (a refusal's reason: %u)", d->type, d->size,
                  d->type == ODEON_MSG_REFUSAL ? refusal->reason : 0U);
        return false;
    }
    memcpy(&hop, d->data, sizeof(hop));
    unsigned nth = hop.lane - w->index * LANES_EACH;
    if (hop.life != w->life || nth >= LANES_EACH || hop.at != hop.hops ||
        d->from != w->lanes[nth].path[hop.hops - 1]) {
        say_wrong(w->wrong, sizeof(w->wrong), "a hop of lane %u, life %u (now %u), at %u of %u",
                  hop.lane, hop.life, w->life, hop.at, hop.hops);
        return false;
    }
    struct walker_lane *lane = &w->lanes[nth];
    if (hop.number != lane->received + 1) {
        say_wrong(w->wrong, sizeof(w->wrong),
                  "lane %u: number %" PRIu64 " came where %" PRIu64 " was next: %s", hop.lane,
                  hop.number, lane->received + 1,
                  hop.number <= lane->received ? "doubled or out of order"
                                               : "lost or out of order");
        return false;
    }
    lane->received++;
    w->received++;
    uint64_t *pair = &w->got_pairs[pair_index(hop.from)];
    if (hop.pair && hop.pair != *pair + 1) {
        say_wrong(w->wrong, sizeof(w->wrong),
                  "from station %u: number %" PRIu64 " of the pair came where %" PRIu64 " was next",
                  hop.from, hop.pair, *pair + 1);
        return false;
    }
    *pair = hop.pair;
    if (hop.flawed)
        say_wrong(w->wrong, sizeof(w->wrong), "a station on lane %u has seen something wrong",
                  hop.lane);
    return !hop.flawed;
}

static bool walker_receive(struct walker *w, int64_t timeout_ns)
{
    struct odeon_delivery d;
    int r = odeon_port_receive_wait(w->port, &d, timeout_ns);
    for (; r == 1; r = odeon_port_receive(w->port, &d))
        if (!check_hop(w, &d))
            return false;
    odeon_port_release(w->port);
    if (r < 0 && r != -ETIMEDOUT) {
        say_wrong(w->wrong, sizeof(w->wrong), "receiving: %s", odeon_error_text());
        return false;
    }
    return true;
}

static int post_one(struct walker *w, unsigned nth)
{
    struct walker_lane *lane = &w->lanes[nth];
    uint64_t *pair = &w->sent_pairs[pair_index(lane->peers[0])];
    struct lane_hop hop = { .origin = odeon_port_ref(w->port),
                            .number = lane->posted + 1,
                            .pair = long_run.kill ? 0 : *pair + 1,
                            .life = w->life,
                            .lane = w->index * LANES_EACH + nth,
                            .hops = (uint8_t)lane->hops };
    hop.port = hop.from = (uint16_t)(LANE_PORTS + w->index * LANE_LIVES + w->life % LANE_LIVES);
    memcpy(hop.path, lane->path, sizeof(hop.path));
    memcpy(hop.peers, lane->peers, sizeof(hop.peers));
    int r = odeon_port_post(w->port, lane->path[0], w->type, &hop, sizeof(hop));
    if (r < 0)
        return r;
    lane->posted++;
    w->posted++;
    ++*pair;
    return 0;
}

/* Up to the window, in bursts of a lane each. */
static bool walker_post(struct walker *w)
{
    while (w->posted - w->received < WINDOW) {
        unsigned nth = draw(w, LANES_EACH);
        for (unsigned n = 1 + draw(w, 32); n && w->posted - w->received < WINDOW; n--) {
            int r = post_one(w, nth);
            if (r == -EAGAIN)
                return true;
            if (r < 0) {
                say_wrong(w->wrong, sizeof(w->wrong), "posting: %s", odeon_error_text());
                return false;
            }
        }
    }
    return true;
}

/* Posts and receives until the end of this life; all has come back then, or, `at_once`, whatever
 * has. */
static bool life_run(struct walker *w, uint64_t end_ns, bool at_once)
{
    uint64_t seen = 0, since = now_ns();
    for (;;) {
        bool over = atomic_load(&long_run.stop) || now_ns() >= end_ns;
        if (over && (at_once || w->received == w->posted))
            return true;
        if (atomic_load(&long_run.broken))
            return false;
        bool posts = !over && !atomic_load(&long_run.lull);
        if ((posts && !walker_post(w)) ||
            !walker_receive(w, w->posted == w->received ? 200000 : 2000000))
            return false;
        if (w->received != seen || w->received == w->posted) {
            seen = w->received;
            since = now_ns();
        } else if (now_ns() - since > PATIENCE_S * UINT64_C(1000000000)) {
            say_wrong(w->wrong, sizeof(w->wrong),
                      "%" PRIu64 " of %" PRIu64 " have come back, then nothing for %d s: lost",
                      w->received, w->posted, PATIENCE_S);
            return false;
        }
        if (draw(w, 200) == 0)
            nap_us(draw(w, 10000));
    }
}

void *walker_main(void *argument)
{
    struct walker *w = argument;
    while (!atomic_load(&long_run.stop) && !atomic_load(&long_run.broken)) {
        if (!life_begin(w))
            break;
        uint64_t length_ms = w->visits ? 20 + draw(w, 600) : UINT32_MAX;
        /* hops must not find that their station has ended */
        bool at_once = w->visits && w->guest == ODEON_NOBODY && draw(w, 2);
        bool well = life_run(w, now_ns() + length_ms * 1000000, at_once);
        w->closed_at_once += at_once;
        if (!life_end(w) || !well)
            break;
    }
    return NULL;
}
