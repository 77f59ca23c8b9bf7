/* SPDX-License-Identifier: Apache-2.0 */
/* What a recovery found, told in the log: one line for the recovery, one for each fault that was
 * blamed on a message. Control thread only. */
#pragma once

#include "daemon/engine/engine.h"
#include "daemon/executor/settings.h"

void fault_log_recovery(const struct engine_recovery *recovery);
/* ... and for each type that is put into quarantine for it. */
void fault_log_faults(struct engine *engine, const struct settings *settings);
/* Messages that are suspected of deaths that nothing explains. */
void fault_log_suspects(struct engine *engine);
