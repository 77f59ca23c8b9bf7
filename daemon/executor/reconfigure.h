/* SPDX-License-Identifier: Apache-2.0 */
/* Putting changed settings into force while workers run: one transaction of the engine, all or
 * nothing.
 *
 * Control thread only.  The event loop stands still meanwhile, RECONFIGURE_TIMEOUT_MS at most.
 */
#pragma once

#include "daemon/executor/executor.h"
#include "daemon/executor/settings_change.h"

enum { RECONFIGURE_TIMEOUT_MS = 2000 }; /* for a worker to come out of its handler */

/* -EINVAL: this machine does not have the places, or the engine refuses; -EBUSY: a handler does not
 * return. Nothing has changed then. */
int reconfigure(struct executor *executor, const struct settings_change *change,
                struct engine_change *ret_done, struct explain *explain);
