/* SPDX-License-Identifier: Apache-2.0 */
/* What behaviours do with questions, their own and others': asking, replying at once or later,
 * passing on; with monitors; and with messages that they put off (engine_context.h).
 */
#include <errno.h>

#include "daemon/engine/asks/answer.h"
#include "daemon/engine/asks/ask.h"
#include "daemon/engine/asks/monitor.h"
#include "daemon/engine/asks/stash.h"
#include "daemon/engine/engine_context.h"
#include "daemon/engine/send/compose.h"

/* What the running message asks for: an answer answers nothing itself. */
static uint64_t engine_answers_correlation(const struct engine_context *ctx)
{
    return likely(ctx->kind >> 56 != KIND_ANSWER) ? ctx->correlation : 0;
}

static int engine_answers_send(struct engine_context *ctx, actor_ref to, uint64_t correlation,
                               uint32_t type, const struct engine_pieces *pieces)
{
    return compose_send(worker_of_context(ctx),
                        &(const struct compose){
                            .to = to,
                            .from = ctx->self,
                            .meta = envelope_meta((uint16_t)type, 0, BEHAVIOUR_NONE),
                            .correlation = correlation,
                            .flags = correlation ? ENVELOPE_REPLY : 0,
                            .head = pieces->head,
                            .head_size = pieces->head_size,
                            .tail = pieces->tail,
                            .tail_size = pieces->tail_size,
                        });
}

int engine_ctx_reply(struct engine_context *ctx, uint32_t type, const void *head, size_t head_size,
                     const void *tail, size_t tail_size)
{
    const struct engine_pieces pieces = {
        .head = head, .head_size = head_size, .tail = tail, .tail_size = tail_size
    };
    uint64_t correlation = engine_answers_correlation(ctx);
    if (ctx->sender == 0)
        return -ENOTCONN;
    /* to a message that asks nothing it is a send, which has the shorter way */
    if (correlation == 0 && tail_size == 0)
        return engine_ctx_send(ctx, ctx->sender, type, BEHAVIOUR_NONE, head, head_size);
    return engine_answers_send(ctx, ctx->sender, correlation, type, &pieces);
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
    return engine_answers_send(ctx, read.to, read.correlation, type, pieces);
}

int engine_ctx_ask(struct engine_context *ctx, actor_ref to, uint32_t type, uint32_t behaviour,
                   const struct engine_pieces *pieces, uint64_t timeout_ns, uint64_t *ret_token)
{
    struct worker *w = worker_of_context(ctx);
    int r = ask_open(w, to, timeout_ns, ret_token);
    if (r < 0)
        return r;
    r = compose_send(w, &(const struct compose){
                            .to = to,
                            .from = ctx->self,
                            .meta = envelope_meta((uint16_t)type, 0, behaviour & 0xff),
                            .correlation = *ret_token,
                            .tells = true,
                            .head = pieces->head,
                            .head_size = pieces->head_size,
                            .tail = pieces->tail,
                            .tail_size = pieces->tail_size,
                        });
    if (r < 0)
        (void)ask_cancel(w, *ret_token);
    else
        stat_add(w, STAT_asks, 1);
    return r;
}

int engine_ctx_ask_cancel(struct engine_context *ctx, uint64_t token)
{
    return ask_cancel(worker_of_context(ctx), token);
}

int engine_ctx_forward(struct engine_context *ctx, actor_ref to, const void *message)
{
    struct worker *w = worker_of_context(ctx);
    if (ctx->self == 0 || ctx->message_type < MESSAGE_TYPE_FIRST_PLAIN)
        return -EPERM;
    if (ctx->hops >= ENGINE_HOPS_MAX)
        return -ELOOP;
    int r = compose_send(w, &(const struct compose){
                                .to = to,
                                .from = ctx->sender,
                                .meta = envelope_meta(ctx->message_type, 0, BEHAVIOUR_NONE),
                                .correlation = engine_answers_correlation(ctx),
                                .hops = (uint8_t)(ctx->hops + 1),
                                .tells = true,
                                .head = message,
                                .head_size = ctx->message_size,
                            });
    if (r == 0)
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
