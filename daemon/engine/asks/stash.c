/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/asks/stash.h"

#include <errno.h>
#include <string.h>

#include "daemon/engine/base/points.h"
#include "daemon/engine/commit/outbox.h"
#include "daemon/engine/core/tag.h"
#include "daemon/engine/segment/queue.h"
#include "daemon/engine/send/place.h"
#include "daemon/engine/timers/timers.h"

/* Those of an actor, in the order in which they were put off. */
struct stash {
    uint32_t n, timers[ODEON_STASH_MAX];
    uint64_t bytes; /* of their places */
};

/* Put off since the start: in its chain's order. What a recovery has found comes before, in any. */
static bool stash_is_in_order(const struct engine *e, const struct segment_timer *durable)
{
    return durable->sequence > e->timers.sequence_at_start;
}

/* stash.ST4: what a life that is over has put off is its owner's no more, also before the control
 * thread has told anybody. */
static bool stash_holds(const struct engine *e, const struct segment_timer *durable)
{
    return durable->claim_count == 0 && !VALUE(former_life, timers_is_of_former_life(e, durable));
}

/* Under the mutex. The first `most` of them. What a turn has taken back is not in it any more, also
 * while that goes on. */
static void stash_collect(const struct engine *e, actor_ref who, uint32_t most, struct stash *stash)
{
    const struct timer_owners *owners = &e->timers.stashed;
    uint32_t first, timer;
    stash->n = 0;
    stash->bytes = 0;
    if (!timer_owners_first(owners, who, &first))
        return;
    timer = first;
    do {
        const struct segment_timer *durable = &e->segment.timers[timer];
        if (stash_holds(e, durable) && stash->n < ODEON_STASH_MAX) {
            uint32_t at = stash->n++;
            /* as they were armed, but for what a recovery has found */
            for (; at > 0 && e->segment.timers[stash->timers[at - 1]].sequence > durable->sequence;
                 at--)
                stash->timers[at] = stash->timers[at - 1];
            stash->timers[at] = timer;
            stash->bytes += TIMER_CLASS_BYTES(durable->class);
        }
        timer = timer_owners_next(owners, timer);
        if (stash->n >= most && stash_is_in_order(e, durable)) {
            prefetch_read(&e->segment.timers[timer]); /* whoever takes one often takes another */
            break;
        }
    } while (timer != first);
    if (stash->n > most)
        stash->n = most;
}

static uint8_t stash_prefix(const struct worker *w)
{
    const struct engine_context *ctx = &w->ctx;
    return (uint8_t)((ctx->correlation ? PREFIX_CORRELATION : 0) | tag_later_prefix(w) |
                     (ctx->hops ? PREFIX_ACCEPTED : 0) | (ctx->kind ? PREFIX_KIND : 0));
}

static void stash_write(struct envelope *at, const struct worker *w,
                        const struct timer_request *request, uint64_t id)
{
    const struct engine_context *ctx = &w->ctx;
    uint8_t prefix = stash_prefix(w);
    uint64_t length = envelope_prefix_bytes(prefix) + ctx->message_size;
    uint64_t *words = envelope_words(at);
    (void)id;
    words[0] = ctx->self;
    words[1] = ctx->sender;
    words[2] = envelope_meta(ctx->message_type, length, BEHAVIOUR_NONE) | (uint64_t)prefix << 56;
    if (length > 0)
        words[3 + (length - 1) / 8] = 0; /* padding */
    if (ctx->correlation)
        envelope_word_put(at, PREFIX_CORRELATION, ctx->correlation);
    if (prefix & PREFIX_TRACE)
        envelope_word_put(at, PREFIX_TRACE, tag_of(w));
    if (ctx->hops)
        envelope_word_put(at, PREFIX_ACCEPTED, ctx->hops);
    if (ctx->kind)
        envelope_word_put(at, PREFIX_KIND, ctx->kind);
    if (ctx->message_size)
        memcpy(envelope_payload(at), request->data, ctx->message_size);
}

/* stash.ST3.  Under the mutex. */
static bool stash_is_full(const struct engine *e, actor_ref who, uint64_t size)
{
    const struct timer_owners *owners = &e->timers.stashed;
    struct stash stash;
    /* with those that have been taken back, and are there still */
    bool full = timer_owners_count(owners, who) >= e->config.stash_max ||
                timer_owners_weight(owners, who) + size > ODEON_STASH_BYTES;
    if (!full)
        return false;
    stash_collect(e, who, ODEON_STASH_MAX, &stash);
    return stash.n >= e->config.stash_max || stash.bytes + size > ODEON_STASH_BYTES;
}

static uint64_t stash_length(const struct worker *w)
{
    return envelope_prefix_bytes(stash_prefix(w)) + w->ctx.message_size;
}

static int stash_look(struct worker *w, const struct timer_request *request)
{
    return stash_is_full(w->engine, request->to, envelope_size(stash_length(w))) ? -ENOBUFS : 0;
}

int stash_put(struct worker *w, const void *message)
{
    const struct engine_context *ctx = &w->ctx;
    uint64_t length = stash_length(w), id;
    /* of which timers.h takes one optional word for granted */
    const struct timer_request request = { .to = ctx->self,
                                           .fill = stash_write,
                                           .look = stash_look,
                                           .stashed = true,
                                           .data = message,
                                           .size = length > 8 ? length - 8 : 0 };
    if (ctx->self == 0 || ctx->message_type < MESSAGE_TYPE_FIRST_USER)
        return -EPERM;
    if (w->actors.stashed_count == commit_count(w))
        return -EALREADY;
    int r = timers_arm_checked(w, &request, &id);
    if (r == 0)
        w->actors.stashed_count = commit_count(w);
    stat_add(w, r == 0 ? STAT_stashed : STAT_stash_refused, 1);
    return r;
}

static const struct envelope *stash_message(const struct engine *e, uint32_t timer)
{
    return segment_timer_message(&e->segment, &e->segment.timers[timer]);
}

/* For all of them, or for none. */
static int stash_look_for_room(const struct worker *w, const struct stash *stash, uint32_t lane)
{
    const struct engine *e = w->engine;
    uint64_t size = 0;
    for (uint32_t i = 0; i < stash->n; i++)
        size += envelope_record_size(stash_message(e, stash->timers[i]));
    if (!outbox_fits(w, size))
        return -ENOBUFS;
    /* outbox.B4: as any send, it is held against what is there, not against what comes with it */
    return queue_backlog_bytes(&e->segment.queues[lane]) > e->segment.header->limit_bytes ? -EAGAIN
                                                                                          : 0;
}

/* stash.ST1: the record and the claim come with one commit. */
static void stash_send(struct worker *w, uint32_t timer, uint32_t lane)
{
    struct engine *e = w->engine;
    const struct envelope *message = stash_message(e, timer);
    uint64_t size = envelope_record_size(message);
    memcpy(outbox_append(w, lane, size), message, size);
    w->outbox.sent_urgent += size;
    (void)timers_claim(w, timer_id(&e->segment, timer));
}

int stash_take(struct worker *w, uint32_t most)
{
    struct engine *e = w->engine;
    struct stash stash;
    if (w->ctx.self == 0)
        return -EPERM;
    uint64_t key = load_relaxed(&e->actors.table[actor_ref_slot(w->ctx.self)].key);
    uint32_t lane = segment_urgent_queue(&e->segment, actor_key_destination(key));
    if (w->place.newborn)
        place_newborn_settle(w);
    lock_take(&e->timers.mutex);
    timers_settle(w, TIMER_SETTLES);
    stash_collect(e, w->ctx.self, most ? most : ODEON_STASH_MAX, &stash);
    int r = stash.n > 0 ? stash_look_for_room(w, &stash, lane) : 0;
    for (uint32_t i = 0; r == 0 && i < stash.n; i++)
        stash_send(w, stash.timers[VALUE(stash_next, i, i, stash.n)], lane);
    lock_give(&e->timers.mutex);
    if (r < 0 || stash.n == 0)
        return r;
    /* stash.ST2: flushed behind this message, and run before the next ordinary one */
    store_relaxed(&w->outbox.wanted, 0);
    w->loop.unstashed = true;
    stat_add(w, STAT_unstashed, stash.n);
    return (int)stash.n;
}

uint32_t stash_count(struct engine *e, actor_ref who, uint64_t *ret_bytes)
{
    struct stash stash;
    lock_take(&e->timers.mutex);
    stash_collect(e, who, ODEON_STASH_MAX, &stash);
    lock_give(&e->timers.mutex);
    *ret_bytes = stash.bytes;
    return stash.n;
}
