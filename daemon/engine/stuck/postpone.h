/* SPDX-License-Identifier: Apache-2.0 */
/* What waited behind a handler that did not return runs before it is tried again.
 *
 * Recovery writes all that the queue holds once more, behind the end of its batch: first the
 * messages for all other actors, then the one that hung and those behind it for the same actor. One
 * flip makes the copy the batch; the active buffer is empty then. Only the order between receivers
 * changes, so that FIFO per sender and receiver stays.
 *
 * postpone.PP1  Until the flip the queue is untouched, behind it the new batch is complete: a kill
 *      at any instruction finds one of the two.
 * postpone.PP2  The flip's record says that the active buffer is in the batch.  Whoever finds that
 *      record makes it empty, again if need be; nobody appends to it before: workers recovered
 *      earlier have nothing left to append, later ones come behind.
 *
 * Threads: the control thread, in recovery.
 */
#pragma once

#include <stdbool.h>

#include "daemon/engine/core/core.h"

/* The worker's valid record names a queue with a batch, its outbox is flushed. False: all is as it
 * was (there is no room, or nothing to move). */
bool postpone_move(struct worker *w);
/* postpone.PP2 */
void postpone_redo(struct engine *engine, const struct segment_commit *slot);
