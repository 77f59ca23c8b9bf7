/* SPDX-License-Identifier: Apache-2.0 */
/* When a send leaves: behind the behaviour that made it, or soon after (docs/scheduling.md, When a
 * send leaves).
 *
 * A clock read for each message would cost a plain message its speed. So it is learned which
 * behaviours are quick: of each, runs are timed until BEHAVIOUR_QUICK of them in a row were quick.
 * From then on it is run by the short way, and its worker looks at the clock every so many messages
 * only, so many as take about PACE_TARGET_NS. All others are run one by one: what had been sent is
 * carried out before them, what they send behind them.
 *
 * pace.T1  What a quick behaviour has sent waits for PACE_TARGET_NS and a look's messages.
 * pace.T2  What was sent before a behaviour that is not known to be quick is carried out before it
 *     is entered, and what that one sends when it has been committed.
 * pace.T3  A behaviour that is quick no more is found by the looks (a pace far behind: the next
 *     PACE_SUSPECTS messages are timed one by one), and is timed itself from then on. The stall
 *     watch (stall.h) calls for a look when the last one is STALL_LOOK_NS ago: so many messages
 *     may take a second if they are quick no more. One that does not return is its, too.
 * pace.T4  A run ends behind PACE_SLICE_NS and a message, or when its turn is a short one (rota.h,
 *     rota.RO4): then others have theirs.
 * pace.T5  A quick one that takes long once is known by the watch's call: its time is taken when
 *     the loop's comparison says that there is something to do, so that the look comes behind the
 *     message that ran then. That one has run for so long at least, and leaves a record that says
 *     so. Where a spawn that has been settled has opened the loop again, the call itself is looked
 *     for. A look forgets a call that has come meanwhile, behind where it opens the loop: then its
 *     compare-and-swap finds 0, and it has no time.
 *
 * Nothing but speed depends on the clock: one that stands still or jumps has sends carried out too
 * often, or at the end of the batch (and behind 16 KiB) as if there were none.
 *
 * Threads: a worker's own; the marks of a type are all workers' (relaxed: a mark that is lost is
 * learned again).
 */
#pragma once

#include "daemon/engine/base/ticks.h"
#include "daemon/engine/core/core.h"

enum {
    PACE_TARGET_NS = PACE_SLOWDOWN * 20 * 1000,
    PACE_SLOW_NS = PACE_SLOWDOWN * 4 * 1000, /* of one behaviour */
    PACE_SURPRISE_NS = 5 * PACE_TARGET_NS,   /* of the messages between two looks */
    PACE_EVERY_MOST = 1024,
    PACE_FIRST_MOST = 256, /* messages to the first look of a run */
    PACE_FEW = 8,          /* a run of less says nothing about its pace */
    PACE_SUSPECTS = 64,
    PACE_MEAN_OF = 8,
    PACE_MEAN_SURPRISE = 64,
    PACE_MEAN_LEAST = 256, /* ns */
};

static inline bool pace_is_quick(const struct actor_type *type, uint32_t index)
{
    return actor_type_is_quick(type, index);
}

/* Any thread: the worker is to look behind the message that it runs. A hint, which a look that is
 * under way may swallow. */
static inline void pace_call(struct worker *w)
{
    uint64_t without_time = 1;
    store_relaxed(&w->pace.called, without_time);
    store_release(&w->outbox.wanted, 0); /* the loop's comparison; outbox_want() restores it */
    full_barrier();                      /* pace.T5 */
    (void)atomic_compare_exchange_strong_explicit(&w->pace.called, &without_time, ticks_now(),
                                                  memory_order_relaxed, memory_order_relaxed);
}
/* Any thread: for how long the worker has not looked at its clock. What it has sent and not carried
 * out has been sent since then, or in the PACE_TARGET_NS before. */
static inline uint64_t pace_silent_ns(const struct worker *w)
{
    uint64_t silent = ticks_now() - load_relaxed(&w->pace.looked);
    return (int64_t)silent > 0 ? ticks_to_ns(silent) : 0; /* it has looked meanwhile */
}
static inline bool pace_is_called(const struct worker *w)
{
    return load_relaxed(&w->pace.called) != 0;
}

/* A run begins. Messages to the first look. */
uint32_t pace_begin(struct worker *w);
/* A look between two messages, `n` behind the last one or behind the run's beginning. Messages to
 * the next one; *ret_due: what has been sent is to be carried out now. */
uint32_t pace_look(struct worker *w, uint32_t n, bool *ret_due);
/* What is to be timed of a message for `actor`: its receiver's type, and which mark; NULL: nothing,
 * it is known to be quick, or cannot be run. */
struct actor_type *pace_stranger(struct worker *w, const struct actor *actor,
                                 const struct envelope *envelope, uint32_t *ret_index);
/* That one, noted before it ran, has run; `type` NULL: nothing is learned of it. Messages to the
 * next look. */
uint32_t pace_learn(struct worker *w, struct actor_type *type, uint32_t index,
                    const struct observe_turn *turn);
