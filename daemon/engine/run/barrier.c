/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/run/barrier.h"

#include "daemon/common/clock.h"
#include "daemon/engine/base/futex.h"
#include "daemon/engine/base/points.h"
#include "daemon/engine/core/events.h"
#include "daemon/engine/signal/wake.h"

/* From `epoch` to the next number; `also`: a number to wait behind, too. */
static void barrier_stand_until(struct worker *w, uint32_t epoch, uint32_t also)
{
    struct engine *e = w->engine;
    engine_check("turn.U2", !load_relaxed(&w->durable->turn));
    w->stand.begin_ns = clock_now_ns();
    /* read (acquire) by barrier_have_come: all that this worker did is done */
    store_release(&w->stand.paused_at, epoch);
    events_ring(e);
    for (uint32_t now; (now = load_acquire(&e->pause)) == epoch || now == also;) /* barrier.G2 */
        futex_wait(&e->pause, now, NULL);
    w->stand.end_ns = clock_now_ns();
    store_release(&w->stand.paused_at, epoch + 1); /* read (acquire) by barrier_have_gone */
    events_ring(e);
}

void barrier_stand(struct worker *w)
{
    uint32_t epoch = load_acquire(&w->engine->pause);
    if (epoch & 1)
        barrier_stand_until(w, epoch, epoch);
}

void barrier_enlist(struct worker *w)
{
    if (w->stand.start_epoch)
        barrier_stand_until(w, w->stand.start_epoch, w->stand.start_epoch - 1);
}

uint32_t barrier_next(struct engine *e)
{
    return (load_relaxed(&e->pause) + 1) | 1;
}

void barrier_ask(struct engine *e, uint32_t n)
{
    engine_check("barrier.G1", (load_relaxed(&e->pause) & 1) == 0);
    atomic_store_explicit(&e->pause, barrier_next(e), memory_order_seq_cst);
    full_barrier(); /* barrier.G3 */
    for (uint32_t id = 0; id < n; id++)
        wake_sleeper(e, id);
}

static bool barrier_is_at(const struct engine *e, uint32_t id, uint32_t epoch)
{
    return load_acquire(&e->workers[id]->stand.paused_at) == epoch;
}

bool barrier_have_come(struct engine *e, uint32_t n, uint32_t *come)
{
    uint32_t epoch = load_relaxed(&e->pause);
    while (*come < n && barrier_is_at(e, *come, epoch))
        ++*come;
    /* again and again: what a worker stores itself meanwhile may hide the first time */
    for (uint32_t id = *come; id < n; id++)
        if (!barrier_is_at(e, id, epoch))
            store_relaxed(&e->workers[id]->outbox.wanted, 0);
    return *come == n;
}

/* Anybody may only be late; who is late twice holds up the others. */
uint32_t barrier_missing(struct engine *e, uint32_t n, uint32_t come, uint32_t last_time)
{
    return last_time < n && !barrier_is_at(e, last_time, load_relaxed(&e->pause)) ? last_time
                                                                                  : come;
}

void barrier_let_go(struct engine *e)
{
    store_release(&e->pause, (load_relaxed(&e->pause) | 1) + 1); /* barrier.G2 */
    futex_wake(&e->pause, FUTEX_EVERYBODY);
}

bool barrier_have_gone(struct engine *e, uint32_t n, uint32_t *gone)
{
    while (*gone < n && barrier_is_at(e, *gone, load_relaxed(&e->pause)))
        ++*gone;
    return *gone == n;
}

uint64_t barrier_pause_ns(const struct engine *e, uint32_t n, uint32_t old)
{
    uint64_t begin = UINT64_MAX, end = 0;
    for (uint32_t id = 0; id < n; id++) {
        const struct stand *stand = &e->workers[id]->stand;
        if (id < old && stand->begin_ns < begin)
            begin = stand->begin_ns;
        if (stand->end_ns > end)
            end = stand->end_ns;
    }
    return end > begin ? end - begin : 0;
}
