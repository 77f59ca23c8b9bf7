/* SPDX-License-Identifier: Apache-2.0 */
/* What workers leave for the control thread: a list under a mutex, and an eventfd that says that
 * there is something in it. It is emptied by engine_event_next().
 *
 * Threads: events_push() and events_ring() by any; the rest by the control thread.
 *
 * events.V1  There is room for all that can be told at once, and nothing is forgotten for lack of
 *     memory: a port's number comes again when its end has been heard, and what is there already is
 *     not told twice.
 */
#pragma once

#include "daemon/engine/core/core.h"

int events_open(struct engine *engine);
void events_push(struct engine *engine, enum engine_event_kind kind, uint32_t id,
                 uint32_t generation, uint32_t why);
/* Has the control thread look, also where nothing is in the list: somebody has come to where it
 * wants him (barrier.h). By any thread. */
void events_ring(struct engine *engine);
