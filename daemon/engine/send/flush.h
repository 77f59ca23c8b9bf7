/* SPDX-License-Identifier: Apache-2.0 */
/* The flush: what is committed in an outbox goes to its receivers, a destination a step
 * (docs/commit-protocol.md, Flush). Rules outbox.B1, outbox.B2 and outbox.B4 are outbox.h's.
 *
 * Threads: a worker's own; in recovery, the control thread in the name of each.
 *
 * flush.B3  In a flush step the journal is armed after the copy and before the publish, inside the
 *     lock [J_BEFORECOPY, J_AFTER]; two entries alternate [J_TORN]; the tag is the commit count
 *     [J_NOTAG]; it stays armed behind the unlock [J_DISARM].
 */
#pragma once

#include "daemon/engine/core/core.h"

/* Groups the log, and appends all groups from step `first` (1 = all) to their destinations. The log
 * is committed, the caller flips with out = 0 afterwards, and then calls outbox_reset(). */
void flush_from(struct worker *w, uint32_t first);
/* Of the control thread, which runs no batch: all of that, and what it has sent is counted. Its log
 * is committed. */
void flush_control(struct worker *w);
