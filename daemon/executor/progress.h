/* SPDX-License-Identifier: Apache-2.0 */
/* What the executor answers to a ping: that its loop turns, and how many workers have stood still
 * since the ping before. What follows from that is the supervisor's decision
 * (daemon/supervisor/watchdog.h). Control thread only. */
#pragma once

#include "daemon/executor/executor.h"

void progress_answer(struct executor *executor, uint64_t command);
