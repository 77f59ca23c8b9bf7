/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/run/suspect.h"

#include <time.h>

#include "daemon/common/clock.h"

static bool suspect_try(struct worker *w, bool by_force)
{
    struct suspects *s = &w->engine->suspects;
    pthread_mutex_lock(&s->mutex);
    uint64_t now = clock_now_ns();
    bool mine = !s->on_trial || !load_acquire(&s->on_trial->durable->suspicion.trial) || by_force ||
                now - s->since_ns >= SUSPECT_TRIAL_NS;
    if (mine) {
        if (s->on_trial)
            store_relaxed(&s->on_trial->durable->suspicion.trial, TRIAL_NONE);
        crash_order(); /* suspect.S4: never two */
        s->on_trial = w;
        s->since_ns = now;
        store_relaxed(&w->durable->suspicion.trial, TRIAL_INIT);
        crash_order();
    }
    pthread_mutex_unlock(&s->mutex);
    return mine;
}

/* A handler that is ended for not returning must not be one that has not begun. */
static uint64_t suspect_patience_ns(const struct engine *e)
{
    uint64_t kill_ns = e->config.stall_kill_ns;
    return kill_ns > 0 && kill_ns / 2 < SUSPECT_PATIENCE_NS ? kill_ns / 2 : SUSPECT_PATIENCE_NS;
}

void suspect_begin(struct worker *w, const struct envelope *envelope)
{
    const struct timespec pause = { .tv_nsec = 1000 * 1000 };
    if (w->engine->config.suspect_deaths == 0 || suspect_deaths(envelope) < SUSPECT_ALONE)
        return;
    uint64_t began = clock_now_ns();
    while (!suspect_try(w, worker_wants_halt(w) ||
                               clock_now_ns() - began >= suspect_patience_ns(w->engine)))
        nanosleep(&pause, NULL);
}

/* Another suspect may have taken the trial meanwhile. */
void suspect_run(struct worker *w)
{
    uint32_t expected = TRIAL_INIT;
    atomic_compare_exchange_strong_explicit(&w->durable->suspicion.trial, &expected, TRIAL_RUN,
                                            memory_order_relaxed, memory_order_relaxed);
    crash_order();
}

void suspect_end(struct worker *w)
{
    crash_order();
    store_release(&w->durable->suspicion.trial, TRIAL_NONE); /* read (acquire) by who waits */
    crash_order();
}
