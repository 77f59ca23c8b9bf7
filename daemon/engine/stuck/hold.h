/* SPDX-License-Identifier: Apache-2.0 */
/* Holding a worker's thread still inside a handler, by a signal, so that another thread may change
 * what is the worker's.
 *
 * The control thread asks, goes on with its loop, and looks for the answer when the watch's timer
 * says so, which the worker's signal handler sets off. At a stop alone it waits for the answer.
 *
 * Threads: all calls by the control thread; the signal's handler by the worker.
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
 * hold.H5  Who is stopped offers itself, and is held from when the control thread has taken it, by
 *     a compare-and-swap [HOLD_TAKE]. An offer that nobody takes in time is withdrawn by the
 *     worker, by another [HOLD_LEAVE]: a handler never stands for a control thread that has
 *     something else to do.
 * hold.H4  The holder's flips are no progress of the handler: the stall watch's count follows them
 *     while the worker stands. Read behind its release, it may be that of another handler.
 */
#pragma once

#include "daemon/engine/core/core.h"

enum hold_state { HOLD_NONE, HOLD_ASKED, HOLD_OFFERED, HOLD_HELD, HOLD_REFUSED, HOLD_LEFT };

/* Once a process. */
void hold_install(void);
/* Asks the worker to stand still, and waits for nobody. 0; -EAGAIN: it has no thread; -ENOTSUP:
 * nobody has said what a handler's code is (engine_config.is_handler). */
int hold_ask(struct engine *engine, struct worker *w);
/* What has come of it. 0: the worker stands inside a handler, until hold_end(); -EINPROGRESS: its
 * thread has not been there yet; -EAGAIN: it is somewhere else just now; -ETIMEDOUT: it has stood,
 * and gone on. But for -EINPROGRESS nothing is asked any more. */
int hold_answer(struct worker *w);
/* Somebody has answered: the watch's timer is due now. For whoever has just set it. */
bool hold_is_answered(const struct worker *w);
/* Nothing is asked any more; whoever offers itself goes on. */
void hold_withdraw(struct worker *w);
/* The two together, and waits in between. As those; -ETIMEDOUT: it does not take signals, has no
 * processor, or has only just been made. */
int hold_begin(struct engine *engine, struct worker *w, uint64_t timeout_ns);
void hold_end(struct worker *w);
