/* SPDX-License-Identifier: Apache-2.0 */
/* Links: an actor that ends when the one that has spawned it ends. Each is a watch (watches.h) of
 * the child's on its parent, whose message is a request to end.
 *
 * Threads: whichever worker id runs the parent's turn.
 *
 * link.LK1  Child and link are there with the same commit, or neither is.
 */
#pragma once

#include "daemon/engine/core/core.h"

/* Within a turn. As spawn_actor(), by the running actor. -EPERM: nobody's turn; further errors of
 * timers_arm(). */
int link_spawn(struct worker *w, uint32_t type, const struct engine_spawn *spawn,
               actor_ref *ret_ref);
