/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/run/polled.h"

#include "daemon/engine/base/points.h"
#include "daemon/engine/core/masks.h"

/* What its sender is to take over, or everybody may take, stays idle. */
static bool polled_is_for_others(const struct engine *e, int64_t source)
{
    return (load_relaxed(&e->sources[source].flags) & SOURCE_FOLLOW) ||
           (load_relaxed(&e->steal.placing) & PLACING_COMMON);
}

/* Where thieves look: the owner word tells whether it is so. Whoever appends reads this line, so it
 * is left alone while a worker polls the same mailbox again and again. */
static void polled_show(struct worker *w, uint32_t source_1)
{
    if (load_relaxed(&w->called.polled) != source_1)
        store_relaxed(&w->called.polled, source_1);
}

void polled_begin(struct worker *w)
{
    struct engine *e = w->engine;
    engine_check("polled.PO1", w->loop.polled == POLLED_NONE);
    if (w->loop.ran < 0 || polled_is_for_others(e, w->loop.ran) ||
        !owner_poll(&e->sources[w->loop.ran], w->id)) {
        polled_show(w, 0);
        return;
    }
    w->loop.polled = w->loop.ran;
    struct segment_queue *queue = &e->segment.queues[w->loop.ran];
    w->loop.ran_next =
        segment_window(&e->segment, (uint32_t)w->loop.ran, queue_active(load_relaxed(&queue->sel)));
    polled_show(w, (uint32_t)w->loop.polled + 1);
}

/* It is nobody's to look at, or another's. */
static void polled_forget(struct worker *w)
{
    w->loop.polled = POLLED_NONE;
    polled_show(w, 0);
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
        mask_set(w, source);
}

void polled_hide(struct worker *w)
{
    engine_check("polled.PO1", w->loop.polled == POLLED_NONE);
    polled_show(w, 0);
}

int64_t polled_take(struct worker *w)
{
    if (likely(!polled_has_work(w)))
        return -1;
    uint32_t source = (uint32_t)w->loop.polled;
    prefetch_read(w->loop.ran_next);
    store_relaxed(&w->shown.busy, 1); /* [BUSY_ORDER] */
    w->loop.polled = POLLED_NONE;     /* and it will most likely be polled again */
    /* as its mark says that it is, so by one compare-and-swap */
    if (likely(owner_take_polled(&w->engine->sources[source], w->id)))
        return source;
    polled_show(w, 0);
    store_relaxed(&w->shown.busy, 0);
    return -1;
}

int64_t polled_steal_from(struct worker *thief, uint32_t victim)
{
    struct engine *e = thief->engine;
    uint32_t source = load_relaxed(&e->workers[victim]->called.polled);
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
