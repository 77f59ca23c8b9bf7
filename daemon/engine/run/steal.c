/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/run/steal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/common/clock.h"
#include "daemon/engine/base/probe.h"
#include "daemon/engine/core/masks.h"
#include "daemon/engine/core/near.h"
#include "daemon/engine/ports/port_steal.h"
#include "daemon/engine/run/pack.h"
#include "daemon/engine/run/polled.h"
#include "daemon/engine/run/steal_policy.h"
#include "daemon/engine/signal/wake.h"

enum { STEAL_PORTS = 4 }; /* that one of many searches looks at */

int steal_open(struct engine *e)
{
    size_t bytes = ((e->n_sources + 63) / 64 * sizeof(uint64_t) + 127) & ~(size_t)127;
    e->steal.common = aligned_alloc(128, bytes);
    e->steal.fixed = aligned_alloc(128, bytes);
    if (!e->steal.common || !e->steal.fixed)
        return -ENOMEM;
    memset((void *)e->steal.common, 0, bytes);
    memset((void *)e->steal.fixed, 0, bytes);
    return near_open(e);
}

void steal_close(struct engine *e)
{
    near_close(e);
    free((void *)e->steal.common);
    free((void *)e->steal.fixed);
    e->steal.common = e->steal.fixed = NULL;
}

/* Nothing is moved for it: wake.W1. Who looked for a last time under the old policy has its
 * sleepers bit set by then, and is woken. */
void steal_set(struct engine *e, enum steal_policy_id policy, enum steal_mode mode,
               uint32_t sources)
{
    store_relaxed(&e->steal.sources, sources ? sources : 1);
    pack_forget(e);
    if (policy == STEAL_SHARE)
        store_relaxed(&e->steal.common_used, 1);
    /* who sets a common bit finds everybody looking at it, or still among the sleepers */
    full_barrier();
    store_relaxed(&e->steal.placing, (load_relaxed(&e->steal.placing) & PLACING_LENT) |
                                         (mode == STEAL_VISIT ? PLACING_HOME : 0) |
                                         (policy == STEAL_SHARE ? PLACING_COMMON : 0));
    store_relaxed(&e->steal.policy, policy);
    full_barrier();
    for (uint32_t id = 0; id < engine_workers(e); id++)
        if (sleeper_claim(e, id))
            wake(e->workers[id]);
}

/* ---- one victim ---- */

/* A walk over the victim's stealable ready bits, once round from a random word on. */
struct walk {
    uint32_t n_words, first, i;
    uint64_t bits, summary;
};

static void steal_walk_begin(struct walk *walk, struct worker *thief, uint64_t summary)
{
    walk->summary = summary;
    walk->n_words = (thief->engine->n_sources + 63) / 64;
    walk->first = (uint32_t)(steal_random_next(thief) % walk->n_words);
    walk->i = 0;
    walk->bits = 0;
}

static int64_t steal_walk_next(struct walk *walk, const struct engine *e, uint32_t victim)
{
    while (walk->bits == 0) {
        if (walk->i == walk->n_words)
            return -1;
        uint32_t at = (walk->first + walk->i++) % walk->n_words;
        if (mask_summary_has(walk->summary, at))
            walk->bits = mask_stealable(e, victim, at);
    }
    uint32_t word = (walk->first + walk->i - 1) % walk->n_words;
    uint32_t bit = (uint32_t)__builtin_ctzll(walk->bits);
    walk->bits &= walk->bits - 1;
    return word * 64 + bit;
}

/* At most half of what the victim has ready, and at least one. */
static uint32_t steal_limit(const struct engine *e, uint32_t victim)
{
    uint32_t limit = load_relaxed(&e->steal.sources), ready = 0;
    if (likely(limit <= 1))
        return 1;
    for (uint32_t word = 0; word * 64 < e->n_sources; word++)
        ready += (uint32_t)__builtin_popcountll(mask_stealable(e, victim, word));
    return ready / 2 < limit ? (ready < 2 ? 1 : ready / 2) : limit;
}

/* steal.T3 */
static bool steal_move_source(struct worker *thief, uint32_t v, uint32_t source)
{
    struct engine *e = thief->engine;
    if (!mask_source_is_idle_at(e, source, v) || !owner_move(&e->sources[source], v, thief->id))
        return false;
    mask_set(thief, source);
    if (ready_clear(e->workers[v]->called.ready, source)) {
        full_barrier_after_exchange();
        if (own_worker(load_acquire(e->sources[source].own)) == v)
            source_pass_on(e, thief, source);
    }
    return true;
}

/* A ready source of the victim's that nobody runs, and what comes along with it; -1: none. */
static int64_t steal_ready_from(struct worker *thief, uint32_t v, bool *seen, bool *lost)
{
    struct engine *e = thief->engine;
    struct walk walk;
    int64_t taken = -1, source;
    uint64_t summary = load_relaxed(&e->workers[v]->called.summary);
    if (summary == 0)
        return -1;
    steal_walk_begin(&walk, thief, summary);
    while (taken < 0 && (source = steal_walk_next(&walk, e, v)) >= 0) {
        *seen = true;
        if (!mask_source_is_idle_at(e, (uint32_t)source, v))
            continue;
        store_relaxed(&thief->shown.busy, 1); /* [BUSY_ORDER] */
        if (owner_take(&e->sources[source], v, thief->id))
            taken = source;
        else
            *lost = true;
    }
    if (taken < 0)
        return -1;
    uint32_t limit = steal_limit(e, v), moved = 0;
    (void)ready_clear(e->workers[v]->called.ready, (uint32_t)taken); /* steal.T1 */
    while (moved + 1 < limit && (source = steal_walk_next(&walk, e, v)) >= 0)
        moved += steal_move_source(thief, v, (uint32_t)source);
    stat_add(thief, STAT_sources_moved, moved);
    return taken;
}

/* Any of the victim's mailboxes that has work and that nobody runs.  A victim that shows nothing is
 * no attempt. */
static int64_t steal_from(struct worker *thief, uint32_t v)
{
    bool lost = false, seen = false;
    int64_t taken = steal_ready_from(thief, v, &seen, &lost);
    if (taken < 0)
        taken = polled_steal_from(thief, v);
    if (!seen && taken < 0)
        return -1;
    near_count_attempt(thief, v);
    if (taken >= 0) {
        near_count_steal(thief, v);
        PROBE(steal, thief->id, v, taken);
        return taken;
    }
    stat_add(thief, lost ? STAT_steal_failures_lost_race : STAT_steal_failures_no_candidates, 1);
    store_relaxed(&thief->shown.busy, 0);
    return -1;
}

/* steal.T5.  A port of somebody busy. */
static int64_t steal_port(struct worker *thief)
{
    const struct engine *e = thief->engine;
    bool again = e->config.spin_ns > 0 && thief->loop.sleeps == 0;
    uint32_t victim;
    int64_t taken = port_steal(thief, again ? STEAL_PORTS : ODEON_PORTS_MAX, &victim);
    if (taken >= 0) {
        near_count_attempt(thief, victim);
        near_count_steal(thief, victim);
        PROBE(steal, thief->id, victim, taken);
    }
    return taken;
}

/* The one to visit first, if somebody has said so, then the others in the order of the policy; then
 * ports. */
int64_t steal_try(struct worker *thief)
{
    struct engine *e = thief->engine;
    const struct steal_policy *policy =
        steal_policy_get((enum steal_policy_id)load_relaxed(&e->steal.policy));
    if (!policy || policy == &steal_none || engine_workers(e) < 2)
        return -1;
    stat_add(thief, STAT_searches, 1);
    uint32_t hint = load_relaxed(&thief->called.hint);
    int64_t source = -1;
    if (hint) {
        store_relaxed(&thief->called.hint, 0);
        if (hint - 1 != thief->id && hint <= engine_workers(e))
            source = steal_from(thief, hint - 1);
    }
    struct steal_round round;
    if (source < 0)
        policy->begin(thief, &round);
    for (int v; source < 0 && (v = policy->next(thief, &round)) >= 0;)
        if ((uint32_t)v + 1 != hint)
            source = steal_from(thief, (uint32_t)v);
    if (source < 0)
        source = steal_port(thief);
    store_relaxed(&thief->called.last_attempt, clock_now_ns());
    return source;
}
