/* SPDX-License-Identifier: Apache-2.0 */
/* The soak's plugin (bank.h). Whoever finds a number that cannot be next counts it as wrong, for
 * ever: the states are kept. */
#include "bank.h"

#include <odeon/plugin.h>

/* Some take a while, so that kills find behaviours running. */
static void dawdle(uint64_t number)
{
    for (volatile unsigned i = 0, n = number % 64 == 0 ? 200000 : number % 7 * 10; i < n; i = i + 1)
        ;
}

/* ---- tellers ---- */

ODEON_STATE(bank_teller, {
    struct bank_told told;
    uint32_t index;
});

ODEON_INIT(bank_teller, struct bank_args)
{
    self->index = args->index;
    return 0;
}

static void enter(struct bank_teller_state *self, struct odeon_context *ctx,
                  const struct bank_transfer *transfer, odeon_ref account, int64_t amount)
{
    if (odeon_send_any(ctx, account, bank_entry, .origin = transfer->origin,
                       .number = transfer->number, .amount = amount, .teller = self->index) < 0)
        self->told.failed++;
}

ODEON_RECEIVE(bank_teller, bank_transfer)
{
    self->told.runs_again += ctx->redelivered;
    if (msg->number != self->told.last + 1)
        self->told.wrong++;
    self->told.last = msg->number;
    enter(self, ctx, msg, msg->from, -msg->amount);
    dawdle(msg->number);
    enter(self, ctx, msg, msg->to, msg->amount);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(bank_teller, bank_ask)
{
    ctx->host->reply(ctx, odeon_message_of(bank_told)->id, &self->told, sizeof(self->told));
    return ODEON_NODELETE;
}

ODEON_HANDLERS(bank_teller, ODEON_ON(bank_teller, bank_transfer), ODEON_ON(bank_teller, bank_ask));
ODEON_ACTOR_TYPE(bank_teller, ODEON_POLICY(ODEON_RESTART_KEEP));

/* ---- accounts ---- */

ODEON_STATE(bank_account, {
    struct bank_statement statement;
    uint32_t index;
});

ODEON_INIT(bank_account, struct bank_args)
{
    self->statement.balance = args->balance;
    self->index = args->index;
    return 0;
}

ODEON_RECEIVE(bank_account, bank_entry)
{
    struct bank_line *line = &self->statement.lines[msg->teller % BANK_TELLERS];
    self->statement.runs_again += ctx->redelivered;
    if (msg->number <= line->last)
        self->statement.wrong++;
    bank_line_enter(line, msg->number, msg->amount);
    self->statement.balance += msg->amount / 2;
    dawdle(msg->number + self->index);
    /* what is killed in between must not be seen */
    self->statement.balance += msg->amount - msg->amount / 2;
    if (odeon_send_any(ctx, msg->origin, bank_receipt, .number = msg->number, .amount = msg->amount,
                       .teller = (uint32_t)msg->teller, .account = self->index) < 0)
        self->statement.failed++;
    return ODEON_NODELETE;
}

ODEON_RECEIVE(bank_account, bank_ask)
{
    ctx->host->reply(ctx, odeon_message_of(bank_statement)->id, &self->statement,
                     sizeof(self->statement));
    return ODEON_NODELETE;
}

ODEON_HANDLERS(bank_account, ODEON_ON(bank_account, bank_entry), ODEON_ON(bank_account, bank_ask));
ODEON_ACTOR_TYPE(bank_account, ODEON_POLICY(ODEON_RESTART_KEEP));

/* ---- lanes ---- */

ODEON_STATE(bank_forwarder, { odeon_ref next; });

ODEON_INIT(bank_forwarder, odeon_ref)
{
    self->next = *args;
    return 0;
}

ODEON_RECEIVE(bank_forwarder, bank_hop)
{
    if (odeon_send_any(ctx, self->next, bank_hop, .origin = msg->origin, .number = msg->number,
                       .lane = msg->lane, .ask = msg->ask) < 0)
        odeon_log(ctx, ODEON_LOG_ERROR, "a hop could not be handed on");
    return ODEON_NODELETE;
}

ODEON_HANDLERS(bank_forwarder, ODEON_ON(bank_forwarder, bank_hop));
ODEON_ACTOR_TYPE(bank_forwarder);

ODEON_STATE(bank_recorder, { struct bank_told told; });

ODEON_RECEIVE(bank_recorder, bank_hop)
{
    self->told.runs_again += ctx->redelivered;
    if (!msg->ask) {
        if (msg->number != self->told.last + 1)
            self->told.wrong++;
        self->told.last = msg->number;
    }
    if (odeon_send_any(ctx, msg->origin, bank_hop, .origin = msg->origin, .number = self->told.last,
                       .lane = msg->lane, .ask = msg->ask) < 0)
        self->told.failed++;
    return ODEON_NODELETE;
}

ODEON_RECEIVE(bank_recorder, bank_ask)
{
    ctx->host->reply(ctx, odeon_message_of(bank_told)->id, &self->told, sizeof(self->told));
    return ODEON_NODELETE;
}

ODEON_HANDLERS(bank_recorder, ODEON_ON(bank_recorder, bank_hop), ODEON_ON(bank_recorder, bank_ask));
ODEON_ACTOR_TYPE(bank_recorder, ODEON_POLICY(ODEON_RESTART_KEEP));
ODEON_PLUGIN("bank", "1.0.0", ODEON_TYPE(bank_teller), ODEON_TYPE(bank_account),
             ODEON_TYPE(bank_forwarder), ODEON_TYPE(bank_recorder));
