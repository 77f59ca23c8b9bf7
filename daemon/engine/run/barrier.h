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

/* Asks for a pause.  Nobody waits for that: whoever asks looks again, and a worker that stands, or
 * has gone on, rings the doorbell of the events (events.h). */
void barrier_ask(struct engine *engine, uint32_t n);
/* Whether workers [0, n) stand; *come: those below it are known to, 0 at the first look.  Those
 * that are missing are made to look behind their present message. */
bool barrier_have_come(struct engine *engine, uint32_t n, uint32_t *come);
/* Who is missing: of `last_time`, who was at the try before (UINT32_MAX: nobody), and the first one
 * that has not come. */
uint32_t barrier_missing(struct engine *engine, uint32_t n, uint32_t come, uint32_t last_time);
/* The pause that barrier_ask() would ask for next. */
uint32_t barrier_next(struct engine *engine);
/* The pause is over, or is taken back; threads that were made for barrier_next() end if it has not
 * been asked for. */
void barrier_let_go(struct engine *engine);
/* Whether workers [0, n), who all stood, have seen that; *gone as *come. */
bool barrier_have_gone(struct engine *engine, uint32_t n, uint32_t *gone);
/* How long they stood, who have gone on: from the first of [0, old) that stood to the last of [0,
 * n) that went. */
uint64_t barrier_pause_ns(const struct engine *engine, uint32_t n, uint32_t old);
