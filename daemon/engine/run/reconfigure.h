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
 */
#pragma once

#include "daemon/engine/core/core.h"

/* engine_reconfigure, checked. 0, -EBUSY and ret_change->stuck, or the error of a thread that could
 * not be made. */
int reconfigure_run(struct engine *engine, const struct engine_config *config, uint64_t timeout_ns,
                    struct engine_change *ret_change);
