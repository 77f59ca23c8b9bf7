/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/core/near.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/engine/base/points.h"

int near_open(struct engine *e)
{
    size_t bytes = ODEON_WORKERS_MAX * sizeof(*e->steal.searching);
    e->steal.searching = aligned_alloc(64, bytes);
    if (!e->steal.searching)
        return -ENOMEM;
    memset(e->steal.searching, 0, bytes);
    return 0;
}

void near_close(struct engine *e)
{
    free(e->steal.searching);
    e->steal.searching = NULL;
}

static int near_node_of(const struct engine *e, uint32_t worker)
{
    return e->config.nodes ? e->config.nodes[worker] : -1;
}

enum engine_distance near_distance(const struct engine *e, uint32_t from, uint32_t to)
{
    uint32_t room = e->config.workers_max ? e->config.workers_max : e->config.n_workers;
    if (from == to)
        return DISTANCE_SELF;
    if (!e->config.distances)
        return near_node_of(e, from) == near_node_of(e, to) ? DISTANCE_NODE : DISTANCE_MACHINE;
    uint8_t distance = e->config.distances[(size_t)from * room + to];
    return distance == DISTANCE_SELF ? DISTANCE_CORE
           : distance < DISTANCE_N   ? (enum engine_distance)distance
                                     : DISTANCE_MACHINE;
}

static void near_count(struct worker *thief, uint32_t victim, enum stat_index all,
                       enum stat_index nearest)
{
    unsigned distance = near_distance(thief->engine, thief->id, victim);
    stat_add(thief, all, 1);
    stat_add(thief, (enum stat_index)(nearest + distance - DISTANCE_CORE), 1);
}

void near_count_attempt(struct worker *thief, uint32_t victim)
{
    near_count(thief, victim, STAT_steal_attempts, STAT_steal_attempts_core);
}

void near_count_steal(struct worker *thief, uint32_t victim)
{
    near_count(thief, victim, STAT_steals, STAT_steals_core);
}

static void near_list_build(struct engine *e, uint32_t id)
{
    struct near *near = e->workers[id]->near;
    uint16_t n = 0;
    for (unsigned distance = DISTANCE_SELF; distance < DISTANCE_N; distance++) {
        for (uint32_t i = 1; i < engine_workers(e); i++) {
            uint32_t other = (id + i) % engine_workers(e);
            if (near_distance(e, id, other) == distance)
                store_relaxed(&near->id[n++], (uint16_t)other);
        }
        store_relaxed(&near->end[distance], n);
    }
    engine_check("near.N1", n == engine_workers(e) - 1);
}

void near_build(struct engine *e)
{
    uint32_t n_nodes = 0;
    for (uint32_t id = 0; id < engine_workers(e); id++) {
        uint32_t same = 0;
        while (same < id && near_node_of(e, same) != near_node_of(e, id))
            same++;
        store_relaxed(&e->workers[id]->near->node,
                      same < id ? load_relaxed(&e->workers[same]->near->node) : n_nodes++);
        near_list_build(e, id);
    }
}
