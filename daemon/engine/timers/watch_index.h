/* SPDX-License-Identifier: Apache-2.0 */
/* Which watch of a client's has this id: who gives one up names it by whom it watches, and by the
 * id that its client gave it. In the process's own memory; made anew of the segment's table.
 *
 * Threads: under the mutex of the timers.
 *
 * watch_index.WI1  Each watch of a client's that lives is in the chain of its words' hash, and
 *     nothing else is in any: who looks for one finds the newest of those that have the same words.
 * watch_index.WI2  A client chooses words, and not their hash: that has a key of this process.
 */
#pragma once

#include "daemon/engine/core/core.h"

int watch_index_open(struct engine *engine);
void watch_index_close(struct engine *engine);
/* A timer that is known from now on, or ends: if it is a client's watch. */
void watch_index_add(struct engine *engine, uint32_t timer);
void watch_index_remove(struct engine *engine, uint32_t timer);
/* False: this port has no such watch. */
bool watch_index_find(const struct engine *engine, actor_ref port, actor_ref watched, uint64_t id,
                      uint32_t *ret_timer);
