/* SPDX-License-Identifier: Apache-2.0 */
/* An actor that asks one question after the other, a front that passes them on, and a keeper that
 * answers as the question's number says. All of them keep their states. */
#include "tests/system/asks.h"

#include <string.h>

#include <odeon/plugin.h>

#define MS UINT64_C(1000000)

ODEON_STATE(asks_asker, {
    odeon_ref port, front;
    uint64_t last, number, token;
});
ODEON_STATE(asks_front, { odeon_ref keeper, nobody, deaf, client; });
ODEON_STATE(asks_keeper, { uint64_t owed; });
ODEON_STATELESS(asks_deaf);

static uint64_t deadline_of(uint64_t number)
{
    switch (number % ASKS_CASES) {
    case ASKS_TOO_LATE:
    case ASKS_NEVER:
        return MS / 5;
    case ASKS_PERHAPS:
        return MS;
    default:
        return 3600 * ODEON_SECOND_NS;
    }
}

static void ask_next(struct asks_asker_state *self, struct odeon_context *ctx)
{
    if (++self->number > self->last)
        return;
    if (odeon_ask(ctx, &self->token, deadline_of(self->number), odeon_as(asks_front, self->front),
                  asks_question, .number = self->number) < 0)
        odeon_send_any(ctx, self->port, asks_heard, .wrong = __LINE__);
}

/* One outcome of the question that is asked now. */
static void heard(struct asks_asker_state *self, struct odeon_context *ctx, uint64_t number,
                  uint64_t reason)
{
    uint64_t wrong = 0;

    if (!odeon_is_answer(ctx) || odeon_answer_token(ctx) != self->token)
        wrong = __LINE__;
    if (number != self->number)
        wrong = __LINE__;
    odeon_send_any(ctx, self->port, asks_heard, .number = number, .reason = reason, .wrong = wrong);
    ask_next(self, ctx);
}

ODEON_RECEIVE(asks_asker, asks_start)
{
    self->port = msg->port;
    self->front = msg->front;
    self->last = msg->last;
    self->number = 0;
    ask_next(self, ctx);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(asks_asker, asks_answer)
{
    heard(self, ctx, msg->number, 0);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(asks_asker, odeon_no_answer)
{
    heard(self, ctx, msg->token == self->token ? self->number : 0, msg->reason);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(asks_front, asks_seats)
{
    self->keeper = msg->keeper;
    self->nobody = msg->nobody;
    self->deaf = msg->deaf;
    self->client = msg->client;
    return ODEON_NODELETE;
}

ODEON_RECEIVE(asks_front, asks_question)
{
    odeon_ref to = self->keeper;

    if (msg->number % ASKS_CASES == ASKS_NOBODY)
        to = self->nobody;
    if (msg->number % ASKS_CASES == ASKS_DEAF)
        to = self->deaf;
    if (msg->number % ASKS_CASES == ASKS_CLIENT)
        to = self->client;
    (void)odeon_forward_any(ctx, to, msg);
    return ODEON_NODELETE;
}

static void owe(struct asks_keeper_state *self, struct odeon_context *ctx, uint64_t number,
                uint64_t delay_ns)
{
    struct odeon_promise promise = { 0 };

    self->owed++;
    (void)odeon_reply_later(ctx, &promise);
    (void)odeon_send_after(ctx, NULL, delay_ns, odeon_self(ctx, asks_keeper), asks_due,
                           .number = number,
                           .promise = { promise.to, promise.correlation, promise.signature });
}

ODEON_RECEIVE(asks_keeper, asks_question)
{
    switch (msg->number % ASKS_CASES) {
    case ASKS_AT_ONCE:
        (void)odeon_reply(ctx, asks_answer, .number = msg->number);
        break;
    case ASKS_LATER:
        owe(self, ctx, msg->number, MS / 10);
        break;
    case ASKS_TOO_LATE:
        owe(self, ctx, msg->number, 20 * MS);
        break;
    case ASKS_PERHAPS:
        owe(self, ctx, msg->number, MS - MS / 20);
        break;
    default:
        break;
    }
    return ODEON_NODELETE;
}

ODEON_RECEIVE(asks_keeper, asks_due)
{
    struct odeon_promise promise;

    self->owed--;
    memcpy(&promise, msg->promise, sizeof(promise));
    (void)odeon_answer(ctx, &promise, asks_answer, .number = msg->number);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(asks_deaf, asks_seats)
{
    (void)msg, (void)ctx;
    return ODEON_NODELETE;
}

ODEON_HANDLERS(asks_asker, ODEON_ON(asks_asker, asks_start), ODEON_ON(asks_asker, asks_answer),
               ODEON_ON(asks_asker, odeon_no_answer));
ODEON_HANDLERS(asks_front, ODEON_ON(asks_front, asks_seats), ODEON_ON(asks_front, asks_question));
ODEON_HANDLERS(asks_keeper, ODEON_ON(asks_keeper, asks_question), ODEON_ON(asks_keeper, asks_due));
ODEON_HANDLERS(asks_deaf, ODEON_ON(asks_deaf, asks_seats));
ODEON_ACTOR_TYPE(asks_asker, ODEON_POLICY(ODEON_RESTART_KEEP));
ODEON_ACTOR_TYPE(asks_front, ODEON_POLICY(ODEON_RESTART_KEEP));
ODEON_ACTOR_TYPE(asks_keeper, ODEON_POLICY(ODEON_RESTART_KEEP));
ODEON_ACTOR_TYPE(asks_deaf);
ODEON_PLUGIN("asks", "1.0.0", ODEON_TYPE(asks_asker), ODEON_TYPE(asks_front),
             ODEON_TYPE(asks_keeper), ODEON_TYPE(asks_deaf));
