/* SPDX-License-Identifier: Apache-2.0 */
/* Messages with optional words that are simply run all the same: calls, questions, their answers,
 * and what has been passed on. Their receiver is there, nothing is to be said of it or of them,
 * nobody traces them, and their behaviour is known to be quick. All others are special.h's, which
 * does the same for these, and looks at more.
 *
 * worded.WD1  What it does not run it leaves untouched: no question is taken, nothing is counted.
 *
 * Threads: a worker's own, from within a turn.
 */
#pragma once

#include "daemon/engine/core/core.h"

/* Runs the message, which ends at `cursor`, and commits it, as special_run() does; false: it is not
 * such a one. */
bool worded_run(struct worker *w, const struct envelope *envelope, struct actor *actor,
                uint64_t cursor);
