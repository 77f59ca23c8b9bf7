/* SPDX-License-Identifier: Apache-2.0 */
/* Setting an actor aside whose handler does not return: its worker goes on with it, and with
 * nothing else, and the rest of the batch that it holds up, and all that comes later for the other
 * actors of that queue, is run by others (docs/engine.md, Stuck handlers).
 *
 * Each worker has a queue for that, its aside queue. The two queues exchange buffers: the aside
 * queue gets the one with the record that is being run, which so stays where the handler has it, as
 * a batch of this one record; the queue gets an empty one with a copy of what was behind it. What
 * comes for the actor through its queue takes a detour (detour.h, with the rule detour.A4).
 *
 * Threads: the control thread, with the worker held (hold.h) and so in its name.
 *
 * set_aside.A1  What the running handler has done is its own and not committed: it has sent nothing
 *     behind the batch, spawned nobody, and its actor's state is not kept in the segment; else its
 *     worker is left alone (-EAGAIN).  Its sends in the outbox stay there.
 * set_aside.A2  One flip names the new batch and, as a redo, what the two queues become
 *     (COMMIT_ASIDE); then these words are stored, then a second flip names the batch alone.
 *     Nobody else runs either queue meanwhile, so a kill in between finds the redo true and does it
 *     again, and a kill behind it finds none.
 * set_aside.A3  Out of the loop: the held worker's next commit is a flip in full (outbox.wanted =
 *     0), whatever the handler was called from, and reads all that it names from memory.  The short
 *     way into its outbox is closed (outbox.room = 0) until the run of that record is over.
 * set_aside.A5  After a crash it is known from the aside queue's first record who is set aside.
 * set_aside.A6  The aside queue is empty, but who it was for has had no message since, and so has
 *     not come back: that is done here, if nobody who runs its own queue may have something for it
 *     in an outbox; else not now (-EAGAIN).
 * set_aside.A7  What the messages before the running one sent is flushed first, in the worker's
 *     name: the queue's next runner must not overtake it [REL_FLUSH], and it does not wait for a
 *     handler that it has nothing to do with.
 * set_aside.A8  What else the worker owns goes to the others in turn, idle as it is [GIVE_RUNNING],
 *     and stays there: a busy worker looks at what is not its own only when it has nothing to run
 *     [GIVE_NOT]. Each is signalled behind the move [GIVE_FIRST] and a barrier [GIVE_FENCE], with
 *     work or without [GIVE_SILENT]: who saw the old owner has set the bit there.  In mode visit
 *     nothing is sent home to it while it runs its aside queue [AWAY_HOME]: who sends home looks
 *     behind that, and a barrier, whether it is away by now, and takes the source back [AWAY_LOOK];
 *     here it is away, barrier, then what it owns.  What is given to it meanwhile is found by
 *     thieves, as ever.  Not with stealing `none`.
 * set_aside.A9  Is nobody there to give to, its ports ring from then on, polled or not [GIVE_DEAF]:
 *     thieves do not look through the ports of who is away.
 */
#pragma once

#include "daemon/engine/core/core.h"

#define SET_ASIDE_NOT_HELD "it could not be stopped inside the handler"

/* The worker is held in a handler of `actor`, and has run it for long. 0: it is held no longer;
 * otherwise it still is: -EAGAIN: not as things stand (set_aside.A1); -EBUSY: its aside queue is in
 * use. *reterr_text says which. */
int set_aside_held(struct engine *engine, uint32_t worker, actor_ref actor,
                   const char **reterr_text);
/* Holds it, waiting for that, and does so. Further -EAGAIN, -ETIMEDOUT, -ENOTSUP: of hold_begin();
 * whatever comes of it, the worker is held no longer. */
int set_aside_actor(struct engine *engine, uint32_t worker, actor_ref actor, uint64_t timeout_ns,
                    const char **reterr_text);

/* set_aside.A2, from a record that carries it; set_aside.A5. */
void set_aside_redo(struct engine *engine, const struct segment_commit *slot);
void set_aside_rebuild(struct engine *engine);
