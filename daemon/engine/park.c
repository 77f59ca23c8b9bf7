/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/park.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "daemon/engine/near.h"
#include "daemon/engine/port.h"
#include "daemon/engine/queue.h"
#include "daemon/engine/seed.h"
#include "daemon/engine/steal.h"

/* how long a polled port may wait for an owner that is stuck */
enum { STALL_LOOK_NS = 10 * 1000 * 1000 };
enum { EVENT_WAKE, EVENT_DOORBELL, EVENT_STALL };

static uint64_t event_data(unsigned kind, uint32_t index)
{
    return (uint64_t)kind << 32 | index;
}

int park_init(struct engine *e)
{
    e->stall_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    e->watch_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    return e->stall_fd < 0 || e->watch_fd < 0 ? -errno : 0;
}

void park_fini(struct engine *e)
{
    if (e->stall_fd >= 0)
        close(e->stall_fd);
    if (e->watch_fd >= 0)
        close(e->watch_fd);
    e->stall_fd = e->watch_fd = -1;
}

static int watch(int epoll_fd, int fd, uint32_t events, uint64_t data)
{
    struct epoll_event event = { .events = events, .data.u64 = data };
    return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

int park_worker_init(struct worker *w)
{
    w->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (w->epoll_fd < 0)
        return -errno;
    w->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (w->wake_fd < 0)
        return -errno;
    int r = watch(w->epoll_fd, w->wake_fd, EPOLLIN | EPOLLET, event_data(EVENT_WAKE, 0));
    if (r == 0)
        r = watch(w->epoll_fd, w->engine->stall_fd, EPOLLIN | EPOLLET | EPOLLEXCLUSIVE,
                  event_data(EVENT_STALL, 0));
    return r;
}

void park_worker_fini(struct worker *w)
{
    if (w->wake_fd >= 0)
        close(w->wake_fd);
    if (w->epoll_fd >= 0)
        close(w->epoll_fd);
    w->wake_fd = w->epoll_fd = -1;
}

int park_watch_doorbell_by(struct worker *w, uint32_t port, int fd)
{
    int r = watch(w->epoll_fd, fd, EPOLLIN | EPOLLET | EPOLLEXCLUSIVE,
                  event_data(EVENT_DOORBELL, port));
    return r == -EEXIST ? 0 : r;
}

void park_unwatch_doorbell_by(struct worker *w, int fd)
{
    (void)epoll_ctl(w->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

int park_watch_doorbell(struct engine *e, uint32_t port, int fd)
{
    for (uint32_t i = 0; i < engine_workers(e); i++) {
        int r = park_watch_doorbell_by(e->workers[i], port, fd);
        if (r < 0)
            return r;
    }
    return 0;
}

void park_unwatch_doorbell(struct engine *e, int fd)
{
    for (uint32_t i = 0; i < engine_workers(e); i++)
        park_unwatch_doorbell_by(e->workers[i], fd);
}

bool park_worker_sleeps(struct engine *e, uint32_t worker)
{
    /* pairs with setting the bit: it has let go of everything */
    return (load_acquire(&e->sleepers[worker / 64]) >> (worker % 64)) & 1;
}

void park_wake_sleeper(struct engine *e, uint32_t worker)
{
    if (sleeper_claim(e, worker))
        wake(e->workers[worker]);
}

void park_forget(struct engine *e)
{
    for (uint32_t node = 0; node < ODEON_WORKERS_MAX; node++)
        store_relaxed(&e->searching[node].n, 0);
    for (uint32_t id = 0; id < e->segment.workers_max; id++) {
        struct worker *w = e->workers[id];
        w->searcher = w->told = false;
        w->fruitless = w->sleeps = 0;
        store_relaxed(&w->hint, 0);
        store_relaxed(&w->given, 0);
    }
}

static void stall_arm(struct engine *e)
{
    if (load_relaxed(&e->stall_armed) ||
        atomic_exchange_explicit(&e->stall_armed, 1, memory_order_relaxed))
        return;
    struct itimerspec when = { .it_value.tv_nsec = STALL_LOOK_NS };
    (void)timerfd_settime(e->stall_fd, 0, &when, NULL);
}

void park_watch_arm(struct engine *e)
{
    if (atomic_exchange_explicit(&e->watch_armed, 1, memory_order_seq_cst)) /* WA1 */
        return;
    uint64_t period_ns = load_relaxed(&e->watch_period_ns);
    struct itimerspec when = { .it_value = { .tv_sec = (time_t)(period_ns / 1000000000),
                                             .tv_nsec = (long)(period_ns % 1000000000) } };
    (void)timerfd_settime(e->watch_fd, 0, &when, NULL);
}

static bool has_hot_ports(const struct worker *w)
{
    for (unsigned i = 0; i < ODEON_PORTS_MAX / 64; i++)
        if (w->hot[i])
            return true;
    return false;
}

static void search_end(struct worker *w)
{
    w->searcher = false;
    atomic_fetch_sub_explicit(near_searching(w->engine, w), 1, memory_order_seq_cst);
}

void park_begin_run(struct worker *w, uint32_t source)
{
    struct engine *e = w->engine;
    bool searched = w->searcher;
    /* [BUSY_ORDER]: behind the compare-and-swap that took the source */
    full_barrier_after_exchange();
    if (searched) { /* [SEARCH_ORDER] before the look */
        search_end(w);
        full_barrier_after_exchange();
        stat_add(w, STAT_wakeups_useful, w->told);
        w->told = false;
    }
    if (unlikely(!load_relaxed(&e->watch_armed)))
        park_watch_arm(e); /* WA1: behind busy and its barrier */
    if (likely(!sleeper_any(e)) || load_relaxed(&e->stealing) == STEAL_NONE)
        return;
    if (has_hot_ports(w))
        stall_arm(e); /* K4 */
    uint32_t victim = w->id;
    /* [SEARCH_END]: the wake chain; [RUN_LOOK] */
    if (!(searched && steal_look(w, &victim)) && !mask_has_for_others(w, source))
        return;
    wake_one(e, w, victim);
}

void park_mid_look(struct worker *w, uint32_t except)
{
    struct engine *e = w->engine;
    full_barrier_after_exchange(); /* behind the ready bits that the flush has set */
    if (unlikely(sleeper_any(e)) && mask_has_for_others(w, except))
        wake_one(e, w, w->id); /* [MID_LOOK] */
}

void park_end_run(struct worker *w)
{
    store_release(&w->busy, 0);
}

enum { GOT_EVENT = 1, GOT_TOKEN = 2 };
#define WITHOUT_LIMIT UINT64_MAX

/* What has happened: GOT_EVENT, GOT_TOKEN (somebody claimed our sleepers bit, and this is his
 * wake-up), 0. */
static unsigned take_event(struct worker *w, const struct epoll_event *event)
{
    struct engine *e = w->engine;
    uint32_t index = (uint32_t)event->data.u64;
    switch (event->data.u64 >> 32) {
    case EVENT_DOORBELL:
        if (load_acquire(&e->ports[index].state) == PORT_OPEN)
            source_signal(e, w, engine_source_of_port(e, index));
        return GOT_EVENT;
    case EVENT_STALL:
        store_relaxed(&e->stall_armed, 0);
        w->stalled = true; /* looked after when awake: a sleeper touches no client memory */
        return GOT_EVENT;
    default:
        return GOT_EVENT | GOT_TOKEN;
    }
}

/* All of them: a doorbell's edge comes to one worker, and what is left here would wait for this
 * one, who may hang in the next handler. */
static unsigned take_events(struct worker *w, uint64_t limit_ns)
{
    enum { AT_ONCE = 16 };
    struct epoll_event events[AT_ONCE];
    unsigned got = 0;
    int n;
    do {
        struct timespec limit = { .tv_sec = (time_t)(limit_ns / 1000000000),
                                  .tv_nsec = (long)(limit_ns % 1000000000) };
        /* The ordinary calls are the old ones: valgrind, for one, does not know the newer one. */
        n = limit_ns == WITHOUT_LIMIT || limit_ns == 0
                ? epoll_wait(w->epoll_fd, events, AT_ONCE, limit_ns ? -1 : 0)
                : epoll_pwait2(w->epoll_fd, events, AT_ONCE, &limit, NULL);
        if (n < 0 && errno == EBADF)
            abort(); /* somebody has closed what is not his: a start makes it anew */
        for (int i = 0; i < n; i++)
            got |= take_event(w, &events[i]);
        limit_ns = 0;
    } while (n == AT_ONCE);
    return got;
}

void park_poll_doorbells(struct worker *w)
{
    (void)take_events(w, 0);
}

/* Whoever claimed our sleepers bit may have counted us as a searcher, with a hint whom to visit. */
static void take_token(struct worker *w)
{
    if (!atomic_exchange_explicit(&w->given, 0, memory_order_acquire))
        return;
    if (w->searcher)
        search_end(w); /* counted already */
    w->searcher = w->told = true;
}

enum look { LOOK_STAY_AWAKE, LOOK_SLEEP };

/* The last look, behind the sleepers bit. LOOK_SLEEP also when somebody has claimed the bit: his
 * wake-up ends the sleep at once. */
static enum look last_look(struct worker *w)
{
    struct engine *e = w->engine;
    /* [PARK_OWN, CMN_PARK], [PARK_PAUSE]; a searcher stays one [PARK_DEBT] */
    if ((!SEEDED(park_look) && !mask_is_empty(w)) || engine_wants_halt(e))
        return sleeper_claim(e, w->id) ? LOOK_STAY_AWAKE : LOOK_SLEEP;
    if (w->searcher) { /* [SEARCH_PARK] behind the flag, before the look at the others */
        search_end(w);
        w->told = false;
    }
    full_barrier();
    /* [CMN_BUSY] its appender relied on the search that has just ended */
    if (!mask_common_is_empty(e))
        return sleeper_claim(e, w->id) ? LOOK_STAY_AWAKE : LOOK_SLEEP;
    uint32_t victim, none = 0;
    if (load_relaxed(&e->stealing) == STEAL_NONE || !steal_look(w, &victim)) /* [PARK_BUSY] */
        return LOOK_SLEEP;
    if (!atomic_compare_exchange_strong_explicit(near_searching(e, w), &none, 1,
                                                 memory_order_seq_cst, memory_order_relaxed))
        return LOOK_SLEEP; /* that searcher looks again when it ends, and finds our bit */
    w->searcher = true;
    store_relaxed(&w->hint, victim + 1);
    return sleeper_claim(e, w->id) ? LOOK_STAY_AWAKE : LOOK_SLEEP;
}

/* Until a token comes, or there is something to do or the limit is reached, and the bit could be
 * claimed back. Never leaves with a token under way: its sender has perhaps counted us as a
 * searcher. */
static enum park_end sleep_until_woken(struct worker *w, uint64_t limit_ns)
{
    struct engine *e = w->engine;
    uint64_t until = limit_ns ? engine_now_ns() + limit_ns : WITHOUT_LIMIT;
    while (!load_relaxed(&e->stopping)) {
        if (load_relaxed(&e->stealing) != STEAL_NONE && steal_anybody_busy(w))
            stall_arm(e); /* K4: a busy worker may get stuck while all others sleep */
        uint64_t now = until == WITHOUT_LIMIT ? 0 : engine_now_ns();
        bool over = now >= until;
        if (over && sleeper_claim(e, w->id))
            return PARK_TIMED_OUT; /* K5 */
        unsigned got = take_events(w, over || until == WITHOUT_LIMIT ? WITHOUT_LIMIT : until - now);
        if (got & GOT_TOKEN)
            return PARK_WOKEN;
        if (got && (w->stalled || !mask_is_empty(w)) && sleeper_claim(e, w->id))
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
    if (last_look(w) == LOOK_SLEEP) {
        stat_add(w, STAT_parks, 1);
        end = sleep_until_woken(w, limit_ns);
        if (end == PARK_WOKEN) {
            take_token(w);
            stat_add(w, STAT_wakeups_received, 1);
            if (mask_is_empty(w) && !w->searcher && !w->stalled)
                stat_add(w, STAT_wakeups_spurious, 1);
        }
    }
    store_relaxed(&w->stats->value[STAT_state], WORKER_SEARCHING);
    w->fruitless = 0;
    w->polled_ns = 0;
    return end;
}
