/* SPDX-License-Identifier: Apache-2.0 */
/* Policies that look for the busiest: longest-victim (thesis, "Victim Selection": the worker whose
 * own last attempt to steal is the longest ago) and fullest (most ready bits). The next best
 * follows when one has nothing to take. */
#include "daemon/engine/core/masks.h"
#include "daemon/engine/run/steal_policy.h"

/* All others in the order of the ids behind the thief's, each with its weight. */
static void steal_load_begin(struct worker *thief, struct steal_round *round,
                             uint64_t (*weigh)(const struct engine *e, uint32_t victim))
{
    const struct engine *e = thief->engine;
    round->n = 0;
    for (uint32_t i = 1; i < engine_workers(e); i++) {
        uint32_t victim = (thief->id + i) % engine_workers(e);
        round->victim[round->n] = (uint16_t)victim;
        round->weight[round->n++] = weigh(e, victim);
    }
}

/* The heaviest; of equal ones the first. */
static int steal_load_heaviest_next(struct worker *thief, struct steal_round *round)
{
    (void)thief;
    uint32_t found = 0;
    if (round->n == 0)
        return -1;
    for (uint32_t i = 1; i < round->n; i++)
        if (round->weight[i] > round->weight[found])
            found = i;
    int victim = round->victim[found];
    round->n--;
    for (uint32_t i = found; i < round->n; i++) {
        round->victim[i] = round->victim[i + 1];
        round->weight[i] = round->weight[i + 1];
    }
    return victim;
}

static uint64_t steal_load_weigh_age(const struct engine *e, uint32_t victim)
{
    return ~load_relaxed(&e->workers[victim]->called.last_attempt);
}

static uint64_t steal_load_weigh_ready(const struct engine *e, uint32_t victim)
{
    uint64_t n = 0, summary = load_relaxed(&e->workers[victim]->called.summary);
    for (uint32_t word = 0; summary && word * 64 < e->n_sources; word++)
        if (mask_summary_has(summary, word))
            n += (uint64_t)__builtin_popcountll(mask_stealable(e, victim, word));
    return n;
}

static void steal_load_longest_victim_begin(struct worker *thief, struct steal_round *round)
{
    steal_load_begin(thief, round, steal_load_weigh_age);
}

static void steal_load_fullest_begin(struct worker *thief, struct steal_round *round)
{
    steal_load_begin(thief, round, steal_load_weigh_ready);
}

const struct steal_policy steal_longest_victim = { "longest-victim",
                                                   steal_load_longest_victim_begin,
                                                   steal_load_heaviest_next };
const struct steal_policy steal_fullest = { "fullest", steal_load_fullest_begin,
                                            steal_load_heaviest_next };
