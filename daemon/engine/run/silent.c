/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/run/silent.h"

#include "daemon/engine/core/masks.h"
#include "daemon/engine/core/rota.h"
#include "daemon/engine/ports/port_steal.h"
#include "daemon/engine/run/pace.h"
#include "daemon/engine/run/steal.h"
#include "daemon/engine/signal/wake.h"

enum { SILENT_ASKS = 8 }; /* neighbours, for one who goes on and is not told of another */

static bool silent_may_help(const struct engine *e)
{
    uint32_t policy = load_relaxed(&e->steal.policy);
    return engine_workers(e) > 1 && policy != STEAL_NONE && policy != STEAL_SHARE;
}

static bool silent_is(const struct worker *w)
{
    return load_relaxed(&w->shown.busy) && pace_silent_ns(w) >= STALL_LOOK_NS;
}

/* Whoever goes on himself comes before one who is silent, too, and may come back first. */
static void silent_tell(struct engine *e, uint32_t silent)
{
    uint32_t workers = engine_workers(e);
    struct worker *goes_on = NULL, *silent_too = NULL;
    for (uint32_t i = 1; i <= SILENT_ASKS && i < workers; i++) {
        struct worker *w = e->workers[(silent + i) % workers];
        uint32_t told = load_relaxed(&w->called.silent);
        if ((told != 0 && told != silent + 1) || !load_relaxed(&w->shown.busy) || worker_rests(w))
            continue;
        bool also = silent_is(w);
        if (told && !also)
            return; /* it has one */
        if (!told && also && !silent_too)
            silent_too = w;
        if (!told && !also && !goes_on)
            goes_on = w;
    }
    if (goes_on || silent_too)
        store_relaxed(&(goes_on ? goes_on : silent_too)->called.silent, silent + 1);
}

/* Begins with another one each time: helpers may be fewer than those who are silent. */
void silent_look(struct engine *e)
{
    if (!silent_may_help(e))
        return;
    uint32_t workers = engine_workers(e), first;
    e->watch.silent_first = e->watch.silent_first * 1664525 + 1013904223;
    first = (e->watch.silent_first >> 16) % workers;
    for (uint32_t i = 0; i < workers; i++)
        if (silent_is(e->workers[(first + i) % workers]))
            silent_tell(e, (first + i) % workers);
}

/* A fresh source of the victim's that has its ready bit, from the helper's place on, round; -1:
 * none. */
static int64_t silent_take_ready(struct worker *w, const struct worker *victim)
{
    struct engine *e = w->engine;
    uint64_t summary = load_relaxed(&victim->called.summary);
    uint32_t n_words = (e->n_sources + 63) / 64, from = w->loop.silent_next;
    for (uint32_t i = 0; i <= n_words; i++) {
        uint32_t word = (from / 64 + i) % n_words;
        if (!mask_summary_has(summary, word))
            continue;
        uint64_t bits =
            mask_stealable(e, victim->id, word) & ~load_relaxed(&victim->rota.left[word]);
        bits &= i == 0 ? ~UINT64_C(0) << (from % 64) : ~UINT64_C(0);
        for (; bits; bits &= bits - 1) {
            uint32_t source = word * 64 + (uint32_t)__builtin_ctzll(bits);
            if (!mask_source_is_idle_at(e, source, victim->id))
                continue;
            store_relaxed(&w->shown.busy, 1); /* [BUSY_ORDER] */
            if (owner_take(&e->sources[source], victim->id, w->id)) {
                (void)ready_clear(victim->called.ready, source); /* steal.T1 */
                w->loop.silent_next = (source + 1) % (n_words * 64);
                return source;
            }
            store_relaxed(&w->shown.busy, 0);
        }
    }
    return -1;
}

int64_t silent_take_told(struct worker *w)
{
    struct engine *e = w->engine;
    uint32_t v = load_relaxed(&w->called.silent) - 1;
    if (w->loop.helped) { /* silent.SI2 */
        w->loop.helped = false;
        return -1;
    }
    int64_t source = -1;
    if (silent_may_help(e) && !worker_rests(w) && v != w->id && v < engine_workers(e) &&
        silent_is(e->workers[v])) {
        source = silent_take_ready(w, e->workers[v]);
        if (source < 0)
            source = port_steal_fresh(w, v);
    }
    if (source < 0) {
        store_relaxed(&w->called.silent, 0); /* silent.SI1 */
        return -1;
    }
    w->loop.helped = true;
    rota_ran_for_another(w);
    steal_succeeded(w, v, source);
    stat_add(w, STAT_steals_silent, 1);
    return source;
}
