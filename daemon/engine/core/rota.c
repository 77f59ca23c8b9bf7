/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/core/rota.h"

#include <string.h>

#include "daemon/engine/base/points.h"
#include "daemon/engine/base/ticks.h"

static uint32_t rota_words(const struct worker *w)
{
    return (w->engine->n_sources + 63) / 64;
}

/* rota.RO3.  The next ready source of the class at *from or behind it, round; *from moves behind
 * it. */
static int64_t rota_next_of(const struct worker *w, bool left, uint32_t *from)
{
    uint32_t n_words = rota_words(w);
    for (uint32_t i = 0; i <= n_words; i++) {
        uint32_t word = (*from / 64 + i) % n_words;
        uint64_t bits = load_relaxed(&w->called.ready[word]);
        bits &= left ? w->rota.left[word] : ~w->rota.left[word];
        if (i == 0)
            bits &= ~UINT64_C(0) << (*from % 64);
        if (bits) {
            uint32_t source = word * 64 + (uint32_t)__builtin_ctzll(bits);
            *from = (source + 1) % (n_words * 64);
            return source;
        }
    }
    return -1;
}

static int64_t rota_next_fresh(struct worker *w)
{
    int64_t source = rota_next_of(w, false, &w->rota.fresh_from);
    w->rota.fresh_runs += source >= 0;
    return source;
}

static int64_t rota_next_left(struct worker *w)
{
    int64_t source = rota_next_of(w, true, &w->rota.left_from);
    w->rota.fresh_runs = 0;
    w->rota.left_ended = load_relaxed(&w->pace.looked);
    if (source >= 0) {
        w->rota.left[source / 64] &= ~(UINT64_C(1) << (source % 64));
        w->rota.ran_left = true;
    }
    return source;
}

/* rota.RO2.  The clock is that of the last run: its look is a moment ago. */
static bool rota_is_turn_of_left(struct worker *w)
{
    if (w->rota.ran_left) {
        w->rota.ran_left = false;
        w->rota.left_ended = load_relaxed(&w->pace.looked);
    }
    return w->rota.fresh_runs >= ROTA_FRESH_MOST ||
           (int64_t)(load_relaxed(&w->pace.looked) - w->rota.left_ended) >=
               (int64_t)ticks_of_ns(PACE_SLICE_NS);
}

int64_t rota_next(struct worker *w)
{
    int64_t source = -1;
    if (rota_is_turn_of_left(w))
        source = rota_next_left(w);
    if (source < 0)
        source = rota_next_fresh(w); /* rota.RO1 */
    if (source < 0)
        source = rota_next_left(w);
    engine_check("rota.RO2", w->rota.fresh_runs <= ROTA_FRESH_MOST);
    return source;
}

bool rota_is_short(const struct worker *w)
{
    if (w->rota.ran_left || w->batch.queue == NO_QUEUE)
        return false;
    for (uint32_t word = 0; word < rota_words(w); word++) {
        uint64_t bits = load_relaxed(&w->called.ready[word]) & ~w->rota.left[word];
        if (word == w->batch.queue / 64)
            bits &= ~(UINT64_C(1) << (w->batch.queue % 64));
        if (bits)
            return true;
    }
    return false;
}

void rota_forget(struct worker *w)
{
    memset(w->rota.left, 0, rota_words(w) * sizeof(*w->rota.left));
}
