/* SPDX-License-Identifier: Apache-2.0 */
/* Recovery's part of suspicion (run/suspect.h): what was running at a death that nothing explains.
 *
 * Threads: the control thread, before any worker runs.
 */
#pragma once

#include "daemon/engine/core/core.h"

/* Before anything of the last death is undone: suspect.S1, suspect.S2. */
void accuse_begin(struct engine *engine);
/* The message that the worker was running; before its record is flipped (suspect.S3). */
void accuse_running(struct engine *engine, uint32_t id, struct envelope *envelope);
/* All workers are recovered. */
void accuse_end(struct engine *engine);

/* Names for the log; "" where there is none. */
void accuse_message_name(const struct engine *engine, uint32_t type, char ret[ODEON_NAME_MAX + 1]);
void accuse_type_names(const struct engine *engine, uint32_t type,
                       char ret_type[ODEON_NAME_MAX + 1], char ret_plugin[ODEON_NAME_MAX + 1]);
