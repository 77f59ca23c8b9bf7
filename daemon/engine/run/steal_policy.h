/* SPDX-License-Identifier: Apache-2.0 */
/* Victim policies: in which order a thief tries the others (docs/engine.md, Stealing). Each is two
 * functions and a name; what an attempt is, and that a victim without anything to take is passed
 * over, is steal.c's.
 *
 * steal_policy.V1  A round names every other worker at most once, and each of them before it ends:
 *     a worker that is stuck is no dead end.
 * steal_policy.V2  A policy reads what others show (stamps, masks) and writes nothing but the
 *     thief's own block and the round.
 */
#pragma once

#include "daemon/engine/core/core.h"

struct steal_round {
    uint32_t n;                         /* victims, or those left of them */
    uint32_t at;                        /* where the policy stands */
    uint16_t victim[ODEON_WORKERS_MAX]; /* those left, in an order of the policy's own */
    uint64_t weight[ODEON_WORKERS_MAX]; /* of each of them when the round began */
};

struct steal_policy {
    const char *name;
    void (*begin)(struct worker *thief, struct steal_round *round);
    /* a worker's id; -1: the round is over */
    int (*next)(struct worker *thief, struct steal_round *round);
};

extern const struct steal_policy steal_none, steal_random, steal_round_robin, steal_longest_victim,
    steal_fullest, steal_locality, steal_share;

/* NULL: no such policy. */
const struct steal_policy *steal_policy_get(enum steal_policy_id id);

static inline uint64_t steal_random_next(struct worker *w)
{
    w->search.random ^= w->search.random << 13;
    w->search.random ^= w->search.random >> 7;
    w->search.random ^= w->search.random << 17;
    return w->search.random;
}
