/* SPDX-License-Identifier: Apache-2.0 */
/* Work stealing: one compare-and-swap on a source's owner word, then run at once (docs/engine.md, Stealing).
 *
 * Threads: a thief works on its own behalf; a victim does nothing.
 *
 * T1  A source that is taken is run before the thief does anything else: the victim's ready bit may then be cleared.
 * T2  A source being run is never taken [STEAL_RUNNING].
 */
#pragma once

#include "daemon/engine/core.h"

/* A source taken by compare-and-swap, to be run now; -1: none found. */
int64_t steal_try(struct worker *thief);
/* Is there a stealable source with work at a busy worker?  *ret_victim: whose. */
bool steal_look(struct worker *w, uint32_t *ret_victim);
bool steal_anybody_busy(struct worker *w);
