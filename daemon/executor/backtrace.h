/* SPDX-License-Identifier: Apache-2.0 */
/* Where a fault happened, told in words that mean something after the process has gone:
 * MODULE+0xOFFSET.
 *
 * The loader must not be asked in a signal handler, so its answers are kept: the control thread
 * learns the modules at the start and whenever a plugin comes or goes; the thread that fails reads
 * the table that was published last.
 *
 * backtrace.TR1  A table is complete when it is published, and is not written again before the one
 *      after it has been.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/engine/engine.h"
#include "daemon/executor/plugin.h"

/* Control thread.  `registry` names the plugins. */
void backtrace_learn(const struct plugin_registry *registry);
/* engine_config.is_handler: in a signal handler. */
bool backtrace_is_plugin(void *userdata, const void *pc);
/* engine_config.trace: in a signal handler. */
void backtrace_write(uint64_t instruction, char build_id[ENGINE_BUILD_ID_MAX],
                     char trace[ENGINE_TRACE_MAX]);
