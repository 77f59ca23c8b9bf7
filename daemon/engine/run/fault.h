/* SPDX-License-Identifier: Apache-2.0 */
/* A handler's fault: who, where, on which message; written from a signal stack, read by the next
 * recovery (docs/engine.md, Faults).
 *
 * fault.F1  Only what a handler did by itself leaves a record: a signal that another process sent,
 *     SIGKILL or any other, blames nobody.
 * fault.F2  The record is valid only with the commit count at which it was written
 *     (segment_layout.L4); the tag is stored behind what the blame needs and before the backtrace,
 *     which may fault itself. One that another thread writes has the count that this thread has
 *     seen stand still: a commit meanwhile makes it void, and the death is explained all the same.
 * fault.F3  A process that a handler forked is not the executor: its faults are its own.
 * fault.F4  Each record that a recovery has blamed is told of, and counted once for its type's
 *     quarantine, however often recoveries and those who count are killed: the record itself says
 *     what it is still owed, and the number is stored there before it is the type's.
 *
 * Threads: the one that failed; fault_end_worker() the control thread.
 */
#pragma once

#include "daemon/engine/core/core.h"

/* `verdict`: of the death that is to come (segment_layout.h); a signal from outside explains it. */
void fault_install(_Atomic uint32_t *verdict);
/* Whose thread this is; NULL: nobody's. */
struct worker *fault_this_worker(void);
void fault_thread_enter(struct worker *w);
void fault_thread_leave(struct worker *w);
/* Ends the process, and blames the message that the worker runs if its count stays `count`. */
_Noreturn void fault_end_worker(struct worker *w, uint64_t count, enum segment_fault_kind kind);
