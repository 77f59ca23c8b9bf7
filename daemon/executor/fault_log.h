/* SPDX-License-Identifier: Apache-2.0 */
/* What a recovery found, told in the log: one line for the recovery, one for each fault that was blamed on a message.
 * Control thread only. */
#pragma once

#include "daemon/engine/engine.h"

void fault_log_recovery(const struct engine_recovery *recovery);
void fault_log_faults(const struct engine *engine);
