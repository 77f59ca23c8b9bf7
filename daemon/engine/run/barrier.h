/* SPDX-License-Identifier: Apache-2.0 */
/* Where workers stand still while the control thread changes what they all read.
 *
 * Threads: barrier_stand and barrier_enlist by a worker, at a point where it holds nothing: outbox
 * flushed, no batch attached, no owner word running, not busy, sleepers bit clear, no wake-up under
 * way to it. The rest by the control thread. Detached threads are never stopped: a blocking handler
 * may last for ever.
 *
 * barrier.G1  engine.pause is even while workers run, odd while they are to stand.  A worker that
 *     stands says so with the very number, so one that comes late for a pause that was taken back
 *     is not taken for one that stands in the next [STALE_JOIN].
 * barrier.G2  It stands until the number changes.  What the control thread stores before that
 *     (release) it sees behind it (acquire).
 * barrier.G3  Sleepers: the pause is stored, barrier, then their bits are claimed and they are
 *     woken [WAKE_PARKED]; a worker sets its bit, barrier, then looks whether there is a pause
 *     [PARK_PAUSE].  Nobody is woken whose bit was not claimed [WAKE_UNCLAIMED]; so once all stand
 *     no bit is set and no wake-up is under way.
 */
#pragma once

#include "daemon/engine/core/core.h"

/* Returns when the pause is over. */
void barrier_stand(struct worker *w);
/* The first thing of a worker's thread that is made for a coming pause (start_epoch): it stands
 * already. */
void barrier_enlist(struct worker *w);

/* Asks for a pause and waits until workers [0, n) stand. 0; -EBUSY: *stuck did not come in time,
 * nobody stands any more. *stuck before: the one of the try before, UINT32_MAX: none; it is named
 * again if it is missing again. */
int barrier_close(struct engine *engine, uint32_t n, uint64_t timeout_ns, uint32_t *stuck);
/* The pause that barrier_close() would ask for next. */
uint32_t barrier_next(struct engine *engine);
/* Lets [0, n) go; waits until each has seen it. Returns how long they stood: from the first of [0,
 * old) that stood to the last that went. */
uint64_t barrier_open(struct engine *engine, uint32_t n, uint32_t old);
/* Takes back what was prepared for barrier_next(): threads that were made for it end. */
void barrier_skip(struct engine *engine);
