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
    SHELF_PICKS = 4,     /* slots that are looked at for one that this turn has not claimed */
    SHELF_SHARE = 8,     /* one in so many timers may lie on shelves ... */
    SHELF_SLOTS_MIN = 2, /* ... and if that is less than this for each, there are none */
    SHELF_CLASS = 0,     /* of a question's message */
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

/* It goes to the others (shelf.SH2). Of an actor that has ended nobody wants it any more. */
static bool shelf_move(struct engine *e, struct shelf_slot *slot)
{
    struct timers *t = &e->timers;
    uint64_t state = load_acquire(&slot->state);
    if (state < SHELF_STATES ||
        !atomic_compare_exchange_strong_explicit(&slot->state, &state, SHELF_EMPTY,
                                                 memory_order_acquire, memory_order_acquire))
        return false;
    uint32_t timer = slot->timer;
    struct segment_timer *durable = &e->segment.timers[timer];
    store_relaxed(&t->shelves.slot_of[timer], 0);
    durable->sequence = ++t->sequence;
    timers_count_in(e, timer, durable->deadline_ns);
    uint64_t key = load_relaxed(&e->actors.table[actor_ref_slot(durable->owner)].key);
    if (actor_key_generation(key) != actor_ref_generation(durable->owner))
        timer_owners_leave(&t->owners, durable->owner);
    return true;
}

/* Its slots that have no number get one, `n` of them. */
static void shelf_fill(struct engine *e, uint32_t id, uint32_t n)
{
    struct shelves *s = &e->timers.shelves;
    struct shelf *shelf = &s->of[id];
    uint32_t timer, place;
    for (uint32_t i = 0; i < s->n_slots && n > 0; i++) {
        struct shelf_slot *slot = &shelf->slots[i];
        if (load_relaxed(&slot->state) != SHELF_EMPTY)
            continue;
        n--;
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
 * are moved now. */
static __attribute__((noinline)) void shelf_refill(struct worker *w, struct shelf *shelf)
{
    struct engine *e = w->engine;
    struct shelves *s = &e->timers.shelves;
    pthread_mutex_lock(&e->timers.mutex);
    timers_settle(w, TIMER_SETTLES);
    if (shelf_count_empty(s, shelf) <= s->n_slots / 2)
        for (uint32_t i = 0; i < s->n_slots; i++)
            (void)shelf_move(e, &shelf->slots[i]);
    shelf_fill(e, w->id, timers_left_for(e, w->ctx.self)); /* shelf.SH6 */
    if (w->id >= s->n_used)
        s->n_used = w->id + 1;
    timers_set_clock_earlier(e);
    pthread_mutex_unlock(&e->timers.mutex);
}

/* A number that has no generation left is nobody's any more. */
static void shelf_throw_away(struct worker *w, struct shelf_slot *slot)
{
    struct engine *e = w->engine;
    pthread_mutex_lock(&e->timers.mutex);
    store_relaxed(&e->timers.shelves.slot_of[slot->timer], 0);
    timer_stock_put(&e->timers.places[SHELF_CLASS], e->segment.timers[slot->timer].place);
    store_relaxed(&slot->state, SHELF_EMPTY);
    pthread_mutex_unlock(&e->timers.mutex);
}

struct shelf_slot *shelf_pick(struct worker *w)
{
    struct shelves *s = &w->engine->timers.shelves;
    if (unlikely(s->n_slots == 0 || w->id >= w->engine->segment.workers_max))
        return NULL;
    struct shelf *shelf = &s->of[w->id];
    if (unlikely(shelf->n_free == 0))
        shelf_refill(w, shelf);
    for (uint32_t n = shelf->n_free, looks = 0; n > 0 && looks < SHELF_PICKS; n--, looks++) {
        struct shelf_slot *slot = &shelf->slots[shelf->free[n - 1]];
        if (!shelf_settle(w, slot))
            continue;
        shelf->free[n - 1] = shelf->free[--shelf->n_free];
        uint64_t word = load_relaxed(&w->engine->segment.timers[slot->timer].word);
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
    pthread_mutex_lock(&e->timers.mutex);
    if (load_relaxed(&s->look_at_ns) == 0) {
        store_relaxed(&s->look_at_ns, now_ns + SHELF_LOOK_NS);
        timers_set_clock_earlier(e);
    }
    pthread_mutex_unlock(&e->timers.mutex);
}

/* At most SHELF_CLOCK_NS ago: the kernel's clock takes as long as all the rest. */
static inline uint64_t shelf_now(struct shelf *shelf)
{
    uint64_t ticks = ticks_now();
    if (unlikely(ticks - shelf->ticks >= shelf->ticks_good)) {
        shelf->ticks = ticks;
        shelf->ticks_good = ticks_of_ns(SHELF_CLOCK_NS);
        shelf->now_ns = clock_now_ns();
    }
    return shelf->now_ns;
}

void shelf_ask(struct worker *w, struct shelf_slot *slot, uint64_t token, uint64_t timeout_ns)
{
    struct engine *e = w->engine;
    struct segment_timer *durable = &e->segment.timers[slot->timer];
    uint64_t now_ns = shelf_now(&e->timers.shelves.of[w->id]), id = shelf_id(&e->segment, slot);
    durable->deadline_ns = now_ns + SHELF_CLOCK_NS + timeout_ns; /* not too soon */
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
    uint32_t at = s->n_slots ? load_relaxed(&s->slot_of[timer]) : 0;
    return at == 0 || shelf_move(e, &s->of[(at - 1) / SHELF_SLOTS].slots[(at - 1) % SHELF_SLOTS]);
}

/* Those that were asked at `until_ns` at the latest go; how many others there are. */
static uint32_t shelf_sweep(struct engine *e, uint64_t until_ns)
{
    struct shelves *s = &e->timers.shelves;
    uint32_t n = 0;
    for (uint32_t id = 0; id < s->n_used; id++)
        for (uint32_t i = 0; i < s->n_slots; i++) {
            struct shelf_slot *slot = &s->of[id].slots[i];
            uint64_t state = load_relaxed(&slot->state);
            if (state < SHELF_STATES)
                continue;
            if (state - SHELF_STATES > until_ns)
                n++;
            else
                (void)shelf_move(e, slot);
        }
    return n;
}

void shelf_clear_all(struct engine *e)
{
    (void)shelf_sweep(e, UINT64_MAX);
}

/* shelf.SH4 */
void shelf_look(struct engine *e, uint64_t now_ns)
{
    struct shelves *s = &e->timers.shelves;
    uint64_t at_ns = load_relaxed(&s->look_at_ns);
    if (at_ns == 0 || now_ns < at_ns)
        return;
    uint32_t open = shelf_sweep(e, now_ns - SHELF_LOOK_NS);
    if (open == 0) {
        store_relaxed(&s->look_at_ns, 0);
        order_all(e);
        open = shelf_sweep(e, 0);
    }
    if (open > 0)
        store_relaxed(&s->look_at_ns, now_ns + SHELF_LOOK_NS);
}
