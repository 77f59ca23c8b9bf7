/* SPDX-License-Identifier: Apache-2.0 */
/* What clients post to be sent at a time to come: the worker that takes the record from the port's
 * ring arms a timer with it, whose message it is, in the flip that consumes it. What they post to
 * be told of an end becomes a watch in the same way.
 *
 * Threads: the worker that runs the port, within its visit, under the mutex of the timers.
 *
 * timer_posted.TP1  The timer's tag is the count of the worker that is attached to the port, and
 *     the next flip of that worker has the port's cursor behind the record: there is a timer if,
 *     and only if, the record is consumed [POST_EARLY]. That flip comes before the mutex is given
 *     back: a look never meets one whose tag holds, which would have to wait, and let those that
 *     were posted behind it go first.
 * timer_posted.TP2  What has been accepted does not go with its client: the end of a port ends none
 *     of them, but its watches. Until it has been sent it counts for the client's user, who has at
 *     most half of what the others leave, of numbers and of bytes.
 * timer_posted.TP3  A deadline that is past is that of the moment at which the record is taken:
 *     none is sent before what is due already.
 * timer_posted.TP4  What gives up a client's watch claims it, consumes the record by its next flip,
 *     and ends it behind that, before the mutex is given back [GIVE_LATE, GIVE_EARLY, GIVE_OPEN];
 *     a claim behind which there is no flip is void [GIVE_VOID].
 */
#pragma once

#include <stdbool.h>

#include "proto/envelope.h"
#include "proto/segment_layout.h"

/* It counts for a client's user: a message, a watch (asks/monitor.h), or a group's copy of what the
 * client has published (kept.h). */
static inline bool timer_posted_is(const struct segment_timer *timer)
{
    return timer->posted != 0;
}
/* It counts for its owner, and hangs there: an actor's, or a client's watch, which ends with its
 * port. */
static inline bool timer_posted_hangs(const struct segment_timer *timer)
{
    return !timer_posted_is(timer) || timer->watched != 0;
}
/* A client's message, which does not end with its port. */
static inline bool timer_posted_stays(const struct segment_timer *timer)
{
    return !timer_posted_hangs(timer) && timer->stashed != TIMER_KEPT;
}
static inline uint32_t timer_posted_user(const struct segment_timer *timer)
{
    return (uint32_t)timer->posted;
}
/* The message is a record's copy: when it is to be sent is the timer's from now on, and no more in
 * the message. */
void timer_posted_take_when(struct segment_timer *timer, struct envelope *message);
