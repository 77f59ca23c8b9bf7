/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/run/park.h"

#include "daemon/common/clock.h"
#include "daemon/engine/base/points.h"
#include "daemon/engine/base/probe.h"
#include "daemon/engine/core/masks.h"
#include "daemon/engine/core/near.h"
#include "daemon/engine/ports/port.h"
#include "daemon/engine/ports/port_poll.h"
#include "daemon/engine/signal/doorbells.h"
#include "daemon/engine/signal/help.h"
#include "daemon/engine/signal/wake.h"

/* Whoever claimed our sleepers bit may have counted us as a searcher, with a hint whom to visit. */
static void park_take_token(struct worker *w)
{
    if (!atomic_exchange_explicit(&w->called.given, 0, memory_order_acquire))
        return;
    if (w->search.searcher)
        help_search_end(w); /* counted already */
    w->search.searcher = w->search.told = true;
}

enum look { LOOK_STAY_AWAKE, LOOK_SLEEP };

/* The last look, behind the sleepers bit. LOOK_SLEEP also when somebody has claimed the bit: his
 * wake-up ends the sleep at once. */
static enum look park_last_look(struct worker *w)
{
    struct engine *e = w->engine;
    /* [PARK_OWN, CMN_PARK], [PARK_PAUSE]; a searcher stays one [PARK_DEBT] */
    if (VALUE(park_look, !mask_is_empty(w)) || engine_wants_halt(e))
        return sleeper_claim(e, w->id) ? LOOK_STAY_AWAKE : LOOK_SLEEP;
    if (w->search.searcher) { /* [SEARCH_PARK] behind the flag, before the look at the others */
        help_search_end(w);
        w->search.told = false;
    }
    full_barrier();
    /* [CMN_BUSY] its appender relied on the search that has just ended */
    if (!mask_common_is_empty(e))
        return sleeper_claim(e, w->id) ? LOOK_STAY_AWAKE : LOOK_SLEEP;
    uint32_t victim, none = 0;
    if (load_relaxed(&e->steal.policy) == STEAL_NONE || worker_rests(w) ||
        !mask_find_stealable(w, &victim)) /* [PARK_BUSY] */
        return LOOK_SLEEP;
    if (!atomic_compare_exchange_strong_explicit(near_searching(e, w), &none, 1,
                                                 memory_order_seq_cst, memory_order_relaxed))
        return LOOK_SLEEP; /* that searcher looks again when it ends, and finds our bit */
    w->search.searcher = true;
    store_relaxed(&w->called.hint, victim + 1);
    return sleeper_claim(e, w->id) ? LOOK_STAY_AWAKE : LOOK_SLEEP;
}

/* Until a token comes, or there is something to do or the limit is reached, and the bit could be
 * claimed back. Never leaves with a token under way: its sender has perhaps counted us as a
 * searcher. */
static enum park_end park_sleep_until_woken(struct worker *w, uint64_t limit_ns)
{
    struct engine *e = w->engine;
    uint64_t until = limit_ns ? clock_now_ns() + limit_ns : WITHOUT_LIMIT;
    while (!load_relaxed(&e->stopping)) {
        if (load_relaxed(&e->steal.policy) != STEAL_NONE && help_anybody_busy(w))
            help_rescue_arm(e); /* help.K4: a busy worker may get stuck while all others sleep */
        uint64_t now = until == WITHOUT_LIMIT ? 0 : clock_now_ns();
        bool over = now >= until;
        if (over && sleeper_claim(e, w->id))
            return PARK_TIMED_OUT; /* park.K5 */
        unsigned got =
            doorbells_take(w, over || until == WITHOUT_LIMIT ? WITHOUT_LIMIT : until - now);
        if (got & GOT_TOKEN)
            return PARK_WOKEN;
        if (got && (w->loop.stalled || !mask_is_empty(w)) && sleeper_claim(e, w->id))
            return PARK_WOKEN;
    }
    return PARK_WOKEN;
}

enum park_end park_sleep(struct worker *w, uint64_t limit_ns)
{
    struct engine *e = w->engine;
    enum park_end end = PARK_WOKEN;
    if (port_make_cold(w)) /* something was published meanwhile */
        return end;
    store_relaxed(&w->stats->value[STAT_state], WORKER_PARKED);
    uint64_t bit = UINT64_C(1) << (w->id % 64);
    atomic_fetch_or_explicit(&e->sleepers[w->id / 64], bit, memory_order_seq_cst);
    full_barrier_after_exchange(); /* [FLAG_LOOK] */
    if (park_last_look(w) == LOOK_SLEEP) {
        stat_add(w, STAT_parks, 1);
        PROBE(park, w->id);
        end = park_sleep_until_woken(w, limit_ns);
        PROBE(unpark, w->id, end);
        if (end == PARK_WOKEN) {
            park_take_token(w);
            stat_add(w, STAT_wakeups_received, 1);
            if (mask_is_empty(w) && !w->search.searcher && !w->loop.stalled)
                stat_add(w, STAT_wakeups_spurious, 1);
        }
    }
    store_relaxed(&w->stats->value[STAT_state], WORKER_SEARCHING);
    w->loop.fruitless = 0;
    w->loop.polled_ns = 0;
    return end;
}
