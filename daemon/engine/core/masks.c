/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/core/masks.h"

#include "daemon/engine/core/near.h"

static uint64_t mask_word(const struct worker *w, uint32_t word)
{
    uint64_t bits = load_relaxed(&w->called.ready[word]);
    return likely(!load_relaxed(&w->engine->steal.common_used))
               ? bits
               : bits | load_relaxed(&w->engine->steal.common[word]);
}

void mask_summary_renew(struct worker *w)
{
    uint64_t summary = 0;
    if (load_relaxed(&w->called.summary) == 0)
        return;
    (void)atomic_exchange_explicit(&w->called.summary, 0, memory_order_seq_cst);
    full_barrier_after_exchange();
    for (uint32_t i = 0; i * 64 < w->engine->n_sources; i++)
        if (load_relaxed(&w->called.ready[i]))
            summary |= mask_line_bit(i * 64);
    if (summary)
        mask_summary_add(w, summary);
}

bool mask_is_empty(const struct worker *w)
{
    for (uint32_t i = 0; i * 64 < w->engine->n_sources; i++)
        if (mask_word(w, i))
            return false;
    return true;
}

bool mask_common_is_empty(const struct engine *e)
{
    for (uint32_t i = 0; load_relaxed(&e->steal.common_used) && i * 64 < e->n_sources; i++)
        if (load_relaxed(&e->steal.common[i]))
            return false;
    return true;
}

bool mask_has_for_others(const struct worker *w, uint32_t except)
{
    for (uint32_t i = 0; i * 64 < w->engine->n_sources; i++) {
        uint64_t bits = mask_word(w, i) & ~load_relaxed(&w->engine->steal.fixed[i]);
        if (except / 64 == i)
            bits &= ~(UINT64_C(1) << (except % 64));
        if (bits)
            return true;
    }
    return false;
}

/* Is a source ready that nobody runs? */
static bool mask_find_idle(const struct engine *e, uint32_t v)
{
    uint64_t summary = load_relaxed(&e->workers[v]->called.summary);
    if (summary == 0)
        return false;
    for (uint32_t word = 0; word * 64 < e->n_sources; word++)
        if (mask_summary_has(summary, word))
            for (uint64_t bits = mask_stealable(e, v, word); bits; bits &= bits - 1)
                if (mask_source_is_idle_at(e, word * 64 + (uint32_t)__builtin_ctzll(bits), v))
                    return true;
    return false;
}

bool mask_find_stealable(const struct worker *w, uint32_t *ret_victim)
{
    struct engine *e = w->engine;
    for (uint32_t i = 0, n = near_n(w); i < n; i++) {
        uint32_t v = near_id(w, i);
        if (!load_relaxed(&e->workers[v]->shown.busy))
            continue; /* awake or woken: it looks itself before it runs or parks */
        if (mask_find_idle(e, v)) {
            *ret_victim = v;
            return true;
        }
    }
    return false;
}
