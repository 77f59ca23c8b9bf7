/* SPDX-License-Identifier: Apache-2.0 */
/* 15, bank transactions: who has asked waits for the answer, and may be asked meanwhile.
 *
 * A teller has `a` accounts, and draws `n` transfers, all in one behaviour: from one of the first
 * four fifths to a later one, up to 1,000. It tells the account that pays; that takes the amount
 * off its balance, tells the other one, and waits for its reply, putting everything else aside. The
 * other one adds the amount and replies, to the first one, which then replies to the teller, and
 * takes up what it has put aside. As money only goes to later accounts, nobody waits for itself.
 * With its n-th reply the teller ends all accounts and itself.
 * Messages: 1 + 4n + a. Check: n replies, and the sum of balances, a million each at first.
 *
 * An account is in another phase while it waits, and puts aside into its stash, of which it takes
 * up one message at a time: with all at once, all but the first would be put aside again. The
 * service's setting stash says how many it holds: 1024 is asked for here.
 */
#include "lcg.h"
#include "program.h"

enum { BANKING_ACCOUNTS_MAX = 20000 };
#define BANKING_BALANCE 1e6

ODEON_ARGUMENTS(banking_args, {
    uint32_t a;
    uint32_t n;
});

ODEON_SIGNAL(banking_start, 1);
ODEON_MESSAGE(banking_credit, 1, {
    double amount;
    odeon_ref recipient;
});
ODEON_MESSAGE(banking_debit, 1, { double amount; });
ODEON_SIGNAL(banking_reply, 1);
ODEON_SIGNAL(banking_stop, 1);
ODEON_INTERFACE(banking_account, banking_credit, banking_debit, banking_reply, banking_stop);
ODEON_INTERFACE(banking_teller, banking_start, banking_reply);

/* ---- accounts ---- */

ODEON_STATE(banking_account, {
    double balance;
    banking_teller_ref teller; /* of the transfer that waits */
    uint32_t aside;
});

ODEON_INIT(banking_account)
{
    self->balance = BANKING_BALANCE;
    return 0;
}

/* The next message is the first of those that were put aside, if there are any. */
static void banking_take_up(struct banking_account_state *self, struct odeon_context *ctx)
{
    if (self->aside == 0)
        return;
    self->aside--;
    program_must(ctx, odeon_unstash_some(ctx, 1));
}

ODEON_RECEIVE(banking_account, banking_credit)
{
    self->balance -= msg->amount;
    self->teller = odeon_as(banking_teller, ctx->sender);
    program_must(ctx, odeon_send(ctx, odeon_as(banking_account, msg->recipient), banking_debit,
                                 .amount = msg->amount));
    program_must(ctx, odeon_become(ctx, "waiting"));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(banking_account, banking_debit)
{
    self->balance += msg->amount;
    program_must(ctx, odeon_reply_signal(ctx, banking_reply));
    banking_take_up(self, ctx);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(banking_account, banking_reply) /* nothing was asked */
{
    program_fail(ctx, -EPROTO);
    return ODEON_DELETE;
}

ODEON_RECEIVE(banking_account, banking_stop)
{
    program_report(ctx, .sum = self->balance);
    return ODEON_DELETE;
}

ODEON_RECEIVE_IN(banking_account, waiting, banking_credit)
{
    self->aside++;
    program_must(ctx, odeon_stash(ctx, msg));
    return ODEON_NODELETE;
}

ODEON_RECEIVE_IN(banking_account, waiting, banking_debit)
{
    self->aside++;
    program_must(ctx, odeon_stash(ctx, msg));
    return ODEON_NODELETE;
}

ODEON_RECEIVE_IN(banking_account, waiting, banking_reply)
{
    program_must(ctx, odeon_signal(ctx, self->teller, banking_reply));
    program_must(ctx, odeon_become(ctx, "ready"));
    banking_take_up(self, ctx);
    return ODEON_NODELETE;
}

ODEON_HANDLERS(banking_account, ODEON_ON(banking_account, banking_credit),
               ODEON_ON(banking_account, banking_debit), ODEON_ON(banking_account, banking_reply),
               ODEON_ON(banking_account, banking_stop));
ODEON_HANDLERS_IN(banking_account, waiting, ODEON_ON_IN(banking_account, waiting, banking_credit),
                  ODEON_ON_IN(banking_account, waiting, banking_debit),
                  ODEON_ON_IN(banking_account, waiting, banking_reply),
                  ODEON_ON(banking_account, banking_stop));
ODEON_ACTOR_TYPE(banking_account, ODEON_POLICY(ODEON_RESTART_STOP), ODEON_BEHAVIOURS_NAME("ready"),
                 ODEON_PHASES(ODEON_PHASE(banking_account, waiting)));

/* ---- the teller ---- */

ODEON_STATE(banking_teller, {
    struct banking_args args;
    uint32_t replies;
    banking_account_ref accounts[BANKING_ACCOUNTS_MAX];
});

ODEON_INIT(banking_teller, struct banking_args)
{
    self->args = *args;
    for (uint32_t i = 0; i < args->a; i++)
        program_must(ctx, odeon_spawn_into(ctx, &self->accounts[i], banking_account));
    return 0;
}

ODEON_RECEIVE(banking_teller, banking_start)
{
    struct lcg lcg = { 123456 };
    for (uint32_t i = 0; i < self->args.n; i++) {
        uint32_t from = lcg_int(&lcg, self->args.a / 10 * 8);
        uint32_t by = lcg_int(&lcg, self->args.a - from);
        double amount = lcg_double(&lcg) * 1000;
        program_must(ctx, odeon_send(ctx, self->accounts[from], banking_credit, .amount = amount,
                                     .recipient = self->accounts[from + (by > 0 ? by : 1)].ref));
    }
    return ODEON_NODELETE;
}

ODEON_RECEIVE(banking_teller, banking_reply)
{
    if (++self->replies < self->args.n)
        return ODEON_NODELETE;
    for (uint32_t i = 0; i < self->args.a; i++)
        program_must(ctx, odeon_signal(ctx, self->accounts[i], banking_stop));
    program_report(ctx, .count = self->replies);
    return ODEON_DELETE;
}

ODEON_HANDLERS(banking_teller, ODEON_ON(banking_teller, banking_start),
               ODEON_ON(banking_teller, banking_reply));
ODEON_ACTOR_TYPE(banking_teller, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the head ---- */

ODEON_STATE(savina_banking, {
    struct program program;
    struct banking_args args;
});

static void banking_accept(struct savina_banking_state *self)
{
    program_range(&self->program, "a", self->args.a, 10, BANKING_ACCOUNTS_MAX);
    program_range(&self->program, "n", self->args.n, 1, 100 * (uint64_t)self->args.a);
    program_range(&self->program, "n", self->args.n, 1, 50000); /* as many may be put aside */
}

static int banking_step(struct savina_banking_state *self, struct odeon_context *ctx)
{
    banking_teller_ref teller;
    int r = odeon_spawn_into(ctx, &teller, banking_teller,
                             ODEON_ARGS(struct banking_args, .a = self->args.a, .n = self->args.n));
    if (r == 0)
        r = odeon_signal(ctx, teller, banking_start);
    self->program.awaited = self->args.a + 1;
    self->program.messages = 1 + 4 * (uint64_t)self->args.n + self->args.a;
    return r;
}

static void banking_verify(struct savina_banking_state *self)
{
    program_expect(&self->program, "replies", self->program.count, self->args.n);
    program_expect_near(&self->program, "sum of balances", self->program.sum,
                        self->args.a * BANKING_BALANCE, 1e-12);
}

PROGRAM(banking);
