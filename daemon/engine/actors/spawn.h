/* SPDX-License-Identifier: Apache-2.0 */
/* Spawning: a queue, a slot, a name, and the init record (docs/engine.md, First messages).
 *
 * Threads: whichever worker id runs the turn. The rules are those of actors.h.
 */
#pragma once

#include "daemon/engine/core/core.h"

/* Reserves a slot, registers the name, sends the init record. Takes effect with the commit; what
 * fails has none, and leaves *ret_ref alone. `spawn` is what the caller was given: every word of it
 * is copied once, into the slot. */
int spawn_actor(struct worker *w, uint32_t type, actor_ref by, const struct engine_spawn *spawn,
                actor_ref *ret_ref);
/* The same for an actor that asks for nothing but a place, PLACE_NEAR or PLACE_SPREAD. */
int spawn_plain(struct worker *w, uint32_t type, enum engine_placement placement,
                actor_ref *ret_ref);
