/* SPDX-License-Identifier: Apache-2.0 */
/* Putting changed settings into force while workers run: one transaction of the engine, all or
 * nothing.
 *
 * Control thread only, which waits for nobody: while workers come to the barrier, and go on from
 * it, EXECUTOR_LATER says that it is to be asked again, with the same change (command_later.h).
 */
#pragma once

#include "daemon/executor/executor.h"
#include "daemon/executor/settings_change.h"

enum { RECONFIGURE_TIMEOUT_MS = 2000 }; /* for a worker to come out of its handler */

/* EXECUTOR_LATER; -EINVAL: this machine does not have the places, or the engine refuses; -EBUSY: a
 * handler does not return. Nothing has changed then. */
int reconfigure(struct executor *executor, const struct settings_change *change,
                struct engine_change *ret_done, struct explain *explain);
/* The settings as they are, with the places that the topology has by now; likewise to be asked
 * again, by one who has it in command_later.h. Workers are stopped for one try only. 0;
 * EXECUTOR_LATER; errors as reconfigure(). */
int reconfigure_places(struct executor *executor);
bool reconfigure_is_under_way(const struct executor *executor);
/* The change that was asked for is not made, if it has not been made yet. */
void reconfigure_give_up(struct executor *executor);
