/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/timers/shelf.h"

#include <errno.h>

#include "daemon/common/clock.h"
#include "daemon/engine/base/points.h"
#include "daemon/engine/base/reserve.h"
#include "daemon/engine/base/ticks.h"
#include "daemon/engine/commit/commit.h"
#include "daemon/engine/signal/order_all.h"
#include "daemon/engine/timers/timer_owners.h"
#include "daemon/engine/timers/timer_stock.h"

enum {
    SHELF_PICKS = 4,        /* slots that are looked at for one that this turn has not claimed */
    SHELF_SHARE = 8,        /* one in so many timers may lie on shelves ... */
    SHELF_SLOTS_MIN = 2,    /* ... and if that is less than this for each, there are none */
    SHELF_ASKER_SHARE = 16, /* of all timers: who has so many uses no shelf */
    SHELF_CLASS = 0,        /* of a question's message */
    SHELF_SPARSE_NS = 1000000,
    SHELF_CLOCK_NS = 100000,
};

static uint64_t shelf_bytes(const struct engine *e)
{
    return (uint64_t)e->segment.workers_max * sizeof(struct shelf);
}

int shelf_open(struct engine *e)
{
    struct shelves *s = &e->timers.shelves;
    uint32_t share = e->segment.n_timers / SHELF_SHARE / e->segment.workers_max;
    s->n_slots = share < SHELF_SLOTS_MIN ? 0 : share < SHELF_SLOTS ? share : SHELF_SLOTS;
    s->sparse_ns = SHELF_SPARSE_NS;
    if (s->n_slots == 0)
        return 0;
    s->of = reserve(shelf_bytes(e));
    s->slot_of = reserve((uint64_t)e->segment.n_timers * sizeof(*s->slot_of));
    return s->of && s->slot_of ? 0 : -ENOMEM;
}

void shelf_close(struct engine *e)
{
    struct shelves *s = &e->timers.shelves;
    reserve_free(s->of, shelf_bytes(e));
    reserve_free(s->slot_of, (uint64_t)e->segment.n_timers * sizeof(*s->slot_of));
    *s = (struct shelves){ 0 };
}

/* ---- its worker */

/* shelf.SH3: is nobody's claim open, and its number free? */
static bool shelf_settle(const struct worker *w, const struct shelf_slot *slot)
{
    struct segment_timer *durable = &w->engine->segment.timers[slot->timer];
    uint64_t word = load_relaxed(&durable->word);
    if (timer_word_state(word) != TIMER_LIVE)
        return true;
    if (VALUE(shelf_claimed, durable->claim_count == commit_count(w)))
        return false;
    STEP(timer_ended, store_relaxed(&durable->word, timer_word_ended(word)));
    crash_order(); /* timers.TM5 */
    return true;
}

static void shelf_write_constants(struct engine *e, uint32_t id, uint32_t timer, uint32_t place)
{
    struct segment_timer *durable = &e->segment.timers[timer];
    durable->clock = TIMER_CLOCK_MONOTONIC;
    durable->period_ns = 0;
    durable->posted = 0;
    durable->arm_worker = id;
    durable->class = SHELF_CLASS;
    durable->place = place;
    durable->boot = load_relaxed(&e->segment.header->boots);
    durable->watched = 0;
    durable->stashed = TIMER_NOT_STASHED;
    durable->end = REASON_NONE;
    durable->group = 0;
    durable->member_place = 0;
}

/* It is on no shelf any more (shelf.SH2), and among the others with shelf_put(). */
static bool shelf_lift(struct engine *e, struct shelf_slot *slot, uint32_t *ret_timer)
{
    uint64_t state = load_acquire(&slot->state);
    if (state < SHELF_STATES ||
        !atomic_compare_exchange_strong_explicit(&slot->state, &state, SHELF_EMPTY,
                                                 memory_order_acquire, memory_order_acquire))
        return false;
    *ret_timer = slot->timer;
    store_relaxed(&e->timers.shelves.slot_of[slot->timer], 0);
    return true;
}

static void shelf_put(struct engine *e, uint32_t timer)
{
    struct segment_timer *durable = &e->segment.timers[timer];
    durable->sequence = ++e->timers.sequence;
    timers_count_in(e, timer, durable->deadline_ns);
}

/* Nobody wants a question whose asker has ended. Who ends looks at what hangs at its slot behind
 * storing its key: without a barrier of all threads before this, both may look too soon, and then
 * the question stays until its deadline. */
static void shelf_look_at_asker(struct engine *e, uint32_t timer)
{
    actor_ref asker = e->segment.timers[timer].owner;
    uint64_t key = load_relaxed(&e->actors.table[actor_ref_slot(asker)].key);
    if (actor_key_generation(key) != actor_ref_generation(asker))
        timer_owners_leave(&e->timers.owners, asker);
}

/* What is taken from one shelf. */
struct shelf_moved {
    uint32_t n, timers[SHELF_SLOTS];
};

/* In the order in which they were asked: those that are due at once are told in it. */
static void shelf_put_all(struct engine *e, struct shelf_moved *moved)
{
    const struct segment_timer *timers = e->segment.timers;
    for (uint32_t i = 1; i < moved->n; i++) {
        uint32_t at = i, timer = moved->timers[i];
        for (; at > 0 && timers[moved->timers[at - 1]].sequence > timers[timer].sequence; at--)
            moved->timers[at] = moved->timers[at - 1];
        moved->timers[at] = timer;
    }
    for (uint32_t i = 0; i < moved->n; i++)
        shelf_put(e, moved->timers[i]);
}

/* Those of a shelf that were asked at `until_ns` at the latest go; how many others are open. */
static uint32_t shelf_move(struct engine *e, struct shelf *shelf, uint64_t until_ns,
                           struct shelf_moved *ret)
{
    uint32_t n = 0;
    ret->n = 0;
    for (uint32_t i = 0; i < e->timers.shelves.n_slots; i++) {
        uint64_t state = load_relaxed(&shelf->slots[i].state);
        if (state < SHELF_STATES)
            continue;
        if (state - SHELF_STATES > until_ns)
            n++;
        else
            ret->n += shelf_lift(e, &shelf->slots[i], &ret->timers[ret->n]);
    }
    shelf_put_all(e, ret);
    return n;
}

/* Its slots that have no number get one. */
static void shelf_fill(struct engine *e, uint32_t id)
{
    struct shelves *s = &e->timers.shelves;
    struct shelf *shelf = &s->of[id];
    uint32_t timer, place;
    for (uint32_t i = 0; i < s->n_slots; i++) {
        struct shelf_slot *slot = &shelf->slots[i];
        if (load_relaxed(&slot->state) != SHELF_EMPTY)
            continue;
        if (!timers_take(e, SHELF_CLASS, &timer, &place))
            return;
        shelf_write_constants(e, id, timer, place);
        slot->timer = timer;
        store_relaxed(&s->slot_of[timer], id * SHELF_SLOTS + i + 1);
        store_relaxed(&slot->state, SHELF_OURS);
        shelf->free[shelf->n_free++] = (uint8_t)i;
    }
}

static uint32_t shelf_count_empty(const struct shelves *s, const struct shelf *shelf)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_slots; i++)
        n += load_relaxed(&shelf->slots[i].state) == SHELF_EMPTY;
    return n;
}

/* All of its numbers are in use: for questions that were moved, or, if these are few, for such as
 * are moved now. False: it gets none. */
static __attribute__((noinline)) bool shelf_refill(struct worker *w, struct shelf *shelf)
{
    struct engine *e = w->engine;
    struct shelves *s = &e->timers.shelves;
    struct shelf_moved moved = { 0 };
    lock_take(&e->timers.mutex);
    timers_settle(w, TIMER_SETTLES);
    if (timers_left_for(e, w->ctx.self) >= s->n_slots) { /* shelf.SH6 */
        if (shelf_count_empty(s, shelf) <= s->n_slots / 2)
            (void)shelf_move(e, shelf, UINT64_MAX, &moved);
        shelf_fill(e, w->id);
        if (w->id >= s->n_used)
            s->n_used = w->id + 1;
        for (uint32_t i = 0; i < moved.n; i++)
            shelf_look_at_asker(e, moved.timers[i]);
        timers_set_clock_earlier(e);
    }
    lock_give(&e->timers.mutex);
    return shelf->n_free > 0;
}

/* A number that has no generation left is nobody's any more. */
static void shelf_throw_away(struct worker *w, struct shelf_slot *slot)
{
    struct engine *e = w->engine;
    lock_take(&e->timers.mutex);
    store_relaxed(&e->timers.shelves.slot_of[slot->timer], 0);
    timer_stock_put(&e->timers.places[SHELF_CLASS], e->segment.timers[slot->timer].place);
    store_relaxed(&slot->state, SHELF_EMPTY);
    lock_give(&e->timers.mutex);
}

/* The moment of a question that is asked now. The kernel's clock takes as long as all the rest, so
 * it is read once in SHELF_CLOCK_NS, if there is a register to tell how long ago that was; each
 * question has a moment of its own then. */
static inline uint64_t shelf_now(struct shelf *shelf)
{
    uint64_t ticks = ticks_now();
    if (!ticks_rate_known())
        return shelf->now_ns = ticks;
    if (likely(ticks - shelf->ticks < shelf->ticks_good))
        return ++shelf->now_ns;
    uint64_t now_ns = clock_now_ns();
    shelf->ticks = ticks;
    shelf->ticks_good = ticks_of_ns(SHELF_CLOCK_NS);
    shelf->now_ns = now_ns > shelf->now_ns ? now_ns : shelf->now_ns + 1;
    return shelf->now_ns;
}

/* Asking once in a while costs less without: there is nothing to be looked at then. */
static inline bool shelf_is_worth_it(const struct shelves *s, struct shelf *shelf)
{
    uint64_t before_ns = shelf->now_ns;
    return shelf_now(shelf) - before_ns <= s->sparse_ns;
}

/* shelf.SH6: of this actor, what is on its worker's shelf becomes one of those that are counted. */
static __attribute__((noinline)) void shelf_move_own(struct worker *w, struct shelf *shelf)
{
    struct engine *e = w->engine;
    struct shelf_moved moved = { 0 };
    lock_take(&e->timers.mutex);
    for (uint32_t i = 0; i < e->timers.shelves.n_slots; i++)
        if (shelf->slots[i].asker == w->ctx.self)
            moved.n += shelf_lift(e, &shelf->slots[i], &moved.timers[moved.n]);
    shelf_put_all(e, &moved);
    timers_set_clock_earlier(e);
    lock_give(&e->timers.mutex);
}

/* shelf.SH6 */
static inline bool shelf_has_many(const struct engine *e, actor_ref asker)
{
    return load_relaxed(&e->timers.attached[actor_ref_slot(asker)]) >=
           e->segment.n_timers / SHELF_ASKER_SHARE;
}

struct shelf_slot *shelf_pick(struct worker *w)
{
    struct engine *e = w->engine;
    struct shelves *s = &e->timers.shelves;
    if (unlikely(s->n_slots == 0 || w->id >= e->segment.workers_max))
        return NULL;
    struct shelf *shelf = &s->of[w->id];
    if (unlikely(!shelf_is_worth_it(s, shelf)))
        return NULL;
    if (unlikely(shelf_has_many(e, w->ctx.self))) {
        shelf_move_own(w, shelf);
        return NULL;
    }
    if (unlikely(shelf->n_free == 0) && !shelf_refill(w, shelf)) {
        shelf_move_own(w, shelf);
        return NULL;
    }
    for (uint32_t n = shelf->n_free, looks = 0; n > 0 && looks < SHELF_PICKS; n--, looks++) {
        struct shelf_slot *slot = &shelf->slots[shelf->free[n - 1]];
        if (!shelf_settle(w, slot))
            continue;
        shelf->free[n - 1] = shelf->free[--shelf->n_free];
        uint64_t word = load_relaxed(&e->segment.timers[slot->timer].word);
        if (likely(timer_word_state(word) == TIMER_FREE))
            return slot;
        shelf_throw_away(w, slot);
    }
    return NULL;
}

/* The control thread is to look, as it has not been told to since it has last found nothing. */
static __attribute__((noinline)) void shelf_call(struct engine *e, uint64_t now_ns)
{
    struct shelves *s = &e->timers.shelves;
    lock_take(&e->timers.mutex);
    if (load_relaxed(&s->look_at_ns) == 0) {
        store_relaxed(&s->look_at_ns, now_ns + SHELF_LOOK_NS);
        timers_set_clock_earlier(e);
    }
    lock_give(&e->timers.mutex);
}

void shelf_ask(struct worker *w, struct shelf_slot *slot, uint64_t token, uint64_t timeout_ns)
{
    struct engine *e = w->engine;
    struct segment_timer *durable = &e->segment.timers[slot->timer];
    struct shelf *shelf = &e->timers.shelves.of[w->id];
    uint64_t now_ns = shelf->now_ns, id = shelf_id(&e->segment, slot);
    durable->deadline_ns = now_ns + timeout_ns;
    if (likely(ticks_rate_known()))
        durable->deadline_ns += SHELF_CLOCK_NS; /* not too soon */
    durable->sequence = ++shelf->n_asked;
    durable->owner = w->ctx.self;
    durable->claim_count = 0;
    durable->arm_count = w->actors.spawned_count = commit_count(w); /* nobody flips meanwhile */
    crash_order();
    store_release(&durable->word, timer_word((uint32_t)(id >> 32), TIMER_LIVE)); /* timers.TM1 */
    slot->token = token;
    slot->asker = w->ctx.self;
    store_release(&slot->state, now_ns + SHELF_STATES);
    crash_order(); /* shelf.SH4 */
    if (unlikely(load_relaxed(&e->timers.shelves.look_at_ns) == 0))
        shelf_call(e, now_ns);
    stat_add(w, STAT_timers_armed, 1);
}

/* The slot of this worker's that has the number; NULL: none has. */
static inline struct shelf_slot *shelf_find(const struct worker *w, uint32_t timer)
{
    const struct shelves *s = &w->engine->timers.shelves;
    uint32_t at = s->n_slots ? load_relaxed(&s->slot_of[timer]) : 0;
    return at != 0 && (at - 1) / SHELF_SLOTS == w->id ? &s->of[w->id].slots[(at - 1) % SHELF_SLOTS]
                                                      : NULL;
}

bool shelf_has(const struct worker *w, uint64_t token, uint32_t timer, actor_ref asker)
{
    const struct shelf_slot *slot =
        timer < w->engine->segment.n_timers ? shelf_find(w, timer) : NULL;
    return slot && load_relaxed(&slot->state) >= SHELF_STATES && slot->token == token &&
           slot->asker == asker;
}

int shelf_claim(struct worker *w, uint64_t token, uint32_t timer)
{
    struct shelf_slot *slot = shelf_find(w, timer);
    if (unlikely(!slot))
        return -EAGAIN;
    uint64_t state = load_relaxed(&slot->state);
    if (unlikely(state == SHELF_EMPTY))
        return -EAGAIN;
    if (state == SHELF_OURS || slot->token != token)
        return -ENOENT;
    if (slot->asker != w->ctx.self)
        return -EPERM;
    if (!atomic_compare_exchange_strong_explicit(&slot->state, &state, SHELF_OURS,
                                                 memory_order_acquire, memory_order_relaxed))
        return -EAGAIN;
    struct engine *e = w->engine;
    struct shelf *shelf = &e->timers.shelves.of[w->id];
    timers_claim_it(w, &e->segment.timers[timer]);
    shelf->free[shelf->n_free++] = (uint8_t)(slot - shelf->slots);
    return 0;
}

/* ---- everybody else */

uint32_t shelf_count(const struct engine *e)
{
    const struct shelves *s = &e->timers.shelves;
    uint32_t n = 0;
    for (uint32_t id = 0; s->n_slots != 0 && id < e->segment.workers_max; id++)
        for (uint32_t i = 0; i < s->n_slots; i++)
            n += load_relaxed(&s->of[id].slots[i].state) >= SHELF_STATES;
    return n;
}

bool shelf_clear(struct engine *e, uint32_t timer)
{
    const struct shelves *s = &e->timers.shelves;
    uint32_t at = s->n_slots ? load_relaxed(&s->slot_of[timer]) : 0, lifted;
    if (at == 0)
        return true;
    if (!shelf_lift(e, &s->of[(at - 1) / SHELF_SLOTS].slots[(at - 1) % SHELF_SLOTS], &lifted))
        return false;
    shelf_put(e, timer);
    shelf_look_at_asker(e, timer);
    return true;
}

/* Of all shelves, those that were asked at `until_ns` at the latest; how many others are open. */
static uint32_t shelf_move_all(struct engine *e, uint64_t until_ns)
{
    struct shelves *s = &e->timers.shelves;
    struct shelf_moved moved;
    uint32_t n = 0;
    for (uint32_t id = 0; id < s->n_used; id++) {
        n += shelf_move(e, &s->of[id], until_ns, &moved);
        if (moved.n > 0)
            order_all(e);
        for (uint32_t i = 0; i < moved.n; i++)
            shelf_look_at_asker(e, moved.timers[i]);
    }
    return n;
}

void shelf_clear_all(struct engine *e)
{
    (void)shelf_move_all(e, UINT64_MAX);
}

/* shelf.SH4 */
void shelf_look(struct engine *e, uint64_t now_ns)
{
    struct shelves *s = &e->timers.shelves;
    uint64_t at_ns = load_relaxed(&s->look_at_ns);
    if (at_ns == 0 || now_ns < at_ns)
        return;
    bool open = shelf_move_all(e, now_ns - SHELF_LOOK_NS) > 0;
    if (!open) {
        store_relaxed(&s->look_at_ns, 0);
        order_all(e);
        open = shelf_count(e) > 0;
    }
    if (open)
        store_relaxed(&s->look_at_ns, now_ns + SHELF_LOOK_NS);
}
