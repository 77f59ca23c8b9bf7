/* SPDX-License-Identifier: Apache-2.0 */
/* A handler's fault: who, where, on which message; written from a signal stack, read by the next recovery (docs/engine.md, Faults).
 *
 * Only a fault of a worker inside a turn leaves a record: an outside SIGKILL blames nobody.  The record is valid only with the
 * commit count at which it was written (L4). */
#pragma once

#include "daemon/engine/core.h"

void fault_install(void);
/* Whose thread this is; NULL: nobody's. */
struct worker *fault_this_worker(void);
void fault_thread_enter(struct worker *w);
void fault_thread_leave(struct worker *w);
