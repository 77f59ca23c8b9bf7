/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers that do not return: found, told to the control thread's owner, and, where that is
 * wanted, ended together with the executor (docs/faults.md, Handlers that do not return).
 *
 * A worker whose commit count stands still while its batch runs is in a handler. The control thread
 * looks at the counts when a timer says so; the timer runs only while some worker is busy, so that
 * an idle service makes no system call for it.
 *
 * stall.WA1  A worker sets `busy`, barrier, reads `watch.armed` and arms the timer if it is 0.  The
 *      control thread, having found nobody busy, stores 0, barrier, and looks at `busy` again.  So
 *      a run is never without a look.
 * stall.WA2  Age is the sum of the times between looks, each at most STALL_STEP_NS: what the whole
 *      process lost (SIGSTOP, a halted machine) makes no handler old.  A thread that could run and
 *      got no processor is as old as its processor time.
 * stall.WA3  The message that is blamed is the one that hung: its count is stored first, the
 *      worker's own signal handler compares.  A handler that has returned meanwhile is forgiven.
 * stall.WA4  No look waits. A thread that is to stand still is asked, and its answer sets the timer
 *      off; whoever sets the timer looks behind that for answers that came before. What comes of it
 *      is told then: a handler that is overdue is told of when it is known whether it is set aside.
 * stall.WA5  While a worker is in a run, a look is due STALL_LOOK_NS behind its last look at its
 *      clock, or before: a run's beginning asks for one so far from then, and each look for the
 *      next one so far behind the oldest of the stamps that it reads; stamps only grow.  A look
 *      that finds one so old asks the worker to stand, so that what was sent before is carried out.
 *
 * Threads: the control thread; help_watch_arm() any worker. Detached actors have a thread of their
 * own and may block: nobody looks at them.
 */
#pragma once

#include "daemon/engine/core/core.h"

int stall_open(struct engine *engine);
void stall_close(struct engine *engine);
