/* SPDX-License-Identifier: Apache-2.0 */
/* Actors with a thread of their own, for handlers that block (docs/engine.md, Detached actors).
 *
 * Slot i has the worker id workers_max + i, with commit record and outbox as a worker, and runs
 * message queue detached(i) and nothing else. Its thread is made for the first actor that takes the
 * slot, sleeps on a futex when there is nothing to run, and is kept for the next one. It neither
 * steals nor stands at the barrier.
 *
 * Threads: take, give_back by whoever spawns; signal by whoever has appended; ended by the slot's
 * thread (before the start, the control thread);
 * start and join by the control thread. What the thread does is own_thread_main.h's.
 *
 * own_thread.N1  `taken` is 0 or the type of the one actor that has the slot, from before its queue
 *     can have anything until its thread is behind the run that ended it.
 * own_thread.N2  Signal: bit, barrier, then `asleep` is looked at.  Thread: `asleep`, barrier,
 *     then the bit.
 * own_thread.N3  A type is retired only when no slot is taken by it: its thread may still be at the
 *     type's code when its last actor counts as ended.  Taking: type into `taken`, barrier, is the
 *     type still there?  Retiring: type gone, barrier, `taken`.
 */
#pragma once

#include "daemon/engine/core/core.h"

/* A free slot for an actor of this type, with its thread. -ENOSPC: all are taken; -ESRCH: the type
 * is going; -EAGAIN: no thread to be had. */
int own_thread_take(struct worker *w, uint32_t type, uint32_t *ret_queue);
void own_thread_give_back(struct engine *engine, uint32_t slot);
void own_thread_ended(struct worker *w, uint32_t slot);
/* The queue of the detached id has got work. */
void own_thread_signal(struct engine *engine, struct worker *me, uint32_t id, uint32_t queue);
/* Threads for the slots that have an actor or messages (engine_start). */
int own_thread_start_all(struct engine *engine);
/* Does the slot have a thread, which may have left? */
bool own_thread_runs(const struct engine *engine, uint32_t slot);
/* `stopping` is set: they are to see it. */
void own_thread_wake_all(struct engine *engine);
/* `stopping` is set: wakes them and waits for their ends. */
void own_thread_join_all(struct engine *engine);
/* own_thread.N3 */
bool own_thread_runs_type(struct engine *engine, uint32_t type);
