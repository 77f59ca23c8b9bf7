/* SPDX-License-Identifier: Apache-2.0 */
/* What behaviours call through the host table, engine_context.h: sends, replies, spawns, and
 * who they are.
 *
 * Threads: a worker's own, from within a turn; the control thread's sends come this way, too. Where
 * a record goes is place.h's (place.U3, place.U5);
 * here is the short way there, and the general one.
 */
#include <errno.h>
#include <string.h>

#include "daemon/engine/actors/actor_names.h"
#include "daemon/engine/actors/actors.h"
#include "daemon/engine/actors/phases.h"
#include "daemon/engine/actors/spawn.h"
#include "daemon/engine/asks/link.h"
#include "daemon/engine/commit/outbox.h"
#include "daemon/engine/core/tag.h"
#include "daemon/engine/engine_context.h"
#include "daemon/engine/send/compose.h"
#include "daemon/engine/send/overflow.h"
#include "daemon/engine/send/place.h"
#include "daemon/engine/send/short_way.h"
#include "daemon/engine/timers/timers.h"

static __attribute__((noinline)) int engine_context_send_otherwise(struct engine_context *ctx,
                                                                   actor_ref to, uint32_t type,
                                                                   uint32_t behaviour,
                                                                   const void *data, size_t size)
{
    return compose_send(worker_of_context(ctx),
                        &(const struct compose){
                            .to = to,
                            .from = ctx->self,
                            .meta = envelope_meta((uint16_t)type, 0, behaviour & 0xff),
                            .head = data,
                            .head_size = size,
                        });
}

/* What does not go behind the batch is left to functions of its own, by a jump: those that go the
 * shortest way need no stack for it. */
static __attribute__((noinline)) int engine_context_log_words(struct worker *w, actor_ref to,
                                                              uint64_t meta, const void *data,
                                                              uint32_t destination)
{
    uint64_t size = (uint16_t)(meta >> 16);
    struct envelope *at;
    if (unlikely(!short_way_log(w, destination, sizeof(*at) + size, 0, &at)))
        return engine_context_send_otherwise(&w->ctx, to, (uint16_t)meta, (uint32_t)(meta >> 32),
                                             data, size);
    short_way_copy_words((uint64_t *)(short_way_begin(at, to, w->ctx.self, meta) + 1), data, size);
    return 0;
}

static __attribute__((noinline)) int engine_context_send_sized(struct engine_context *ctx,
                                                               actor_ref to, uint32_t type,
                                                               uint32_t behaviour, const void *data,
                                                               size_t size)
{
    struct envelope *at = NULL;
    if (likely(size <= ODEON_PAYLOAD_MAX))
        at = short_way_place(worker_of_context(ctx), to, ctx->self,
                             envelope_meta((uint16_t)type, size, behaviour & 0xff));
    if (unlikely(!at))
        return engine_context_send_otherwise(ctx, to, type, behaviour, data, size);
    memcpy(at + 1, data, size);
    return 0;
}

int engine_ctx_send(struct engine_context *ctx, actor_ref to, uint32_t type, uint32_t behaviour,
                    const void *data, size_t size)
{
    struct worker *w = worker_of_context(ctx);
    uint32_t destination;
    if (unlikely(size & ~UINT64_C(24))) /* other than 0, 8, 16, 24 bytes */
        return engine_context_send_sized(ctx, to, type, behaviour, data, size);
    if (unlikely(!short_way_is_known(w, to, type, &destination)))
        return engine_context_send_otherwise(ctx, to, type, behaviour, data, size);
    uint64_t meta = envelope_meta((uint16_t)type, size, behaviour & 0xff);
    struct envelope *at;
    if (!short_way_behind(w, destination, sizeof(*at) + size, &at))
        return engine_context_log_words(w, to, meta, data, destination);
    short_way_copy_words((uint64_t *)(short_way_begin(at, to, w->ctx.self, meta) + 1), data, size);
    return 0;
}

/* Type and behaviour of an envelope's third word; its other bits are not the sender's. */
#define META_KIND UINT64_C(0xff0000ffff)

static __attribute__((noinline)) int engine_context_log_signal(struct worker *w, actor_ref to,
                                                               uint64_t meta, uint32_t destination)
{
    struct envelope *at;
    if (unlikely(!short_way_log(w, destination, sizeof(*at), 0, &at)))
        return engine_context_send_otherwise(&w->ctx, to, (uint16_t)meta, (uint32_t)(meta >> 32),
                                             NULL, 0);
    short_way_begin(at, to, w->ctx.self, meta);
    return 0;
}

int engine_ctx_signal(struct engine_context *ctx, actor_ref to, uint64_t kind)
{
    struct worker *w = worker_of_context(ctx);
    uint32_t destination;
    if (unlikely(!short_way_is_known(w, to, (uint32_t)kind, &destination)))
        return engine_context_send_otherwise(ctx, to, (uint16_t)kind, (uint32_t)(kind >> 32), NULL,
                                             0);
    struct envelope *at;
    if (!short_way_behind(w, destination, sizeof(*at), &at))
        return engine_context_log_signal(w, to, kind & META_KIND, destination);
    short_way_begin(at, to, w->ctx.self, kind & META_KIND);
    return 0;
}

static __attribute__((noinline)) int engine_context_word_otherwise(struct worker *w, actor_ref to,
                                                                   uint64_t kind, uint64_t word)
{
    return engine_context_send_otherwise(&w->ctx, to, (uint16_t)kind, (uint32_t)(kind >> 32), &word,
                                         sizeof(word));
}

static __attribute__((noinline)) int engine_context_log_word(struct worker *w, actor_ref to,
                                                             uint64_t meta, uint64_t word,
                                                             uint32_t destination)
{
    struct envelope *at;
    if (unlikely(!short_way_log(w, destination, sizeof(*at) + sizeof(word), 0, &at)))
        return engine_context_word_otherwise(w, to, meta, word);
    *(uint64_t *)envelope_payload_behind(short_way_begin(at, to, w->ctx.self, meta), 0) = word;
    return 0;
}

int engine_ctx_send_word(struct engine_context *ctx, actor_ref to, uint64_t kind, uint64_t word)
{
    struct worker *w = worker_of_context(ctx);
    uint32_t destination;
    if (unlikely(!short_way_is_known(w, to, (uint32_t)kind, &destination)))
        return engine_context_word_otherwise(w, to, kind, word);
    uint64_t meta = (kind & META_KIND) | sizeof(word) << 16;
    struct envelope *at;
    if (!short_way_behind(w, destination, sizeof(*at) + sizeof(word), &at))
        return engine_context_log_word(w, to, meta, word, destination);
    *(uint64_t *)envelope_payload_behind(short_way_begin(at, to, w->ctx.self, meta), 0) = word;
    return 0;
}

int engine_ctx_send_tail(struct engine_context *ctx, actor_ref to, uint32_t type,
                         uint32_t behaviour, const void *head, size_t head_size, const void *tail,
                         size_t tail_size)
{
    struct worker *w = worker_of_context(ctx);
    struct envelope *at = NULL;
    if (likely(head_size <= ODEON_PAYLOAD_MAX && tail_size <= ODEON_PAYLOAD_MAX - head_size))
        at =
            short_way_place(w, to, ctx->self,
                            envelope_meta((uint16_t)type, head_size + tail_size, behaviour & 0xff));
    if (unlikely(!at))
        return compose_send(w, &(const struct compose){
                                   .to = to,
                                   .from = ctx->self,
                                   .meta = envelope_meta((uint16_t)type, 0, behaviour & 0xff),
                                   .head = head,
                                   .head_size = head_size,
                                   .tail = tail,
                                   .tail_size = tail_size,
                               });
    if (head_size)
        memcpy(at + 1, head, head_size);
    if (tail_size)
        memcpy((uint8_t *)(at + 1) + head_size, tail, tail_size);
    return 0;
}

int engine_ctx_send_urgent(struct engine_context *ctx, actor_ref to, uint32_t type,
                           uint32_t behaviour, const void *data, size_t size)
{
    struct worker *w = worker_of_context(ctx);
    const struct engine *e = w->engine;
    uint32_t slot = actor_ref_slot(to);
    if (unlikely(size > ODEON_PAYLOAD_MAX))
        return -EMSGSIZE;
    if (unlikely((uint16_t)type == MESSAGE_TYPE_NONE))
        return -EINVAL;
    if (unlikely(slot >= e->config.actors_max || actor_ref_generation(to) == 0))
        return -ESRCH;
    uint32_t destination = actor_key_destination(load_relaxed(&e->actors.table[slot].key));
    /* a client, which receives in one order, or nobody */
    if (unlikely(destination >= e->segment.n_mailboxes))
        return engine_ctx_send(ctx, to, type, behaviour, data, size);
    destination = segment_urgent_queue(&e->segment, destination);
    if (unlikely(w->place.newborn))
        place_newborn_settle(w);
    unsigned prefix = tag_prefix(w);
    uint64_t length = size + envelope_prefix_bytes(prefix), bytes = envelope_size(length);
    if (unlikely(!outbox_fits(w, bytes) || !outbox_urgent_fits(w, destination, bytes))) {
        int r = compose_at_limit(w, to, type, destination, bytes);
        if (r <= 0)
            return r;
    }
    uint64_t meta = envelope_meta((uint16_t)type, length, behaviour & 0xff) | (uint64_t)prefix
                                                                                  << 56;
    struct envelope *out =
        short_way_begin(outbox_append(w, destination, bytes), to, ctx->self, meta);
    if (unlikely(prefix))
        tag_put(w, out, 0);
    uint64_t *payload = envelope_payload_behind(out, prefix);
    if (size) {
        payload[(size - 1) / 8] = 0; /* padding carries nothing of what lay here before */
        memcpy(payload, data, size);
    }
    w->outbox.sent_urgent += bytes;
    store_relaxed(&w->outbox.wanted, 0); /* it is flushed behind this message */
    return 0;
}

int engine_ctx_spawn_plain(struct engine_context *ctx, uint32_t type,
                           enum engine_placement placement, actor_ref *ret_ref)
{
    return spawn_plain(worker_of_context(ctx), type, placement, ret_ref);
}

int engine_ctx_send_after(struct engine_context *ctx, actor_ref to, uint32_t type,
                          uint32_t behaviour, const void *data, size_t size,
                          const struct engine_timer_times *times, uint64_t *ret_id)
{
    if (ctx->self == 0)
        return -EPERM;
    if ((uint16_t)type == MESSAGE_TYPE_NONE)
        return -EINVAL;
    struct timer_request request = {
        .to = to,
        .meta = envelope_meta((uint16_t)type, 0, behaviour & 0xff),
        .data = data,
        .size = size,
        .delay_ns = times->delay_ns,
        .period_ns = times->period_ns,
        .clock = times->by_boot_time ? TIMER_CLOCK_BOOT : TIMER_CLOCK_MONOTONIC,
    };
    return timers_arm(worker_of_context(ctx), &request, ret_id);
}

int engine_ctx_timer_cancel(struct engine_context *ctx, uint64_t id)
{
    return timers_cancel(worker_of_context(ctx), id, false);
}

/* -ENOENT: nobody has the name; -EAGAIN: somebody is about to; -EEXIST: one of another type
 * has. */
static int engine_context_find(struct worker *w, uint32_t type, const char *name,
                               actor_ref *ret_ref)
{
    actor_ref ref;
    if (!name)
        return -EINVAL;
    int r = actor_names_look(w, name, &ref);
    if (r < 0)
        return r;
    uint64_t key = load_relaxed(&w->engine->actors.table[actor_ref_slot(ref)].key);
    if (actor_key_generation(key) != actor_ref_generation(ref))
        return -EAGAIN; /* it has ended since */
    if (segment_type_of_key(&w->engine->segment, actor_key_type(key)) != type)
        return -EEXIST;
    *ret_ref = ref;
    return 0;
}

int engine_ctx_spawn(struct engine_context *ctx, uint32_t type, const struct engine_spawn *spawn,
                     actor_ref *ret_ref)
{
    struct worker *w = worker_of_context(ctx);
    if (spawn->placement <= PLACE_NEAR && !spawn->name && spawn->args_size == 0 &&
        spawn->account == 0 && !spawn->link)
        return engine_ctx_spawn_plain(ctx, type, spawn->placement, ret_ref);
    int r = spawn->find ? engine_context_find(w, type, spawn->name, ret_ref) : -ENOENT;
    if (r != -ENOENT)
        return r;
    r = spawn->link ? link_spawn(w, type, spawn, ret_ref)
                    : spawn_actor(w, type, ctx->self, spawn, ret_ref);
    /* somebody has taken the name since */
    return r == -EEXIST && spawn->find ? -EAGAIN : r;
}

int engine_ctx_become(struct engine_context *ctx, const char *name)
{
    return phases_become(worker_of_context(ctx), name);
}

int engine_ctx_lookup(struct engine_context *ctx, const char *name, actor_ref *ret_ref)
{
    return actor_names_lookup(worker_of_context(ctx), name, ret_ref);
}

int engine_ctx_find_type(struct engine_context *ctx, const char *name, uint32_t *ret_id)
{
    struct engine *e = worker_of_context(ctx)->engine;
    int r = engine_actor_type_find(e, name, ret_id);
    return r == 0 && *ret_id == e->types.group ? -ENOENT : r; /* which joining makes alone */
}

void engine_ctx_describe(struct engine_context *ctx, const char **ret_type, const char **ret_plugin)
{
    struct engine *e = worker_of_context(ctx)->engine;
    const struct actor_type *type = load_relaxed(
        &e->types
             .known[actor_key_type(load_relaxed(&e->actors.table[actor_ref_slot(ctx->self)].key))]);
    *ret_type = type ? type->name : "";
    *ret_plugin = type ? type->plugin : "";
}
