/* SPDX-License-Identifier: Apache-2.0 */
/* Messages that are not simply run: a correlated message, a first message, a built-in one, one to
 * an actor whose state is kept or that has been set aside, one that cannot be run; and the end of
 * an actor. Each is one flip (turn.U1).
 *
 * Threads: a worker's own, from within a turn.
 */
#pragma once

#include "daemon/engine/core/core.h"
#include "daemon/engine/engine.h"

/* Runs the message at the batch's cursor, for whoever is in the slot of `actor` (may be NULL), and
 * commits it: it ends at `cursor`. `begun`: the receiver's init has been tried with this message,
 * and this is why it failed. */
void special_run(struct worker *w, const struct envelope *envelope, struct actor *actor,
                 enum envelope_reason begun, uint64_t cursor);
/* Commits a message whose behaviour has returned `result`, which says whether its actor ends; then
 * this is why. Who has ended, and has something hang at its slot, is left in w->actors.leaving. */
void special_end(struct worker *w, struct actor *actor, const struct envelope *envelope, int result,
                 enum envelope_reason why, uint64_t cursor);
