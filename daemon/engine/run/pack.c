/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/run/pack.h"

#include <string.h>

#include "daemon/engine/run/pace.h"
#include "daemon/engine/signal/wake.h"

enum {
    PACK_WINDOW_NS = 3 * 1000 * 1000, /* what is compared */
    PACK_STALE_NS = 50 * 1000 * 1000, /* nobody has looked meanwhile: they have been idle */
    PACK_SETTLE_NS = 1 * 1000 * 1000, /* until the queues have moved */
    PACK_CROSSING_NS = 1500,          /* more than a message that crosses costs anywhere */
    PACK_QUICK_NS = 2000,             /* a message of a worker that does not rest */
    PACK_PAUSE_NS = 25 * 1000 * 1000, /* behind the first trial in vain, then twice as long */
    PACK_PAUSE_MOST = 128,            /* ... up to so many times that */
    PACK_SOON_NS = 50 * 1000 * 1000,  /* what they do has changed: the pause is over then */
};
/* Fewer workers stay if they are so many times as fast; more, if they are not slower by more than
 * this; and what they do has changed if the rate has by so much. */
static const double PACK_GAIN = 1.125, PACK_STAYS = 1.06, PACK_CHANGED = 2;

static double pack_rate(const struct pack_work *work)
{
    return work->ns ? (double)work->messages * 1000 / (double)work->ns : 0;
}

/* If each crossing took as long as it may, crossings would be half of the workers' time. */
static bool pack_is_worth(const struct pack_work *work, uint32_t workers)
{
    uint64_t crossing = work->crossing < work->messages ? work->crossing : work->messages;
    return crossing * PACK_CROSSING_NS * 2 >= work->ns * workers;
}

static bool pack_is_quick(const struct pack_work *work, uint32_t workers)
{
    return work->messages * PACK_QUICK_NS >= work->ns * workers;
}

static void pack_window_begin(struct packing *packing, const struct pack_work *now)
{
    packing->seen = *now;
}

static uint64_t pack_twice(uint64_t pause_ns)
{
    return pause_ns < PACK_PAUSE_MOST * (uint64_t)PACK_PAUSE_NS ? 2 * pause_ns : pause_ns;
}

/* In vain: not soon again, and the other way. */
static void pack_wait(struct packing *packing, uint64_t now_ns)
{
    uint64_t *pause_ns = packing->fewer ? &packing->pause_fewer_ns : &packing->pause_more_ns;
    packing->next_ns = now_ns + *pause_ns;
    *pause_ns = pack_twice(*pause_ns);
    packing->fewer = !packing->fewer;
    packing->windows = 0;
}

/* Half of a row of windows were better, half were worse; of a trial of fewer workers the best one
 * counts, so that all work where the rate goes up and down by itself. */
static double pack_base(const struct packing *packing)
{
    double a = packing->recent[0], b = packing->recent[1], c = packing->recent[2];
    double most = a > b ? a : b, least = a > b ? b : a;
    if (packing->fewer)
        return most > c ? most : c;
    return c > most ? most : c < least ? least : c;
}

/* It stays so: the same way further, or back if that was wrong. Fewer have proven themselves when
 * more have been tried in vain, and were a mistake if more stay. */
static uint32_t pack_verdict(struct packing *packing, const struct pack_work *work, uint64_t now_ns,
                             uint32_t workers, uint32_t most)
{
    double rate = pack_rate(work);
    bool stays =
        packing->fewer ? rate >= PACK_GAIN * packing->rate : rate * PACK_STAYS >= packing->rate;
    packing->phase = PACK_STEADY;
    packing->rate_known = stays ? rate : packing->rate;
    if (!stays) {
        if (!packing->fewer)
            packing->pause_fewer_ns = PACK_PAUSE_NS;
        pack_wait(packing, now_ns);
        return packing->before;
    }
    packing->windows = 0;
    packing->next_ns = now_ns;
    packing->pause_more_ns = PACK_PAUSE_NS;
    if (!packing->fewer && workers == most) {
        packing->next_ns += packing->pause_fewer_ns;
        packing->pause_fewer_ns = pack_twice(packing->pause_fewer_ns);
    }
    return workers;
}

/* Fewer or more from now on, for some milliseconds; as many as now where that way leads nowhere. */
static uint32_t pack_try(struct packing *packing, const struct pack_work *work, uint32_t workers,
                         uint32_t most)
{
    if (workers == most)
        packing->fewer = true;
    else if (workers == 1)
        packing->fewer = false;
    uint32_t other = packing->fewer ? workers / 2 : 2 * workers < most ? 2 * workers : most;
    if (packing->fewer && workers == most && !pack_is_worth(work, workers))
        return workers;
    packing->before = workers;
    packing->rate = pack_base(packing);
    packing->phase = PACK_SETTLES;
    return other;
}

static uint32_t pack_steady(struct packing *packing, const struct pack_work *work, uint64_t now_ns,
                            uint32_t workers, uint32_t most)
{
    double rate = pack_rate(work);
    packing->recent[packing->windows++ % PACK_RECENT] = rate;
    if (workers < most && work->busy && !pack_is_quick(work, workers)) {
        packing->fewer = true;
        pack_wait(packing, now_ns);
        return most;
    }
    bool changed =
        rate > PACK_CHANGED * packing->rate_known || PACK_CHANGED * rate < packing->rate_known;
    if (changed && packing->next_ns > now_ns + PACK_SOON_NS) {
        packing->next_ns = now_ns + PACK_SOON_NS;
        packing->rate_known = rate;
    }
    return packing->windows >= PACK_RECENT && now_ns >= packing->next_ns
               ? pack_try(packing, work, workers, most)
               : workers;
}

uint32_t pack_decide(struct packing *packing, const struct pack_work *now, uint32_t workers,
                     uint32_t most)
{
    struct pack_work work = { now->ns - packing->seen.ns, now->messages - packing->seen.messages,
                              now->crossing - packing->seen.crossing, now->busy };
    if (work.ns > PACK_STALE_NS) {
        if (workers < most) /* that was worth it: so it may be again */
            packing->next_ns = now->ns;
        packing->phase = PACK_STEADY;
        packing->windows = 0;
        pack_window_begin(packing, now);
        return most;
    }
    if (work.ns < (packing->phase == PACK_SETTLES ? PACK_SETTLE_NS : PACK_WINDOW_NS))
        return workers;
    pack_window_begin(packing, now);
    switch (packing->phase) {
    case PACK_SETTLES:
        packing->phase = PACK_TRIAL;
        return workers;
    case PACK_TRIAL:
        return pack_verdict(packing, &work, now->ns, workers, most);
    case PACK_STEADY:
    default:
        return pack_steady(packing, &work, now->ns, workers, most);
    }
}

struct packing pack_begin(void)
{
    struct packing packing;
    memset(&packing, 0, sizeof(packing));
    packing.fewer = true;
    packing.pause_fewer_ns = packing.pause_more_ns = PACK_PAUSE_NS;
    return packing;
}

void pack_set(struct engine *e, uint32_t active)
{
    uint32_t placing = load_relaxed(&e->steal.placing);
    if (active < engine_workers(e))
        store_relaxed(&e->steal.placing, placing | PLACING_LENT);
    store_relaxed(&e->steal.active, active);
    for (uint32_t id = 0; id < engine_workers(e); id++)
        store_relaxed(&e->workers[id]->stats->value[STAT_resting], id >= active);
    full_barrier();
    /* Who looked for a last time while it rested has its sleepers bit set by then [PACK_WAKE]. */
    for (uint32_t id = 0; id < engine_workers(e); id++)
        wake_sleeper(e, id);
}

void pack_forget(struct engine *e)
{
    e->packing = pack_begin();
    store_relaxed(&e->steal.active, ODEON_WORKERS_MAX);
    for (uint32_t id = 0; id < e->segment.workers_max && e->workers[id]; id++)
        store_relaxed(&e->workers[id]->stats->value[STAT_resting], 0);
}

/* pack.PK3 */
static bool pack_is_silent(const struct engine *e, uint32_t active)
{
    for (uint32_t id = 0; id < active; id++)
        if (load_relaxed(&e->workers[id]->shown.busy) &&
            pace_silent_ns(e->workers[id]) >= STALL_LOOK_NS)
            return true;
    return false;
}

/* That says nothing against it: it may have lacked a processor. */
static void pack_interrupt(struct packing *packing, uint64_t now_ns)
{
    packing->phase = PACK_STEADY;
    packing->fewer = true;
    packing->windows = 0;
    packing->next_ns = now_ns + PACK_PAUSE_NS;
}

void pack_look(struct engine *e, uint64_t now_ns)
{
    struct pack_work now = { .ns = now_ns, .busy = true };
    uint32_t most = engine_workers(e), active = pack_active(e);
    uint32_t policy = load_relaxed(&e->steal.policy);
    if (!e->config.packing || most < 2 || policy == STEAL_NONE || policy == STEAL_SHARE)
        return;
    for (uint32_t id = 0; id < active; id++)
        now.busy = now.busy && load_relaxed(&e->workers[id]->shown.busy);
    for (uint32_t id = 0; id < most; id++) {
        const struct stats_worker *stats = e->workers[id]->stats;
        now.messages += load_relaxed(&stats->value[STAT_messages_processed]);
        now.crossing += load_relaxed(&stats->value[STAT_crossing_messages]);
    }
    enum pack_phase phase = e->packing.phase;
    uint32_t wanted = pack_decide(&e->packing, &now, active, most);
    if (active < most && pack_is_silent(e, active)) {
        pack_interrupt(&e->packing, now_ns);
        wanted = most;
    }
    stat_add(e->control, STAT_packs,
             phase == PACK_TRIAL && e->packing.phase == PACK_STEADY && wanted == active);
    if (wanted == active)
        return;
    stat_add(e->control, STAT_pack_trials, e->packing.phase == PACK_SETTLES);
    pack_set(e, wanted);
}
