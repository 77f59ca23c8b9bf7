/* SPDX-License-Identifier: Apache-2.0 */
/* Names of actors: a table in the segment. An entry is never emptied, only taken over from an actor
 * that has ended.
 *
 * Threads: any worker id, under names_mutex.
 */
#pragma once

#include "daemon/engine/core/core.h"

int actor_names_lookup(struct worker *w, const char *name, actor_ref *ret_ref);
/* The entry of a living actor; else NULL, and in *ret_room one that may be taken, or NULL. Under
 * names_mutex. */
struct segment_name *actor_names_find(struct engine *engine, const char *name,
                                      struct segment_name **ret_room);
