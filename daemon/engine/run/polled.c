/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/run/polled.h"

#include "daemon/engine/base/points.h"

/* What its sender is to take over, or everybody may take, stays idle. */
static bool polled_is_for_others(const struct engine *e, int64_t source)
{
    return (load_relaxed(&e->sources[source].flags) & SOURCE_FOLLOW) ||
           (load_relaxed(&e->steal.placing) & PLACING_COMMON);
}

void polled_begin(struct worker *w)
{
    struct engine *e = w->engine;
    engine_check("polled.PO1", w->loop.polled == POLLED_NONE);
    if (w->loop.ran < 0 || polled_is_for_others(e, w->loop.ran) ||
        !owner_poll(&e->sources[w->loop.ran], w->id))
        return;
    w->loop.polled = w->loop.ran;
    store_relaxed(&w->shown.polled, (uint32_t)w->loop.polled + 1);
}

/* It is nobody's to look at, or another's. */
static void polled_forget(struct worker *w)
{
    w->loop.polled = POLLED_NONE;
    store_relaxed(&w->shown.polled, 0);
}

void polled_end(struct worker *w)
{
    struct engine *e = w->engine;
    if (likely(w->loop.polled < 0))
        return;
    uint32_t source = (uint32_t)w->loop.polled;
    polled_forget(w);
    if (!owner_poll_end(&e->sources[source], w->id))
        return; /* polled.PO3 */
    full_barrier_after_exchange();
    if (urgent_mailbox_has_work(e, source))
        ready_set(w->called.ready, source);
}

int64_t polled_take(struct worker *w)
{
    if (likely(!polled_has_work(w)))
        return -1;
    uint32_t source = (uint32_t)w->loop.polled;
    prefetch_read(w->loop.ran_next);
    store_relaxed(&w->shown.busy, 1); /* [BUSY_ORDER] */
    polled_forget(w);
    if (likely(owner_take(&w->engine->sources[source], w->id, w->id)))
        return source;
    store_relaxed(&w->shown.busy, 0);
    return -1;
}

int64_t polled_steal_from(struct worker *thief, uint32_t victim)
{
    struct engine *e = thief->engine;
    uint32_t source = load_relaxed(&e->workers[victim]->shown.polled);
    if (source-- == 0 || load_relaxed(e->sources[source].own) != own_polled(victim) ||
        load_relaxed(&e->sources[source].flags) & SOURCE_FIXED ||
        !urgent_mailbox_has_work(e, source))
        return -1;
    store_relaxed(&thief->shown.busy, 1); /* [BUSY_ORDER] */
    if (owner_take(&e->sources[source], victim, thief->id))
        return source;
    store_relaxed(&thief->shown.busy, 0);
    return -1;
}
