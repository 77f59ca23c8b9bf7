/* SPDX-License-Identifier: Apache-2.0 */
/* A worker: a bound thread that takes ready sources, runs them, steals, sleeps (docs/engine.md,
 * Workers). */
#pragma once

#include "daemon/engine/core.h"

/* The block of one id, thread or control; attached to the segment, not running. */
int worker_new(struct engine *engine, uint32_t id, struct worker **ret_worker);
struct worker *worker_free(struct worker *w);
/* Runs the batch of a message queue whose owner word the caller holds, and releases the word. */
void worker_run_queue(struct worker *w, uint32_t queue);
/* epoch 0, or the coming pause, at which it is to stand first (barrier.h). */
int worker_start(struct worker *w, uint32_t epoch);
void worker_join(struct worker *w);
/* Waits until every worker has come to a point where it runs no plugin code and looks at no port,
 * or the timeout. False: one has not. Control thread. */
bool worker_quiesce(struct engine *engine, uint64_t timeout_ns);
