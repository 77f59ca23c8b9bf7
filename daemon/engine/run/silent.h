/* SPDX-License-Identifier: Apache-2.0 */
/* What a silent worker does not get to: where one has not looked at its clock for STALL_LOOK_NS, in
 * a handler or without a processor, a busy one runs its fresh sources (rota.h), too.
 *
 * A worker without work helps of its own accord (steal.h, help.h). Where all have work nobody
 * would, and a call would wait for a handler that it has nothing to do with.
 *
 * silent.SI1  That a worker is told whose sources wait is a hint. It looks at the other's clock
 *     itself before each take, takes as any thief does (steal.T1, steal.T2), and is told no more
 *     when that one is heard, or has nothing.
 * silent.SI2  Behind each source that it runs for the other comes a look at its own.
 * silent.SI3  It takes what is fresh, in turn. What was left has used up turns: whoever floods gets
 *     no second worker by it. In mode `visit` what it has run goes home, where nobody has seen it
 *     use a turn: there a flood has its turn with the others.
 *
 * Under `none` each keeps what it has, and under `share` all take from one list anyhow: nobody is
 * told. A worker that rests (pack.h) helps nobody.
 *
 * Threads: silent_look() the control thread, silent_take() the worker.
 */
#pragma once

#include "daemon/engine/core/core.h"

/* Tells busy workers of silent ones, each of one. */
void silent_look(struct engine *engine);
/* A source taken by compare-and-swap, to be run now, with `busy` set before it; -1: none, or it is
 * the turn of an own one. */
int64_t silent_take_told(struct worker *w);

static inline int64_t silent_take(struct worker *w)
{
    return likely(!load_relaxed(&w->called.silent)) ? -1 : silent_take_told(w);
}
