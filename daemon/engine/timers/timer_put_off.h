/* SPDX-License-Identifier: Apache-2.0 */
/* Timers that were due while the turn that armed them went on: each is looked at again a while
 * later, but not behind others of its turn.
 *
 * Threads: the control thread, under the mutex of the timers.
 *
 * timer_put_off.PO1  Before anything is sent that a turn has armed, those of that turn that were
 *     put off are due as they were at first: so the timers of a turn come in their order, whenever
 *     somebody has looked at some of them.
 */
#pragma once

#include "daemon/engine/core/core.h"

int timer_put_off_open(struct engine *engine);
void timer_put_off_close(struct engine *engine);
/* The turn that armed it goes on: since when that is waited for, both by CLOCK_MONOTONIC. */
uint64_t timer_put_off_add(struct engine *engine, uint32_t timer, uint64_t now_ns);
/* It is about to be sent. True: others of its turn were put off, and are due now; look at who is
 * first. */
bool timer_put_off_rejoin(struct engine *engine, uint32_t timer);
/* A look begins: those whose turns have been committed are due. */
void timer_put_off_look(struct engine *engine);
