/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/run/turn.h"

#include "daemon/engine/actors/brief.h"
#include "daemon/engine/base/points.h"
#include "daemon/engine/commit/commit.h"
#include "daemon/engine/observe/observe.h"
#include "daemon/engine/run/begin.h"
#include "daemon/engine/run/pace.h"
#include "daemon/engine/run/special.h"
#include "daemon/engine/run/traced.h"
#include "daemon/engine/run/worded.h"
#include "daemon/engine/send/detour.h"
#include "daemon/engine/send/flush.h"
#include "daemon/engine/send/place.h"
#include "daemon/engine/signal/help.h"
#include "daemon/engine/timers/timers.h"

static inline uint64_t turn_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void turn_publish_counts(struct worker *w)
{
    stat_add(w, STAT_messages_sent, w->outbox.n_logged + w->place.n_tail_appends);
    stat_add(w, STAT_tail_appends, w->place.n_tail_appends);
    stat_add(w, STAT_sends_failed, w->place.n_failed);
    w->outbox.n_flushed -= w->outbox.n_logged; /* what waits is counted when it is flushed */
    w->outbox.n_logged = w->place.n_tail_appends = w->place.n_failed = 0;
    brief_publish(w);
}

/* Those up to commit `low`. */
static void turn_publish_messages(struct worker *w, uint64_t low)
{
    stat_add(w, STAT_messages_processed, low - load_relaxed(&w->pace.counted));
    store_relaxed(&w->pace.counted, low);
    turn_publish_counts(w);
}

bool turn_is_published(const struct worker *w)
{
    return load_relaxed(&w->pace.counted) == (segment_count(w->durable) & COMMIT_LOW_MASK);
}

/* Flips that are no messages are set right when the loop resumes: all in all each message counts
 * once. */
void turn_publish_held(struct worker *w)
{
    turn_publish_messages(w, commit_low(w->slot));
}

void turn_flush(struct worker *w)
{
    if (w->outbox.length == 0)
        return;
    POINT(outbox);
    flush_from(w, 1);
    outbox_reset(w);
    /* outbox.B2: before the next record is written */
    commit_flip(w, w->batch.source, w->batch.cursor, w->batch.tail, 0, 0, 0);
}

/* Tails and senders that do not know the receiver's index are plain messages, too; only the look-up
 * is longer. */
static engine_behaviour_fn turn_plain_behaviour(const struct actor_type *type, uint64_t meta)
{
    if (meta >> 40 || (uint16_t)meta < MESSAGE_TYPE_FIRST_PLAIN ||
        (uint16_t)meta >= ODEON_MESSAGE_TYPES_MAX)
        return NULL;
    uint8_t index = type->index_of[(uint16_t)meta];
    const struct behaviour_shape *shape = &type->shapes[index];
    uint32_t longer = (uint32_t)(uint16_t)(meta >> 16) - shape->size;
    return longer <= shape->slack && pace_is_quick(type, index) ? type->behaviours[index].run
                                                                : NULL;
}

/* The behaviour to run, NULL: something is special about this record. */
static inline engine_behaviour_fn
turn_behaviour_of(const struct worker *w, const struct actor *actor, uint64_t want, uint64_t meta)
{
    uint64_t key = load_relaxed(&actor->key);
    if (unlikely((key & ~ACTOR_KEY_TYPE_MASK) != want))
        return NULL;
    const struct actor_type *type = load_relaxed(&w->turn.types[actor_key_type(key)]);
    const struct behaviour_slot *behaviour = &type->behaviours[(meta >> 32) & 0xff];
    if (unlikely(load_relaxed(&behaviour->meta) != meta))
        return turn_plain_behaviour(type, meta);
    if (!behaviour->run)
        __builtin_unreachable(); /* a slot with a meta word has a function */
    return behaviour->run;
}

/* turn.U2 */
static void turn_running_set(struct worker *w, uint64_t running)
{
    crash_order();
    store_relaxed(&w->durable->turn, running);
    crash_order();
}

/* The state of the loop: what a look, or a message that is not plain, may change. */
struct turn_loop {
    uint64_t low;  /* of the count, as committed; the four that follow are such, too */
    uint64_t end;  /* here the limit is reached */
    uint64_t look; /* here the clock is looked at (pace.h); it was at `looked` */
    uint64_t looked;
    uint64_t stop; /* the nearer one of `end` and `look` */
    /* where the batch, its first piece, or what is before the next sample, ended when that was last
     * looked at */
    uint64_t bound;
};

/* With a message that has been found: it is to be run, or was, and then the next one may be, or the
 * loop has to look first. */
enum turn_next { TURN_RUN, TURN_NEXT, TURN_LOOK };

static void turn_loop_look_at(struct turn_loop *loop, uint64_t low)
{
    loop->look = low;
    loop->stop = (int64_t)(loop->look - loop->end) < 0 ? loop->look : loop->end;
}

static void turn_loop_look_after(struct turn_loop *loop, uint32_t messages)
{
    loop->looked = loop->low;
    turn_loop_look_at(loop, loop->low + messages);
}

/* Commits that were not a message's own move the limit. */
static void turn_loop_resume(struct turn_loop *loop, struct worker *w, uint64_t messages)
{
    uint64_t low = commit_low(w->slot), moved = low - loop->low - messages;
    w->ctx.self = 0; /* nobody's: the next message is looked up */
    loop->low = low;
    if (likely(moved == 0))
        return;
    loop->end += moved;
    loop->look += moved;
    loop->looked += moved;
    loop->stop += moved;
    store_relaxed(&w->pace.counted, load_relaxed(&w->pace.counted) + moved);
}

static void turn_loop_flush(struct turn_loop *loop, struct worker *w)
{
    turn_running_set(w, 0);
    brief_publish(w);
    turn_flush(w);
    help_mid_look(w, w->batch.queue);
    turn_running_set(w, 1);
    turn_loop_resume(loop, w, 0);
}

/* What has been run since the last look counts from now on. */
static void turn_loop_publish(struct turn_loop *loop, struct worker *w)
{
    turn_publish_messages(w, loop->low);
    loop->looked = loop->low;
}

/* As many messages as are run without a look at the clock are behind us. */
static __attribute__((noinline)) void turn_loop_pace(struct turn_loop *loop, struct worker *w)
{
    bool due;
    if (w->pace.behind_at != loop->low)
        w->pace.behind = 0;
    uint32_t next = pace_look(w, (uint32_t)(loop->low - loop->looked), &due);
    turn_loop_publish(loop, w);
    if (due && w->outbox.length > 0)
        turn_loop_flush(loop, w);
    turn_loop_look_after(loop, next);
}

static __attribute__((noinline)) void turn_loop_aim(struct turn_loop *loop, struct worker *w)
{
    uint64_t n = observe_aim(w, loop->low);
    if (n > 0 && loop->low + n < loop->look)
        turn_loop_look_at(loop, loop->low + n);
}

/* Between two messages, at the loop's bound or when something was wanted.  False: no more now. */
static bool turn_loop_look(struct turn_loop *loop, struct worker *w)
{
    if (unlikely(loop->low == loop->look || (pace_is_called(w) && loop->low != loop->looked)))
        turn_loop_pace(loop, w);
    if (w->outbox.length >= OUTBOX_FLUSH_BYTES || unlikely(w->outbox.sent_urgent > 0))
        turn_loop_flush(loop, w);
    outbox_want(w);
    if (unlikely(pace_is_called(w)))
        store_relaxed(&w->pace.called, 0); /* in the middle of this look: pace.T5 */
    if (w->batch.wrap != 0 && w->batch.cursor == w->batch.wrap) {
        place_unwrap(w);
        turn_loop_resume(loop, w, 0);
    }
    uint64_t bound = w->batch.wrap ? w->batch.wrap : w->batch.tail;
    if (unlikely(load_relaxed(w->turn.gives_way))) /* urgent.G3 */
        return false;
    w->turn.gives_way = w->turn.gives_way_to;
    if (w->batch.cursor == bound || loop->low == loop->end || w->pace.over || worker_wants_halt(w))
        return false;
    if (unlikely(observe_wants_aim(w, loop->low)))
        turn_loop_aim(loop, w);
    loop->bound = turn_least(bound, w->batch.probe);
    return true;
}

/* A plain message to an actor that has not been initialised yet: it is now. The behaviour to run,
 * or NULL. */
static __attribute__((noinline)) engine_behaviour_fn
turn_loop_begin_otherwise(struct worker *w, struct actor *actor, const uint64_t *words,
                          enum envelope_reason *ret_reason)
{
    uint64_t to = words[0], meta = words[2], key = load_acquire(&actor->key),
             want = actor_ref_upper(to) | (w->turn.key_live ^ ACTOR_LIVE ^ ACTOR_NEW);
    if ((key & ~ACTOR_KEY_TYPE_MASK) != want || meta >> 40 ||
        (uint16_t)meta < MESSAGE_TYPE_FIRST_PLAIN)
        return NULL;
    const struct actor_type *type = load_acquire(&w->turn.types[actor_key_type(key)]);
    if (!type || !pace_is_quick(type, BEHAVIOUR_NONE))
        return NULL;
    w->ctx.self = to;
    w->ctx.sender = words[1];
    w->ctx.meta = meta;
    *ret_reason = begin_actor(w, actor, to);
    return *ret_reason == REASON_NONE
               ? turn_behaviour_of(w, actor, want ^ ACTOR_NEW ^ ACTOR_LIVE, meta)
               : NULL;
}

/* Of another kind than those before, for which the next one goes the shorter way. */
static __attribute__((noinline)) engine_behaviour_fn
turn_loop_begin_kind(struct worker *w, struct actor *actor, const uint64_t *words,
                     enum envelope_reason *ret_reason)
{
    (void)brief_begin_kind(w, (uint32_t)load_relaxed(&actor->key) ^ ACTOR_NEW ^ ACTOR_LIVE);
    return turn_loop_begin_otherwise(w, actor, words, ret_reason);
}

/* The same for who begins with nothing but a key (brief.L3), of this worker's own spawns: they are
 * committed, for it is between two turns. */
static __attribute__((noinline)) engine_behaviour_fn
turn_loop_begin(struct worker *w, struct actor *actor, const uint64_t *words,
                enum envelope_reason *ret_reason)
{
    uint64_t to = words[0], meta = words[2],
             key = load_acquire(&actor->key) ^ ACTOR_NEW ^ ACTOR_LIVE;
    uint32_t slot = actor_ref_slot(to);
    if (unlikely((key & ~ACTOR_KEY_TYPE_MASK) != (actor_ref_upper(to) | w->turn.key_live) ||
                 w->turn.slots[slot].spawn_worker != w->id))
        return turn_loop_begin_otherwise(w, actor, words, ret_reason);
    const struct actor_type *type = load_acquire(&w->turn.types[actor_key_type(key)]);
    if (unlikely(!type))
        return NULL;
    const struct behaviour_slot *behaviour = &type->behaviours[(meta >> 32) & 0xff];
    if (unlikely(load_relaxed(&behaviour->meta) != meta || !type->is_brief ||
                 load_relaxed(type->quarantined)))
        return turn_loop_begin_otherwise(w, actor, words, ret_reason);
    if (unlikely(w->actors.brief.kind != (uint32_t)key))
        return turn_loop_begin_kind(w, actor, words, ret_reason);
    w->actors.brief.begun = to;
    w->turn.states[slot] = &actors_no_state;
    store_release(&actor->key, key);
    return behaviour->run;
}

/* An actor has ended at whose slot something hangs. If it is watched, what it has sent leaves
 * before anybody is told (watches.W2). */
static __attribute__((noinline)) void turn_loop_leave(struct turn_loop *loop, struct worker *w,
                                                      actor_ref who)
{
    if (!timers_leave(w, who))
        return;
    turn_loop_publish(loop, w);
    if (w->outbox.length > 0)
        turn_loop_flush(loop, w);
    timers_watched_leave(w, who);
}

/* What has been sent for a client leaves in its name, and nothing else does (group.G6). */
static __attribute__((noinline)) void turn_loop_flush_account(struct turn_loop *loop,
                                                              struct worker *w)
{
    turn_loop_publish(loop, w);
    if (w->outbox.length > 0)
        turn_loop_flush(loop, w);
    w->flush.account = 0;
}

/* A message has been run and committed by one of the longer ways. */
static void turn_loop_behind(struct turn_loop *loop, struct worker *w, uint64_t cursor)
{
    w->batch.cursor = cursor;
    turn_loop_resume(loop, w, 1);
    if (unlikely(w->flush.account))
        turn_loop_flush_account(loop, w);
    if (unlikely(w->actors.leaving)) {
        turn_loop_leave(loop, w, w->actors.leaving);
        w->actors.leaving = 0;
    }
}

/* A message that is not plain (`actor` is its receiver's slot), or one that has been run and ended
 * its actor (`actor` NULL). */
static __attribute__((noinline)) void turn_loop_special(struct turn_loop *loop, struct worker *w,
                                                        struct actor *actor,
                                                        enum envelope_reason begun, int result)
{
    struct envelope *envelope = (struct envelope *)(w->batch.base + w->batch.cursor);
    uint64_t cursor = w->batch.cursor + envelope_record_size(envelope);
    if (actor)
        special_run(w, envelope, actor, begun, cursor);
    else
        special_end(w, &w->turn.actors[actor_ref_slot(envelope->to)], envelope, result,
                    REASON_FINISHED, cursor);
    turn_loop_behind(loop, w, cursor);
}

/* One with a trace's id. */
static void turn_loop_traced(struct turn_loop *loop, struct worker *w, struct actor *actor,
                             enum envelope_reason begun, struct observe_turn *turn)
{
    traced_note(w, actor, (struct envelope *)(w->batch.base + w->batch.cursor), turn);
    struct traced traced = traced_begin(w, turn->trace);
    turn_loop_special(loop, w, actor, begun, 0);
    traced_end(w, &traced);
}

/* Behind a message, which ended at `cursor` and has been committed. False: the loop has to look. */
static inline __attribute__((always_inline)) bool
turn_loop_goes_on(struct turn_loop *loop, const struct worker *w, uint64_t cursor)
{
    if (cursor == loop->bound)
        /* which appends have moved, unless the batch ends here, or goes on at the beginning */
        loop->bound = turn_least(w->batch.tail, w->batch.probe);
    return likely(cursor < loop->bound && loop->low != loop->stop);
}

/* One that has words more, but is plain otherwise. False: it is not, and has not been run. */
static inline bool turn_loop_worded(struct turn_loop *loop, struct worker *w, struct actor *actor,
                                    enum turn_next *ret_next)
{
    struct envelope *envelope = (struct envelope *)(w->batch.base + w->batch.cursor);
    uint64_t cursor = w->batch.cursor + envelope_record_size(envelope);
    enum worded_outcome outcome = worded_run(w, envelope, actor, cursor);
    if (unlikely(outcome == WORDED_NOT))
        return false;
    bool goes_on;
    if (likely(outcome == WORDED_RUN)) {
        w->ctx.self = 0; /* nobody's: the next message is looked up */
        w->batch.cursor = cursor;
        loop->low++;
        goes_on = turn_loop_goes_on(loop, w, cursor);
    } else {
        turn_loop_behind(loop, w, cursor);
        goes_on = !outbox_wants_flip(w) && !pace_is_called(w) &&
                  turn_loop_goes_on(loop, w, w->batch.cursor);
    }
    *ret_next = goes_on ? TURN_NEXT : TURN_LOOK;
    return true;
}

/* A message that is not plain, for `actor`: one of a behaviour that is not known to be quick, or
 * that is traced, is run by itself, with the clock (pace.T2). */
static __attribute__((noinline)) void turn_loop_strange(struct turn_loop *loop, struct worker *w,
                                                        struct actor *actor,
                                                        enum envelope_reason begun)
{
    uint32_t index;
    struct envelope *envelope = (struct envelope *)(w->batch.base + w->batch.cursor);
    if (unlikely(actor_key_kind(load_relaxed(&actor->key)) == ACTOR_ASIDE))
        detour_come_back(w, actor, envelope->to);
    struct actor_type *type = pace_stranger(w, actor, envelope, &index);
    uint64_t trace = unlikely(envelope->prefix & PREFIX_TRACE) ? traced_id(w, actor, envelope) : 0;
    if (!type && !trace) {
        turn_loop_special(loop, w, actor, begun, 0);
        return;
    }
    turn_loop_publish(loop, w);
    if (w->outbox.length > 0)
        turn_loop_flush(loop, w);
    struct observe_turn turn = { .to = envelope->to,
                                 .from = envelope->from,
                                 .message = envelope->type,
                                 .type = type ? type->id : 0,
                                 .began = ticks_now() };
    w->observer.refused = false;
    if (trace)
        turn_loop_traced(loop, w, actor, begun, &turn);
    else
        turn_loop_special(loop, w, actor, begun, 0);
    uint32_t next = pace_learn(w, type, index, &turn);
    turn_loop_publish(loop, w);
    if (w->outbox.length > 0)
        turn_loop_flush(loop, w);
    turn_loop_look_after(loop, next);
}

/* Messages come in bursts: what was found out about one holds for the next one to the same actor,
 * of the same kind. Whose and which it is stands in the context (self, meta). */
struct turn_found {
    engine_behaviour_fn run;
    void *state;
    uint64_t size; /* of the record */
};

static __attribute__((noinline)) enum turn_next turn_loop_otherwise(struct turn_loop *loop,
                                                                    struct worker *w,
                                                                    struct actor *actor,
                                                                    enum envelope_reason begun)
{
    enum turn_next next = TURN_LOOK;
    if (!turn_loop_worded(loop, w, actor, &next))
        turn_loop_strange(loop, w, actor, begun);
    return next;
}

/* A message that is not of the burst: it can be run, or was special, and has been. */
static inline __attribute__((always_inline)) enum turn_next
turn_loop_find(struct turn_loop *loop, struct worker *w, struct turn_found *found,
               const uint64_t *words, uint64_t cursor)
{
    uint64_t to = words[0], meta = words[2];
    found->size = envelope_size((uint16_t)(meta >> 16));
    /* in range: checked where the record was made */
    struct actor *actor = &w->turn.actors[actor_ref_slot(to)];
    found->run = turn_behaviour_of(w, actor, actor_ref_upper(to) | w->turn.key_live, meta);
    if (unlikely(!found->run)) {
        enum envelope_reason begun = REASON_NONE;
        found->run = meta >> 40 ? NULL : turn_loop_begin(w, actor, words, &begun);
        if (!found->run) {
            w->batch.cursor = cursor;
            return turn_loop_otherwise(loop, w, actor, begun);
        }
    }
    found->state = w->turn.states[actor_ref_slot(to)];
    w->ctx.self = to;
    w->ctx.meta = meta;
    return TURN_RUN;
}

/* A commit that goes the long way: what a spawn has held back, or the whole record. False: the loop
 * has to look. */
static __attribute__((noinline)) bool turn_loop_commit_wanted(struct turn_loop *loop,
                                                              struct worker *w, uint64_t cursor)
{
    if (w->place.newborn)
        place_newborn_settle(w);
    if (likely(!outbox_wants_flip(w) && !pace_is_called(w))) {
        commit_message(w, cursor);
        return turn_loop_goes_on(loop, w, cursor);
    }
    /* with all that can have changed */
    commit_flip(w, w->batch.source, cursor, w->batch.tail, w->outbox.length, 0, 0);
    w->pace.behind = w->ctx.self;
    turn_loop_resume(loop, w, 0); /* it may have been held (relieve.RV2) */
    w->pace.behind_at = loop->low;
    return false;
}

/* A plain message has ended its actor. False: the loop has to look. */
static __attribute__((noinline)) bool
turn_loop_end_otherwise(struct turn_loop *loop, struct worker *w, uint64_t cursor, int result)
{
    w->batch.cursor = cursor;
    turn_loop_special(loop, w, NULL, REASON_NONE, result);
    return !outbox_wants_flip(w) && !pace_is_called(w) &&
           turn_loop_goes_on(loop, w, w->batch.cursor);
}

/* The same of a brief life (brief.h). */
static __attribute__((noinline)) bool turn_loop_end(struct turn_loop *loop, struct worker *w,
                                                    uint64_t cursor, uint64_t size, int result)
{
    uint64_t to = envelope_words((struct envelope *)(w->batch.base + cursor))[0],
             behind = cursor + size;
    uint32_t slot = actor_ref_slot(to);
    if (unlikely(result != ALLOCATION_DELETE ||
                 !brief_may_end(w, to, load_relaxed(&w->turn.actors[slot].key))))
        return turn_loop_end_otherwise(loop, w, cursor, result);
    if (w->place.newborn) {
        if (unlikely(!place_newborn_is_sent_to(w)))
            return turn_loop_end_otherwise(loop, w, cursor, result);
        place_newborn_settled(w);
        if (unlikely(pace_is_called(w)))
            return turn_loop_end_otherwise(loop, w, cursor, result);
    }
    if (unlikely(outbox_wants_flip(w) || !commit_is_next(loop->low)))
        return turn_loop_end_otherwise(loop, w, cursor, result);
    POINT(actor_ends, w, to, result);
    commit_flip(w, w->batch.source, behind, w->batch.tail, w->outbox.length, to,
                commit_end_how(ALLOCATION_DELETE, REASON_FINISHED));
    bool attached = brief_ended(w, slot, to);
    loop->low++;
    w->ctx.self = 0; /* nobody's: the next message is looked up */
    w->batch.cursor = behind;
    if (unlikely(attached))
        turn_loop_leave(loop, w, to);
    return turn_loop_goes_on(loop, w, behind);
}

/* turn.U1, of a plain message, which ended at `cursor`. False: the loop has to look. */
static inline __attribute__((always_inline)) bool
turn_loop_commit(struct turn_loop *loop, struct worker *w, uint64_t cursor)
{
    POINT(handler);
    loop->low++;
    if (unlikely(outbox_wants_flip(w)))
        return turn_loop_commit_wanted(loop, w, cursor);
    commit_store(w->slot, commit_where(cursor, w->batch.tail),
                 commit_what(w->outbox.length, loop->low));
    return turn_loop_goes_on(loop, w, cursor);
}

uint64_t turn_run_batch(struct worker *w, uint64_t limit)
{
    struct turn_loop loop = { .low = commit_low(w->slot), .end = commit_low(w->slot) + limit };
    struct turn_found found = { 0 };
    uint64_t cursor;
    turn_loop_look_after(&loop, pace_begin(w));
    store_relaxed(&w->pace.counted, loop.low);
    w->ctx.self = 0;
    turn_running_set(w, 1);
    while (turn_loop_look(&loop, w)) {
        cursor = w->batch.cursor;
        for (;;) {
            struct envelope *envelope = (struct envelope *)(w->batch.base + cursor);
            const uint64_t *words = envelope_words(envelope);
            uint64_t to = words[0], meta = words[2];
            /* Both are usual: neither is to be laid out of the loop's way. */
            if (__builtin_expect_with_probability(to != w->ctx.self || meta != w->ctx.meta, 1,
                                                  0.5)) {
                enum turn_next next = turn_loop_find(&loop, w, &found, words, cursor);
                if (unlikely(next == TURN_LOOK))
                    break;
                if (unlikely(next == TURN_NEXT)) {
                    cursor = w->batch.cursor;
                    continue;
                }
            }
            w->ctx.sender = words[1];
            int result = found.run(found.state, envelope_payload_behind(envelope, 0), &w->ctx);
            if (unlikely(result != ALLOCATION_NODELETE)) {
                if (!turn_loop_end(&loop, w, cursor, found.size, result))
                    break;
                cursor = w->batch.cursor;
                continue;
            }
            cursor += found.size;
            if (!turn_loop_commit(&loop, w, cursor)) {
                w->batch.cursor = cursor;
                break;
            }
        }
    }
    turn_running_set(w, 0);
    turn_loop_publish(&loop, w);
    w->pace.run_messages = limit - (loop.end - loop.low);
    return w->pace.run_messages;
}
