/* SPDX-License-Identifier: Apache-2.0 */
/* Changing what all workers read, and how many they are, while messages flow (docs/engine.md,
 * Reconfiguration; tests/model).
 *
 * Threads: the control thread, while all workers stand (barrier.h). Detached threads and their
 * signals go on; they are the only ones that append meanwhile.
 *
 * reconfigure.X1  Only volatile state changes: a kill at any point is a kill as any other.
 * reconfigure.X2  While all stand, no message queue's owner word is running but those of detached
 *     threads, nobody else changes an owner word, and of ports only dead ones have one that runs.
 *     So plain stores move sources [MOVE_RUNNING].
 * reconfigure.X3  Owner words, the number of workers and the policy first, then a full barrier,
 *     then every source is looked at, and those with work get their bit.  Against an appender
 *     (publish, full barrier, owner): one of the two sees the other [SCAN_ORDER].
 * reconfigure.X4  A bit is cleared before that look only [CLEAR_AFTER].
 * reconfigure.X5  Nobody waits: workers are asked, and looked for again, by whoever calls this,
 *     until all stand; the change is made in the very turn that finds them so, before anything else
 *     of the control thread's.  While they come, and while they go on, the control thread does its
 *     other work, as a detached thread does.
 */
#pragma once

#include "daemon/engine/core/core.h"

/* The first step. 0; -EALREADY: another change is under way. */
int reconfigure_ask(struct engine *engine, uint32_t n_workers, uint64_t timeout_ns);
/* Until it does not say -EINPROGRESS any more.  0: all stand; -EBUSY: *ret_stuck did not come in
 * time, or the error of a thread that could not be made: it is over, and nothing has changed. */
int reconfigure_look(struct engine *engine, uint32_t *ret_stuck);
/* At once then.  The configuration has been checked. */
void reconfigure_make(struct engine *engine, const struct engine_config *config);
/* Until it does not say -EINPROGRESS any more: 0, it is over. */
int reconfigure_end(struct engine *engine, struct engine_change *ret_change);
/* Workers go on, nothing changes that has not; waits for threads that end.  Before the engine
 * stops. */
void reconfigure_cancel(struct engine *engine);
