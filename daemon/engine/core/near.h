/* SPDX-License-Identifier: Apache-2.0 */
/* Who is near whom: of each worker the others by distance, and the nodes (docs/engine.md,
 * Stealing).
 *
 * Written by the control thread: when the engine opens, and by a change while all workers wait at
 * its barrier. Read by workers, and by threads that no barrier stops: therefore atomic words. A
 * reader that meets a change may miss somebody or see him twice; who waits at the barrier looks
 * everywhere when he goes on.
 *
 * near.N1  A worker's list has every other worker once, nearest first; at the same distance in the
 *     order of the ids behind its own, so that not everybody begins with the same one.
 */
#pragma once

#include "daemon/engine/core/core.h"

struct near {
    _Atomic uint32_t node; /* an index: nodes are counted from 0 in the order of the workers */
    _Atomic uint16_t end[DISTANCE_N]; /* end[d]: so many are at distance d or nearer */
    _Atomic uint16_t id[ODEON_WORKERS_MAX];
};

int near_open(struct engine *engine);
void near_close(struct engine *engine);
/* From config.distances and config.nodes, for the first n_workers. Without distances: nodes tell,
 * DISTANCE_NODE or DISTANCE_MACHINE. */
void near_build(struct engine *engine);

static inline uint32_t near_n(const struct worker *w)
{
    return load_relaxed(&w->near->end[DISTANCE_N - 1]);
}
static inline uint32_t near_id(const struct worker *w, uint32_t i)
{
    return load_relaxed(&w->near->id[i]);
}
/* Searchers of the worker's node. */
static inline _Atomic uint32_t *near_searching(const struct engine *engine, const struct worker *w)
{
    return &engine->steal.searching[load_relaxed(&w->near->node)].n;
}
enum engine_distance near_distance(const struct engine *engine, uint32_t from, uint32_t to);
/* In the thief's statistics, by how far the victim is: an attempt at one that has shown something;
 * what one has come to. */
void near_count_attempt(struct worker *thief, uint32_t victim);
void near_count_steal(struct worker *thief, uint32_t victim);
