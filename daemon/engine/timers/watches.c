/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/timers/watches.h"

#include <errno.h>

#include "daemon/engine/actors/actors.h"
#include "daemon/engine/base/points.h"
#include "daemon/engine/base/reserve.h"
#include "daemon/engine/signal/order_all.h"
#include "daemon/engine/signal/quiesce.h"
#include "daemon/engine/timers/timer_heap.h"
#include "daemon/engine/timers/timer_owners.h"
#include "daemon/engine/timers/timer_stock.h"

int watches_open(struct engine *e)
{
    struct timers *t = &e->timers;
    uint32_t n = e->segment.n_timers, actors_max = e->config.actors_max;
    int r = timer_owners_open(&t->watched, n, actors_max, t->attached);
    if (r < 0 || n == 0)
        return r;
    t->marks = reserve((uint64_t)n * sizeof(*t->marks));
    return t->marks ? timer_stock_open(&t->ending, actors_max) : -ENOMEM;
}

void watches_close(struct engine *e)
{
    struct timers *t = &e->timers;
    timer_owners_close(&t->watched);
    timer_stock_close(&t->ending);
    reserve_free(t->marks, (uint64_t)e->segment.n_timers * sizeof(*t->marks));
    t->marks = NULL;
}

static bool watches_is_port(actor_ref who)
{
    return actor_ref_slot(who) < ODEON_PORTS_MAX;
}

/* Of an actor, or a port, that has ended; `word`: of its slot. */
static enum envelope_reason watches_end_reason(actor_ref watched, uint64_t word)
{
    enum envelope_reason reason = slot_word_reason(word, actor_ref_generation(watched));
    return reason != REASON_NONE && watches_is_port(watched) ? REASON_CLIENT_GONE : reason;
}

enum envelope_reason watches_reason(const struct engine *e, actor_ref watched)
{
    /* acquire: behind the commit of who ended it */
    uint64_t word = load_acquire(&e->segment.actors[actor_ref_slot(watched)].word);
    enum envelope_reason reason = watches_end_reason(watched, word);
    if (reason != REASON_NONE)
        return reason;
    return slot_word_state(word) == ACTOR_SLOT_LIVE &&
                   load_relaxed(&e->segment.actor_types[slot_word_type(word)].quarantined)
               ? REASON_QUARANTINED
               : REASON_NONE;
}

/* A reference that nobody has yet, which anybody can make up, hangs nowhere: it would take the
 * slot's chain from those who watch who is there. It is due like any new one, and then told that
 * there is no such actor. */
static bool watches_may_hang(const struct engine *e, const struct segment_timer *durable)
{
    uint64_t word = load_acquire(&e->segment.actors[actor_ref_slot(durable->watched)].word);
    return watches_waits(durable) && actor_ref_generation(durable->watched) <= slot_word_last(word);
}

void watches_hang(struct engine *e, uint32_t timer)
{
    struct timers *t = &e->timers;
    const struct segment_timer *durable = &e->segment.timers[timer];
    if (durable->watched == 0) /* a line less of those that are no watches */
        return;
    bool hangs = watches_may_hang(e, durable);
    t->marks[timer] = (struct watch_mark){ .hangs = hangs };
    if (!hangs)
        return;
    timer_owners_add(&t->watched, durable->watched, timer);
    t->unlooked = true;
}

void watches_unhang(struct engine *e, uint32_t timer)
{
    if (e->segment.timers[timer].watched == 0)
        return;
    struct watch_mark *mark = &e->timers.marks[timer];
    if (mark->hangs)
        timer_owners_remove(&e->timers.watched, e->segment.timers[timer].watched, timer);
    mark->hangs = false;
}

/* watches.W5 */
static void watches_stamp(struct engine *e, uint32_t timer, enum envelope_reason reason)
{
    struct segment_timer *durable = &e->segment.timers[timer];
    watches_unhang(e, timer);
    durable->end = reason != REASON_NONE ? reason : REASON_NO_SUCH_ACTOR;
    timer_heap_move(&e->timers.heap, timer, WATCH_DUE_NS);
}

/* An actor's slot, but for one whose last generation has ended. */
static void watches_slot_give_back(struct worker *w, uint32_t slot)
{
    uint64_t word = load_relaxed(&w->engine->segment.actors[slot].word);
    if (slot_word_state(word) == ACTOR_SLOT_FREE)
        actors_slot_give_back(w, slot);
}

bool watches_is_watched(const struct engine *e, actor_ref who)
{
    uint32_t timer;
    return timer_owners_first(&e->timers.watched, who, &timer);
}

void watches_leave(struct worker *w, actor_ref who)
{
    struct timers *t = &w->engine->timers;
    if (watches_is_port(who))
        timer_owners_leave(&t->watched, who); /* the slot is the port's: another one may have it */
    else if (watches_is_watched(w->engine, who))
        timer_stock_put(&t->ending, actor_ref_slot(who)); /* watches.W3 */
    else
        watches_slot_give_back(w, actor_ref_slot(who));
}

bool watches_some_drain(const struct engine *e)
{
    return e->timers.ending.n > 0 || e->timers.watched.orphans;
}

/* One of those that hang at the slot of an actor that has ended; false: that was the last one. */
static bool watches_next_of(const struct engine *e, uint32_t slot, uint32_t *ret_timer)
{
    const struct timer_owners *watched = &e->timers.watched;
    return timer_owners_first(watched, watched->of[slot].owner, ret_timer);
}

void watches_drain(struct engine *e, uint32_t n)
{
    struct timers *t = &e->timers;
    uint32_t timer;
    for (; n > 0 && t->ending.n > 0; n--) {
        uint32_t slot = t->ending.ring[t->ending.first];
        if (watches_next_of(e, slot, &timer)) {
            watches_stamp(e, timer, watches_reason(e, e->segment.timers[timer].watched));
        } else {
            timer_stock_pop(&t->ending, &slot);
            watches_slot_give_back(e->control, slot);
        }
    }
    for (; n > 0 && timer_owners_orphan(&t->watched, &timer); n--) {
        watches_unhang(e, timer);
        timer_heap_move(&t->heap, timer, WATCH_DUE_NS); /* watches.W4 */
    }
}

void watches_look(struct engine *e)
{
    if (!e->timers.unlooked)
        return;
    order_all(e); /* watches.W1 */
    e->timers.unlooked = false;
}

/* The round that has begun is over, or goes on. */
static void watches_round_look(struct engine *e)
{
    struct watch_round *round = &e->timers.round;
    if (round->begun != round->over && quiesce_has_sent(e, &round->quiesce))
        round->over = round->begun;
}

static void watches_round_begin(struct engine *e)
{
    struct watch_round *round = &e->timers.round;
    if (round->begun != round->over)
        return;
    round->begun++;
    quiesce_ask(e, &round->quiesce);
    watches_round_look(e);
}

/* watches.W4: a round that began when the end was known already. */
static bool watches_has_waited(struct engine *e, uint32_t timer)
{
    const struct watch_round *round = &e->timers.round;
    uint64_t *mine = &e->timers.marks[timer].round;
    watches_round_look(e);
    if (*mine == 0)
        *mine = round->begun + 1;
    if (round->begun < *mine)
        watches_round_begin(e);
    return round->over >= *mine;
}

bool watches_is_over(struct engine *e, uint32_t timer, uint64_t now_ns)
{
    const struct segment_timer *durable = &e->segment.timers[timer];
    enum envelope_reason reason = watches_reason(e, durable->watched);
    if (reason == REASON_NONE ||
        (reason == REASON_QUARANTINED && watches_is_link(&e->segment, durable))) {
        timer_heap_move(&e->timers.heap, timer, WATCH_NEVER_NS);
        return false;
    }
    if (!watches_has_waited(e, timer)) {
        timer_heap_move(&e->timers.heap, timer, now_ns + WATCH_ROUND_NS);
        return false;
    }
    watches_stamp(e, timer, reason);
    return true;
}

static bool watches_is_live(const struct segment_timer *timer)
{
    return (uint8_t)load_relaxed(&timer->word) == TIMER_LIVE && watches_waits(timer);
}

void watches_type_quarantined(struct engine *e, uint32_t type)
{
    for (uint32_t i = 0; i < load_relaxed(&e->segment.header->timers_high); i++) {
        const struct segment_timer *timer = &e->segment.timers[i];
        if (!watches_is_live(timer) || e->timers.heap.place_of[i] == 0)
            continue;
        uint64_t word = load_relaxed(&e->segment.actors[actor_ref_slot(timer->watched)].word);
        if (slot_word_state(word) == ACTOR_SLOT_LIVE && slot_word_type(word) == type)
            timer_heap_move(&e->timers.heap, i, WATCH_DUE_NS);
    }
}

void watches_found(struct engine *e, uint32_t timer)
{
    struct watch_range *found = &e->timers.found;
    if (found->behind == 0)
        found->first = timer;
    found->behind = timer + 1;
}

/* What the death of the executor was for an actor, whether or not it is run. */
static enum envelope_reason watches_recover_end(const struct engine *e, actor_ref watched)
{
    uint64_t word = load_relaxed(&e->segment.actors[actor_ref_slot(watched)].word);
    enum envelope_reason reason = watches_end_reason(watched, word);
    if (reason != REASON_NONE || slot_word_state(word) == ACTOR_SLOT_PORT)
        return reason;
    switch (e->segment.actor_types[slot_word_type(word)].restart) {
    case RESTART_KEEP:
        return REASON_NONE;
    case RESTART_STOP:
        return REASON_NOT_RESUMED;
    default:
        return REASON_BEGUN_ANEW;
    }
}

/* ... and for who watches it. */
static enum envelope_reason watches_recover_reason(const struct engine *e, actor_ref watched)
{
    enum envelope_reason reason = watches_reason(e, watched);
    return reason != REASON_NONE ? reason : watches_recover_end(e, watched);
}

/* A child's slot, then its link: whoever finds the second finds that the first has ended. */
static bool watches_recover_link(struct engine *e, struct segment_timer *timer)
{
    enum envelope_reason reason = watches_recover_end(e, timer->watched);
    if (reason == REASON_NONE)
        return false;
    struct segment_actor *child = &e->segment.actors[actor_ref_slot(timer->owner)];
    uint64_t word = load_relaxed(&child->word);
    if (slot_word_state(word) == ACTOR_SLOT_LIVE &&
        slot_word_generation(word) == actor_ref_generation(timer->owner))
        store_relaxed(&child->word, slot_word_ended(word, REASON_STOPPED));
    crash_order();
    timer->end = reason;
    crash_order();
    return true;
}

/* watches.W6: until nobody else ends, for children have children. */
static void watches_recover_links(struct engine *e)
{
    for (bool again = true; again;) {
        again = false;
        for (uint32_t i = e->timers.found.first; i < e->timers.found.behind; i++) {
            struct segment_timer *timer = &e->segment.timers[i];
            if (watches_is_live(timer) && watches_is_link(&e->segment, timer))
                again |= watches_recover_link(e, timer);
        }
    }
}

void watches_recover(struct engine *e)
{
    watches_recover_links(e);
    for (uint32_t i = e->timers.found.first; i < e->timers.found.behind; i++) {
        struct segment_timer *timer = &e->segment.timers[i];
        if (!watches_is_live(timer))
            continue;
        enum envelope_reason reason = watches_recover_reason(e, timer->watched);
        /* no end: a quarantine ends no child */
        if (reason == REASON_QUARANTINED && watches_is_link(&e->segment, timer))
            continue;
        timer->end = reason;
        crash_order();
    }
}

/* Its actor begins anew, or ends, with this executor, or has ended as its type was registered. */
static void watches_judge_one(struct engine *e, struct segment_timer *timer)
{
    enum envelope_reason reason = watches_recover_reason(e, timer->watched);
    if (reason != REASON_NOT_RESUMED && reason != REASON_BEGUN_ANEW)
        return;
    timer->end = reason;
    crash_order();
}

void watches_judge(struct engine *e)
{
    if (e->timers.n_watches == 0)
        return;
    for (uint32_t i = 0; i < load_relaxed(&e->segment.header->timers_high); i++) {
        struct segment_timer *timer = &e->segment.timers[i];
        if ((uint8_t)load_relaxed(&timer->word) == TIMER_LIVE && timer->watched != 0 &&
            (timer->end == REASON_BEGUN_ANEW || timer->end == REASON_NOT_RESUMED))
            watches_judge_one(e, timer);
    }
}
