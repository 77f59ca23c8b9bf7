/* SPDX-License-Identifier: Apache-2.0 */
/* Watches: timers that are due when somebody ends, whose message says so and why. They hang at the
 * slot of the one whom they watch; what is armed, cancelled, sent and found again is a timer
 * (timers.h, timer_fire.h, timer_recover.h), so that each end is told once to each who has asked.
 *
 * Threads: under the mutex of the timers, but for watches_recover(), which is recovery's, and
 *     watches_judge(), which is the start's.
 *
 * watches.W1  Who ends an actor stores its slot's word, then looks whether anything hangs at the
 *     slot. Who watches hangs itself there; then, once, the control thread looks at the word behind
 *     a barrier in all threads [WATCH_FENCE, WATCH_NEW]. One of the two sees the other.
 * watches.W2  An end is told behind everything that the one who ended has sent: its runner hands it
 *     over behind the flush [WATCH_EARLY].
 * watches.W3  Why it ended stands in the slot's word, and the slot is nobody else's [WATCH_SLOT]
 *     until it stands in each watch [WATCH_STAMP]. Recovery stores it there before anybody is
 *     spawned [WATCH_NOLOOK].
 * watches.W4  A watch that was too late for its actor's runner to see it is told when all that
 *     anybody had committed to send by then has left [WATCH_FLUSH].
 * watches.W5  A watch hangs at its slot, or is due, until it knows of the end (`end`); from then on
 *     it is due.
 * watches.W6  A link outlives its child's lives. A child whose parent has ended, or does
 *     not keep its state, ends in recovery, before anybody is initialised or spawned, also if the
 *     parent's type is in quarantine.
 * watches.W7  An end that recovery has found is told before anybody runs: by the same reference the
 *     next life of one that begins anew may speak at once. Who has no room for the word gets it
 *     later, as any other.
 */
#pragma once

#include "daemon/engine/core/core.h"
#include "daemon/engine/segment/slot.h"

#define WATCH_NEVER_NS UINT64_MAX /* due: when somebody ends */
enum {
    WATCH_DUE_NS = 1,        /* at once */
    WATCH_LOOK_NS = 1000000, /* of a new one: the control thread looks at many together */
    WATCH_ROUND_NS = 200000, /* between two looks at whether all has left (watches.W4) */
};

int watches_open(struct engine *engine);
void watches_close(struct engine *engine);

/* Is it a watch that knows of no end so far? */
static inline bool watches_waits(const struct segment_timer *timer)
{
    return timer->watched != 0 && timer->end == REASON_NONE;
}
/* ... or one that ends its owner with whom it watches (asks/link.h)? Under the mutex, or of one
 * that lives. */
static inline bool watches_is_link(const struct segment *segment, const struct segment_timer *timer)
{
    return timer->watched != 0 &&
           segment_timer_message(segment, timer)->type == MESSAGE_TYPE_POISON_DELETE;
}
/* Recovery has met one that may live, behind all that it has met before. */
void watches_found(struct engine *engine, uint32_t timer);
/* Why it has ended; REASON_NONE: it has not. */
enum envelope_reason watches_reason(const struct engine *engine, actor_ref watched);
/* A timer that is known from now on, or ends. */
void watches_hang(struct engine *engine, uint32_t timer);
void watches_unhang(struct engine *engine, uint32_t timer);
bool watches_is_watched(const struct engine *engine, actor_ref who);
/* An actor, or a port, has ended: those who watch it are told soon. The slot of an actor whom
 * nobody watches is given back, by `w`. */
void watches_leave(struct worker *w, actor_ref who);
/* The control thread begins a look at the timers. */
void watches_look(struct engine *engine);
/* Up to `n` of those whose actors have ended are due, and know of it if what they sent has left. */
void watches_drain(struct engine *engine, uint32_t n);
bool watches_some_drain(const struct engine *engine);
/* A watch that hangs is due: has its end come? False: it is looked at again, when that makes
 * sense. */
bool watches_is_over(struct engine *engine, uint32_t timer, uint64_t now_ns);
/* Those of actors of this type, which is not run any more, are looked at. */
void watches_type_quarantined(struct engine *engine, uint32_t type);

/* Those whose actors have ended, or begin anew, know of it; before anybody is spawned. */
void watches_recover(struct engine *engine);
/* The types that are loaded may have another policy than recovery knew of: what the watches of
 * actors that are left over know is told by that one. Before any timer is looked at. */
void watches_judge(struct engine *engine);
