/* SPDX-License-Identifier: Apache-2.0 */
/* Names of actors and ports: a table in the segment. An entry is never emptied, only taken over
 * from an actor that has ended: the first such one, or the first that was never used, from where
 * the name belongs. What stands where is looked up in the index of the process (name_index.h).
 *
 * Threads: any worker id, under names_mutex.
 */
#pragma once

#include "daemon/engine/core/core.h"

int actor_names_lookup(struct worker *w, const char *name, actor_ref *ret_ref);
/* As that, but for -EAGAIN: the spawn of one that will have it has not been committed. */
int actor_names_look(struct worker *w, const char *name, actor_ref *ret_ref);
/* Gives the name to `ref`, which does not live yet, or is a port that has none; its slot is told of
 * it. -EEXIST, -ENOSPC. Under names_mutex. */
int actor_names_take(struct engine *engine, const char *name, actor_ref ref);
/* What it is called; "": it has no name. For who holds its slot, or is the control thread. */
const char *actor_names_of(const struct engine *engine, actor_ref ref);
