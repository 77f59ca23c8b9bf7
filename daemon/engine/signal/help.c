/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/signal/help.h"

#include <sys/timerfd.h>

#include "daemon/engine/core/masks.h"
#include "daemon/engine/core/near.h"
#include "daemon/engine/signal/wake.h"

/* how long a polled port may wait for an owner that is stuck */
enum { RESCUE_LOOK_NS = 10 * 1000 * 1000 };

void help_rescue_arm(struct engine *e)
{
    if (load_relaxed(&e->watch.rescue_armed) ||
        atomic_exchange_explicit(&e->watch.rescue_armed, 1, memory_order_relaxed))
        return;
    struct itimerspec when = { .it_value.tv_nsec = RESCUE_LOOK_NS };
    (void)timerfd_settime(e->watch.rescue_fd, 0, &when, NULL);
}

void help_watch_in(struct engine *e, uint64_t ns)
{
    struct itimerspec when = { .it_value.tv_nsec = (long)ns };
    (void)timerfd_settime(e->watch.fd, 0, &when, NULL);
}

void help_watch_arm(struct engine *e)
{
    if (!atomic_exchange_explicit(&e->watch.armed, 1, memory_order_seq_cst)) /* stall.WA1 */
        help_watch_in(e, STALL_LOOK_NS);
}

void help_watch_now(struct engine *e)
{
    struct itimerspec when = { .it_value.tv_nsec = 1 };
    (void)timerfd_settime(e->watch.fd, 0, &when, NULL);
}

static bool help_has_hot_ports(const struct worker *w)
{
    for (unsigned i = 0; i < ODEON_PORTS_MAX / 64; i++)
        if (w->ports.hot[i])
            return true;
    return false;
}

void help_search_end(struct worker *w)
{
    w->search.searcher = false;
    atomic_fetch_sub_explicit(near_searching(w->engine, w), 1, memory_order_seq_cst);
}

void help_begin_run(struct worker *w, uint32_t source)
{
    struct engine *e = w->engine;
    bool searched = w->search.searcher;
    /* [BUSY_ORDER]: behind the compare-and-swap that took the source */
    full_barrier_after_exchange();
    if (searched) { /* [SEARCH_ORDER] before the look */
        help_search_end(w);
        full_barrier_after_exchange();
        stat_add(w, STAT_wakeups_useful, w->search.told);
        w->search.told = false;
    }
    if (unlikely(!load_relaxed(&e->watch.armed)))
        help_watch_arm(e); /* stall.WA1: behind busy and its barrier */
    if (likely(!sleeper_any(e)) || load_relaxed(&e->steal.policy) == STEAL_NONE)
        return;
    if (help_has_hot_ports(w))
        help_rescue_arm(e); /* help.K4 */
    uint32_t victim = w->id;
    /* [SEARCH_END]: the wake chain; [RUN_LOOK] */
    if (!(searched && mask_find_stealable(w, &victim)) && !mask_has_for_others(w, source))
        return;
    wake_one(e, w, victim);
}

void help_mid_look(struct worker *w, uint32_t except)
{
    struct engine *e = w->engine;
    full_barrier_after_exchange(); /* behind the ready bits that the flush has set */
    if (unlikely(sleeper_any(e)) && mask_has_for_others(w, except))
        wake_one(e, w, w->id); /* [MID_LOOK] */
}

void help_end_run(struct worker *w)
{
    store_release(&w->shown.busy, 0);
}

bool help_anybody_busy(const struct worker *w)
{
    for (uint32_t i = 0; i < engine_workers(w->engine); i++)
        if (i != w->id && load_relaxed(&w->engine->workers[i]->shown.busy))
            return true;
    return false;
}
