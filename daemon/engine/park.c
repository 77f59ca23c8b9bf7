/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/park.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "daemon/engine/detached.h"
#include "daemon/engine/port.h"
#include "daemon/engine/queue.h"
#include "daemon/engine/steal.h"

enum { STALL_LOOK_NS = 10 * 1000 * 1000 }; /* how long a polled port may wait for an owner that is stuck */
enum { EVENT_WAKE, EVENT_DOORBELL, EVENT_STALL };

static uint64_t event_data(unsigned kind, uint32_t index)
{
    return (uint64_t)kind << 32 | index;
}

int park_init(struct engine *e)
{
    e->stall_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    return e->stall_fd < 0 ? -errno : 0;
}

void park_fini(struct engine *e)
{
    if (e->stall_fd >= 0)
        close(e->stall_fd);
    e->stall_fd = -1;
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
        r = watch(w->epoll_fd, w->engine->stall_fd, EPOLLIN | EPOLLET | EPOLLEXCLUSIVE, event_data(EVENT_STALL, 0));
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
    int r = watch(w->epoll_fd, fd, EPOLLIN | EPOLLET | EPOLLEXCLUSIVE, event_data(EVENT_DOORBELL, port));
    return r == -EEXIST ? 0 : r;
}

void park_unwatch_doorbell_by(struct worker *w, int fd)
{
    (void)epoll_ctl(w->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

int park_watch_doorbell(struct engine *e, uint32_t port, int fd)
{
    for (uint32_t i = 0; i < e->n_workers; i++) {
        int r = park_watch_doorbell_by(e->workers[i], port, fd);
        if (r < 0)
            return r;
    }
    return 0;
}

void park_unwatch_doorbell(struct engine *e, int fd)
{
    for (uint32_t i = 0; i < e->n_workers; i++)
        park_unwatch_doorbell_by(e->workers[i], fd);
}

bool park_worker_sleeps(struct engine *e, uint32_t worker)
{
    return (load_acquire(&e->sleepers[worker / 64]) >> (worker % 64)) & 1; /* pairs with setting the bit: it has let go of everything */
}

bool park_anybody_sleeps(struct engine *e)
{
    for (uint32_t i = 0; i * 64 < e->n_workers; i++)
        if (load_relaxed(&e->sleepers[i]))
            return true;
    return false;
}

/* K1 */
static bool sleeper_claim(struct engine *e, uint32_t worker)
{
    uint64_t bit = UINT64_C(1) << (worker % 64);
    if (!(load_relaxed(&e->sleepers[worker / 64]) & bit))
        return false;
    return (atomic_fetch_and_explicit(&e->sleepers[worker / 64], ~bit, memory_order_seq_cst) & bit) != 0;
}

void park_wake(struct worker *w)
{
    uint64_t one = 1;
    ssize_t r = write(w->wake_fd, &one, sizeof(one)); /* EAGAIN: the counter is full, so it is readable */
    (void)r;
}

/* Reads `searching` first, then claims, then counts on the sleeper's behalf: the other order loses a wake-up [CLAIM_FIRST]. */
static void wake_one(struct engine *e, struct worker *me, uint32_t victim)
{
    if (load_relaxed(&e->stealing) == STEAL_NONE || atomic_load_explicit(&e->searching, memory_order_seq_cst) != 0)
        return;
    for (uint32_t i = 1; i <= e->n_workers; i++) {
        uint32_t candidate = (victim + i) % e->n_workers; /* neighbours in number are neighbours in the topology */
        if (!sleeper_claim(e, candidate))
            continue;
        struct worker *sleeper = e->workers[candidate];
        atomic_fetch_add_explicit(&e->searching, 1, memory_order_seq_cst);
        store_relaxed(&sleeper->hint, victim + 1);
        store_release(&sleeper->given, 1); /* read (acquire) when it wakes */
        stat_add(me, STAT_wakeups_sent, 1);
        park_wake(sleeper);
        return;
    }
}

void park_wake_sleeper(struct engine *e, uint32_t worker)
{
    if (sleeper_claim(e, worker))
        park_wake(e->workers[worker]);
}

void park_forget(struct engine *e)
{
    store_relaxed(&e->searching, 0);
    for (uint32_t id = 0; id < e->segment.workers_max; id++) {
        struct worker *w = e->workers[id];
        w->searcher = false;
        w->fruitless = 0;
        store_relaxed(&w->hint, 0);
        store_relaxed(&w->given, 0);
    }
}

void source_signal(struct engine *e, struct worker *me, uint32_t source)
{
    /* [PUB_OWN]: the caller's unlock was the barrier behind its publish */
    uint32_t owner_id = own_worker(load_acquire(&e->sources[source].own));
    if (unlikely(owner_id >= engine_workers(e))) { /* a port on its way out; a worker that has gone: its successor was told (reconfigure.h) */
        if (owner_id >= e->segment.workers_max && owner_id < e->control->id)
            detached_signal(e, me, owner_id, source);
        return;
    }
    struct worker *owner = e->workers[owner_id];
    ready_set(owner->ready, source); /* [BIT_FIRST] */
    if (owner == me)
        return; /* its next begin_run or park looks */
    full_barrier(); /* [BIT_WAKE] */
    if (sleeper_claim(e, owner_id)) {
        stat_add(me, STAT_wakeups_sent, 1);
        park_wake(owner);
    } else if (load_relaxed(&owner->busy) && load_relaxed(&e->sources[source].own) == own_idle(owner_id)) {
        wake_one(e, me, owner_id); /* [APP_BUSY]: a source that is being run is looked at by its runner */
    }
}

/* Any ready bit but that of `except`? */
static bool mask_has_other(struct worker *w, uint32_t except)
{
    for (uint32_t i = 0; i * 64 < w->engine->n_sources; i++) {
        uint64_t bits = load_relaxed(&w->ready[i]);
        if (except / 64 == i)
            bits &= ~(UINT64_C(1) << (except % 64));
        if (bits)
            return true;
    }
    return false;
}

bool park_mask_is_empty(struct worker *w)
{
    return !mask_has_other(w, NO_QUEUE);
}

static void stall_arm(struct engine *e)
{
    if (load_relaxed(&e->stall_armed) || atomic_exchange_explicit(&e->stall_armed, 1, memory_order_relaxed))
        return;
    struct itimerspec when = { .it_value.tv_nsec = STALL_LOOK_NS };
    (void)timerfd_settime(e->stall_fd, 0, &when, NULL);
}

static bool has_hot_ports(const struct worker *w)
{
    for (unsigned i = 0; i < ODEON_PORTS_MAX / 64; i++)
        if (w->hot[i])
            return true;
    return false;
}

void park_begin_run(struct worker *w, uint32_t source)
{
    struct engine *e = w->engine;
    bool searched = w->searcher;
    full_barrier_after_exchange(); /* [BUSY_ORDER]: behind the compare-and-swap that took the source */
    if (searched) {                /* [SEARCH_ORDER] before the look */
        w->searcher = false;
        atomic_fetch_sub_explicit(&e->searching, 1, memory_order_seq_cst);
        full_barrier_after_exchange();
    }
    if (likely(!park_anybody_sleeps(e)) || load_relaxed(&e->stealing) == STEAL_NONE)
        return;
    if (has_hot_ports(w))
        stall_arm(e); /* K4 */
    uint32_t victim = w->id;
    if (!(searched && steal_look(w, &victim)) && !mask_has_other(w, source)) /* [SEARCH_END]: the wake chain; [RUN_LOOK] */
        return;
    wake_one(e, w, victim);
}

void park_mid_look(struct worker *w)
{
    struct engine *e = w->engine;
    full_barrier_after_exchange(); /* behind the ready bits that the flush has set */
    if (unlikely(park_anybody_sleeps(e)) && mask_has_other(w, w->queue))
        wake_one(e, w, w->id); /* [MID_LOOK] */
}

void park_end_run(struct worker *w)
{
    store_release(&w->busy, 0);
}

enum { GOT_EVENT = 1, GOT_TOKEN = 2 };

/* What has happened: GOT_EVENT, GOT_TOKEN (somebody claimed our sleepers bit, and this is his wake-up), 0. */
static unsigned take_events(struct worker *w, int timeout_ms)
{
    struct engine *e = w->engine;
    struct epoll_event events[16];
    int n = epoll_wait(w->epoll_fd, events, 16, timeout_ms);
    unsigned got = n > 0 ? GOT_EVENT : 0;
    for (int i = 0; i < n; i++) {
        uint32_t index = (uint32_t)events[i].data.u64;
        switch (events[i].data.u64 >> 32) {
        case EVENT_DOORBELL:
            if (load_acquire(&e->ports[index].state) == PORT_OPEN)
                source_signal(e, w, engine_source_of_port(e, index));
            break;
        case EVENT_STALL:
            store_relaxed(&e->stall_armed, 0);
            w->stalled = true; /* looked after when awake: a sleeper touches no client memory */
            break;
        default:
            got |= GOT_TOKEN;
            break;
        }
    }
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
        atomic_fetch_sub_explicit(&w->engine->searching, 1, memory_order_seq_cst); /* counted already */
    w->searcher = true;
}

enum look { LOOK_STAY_AWAKE, LOOK_SLEEP };

/* The last look, behind the sleepers bit.  LOOK_SLEEP also when somebody has claimed the bit: his wake-up ends the sleep at once. */
static enum look last_look(struct worker *w)
{
    struct engine *e = w->engine;
    if (!park_mask_is_empty(w) || engine_wants_halt(e)) /* [PARK_OWN], [PARK_PAUSE]; a searcher stays one [PARK_DEBT] */
        return sleeper_claim(e, w->id) ? LOOK_STAY_AWAKE : LOOK_SLEEP;
    if (w->searcher) { /* [SEARCH_PARK] behind the flag, before the look at the others */
        w->searcher = false;
        atomic_fetch_sub_explicit(&e->searching, 1, memory_order_seq_cst);
    }
    full_barrier();
    uint32_t victim, none = 0;
    if (load_relaxed(&e->stealing) == STEAL_NONE || !steal_look(w, &victim)) /* [PARK_BUSY] */
        return LOOK_SLEEP;
    if (!atomic_compare_exchange_strong_explicit(&e->searching, &none, 1, memory_order_seq_cst, memory_order_relaxed))
        return LOOK_SLEEP; /* that searcher looks again when it ends, and finds our bit */
    w->searcher = true;
    store_relaxed(&w->hint, victim + 1);
    return sleeper_claim(e, w->id) ? LOOK_STAY_AWAKE : LOOK_SLEEP;
}

/* Until a token comes, or there is something to do and the bit could be claimed back.  Never leaves with a token under way: its
 * sender has perhaps counted us as a searcher. */
static void sleep_until_woken(struct worker *w)
{
    struct engine *e = w->engine;
    while (!load_relaxed(&e->stopping)) {
        if (load_relaxed(&e->stealing) != STEAL_NONE && steal_anybody_busy(w))
            stall_arm(e); /* K4: a busy worker may get stuck while all others sleep */
        unsigned got = take_events(w, -1);
        if (got & GOT_TOKEN)
            return;
        if (got && (w->stalled || !park_mask_is_empty(w)) && sleeper_claim(e, w->id))
            return;
    }
}

void park_sleep(struct worker *w)
{
    struct engine *e = w->engine;
    if (port_make_cold(w)) /* something was published meanwhile */
        return;
    store_relaxed(&w->stats->value[STAT_state], WORKER_PARKED);
    uint64_t bit = UINT64_C(1) << (w->id % 64);
    atomic_fetch_or_explicit(&e->sleepers[w->id / 64], bit, memory_order_seq_cst);
    full_barrier_after_exchange(); /* [FLAG_LOOK] */
    if (last_look(w) == LOOK_SLEEP) {
        stat_add(w, STAT_parks, 1);
        sleep_until_woken(w);
        take_token(w);
        stat_add(w, STAT_wakeups_received, 1);
        if (park_mask_is_empty(w) && !w->searcher && !w->stalled)
            stat_add(w, STAT_wakeups_spurious, 1);
    }
    store_relaxed(&w->stats->value[STAT_state], WORKER_SEARCHING);
    w->fruitless = 0;
    w->polled_ns = 0;
}
