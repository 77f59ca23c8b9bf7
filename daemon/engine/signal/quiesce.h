/* SPDX-License-Identifier: Apache-2.0 */
/* Quiescent points: what no worker can still be looking at.  Nobody waits for them: they are asked
 * for, and whoever asked looks again.
 *
 * Threads: the control thread.
 *
 * quiesce.Q1  The control thread passes a full barrier between what it has taken away and the first
 *     look.  A worker that is seen asleep, or at two points since, holds nothing of before: it may
 *     have been on its way to the first of them when it looked last.
 */
#pragma once

#include "daemon/engine/core/core.h"

/* From here on. */
void quiesce_ask(struct engine *engine, struct quiesce *quiesce);
/* Every worker has come to a point where it runs no plugin code and looks at no port. False: look
 * again. */
bool quiesce_is_over(struct engine *engine, struct quiesce *quiesce);
/* Or, for one that was asked for: whatever anybody had committed to send by then has left, detached
 * actors included. One who stands in a handler with an empty outbox keeps nobody waiting. */
bool quiesce_has_sent(struct engine *engine, struct quiesce *quiesce);
