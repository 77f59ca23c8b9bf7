/* SPDX-License-Identifier: Apache-2.0 */
/* A run of a mailbox: its urgent queue and its ordinary one, gulped, attached, run, released or
 * parked (docs/engine.md, Workers). What happens to a message is turn.h's.
 *
 * Threads: the worker, or detached thread, that holds the owner word.
 */
#pragma once

#include "daemon/engine/core/core.h"

/* Runs what is there, a gulp of each lane, or until its share is done or it is told to stop. The
 * caller holds the owner word, which is released. */
void mailbox_run(struct worker *w, uint32_t id, bool stolen);
