/* SPDX-License-Identifier: Apache-2.0 */
/* Whose timers are whose: how many each actor has, and which, so that those of one that has ended
 * can go without being looked for.
 *
 * Threads: under the mutex of the timers; `attached` is read by whoever ends the actor.
 *
 * timer_owners.TO1  Each timer that lives is in one chain: its owner's, or that of the orphans,
 *     whose owners have ended. A slot's chain is of one actor: who gets the slot finds it empty.
 * timer_owners.TO2  Any number of timers become orphans in a few stores; they end one by one, by
 *     the control thread.
 * timer_owners.TO3  What comes for one that has left, too late, is an orphan at once. If a chain
 *     began anew for it, those that it has left before would be taken for that chain's, and be
 *     counted off `attached` a second time.
 */
#pragma once

#include <stdbool.h>

#include "daemon/engine/base/atomic.h"
#include "daemon/engine/parts/timers.h"
#include "daemon/engine/segment/slot.h"

/* `attached`: by slot, counts for one look at all that can hang at it. 0, -ENOMEM. */
int timer_owners_open(struct timer_owners *owners, uint32_t timers_max, uint32_t actors_max,
                      _Atomic uint32_t *attached);
void timer_owners_close(struct timer_owners *owners);

void timer_owners_add(struct timer_owners *owners, actor_ref owner, uint32_t timer);
/* Whatever chain it is in; also one that is in none any more. */
void timer_owners_remove(struct timer_owners *owners, actor_ref owner, uint32_t timer);
/* Its chain weighs so much more, by what whoever has the table counts; of one that has ended nobody
 * asks. */
void timer_owners_weigh(struct timer_owners *owners, actor_ref owner, int64_t weight);
/* The actor has ended. */
void timer_owners_leave(struct timer_owners *owners, actor_ref owner);
/* One of those whose owners have ended; false: there is none. */
bool timer_owners_orphan(const struct timer_owners *owners, uint32_t *ret_timer);

/* Of this actor. */
static inline uint32_t timer_owners_count(const struct timer_owners *owners, actor_ref owner)
{
    const struct timer_owner *of = &owners->of[actor_ref_slot(owner)];
    return of->owner == owner ? of->n : 0;
}
/* ... and what was said of them. */
static inline uint64_t timer_owners_weight(const struct timer_owners *owners, actor_ref owner)
{
    const struct timer_owner *of = &owners->of[actor_ref_slot(owner)];
    return of->owner == owner ? of->weight : 0;
}
/* The one behind this one, in the order in which they came; behind the last one the first. */
static inline uint32_t timer_owners_next(const struct timer_owners *owners, uint32_t timer)
{
    return owners->links[timer].next;
}
/* The first one of its, if there is any. */
static inline bool timer_owners_first(const struct timer_owners *owners, actor_ref owner,
                                      uint32_t *ret_timer)
{
    const struct timer_owner *of = &owners->of[actor_ref_slot(owner)];
    *ret_timer = of->first - 1;
    return of->owner == owner && of->first != 0;
}
