/* SPDX-License-Identifier: Apache-2.0 */
/* The turn: one message run to its commit (docs/engine.md, The turn; docs/commit-protocol.md,
 * Running). Where what it sends goes is place.h's, with the rules place.U3 to place.U5.
 *
 * Threads: a worker's own.
 *
 * turn.U1  One message, one flip: what it consumed, what it sent, whom it ended.
 * turn.U2  The durable word `turn` is 1 while the loop of the turns runs handlers, 0 around
 *     flushes: at a crash, an attached batch with turn 1 has been killed inside the handler of the
 *     record at its committed cursor (or in the few instructions between two).
 */
#pragma once

#include "daemon/engine/core/core.h"

/* Runs the attached batch: to its end, to `limit` messages (at least 1), or until told to stop.
 * Flushes on the way; what the last messages sent may be left in the (committed) outbox. Returns
 * the number of messages. */
uint64_t turn_run_batch(struct worker *w, uint64_t limit);
/* Flush and reset flip, when there is something. */
void turn_flush(struct worker *w);
/* Have all messages that were run so far been counted? A hint, for any thread. */
bool turn_is_published(const struct worker *w);
/* The worker is held in a handler of this loop (stuck/hold.h): counts what has been run. */
void turn_publish_held(struct worker *w);
