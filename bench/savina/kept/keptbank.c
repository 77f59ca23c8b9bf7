/* SPDX-License-Identifier: Apache-2.0 */
/* Bank transactions (../banking.c) that go on where they were when the executor is killed: every
 * state is kept, the head's too, which is the teller.
 *
 * The teller has `a` accounts, and draws `n` transfers, a few in each of its turns. Check: n
 * replies, and the sum of balances, a million each at first: whatever was killed in between, no
 * amount was lost, or paid twice.
 */
#include "../lcg.h"
#include "kept.h"

enum { KEPTBANK_ACCOUNTS_MAX = 32, KEPTBANK_TURN = 32 };
#define KEPTBANK_BALANCE 1e6

ODEON_ARGUMENTS(keptbank_args, {
    uint32_t a;
    uint32_t n;
});

ODEON_SIGNAL(keptbank_step, 1);
ODEON_MESSAGE(keptbank_credit, 1, {
    double amount;
    odeon_ref recipient;
});
ODEON_MESSAGE(keptbank_debit, 1, { double amount; });
ODEON_SIGNAL(keptbank_reply, 1);
ODEON_SIGNAL(keptbank_stop, 1);
ODEON_MESSAGE(keptbank_balance, 1, { double balance; });
ODEON_INTERFACE(keptbank_account, keptbank_credit, keptbank_debit, keptbank_reply, keptbank_stop);
ODEON_INTERFACE(savina_keptbank, savina_run, savina_check, keptbank_step, keptbank_reply,
                keptbank_balance);

/* ---- accounts ---- */

ODEON_STATE(keptbank_account, {
    double balance;
    uint64_t aside;
    savina_keptbank_ref teller;
});

ODEON_INIT(keptbank_account)
{
    self->balance = KEPTBANK_BALANCE;
    return 0;
}

static void keptbank_take_up(struct keptbank_account_state *self, struct odeon_context *ctx)
{
    if (self->aside == 0)
        return;
    self->aside--;
    kept_must(ctx, odeon_unstash_some(ctx, 1));
}

ODEON_RECEIVE(keptbank_account, keptbank_credit)
{
    self->balance -= msg->amount;
    self->teller = odeon_as(savina_keptbank, ctx->sender);
    kept_must(ctx, odeon_send(ctx, odeon_as(keptbank_account, msg->recipient), keptbank_debit,
                              .amount = msg->amount));
    kept_must(ctx, odeon_become(ctx, "waiting"));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(keptbank_account, keptbank_debit)
{
    self->balance += msg->amount;
    kept_must(ctx, odeon_reply_signal(ctx, keptbank_reply));
    keptbank_take_up(self, ctx);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(keptbank_account, keptbank_reply) /* nothing was asked */
{
    (void)self;
    kept_must(ctx, -EPROTO);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(keptbank_account, keptbank_stop)
{
    kept_must(ctx, odeon_send(ctx, odeon_as(savina_keptbank, ctx->sender), keptbank_balance,
                              .balance = self->balance));
    return ODEON_DELETE;
}

ODEON_RECEIVE_IN(keptbank_account, waiting, keptbank_credit)
{
    self->aside++;
    kept_must(ctx, odeon_stash(ctx, msg));
    return ODEON_NODELETE;
}

ODEON_RECEIVE_IN(keptbank_account, waiting, keptbank_debit)
{
    self->aside++;
    kept_must(ctx, odeon_stash(ctx, msg));
    return ODEON_NODELETE;
}

ODEON_RECEIVE_IN(keptbank_account, waiting, keptbank_reply)
{
    kept_must(ctx, odeon_signal(ctx, self->teller, keptbank_reply));
    kept_must(ctx, odeon_become(ctx, "ready"));
    keptbank_take_up(self, ctx);
    return ODEON_NODELETE;
}

ODEON_HANDLERS(keptbank_account, ODEON_ON(keptbank_account, keptbank_credit),
               ODEON_ON(keptbank_account, keptbank_debit),
               ODEON_ON(keptbank_account, keptbank_reply),
               ODEON_ON(keptbank_account, keptbank_stop));
ODEON_HANDLERS_IN(keptbank_account, waiting,
                  ODEON_ON_IN(keptbank_account, waiting, keptbank_credit),
                  ODEON_ON_IN(keptbank_account, waiting, keptbank_debit),
                  ODEON_ON_IN(keptbank_account, waiting, keptbank_reply),
                  ODEON_ON(keptbank_account, keptbank_stop));
ODEON_ACTOR_TYPE(keptbank_account, ODEON_POLICY(ODEON_RESTART_KEEP), ODEON_BEHAVIOURS_NAME("ready"),
                 ODEON_PHASES(ODEON_PHASE(keptbank_account, waiting)));

/* ---- the teller ---- */

ODEON_STATE(savina_keptbank, {
    struct kept_head head;
    struct keptbank_args args;
    struct lcg lcg;
    double sum;
    uint32_t sent, replies, ended;
    keptbank_account_ref accounts[KEPTBANK_ACCOUNTS_MAX];
});
KEPT_FITS(savina_keptbank);

ODEON_INIT(savina_keptbank, struct keptbank_args)
{
    self->args = *args;
    self->lcg.v = 123456;
    return 0;
}

ODEON_RECEIVE(savina_keptbank, savina_run)
{
    const struct keptbank_args *args = &self->args;
    kept_head_begin(&self->head, ctx);
    if (!kept_in_range(&self->head, ctx, "a", args->a, 2, KEPTBANK_ACCOUNTS_MAX) ||
        !kept_in_range(&self->head, ctx, "n", args->n, 1, 100000000))
        return ODEON_DELETE;
    for (uint32_t i = 0; i < args->a; i++)
        kept_must(ctx, odeon_spawn_into(ctx, &self->accounts[i], keptbank_account));
    kept_must(ctx, odeon_signal(ctx, odeon_self(ctx, savina_keptbank), keptbank_step));
    return ODEON_NODELETE;
}

static void keptbank_stop_all(struct savina_keptbank_state *self, struct odeon_context *ctx)
{
    for (uint32_t i = 0; i < self->args.a; i++)
        kept_must(ctx, odeon_signal(ctx, self->accounts[i], keptbank_stop));
}

/* As many are under way as there are accounts: so few are put aside. */
ODEON_RECEIVE(savina_keptbank, keptbank_step)
{
    for (uint32_t i = 0; i < KEPTBANK_TURN && self->sent < self->args.n &&
                         self->sent - self->replies < self->args.a;
         i++) {
        uint32_t from = lcg_int(&self->lcg, self->args.a - 1);
        uint32_t to = from + 1 + lcg_int(&self->lcg, self->args.a - 1 - from);
        double amount = lcg_double(&self->lcg) * 1000;
        kept_must(ctx, odeon_send(ctx, self->accounts[from], keptbank_credit, .amount = amount,
                                  .recipient = self->accounts[to].ref));
        self->sent++;
    }
    return ODEON_NODELETE;
}

ODEON_RECEIVE(savina_keptbank, keptbank_reply)
{
    if (++self->replies == self->args.n)
        keptbank_stop_all(self, ctx);
    else if (self->sent - self->replies == self->args.a / 2 && self->sent < self->args.n)
        kept_must(ctx, odeon_signal(ctx, odeon_self(ctx, savina_keptbank), keptbank_step));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(savina_keptbank, keptbank_balance)
{
    self->sum += msg->balance;
    if (++self->ended == self->args.a)
        kept_head_done(&self->head, ctx, 1 + 4 * (uint64_t)self->args.n + 2 * self->args.a);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(savina_keptbank, savina_check)
{
    double should = self->args.a * KEPTBANK_BALANCE;
    bool right = fabs(self->sum - should) <= 1e-12 * should;
    kept_tell(ctx, right, "the sum of balances is %.17g, not %.17g", self->sum, should);
    return ODEON_DELETE;
}

ODEON_HANDLERS(savina_keptbank, ODEON_ON(savina_keptbank, savina_run),
               ODEON_ON(savina_keptbank, savina_check), ODEON_ON(savina_keptbank, keptbank_step),
               ODEON_ON(savina_keptbank, keptbank_reply),
               ODEON_ON(savina_keptbank, keptbank_balance));
ODEON_ACTOR_TYPE(savina_keptbank, ODEON_POLICY(ODEON_RESTART_KEEP), ODEON_TAKES(keptbank_args));
