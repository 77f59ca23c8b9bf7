/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/asks/group.h"

#include <errno.h>
#include <string.h>

#include "daemon/engine/base/points.h"
#include "daemon/engine/commit/outbox.h"
#include "daemon/engine/core/budget.h"
#include "daemon/engine/core/tag.h"
#include "daemon/engine/segment/queue.h"
#include "daemon/engine/send/compose.h"
#include "daemon/engine/send/overflow.h"
#include "daemon/engine/send/place.h"
#include "daemon/engine/timers/kept.h"
#include "daemon/engine/timers/member_look.h"
#include "daemon/engine/timers/timer_users.h"
#include "daemon/engine/timers/timers.h"

enum { GROUP_WORDS_FEW = 8 }; /* which are not worth a call */

/* group.G7. 0: it is no member; 1: it is one again; -EALREADY. Nobody else changes its own. */
static int group_join_again(struct worker *w, actor_ref group)
{
    uint32_t timer;
    uint64_t id;
    int r = 0;
    lock_take(&w->engine->timers.mutex);
    if (member_look_find(w->engine, w->ctx.self, group, &id) == 0) {
        r = -EALREADY;
    } else if (member_look_find_left(w, w->ctx.self, group, &timer) == 0) {
        timers_unclaim(w, timer);
        r = 1;
    }
    lock_give(&w->engine->timers.mutex);
    return r;
}

int group_join(struct worker *w, actor_ref group)
{
    const struct timer_request request = {
        .to = w->ctx.self,
        .meta = envelope_meta(MESSAGE_TYPE_INIT, 0, BEHAVIOUR_NONE), /* which it never sends */
        .group = group,
    };
    uint64_t id;
    int r = group_join_again(w, group);
    if (r < 0)
        return r;
    if (r == 0)
        r = timers_arm(w, &request, &id);
    stat_add(w, STAT_group_joins, r >= 0);
    return r < 0 ? r : 0;
}

int group_leave(struct worker *w, actor_ref group)
{
    struct engine *e = w->engine;
    uint64_t id;
    lock_take(&e->timers.mutex);
    timers_settle(w, TIMER_SETTLES);
    int r = member_look_find(e, w->ctx.self, group, &id);
    if (r == 0)
        r = timers_claim(w, id);
    if (r == 0)
        member_look_unsettle(e, id);
    lock_give(&e->timers.mutex);
    stat_add(w, STAT_group_leaves, r == 0);
    return r;
}

/* The publication, for its group again. */
static void group_go_on(struct worker *w, const struct envelope *envelope,
                        const struct member_block *block)
{
    const struct actor *group = &w->engine->actors.table[actor_ref_slot(envelope->to)];
    unsigned prefix = PREFIX_KIND | PREFIX_UNTIL | tag_later_prefix(w);
    uint32_t payload = envelope_payload_size(envelope),
             length = envelope_prefix_bytes(prefix) + payload;
    struct envelope *out =
        place_record(w, actor_key_destination(load_relaxed(&group->key)), envelope_size(length));
    uint64_t *words = envelope_words(out);
    words[0] = envelope->to;
    words[1] = envelope->from;
    words[2] = envelope_meta(envelope->type, length, BEHAVIOUR_NONE) | (uint64_t)prefix << 56;
    words[2 + (length + 7) / 8] = 0; /* padding */
    if (prefix & PREFIX_TRACE)
        envelope_word_put(out, PREFIX_TRACE, tag_of(w));
    envelope_word_put(out, PREFIX_KIND, envelope_kind_group(block->place));
    envelope_word_put(out, PREFIX_UNTIL, block->until);
    memcpy(envelope_payload(out), envelope_payload(envelope), payload);
}

/* What is the same for all of a block, or for one after the other. */
struct group_record {
    const struct envelope *publication;
    uint64_t size;
    uint32_t payload, n_words; /* bytes; with padding */
    uint32_t type;             /* of the last one, whose behaviour it was: */
    uint64_t meta;
    bool is_refused; /* its publisher has as many copies waiting as its user may */
};

/* As a sender knows it that knows its receiver. */
static inline void group_record_of_type(struct group_record *r, const struct worker *w,
                                        uint32_t type)
{
    uint16_t message = r->publication->type;
    const struct actor_type *known = load_relaxed(&w->turn.types[type]);
    r->type = type;
    r->meta = envelope_meta(message, envelope_prefix_bytes(tag_prefix(w)) + r->payload,
                            known && message < ODEON_MESSAGE_TYPES_MAX ? known->index_of[message]
                                                                       : BEHAVIOUR_NONE) |
              (uint64_t)tag_prefix(w) << 56;
}

/* A small one to where there is room goes to the outbox without a further look, as a behaviour's
 * does. */
static inline bool group_is_simple(const struct worker *w, const struct group_record *r,
                                   uint32_t destination)
{
    return sizeof(struct outbox_run) + r->size <= OUTBOX_SMALL_BYTES &&
           destination != w->batch.queue && w->outbox.length < w->outbox.room &&
           w->outbox.has_room[destination];
}

static void group_write_kept(struct envelope *at, const struct worker *w,
                             const struct timer_request *request, uint64_t id)
{
    const struct group_record *r = request->data;
    uint64_t *words = envelope_words(at);
    (void)w, (void)id;
    words[0] = request->to;
    words[1] = r->publication->from;
    words[2] = envelope_meta(r->publication->type, r->payload, BEHAVIOUR_NONE);
    memcpy(words + 3, envelope_payload(r->publication), 8ul * r->n_words);
}

/* What became of one member's. */
enum group_outcome { GROUP_MISSED, GROUP_KEPT, GROUP_SENT };

/* For whose user a copy counts; 0: an actor has published it (kept.KE4). */
static uint64_t group_posted(const struct engine *e, actor_ref publisher)
{
    uint32_t slot = actor_ref_slot(publisher);
    if (publisher == 0)
        return TIMER_POSTED | TIMER_USER_NOBODY;
    if (slot >= ODEON_PORTS_MAX)
        return 0;
    uint64_t poster = load_relaxed(&e->ports.table[slot].poster);
    bool known = actor_ref_upper(poster) == actor_ref_upper(publisher);
    return TIMER_POSTED | (known ? (uint32_t)poster : TIMER_USER_NOBODY);
}

/* group.G8 */
static __attribute__((noinline)) enum group_outcome
group_keep(struct worker *w, struct group_record *r, actor_ref member, uint32_t n_waiting)
{
    const struct timer_request request = {
        .to = member,
        .kept = true,
        .fill = group_write_kept,
        .data = r,
        .size = r->payload,
        .owner = r->publication->to,
        .posted = group_posted(w->engine, r->publication->from),
    };
    uint64_t id;
    if (n_waiting >= ODEON_KEPT_MAX)
        return GROUP_MISSED;
    if (timers_arm_checked(w, &request, &id) == 0)
        return GROUP_KEPT;
    r->is_refused = request.posted != 0;
    return GROUP_MISSED;
}

/* One member's. */
static inline enum group_outcome group_send(struct worker *w, struct group_record *r,
                                            actor_ref member, struct kept_wait wait)
{
    uint64_t key = load_relaxed(&w->turn.actors[actor_ref_slot(member)].key);
    uint32_t destination = actor_key_destination(key);
    if (unlikely(actor_key_generation(key) != actor_ref_generation(member) ||
                 destination == NO_DESTINATION))
        return GROUP_SENT; /* it has ended */
    if (unlikely(actor_key_type(key) != r->type))
        group_record_of_type(r, w, actor_key_type(key));
    bool simple = group_is_simple(w, r, destination);
    bool behind = VALUE(kept_behind, wait.own);
    if (unlikely(behind || (!simple && !place_has_room(w, destination, r->size)))) {
        if (behind || overflow_waits(w->engine, member, destination))
            return group_keep(w, r, member, wait.n);
        if (compose_at_limit(w, member, r->meta, destination, r->size) <= 0)
            return GROUP_MISSED;
    }
    uint64_t *words = envelope_words(simple ? outbox_append(w, destination, r->size)
                                            : place_record(w, destination, r->size));
    const uint64_t *from = envelope_payload(r->publication);
    words[0] = member;
    words[1] = r->publication->from;
    words[2] = r->meta;
    words += 3;
    if (unlikely(r->meta >> 56)) {
        tag_put(w, (struct envelope *)(words - 3), 0);
        words += 2;
    }
    if (r->n_words <= GROUP_WORDS_FEW)
        for (uint32_t i = 0; i < r->n_words; i++)
            words[i] = from[i];
    else
        memcpy(words, from, 8ul * r->n_words);
    return GROUP_SENT;
}

/* To each of a block. */
static void group_send_block(struct worker *w, struct group_record *r,
                             const struct member_block *block)
{
    struct kept_wait waits[MEMBERS_BLOCK_MAX];
    uint32_t n[GROUP_SENT + 1] = { 0 };
    bool any = kept_is_any(w->engine);
    if (unlikely(any) &&
        kept_look(w->engine, w->batch.queue, r->publication->to, block->refs, block->n, waits))
        place_close_tail(w); /* kept.KE3 */
    for (uint32_t i = 0; i < block->n; i++)
        n[group_send(w, r, block->refs[i],
                     unlikely(any) ? waits[i] : (struct kept_wait){ .n = 0 })]++;
    stat_add(w, STAT_publications_sent, n[GROUP_SENT]);
    stat_add(w, STAT_publications_kept, n[GROUP_KEPT]);
    stat_add(w, STAT_publications_missed, n[GROUP_MISSED]);
}

/* A question would have as many answers as there are members, and what only the service says is for
 * nobody else to pass on. */
static bool group_takes(const struct envelope *envelope)
{
    return envelope->type >= MESSAGE_TYPE_FIRST_PLAIN && !(envelope->flags & ENVELOPE_REPLY) &&
           envelope_prefix_fits(envelope) && envelope_correlation(envelope) == 0;
}

static struct member_block group_block(const struct envelope *envelope)
{
    const uint64_t *kind = envelope_word(envelope, PREFIX_KIND),
                   *until = envelope_word(envelope, PREFIX_UNTIL);
    struct member_block block = { .place = 0 };
    if (kind && until && *kind >> 56 == KIND_GROUP) {
        block.place = (uint32_t)*kind;
        block.until = *until;
    }
    return block;
}

/* The port that has published it; ACTOR_FREE: none, or it has ended. */
static uint64_t group_port_key(const struct engine *e, actor_ref publisher)
{
    uint32_t slot = actor_ref_slot(publisher);
    if (slot >= ODEON_PORTS_MAX)
        return ACTOR_FREE;
    uint64_t key = load_acquire(&e->actors.table[slot].key);
    return actor_key_kind(key) == ACTOR_PORT &&
                   actor_key_generation(key) == actor_ref_generation(publisher)
               ? key
               : ACTOR_FREE;
}

/* What a client has published counts for its user where it waits (budget.B3): whatever leaves with
 * the next flush, which follows this turn. */
static void group_charge(struct worker *w, actor_ref publisher)
{
    const struct engine *e = w->engine;
    if (likely(!budget_is_accounted(e)) || group_port_key(e, publisher) == ACTOR_FREE)
        return;
    w->flush.account = e->ports.table[actor_ref_slot(publisher)].account;
}

/* group.G9: by the group and the type, since what has a correlation id is no publication. */
static __attribute__((noinline)) void group_refuse(struct worker *w,
                                                   const struct envelope *publication)
{
    uint64_t key = group_port_key(w->engine, publication->from);
    if (key != ACTOR_FREE)
        outbox_refuse(w, actor_key_destination(key), publication->from, publication, 0,
                      REASON_TIMERS_FULL);
}

/* group.G5: what waits is bounded by what is taken in, unless publications go from the urgent lane
 * into the queue, or senders fill it anew behind each long batch. What other ids have in their
 * outboxes has its room beyond this. */
static bool group_has_room(const struct worker *w, const struct envelope *envelope)
{
    const struct segment *s = &w->engine->segment;
    uint64_t key = load_relaxed(&w->engine->actors.table[actor_ref_slot(envelope->to)].key);
    return queue_backlog_bytes(&s->queues[actor_key_destination(key)]) + w->outbox.length +
               ENVELOPE_SIZE_MAX <=
           2 * s->header->limit_bytes + s->header->outbox_bytes;
}

enum envelope_reason group_publish(struct worker *w, const struct envelope *envelope)
{
    if (!group_takes(envelope))
        return REASON_NOT_ACCEPTED;
    struct member_block block = group_block(envelope);
    uint32_t payload = envelope_payload_size(envelope);
    struct group_record record = { .publication = envelope,
                                   .size = envelope_size(payload +
                                                         envelope_prefix_bytes(tag_prefix(w))),
                                   .payload = payload,
                                   .n_words = (payload + 7) / 8,
                                   .type = UINT32_MAX };
    stat_add(w, STAT_publications, block.until == 0);
    member_look_at_block(w->engine, envelope->to, &block);
    group_send_block(w, &record, &block);
    if (unlikely(record.is_refused))
        group_refuse(w, envelope);
    group_charge(w, envelope->from);
    POINT(group_sent, w, envelope);
    if (!block.more)
        return REASON_NONE;
    if (unlikely(!group_has_room(w, envelope)))
        return REASON_QUEUE_FULL;
    group_go_on(w, envelope, &block);
    return REASON_NONE;
}
