/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steal.h - stealing a whole queue from another worker.
 *
 * Called by a worker that went round its range twice in vain. Touches only the slots and the time
 * stamps of the workers, and reads the heads of queues; a victim does nothing for it. See steal.c
 * for the invariants.
 */
#ifndef BASELINE_STEAL_H
#define BASELINE_STEAL_H

#include "executor.h"

/* One attempt: choose a victim, a queue of it and an empty queue to give for it, and swap. True if
 * it came about. */
bool steal_queue(struct worker *thief);

#endif
