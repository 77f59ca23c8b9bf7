/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/run/barrier.h"

#include <errno.h>
#include <time.h>

#include "daemon/common/clock.h"
#include "daemon/engine/base/futex.h"
#include "daemon/engine/base/points.h"
#include "daemon/engine/signal/wake.h"

enum { NUDGE_NS = 1000 * 1000 };

/* From `epoch` to the next number; `also`: a number to wait behind, too. */
static void barrier_stand_until(struct worker *w, uint32_t epoch, uint32_t also)
{
    struct engine *e = w->engine;
    engine_check("turn.U2", !load_relaxed(&w->durable->turn));
    w->stand.begin_ns = clock_now_ns();
    /* read (acquire) by barrier_close: all that this worker did is done */
    store_release(&w->stand.paused_at, epoch);
    futex_wake(&w->stand.paused_at, FUTEX_EVERYBODY);
    for (uint32_t now; (now = load_acquire(&e->pause)) == epoch || now == also;) /* barrier.G2 */
        futex_wait(&e->pause, now, NULL);
    w->stand.end_ns = clock_now_ns();
    store_release(&w->stand.paused_at, epoch + 1); /* read (acquire) by barrier_open */
    futex_wake(&w->stand.paused_at, FUTEX_EVERYBODY);
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

/* False: the time is over. A worker that runs a batch is made to look behind its present message,
 * again and again: what it stores itself meanwhile may hide the first time. */
static bool barrier_wait_for(struct worker *w, uint32_t epoch, uint64_t until)
{
    for (uint32_t at; (at = load_acquire(&w->stand.paused_at)) != epoch;) {
        uint64_t now = clock_now_ns();
        if (now >= until)
            return false;
        store_relaxed(&w->outbox.wanted, 0);
        uint64_t left = until - now < NUDGE_NS ? until - now : NUDGE_NS;
        struct timespec timeout = { .tv_sec = (time_t)(left / 1000000000),
                                    .tv_nsec = (long)(left % 1000000000) };
        control_waits(w->engine);
        futex_wait(&w->stand.paused_at, at, &timeout);
    }
    return true;
}

static void barrier_let_go(struct engine *e)
{
    store_release(&e->pause, (load_relaxed(&e->pause) | 1) + 1); /* barrier.G2 */
    futex_wake(&e->pause, FUTEX_EVERYBODY);
}

/* Who holds up the others: the one that did at the try before, if it is not here again; else
 * anybody may only be late. */
static uint32_t barrier_who_is_missing(struct engine *e, uint32_t n, uint32_t epoch, uint32_t late,
                                       uint32_t last_time)
{
    return last_time < n && load_acquire(&e->workers[last_time]->stand.paused_at) != epoch
               ? last_time
               : late;
}

int barrier_close(struct engine *e, uint32_t n, uint64_t timeout_ns, uint32_t *stuck)
{
    uint64_t now = clock_now_ns(),
             until = timeout_ns < UINT64_MAX - now ? now + timeout_ns : UINT64_MAX;
    uint32_t epoch = barrier_next(e);
    engine_check("barrier.G1", (load_relaxed(&e->pause) & 1) == 0);
    atomic_store_explicit(&e->pause, epoch, memory_order_seq_cst);
    full_barrier(); /* barrier.G3 */
    for (uint32_t id = 0; id < n; id++)
        wake_sleeper(e, id);
    for (uint32_t id = 0; id < n; id++)
        if (!barrier_wait_for(e->workers[id], epoch, until)) {
            *stuck = barrier_who_is_missing(e, n, epoch, id, *stuck);
            barrier_let_go(e);
            return -EBUSY;
        }
    return 0;
}

uint64_t barrier_open(struct engine *e, uint32_t n, uint32_t old)
{
    uint32_t epoch = load_relaxed(&e->pause);
    uint64_t begin = UINT64_MAX, end = 0;
    barrier_let_go(e);
    for (uint32_t id = 0; id < n; id++) {
        struct worker *w = e->workers[id];
        (void)barrier_wait_for(w, epoch + 1, UINT64_MAX);
        if (id < old && w->stand.begin_ns < begin)
            begin = w->stand.begin_ns;
        if (w->stand.end_ns > end)
            end = w->stand.end_ns;
    }
    return end > begin ? end - begin : 0;
}

void barrier_skip(struct engine *e)
{
    barrier_let_go(e);
}
