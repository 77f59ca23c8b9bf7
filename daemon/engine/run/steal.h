/* SPDX-License-Identifier: Apache-2.0 */
/* Work stealing: one compare-and-swap on a source's owner word, then run at once (docs/engine.md,
 * Stealing). Further sources may come along with it, idle, each by a compare-and-swap of its own.
 *
 * Threads: a thief works on its own behalf; a victim does nothing.
 *
 * steal.T1  A source that is taken is run before the thief does anything else but take others: the
 *     victim's ready bit may then be cleared [CLEAR_AFTER].
 * steal.T2  A source being run is never taken [STEAL_RUNNING]; a fixed one neither.
 * steal.T3  A source that comes along gets its ready bit here behind its compare-and-swap
 *     [MOVE_BIT]; its bit at the victim is cleared behind that, and set again if the source has
 *     gone back meanwhile [MOVE_BACK]; all of it before the look of begin_run [MOVE_LOOK].
 * steal.T4  Who finds nothing has written no word that others read, but for its own stamp.
 * steal.T5  A search looks at ports behind all victims, and at a few of them, in turn, if it is one
 *     of many: the next one goes on there. A search between two sleeps looks at all.
 */
#pragma once

#include "daemon/engine/core/core.h"

int steal_open(struct engine *engine);
void steal_close(struct engine *engine);
/* Live; control thread.  Sleepers look around under the new ones. */
void steal_set(struct engine *engine, enum steal_policy_id policy, enum steal_mode mode,
               uint32_t sources);

/* A source taken by compare-and-swap, to be run now, with `busy` set before it; -1: none found. */
int64_t steal_try(struct worker *thief);
