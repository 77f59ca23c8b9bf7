/* SPDX-License-Identifier: Apache-2.0 */
/* Recovery, which is how every start begins (docs/commit-protocol.md, Recovery).
 *
 * Threads: the control thread, before any worker runs.
 *
 * recover.V1  Every store here may be the last one: run again from the first pass, recovery ends in
 *     the same state.
 * recover.V2  The order of the passes is the point: journals of all workers forward, then locks,
 *     then slots, then each worker.
 */
#pragma once

#include "daemon/engine/core/core.h"

int recover_run(struct engine *engine, struct engine_recovery *ret_report);
