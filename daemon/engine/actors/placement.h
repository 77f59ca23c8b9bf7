/* SPDX-License-Identifier: Apache-2.0 */
/* Which queue an actor gets, and whose a source is (docs/engine.md, Placement).
 *
 * Threads: placement_choose and the counts by whoever spawns or ends an actor; the rest by the
 * control thread, before the start or while all workers stand.
 *
 * placement.M1  An actor's queue is for life: what a worker's going changes is who runs the queue.
 * placement.M2  New actors go to queues of workers that run (a detached thread that spawns while
 *     the number changes may still see the old one).
 * placement.M3  The queues of a worker that does not run belong to others, in turn, those of its
 *     memory node first.
 * placement.M4  SPREAD deals blocks: so many siblings in a row share a queue that, of their type's
 *     living actors, a block is at most a half of a queue's share and an eighth of a worker's, and
 *     never more than PLACEMENT_BLOCK_MOST; those of a type that has fewer than
 *     PLACEMENT_BLOCK_LEAST a queue are dealt one by one (docs/engine/actors.md, Placement).
 */
#pragma once

#include "daemon/engine/core/core.h"

/* Homes, owners and flags of all message queues.  Before anybody runs. */
void placement_init(struct engine *engine);
/* Whose this source is while `n` workers run. */
uint32_t placement_home(struct engine *engine, uint32_t source, uint32_t n);

/* The queue for a new actor, which counts as one of its from now on. -EINVAL, -ENODEV, -ENOSPC,
 * -EAGAIN as engine.h says. */
int placement_choose(struct worker *w, uint32_t type, enum engine_placement placement,
                     uint32_t place, uint32_t *ret_queue);
/* Actors of a message queue, spawned and not ended; a snapshot, for the control thread. */
uint32_t placement_live(struct engine *engine, uint32_t queue);
/* It has come to nothing. */
void placement_undo(struct worker *w, uint32_t queue);
/* Actors that recovery found, and those that end. */
void placement_actor_found(struct engine *engine, uint32_t queue, uint32_t type);
void placement_actor_ended(struct worker *w, uint32_t queue);
