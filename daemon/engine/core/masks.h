/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at ready masks: has a worker anything to do, would a helper have, could a thief take
 * anything. All of them are hints: what is taken is decided by owner words (owner.h).
 *
 * Threads: any.
 */
#pragma once

#include "daemon/engine/core/core.h"

/* Any ready bit that this worker looks at; and any that a helper could take as well. */
bool mask_is_empty(const struct worker *w);
bool mask_common_is_empty(const struct engine *engine);
bool mask_has_for_others(const struct worker *w, uint32_t except);
/* Is there a stealable source with work at a busy worker?  *ret_victim: whose, the nearest. */
bool mask_find_stealable(const struct worker *w, uint32_t *ret_victim);

static inline bool mask_source_is_idle_at(const struct engine *e, uint32_t source, uint32_t victim)
{
    return load_relaxed(e->sources[source].own) == own_idle(victim) &&
           !(e->sources[source].flags & SOURCE_FIXED);
}

/* A word of what thieves may take of this worker. */
static inline uint64_t mask_stealable(const struct engine *e, uint32_t victim, uint32_t word)
{
    return load_relaxed(&e->workers[victim]->called.ready[word]) &
           ~load_relaxed(&e->steal.fixed[word]);
}
