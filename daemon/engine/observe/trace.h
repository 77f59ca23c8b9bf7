/* SPDX-License-Identifier: Apache-2.0 */
/* What the last messages of a worker came to, one by one: of those that are samples, of those that
 * were timed by themselves, and of those with a trace's id. A ring in the file of what actors do,
 * so that it can also be read when the executor has died.
 *
 * Threads: those of observed_layout.V1: one writer.
 *
 * trace.T1  A reader of a number that `n` has come to, and that it has not left behind
 *     (observed_layout.V5), has read that message's record, and no other's.
 */
#pragma once

#include "daemon/engine/core/core.h"

struct trace_message {
    uint64_t began_ns, to, from, run_ns, wait_ns, weight, what, id; /* as of an observed_record */
};
void trace_add(struct observed_trace *trace, const struct trace_message *message);
