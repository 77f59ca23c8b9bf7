/* SPDX-License-Identifier: Apache-2.0 */
/* Plugin of the long run: `lane_station` checks each hop's numbers and hands it on along its path
 * (lanes.h). */
#include "lanes.h"

#include <odeon/plugin.h>
#include <stdatomic.h>
#include <stdbool.h>

ODEON_STATE(lane_station, {
    struct lane_station_args args;
    _Atomic uint32_t inside;
    struct lane_told told;
    struct lane_count got[LANE_PEERS], sent[LANE_PEERS]; /* pairs */
    struct lane_count lanes[LANE_TRACKS];
});

ODEON_INIT(lane_station, struct lane_station_args)
{
    self->args = *args;
    return 0;
}

static void found_wrong(struct lane_station_state *self, struct odeon_context *ctx,
                        const struct lane_hop *hop, const char *what, uint64_t n, uint64_t expected)
{
    if (self->told.wrong++)
        return;
    snprintf(self->told.first, sizeof(self->told.first),
             "%s %llu came where %llu was next: lane %u, life %u, from peer %u, at %u of %u", what,
             (unsigned long long)n, (unsigned long long)expected, hop->lane, hop->life, hop->from,
             hop->at, hop->hops);
    odeon_log(ctx, ODEON_LOG_ERROR, self->told.first);
}

/* The next number of a lane, of a pair; what belongs to a life that is long over came much too
 * late. */
static void check(struct lane_station_state *self, struct odeon_context *ctx,
                  const struct lane_hop *hop, struct lane_count *count, uint32_t life,
                  const char *what, uint64_t n)
{
    uint64_t *last = lane_count_of(count, life);
    if (count->life != life) {
        found_wrong(self, ctx, hop, "of a life that is over: number", n, 0);
        return;
    }
    if (n != *last + 1 && !(*last == 0 && self->args.forgets))
        found_wrong(self, ctx, hop, what, n, *last + 1);
    *last = n;
}

/* Some take a little while, so that queues fill and thieves find something. */
static void dawdle(uint64_t number)
{
    for (volatile unsigned i = 0, n = number % 128 == 0 ? 5000 : number % 7 * 10; i < n; i = i + 1)
        ;
}

ODEON_RECEIVE(lane_station, lane_hop)
{
    struct lane_hop hop = *msg;
    bool last = hop.at + 1u == hop.hops;
    uint16_t to = last ? hop.port : hop.peers[hop.at + 1];
    if (atomic_exchange(&self->inside, 1))
        found_wrong(self, ctx, msg, "two behaviours at a time: number", hop.number, 0);
    self->told.hops++;
    check(self, ctx, msg, &self->lanes[hop.lane * LANE_LIVES + hop.life % LANE_LIVES], hop.life,
          "number", hop.number);
    if (hop.pair) {
        check(self, ctx, msg, &self->got[hop.from], lane_life_of(hop.from, hop.life),
              "pair's number", hop.pair);
        hop.pair = ++*lane_count_of(&self->sent[to], lane_life_of(to, hop.life));
    }
    dawdle(hop.number + self->args.peer);
    hop.from = (uint16_t)self->args.peer;
    hop.flawed |= self->told.wrong != 0;
    hop.at++;
    if (ctx->host->send(ctx, last ? hop.origin : hop.path[hop.at], odeon_message_of(lane_hop)->id,
                        ODEON_BEHAVIOUR_UNKNOWN, &hop, sizeof(hop)) < 0)
        self->told.failed++;
    atomic_store(&self->inside, 0);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(lane_station, lane_ask)
{
    ctx->host->reply(ctx, odeon_message_of(lane_told)->id, &self->told, sizeof(self->told));
    return ODEON_NODELETE;
}

ODEON_HANDLERS(lane_station, ODEON_ON(lane_station, lane_hop), ODEON_ON(lane_station, lane_ask));
ODEON_ACTOR_TYPE(lane_station);
ODEON_PLUGIN("lanes", "1.0.0", ODEON_TYPE(lane_station));
