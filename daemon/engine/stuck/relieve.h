/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker's earlier messages have sent is carried out in its name while it stands in a
 * handler that takes long (docs/scheduling.md, When a send leaves).
 *
 * A behaviour that was always quick is entered with sends of others in the outbox (pace.h); if it
 * then takes a second, those would wait for it.
 *
 * Threads: the control thread, with the worker held (hold.h) and so in its name.
 *
 * No model has it: its stores are a flush, a flip, and the outbox behind that. The crash points "a
 * worker is relieved", whose handler has sent nothing or something, kill behind each of them.
 *
 * relieve.RV1  Only what is committed goes; what the running handler has sent meanwhile stays, and
 *     is committed with it. It moves to the outbox's beginning behind the flip that says that the
 *     outbox is empty.
 * relieve.RV2  The flip behind the flush gives the running turn another count. So nothing may carry
 *     the count that it has: it has spawned nobody, copied no state, and the batch goes on in no
 *     second piece that is not committed; else the worker is left alone (-EBUSY).
 * relieve.RV3  The worker's next commit is a flip in full, as with set_aside.A3.
 * relieve.RV4  What has been run before this handler is counted by then, whether anything can be
 *     carried out or not (stats_layout.S1).
 */
#pragma once

#include "daemon/engine/core/core.h"

/* Is there anything to carry out? A hint, of a worker that is not held. */
bool relieve_is_wanted(const struct worker *w);
/* The worker is held inside a handler: carries out what is committed. */
void relieve_held(struct engine *engine, struct worker *w);
/* The same if that may be done now, and counts what has been run. 0; -EBUSY: not as things stand
 * (relieve.RV2). The worker is held on. */
int relieve_held_worker(struct engine *engine, struct worker *w);
/* Holds the worker, waiting for that, and does so.  Further -EAGAIN, -ETIMEDOUT: not at this
 * moment; -ENOTSUP: never (hold_begin). */
int relieve_worker(struct engine *engine, uint32_t worker, uint64_t timeout_ns);
