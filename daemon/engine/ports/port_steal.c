/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/ports/port_steal.h"

#include "daemon/engine/core/near.h"
#include "daemon/engine/ports/port.h"
#include "daemon/engine/signal/wake.h"

/* Idle at a worker that does not get to it, and with work. */
static bool port_steal_take(struct worker *thief, uint32_t id, uint32_t victim)
{
    struct engine *e = thief->engine;
    uint32_t source = engine_source_of_port(e, id);
    if (!port_has_work(e, id))
        return false;
    store_relaxed(&thief->shown.busy, 1); /* [BUSY_ORDER] */
    if (owner_take(&e->sources[source], victim, thief->id))
        return true;
    store_relaxed(&thief->shown.busy, 0);
    return false;
}

static bool port_steal_is_busy(const struct engine *e, uint32_t victim)
{
    return load_relaxed(&e->workers[victim]->shown.busy) && !worker_is_away(e, victim);
}

/* The first of the victim's from this number on that could be taken. */
static int64_t port_steal_from(struct worker *thief, uint32_t victim, uint32_t first)
{
    struct engine *e = thief->engine;
    if (!port_steal_is_busy(e, victim))
        return -1;
    for (uint32_t word = first / 64; word < ODEON_PORTS_MAX / 64; word++) {
        uint64_t bits = load_relaxed(&e->ports.open[word]);
        bits &= word == first / 64 ? ~UINT64_C(0) << (first % 64) : ~UINT64_C(0);
        for (; bits; bits &= bits - 1) {
            uint32_t id = word * 64 + (uint32_t)__builtin_ctzll(bits);
            if (load_relaxed(e->sources[engine_source_of_port(e, id)].own) == own_idle(victim) &&
                port_steal_take(thief, id, victim))
                return id;
        }
    }
    return -1;
}

int64_t port_steal(struct worker *thief, uint32_t most, uint32_t *ret_victim)
{
    struct engine *e = thief->engine;
    uint32_t from = thief->search.port_next % ODEON_PORTS_MAX;
    for (uint32_t i = 0; i <= ODEON_PORTS_MAX / 64; i++) {
        uint32_t word = (from / 64 + i) % (ODEON_PORTS_MAX / 64);
        uint64_t behind = ~UINT64_C(0) << (from % 64);
        uint64_t bits = load_relaxed(&e->ports.open[word]);
        bits &= i == 0 ? behind : i == ODEON_PORTS_MAX / 64 ? ~behind : ~UINT64_C(0);
        for (; bits; bits &= bits - 1) {
            if (most-- == 0)
                return -1;
            uint32_t id = word * 64 + (uint32_t)__builtin_ctzll(bits),
                     source = engine_source_of_port(e, id);
            thief->search.port_next = id + 1;
            uint64_t own = load_relaxed(e->sources[source].own);
            uint32_t victim = own_worker(own);
            if (own != own_idle(victim) || victim >= engine_workers(e) || victim == thief->id ||
                !port_steal_is_busy(e, victim) || !port_steal_take(thief, id, victim))
                continue;
            *ret_victim = victim;
            return source;
        }
    }
    return -1;
}

void port_rescue(struct worker *w)
{
    struct engine *e = w->engine;
    for (uint32_t v = 0; v < engine_workers(e); v++) {
        struct worker *victim = e->workers[v];
        uint64_t count = segment_count(victim->durable);
        bool stuck = v != w->id && load_relaxed(&victim->shown.busy) &&
                     count == load_relaxed(&victim->shown.count_seen);
        store_relaxed(&victim->shown.count_seen, count);
        if (!stuck)
            continue;
        /* each once: in mode visit it goes home to the victim, and its client may go on posting */
        for (int64_t id = -1; (id = port_steal_from(w, v, (uint32_t)(id + 1))) >= 0;) {
            near_count_attempt(w, v);
            near_count_steal(w, v);
            (void)port_run(w, (uint32_t)id, false);
            store_release(&w->shown.busy, 0);
        }
    }
}
