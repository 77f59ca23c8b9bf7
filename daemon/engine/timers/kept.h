/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of publications for members that are at their limit, and whose types say `stall`: each is
 * kept until its member has room, while the publication goes on to the others (asks/group.h). It is
 * a timer of its group's (timers.h), whose message is the record that the member gets. So it begins
 * with the turn of the group that would have sent it, and is sent by one flip that ends it.
 *
 * Threads: under the mutex of the timers, but for what is said to be read beside it.
 *
 * kept.KE1  Of those that wait for one member the one that was armed first is due, and tried again
 *     and again; the others are never due, until it has gone [KEPT_ORDER]. All count by
 *     CLOCK_MONOTONIC.
 * kept.KE2  As long as one of a group's waits for a member, or has been sent and is not in its
 *     queue yet [KEPT_UNFLUSHED], what that group has for the member is kept, too, whether there is
 *     room or not [KEPT_PAST]: so a member gets what one publisher has published there in order.
 *     Those of other groups do not count [KEPT_OTHERS]: what this one has sent before may not have
 *     left its outbox, and would be overtaken.
 * kept.KE3  What a group sends to a member in its own queue goes behind one that has been appended
 *     there: its next look closes the tail of the batch that it runs (place.U3).
 * kept.KE4  At most ODEON_KEPT_MAX wait for one member. What actors have published are timers of
 *     the group's own, which has no more than its share of them; what a client has published counts
 *     for its user alone, as what it posts for later (timer_posted.TP2); where no user is known,
 *     since the client has gone or there was none, for TIMER_USER_NOBODY. Who would get one more is
 *     left out, and counted; a client whose user has its share is told.
 * kept.KE5  Of a member that ends none is sent: each is told to its client, or is a dead letter,
 *     as what waits in its queue.
 */
#pragma once

#include "daemon/engine/core/core.h"

static inline bool timer_is_kept(const struct segment_timer *timer)
{
    return timer->stashed == TIMER_KEPT;
}

int kept_open(struct engine *engine);
void kept_close(struct engine *engine);

/* A timer that is known from now on: when it is looked at, `due_ns` or never. */
uint64_t kept_add(struct engine *engine, uint32_t timer, uint64_t due_ns);
/* ... or ends. */
void kept_remove(struct engine *engine, uint32_t timer);
/* The member has ended: none of them waits any longer. */
void kept_leave(struct engine *engine, actor_ref member);

/* By the control thread: it has been sent, and is not in `destination` yet. */
void kept_sent(struct engine *engine, actor_ref group, actor_ref to, uint32_t destination);
/* ... they are. Takes the mutex. */
void kept_flushed(struct engine *engine);

/* What waits for a member, or is on its way to it: how many, and is any of them of this group? */
struct kept_wait {
    uint16_t n;
    bool own;
};
/* Of a block of members, within a turn of their group, in the queue that runs. Takes the mutex.
 * True: the tail of the batch is to be closed (kept.KE3). */
bool kept_look(struct engine *engine, uint32_t queue, actor_ref group, const actor_ref *members,
               uint32_t n, struct kept_wait *ret_waits);
/* Can any wait? Read without the mutex, by the turn of a group: it sees its own. */
static inline bool kept_is_any(const struct engine *engine)
{
    return load_relaxed(&engine->timers.kept.any) != 0;
}
/* How many of the timers they are. */
static inline uint32_t kept_timers(const struct engine *engine)
{
    return load_relaxed(&engine->timers.kept.n) - engine->timers.kept.n_sent;
}
/* How many wait, or are on their way; any thread. */
static inline uint32_t kept_count(const struct engine *engine)
{
    return load_relaxed(&engine->timers.kept.n);
}
