/* SPDX-License-Identifier: Apache-2.0 */
/* What waited behind a handler that did not return runs before it is tried again.
 *
 * Recovery writes the batch once more behind its end: first the messages of all other actors, then the one that hung and those behind it for
 * the same actor, and makes the copy the batch by one flip.  Within a batch only the order between receivers changes, so that FIFO per
 * sender and receiver stays.
 *
 * AS1  Until the flip the old batch is untouched, behind it the new one is complete: a kill at any instruction finds one of the two.
 *
 * Threads: the control thread, in recovery.
 */
#pragma once

#include <stdbool.h>

#include "daemon/engine/core.h"

/* The worker's valid record names a queue with a batch, its outbox is empty.  False: as it was (there is no room, or nothing to move). */
bool aside_move(struct worker *w);
