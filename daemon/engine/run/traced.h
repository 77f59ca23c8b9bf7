/* SPDX-License-Identifier: Apache-2.0 */
/* Messages with a trace's id (PREFIX_TRACE). While one is run all short ways of sending are closed:
 * what it sends goes the general way, which gives it the id (core/tag.h). Each is run by itself,
 * with the clock, and leaves a record (observe/trace.h), whatever the samples are.
 *
 * traced.TR1  Behind such a message all ways are as before, but the tail's: a record for the queue
 *     that runs has perhaps gone to the outbox (place.U3).
 *
 * Threads: a worker's own, from within a turn.
 */
#pragma once

#include "daemon/engine/core/core.h"

/* Its id; 0: it has none, or is only passed on, to be run elsewhere (observe.OB4). */
uint64_t traced_id(const struct worker *w, const struct actor *actor,
                   const struct envelope *envelope);
/* What the record has of it, before it is run. */
void traced_note(const struct worker *w, const struct actor *actor, const struct envelope *envelope,
                 struct observe_turn *turn);

/* What is put back behind it. */
struct traced {
    uint64_t room;
    uint32_t queue;
};
struct traced traced_begin(struct worker *w, uint64_t id);
void traced_end(struct worker *w, const struct traced *traced);
