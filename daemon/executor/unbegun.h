/* SPDX-License-Identifier: Apache-2.0 */
/* Says in the log which actors could not begin, and why: the first one of a type at once, from then
 * on at most one line a second for each type, with how many it were.
 *
 * Control thread. */
#pragma once

#include "daemon/engine/engine.h"

struct executor;

void unbegun_start(struct executor *executor);
/* What waits to be told is told now. */
void unbegun_stop(struct executor *executor);
void unbegun_on_event(struct executor *executor, const struct engine_event *event);
