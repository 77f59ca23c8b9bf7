/* SPDX-License-Identifier: Apache-2.0 */
/* Policies that draw lots: random, among all others; locality, among those at one distance, the
 * nearest first (weighted stealing of the locality-guided scheduler: a group gets as many attempts
 * as it has members, and each round begins with the nearest again). */
#include "daemon/engine/core/near.h"
#include "daemon/engine/run/steal_policy.h"

static void near_begin(struct worker *thief, struct steal_round *round)
{
    round->n = near_n(thief);
    round->at = 0;
    for (uint32_t i = 0; i < round->n; i++)
        round->victim[i] = (uint16_t)near_id(thief, i);
}

/* One of victim[at .. end), by lot, and no one twice. */
static int steal_near_draw(struct worker *thief, struct steal_round *round, uint32_t end)
{
    uint32_t drawn = round->at + (uint32_t)(steal_random_next(thief) % (end - round->at));
    uint16_t victim = round->victim[drawn];
    round->victim[drawn] = round->victim[round->at];
    round->victim[round->at++] = victim;
    return victim;
}

static int steal_near_random_next(struct worker *thief, struct steal_round *round)
{
    return round->at < round->n ? steal_near_draw(thief, round, round->n) : -1;
}

static int steal_near_locality_next(struct worker *thief, struct steal_round *round)
{
    for (unsigned distance = DISTANCE_CORE; distance < DISTANCE_N; distance++) {
        uint32_t end = load_relaxed(&thief->near->end[distance]);
        if (round->at < end)
            return steal_near_draw(thief, round, end);
    }
    return -1;
}

const struct steal_policy steal_random = { "random", near_begin, steal_near_random_next };
const struct steal_policy steal_locality = { "locality", near_begin, steal_near_locality_next };
