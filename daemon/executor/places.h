/* SPDX-License-Identifier: Apache-2.0 */
/* Processors that come and go while workers run: threads are bound anew at once (topology.h), and
 * the engine, which shows where workers are and steals and spawns by it, is told by a change like
 * any other, behind those that were asked for before (command_later.h).
 *
 * Control thread only.
 *
 * places.PL1  What the engine was told and the topology's plan are the same again as soon as all
 *     workers have stood once: whoever does not come in one try of the engine's holds nobody up for
 *     longer, and is asked again a second later.
 */
#pragma once

#include "daemon/executor/executor.h"

/* Workers run: from here on changes are noticed; also what has changed since they were planned. 0;
 * negative errno: nothing is noticed. */
int places_start(struct executor *executor);
/* The engine is told if what it knows differs. */
void places_ask(struct executor *executor);
/* The handles are closed in the loop's next round; without a start nothing happens. */
void places_stop(struct executor *executor);
