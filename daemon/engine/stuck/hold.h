/* SPDX-License-Identifier: Apache-2.0 */
/* Holding a worker's thread still inside a handler, by a signal, so that another thread may change
 * what is the worker's.
 *
 * Threads: hold_begin() and hold_end() by the control thread; the signal's handler by the worker.
 *
 * hold.H1  A worker is held only while it executes a handler's code, or code that the handler has
 *     called outside the engine: seen from the innermost frame of its stack outwards, the last
 *     frame before the engine's own is a handler's.  So it is between two instructions of the
 *     engine that the engine knows: the call of a behaviour, init or fini, and the instruction
 *     behind it.
 * hold.H2  While it is held it executes nothing but the wait.  What the control thread stores
 *     meanwhile it sees (release, acquire of `hold`).
 * hold.H3  A request that is not answered in time is withdrawn by a compare-and-swap; a late signal
 *     finds nothing asked and returns.
 * hold.H4  The holder's flips are no progress of the handler: the stall watch's count follows them
 *     while the worker stands. Read behind its release, it may be that of another handler.
 */
#pragma once

#include "daemon/engine/core/core.h"

enum hold_state { HOLD_NONE, HOLD_ASKED, HOLD_HELD, HOLD_REFUSED };

/* Once a process. */
void hold_install(void);
/* 0: the worker stands inside a handler; -EAGAIN: it is somewhere else just now; -ETIMEDOUT: it
 * does not take signals, or has only just been made; -ENOTSUP: nobody has said what a handler's
 * code is (engine_config.is_handler). */
int hold_begin(struct engine *engine, struct worker *w, uint64_t timeout_ns);
void hold_end(struct worker *w);
