/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/run/turn.h"

#include <string.h>

#include "daemon/engine/actors/actors.h"
#include "daemon/engine/base/points.h"
#include "daemon/engine/commit/commit.h"
#include "daemon/engine/commit/durable.h"
#include "daemon/engine/run/pace.h"
#include "daemon/engine/segment/slot.h"
#include "daemon/engine/send/detour.h"
#include "daemon/engine/send/flush.h"
#include "daemon/engine/send/place.h"
#include "daemon/engine/signal/help.h"

static struct actor_type *turn_actor_type_of(const struct worker *w, const struct actor *actor)
{
    /* not NULL while an actor of it lives */
    return load_relaxed(&w->turn.types[actor_key_type(load_relaxed(&actor->key))]);
}

static inline void **turn_actor_state(const struct worker *w, const struct actor *actor)
{
    return &w->turn.states[actor - w->turn.actors];
}

/* ---- flush and commit ---- */

static void turn_publish_counts(struct worker *w)
{
    stat_add(w, STAT_messages_sent, w->outbox.n_logged + w->place.n_tail_appends);
    stat_add(w, STAT_tail_appends, w->place.n_tail_appends);
    stat_add(w, STAT_sends_failed, w->place.n_failed);
    w->outbox.n_flushed -= w->outbox.n_logged; /* what waits is counted when it is flushed */
    w->outbox.n_logged = w->place.n_tail_appends = w->place.n_failed = 0;
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

/* ---- messages that are not simply run ---- */

/* Is a message's commit to be a whole flip? When the batch has gone on at the beginning of its
 * buffer, or more was sent than fits. */
static inline bool turn_wants_flip(const struct worker *w)
{
    return VALUE(flip_whole, w->outbox.length >= load_relaxed(&w->outbox.wanted));
}

/* turn.U1, of a message that is not plain. */
static void turn_commit(struct worker *w, uint64_t cursor)
{
    if (unlikely(w->place.newborn))
        place_newborn_settle(w, 0);
    if (unlikely(turn_wants_flip(w)))
        commit_flip(w, w->batch.source, cursor, w->batch.tail, w->outbox.length, 0, 0);
    else
        commit_message(w, cursor);
}

/* The record ends here: to its client as a refusal, else to the dead letters, with the reason in
 * the behaviour's byte. */
static void turn_dead_letter_write(struct worker *w, const struct envelope *envelope,
                                   enum envelope_reason reason)
{
    struct engine *e = w->engine;
    uint32_t from = actor_ref_slot(envelope->from);
    if (envelope->from && from < e->config.actors_max) {
        uint64_t key = load_relaxed(&e->actors.table[from].key);
        if (actor_key_kind(key) == ACTOR_PORT &&
            actor_key_generation(key) == actor_ref_generation(envelope->from)) {
            struct refusal refusal = { .correlation = envelope_correlation(envelope),
                                       .to = envelope->to,
                                       .type = envelope->type,
                                       .reason = (uint16_t)reason };
            struct envelope *out =
                outbox_append(w, actor_key_destination(key), envelope_size(sizeof(refusal)));
            *out = (struct envelope){ .to = envelope->from,
                                      .from = envelope->to,
                                      .type = MESSAGE_TYPE_REFUSAL,
                                      .length = sizeof(refusal) };
            memcpy(envelope_payload(out), &refusal, sizeof(refusal));
            stat_add(w, STAT_refusals, 1);
            return;
        }
    }
    uint64_t size = envelope_record_size(envelope);
    struct envelope *out = outbox_append(w, e->segment.dead_letters, size);
    memcpy(out, envelope, size);
    out->behaviour = (uint8_t)reason;
}

static void turn_dead_letter(struct worker *w, const struct envelope *envelope,
                             enum envelope_reason reason)
{
    if (w->place.newborn) /* of an init that then failed */
        place_newborn_settle(w, 0);
    stat_add(w, STAT_dead_letters, 1);
    STEP(dead_letter_write, turn_dead_letter_write(w, envelope, reason));
}

/* The actor has ended with this message: fini belongs to the turn, the slot goes after the commit
 * (actors.A3). */
static void turn_actor_end(struct worker *w, struct actor *actor, actor_ref ref,
                           enum engine_allocation how, uint64_t cursor)
{
    void *state = *turn_actor_state(w, actor);
    struct actor_type *type = state ? turn_actor_type_of(w, actor) : NULL;
    if (how != ALLOCATION_FINISHED && type && type->fini)
        type->fini(state, &w->ctx);
    if (w->place.newborn)
        place_newborn_settle(w, 0);
    POINT(actor_ends, w, ref, (int)how);
    commit_flip(w, w->batch.source, cursor, w->batch.tail, w->outbox.length, ref, how);
    actors_ended(w, ref, (enum actor_end)how);
    /* the record goes on naming the actor: its slot has another generation by now, so that a redo
     * does nothing */
}

/* A guessed reference to an actor that does not exist yet? */
static bool turn_is_uncommitted(struct worker *w, uint32_t slot)
{
    const struct segment_actor *durable = &w->engine->segment.actors[slot];
    return durable->spawn_worker == w->id ? durable->spawn_count == commit_count(w)
                                          : !actors_is_committed(w->engine, slot);
}

static int turn_actor_init(struct worker *w, const struct actor_type *type, uint32_t slot,
                           void *state)
{
    const struct segment *s = &w->engine->segment;
    if (!type->init)
        return 0;
    actor_ref sender = w->ctx.sender;
    w->ctx.sender = s->actors[slot].spawned_by;
    int r = type->init(state, s->args + (uint64_t)slot * ODEON_SPAWN_ARGS_MAX,
                       s->actors[slot].args_size, &w->ctx);
    w->ctx.sender = sender;
    return r;
}

/* actors.A2: state and init before the first message.  0, or why the message cannot be run. */
static enum envelope_reason turn_actor_begin(struct worker *w, struct actor *actor, actor_ref ref)
{
    struct engine *e = w->engine;
    uint32_t slot = actor_ref_slot(ref);
    if (turn_is_uncommitted(w, slot))
        return REASON_NO_SUCH_ACTOR;
    struct actor_type *type =
        load_acquire(&e->types.known[slot_word_type(load_relaxed(&e->segment.actors[slot].word))]);
    if (!type)
        return REASON_TYPE_NOT_LOADED;
    if (unlikely(load_relaxed(&e->segment.actor_types[type->id].quarantined)))
        return REASON_QUARANTINED;
    void *state = actors_state_new(w, type);
    if (!state)
        return REASON_INIT_FAILED;
    *turn_actor_state(w, actor) = state;
    if (turn_actor_init(w, type, slot, state) != 0)
        return REASON_INIT_FAILED;
    uint64_t key = load_relaxed(&actor->key);
    /* it may have been set aside while it was initialised */
    if (likely(actor_key_kind(key) == ACTOR_NEW))
        store_release(&actor->key, actor_key(actor_key_generation(key), actor_key_destination(key),
                                             actor_key_type(key), ACTOR_LIVE));
    return REASON_NONE;
}

/* The same of an actor whose state is kept, before each of its messages: what the turn does to the
 * state can be undone from here on. */
static enum envelope_reason turn_kept_begin(struct worker *w, struct actor *actor, actor_ref ref)
{
    struct engine *e = w->engine;
    uint32_t slot = actor_ref_slot(ref), generation = actor_ref_generation(ref);
    bool is_new = !durable_is_initialised(e, slot, generation);
    if (is_new && turn_is_uncommitted(w, slot))
        return REASON_NO_SUCH_ACTOR;
    struct actor_type *type =
        load_acquire(&e->types.known[slot_word_type(load_relaxed(&e->segment.actors[slot].word))]);
    if (!type)
        return REASON_TYPE_NOT_LOADED;
    if (unlikely(load_relaxed(&e->segment.actor_types[type->id].quarantined)))
        return REASON_QUARANTINED;
    struct segment_state *state = durable_begin(w, slot, type->state_size);
    *turn_actor_state(w, actor) = state->bytes;
    if (!is_new)
        return REASON_NONE;
    memset(state->bytes, 0, type->state_size);
    if (turn_actor_init(w, type, slot, state->bytes) != 0)
        return REASON_INIT_FAILED;
    store_relaxed(&state->generation, generation); /* durable.K1 */
    return REASON_NONE;
}

static engine_behaviour_fn turn_behaviour_find(const struct actor_type *type,
                                               const struct envelope *envelope,
                                               enum envelope_reason *ret_reason)
{
    uint64_t length = envelope_payload_size(envelope);
    *ret_reason = REASON_NOT_ACCEPTED;
    if (envelope->type >= ODEON_MESSAGE_TYPES_MAX)
        return NULL;
    uint8_t index = type->index_of[envelope->type];
    const struct behaviour_shape *shape = &type->shapes[index];
    if (!type->behaviours[index].run)
        return NULL;
    *ret_reason = envelope_prefix_fits(envelope) && length >= shape->size &&
                          length - shape->size <= shape->slack
                      ? REASON_NONE
                      : REASON_BAD_SIZE;
    return *ret_reason == REASON_NONE ? type->behaviours[index].run : NULL;
}

static void turn_context_set(struct worker *w, const struct envelope *envelope)
{
    w->ctx.self = envelope->to;
    w->ctx.sender = envelope->from;
    w->ctx.message_type = envelope->type;
    w->ctx.message_size = (uint16_t)envelope_payload_size(envelope);
    w->ctx.correlation = envelope_correlation(envelope);
    w->ctx.redelivered = (envelope->flags & ENVELOPE_REDELIVERED) != 0;
    w->ctx.attempts = envelope->attempts;
}

static void turn_end(struct worker *w, struct actor *actor, const struct envelope *envelope,
                     int result, uint64_t cursor)
{
    if (likely(result == ALLOCATION_NODELETE)) {
        POINT(handler);
        turn_commit(w, cursor);
    } else {
        enum engine_allocation how = result == ALLOCATION_DESTROY || result == ALLOCATION_FINISHED
                                         ? (enum engine_allocation)result
                                         : ALLOCATION_DELETE;
        turn_actor_end(w, actor, envelope->to, how, cursor);
    }
}

static bool turn_is_new(const struct worker *w, uint64_t key, actor_ref ref)
{
    return actor_key_kind(key) == ACTOR_NEW ||
           (actor_key_kind(key) == ACTOR_KEPT &&
            !durable_is_initialised(w->engine, actor_ref_slot(ref), actor_ref_generation(ref)));
}

/* Who a message that is not simply run is for. */
struct turn_receiver {
    struct actor *actor; /* may be NULL */
    uint64_t key;
    bool is_here;  /* the actor that the message names, and in this queue */
    bool is_aside; /* that actor, and it has been set aside (set_aside.h) */
};

static struct turn_receiver turn_receiver_find(const struct worker *w,
                                               const struct envelope *envelope, struct actor *actor)
{
    struct turn_receiver receiver = { .actor = actor };
    if (!actor)
        return receiver;
    receiver.key = load_acquire(&actor->key);
    if (actor_key_generation(receiver.key) == actor_ref_generation(envelope->to)) {
        receiver.is_here = actor_key_destination(receiver.key) == w->batch.queue;
        receiver.is_aside = actor_key_kind(receiver.key) == ACTOR_ASIDE;
    }
    return receiver;
}

/* A message to an actor that has been set aside. False: it is not run here, and has been sent on,
 * or is a dead letter. */
static bool turn_aside_begin(struct worker *w, const struct envelope *envelope,
                             struct turn_receiver *receiver)
{
    switch (detour_look(w, receiver->actor, envelope->to)) {
    case DETOUR_RUN:
        receiver->is_here = true;
        receiver->key = load_relaxed(&receiver->actor->key);
        return true;
    case DETOUR_SEND_ON:
        detour_send_on(w, envelope, envelope->to);
        return false;
    default:
        turn_dead_letter(w, envelope, REASON_QUEUE_FULL);
        return false;
    }
}

/* The receiver is ready to run the message, or why not. */
static enum envelope_reason turn_receiver_begin(struct worker *w, const struct envelope *envelope,
                                                const struct turn_receiver *receiver,
                                                enum envelope_reason begun)
{
    enum actor_kind kind = actor_key_kind(receiver->key);
    if (!receiver->is_here || !actor_key_lives(receiver->key))
        return REASON_NO_SUCH_ACTOR;
    if (envelope->attempts >= w->engine->config.attempts_max)
        return REASON_ATTEMPTS;
    if (kind == ACTOR_NEW || (receiver->is_aside && !*turn_actor_state(w, receiver->actor)))
        return begun != REASON_NONE ? begun : turn_actor_begin(w, receiver->actor, envelope->to);
    if (kind == ACTOR_KEPT)
        return turn_kept_begin(w, receiver->actor, envelope->to);
    return REASON_NONE;
}

/* Runs the message: what becomes of the actor, and in *ret_reason why it could not be run. */
static int turn_special_run(struct worker *w, const struct envelope *envelope, struct actor *actor,
                            enum envelope_reason *ret_reason)
{
    switch (envelope->type) {
    case MESSAGE_TYPE_INIT:
        return ALLOCATION_NODELETE;
    case MESSAGE_TYPE_POISON_DELETE:
    case MESSAGE_TYPE_POISON_DESTROY:
    case MESSAGE_TYPE_POISON_FINISHED:
        return envelope->type - MESSAGE_TYPE_POISON_DELETE + ALLOCATION_DELETE;
    default:
        break;
    }
    engine_behaviour_fn behaviour =
        turn_behaviour_find(turn_actor_type_of(w, actor), envelope, ret_reason);
    return behaviour ? behaviour(*turn_actor_state(w, actor), envelope_payload(envelope), &w->ctx)
                     : ALLOCATION_NODELETE;
}

/* The message could not be run. What becomes of the actor: one that cannot begin ends, and its fini
 * is not owed. */
static int turn_special_refuse(struct worker *w, const struct envelope *envelope,
                               const struct turn_receiver *receiver, enum envelope_reason reason)
{
    if (envelope->type != MESSAGE_TYPE_INIT)
        turn_dead_letter(w, envelope, reason);
    if (reason == REASON_INIT_FAILED) {
        void **state = turn_actor_state(w, receiver->actor);
        if (*state) {
            actors_state_drop(w, turn_actor_type_of(w, receiver->actor), *state, ALLOCATION_DELETE);
            *state = NULL;
        }
        return ALLOCATION_DELETE;
    }
    return reason == REASON_ATTEMPTS && envelope->flags & ENVELOPE_INIT &&
                   turn_is_new(w, receiver->key, envelope->to)
               ? ALLOCATION_DELETE
               : ALLOCATION_NODELETE;
}

/* A correlated message, a first message, a built-in one, one to an actor whose state is kept, one
 * that cannot be run. `begun`: the receiver's init has been tried with this message, and this is
 * why it failed. */
static void turn_special(struct worker *w, const struct envelope *envelope, struct actor *actor,
                         enum envelope_reason begun, uint64_t cursor)
{
    if (unlikely(envelope->flags & ENVELOPE_DROPPED)) {
        stat_add(w, STAT_dropped_oldest, 1);
        turn_commit(w, cursor);
        return;
    }
    struct turn_receiver receiver = turn_receiver_find(w, envelope, actor);
    if (unlikely(receiver.is_aside) && !turn_aside_begin(w, envelope, &receiver)) {
        turn_commit(w, cursor);
        return;
    }
    turn_context_set(w, envelope);
    enum envelope_reason reason = turn_receiver_begin(w, envelope, &receiver, begun);
    int result = ALLOCATION_NODELETE;
    if (reason == REASON_NONE)
        result = turn_special_run(w, envelope, actor, &reason);
    if (reason != REASON_NONE)
        result = turn_special_refuse(w, envelope, &receiver, reason);
    if (receiver.is_here)
        turn_end(w, actor, envelope, result, cursor);
    else
        turn_commit(w, cursor);
    w->ctx.correlation = 0;
    w->ctx.redelivered = 0;
    w->ctx.attempts = 0;
}

/* ---- the loop ---- */

/* Tails and senders that do not know the receiver's index are plain messages, too; only the look-up
 * is longer. */
static engine_behaviour_fn turn_plain_behaviour(const struct actor_type *type, uint64_t meta)
{
    if (meta >> 40 || (uint16_t)meta < MESSAGE_TYPE_FIRST_USER ||
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
    uint64_t stop;  /* the nearer one of `end` and `look` */
    uint64_t bound; /* where the batch, or its first piece, ended when that was last looked at */
};

static void turn_loop_look_after(struct turn_loop *loop, uint32_t messages)
{
    loop->looked = loop->low;
    loop->look = loop->low + messages;
    loop->stop = (int64_t)(loop->look - loop->end) < 0 ? loop->look : loop->end;
}

/* Commits that were not a message's own move the limit. */
static void turn_loop_resume(struct turn_loop *loop, struct worker *w, uint64_t messages)
{
    uint64_t low = commit_low(w->slot), moved = low - loop->low - messages;
    loop->end += moved;
    loop->look += moved;
    loop->looked += moved;
    loop->stop += moved;
    loop->low = low;
    w->ctx.self = 0; /* nobody's: the next message is looked up */
}

static void turn_loop_flush(struct turn_loop *loop, struct worker *w)
{
    turn_running_set(w, 0);
    turn_flush(w);
    help_mid_look(w, w->batch.queue);
    turn_running_set(w, 1);
    turn_loop_resume(loop, w, 0);
}

/* What has been run since the last look counts from now on. */
static void turn_loop_publish(struct turn_loop *loop, struct worker *w)
{
    stat_add(w, STAT_messages_processed, loop->low - loop->looked);
    turn_publish_counts(w);
    loop->looked = loop->low;
}

/* As many messages as are run without a look at the clock are behind us. */
static __attribute__((noinline)) void turn_loop_pace(struct turn_loop *loop, struct worker *w)
{
    bool due;
    uint32_t next = pace_look(w, (uint32_t)(loop->low - loop->looked), &due);
    turn_loop_publish(loop, w);
    if (due && w->outbox.length > 0)
        turn_loop_flush(loop, w);
    turn_loop_look_after(loop, next);
}

/* Between two messages, at the loop's bound or when something was wanted.  False: no more now. */
static bool turn_loop_look(struct turn_loop *loop, struct worker *w)
{
    if (unlikely(loop->low == loop->look))
        turn_loop_pace(loop, w);
    if (w->outbox.length >= OUTBOX_FLUSH_BYTES || unlikely(w->outbox.sent_urgent > 0))
        turn_loop_flush(loop, w);
    outbox_want(w);
    if (w->batch.wrap != 0 && w->batch.cursor == w->batch.wrap) {
        place_unwrap(w);
        turn_loop_resume(loop, w, 0);
    }
    loop->bound = w->batch.wrap ? w->batch.wrap : w->batch.tail;
    if (unlikely(load_relaxed(w->turn.gives_way))) /* urgent.G3 */
        return false;
    w->turn.gives_way = w->turn.gives_way_to;
    return w->batch.cursor != loop->bound && loop->low != loop->end && !w->pace.over &&
           !worker_wants_halt(w);
}

/* A plain message to an actor that has not been initialised yet: it is now. The behaviour to run,
 * or NULL. */
static __attribute__((noinline)) engine_behaviour_fn
turn_loop_begin(struct worker *w, struct actor *actor, const uint64_t *words,
                enum envelope_reason *ret_reason)
{
    uint64_t to = words[0], meta = words[2], key = load_acquire(&actor->key),
             want = actor_ref_upper(to) | (w->turn.key_live ^ ACTOR_LIVE ^ ACTOR_NEW);
    if ((key & ~ACTOR_KEY_TYPE_MASK) != want || meta >> 40 ||
        (uint16_t)meta < MESSAGE_TYPE_FIRST_USER)
        return NULL;
    const struct actor_type *type = load_relaxed(&w->turn.types[actor_key_type(key)]);
    if (!type || !pace_is_quick(type, BEHAVIOUR_NONE))
        return NULL;
    w->ctx.self = to;
    w->ctx.sender = words[1];
    w->ctx.meta = meta;
    *ret_reason = turn_actor_begin(w, actor, to);
    return *ret_reason == REASON_NONE
               ? turn_behaviour_of(w, actor, want ^ ACTOR_NEW ^ ACTOR_LIVE, meta)
               : NULL;
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
        turn_special(w, envelope, actor, begun, cursor);
    else
        turn_end(w, &w->turn.actors[actor_ref_slot(envelope->to)], envelope, result, cursor);
    w->batch.cursor = cursor;
    turn_loop_resume(loop, w, 1);
}

/* A message that is not plain, for `actor`: one of a behaviour that is not known to be quick is run
 * by itself, with the clock (pace.T2). */
static __attribute__((noinline)) void turn_loop_strange(struct turn_loop *loop, struct worker *w,
                                                        struct actor *actor,
                                                        enum envelope_reason begun)
{
    uint32_t index;
    struct actor_type *type =
        pace_stranger(w, actor, (struct envelope *)(w->batch.base + w->batch.cursor), &index);
    if (!type) {
        turn_loop_special(loop, w, actor, begun, 0);
        return;
    }
    turn_loop_publish(loop, w);
    if (w->outbox.length > 0)
        turn_loop_flush(loop, w);
    uint64_t began = ticks_now();
    turn_loop_special(loop, w, actor, begun, 0);
    uint32_t next = pace_learn(w, type, index, began);
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

/* A message that is not of the burst. False: it was special, and has been run. */
static inline __attribute__((always_inline)) bool
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
        found->run = turn_loop_begin(w, actor, words, &begun);
        if (!found->run) {
            w->batch.cursor = cursor;
            turn_loop_strange(loop, w, actor, begun);
            return false;
        }
    }
    found->state = w->turn.states[actor_ref_slot(to)];
    w->ctx.self = to;
    w->ctx.meta = meta;
    return true;
}

/* turn.U1, of a plain message, which ended at `cursor`. False: the loop has to look. */
static inline __attribute__((always_inline)) bool
turn_loop_commit(struct turn_loop *loop, struct worker *w, uint64_t cursor)
{
    POINT(handler);
    loop->low++;
    if (unlikely(turn_wants_flip(w))) {
        if (w->place.newborn)
            place_newborn_settle(w, 0);
        /* with all that can have changed */
        commit_flip(w, w->batch.source, cursor, w->batch.tail, w->outbox.length, 0, 0);
        turn_loop_resume(loop, w, 0); /* it may have been held (relieve.RV2) */
        return false;
    }
    commit_store(w->slot, commit_where(cursor, w->batch.tail),
                 commit_what(w->outbox.length, loop->low));
    if (cursor == loop->bound)
        /* which appends have moved, unless the batch ends here, or goes on at the beginning */
        loop->bound = w->batch.tail;
    return likely(cursor < loop->bound && loop->low != loop->stop);
}

uint64_t turn_run_batch(struct worker *w, uint64_t limit)
{
    struct turn_loop loop = { .low = commit_low(w->slot), .end = commit_low(w->slot) + limit };
    struct turn_found found = { 0 };
    uint64_t cursor;
    turn_loop_look_after(&loop, pace_begin(w));
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
                                                  0.5) &&
                !turn_loop_find(&loop, w, &found, words, cursor))
                break;
            w->ctx.sender = words[1];
            int result = found.run(found.state, envelope_payload_behind(envelope, 0), &w->ctx);
            if (unlikely(result != ALLOCATION_NODELETE)) {
                w->batch.cursor = cursor;
                turn_loop_special(&loop, w, NULL, REASON_NONE, result);
                break;
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
