/* SPDX-License-Identifier: Apache-2.0 */
/* How an actor begins: state and init before its first message, whichever that is (actors.A2).
 *
 * Threads: a worker's own, from within a turn.
 */
#pragma once

#include "daemon/engine/core/core.h"
#include "daemon/engine/engine.h"

/* REASON_NONE: the actor has a state and its init has run. Else the message that was to be its
 * first one cannot be run, and this is why. */
enum envelope_reason begin_actor(struct worker *w, struct actor *actor, actor_ref ref);
/* The same of an actor whose state is kept, before each of its messages: what the turn does to the
 * state can be undone from here on. */
enum envelope_reason begin_kept(struct worker *w, struct actor *actor, actor_ref ref);
/* Has the actor in the slot with this key not begun yet? */
bool begin_is_new(const struct worker *w, uint64_t key, actor_ref ref);
