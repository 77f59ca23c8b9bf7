/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/run/pace.h"

#include "daemon/engine/core/rota.h"
#include "daemon/engine/observe/observe.h"

static uint32_t pace_least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* `n` messages took `took` ticks. A quotient only where the pace is off by half: this is done for
 * each run. */
static void pace_adapt(struct worker *w, uint64_t took, uint64_t n)
{
    uint64_t target = ticks_of_ns(PACE_TARGET_NS) * n, now = took * w->pace.every, want;
    if (now <= 2 * target && 2 * now >= target)
        return;
    want = took ? target / took : PACE_EVERY_MOST;
    if (want > 4 * (uint64_t)w->pace.every)
        want = 4 * (uint64_t)w->pace.every;
    w->pace.every = want < 1 ? 1 : want < PACE_EVERY_MOST ? (uint32_t)want : PACE_EVERY_MOST;
}

uint32_t pace_begin(struct worker *w)
{
    uint64_t now = ticks_now();
    if (unlikely(w->pace.every == 0))
        w->pace.every = PACE_FEW;
    if (w->pace.run_messages >= PACE_FEW)
        pace_adapt(w, now - w->pace.began, w->pace.run_messages);
    w->pace.began = now;
    rota_begin(w, now);
    store_relaxed(&w->pace.looked, now);
    w->pace.due = now + ticks_of_ns(PACE_TARGET_NS / 2);
    w->pace.over = false;
    store_relaxed(&w->pace.called, 0);
    observe_look(w, now);
    return w->is_detached ? 1 : pace_least(w->pace.every, PACE_FIRST_MOST);
}

/* ---- marks ---- */

/* The short way is open to a behaviour whose word is an envelope's, closed by one that no envelope
 * has. */
static void pace_mark(struct actor_type *type, uint32_t index, uint8_t quick)
{
    const struct behaviour_shape *shape = &type->shapes[index];
    uint64_t open = index == BEHAVIOUR_NONE /* init: no envelope's, either */
                        ? 0
                        : shape->message_type < MESSAGE_TYPE_FIRST_PLAIN /* each is looked at */
                              ? BEHAVIOUR_META_CLOSED
                              : envelope_meta(shape->message_type, shape->size, index);
    if (quick >= BEHAVIOUR_QUICK && load_relaxed(&type->took[index]) > PACE_SLOW_NS)
        store_relaxed(&type->took[index], PACE_SLOW_NS); /* at the beginning it was, perhaps */
    store_relaxed(&type->quick[index], quick);
    store_relaxed(&type->behaviours[index].meta,
                  quick >= BEHAVIOUR_QUICK ? open : BEHAVIOUR_META_CLOSED);
}

/* What messages that wait for it will take is told by the mean (budget.h). One that was kept from
 * its processor is not to make thousands of quick ones look slow: a sample counts for so many times
 * the mean at most, and three are enough for any. */
static void pace_mean(struct actor_type *type, uint32_t index, uint64_t took)
{
    uint64_t ns = ticks_to_ns(took), mean = load_relaxed(&type->took[index]);
    if (mean && ns > PACE_MEAN_SURPRISE * mean)
        ns = PACE_MEAN_SURPRISE * mean;
    mean = mean ? mean + ns / PACE_MEAN_OF - mean / PACE_MEAN_OF : ns;
    store_relaxed(&type->took[index], mean < PACE_MEAN_LEAST
                                          ? PACE_MEAN_LEAST
                                          : (uint32_t)(mean < UINT32_MAX ? mean : UINT32_MAX));
}

static void pace_sample(struct actor_type *type, uint32_t index, uint64_t took)
{
    uint8_t slow = load_relaxed(&type->slow[index]);
    bool is_slow = took >= ticks_of_ns(PACE_SLOW_NS);
    pace_mean(type, index, took);
    if (is_slow ? slow < BEHAVIOUR_SLOW : slow > 0)
        store_relaxed(&type->slow[index], is_slow ? (uint8_t)(slow + 1) : 0);
    uint8_t quick = load_relaxed(&type->quick[index]);
    if (is_slow) {
        if (quick || pace_is_quick(type, index))
            pace_mark(type, index, 0);
    } else if (!pace_is_quick(type, index)) {
        pace_mark(type, index, quick < BEHAVIOUR_QUICK ? (uint8_t)(quick + 1) : quick);
    }
}

/* The behaviour of the message that has just been run by the short way took so long. */
static void pace_sample_last(struct worker *w, uint64_t took)
{
    if (w->ctx.self == 0 || took < ticks_of_ns(PACE_SLOW_NS))
        return;
    const struct actor *actor = &w->turn.actors[actor_ref_slot(w->ctx.self)];
    uint64_t key = load_relaxed(&actor->key);
    struct actor_type *type = load_relaxed(&w->turn.types[actor_key_type(key)]);
    if (actor_key_generation(key) != actor_ref_generation(w->ctx.self) || !type ||
        w->ctx.message_type >= ODEON_MESSAGE_TYPES_MAX)
        return;
    uint32_t index = type->index_of[w->ctx.message_type];
    if (index != BEHAVIOUR_NONE)
        pace_sample(type, index, took);
}

/* pace.T5.  A message that was a sample has its record. */
static void pace_tell_called(struct worker *w, uint64_t now)
{
    uint64_t called = load_relaxed(&w->pace.called);
    int64_t ran = (int64_t)(now - called);
    if (called > 1 && w->pace.behind && ran >= (int64_t)ticks_of_ns(PACE_SURPRISE_NS))
        observe_surprise(w, w->pace.behind, ticks_to_ns((uint64_t)ran));
}

/* ---- looks ---- */

/* pace.T4.  The run has had its time. */
static void pace_slice(struct worker *w, uint64_t now)
{
    uint64_t ran = now - w->pace.began;
    w->pace.over =
        ran >= ticks_of_ns(PACE_SLICE_NS) || (ran >= ticks_of_ns(ROTA_TURN_NS) && rota_is_short(w));
}

/* pace.T3, pace.T4 */
uint32_t pace_look(struct worker *w, uint32_t n, bool *ret_due)
{
    uint64_t now = ticks_now(), took = now - load_relaxed(&w->pace.looked);
    store_relaxed(&w->pace.looked, now);
    if (unlikely(w->observer.aimed))
        observe_hit(w, now);
    else if (unlikely(pace_is_called(w)))
        pace_tell_called(w, now);
    store_relaxed(&w->pace.called, 0);
    observe_look(w, now);
    pace_slice(w, now);
    /* a clock that stands still says nothing: then each look is one too late */
    *ret_due = w->is_detached || took == 0 || (int64_t)(now - w->pace.due) >= 0;
    if (*ret_due)
        w->pace.due = now + ticks_of_ns(PACE_TARGET_NS / 2);
    if (w->is_detached)
        return 1;
    if (n == 1)
        pace_sample_last(w, took);
    if (w->pace.suspect > 0 && --w->pace.suspect > 0)
        return 1;
    if (n > 1 && took >= ticks_of_ns(PACE_SURPRISE_NS)) {
        w->pace.suspect = PACE_SUSPECTS;
        w->pace.every = 1;
        return 1;
    }
    pace_adapt(w, took, n);
    return w->pace.every;
}

struct actor_type *pace_stranger(struct worker *w, const struct actor *actor,
                                 const struct envelope *envelope, uint32_t *ret_index)
{
    uint64_t key = load_relaxed(&actor->key);
    if (actor_key_generation(key) != actor_ref_generation(envelope->to) || !actor_key_lives(key) ||
        envelope->type >= ODEON_MESSAGE_TYPES_MAX || observe_is_passed_on(w, key))
        return NULL;
    /* acquire: it may be registered just now, for an actor that was there before it */
    struct actor_type *type = load_acquire(&w->turn.types[actor_key_type(key)]);
    if (!type)
        return NULL;
    if (actor_key_kind(key) == ACTOR_NEW && !pace_is_quick(type, BEHAVIOUR_NONE)) {
        *ret_index = BEHAVIOUR_NONE;
        return type;
    }
    *ret_index = type->index_of[envelope->type];
    return *ret_index != BEHAVIOUR_NONE && !pace_is_quick(type, *ret_index) ? type : NULL;
}

/* pace.T2 */
uint32_t pace_learn(struct worker *w, struct actor_type *type, uint32_t index,
                    const struct observe_turn *turn)
{
    uint64_t now = ticks_now();
    if (type)
        pace_sample(type, index, now - turn->began);
    observe_timed(w, turn, ticks_to_ns(now - turn->began));
    store_relaxed(&w->pace.looked, now);
    w->pace.due = now + ticks_of_ns(PACE_TARGET_NS / 2);
    pace_slice(w, now);
    return w->is_detached ? 1 : w->pace.every;
}
