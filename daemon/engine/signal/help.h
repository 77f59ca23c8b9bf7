/* SPDX-License-Identifier: Apache-2.0 */
/* Having others help: whoever begins a run looks whether somebody sleeps who could take what else
 * there is (docs/engine.md, Sleeping and waking). Model: tests/model/gulp_steal_park.pml, whose
 * rule names stand in brackets; wake.K1 and wake.K2 are wake.h's, park.K5 is park.h's.
 *
 * help.K3  Whoever ends a search or begins a run while somebody sleeps looks for more work and
 *     wakes one [SEARCH_END, RUN_LOOK].
 * help.K4  Ports whose owner polls them ring nobody; if their owner is stuck in a handler, the
 *     stall timer has another worker look after them.  It is armed only while somebody is busy and
 *     somebody sleeps: an idle service makes no system call.
 *
 * Threads: the worker itself; help_watch_arm() also by the control thread; help_watch_now() both,
 * also in a signal handler.
 */
#pragma once

#include "daemon/engine/core/core.h"

/* After the own word was taken with busy set before it: looks whether a sleeper should help. */
void help_begin_run(struct worker *w, uint32_t source);
/* Behind a flush in the middle of a batch, or between the lanes of a mailbox, before the next
 * handler, which may never return: is there work for others, but for the source `except`, which is
 * being run? */
void help_mid_look(struct worker *w, uint32_t except);
void help_end_run(struct worker *w);
/* It searches no more: counted out of its node's searchers. */
void help_search_end(struct worker *w);
bool help_anybody_busy(const struct worker *w);
/* help.K4 */
void help_rescue_arm(struct engine *engine);
/* Has the control thread look at running handlers STALL_LOOK_NS from now, unless it will anyhow
 * (stall.h, stall.WA1). */
void help_watch_arm(struct engine *engine);
/* Has it look at once, whoever has armed what. */
void help_watch_now(struct engine *engine);
/* The control thread, while it will look anyhow: `ns` from now. */
void help_watch_in(struct engine *engine, uint64_t ns);
