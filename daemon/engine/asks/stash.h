/* SPDX-License-Identifier: Apache-2.0 */
/* The stash: messages that an actor has been handed, and puts off until it wants them again.
 *
 * What is put off is a timer of the actor (timers/timers.h) that is never due, whose message is the
 * whole record as it came: sender, correlation id, what the service says of it. Putting it off is
 * arming, and taking it back is a cancel together with a send to the urgent lane of the actor's own
 * mailbox, which comes before all that waits there. So no store comes in another order than theirs.
 *
 * Threads: whichever worker id runs the actor's turn, under the timers' mutex; how a stash ends is
 * the control thread's (timer_fire.h).
 *
 * stash.ST1  A message is in the stash with the commit of the turn that put it there, which is the
 *     one that consumes it [STASH_OPEN], and in the lane with that of the turn that takes it back,
 *     which ends the stash's hold on it [STASH_BOTH]: it is in one place.
 * stash.ST2  They come back in the order in which they were put off, before what waits in the
 *     actor's queue: behind a turn that takes some back no ordinary message is run before them, but
 *     for what the mailbox's throughput lets through.
 * stash.ST3  An actor has at most so many, and so many bytes: beyond that it is told, and counted.
 * stash.ST4  An actor that ends, or begins another life, gets none of them: each is told to its
 *     client, to who has asked it, or is a dead letter, with a reason of its own, by one flip that
 *     ends the timer [STASH_END].
 */
#pragma once

#include "daemon/engine/core/core.h"

/* Within a turn; `message` is the payload that it handles. 0; -EALREADY: this turn has put it off
 * already; -ENOBUFS: stash.ST3; -EAGAIN: errors of timers_arm(); -EPERM: there is no message. */
int stash_put(struct worker *w, const void *message);
/* Within a turn: those that were put off first, `most` of them at most, 0: all. How many;
 * -ENOBUFS: the outbox has no room for them; -EAGAIN: the lane is at its limit; -EPERM: nobody's
 * turn. */
int stash_take(struct worker *w, uint32_t most);
/* How many an actor has; any thread. *ret_bytes: of their places. */
uint32_t stash_count(struct engine *engine, actor_ref who, uint64_t *ret_bytes);
