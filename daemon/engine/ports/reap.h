/* SPDX-License-Identifier: Apache-2.0 */
/* Ports that have ended: when their memory and their number are given back (docs/engine.md, Ports
 * as sources). Nobody waits for that: whoever calls this looks again later.
 *
 * Threads: the control thread.
 *
 * reap.RP1  A port that has ended keeps its number, its mappings and its descriptors until nobody
 *     can hold a pointer into its memory; only then its end is told [REAP_EARLY].
 * reap.RP2  Outside a port's lock only workers look at a port that they do not run (port_poll_hot,
 *     port_make_cold, port_steal_from): at the top of their loop, never while they run a mailbox,
 *     never while they sleep.  So a worker holds nothing once it has passed two quiescent points,
 *     sleeps or runs a mailbox, seen behind the barrier of reap.RP4 [REAP_LOOK].  A handler that
 *     hangs, one that is set aside too, keeps no port [REAP_HANG].
 * reap.RP3  Everybody else, detached threads included, comes to a port to deliver, to count what is
 *     refused to it, or to look behind a visit whether it has work again: inside its lock, while it
 *     is open, and touches nothing of it behind the unlock [REAP_COUNT].  The lock in which the
 *     port becomes dead is taken behind the last of them.
 * reap.RP4  Between a port's end and the first look at the workers every thread passes a full
 *     barrier.  Otherwise a look at the port that began before its end could hide behind stores
 *     that nobody sees yet [REAP_FENCE].
 * reap.RP5  A port whose end is heard of while others wait has not been behind their barrier: it
 *     waits for the next one [REAP_JOIN].
 */
#pragma once

#include "daemon/engine/core/core.h"

/* The port's end has been heard of. */
void reap_port(struct engine *engine, uint32_t id, uint32_t why);
/* Gives back what can be.  True: ports are left, and it is to be called again. */
bool reap_collect(struct engine *engine);
bool reap_some_wait(const struct engine *engine);
/* The next port that has been given back since it was asked last.  False: none. */
bool reap_next(struct engine *engine, struct engine_event *ret_event);
