/* SPDX-License-Identifier: Apache-2.0 */
/* A source has work: where its ready bit goes, who is woken; and where a source goes when its run
 * has ended (docs/engine.md, Sleeping and waking). Models: tests/model; rule names stand in
 * brackets.
 *
 * wake.K1  A sleeper's bit is claimed by one atomic clear; whoever clears it owes the worker a
 *     wake-up.
 * wake.K2  An appender publishes, barrier, sets the owner's ready bit, barrier, then looks who
 *     sleeps [BIT_WAKE].  A worker sets its sleepers bit, barrier, then looks at the masks
 *     [FLAG_LOOK].
 * wake.W1  Bits in the common mask (policy share) are looked at by everybody, whatever the policy
 *     is now; bits in a worker's own mask by that worker and, while it is busy, by thieves.  So a
 *     policy or mode may change at any time, and no bit has to be moved for it.
 * wake.W2  Who clears a bit and cannot take the source passes the bit on to the worker that has it
 *     [PASS_ON].  A bit in the common mask was not aimed at anybody: the runner may have looked
 *     before the publish, and dropping it would lose it.
 *
 * Threads: any that appends; `me` may be the control thread's block.
 */
#pragma once

#include "daemon/engine/core/core.h"

/* The source has got work, published behind a full barrier: a ready bit, and whoever is to be
 * woken. An idle source that follows its senders is taken over. */
void source_signal(struct engine *engine, struct worker *me, uint32_t source);
/* The same behind an append; `first`: there was nothing in the buffer. */
void source_signal_append(struct engine *engine, struct worker *me, uint32_t source, bool first);
/* Its bit was taken, the source could not be: wake.W2. */
void source_pass_on(struct engine *engine, struct worker *me, uint32_t source);
/* Behind a source_release that said so: the source has work and is another's now. */
void source_hand_back(struct engine *engine, struct worker *me, uint32_t source);

/* In a handler that has been set aside (set_aside.h): its other sources have been given away. */
static inline bool worker_is_away(const struct engine *engine, uint32_t worker)
{
    return unlikely(load_relaxed(&engine->aside[worker]) != 0) &&
           load_relaxed(engine->sources[engine->segment.aside_first + worker].own) ==
               own_running(worker);
}

/* Whose it will be when this run has ended: mode visit sends it home, unless nobody is there, and
 * what was lent goes back (pack.PK2). */
static inline uint32_t source_goes_to(const struct worker *w, uint32_t source)
{
    const struct source *s = &w->engine->sources[source];
    uint32_t placing = load_relaxed(&w->engine->steal.placing);
    if (likely(!(placing & (PLACING_HOME | PLACING_LENT))) ||
        load_relaxed(&s->flags) & (SOURCE_FIXED | SOURCE_FOLLOW))
        return w->id;
    uint32_t home = load_relaxed(&s->home), lent = load_relaxed(&s->lent);
    if (lent)
        home = lent <= pack_active(w->engine) ? lent - 1 : w->id;
    else if (!(placing & PLACING_HOME))
        return w->id;
    return home < engine_workers(w->engine) && worker_is_away(w->engine, home) ? w->id : home;
}
/* Ends the run; `left`: there is work in it. True: it is another's now, and the caller has to look
 * for work once more [VISIT_ORDER] and, if there is any, to hand it back [VISIT_RECHECK]. */
bool source_release(struct worker *w, uint32_t source, uint32_t to, bool left);
/* Before the first use, or while nobody runs it and no worker looks: idle at `owner`, whose home it
 * is. */
void source_place(struct engine *engine, uint32_t source, uint32_t owner, unsigned flags);

/* wake.K1.  True: claimed, and to be woken by the caller. */
bool sleeper_claim(struct engine *engine, uint32_t worker);
bool sleeper_any(struct engine *engine);
/* The nearest sleeper on a node where nobody searches, if there is one, is told to search and whom
 * to visit first. */
void wake_one(struct engine *engine, struct worker *me, uint32_t victim);
void wake(struct worker *w);
/* Claims the worker's sleepers bit and wakes it (wake.K1); nothing if it is awake, or somebody
 * else's wake-up is under way. */
void wake_sleeper(struct engine *engine, uint32_t worker);
/* All workers stand: nobody searches any more, no hint is left. Each looks everywhere before it
 * sleeps again. */
void wake_forget(struct engine *engine);
bool sleeper_sleeps(struct engine *engine, uint32_t worker);
