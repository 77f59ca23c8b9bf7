/* SPDX-License-Identifier: Apache-2.0 */
/* Quiescent points: what no worker can still be looking at.
 *
 * Threads: the control thread. */
#pragma once

#include "daemon/engine/core/core.h"

/* Waits until every worker has come to a point where it runs no plugin code and looks at no port,
 * or the timeout. False: one has not. */
bool quiesce_wait(struct engine *engine, uint64_t timeout_ns);
