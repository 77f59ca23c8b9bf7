/* SPDX-License-Identifier: Apache-2.0 */
/* Which of a worker's own ready sources is run next (docs/scheduling.md, Whose turn it is).
 *
 * A source is *marked* when the last run that this worker gave it has used up a turn: the run was
 * cut at the limit of messages and left work, or it lasted for ROTA_TURN_NS and had ROTA_USED_NS of
 * a processor in that time. Those of the marked that were *left* with work are told from those that
 * are *spent*: they had no more, and have got some since. All others are *fresh*. Of a port it does
 * not matter whether anything was left: its client fills it as fast as it is emptied.
 *
 * rota.RO1  A fresh source is run before marked ones: a call does not wait for the slices of all
 *     that have a lot to do.
 * rota.RO2  A marked one is run all the same, behind ROTA_FRESH_MOST fresh ones in a row, or when
 *     PACE_SLICE_NS have gone by since the last such run.
 * rota.RO3  Fresh ones go round. So do spent ones, and those that were left, but for those that
 *     have used little of a processor: each has its place in the row of its kind, as far behind the
 *     place of the one that was run last as its own run has used, in ROTA_USED_NS, at most
 *     ROTA_USED_MOST; the next is the foremost, and among equals it goes round. So whoever was
 *     marked by mistake, or wants little more than a turn, is run soon, and nobody is overtaken for
 *     ever: the row comes to each place.
 *     A port's run counts as ROTA_USED_MOST, whatever it has used: what it takes in is more work.
 * rota.RO4  The turn of a fresh source ends behind ROTA_TURN_NS and a message while others are
 *     fresh: where many get a lot to do in one moment, each has been run soon, and is told from
 *     those who want little.  The turn of one that was marked is a whole one.
 * rota.RO5  Whoever lacked a processor has not used up a turn: a run counts as what it lasted less
 *     all that its thread lacked since the last look at that. Where others want the processors,
 *     too, everybody's runs last long, and a call would else wait with those who compute. A handler
 *     that sleeps lacks none: it keeps the worker as one does that computes. The kernel is asked
 *     behind a run that has lasted for a turn; from then on, until there is nothing to do, before a
 *     run as well, when it was last asked ROTA_LOOK_NS ago, or nobody has looked at the clock for
 *     ROTA_GAP_NS, since then the thread may have lacked one. Without a look before it a run counts
 *     as long as it lasted.
 * rota.RO6  Every other turn of marked ones is a spent one's, if there is any among the next
 *     ROTA_LOOKS_AT_ALL: who asks for some milliseconds, and for the next ones when it has its
 *     answer, does not wait for a slice of each that is flooded.
 *
 * The marks are hints and the worker's own: a stale one, of a source that somebody else has run
 * meanwhile, costs that source one place in the row. Whether it is run is decided by its ready bit
 * and its owner word. A place in another worker's row says nothing here, and is none unless it
 * happens to be near.
 *
 * Threads: the worker alone.
 */
#pragma once

#include "daemon/engine/base/ticks.h"
#include "daemon/engine/core/core.h"

enum {
    ROTA_FRESH_MOST = 64,
    ROTA_TURN_NS = 1000 * 1000,
    ROTA_USED_NS = ROTA_TURN_NS / 5, /* of a processor: a worker that four others are beside */
    ROTA_USED_MOST = 10,             /* ... so many of them count, of one run */
    ROTA_LOOKS = 64,                 /* at so many that are marked, for who has used least */
    ROTA_LOOKS_AT_ALL = 512,         /* ... at those of the other class, too */
    ROTA_LOOK_NS = 8 * ROTA_TURN_NS,
    ROTA_GAP_NS = ROTA_TURN_NS / 2,
};

/* Of a source's place, the highest bit: it was spent. The others are its place in the row. */
#define ROTA_SPENT (UINT32_C(1) << 31)

/* A source with a ready bit in the worker's own mask, which the caller clears; -1: none. */
int64_t rota_next(struct worker *w);
/* Nothing is ready: nothing is marked, either. */
void rota_forget(struct worker *w);

/* Is the mailbox that is run now to have a short turn? For a run that has lasted for one: it looks
 * through the mask. */
bool rota_is_short(const struct worker *w);

/* For how long the thread has lacked a processor since the last look, in ns. */
uint64_t rota_look_at_processor(struct worker *w, uint64_t now);
/* The same as rota_used(), of a run that has lasted for a turn. */
uint32_t rota_used_by_long(struct worker *w);

/* A run begins, at this time in ticks, later than the last look at the clock. */
static inline void rota_begin(struct worker *w, uint64_t now)
{
    w->rota.began = now;
    if (unlikely(w->rota.cpu_at) &&
        (now - w->rota.cpu_at >= ticks_of_ns(ROTA_LOOK_NS) ||
         now - load_relaxed(&w->pace.looked) >= ticks_of_ns(ROTA_GAP_NS)))
        (void)rota_look_at_processor(w, now);
}

/* rota.RO5.  What the run that has ended at the last look at the clock has used of a processor, in
 * ROTA_USED_NS; 0: no turn. Once for each run. */
static inline uint32_t rota_used(struct worker *w)
{
    int64_t ran = (int64_t)(load_relaxed(&w->pace.looked) - w->rota.began);
    bool is_long = ran >= (int64_t)ticks_of_ns(ROTA_TURN_NS);
    return unlikely(is_long) ? rota_used_by_long(w) : 0;
}

/* What both of the following do. */
static inline void rota_mark(struct worker *w, uint32_t source, bool marked, uint32_t used,
                             bool spent)
{
    uint64_t *word = &w->rota.marked[source / 64], bit = UINT64_C(1) << (source % 64);
    if (unlikely(marked))
        store_relaxed(&w->engine->sources[source].place,
                      ((w->rota.row[spent] + used) & ~ROTA_SPENT) | (spent ? ROTA_SPENT : 0));
    *word = marked ? *word | bit : *word & ~bit;
}

/* A run of this mailbox by this worker has ended, and has used so much; `full`: it was cut at the
 * limit of messages. */
static inline void rota_note(struct worker *w, uint32_t source, bool left, bool full, uint32_t used)
{
    rota_mark(w, source, used || (left && full), used ? used : 1, !left);
}

/* The same of a port: it has used up a turn, or not. */
static inline void rota_note_port(struct worker *w, uint32_t source, bool used)
{
    rota_mark(w, source, used, ROTA_USED_MOST, false);
}

static inline bool rota_is_marked(const struct worker *w, uint32_t source)
{
    return w->rota.marked[source / 64] >> (source % 64) & 1;
}
