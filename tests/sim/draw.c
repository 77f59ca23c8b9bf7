/* SPDX-License-Identifier: Apache-2.0 */
/* What a seed is about: the engine's settings, its actors, its clients and their lanes. */
#include <string.h>

#include "tests/sim/actors.h"
#include "tests/sim/lodger.h"
#include "tests/sim/workload.h"

/* All that is under way on urgent lanes fits into one: nothing is refused in a load that does not
 * overflow. */
enum { CLIENTS_DRAWN = 3, URGENT_NUMBERS_MAX = 36, URGENT_TRACED_MAX = 32, TRACED_ONE_IN = 3 };
enum { LATE_ONE_IN = 4, CROWD_ONE_IN = 3, MANY_TIMERS = 2048 };
static_assert(CLIENTS_DRAWN * LANES_MAX * URGENT_NUMBERS_MAX *
                      (sizeof(struct envelope) + sizeof(struct hop) + 48) <=
                  ODEON_URGENT_BYTES,
              "room for all");
static_assert(URGENT_TRACED_MAX * (sizeof(struct envelope) + sizeof(struct hop) + 48 + 16) <=
                  URGENT_NUMBERS_MAX * (sizeof(struct envelope) + sizeof(struct hop) + 48),
              "and for those that are traced");

static void lane_draw(struct lane *lane, struct sim_random *random)
{
    lane->n_places = 1 + random_below(random, PLACES_MAX);
    for (uint32_t i = 0; i < lane->n_places; i++)
        lane->roots[i] = random_below(random, workload.n_roots);
    bool overflows = workload.overflow != OVERFLOW_NEVER;
    lane->child_at = random_one_in(random, 3) && !overflows ? random_below(random, lane->n_places)
                                                            : lane->n_places;
    lane->numbers =
        1 + random_below(random, random_one_in(random, 4) || overflows ? NUMBERS_MAX : 12);
    lane->poison = workload.poisoned && random_one_in(random, 4)
                       ? random_below(random, lane->numbers)
                       : NUMBERS_MAX;
    lane->correlated = overflows || lane->poison < NUMBERS_MAX || random_one_in(random, 4);
    lane->urgent = random_one_in(random, 3);
    if (lane->urgent && !overflows && lane->numbers > URGENT_NUMBERS_MAX)
        lane->numbers = URGENT_NUMBERS_MAX;
    lane->bytes = (uint32_t)sizeof(struct hop) +
                  random_below(random, random_one_in(random, 6) && !overflows && !lane->urgent
                                           ? HOP_BYTES_MAX - (uint32_t)sizeof(struct hop) + 1
                                           : 40);
}

static void client_draw(struct workload_client *wc, uint32_t id)
{
    struct sim_random *random = &workload.random;
    client_prepare(&wc->client, id);
    wc->random.state = random_next(random);
    wc->n_lanes = 1 + random_below(random, LANES_MAX);
    wc->window = workload.overflow != OVERFLOW_NEVER ? 64u << random_below(random, 3)
                                                     : 1u << random_below(random, 8);
    wc->burst = 1u << random_below(random, 5);
    wc->client.info.overflow = workload.port_overflow == OVERFLOW_NEVER
                                   ? PORT_OVERFLOW_DROP_NEWEST
                                   : (uint32_t)workload.port_overflow;
    /* What a port has no room for is lost only where somebody does not receive; two of these could
     * fill a queue, which nobody here reckons with. */
    wc->lazy = workload.overflow == OVERFLOW_NEVER &&
               random_one_in(random, workload.port_overflow == OVERFLOW_NEVER ? 8 : 2) &&
               (workload.port_overflow == OVERFLOW_NEVER || id == 0);
    if (wc->lazy)
        wc->window = 1024;
    wc->lives = 1 + (random_one_in(random, 4) ? 1 + random_below(random, 2) : 0);
    wc->dies_after = random_below(random, 30);
    wc->leaves = random_one_in(random, 2);
    for (uint32_t i = 0; i < wc->n_lanes; i++)
        lane_draw(&wc->lanes[i], random);
    for (uint32_t i = 0; i < wc->n_lanes && wc->lazy; i++) { /* more than the ring holds */
        wc->lanes[i].urgent = false;
        wc->lanes[i].numbers = NUMBERS_MAX / 2 + random_below(random, NUMBERS_MAX / 2);
        wc->lanes[i].bytes = HOP_BYTES_MAX / 2 + random_below(random, HOP_BYTES_MAX / 2);
    }
}

static void config_draw(struct engine_config *c)
{
    struct sim_random *random = &workload.random;
    uint32_t room = 1 + random_below(random, 4);
    *c = (struct engine_config){
        .workers_max = room,
        .n_workers = 1 + random_below(random, room),
        .queues_per_worker = 1 + random_below(random, 3),
        .detached_max = random_below(random, 3),
        .actors_max = 2 * ODEON_PORTS_MAX,
        .limit_bytes = workload.overflow != OVERFLOW_NEVER ? 4096 : 2 << 20,
        .outbox_bytes = 256 << 10,
        .backlog_bytes = workload.port_overflow != OVERFLOW_NEVER ? 64 << 10 : 1 << 20,
        .dlq_bytes = 64 << 10,
        .durable_bytes = 512,
        .throughput = 1u << random_below(random, 9),
        .attempts_max = 3,
        .stealing = (enum steal_policy_id)random_below(random, STEAL_N),
        .mode = (enum steal_mode)random_below(random, STEAL_MODE_N),
        .steal_sources = random_below(random, 4),
        .spin_ns = random_below(random, 3) * 1000,
        .moderate_sleeps = random_one_in(random, 3) ? 2 : 0,
        .moderate_ns = 50000,
        .relaxed_ns = random_one_in(random, 4) ? 2000000 : 0,
    };
}

static void root_draw(struct workload_root *root, uint32_t index)
{
    struct sim_random *random = &workload.random;
    enum engine_placement placement = (enum engine_placement)random_below(random, PLACE_N);
    bool nowhere = placement == PLACE_NODE ||
                   (placement == PLACE_DETACHED && index >= workload.config.detached_max);
    root->placement = nowhere ? PLACE_SPREAD : placement;
    root->place = ENGINE_ANYWHERE;
    root->kept = random_one_in(random, 3);
}

/* Some lanes of some loads, behind everything else that is drawn and by chances of their own: loads
 * without any are what they would be. Such records are two words longer: less of them fit into an
 * urgent lane. */
static void traces_draw(void)
{
    struct sim_random random = { .state = sim.seed ^ UINT64_C(0x9e3779b97f4a7c15) };
    if (!random_one_in(&random, TRACED_ONE_IN))
        return;
    for (uint32_t i = 0; i < workload.n_clients; i++)
        for (uint32_t l = 0; l < workload.clients[i].n_lanes; l++) {
            struct lane *lane = &workload.clients[i].lanes[l];
            if (random_one_in(&random, 2))
                continue;
            lane->trace = sim.seed << 8 | i << 4 | l | 8;
            if (lane->urgent && workload.overflow == OVERFLOW_NEVER &&
                lane->numbers > URGENT_TRACED_MAX)
                lane->numbers = URGENT_TRACED_MAX;
        }
}

void workload_have_timers(void)
{
    workload.config.timers_max = MANY_TIMERS;
    workload.config.timer_bytes = 4 << 20;
}

/* So that many of them fit into what there is for all. */
static void lane_make_small(struct lane *lane)
{
    const uint32_t most = sizeof(struct hop) + 40;
    lane->bytes = lane->bytes > most ? most : lane->bytes;
}

/* Queues are small and songs are long in some loads: members are at their limits (group.G8).
 * Nothing is refused for all that: what clients post waits in its port, and goes no further than to
 * one actor and back. */
static void crowd_draw(void)
{
    struct sim_random random = { .state = sim.seed ^ UINT64_C(0xd6e8feb86659fd93) };
    if (!random_one_in(&random, CROWD_ONE_IN) || workload.promises.n == 0 ||
        workload.port_overflow != OVERFLOW_NEVER)
        return;
    workload.promises.crowded = true;
    workload.promises.rejects = random_one_in(&random, 2);
    workload.promises.mayflies_last = true; /* their own timers do */
    workload.config.limit_bytes = 4096;
    workload_have_timers();
    for (uint32_t i = 0; i < workload.n_clients; i++) {
        struct workload_client *wc = &workload.clients[i];
        wc->lazy = false;
        for (uint32_t l = 0; l < wc->n_lanes; l++) {
            struct lane *lane = &wc->lanes[l];
            lane->n_places = lane->child_at = 1;
            lane->urgent = false;
            lane_make_small(lane);
        }
    }
}

/* Some lanes of some loads, as above, whose messages are posted for later. */
static void late_draw(void)
{
    struct sim_random random = { .state = sim.seed ^ UINT64_C(0xbf58476d1ce4e5b9) };
    if (!random_one_in(&random, LATE_ONE_IN) || workload.overflow != OVERFLOW_NEVER ||
        workload.endless.there || workload.promises.crowded) /* whose queue is full waits */
        return;
    for (uint32_t i = 0; i < workload.n_clients; i++)
        for (uint32_t l = 0; l < workload.clients[i].n_lanes; l++) {
            struct lane *lane = &workload.clients[i].lanes[l];
            if (lane->urgent || random_one_in(&random, 2))
                continue;
            lane->late_ns = 1 + random_below(&random, random_one_in(&random, 3) ? 3000000 : 50000);
            lane_make_small(lane);
            workload.late = true;
        }
    if (workload.late)
        workload_have_timers();
}

void workload_draw(uint64_t seed)
{
    static const int overflows[] = { OVERFLOW_POLICY_REJECT, OVERFLOW_POLICY_DROP_NEWEST,
                                     OVERFLOW_POLICY_DROP_OLDEST, OVERFLOW_POLICY_STALL,
                                     OVERFLOW_POLICY_STALL };
    memset(&workload, 0, sizeof(workload));
    struct sim_random *random = &workload.random;
    random->state = seed ^ UINT64_C(0x5bd1e9955bd1e995);
    workload.overflow =
        random_one_in(random, 4)
            ? overflows[random_below(random, sizeof(overflows) / sizeof(overflows[0]))]
            : OVERFLOW_NEVER;
    workload.port_overflow = random_one_in(random, 6)
                                 ? (int)random_below(random, PORT_OVERFLOW_DISCONNECT)
                                 : OVERFLOW_NEVER;
    workload.poisoned = workload.overflow == OVERFLOW_NEVER && random_one_in(random, 6);
    config_draw(&workload.config);
    workload.n_roots = 1 + random_below(random, ROOTS_MAX);
    for (uint32_t i = 0; i < workload.n_roots; i++)
        root_draw(&workload.roots[i], i);
    workload.n_changes = random_one_in(random, 2) ? 0 : random_below(random, 6);
    workload.stall_one_in = random_one_in(random, 4) ? 50 : 0;
    workload.n_clients = 1 + random_below(random, CLIENTS_DRAWN);
    for (uint32_t i = 0; i < workload.n_clients; i++)
        client_draw(&workload.clients[i], i);
    endless_draw();
    traces_draw();
    promises_draw();
    crowd_draw();
    lodger_draw();
    late_draw();
    watchers_draw();
    if (workload.overflow != OVERFLOW_NEVER && random_one_in(random, 2)) /* clients of two users */
        workload.config.waiting_quota_ns = random_one_in(random, 2) ? 1 : 1000 * 1000;
    for (uint32_t i = 0; i < workload.n_clients; i++)
        workload.clients[i].client.info.user = 1 + i % 2;
}
