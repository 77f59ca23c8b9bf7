/* SPDX-License-Identifier: Apache-2.0 */
/* Is what lies in a segment possible? Looked at before recovery changes a byte of it: a handler's
 * wild store, or a file that is not what it seems, must not lead recovery or the workers out of
 * their memory, round in circles, or to records that nobody wrote (docs/shared-memory.md, Damage).
 *
 * Threads: the control thread, before there are workers, and for many records helpers
 * (verify_walk.h) that end before it answers. Reads only.
 *
 * verify.I1  After 0 every offset, length, index and id that recovery and workers take from the
 *     segment is within its table or window, every record that waits begins behind the end of the
 *     one before and ends within its batch, buffer or run, and no two workers are attached to the
 *     same source.
 * verify.I2  Whatever instruction the executor was killed at, the answer is 0: each state of
 *     docs/commit-protocol.md passes.
 * verify.I3  It costs a look at each queue, slot in use, worker and type, and one at the header of
 *     each record that waits.
 */
#pragma once

#include "daemon/engine/core/core.h"

enum { VERIFY_TEXT_MAX = ENGINE_DAMAGE_MAX };

/* 0; -EPROTO: damaged, `text` says what and where; -ENOMEM. */
int verify_segment(const struct engine *engine, char text[static VERIFY_TEXT_MAX]);
