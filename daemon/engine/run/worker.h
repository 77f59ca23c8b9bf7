/* SPDX-License-Identifier: Apache-2.0 */
/* A worker: a bound thread that takes ready sources, runs them, steals, sleeps (docs/engine.md,
 * Workers). */
#pragma once

#include "daemon/engine/core/core.h"

/* The block of one id, thread or control; attached to the segment, not running. */
int worker_new(struct engine *engine, uint32_t id, struct worker **ret_worker);
struct worker *worker_free(struct worker *w);
/* epoch 0, or the coming pause, at which it is to stand first (barrier.h). */
int worker_start(struct worker *w, uint32_t epoch);
void worker_join(struct worker *w);
/* The same, where the thread has ended; it waits for nobody. False: it has not. */
bool worker_has_ended(struct worker *w);
