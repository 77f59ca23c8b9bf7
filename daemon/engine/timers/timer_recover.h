/* SPDX-License-Identifier: Apache-2.0 */
/* What recovery makes of timers (docs/engine/timers.md). The rules are those of timers.h.
 *
 * Threads: recovery's.
 */
#pragma once

#include "daemon/engine/core/core.h"

/* The flip of one that fired is there: its words are stored, whether or not they had been. Before
 * anything else is looked at of timers. */
void timer_recover_redo(struct engine *engine);
/* Those that no commit stands behind, and cancels that none does; before any count changes. How
 * many of the first. */
uint64_t timer_recover_undo(struct engine *engine);
/* What is free, what is due. 0, -ENOMEM. */
int timer_recover_rebuild(struct engine *engine);
