/* SPDX-License-Identifier: Apache-2.0 */
/* 15, bank transactions. Who has asked waits for the answer by `await`, which puts everything else
 * aside, and keeps a promise of its own reply meanwhile. */
#include "bench/savina/lcg.h"
#include "savina.hpp"

using credit_atom = caf::atom_constant<caf::atom("credit")>;
using debit_atom = caf::atom_constant<caf::atom("debit")>;
using reply_atom = caf::atom_constant<caf::atom("reply")>;

enum { BANKING_ACCOUNTS_MAX = 20000 };
static const double banking_balance = 1e6;

struct banking_account_state {
    double balance = banking_balance;
};

static caf::behavior banking_account(caf::stateful_actor<banking_account_state> *self,
                                     outcome *told)
{
    return {
        [=](credit_atom, double amount, const caf::actor &recipient) {
            auto reply = self->make_response_promise<reply_atom>();
            self->state.balance -= amount;
            self->request(recipient, caf::infinite, debit_atom::value, amount)
                .await([reply](reply_atom) mutable { reply.deliver(reply_atom::value); });
            return reply;
        },
        [=](debit_atom, double amount) {
            self->state.balance += amount;
            return reply_atom::value;
        },
        [=](end_atom) {
            told->add_sum(self->state.balance);
            self->quit();
        },
    };
}

struct banking_teller_state {
    std::vector<caf::actor> accounts;
    uint64_t replies = 0;
};

static caf::behavior banking_teller(caf::stateful_actor<banking_teller_state> *self, outcome *told,
                                    uint64_t a, uint64_t n)
{
    auto &accounts = self->state.accounts;
    for (uint64_t i = 0; i < a; i++)
        accounts.push_back(self->spawn(banking_account, told));
    return {
        [=, &accounts](start_atom) {
            lcg numbers = { 123456 };
            for (uint64_t i = 0; i < n; i++) {
                uint32_t from = lcg_int(&numbers, static_cast<uint32_t>(a / 10 * 8));
                uint32_t by = lcg_int(&numbers, static_cast<uint32_t>(a - from));
                double amount = lcg_double(&numbers) * 1000;
                self->send(accounts[from], credit_atom::value, amount,
                           accounts[from + (by > 0 ? by : 1)]);
            }
        },
        [=, &accounts](reply_atom) {
            if (++self->state.replies < n)
                return;
            for (auto &account : accounts)
                self->send(account, end_atom::value);
            told->count += static_cast<int64_t>(self->state.replies);
            self->quit();
        },
    };
}

static void banking_refuse(run &run)
{
    uint64_t a = run.size["a"], n = run.size["n"];
    if (n > 100 * a)
        run.wrong = "n: " + std::to_string(n) + " is not from 1 to " + std::to_string(100 * a);
}

static uint64_t banking_start(run &run)
{
    uint64_t a = run.size["a"], n = run.size["n"];
    auto teller = run.system.spawn(banking_teller, &run.told, a, n);
    caf::anon_send(teller, start_atom::value);
    return 1 + 4 * n + a;
}

static void banking_verify(run &run)
{
    run.expect("replies", run.told.count, static_cast<int64_t>(run.size["n"]));
    run.expect_near("sum of balances", run.told.sum,
                    static_cast<double>(run.size["a"]) * banking_balance, 1e-12);
}

const program program_banking = {
    "banking",     { { "a", 10, BANKING_ACCOUNTS_MAX }, { "n", 1, 50000 } },
    banking_start, banking_verify,
    nullptr,       banking_refuse
};
