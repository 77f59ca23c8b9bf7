/* SPDX-License-Identifier: Apache-2.0 */
/* Spawning: a queue, a slot, a name, and the init record (docs/engine.md, First messages).
 *
 * Threads: whichever worker id runs the turn. The rules are those of actors.h.
 */
#pragma once

#include "daemon/engine/core/core.h"

struct spawn_request {
    uint32_t type;
    enum engine_placement placement;
    uint32_t place;
    const char *name;
    const void *args;
    size_t args_size;
    actor_ref spawned_by;
    uint32_t account; /* segment_actor.account */
};
/* Reserves a slot, registers the name, sends the init record.  Takes effect with the commit. */
int spawn_actor(struct worker *w, const struct spawn_request *request, actor_ref *ret_ref);
