/* SPDX-License-Identifier: Apache-2.0 */
/* What workers leave for the control thread: a list under a mutex, and an eventfd that says that
 * there is something in it. It is emptied by engine_event_next().
 *
 * Threads: events_push() by any; the rest by the control thread.
 */
#pragma once

#include "daemon/engine/core/core.h"

void events_push(struct engine *engine, enum engine_event_kind kind, uint32_t port,
                 uint32_t generation, uint32_t why);
