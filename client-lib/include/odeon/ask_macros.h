/* SPDX-License-Identifier: Apache-2.0 */
/* The short spelling of asking, answering later and sending on, for C. Included by
 * <odeon/plugin.h>; what the calls do stands there, at struct odeon_host.
 *
 *     uint64_t token;
 *     int r = odeon_ask(ctx, &token, 2 * ODEON_SECOND_NS, stock, stock_get, .item = 7);
 *
 *     ODEON_RECEIVE(broker, price)
 *     {
 *         if (odeon_answer_token(ctx) != self->token)  ... not what was asked for
 *         return ODEON_NODELETE;
 *     }
 *     ODEON_RECEIVE(broker, odeon_no_answer)
 *     {
 *         odeon_logf(ctx, ODEON_LOG_WARNING, "no price: reason %u", msg->reason);
 *         return ODEON_NODELETE;
 *     }
 *
 * In the actor that answers:
 *
 *     odeon_reply(ctx, price, .amount = 3);          at once
 *     odeon_reply_later(ctx, &self->promise);        or in another turn:
 *     odeon_answer(ctx, &self->promise, price, .amount = 3);
 *     odeon_forward(ctx, other, msg);                or by another actor
 *
 * A service that is older than this: -ENOSYS.
 */
#ifndef ODEON_ASK_MACROS_H
#define ODEON_ASK_MACROS_H

#ifndef ODEON_PLUGIN_MACROS_H
#error "include <odeon/plugin.h>"
#endif

/* `timeout_ns_` 0: 30 s. `ret_` NULL: the token is not needed. */
#define odeon_ask(ctx_, ret_, timeout_ns_, to_, message_, ...)                                     \
    ODEON_FILLED_(message_,                                                                        \
                  odeon_ask_((ctx_), (ret_), (timeout_ns_), ODEON_REF_(to_),                       \
                             odeon_message_of(message_)->id, ODEON_INDEX_(to_, message_),          \
                             &odeon_filled_, sizeof(odeon_filled_)),                               \
                  __VA_ARGS__)
#define odeon_ask_any(ctx_, ret_, timeout_ns_, to_, message_, ...)                                 \
    ODEON_FILLED_(message_,                                                                        \
                  odeon_ask_((ctx_), (ret_), (timeout_ns_), (to_), odeon_message_of(message_)->id, \
                             ODEON_BEHAVIOUR_UNKNOWN, &odeon_filled_, sizeof(odeon_filled_)),      \
                  __VA_ARGS__)
#define odeon_ask_signal(ctx_, ret_, timeout_ns_, to_, message_)                                   \
    (ODEON_ASSERT_SIGNAL_(message_),                                                               \
     odeon_ask_((ctx_), (ret_), (timeout_ns_), ODEON_REF_(to_), odeon_message_of(message_)->id,    \
                ODEON_INDEX_(to_, message_), NULL, 0))
#define odeon_ask_signal_any(ctx_, ret_, timeout_ns_, to_, message_)                               \
    (ODEON_ASSERT_SIGNAL_(message_),                                                               \
     odeon_ask_((ctx_), (ret_), (timeout_ns_), (to_), odeon_message_of(message_)->id,              \
                ODEON_BEHAVIOUR_UNKNOWN, NULL, 0))

#define odeon_answer(ctx_, promise_, message_, ...)                                                \
    ODEON_FILLED_(message_,                                                                        \
                  odeon_answer_((ctx_), (promise_), odeon_message_of(message_)->id,                \
                                &odeon_filled_, sizeof(odeon_filled_)),                            \
                  __VA_ARGS__)
#define odeon_answer_signal(ctx_, promise_, message_)                                              \
    (ODEON_ASSERT_SIGNAL_(message_),                                                               \
     odeon_answer_((ctx_), (promise_), odeon_message_of(message_)->id, NULL, 0))

/* `message_`: what the behaviour was handed, `msg`. */
#define odeon_forward(ctx_, to_, message_)     odeon_forward_((ctx_), ODEON_REF_(to_), (message_))
#define odeon_forward_any(ctx_, to_, message_) odeon_forward_((ctx_), (to_), (message_))

/* The running message answers, or is the last word on, a question of this actor's: which. 0: it is
 * neither. */
static inline ODEON_UNUSED_ uint64_t odeon_answer_token(const struct odeon_context *ctx)
{
    return ctx->kind >> 56 == 2 ? ctx->correlation : 0;
}
static inline ODEON_UNUSED_ int odeon_is_answer(const struct odeon_context *ctx)
{
    return ctx->kind >> 56 == 2;
}

static inline ODEON_UNUSED_ int odeon_has_asks_(const struct odeon_context *ctx)
{
    return ctx->host->struct_size >= offsetof(struct odeon_host, forward) + sizeof(void *);
}

static inline ODEON_UNUSED_ int odeon_ask_(struct odeon_context *ctx, uint64_t *ret,
                                           uint64_t timeout_ns, odeon_ref to, uint32_t type,
                                           uint32_t behaviour, const void *data, size_t size)
{
    uint64_t token = 0;
    return odeon_has_asks_(ctx) ? (ctx->host->ask)(ctx, to, type, behaviour, data, size, timeout_ns,
                                                   ret ? ret : &token)
                                : -ENOSYS;
}

static inline ODEON_UNUSED_ int odeon_ask_cancel(struct odeon_context *ctx, uint64_t token)
{
    return odeon_has_asks_(ctx) ? (ctx->host->ask_cancel)(ctx, token) : -ENOSYS;
}

static inline ODEON_UNUSED_ int odeon_reply_later(struct odeon_context *ctx,
                                                  struct odeon_promise *ret_promise)
{
    return odeon_has_asks_(ctx) ? (ctx->host->reply_later)(ctx, ret_promise) : -ENOSYS;
}

static inline ODEON_UNUSED_ int odeon_answer_(struct odeon_context *ctx,
                                              const struct odeon_promise *promise, uint32_t type,
                                              const void *data, size_t size)
{
    return odeon_has_asks_(ctx) ? (ctx->host->answer)(ctx, promise, type, data, size) : -ENOSYS;
}

static inline ODEON_UNUSED_ int odeon_forward_(struct odeon_context *ctx, odeon_ref to,
                                               const void *message)
{
    return odeon_has_asks_(ctx) ? (ctx->host->forward)(ctx, to, message) : -ENOSYS;
}

#endif
