/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/run/special.h"

#include <errno.h>
#include <string.h>

#include "daemon/engine/actors/actors.h"
#include "daemon/engine/actors/unbegun.h"
#include "daemon/engine/asks/ask.h"
#include "daemon/engine/asks/group.h"
#include "daemon/engine/asks/monitor.h"
#include "daemon/engine/base/points.h"
#include "daemon/engine/base/probe.h"
#include "daemon/engine/commit/commit.h"
#include "daemon/engine/commit/outbox.h"
#include "daemon/engine/observe/observe.h"
#include "daemon/engine/run/begin.h"
#include "daemon/engine/run/suspect.h"
#include "daemon/engine/send/detour.h"
#include "daemon/engine/send/place.h"
#include "daemon/engine/send/refuse.h"
#include "daemon/engine/timers/timers.h"

/* The handlers of this message have returned, and it has not been committed. */
static inline void special_returned(struct worker *w)
{
    if (unlikely(w->ctx.redelivered))
        suspect_end(w);
}

/* turn.U1 */
static void special_commit(struct worker *w, uint64_t cursor)
{
    special_returned(w);
    if (unlikely(w->place.newborn))
        place_newborn_settle(w);
    if (unlikely(outbox_wants_flip(w)))
        commit_flip(w, w->batch.source, cursor, w->batch.tail, w->outbox.length, 0, 0);
    else
        commit_message(w, cursor);
}

/* The record ends here; people are told how often it was suspected. */
static void special_dead_letter_write(struct worker *w, const struct envelope *envelope,
                                      enum envelope_reason reason)
{
    struct envelope *letter = refuse_write(w, envelope, reason);
    if (letter && reason == REASON_SUSPECTED)
        letter->attempts = (uint8_t)suspect_deaths(envelope);
}

static void special_dead_letter(struct worker *w, const struct envelope *envelope,
                                enum envelope_reason reason)
{
    if (w->place.newborn) /* of an init that then failed */
        place_newborn_settle(w);
    stat_add(w, STAT_dead_letters, 1);
    STEP(dead_letter_write, special_dead_letter_write(w, envelope, reason));
}

/* The actor has ended with this message: fini belongs to the turn, the slot goes after the commit
 * (actors.A3). */
static void special_actor_end(struct worker *w, struct actor *actor, actor_ref ref,
                              enum engine_allocation how, enum envelope_reason why, uint64_t cursor)
{
    void *state = *actors_state_of(w, actor);
    struct actor_type *type = state ? actors_type_of(w, actor) : NULL;
    if (how != ALLOCATION_FINISHED && type && type->fini)
        type->fini(state, &w->ctx);
    special_returned(w);
    if (w->place.newborn)
        place_newborn_settle(w);
    POINT(actor_ends, w, ref, (int)how);
    commit_flip(w, w->batch.source, cursor, w->batch.tail, w->outbox.length, ref,
                commit_end_how(how, why));
    if (actors_ended(w, ref, (enum actor_end)how, why))
        w->actors.leaving = ref;
    /* the record goes on naming the actor: its slot has another generation by now, so that a redo
     * does nothing */
}

static engine_behaviour_fn special_behaviour_find(const struct actor_type *type,
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

static void special_context_set(struct worker *w, const struct envelope *envelope)
{
    w->ctx.self = envelope->to;
    w->ctx.sender = envelope->from;
    w->ctx.message_type = envelope->type;
    w->ctx.message_size = (uint16_t)envelope_payload_size(envelope);
    w->ctx.correlation = envelope_correlation(envelope);
    const uint64_t *kind = envelope_word(envelope, PREFIX_KIND);
    w->ctx.kind = kind ? *kind & ~KIND_TAG : 0;
    w->ctx.hops = envelope_hops(envelope);
    w->ctx.redelivered = (envelope->flags & ENVELOPE_REDELIVERED) != 0;
    w->ctx.attempts = envelope->attempts;
}

void special_end(struct worker *w, struct actor *actor, const struct envelope *envelope, int result,
                 enum envelope_reason why, uint64_t cursor)
{
    if (likely(result == ALLOCATION_NODELETE)) {
        POINT(handler);
        special_commit(w, cursor);
    } else {
        enum engine_allocation how = result == ALLOCATION_DESTROY || result == ALLOCATION_FINISHED
                                         ? (enum engine_allocation)result
                                         : ALLOCATION_DELETE;
        special_actor_end(w, actor, envelope->to, how, why, cursor);
    }
}

/* Who a message that is not simply run is for. */
struct special_receiver {
    struct actor *actor; /* may be NULL */
    uint64_t key;
    bool is_here;  /* the actor that the message names, and in this queue */
    bool is_aside; /* that actor, and it has been set aside (set_aside.h) */
};

static struct special_receiver
special_receiver_find(const struct worker *w, const struct envelope *envelope, struct actor *actor)
{
    struct special_receiver receiver = { .actor = actor };
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
static bool special_aside_begin(struct worker *w, const struct envelope *envelope,
                                struct special_receiver *receiver)
{
    switch (detour_look(w, envelope->to)) {
    case DETOUR_RUN:
        receiver->is_here = true;
        receiver->key = load_relaxed(&receiver->actor->key);
        return true;
    case DETOUR_SEND_ON:
        detour_send_on(w, envelope, envelope->to);
        return false;
    default:
        /* Who has begun needs none. For who has not, nothing else may come, and they are few: one
         * for each timer of its former life. A window has room for them. */
        if (envelope->type == MESSAGE_TYPE_INIT) {
            if (!actors_has_state(w->engine, actor_ref_slot(envelope->to)))
                detour_send_on(w, envelope, envelope->to);
            return false;
        }
        PROBE(refuse, envelope->to, envelope->from, envelope->type, REASON_QUEUE_FULL);
        observe_refused(w, envelope,
                        segment_type_of_key(&w->engine->segment, actor_key_type(receiver->key)),
                        REASON_QUEUE_FULL);
        special_dead_letter(w, envelope, REASON_QUEUE_FULL);
        return false;
    }
}

/* The receiver is ready to run the message, or why not. */
static enum envelope_reason special_receiver_begin(struct worker *w,
                                                   const struct envelope *envelope,
                                                   const struct special_receiver *receiver,
                                                   enum envelope_reason begun)
{
    enum actor_kind kind = actor_key_kind(receiver->key);
    if (!receiver->is_here || !actor_key_lives(receiver->key))
        return REASON_NO_SUCH_ACTOR;
    if (begun != REASON_NONE) /* its init has failed, and may have been set aside meanwhile */
        return begun;
    if (envelope->attempts >= w->engine->config.attempts_max)
        return REASON_ATTEMPTS;
    if (unlikely(envelope->flags & ENVELOPE_SUSPECT)) {
        if (suspect_is_given_up(w->engine, envelope))
            return REASON_SUSPECTED;
        suspect_begin(w, envelope);
    }
    if (kind == ACTOR_NEW || (receiver->is_aside && !*actors_state_of(w, receiver->actor)))
        return begin_actor(w, receiver->actor, envelope->to);
    if (kind == ACTOR_KEPT)
        return begin_kept(w, receiver->actor, envelope->to);
    return REASON_NONE;
}

/* What becomes of the actor by a message that says so; ALLOCATION_NODELETE: it is another one. */
static int special_poison(const struct envelope *envelope)
{
    return envelope->type >= MESSAGE_TYPE_POISON_DELETE &&
                   envelope->type <= MESSAGE_TYPE_POISON_FINISHED
               ? envelope->type - MESSAGE_TYPE_POISON_DELETE + ALLOCATION_DELETE
               : ALLOCATION_NODELETE;
}

/* Whoever is not run can be stopped all the same: while its actors live, a plugin cannot be
 * replaced by one that is repaired. In this life nothing of it has begun, so that no fini is
 * owed. */
static bool special_stops_unrun(const struct worker *w, const struct envelope *envelope,
                                const struct special_receiver *receiver,
                                enum envelope_reason reason)
{
    if ((reason != REASON_QUARANTINED && reason != REASON_TYPE_NOT_LOADED) ||
        special_poison(envelope) == ALLOCATION_NODELETE)
        return false;
    actors_state_set(w, receiver->actor, NULL); /* a kept one's is the slot's, and stays there */
    return true;
}

/* Runs the message: what becomes of the actor, and in *ret_reason why it could not be run. */
static int special_behave(struct worker *w, const struct envelope *envelope, struct actor *actor,
                          enum envelope_reason *ret_reason)
{
    if (unlikely(actors_type_of(w, actor)->is_group)) {
        if (envelope->type != MESSAGE_TYPE_INIT)
            *ret_reason = group_publish(w, envelope);
        return ALLOCATION_NODELETE;
    }
    int poison = special_poison(envelope);
    if (envelope->type == MESSAGE_TYPE_INIT || poison != ALLOCATION_NODELETE)
        return poison;
    engine_behaviour_fn behaviour =
        special_behaviour_find(actors_type_of(w, actor), envelope, ret_reason);
    return behaviour ? behaviour(*actors_state_of(w, actor), envelope_payload(envelope), &w->ctx)
                     : ALLOCATION_NODELETE;
}

/* An actor that cannot begin ends, and its fini is not owed. */
static bool special_cannot_begin(struct worker *w, const struct envelope *envelope,
                                 const struct special_receiver *receiver,
                                 enum envelope_reason reason)
{
    if (reason != REASON_INIT_FAILED)
        return (reason == REASON_ATTEMPTS || reason == REASON_SUSPECTED) &&
               envelope->flags & ENVELOPE_INIT && begin_is_new(w, receiver->key, envelope->to);
    actors_state_set(w, receiver->actor, NULL); /* a kept one's is there before its init */
    return true;
}

/* place.U5: this may have been the message for which an init record was spared, and nothing else
 * may come for its actor. The init record has attempts of its own. */
static void special_init_owed(struct worker *w, const struct envelope *envelope,
                              const struct special_receiver *receiver, enum envelope_reason reason)
{
    if ((reason == REASON_ATTEMPTS || reason == REASON_SUSPECTED) &&
        begin_is_new(w, receiver->key, envelope->to))
        *place_record(w, w->batch.queue, envelope_size(0)) = (struct envelope){
            .to = envelope->to, .type = MESSAGE_TYPE_INIT, .flags = ENVELOPE_INIT
        };
}

/* The message could not be run. What becomes of the actor. */
static int special_refuse(struct worker *w, const struct envelope *envelope,
                          const struct special_receiver *receiver, enum envelope_reason reason)
{
    uint32_t type = receiver->is_here && actor_key_lives(receiver->key)
                        ? segment_type_of_key(&w->engine->segment, actor_key_type(receiver->key))
                        : 0;
    PROBE(refuse, envelope->to, envelope->from, envelope->type, reason);
    observe_refused(w, envelope, type, reason);
    if (envelope->type != MESSAGE_TYPE_INIT)
        special_dead_letter(w, envelope, reason);
    if (!special_cannot_begin(w, envelope, receiver, reason)) {
        special_init_owed(w, envelope, receiver, reason);
        return ALLOCATION_NODELETE;
    }
    unbegun_note(w, envelope->to, reason);
    monitor_tell_spawner(w, envelope->to, reason);
    return ALLOCATION_DELETE;
}

/* An answer, for an actor that is ready to run it, or what only looks like one. What it does not
 * accept takes nothing: the question goes on. False: it has come too late for anybody (ask.Q2). */
static bool special_answer_begin(struct worker *w, const struct envelope *envelope,
                                 const struct actor *actor, enum envelope_reason *reason)
{
    if (*reason == REASON_NONE)
        (void)special_behaviour_find(actors_type_of(w, actor), envelope, reason);
    if (*reason != REASON_NONE)
        return true;
    int r = envelope->flags & ENVELOPE_REPLY ? ask_take(w, w->ctx.correlation) : -EPERM;
    if (r == 0)
        w->ctx.kind = (uint64_t)KIND_ANSWER << 56;
    else if (r == -EPERM)
        *reason = REASON_NOT_ACCEPTED;
    stat_add(w, STAT_answers_forged, r == -EPERM);
    stat_add(w, STAT_answers_late, r == -ENOENT);
    return r != -ENOENT;
}

/* Why the actor that runs this message, or could not, ends with it, if it does. */
static enum envelope_reason special_end_reason(const struct envelope *envelope,
                                               enum envelope_reason refused)
{
    if (refused != REASON_NONE)
        return refused;
    return special_poison(envelope) == ALLOCATION_NODELETE ? REASON_FINISHED : REASON_STOPPED;
}

/* The service alone tells of an end. */
static inline bool special_is_forged(const struct envelope *envelope)
{
    const uint64_t *kind = envelope_word(envelope, PREFIX_KIND);
    return envelope->type == MESSAGE_TYPE_DOWN && !(kind && *kind >> 56 == KIND_DOWN);
}

static inline bool special_is_answer(const struct envelope *envelope)
{
    return (envelope->flags & ENVELOPE_REPLY || envelope->type == MESSAGE_TYPE_NO_ANSWER) &&
           !envelope_is_taken_answer(envelope);
}

/* What a periodic timer has sent, which has been cancelled since (timers.TM7). */
static bool special_is_revoked(struct worker *w, const struct envelope *envelope)
{
    const uint64_t *kind = envelope_word(envelope, PREFIX_KIND);
    uint32_t tag = kind ? envelope_kind_tag(*kind) : 0;
    return tag != 0 && *kind >> 56 == KIND_TIMER &&
           timers_is_revoked(w->engine, envelope->from, tag);
}

void special_run(struct worker *w, const struct envelope *envelope, struct actor *actor,
                 enum envelope_reason begun, uint64_t cursor)
{
    if (unlikely(envelope->flags & ENVELOPE_DROPPED)) {
        stat_add(w, STAT_dropped_oldest, 1);
        special_commit(w, cursor);
        return;
    }
    if (unlikely(special_is_revoked(w, envelope))) {
        stat_add(w, STAT_timers_revoked, 1);
        special_commit(w, cursor);
        return;
    }
    struct special_receiver receiver = special_receiver_find(w, envelope, actor);
    if (unlikely(receiver.is_aside) && !special_aside_begin(w, envelope, &receiver)) {
        special_commit(w, cursor);
        return;
    }
    special_context_set(w, envelope);
    enum envelope_reason reason = special_receiver_begin(w, envelope, &receiver, begun);
    int result = ALLOCATION_NODELETE;
    if (unlikely(envelope->flags & ENVELOPE_SUSPECT))
        suspect_run(w);
    bool runs = !special_is_answer(envelope) || special_answer_begin(w, envelope, actor, &reason);
    if (unlikely(special_is_forged(envelope)) && reason == REASON_NONE)
        reason = REASON_NOT_ACCEPTED;
    if (special_stops_unrun(w, envelope, &receiver, reason)) {
        result = special_poison(envelope);
        reason = REASON_NONE;
    } else if (reason == REASON_NONE && runs) {
        result = special_behave(w, envelope, actor, &reason);
    }
    if (reason != REASON_NONE)
        result = special_refuse(w, envelope, &receiver, reason);
    if (receiver.is_here)
        special_end(w, actor, envelope, result, special_end_reason(envelope, reason), cursor);
    else
        special_commit(w, cursor);
    w->ctx.correlation = 0;
    w->ctx.kind = 0;
    w->ctx.hops = 0;
    w->ctx.redelivered = 0;
    w->ctx.attempts = 0;
}
