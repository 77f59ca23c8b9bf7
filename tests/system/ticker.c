/* SPDX-License-Identifier: Apache-2.0 */
/* An actor that keeps its state and lives by its timers, by either clock in turn: each step arms
 * the next one, and another one that is never to come, since the next step cancels it. */
#include "tests/system/ticker.h"

#include <odeon/plugin.h>

#define NEVER_NS (3600 * ODEON_SECOND_NS)

ODEON_STATE(ticker, {
    odeon_ref port;
    uint64_t last, delay_ns, next;
    odeon_timer decoy;
});

static int arm(struct ticker_state *self, struct odeon_context *ctx)
{
    uint64_t delay_ns = self->next % 2 ? self->delay_ns : ODEON_BOOT_TIME(self->delay_ns);
    int r = odeon_send_after(ctx, NULL, delay_ns, odeon_self(ctx, ticker), ticker_step,
                             .number = self->next);
    return r < 0 ? r
                 : odeon_send_after(ctx, &self->decoy, ODEON_BOOT_TIME(NEVER_NS),
                                    odeon_self(ctx, ticker), ticker_step, .number = 0);
}

ODEON_RECEIVE(ticker, ticker_start)
{
    self->port = msg->port;
    self->last = msg->last;
    self->delay_ns = msg->delay_ns;
    self->next = 1;
    if (arm(self, ctx) < 0)
        odeon_send_any(ctx, self->port, ticker_heard, .wrong = __LINE__);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(ticker, ticker_step)
{
    uint64_t wrong = 0;

    if (!odeon_is_timer(ctx) || odeon_timer_missed(ctx) != 0 || msg->number != self->next)
        wrong = __LINE__;
    if (odeon_timer_cancel(ctx, self->decoy) < 0)
        wrong = __LINE__;
    self->next++;
    if (self->next <= self->last && arm(self, ctx) < 0)
        wrong = __LINE__;
    odeon_send_any(ctx, self->port, ticker_heard, .number = msg->number, .wrong = wrong);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(ticker, ticker_many)
{
    uint64_t n = 0;

    while (n < msg->n && odeon_send_every(ctx, NULL, NEVER_NS, odeon_self(ctx, ticker), ticker_step,
                                          .number = n) == 0)
        n++;
    odeon_send_any(ctx, msg->port, ticker_heard, .number = n);
    return ODEON_NODELETE;
}

ODEON_HANDLERS(ticker, ODEON_ON(ticker, ticker_start), ODEON_ON(ticker, ticker_step),
               ODEON_ON(ticker, ticker_many));
ODEON_ACTOR_TYPE(ticker, ODEON_POLICY(ODEON_RESTART_KEEP));
ODEON_PLUGIN("ticker", "1.0.0", ODEON_TYPE(ticker));
