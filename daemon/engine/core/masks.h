/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at ready masks: has a worker anything to do, would a helper have, could a thief take
 * anything. All of them are hints: what is taken is decided by owner words (owner.h).
 *
 * A mask has a bit for each source, so a line for each 512: many, of which a worker uses few. What
 * others look for in it begins with its summary, which says which lines may have anything; its
 * owner looks at the mask itself.
 *
 * masks.S1  Who sets a bit in a worker's mask, or finds it set, looks at the summary behind that
 *     and a full barrier, and sets the line's bit there if it is not [SUM_SET]; both before its
 *     look at the sleepers [SUM_LATE].
 * masks.S2  The worker alone clears its summary, now and then, while it has nothing to do: clears
 *     it whole, full barrier, sets it anew from the mask [SUM_FORGET]. So a line without a bit in
 *     the summary has none in the mask either, but for a moment; and whoever was misled then is
 *     found by the setter, or by this worker's next begin_run.
 *
 * Threads: any; mask_summary_renew() by the worker.
 */
#pragma once

#include "daemon/engine/core/core.h"

/* Any ready bit that this worker looks at; and any that a helper could take as well. */
bool mask_is_empty(const struct worker *w);
bool mask_common_is_empty(const struct engine *engine);
bool mask_has_for_others(const struct worker *w, uint32_t except);
/* Is there a stealable source with work at a busy worker?  *ret_victim: whose, the nearest. */
bool mask_find_stealable(const struct worker *w, uint32_t *ret_victim);

enum { MASK_LINE = 512 }; /* sources of a line */

/* The summary's bit for a source; lines 64 apart share one. */
static inline uint64_t mask_line_bit(uint32_t source)
{
    return UINT64_C(1) << (source / MASK_LINE % 64);
}

static inline void mask_summary_add(struct worker *w, uint64_t bit)
{
    atomic_fetch_or_explicit(&w->called.summary, bit, memory_order_seq_cst);
}
/* masks.S2 */
void mask_summary_renew(struct worker *w);

/* masks.S1; else as ready_set_as(). */
static inline bool mask_set_as(struct worker *w, uint32_t source, bool is_new)
{
    bool locked = ready_set_as(w->called.ready, source, is_new);
    if (locked)
        full_barrier_after_exchange();
    if (unlikely(!(load_relaxed(&w->called.summary) & mask_line_bit(source))))
        mask_summary_add(w, mask_line_bit(source));
    return locked;
}
static inline bool mask_set(struct worker *w, uint32_t source)
{
    return mask_set_as(w, source, false);
}

/* Has the word's line anything, as far as a look at the summary said? */
static inline bool mask_summary_has(uint64_t summary, uint32_t word)
{
    return (summary & mask_line_bit(word * 64)) != 0;
}

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
