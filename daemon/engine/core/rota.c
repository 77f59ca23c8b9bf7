/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/core/rota.h"

#include <string.h>

#include "daemon/common/clock.h"
#include "daemon/engine/base/points.h"
#include "daemon/engine/base/processor.h"
#include "daemon/engine/base/ticks.h"

static uint32_t rota_words(const struct worker *w)
{
    return (w->engine->n_sources + 63) / 64;
}

/* The next ready source of the class at *from or behind it, round; *from moves behind it. */
static int64_t rota_next_of(const struct worker *w, bool marked, uint32_t *from)
{
    uint32_t n_words = rota_words(w), word = *from / 64;
    for (uint32_t i = 0; i <= n_words; i++, word = word + 1 < n_words ? word + 1 : 0) {
        uint64_t bits = load_relaxed(&w->called.ready[word]);
        bits &= marked ? w->rota.marked[word] : ~w->rota.marked[word];
        if (i == 0)
            bits &= ~UINT64_C(0) << (*from % 64);
        if (bits) {
            uint32_t source = word * 64 + (uint32_t)__builtin_ctzll(bits);
            *from = source + 1 < n_words * 64 ? source + 1 : 0;
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

/* How far before it the row is; 0: it has been there, or the place is in another worker's. */
static uint32_t rota_ahead(const struct worker *w, bool spent, uint32_t place)
{
    uint32_t ahead = (place - w->rota.row[spent]) & ~ROTA_SPENT;
    return ahead <= ROTA_USED_MOST ? ahead : 0;
}

/* rota.RO3: the foremost of those that are spent, or of those that are not. */
static int64_t rota_next_foremost(struct worker *w, bool spent)
{
    uint32_t from = w->rota.marked_from[spent], least = UINT32_MAX, looks = 0;
    int64_t first = -1, next = -1;
    for (uint32_t all = 0; all < ROTA_LOOKS_AT_ALL && looks < ROTA_LOOKS && least > 0; all++) {
        int64_t source = rota_next_of(w, true, &from);
        if (source < 0 || source == first)
            break;
        first = first < 0 ? source : first;
        uint32_t place = load_relaxed(&w->engine->sources[source].place);
        if (((place & ROTA_SPENT) != 0) != spent)
            continue;
        looks++;
        uint32_t ahead = rota_ahead(w, spent, place);
        if (ahead >= least)
            continue;
        least = ahead;
        next = source;
        w->rota.marked_from[spent] = from;
    }
    w->rota.row[spent] += next < 0 ? 0 : least;
    return next;
}

/* rota.RO6 */
static int64_t rota_next_by_turns(struct worker *w)
{
    bool spent = !w->rota.ran_spent;
    int64_t source = rota_next_foremost(w, spent);
    if (source < 0) {
        spent = !spent;
        source = rota_next_foremost(w, spent);
    }
    if (source >= 0)
        w->rota.ran_spent = spent;
    return source;
}

static int64_t rota_next_marked(struct worker *w)
{
    int64_t source = rota_next_by_turns(w);
    w->rota.fresh_runs = 0;
    w->rota.marked_ended = load_relaxed(&w->pace.looked);
    if (source >= 0) {
        w->rota.marked[source / 64] &= ~(UINT64_C(1) << (source % 64));
        w->rota.ran_marked = true;
    }
    return source;
}

/* rota.RO2.  The clock is that of the last run: its look is a moment ago. */
static bool rota_is_turn_of_marked(struct worker *w)
{
    if (w->rota.ran_marked) {
        w->rota.ran_marked = false;
        w->rota.marked_ended = load_relaxed(&w->pace.looked);
    }
    return w->rota.fresh_runs >= ROTA_FRESH_MOST ||
           (int64_t)(load_relaxed(&w->pace.looked) - w->rota.marked_ended) >=
               (int64_t)ticks_of_ns(PACE_SLICE_NS);
}

int64_t rota_next(struct worker *w)
{
    int64_t source = -1;
    if (rota_is_turn_of_marked(w))
        source = rota_next_marked(w);
    if (source < 0)
        source = rota_next_fresh(w); /* rota.RO1 */
    if (source < 0)
        source = rota_next_marked(w);
    engine_check("rota.RO2", w->rota.fresh_runs <= ROTA_FRESH_MOST);
    return source;
}

bool rota_is_short(const struct worker *w)
{
    if (w->rota.ran_marked || w->batch.queue == NO_QUEUE)
        return false;
    for (uint32_t word = 0; word < rota_words(w); word++) {
        uint64_t bits = load_relaxed(&w->called.ready[word]) & ~w->rota.marked[word];
        if (word == w->batch.queue / 64)
            bits &= ~(UINT64_C(1) << (w->batch.queue % 64));
        if (bits)
            return true;
    }
    return false;
}

void rota_forget(struct worker *w)
{
    memset(w->rota.marked, 0, rota_words(w) * sizeof(*w->rota.marked));
    w->rota.cpu_at = 0;
}

/* rota.RO5.  What the thread has not used of the time, it has lacked or slept: only then is asked
 * which. */
uint64_t rota_look_at_processor(struct worker *w, uint64_t now)
{
    uint64_t at = w->rota.cpu_at, used = w->rota.cpu_ns, lacked = w->rota.lacked_ns;
    w->rota.cpu_at = now;
    w->rota.cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
    uint64_t passed = ticks_to_ns(now - at);
    used = w->rota.cpu_ns - used;
    if (at && passed < used + ROTA_USED_NS / 4)
        return 0;
    w->rota.lacked_ns = processor_lacked_ns();
    if (at == 0)
        return 0;
    lacked = w->rota.lacked_ns - lacked;
    return lacked < passed - used ? lacked : passed - used;
}

uint32_t rota_used_by_long(struct worker *w)
{
    if (!w->is_thread)
        return 0; /* a detached actor's has nobody beside it */
    uint64_t ran = ticks_to_ns(load_relaxed(&w->pace.looked) - w->rota.began),
             lacked = rota_look_at_processor(w, ticks_now()),
             used = ran > lacked ? (ran - lacked) / ROTA_USED_NS : 0;
    return used < ROTA_USED_MOST ? (uint32_t)used : ROTA_USED_MOST;
}
