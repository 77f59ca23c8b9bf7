/* SPDX-License-Identifier: Apache-2.0 */
/* Policies that look at nothing: none; round-robin (Mercury: each engine has a victim counter of
 * its own); share, whose work lies in the common mask where everybody takes it, and whose victims
 * are what is left: the private bits of workers that do not get to them. */
#include "daemon/engine/run/steal_policy.h"

static void steal_ring_none_begin(struct worker *thief, struct steal_round *round)
{
    (void)thief;
    round->n = 0;
}

static int steal_ring_none_next(struct worker *thief, struct steal_round *round)
{
    (void)thief;
    (void)round;
    return -1;
}

static void ring_begin(struct worker *thief, struct steal_round *round)
{
    round->n = engine_workers(thief->engine) - 1;
    round->at = thief->search.victim_next;
}

/* The counter stands behind whoever was tried last, so that the next round does not begin with the
 * same one. */
static int ring_next(struct worker *thief, struct steal_round *round)
{
    uint32_t n_workers = engine_workers(thief->engine);
    if (round->n == 0)
        return -1;
    round->n--;
    uint32_t victim = round->at % n_workers;
    if (victim == thief->id)
        victim = (victim + 1) % n_workers;
    round->at = thief->search.victim_next = (victim + 1) % n_workers;
    return (int)victim;
}

const struct steal_policy steal_none = { "none", steal_ring_none_begin, steal_ring_none_next };
const struct steal_policy steal_round_robin = { "round-robin", ring_begin, ring_next };
const struct steal_policy steal_share = { "share", ring_begin, ring_next };
