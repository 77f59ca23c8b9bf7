/* SPDX-License-Identifier: Apache-2.0 */
/* What actors do, by type, by actor and by flow, from samples (proto/observed_layout.h).
 *
 * Who appends records marks one of them every OBSERVE_PERIOD_NS or so, with the time and with how
 * many it stands for; the runner stops in front of it, and times it by itself. Nothing is done for
 * a message that is no sample. Where there are few messages, each is one. What a
 * behaviour that is not known to be quick takes is timed anyway (pace.h): those are counted, not
 * estimated.
 *
 * Threads: a worker's own, but for marks (marks.h); names by the control thread.
 *
 * observe.OB1  Each record that a worker flushes is as likely to be marked as any other, as far as
 *     it is one of the first OBSERVE_WALK of its run; a mark stands for what has been flushed since
 *     the one before it. Tail appends likewise, each for itself. So marks are so many messages
 *     apart, by chance, not so much time: what takes longer would be met more often.
 * observe.OB2  A type's messages are those of samples of quick behaviours, weighted, and of others
 *     one by one: none is counted in both ways. What a sample of the others stood for, less what
 *     has been counted one by one, is the next quick one's: together they are all.
 * observe.OB3  When there is no mark for OBSERVE_PATIENCE_NS, the next message has one, whatever
 *     its number.
 * observe.OB4  What is passed on to an actor that has been set aside is none of its messages yet:
 *     it is neither a sample nor timed, but where it is run.
 */
#pragma once

#include "daemon/engine/base/ticks.h"
#include "daemon/engine/core/core.h"
#include "daemon/engine/observe/marks.h"

enum {
    OBSERVE_PERIOD_NS = PACE_SLOWDOWN * 100 * 1000,
    OBSERVE_PATIENCE_NS = 4 * OBSERVE_PERIOD_NS,
    OBSERVE_WALK = 16,
    OBSERVE_GAP_MOST = 1 << 20,
};
#define OBSERVE_NEVER (UINT64_C(1) << 62) /* as a plan */

/* The file is the executor's, mapped; NULL: nothing is observed. 0 or -ENOMEM. */
int observe_open(struct engine *engine);
void observe_close(struct engine *engine);
/* Control thread: what a type is called from now on, and how large its actors' states are. */
void observe_name_type(struct engine *engine, uint32_t id,
                       const struct engine_actor_type_info *info);

static inline bool observe_is_on(const struct worker *w)
{
    return ODEON_STATISTICS && w->observer.block;
}
/* observe.OB4, of an actor with this key. */
static inline bool observe_is_passed_on(const struct worker *w, uint64_t key)
{
    const struct segment *segment = &w->engine->segment;
    return actor_key_kind(key) == ACTOR_ASIDE &&
           w->batch.queue - segment->aside_first >= segment->workers_max;
}
/* A flush of `n` records begins, its groups are known: perhaps one of them is to be marked. */
void observe_choose(struct worker *w, uint64_t n);
static inline void observe_flush(struct worker *w, uint64_t n)
{
    if (observe_is_on(w) && !w->flush.recovering)
        observe_choose(w, n);
}
/* Under the queue's lock: the group has been appended to the buffer, from `length` on. */
void observe_mark_flushed(struct worker *w, const struct outbox_group *group, unsigned buffer,
                          uint64_t length);
/* A single record is the batch of a queue of ours. */
void observe_mark_direct(struct worker *w, uint32_t queue, unsigned buffer);

/* The batch in this buffer is run by `w` from now on; and not any more. */
void observe_attach(struct worker *w, uint32_t queue, unsigned buffer);
void observe_detach(struct worker *w, bool done);
/* It goes on at the beginning of its buffer; the wrap is still known. */
void observe_unwrap(struct worker *w);
/* What is marked in the buffer of a batch has been moved. */
void observe_forget(struct engine *engine, uint32_t queue, unsigned buffer);

/* A look at the clock, which says `now`. */
static inline void observe_look(struct worker *w, uint64_t now)
{
    if (observe_is_on(w) && now - w->observer.tail.at >= w->engine->observation.patience)
        w->observer.tail.plan = 0; /* observe.OB3 */
}

/* The next message, the one behind the commit `low`, is at a mark or behind one, or near a mark
 * that has been reached, or something is to be marked. So many messages from here the clock is to
 * be looked at: the next one is a sample, or there is something to do then; 0: neither. */
static inline bool observe_wants_aim(const struct worker *w, uint64_t low)
{
    return w->batch.cursor >= w->batch.probe || w->observer.reached ||
           (int64_t)(w->observer.tail.plan - low) < w->pace.every;
}
uint64_t observe_aim(struct worker *w, uint64_t low);
/* That one has been run, at `now`; of a quick behaviour. */
void observe_hit(struct worker *w, uint64_t now);
/* One has been timed by itself, sample or not; what has been sent since the counts were last
 * published is its. */
void observe_timed(struct worker *w, const struct observe_turn *turn, uint64_t ns);
/* The last one was taken for quick, and has run for so long at least (pace.T5). It is counted as
 * what it was taken for, and leaves a record. */
void observe_surprise(struct worker *w, actor_ref who, uint64_t ns);
/* One could not be run: it leaves its record here, and none where it is timed. */
void observe_refused(struct worker *w, const struct envelope *envelope, uint32_t type,
                     enum envelope_reason reason);
