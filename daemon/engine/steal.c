/* SPDX-License-Identifier: Apache-2.0 */
/* Victim policies: none; random; longest-victim (thesis, "Victim Selection": the worker whose own last attempt to steal is the
 * longest ago is the busiest), with the next candidate on failure, so that a stalled worker is never a dead end. */
#include "daemon/engine/steal.h"

#include <errno.h>
#include <string.h>

#include "daemon/engine/park.h"
#include "daemon/engine/port.h"

static const char *const policy_names[STEAL_N] = {
    [STEAL_NONE] = "none",
    [STEAL_RANDOM] = "random",
    [STEAL_ROUND_ROBIN] = "round-robin",
    [STEAL_LONGEST_VICTIM] = "longest-victim",
    [STEAL_FULLEST] = "fullest",
    [STEAL_LOCALITY] = "locality",
    [STEAL_SHARE] = "share",
};

int steal_policy_parse(const char *name, enum steal_policy_id *ret_id)
{
    for (unsigned i = 0; i < STEAL_N; i++)
        if (strcmp(name, policy_names[i]) == 0) {
            *ret_id = (enum steal_policy_id)i;
            return 0;
        }
    return -EINVAL;
}

const char *steal_policy_name(enum steal_policy_id id)
{
    return (unsigned)id < STEAL_N ? policy_names[id] : "unknown";
}

static uint64_t next_random(struct worker *w)
{
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return w->random;
}

static bool source_is_idle_at(struct engine *e, uint32_t source, uint32_t victim)
{
    return load_relaxed(&e->sources[source].own) == own_idle(victim) && !(e->sources[source].flags & SOURCE_FIXED);
}

bool steal_anybody_busy(struct worker *w)
{
    for (uint32_t i = 0; i < w->engine->n_workers; i++)
        if (i != w->id && load_relaxed(&w->engine->workers[i]->busy))
            return true;
    return false;
}

bool steal_look(struct worker *w, uint32_t *ret_victim)
{
    struct engine *e = w->engine;
    for (uint32_t i = 1; i < e->n_workers; i++) {
        uint32_t v = (w->id + i) % e->n_workers;
        struct worker *victim = e->workers[v];
        if (!load_relaxed(&victim->busy))
            continue; /* awake or woken: it looks itself before it runs or parks */
        for (uint32_t word = 0; word * 64 < e->n_sources; word++) {
            uint64_t bits = load_relaxed(&victim->ready[word]);
            for (; bits; bits &= bits - 1)
                if (source_is_idle_at(e, word * 64 + (uint32_t)__builtin_ctzll(bits), v)) {
                    *ret_victim = v;
                    return true;
                }
        }
    }
    return false;
}

/* One victim: any of its ready sources that nobody runs, from a random one on. */
static int64_t steal_from(struct worker *thief, uint32_t v)
{
    struct engine *e = thief->engine;
    struct worker *victim = e->workers[v];
    uint32_t n_words = (e->n_sources + 63) / 64, first = (uint32_t)(next_random(thief) % n_words);
    stat_add(thief, STAT_steal_attempts, 1);
    bool lost = false;
    for (uint32_t i = 0; i < n_words; i++) {
        uint32_t word = (first + i) % n_words;
        for (uint64_t bits = load_relaxed(&victim->ready[word]); bits; bits &= bits - 1) {
            uint32_t source = word * 64 + (uint32_t)__builtin_ctzll(bits);
            if (!source_is_idle_at(e, source, v))
                continue;
            if (owner_take(&e->sources[source], v, thief->id)) {
                (void)ready_clear(victim->ready, source); /* T1: it is ours and will be gulped now */
                stat_add(thief, STAT_steals, 1);
                return source;
            }
            lost = true;
        }
    }
    int64_t port = port_steal_from(thief, v);
    if (port >= 0) {
        stat_add(thief, STAT_steals, 1);
        return port;
    }
    stat_add(thief, lost ? STAT_steal_failures_lost_race : STAT_steal_failures_no_candidates, 1);
    return -1;
}

static int64_t steal_random(struct worker *thief)
{
    uint32_t n = thief->engine->n_workers;
    uint32_t v = (thief->id + 1 + (uint32_t)(next_random(thief) % (n - 1))) % n;
    return steal_from(thief, v);
}

static int64_t steal_longest_victim(struct worker *thief)
{
    struct engine *e = thief->engine;
    uint64_t tried[ODEON_WORKERS_MAX / 64] = { 0 };
    tried[thief->id / 64] |= UINT64_C(1) << (thief->id % 64);
    for (uint32_t round = 1; round < e->n_workers; round++) {
        uint64_t oldest = UINT64_MAX;
        uint32_t v = thief->id;
        for (uint32_t i = 0; i < e->n_workers; i++) {
            uint64_t stamp = load_relaxed(&e->workers[i]->last_attempt);
            if (!(tried[i / 64] >> (i % 64) & 1) && stamp < oldest) {
                oldest = stamp;
                v = i;
            }
        }
        if (v == thief->id)
            break;
        tried[v / 64] |= UINT64_C(1) << (v % 64);
        int64_t source = steal_from(thief, v);
        if (source >= 0)
            return source;
    }
    return -1;
}

int64_t steal_try(struct worker *thief)
{
    struct engine *e = thief->engine;
    if (e->n_workers < 2)
        return -1;
    uint32_t hint = load_relaxed(&thief->hint);
    int64_t source = -1;
    switch (load_relaxed(&e->stealing)) {
    case STEAL_NONE:
        return -1;
    case STEAL_RANDOM:
        source = hint ? steal_from(thief, hint - 1) : -1;
        if (source < 0)
            source = steal_random(thief);
        break;
    default:
        source = hint ? steal_from(thief, hint - 1) : -1;
        if (source < 0)
            source = steal_longest_victim(thief);
        break;
    }
    if (hint)
        store_relaxed(&thief->hint, 0);
    store_relaxed(&thief->last_attempt, engine_now_ns());
    return source;
}
