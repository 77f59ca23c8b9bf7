/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/signal/wake.h"

#include <unistd.h>

#include "daemon/engine/base/points.h"
#include "daemon/engine/base/probe.h"
#include "daemon/engine/core/masks.h"
#include "daemon/engine/core/near.h"
#include "daemon/engine/signal/own_thread.h"

bool sleeper_any(struct engine *e)
{
    for (uint32_t i = 0; i * 64 < engine_workers(e); i++)
        if (load_relaxed(&e->sleepers[i]))
            return true;
    return false;
}

bool sleeper_claim(struct engine *e, uint32_t worker)
{
    uint64_t bit = UINT64_C(1) << (worker % 64);
    if (!(load_relaxed(&e->sleepers[worker / 64]) & bit))
        return false;
    return (atomic_fetch_and_explicit(&e->sleepers[worker / 64], ~bit, memory_order_seq_cst) &
            bit) != 0;
}

void wake(struct worker *w)
{
    uint64_t one = 1;
    PROBE(wake, w->id);
    /* EAGAIN: the counter is full, so it is readable */
    ssize_t r = write(w->doorbells.wake_fd, &one, sizeof(one));
    (void)r;
}

bool sleeper_sleeps(struct engine *e, uint32_t worker)
{
    /* pairs with setting the bit: it has let go of everything */
    return (load_acquire(&e->sleepers[worker / 64]) >> (worker % 64)) & 1;
}

void wake_sleeper(struct engine *e, uint32_t worker)
{
    if (sleeper_claim(e, worker))
        wake(e->workers[worker]);
}

void wake_forget(struct engine *e)
{
    for (uint32_t node = 0; node < ODEON_WORKERS_MAX; node++)
        store_relaxed(&e->steal.searching[node].n, 0);
    for (uint32_t id = 0; id < e->segment.workers_max; id++) {
        struct worker *w = e->workers[id];
        w->search.searcher = w->search.told = false;
        w->loop.fruitless = w->loop.sleeps = 0;
        store_relaxed(&w->called.hint, 0);
        store_relaxed(&w->called.given, 0);
    }
}

/* Reads the searchers of the sleeper's node first, then claims, then counts on its behalf: the
 * other order loses a wake-up [CLAIM_FIRST]. A node that is left out has a searcher, and that one
 * looks again when it ends. */
void wake_one(struct engine *e, struct worker *me, uint32_t victim)
{
    if (load_relaxed(&e->steal.policy) == STEAL_NONE || victim >= engine_workers(e))
        return;
    const struct worker *from = e->workers[victim];
    for (uint32_t i = 0, n = near_n(from); i < n; i++) {
        struct worker *sleeper = e->workers[near_id(from, i)];
        _Atomic uint32_t *searching = near_searching(e, sleeper);
        if (worker_rests(sleeper) || atomic_load_explicit(searching, memory_order_seq_cst) != 0 ||
            !sleeper_claim(e, sleeper->id))
            continue;
        atomic_fetch_add_explicit(searching, 1, memory_order_seq_cst);
        store_relaxed(&sleeper->called.hint, victim + 1);
        store_release(&sleeper->called.given, 1); /* read (acquire) when it wakes */
        stat_add(me, STAT_wakeups_sent, 1);
        wake(sleeper);
        return;
    }
}

static bool wake_is_fixed(const struct engine *e, uint32_t source)
{
    return (load_relaxed(&e->sources[source].flags) & SOURCE_FIXED) != 0;
}

/* Somebody sleeps: the owner, or one who may help. Apart from the rest, which needs no frame. */
static __attribute__((noinline)) void wake_owner_or_helper(struct engine *e, struct worker *me,
                                                           uint32_t source, uint32_t owner_id)
{
    struct worker *owner = e->workers[owner_id];
    if (sleeper_claim(e, owner_id)) {
        stat_add(me, STAT_wakeups_sent, 1);
        wake(owner);
    } else if (load_relaxed(&owner->shown.busy) &&
               load_relaxed(e->sources[source].own) == own_idle(owner_id) &&
               !wake_is_fixed(e, source)) {
        /* [APP_BUSY]: a source that is being run is looked at by its runner */
        wake_one(e, me, owner_id);
    }
}

/* Into the owner's mask or the common one, then wake.K2's barrier, then its owner or a helper.
 * `first`: nothing has waited in the source, so that its bit is hardly set. */
static inline void wake_set_and_wake(struct engine *e, struct worker *me, bool common,
                                     uint32_t source, uint32_t owner_id, bool first)
{
    struct worker *owner = e->workers[owner_id];
    bool locked = unlikely(common) ? ready_set_as(e->steal.common, source, first)
                                   : mask_set_as(owner, source, first); /* [BIT_FIRST] */
    if (owner == me)
        return; /* its next begin_run or park looks */
    if (locked) /* [BIT_WAKE] */
        full_barrier_after_exchange();
    else
        full_barrier();
    /* Nobody could be woken: neither the owner nor a helper. What the owner is doing is not asked:
     * it writes its word twice a run. */
    if (unlikely(sleeper_any(e)))
        wake_owner_or_helper(e, me, source, owner_id);
}

/* Idle at another worker who does not know of any work in it: ours [FOLLOW_BIT]. Who appended
 * meanwhile and read the old owner published before our compare-and-swap, and our bit comes behind
 * it. */
static bool wake_follow(struct engine *e, struct worker *me, uint32_t source, uint64_t own)
{
    uint32_t from = own_worker(own);
    if (own_is_running(own) || from == me->id || me->id >= engine_workers(e) ||
        ready_is_set(e->workers[from]->called.ready, source) ||
        !owner_move(&e->sources[source], from, me->id))
        return false;
    bool follows = load_relaxed(&e->sources[source].flags) & SOURCE_FOLLOW;
    if (!follows)
        store_relaxed(&e->sources[source].lent, (uint16_t)(from + 1)); /* pack.PK2 */
    mask_set(me, source);
    stat_add(me, follows ? STAT_follow_moves : STAT_sources_lent, 1);
    return true;
}

/* A running source's bit goes to its runner even under share: others could only pass it on. */
static bool wake_is_common(const struct engine *e, uint64_t own, unsigned flags)
{
    return unlikely(load_relaxed(&e->steal.placing) & PLACING_COMMON) && !own_is_running(own) &&
           !(flags & (SOURCE_FIXED | SOURCE_FOLLOW));
}

/* Is whoever has it to lend it to its senders? */
static bool wake_lends(const struct engine *e, const struct worker *me, uint32_t source,
                       uint64_t own, unsigned flags)
{
    uint32_t active = load_relaxed(&e->steal.active);
    return own_worker(own) >= active && me->id < active && !(flags & SOURCE_FIXED) &&
           source < e->segment.n_mailboxes;
}

void source_signal_append(struct engine *e, struct worker *me, uint32_t source, bool first)
{
    /* [PUB_OWN]: the caller's unlock was the barrier behind its publish */
    uint64_t own = load_acquire(e->sources[source].own);
    if (own_is_polled(own))
        return; /* polled.PO2 */
    /* a port on its way out; a worker that has gone: its successor was told (reconfigure.h) */
    if (unlikely(own_worker(own) >= engine_workers(e))) {
        if (own_worker(own) >= e->segment.workers_max && own_worker(own) < e->control->id)
            own_thread_signal(e, me, own_worker(own), source);
        return;
    }
    unsigned flags = load_relaxed(&e->sources[source].flags);
    if (unlikely(flags & SOURCE_FOLLOW) || wake_lends(e, me, source, own, flags)) {
        if (wake_follow(e, me, source, own))
            return;
        own = load_acquire(e->sources[source].own);
    }
    wake_set_and_wake(e, me, wake_is_common(e, own, flags), source, own_worker(own), first);
}

void source_signal(struct engine *e, struct worker *me, uint32_t source)
{
    source_signal_append(e, me, source, false);
}

void source_hand_back(struct engine *e, struct worker *me, uint32_t source)
{
    uint64_t own = load_acquire(e->sources[source].own);
    if (own_worker(own) < engine_workers(e))
        wake_set_and_wake(e, me, wake_is_common(e, own, load_relaxed(&e->sources[source].flags)),
                          source, own_worker(own), false);
}

void source_pass_on(struct engine *e, struct worker *me, uint32_t source)
{
    uint64_t own = load_acquire(e->sources[source].own);
    /* "mine, running" while nothing is run: a port that has ended, whose bit would come back to me
     * for ever */
    if (own_worker(own) < engine_workers(e) && own != own_running(me->id))
        wake_set_and_wake(e, me, false, source, own_worker(own), false);
}

bool source_release(struct worker *w, uint32_t source, uint32_t to, bool left)
{
    struct engine *e = w->engine;
    struct source *s = &e->sources[source];
    engine_check("owner.O2", load_relaxed(s->own) == own_running(w->id));
    if (unlikely(to != w->id)) {
        bool lent = load_relaxed(&s->lent);
        store_relaxed(&s->lent, 0); /* while it is ours: pack.PK2 */
        owner_release(s, to);
        STEP(visit_fence, full_barrier()); /* [VISIT_ORDER], [AWAY_LOOK] */
        if (to < engine_workers(e) && worker_is_away(e, to) && owner_move(s, to, w->id)) {
            mask_set(w, source); /* [MOVE_BIT] */
            return false;
        }
        stat_add(w, STAT_visits, !lent);
        return true;
    }
    bool common = unlikely(load_relaxed(&e->steal.placing) & PLACING_COMMON) &&
                  !(load_relaxed(&s->flags) & (SOURCE_FIXED | SOURCE_FOLLOW));
    if (left && !common)
        STEP(park_bit, mask_set(w, source)); /* [PARK_BIT], [REL_LOOK] */
    owner_release(s, w->id);
    if (left && common)
        ready_set(e->steal.common, source); /* behind the release: who sees it there can take it */
    return false;
}

void source_place(struct engine *e, uint32_t source, uint32_t owner, unsigned flags)
{
    uint64_t bit = UINT64_C(1) << (source % 64), own = load_relaxed(e->sources[source].own);
    engine_check("owner.O1", !own_is_running(own) || own_worker(own) == OWN_NOBODY);
    store_relaxed(&e->sources[source].home, (uint16_t)owner);
    store_relaxed(&e->sources[source].flags, (uint8_t)flags);
    if (flags & SOURCE_FIXED)
        atomic_fetch_or_explicit(&e->steal.fixed[source / 64], bit, memory_order_relaxed);
    else
        atomic_fetch_and_explicit(&e->steal.fixed[source / 64], ~bit, memory_order_relaxed);
    /* a port's pointers before it can be run; that of a queue mostly says so already */
    if (own != own_idle(owner))
        store_release(e->sources[source].own, own_idle(owner));
}
