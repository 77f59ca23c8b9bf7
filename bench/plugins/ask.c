/* SPDX-License-Identifier: Apache-2.0 */
/* ask and forward: what a question costs, and passing a message on, beside pingpong_local.
 *
 * ask: one actor asks another, which replies, again and again; both on the driver's queue.
 * Messages: n, rounded up to even, two a question. forward: one actor sends to a front, which
 * passes it on to another, which replies. Messages: three a trip. Clock: from before the first
 * until the last answer is back.
 */
#include "driver.h"

#include <odeon/ask.h>

#define DEFAULT_MESSAGES 1000000u

ODEON_MESSAGE(bench_question, 1, { uint64_t number; });
ODEON_MESSAGE(bench_answer, 1, { uint64_t number; });
ODEON_INTERFACE(bench_asked, bench_question);
ODEON_INTERFACE(bench_front, bench_question);
ODEON_INTERFACE(bench_ask, bench_run, bench_answer, odeon_no_answer);
ODEON_INTERFACE(bench_forward, bench_run, bench_answer);

ODEON_STATELESS(bench_asked);

ODEON_RECEIVE(bench_asked, bench_question)
{
    odeon_reply(ctx, bench_answer, .number = msg->number);
    return ODEON_NODELETE;
}

ODEON_HANDLERS(bench_asked, ODEON_ON(bench_asked, bench_question));
ODEON_ACTOR_TYPE(bench_asked);

/* Its state is whom it passes questions on to: its spawn arguments. */
ODEON_STATE(bench_front, { bench_asked_ref behind; });

ODEON_INIT(bench_front, bench_asked_ref)
{
    self->behind = *args;
    (void)ctx;
    return 0;
}

ODEON_RECEIVE(bench_front, bench_question)
{
    odeon_forward(ctx, self->behind, msg);
    return ODEON_NODELETE;
}

ODEON_HANDLERS(bench_front, ODEON_ON(bench_front, bench_question));
ODEON_ACTOR_TYPE(bench_front);

ODEON_STATE(bench_ask, {
    odeon_ref client;
    bench_asked_ref peer;
    uint64_t begin_ns, n, left;
});

static int ask_next(struct bench_ask_state *self, struct odeon_context *ctx)
{
    int r = odeon_ask(ctx, NULL, 0, self->peer, bench_question, .number = self->left);
    return r < 0 ? driver_fail(ctx, self->client, r, "cannot ask") : ODEON_NODELETE;
}

ODEON_RECEIVE(bench_ask, bench_run)
{
    int r = odeon_spawn_into(ctx, &self->peer, bench_asked, .placement = ODEON_PLACE_HERE);
    if (r < 0)
        return driver_fail(ctx, ctx->sender, r, "cannot make the other actor");
    self->client = ctx->sender;
    self->n = self->left = (driver_default(msg->n, DEFAULT_MESSAGES) + 1) / 2;
    self->begin_ns = odeon_now_ns(ctx);
    return ask_next(self, ctx);
}

ODEON_RECEIVE(bench_ask, bench_answer)
{
    if (!odeon_is_answer(ctx) || msg->number != self->left)
        return driver_fail(ctx, self->client, -EPROTO, "another answer");
    if (--self->left > 0)
        return ask_next(self, ctx);
    odeon_poison_delete(ctx, self->peer);
    return driver_finish(ctx, self->client, odeon_now_ns(ctx) - self->begin_ns, 2 * self->n);
}

ODEON_RECEIVE(bench_ask, odeon_no_answer)
{
    return driver_fail(ctx, self->client, -(int)msg->reason, "no answer");
}

ODEON_HANDLERS(bench_ask, ODEON_ON(bench_ask, bench_run), ODEON_ON(bench_ask, bench_answer),
               ODEON_ON(bench_ask, odeon_no_answer));
ODEON_ACTOR_TYPE(bench_ask);

ODEON_STATE(bench_forward, {
    odeon_ref client;
    bench_asked_ref peer;
    bench_front_ref front;
    uint64_t begin_ns, n, left;
});

ODEON_RECEIVE(bench_forward, bench_run)
{
    int r = odeon_spawn_into(ctx, &self->peer, bench_asked, .placement = ODEON_PLACE_HERE);
    if (r == 0)
        r = odeon_spawn_into(ctx, &self->front, bench_front, .placement = ODEON_PLACE_HERE,
                             .args = &self->peer, .args_size = sizeof(self->peer));
    if (r < 0)
        return driver_fail(ctx, ctx->sender, r, "cannot make the other actors");
    self->client = ctx->sender;
    self->n = self->left = (driver_default(msg->n, DEFAULT_MESSAGES) + 2) / 3;
    self->begin_ns = odeon_now_ns(ctx);
    odeon_send(ctx, self->front, bench_question, .number = self->left);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(bench_forward, bench_answer)
{
    if (msg->number != self->left)
        return driver_fail(ctx, self->client, -EPROTO, "another answer");
    if (--self->left > 0) {
        odeon_send(ctx, self->front, bench_question, .number = self->left);
        return ODEON_NODELETE;
    }
    odeon_poison_delete(ctx, self->front);
    odeon_poison_delete(ctx, self->peer);
    return driver_finish(ctx, self->client, odeon_now_ns(ctx) - self->begin_ns, 3 * self->n);
}

ODEON_HANDLERS(bench_forward, ODEON_ON(bench_forward, bench_run),
               ODEON_ON(bench_forward, bench_answer));
ODEON_ACTOR_TYPE(bench_forward);
