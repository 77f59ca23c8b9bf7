/* SPDX-License-Identifier: Apache-2.0 */
/* What behaviours do with questions, their own and others': asking, replying at once or later,
 * passing on; with monitors; and with messages that they put off (engine_context.h).
 */
#include <errno.h>
#include <string.h>

#include "daemon/engine/asks/answer.h"
#include "daemon/engine/asks/ask.h"
#include "daemon/engine/asks/monitor.h"
#include "daemon/engine/asks/stash.h"
#include "daemon/engine/core/tag.h"
#include "daemon/engine/engine_context.h"
#include "daemon/engine/send/compose.h"
#include "daemon/engine/send/short_way.h"

/* What the running message asks for: an answer answers nothing itself. */
static uint64_t engine_answers_correlation(const struct engine_context *ctx)
{
    return likely(ctx->kind >> 56 != KIND_ANSWER) ? ctx->correlation : 0;
}

/* What is sent: the optional words that it may have, a correlation id and hops (0: it has none),
 * and its payload. */
struct engine_answers_parts {
    uint64_t correlation;
    unsigned hops;
    struct engine_pieces pieces;
};

static inline void engine_answers_copy(uint64_t *payload, const struct engine_pieces *pieces)
{
    if (likely(((pieces->head_size & ~UINT64_C(24)) | pieces->tail_size) == 0)) {
        short_way_copy_words(payload, pieces->head, pieces->head_size);
        return;
    }
    if (pieces->head_size)
        memcpy(payload, pieces->head, pieces->head_size);
    if (pieces->tail_size)
        memcpy((uint8_t *)payload + pieces->head_size, pieces->tail, pieces->tail_size);
}

/* The short way, of what no trace is on. False: it is not as simple as that. `kind`: the third
 * word, but for length and prefix. */
static inline bool engine_answers_send_short(struct worker *w, actor_ref to, actor_ref from,
                                             uint64_t kind, const struct engine_answers_parts *what)
{
    const struct engine_pieces *pieces = &what->pieces;
    if (unlikely(actor_ref_generation(to) == 0 || pieces->head_size > ODEON_PAYLOAD_MAX ||
                 pieces->tail_size > ODEON_PAYLOAD_MAX - pieces->head_size || tag_of(w)))
        return false;
    uint64_t n_words = (what->correlation != 0) + (what->hops != 0),
             length = 8 * n_words + pieces->head_size + pieces->tail_size,
             prefix = (what->correlation ? (uint64_t)PREFIX_CORRELATION << 56 : 0) |
                      (what->hops ? (uint64_t)PREFIX_ACCEPTED << 56 : 0);
    struct envelope *at = short_way_place(w, to, from, kind | length << 16 | prefix);
    if (unlikely(!at))
        return false;
    uint64_t *word = (uint64_t *)(at + 1);
    if (what->correlation)
        *word++ = what->correlation; /* the first one of them */
    if (what->hops)
        *word++ = envelope_accepted(0, what->hops);
    engine_answers_copy(word, pieces);
    return true;
}

static __attribute__((noinline)) int
engine_answers_reply_otherwise(struct engine_context *ctx, actor_ref to, uint64_t correlation,
                               uint32_t type, struct engine_pieces pieces)
{
    return compose_send(worker_of_context(ctx),
                        &(const struct compose){
                            .to = to,
                            .from = ctx->self,
                            .meta = envelope_meta((uint16_t)type, 0, BEHAVIOUR_NONE),
                            .correlation = correlation,
                            .flags = correlation ? ENVELOPE_REPLY : 0,
                            .head = pieces.head,
                            .head_size = pieces.head_size,
                            .tail = pieces.tail,
                            .tail_size = pieces.tail_size,
                        });
}

static inline int engine_answers_reply(struct engine_context *ctx, actor_ref to,
                                       uint64_t correlation, uint32_t type,
                                       struct engine_pieces pieces)
{
    const struct engine_answers_parts what = { .correlation = correlation, .pieces = pieces };
    uint64_t kind = envelope_meta((uint16_t)type, 0, BEHAVIOUR_NONE) |
                    (correlation ? (uint64_t)ENVELOPE_REPLY << 40 : 0);
    if (likely(engine_answers_send_short(worker_of_context(ctx), to, ctx->self, kind, &what)))
        return 0;
    return engine_answers_reply_otherwise(ctx, to, correlation, type, pieces);
}

/* A function of its own, by a jump: who replies to a plain message needs no stack for it. */
static __attribute__((noinline)) int engine_answers_reply_worded(struct engine_context *ctx,
                                                                 uint32_t type, const void *head,
                                                                 size_t head_size, const void *tail,
                                                                 size_t tail_size)
{
    return engine_answers_reply(
        ctx, ctx->sender, engine_answers_correlation(ctx), type,
        (struct engine_pieces){
            .head = head, .head_size = head_size, .tail = tail, .tail_size = tail_size });
}

int engine_ctx_reply(struct engine_context *ctx, uint32_t type, const void *head, size_t head_size,
                     const void *tail, size_t tail_size)
{
    if (unlikely(ctx->sender == 0))
        return -ENOTCONN;
    /* to a message that asks nothing it is a send, which has the shorter way */
    if (engine_answers_correlation(ctx) == 0 && tail_size == 0)
        return engine_ctx_send(ctx, ctx->sender, type, BEHAVIOUR_NONE, head, head_size);
    return engine_answers_reply_worded(ctx, type, head, head_size, tail, tail_size);
}

int engine_ctx_reply_later(struct engine_context *ctx, struct engine_promise *ret_promise)
{
    if (ctx->sender == 0)
        return -ENOTCONN;
    struct answer_promise promise = answer_promise_make(worker_of_context(ctx)->engine, ctx->sender,
                                                        engine_answers_correlation(ctx));
    *ret_promise =
        (struct engine_promise){ .words = { promise.to, promise.correlation, promise.signature } };
    return 0;
}

/* answer.N1 */
int engine_ctx_answer(struct engine_context *ctx, const struct engine_promise *promise,
                      uint32_t type, const struct engine_pieces *pieces)
{
    struct worker *w = worker_of_context(ctx);
    const struct answer_promise read = { .to = promise->words[0],
                                         .correlation = promise->words[1],
                                         .signature = promise->words[2] };
    if (!answer_promise_is_ours(w->engine, &read)) {
        stat_add(w, STAT_answers_forged, 1);
        return -EPERM;
    }
    if (read.correlation && actor_ref_slot(read.to) >= ODEON_PORTS_MAX &&
        !ask_is_open(w, read.correlation, read.to)) {
        stat_add(w, STAT_answers_late, 1);
        return -ESTALE;
    }
    return engine_answers_reply(ctx, read.to, read.correlation, type, *pieces);
}

static __attribute__((noinline)) int
engine_answers_ask_otherwise(struct engine_context *ctx, actor_ref to, uint64_t kind,
                             uint64_t token, const struct engine_pieces *pieces)
{
    struct worker *w = worker_of_context(ctx);
    int r = compose_send(w, &(const struct compose){
                                .to = to,
                                .from = ctx->self,
                                .meta = kind,
                                .correlation = token,
                                .tells = true,
                                .head = pieces->head,
                                .head_size = pieces->head_size,
                                .tail = pieces->tail,
                                .tail_size = pieces->tail_size,
                            });
    if (r < 0)
        (void)ask_cancel(w, token);
    return r;
}

int engine_ctx_ask(struct engine_context *ctx, actor_ref to, uint32_t type, uint32_t behaviour,
                   const struct engine_pieces *pieces, uint64_t timeout_ns, uint64_t *ret_token)
{
    struct worker *w = worker_of_context(ctx);
    uint64_t kind = envelope_meta((uint16_t)type, 0, behaviour & 0xff);
    int r = ask_open(w, to, timeout_ns, ret_token);
    if (unlikely(r < 0))
        return r;
    const struct engine_answers_parts what = { .correlation = *ret_token, .pieces = *pieces };
    if (unlikely(!engine_answers_send_short(w, to, ctx->self, kind, &what)))
        r = engine_answers_ask_otherwise(ctx, to, kind, *ret_token, pieces);
    if (likely(r == 0))
        stat_add(w, STAT_asks, 1);
    return r;
}

int engine_ctx_ask_cancel(struct engine_context *ctx, uint64_t token)
{
    return ask_cancel(worker_of_context(ctx), token);
}

static __attribute__((noinline)) int
engine_answers_forward_otherwise(struct engine_context *ctx, actor_ref to, const void *message)
{
    return compose_send(worker_of_context(ctx),
                        &(const struct compose){
                            .to = to,
                            .from = ctx->sender,
                            .meta = envelope_meta(ctx->message_type, 0, BEHAVIOUR_NONE),
                            .correlation = engine_answers_correlation(ctx),
                            .hops = (uint8_t)(ctx->hops + 1),
                            .tells = true,
                            .head = message,
                            .head_size = ctx->message_size,
                        });
}

int engine_ctx_forward(struct engine_context *ctx, actor_ref to, const void *message)
{
    struct worker *w = worker_of_context(ctx);
    if (unlikely(ctx->self == 0 || ctx->message_type < MESSAGE_TYPE_FIRST_PLAIN))
        return -EPERM;
    if (unlikely(ctx->hops >= ENGINE_HOPS_MAX))
        return -ELOOP;
    const struct engine_answers_parts what = { .correlation = engine_answers_correlation(ctx),
                                               .hops = ctx->hops + 1u,
                                               .pieces = { .head = message,
                                                           .head_size = ctx->message_size } };
    int r = 0;
    if (unlikely(!engine_answers_send_short(
            w, to, ctx->sender, envelope_meta(ctx->message_type, 0, BEHAVIOUR_NONE), &what)))
        r = engine_answers_forward_otherwise(ctx, to, message);
    if (likely(r == 0))
        stat_add(w, STAT_forwards, 1);
    return r;
}

int engine_ctx_monitor(struct engine_context *ctx, actor_ref ref, uint64_t *ret_id)
{
    return monitor_open(worker_of_context(ctx), ref, ret_id);
}

int engine_ctx_demonitor(struct engine_context *ctx, uint64_t id)
{
    return monitor_close(worker_of_context(ctx), id);
}

int engine_ctx_stash(struct engine_context *ctx, const void *message)
{
    return stash_put(worker_of_context(ctx), message);
}

int engine_ctx_unstash(struct engine_context *ctx, uint32_t most)
{
    return stash_take(worker_of_context(ctx), most);
}

uint32_t engine_actor_stashed(struct engine *e, actor_ref ref, uint64_t *ret_bytes)
{
    return stash_count(e, ref, ret_bytes);
}
