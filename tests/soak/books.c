/* SPDX-License-Identifier: Apache-2.0 */
/* The soak's books at the end: each account's ledger must be what the transfers that its tellers
 * have taken say, number by number. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/soak/soak.h"

static struct bank_line expected[BANK_ACCOUNTS][BANK_TELLERS];
static int64_t expected_balance[BANK_ACCOUNTS];

/* The call's outcomes are the soak's to judge: whatever is no reply is an error here. */
static int ask(struct odeon_port *port, odeon_ref actor, uint32_t type, void *ret_told, size_t size)
{
    struct odeon_delivery reply;
    int outcome = odeon_port_call(port, actor, type, NULL, 0, SECONDS(PATIENCE_S), &reply);
    if (outcome != ODEON_CALL_REPLY || reply.size != size)
        return outcome < 0 ? outcome : -ENOMSG;
    memcpy(ret_told, reply.data, size);
    odeon_port_release(port);
    return 0;
}

/* As the accounts must have done it: teller by teller, number by number. */
static void expect_transfers(uint64_t seed, unsigned teller, uint64_t last)
{
    for (uint64_t number = 1; number <= last; number++) {
        struct bank_plan plan = bank_plan_of(seed, teller, number);
        bank_line_enter(&expected[plan.from][teller], number, -plan.amount);
        bank_line_enter(&expected[plan.to][teller], number, plan.amount);
        expected_balance[plan.from] -= plan.amount;
        expected_balance[plan.to] += plan.amount;
    }
}

static void say_first(struct soak_verdict *verdict, const char *what, unsigned nth, uint64_t seen,
                      uint64_t right)
{
    if (!verdict->first[0])
        snprintf(verdict->first, sizeof(verdict->first), "%s %u: %" PRIu64 " instead of %" PRIu64,
                 what, nth, seen, right);
}

static void count_difference(struct soak_verdict *verdict, uint64_t seen, uint64_t right)
{
    verdict->lost += seen < right ? right - seen : 0;
    verdict->doubled += seen > right ? seen - right : 0;
}

/* A teller, or a recorder: it must have seen exactly what its client's book says. */
static int judge_track(const struct soak_track *track, const char *what, unsigned nth,
                       struct odeon_port *port, odeon_ref actor, uint32_t type,
                       struct soak_verdict *verdict, uint64_t *ret_last)
{
    struct bank_told told;
    uint64_t sent = atomic_load(&track->sent);
    int r = ask(port, actor, type, &told, sizeof(told));
    if (r < 0)
        return r;
    if (told.last != sent)
        say_first(verdict, what, nth, told.last, sent);
    if (told.wrong || told.failed)
        say_first(verdict, "numbers that could not be next, or sends that failed, at", nth,
                  told.wrong + told.failed, 0);
    count_difference(verdict, told.last, sent);
    verdict->wrong += told.wrong;
    verdict->failed += told.failed;
    verdict->runs_again += told.runs_again;
    *ret_last = told.last;
    return 0;
}

static int judge_account(unsigned nth, struct odeon_port *port, odeon_ref actor, uint32_t type,
                         struct soak_verdict *verdict)
{
    struct bank_statement statement;
    int64_t balance = BANK_INITIAL + expected_balance[nth];
    int r = ask(port, actor, type, &statement, sizeof(statement));
    if (r < 0)
        return r;
    bool right = statement.balance == balance && statement.wrong == 0 && statement.failed == 0;
    for (unsigned teller = 0; teller < BANK_TELLERS; teller++) {
        const struct bank_line *seen = &statement.lines[teller], *line = &expected[nth][teller];
        count_difference(verdict, seen->count, line->count);
        verdict->entries += line->count;
        if (seen->count != line->count)
            say_first(verdict, "entries in account", nth, seen->count, line->count);
        right &=
            seen->last == line->last && seen->count == line->count && seen->digest == line->digest;
    }
    if (!right)
        say_first(verdict, "balance of account", nth, (uint64_t)statement.balance,
                  (uint64_t)balance);
    verdict->accounts_wrong += !right;
    verdict->wrong += statement.wrong;
    verdict->failed += statement.failed;
    verdict->runs_again += statement.runs_again;
    verdict->sum += statement.balance;
    return 0;
}

int soak_books_judge(const struct soak_shared *shared, struct odeon_client *client,
                     struct soak_verdict *ret_verdict)
{
    struct soak_verdict verdict = { .sum_expected = (int64_t)BANK_ACCOUNTS * BANK_INITIAL };
    struct odeon_port *port = NULL;
    uint32_t type = 0;
    int r = odeon_port_open(client, NULL, &port);
    if (r == 0)
        r = odeon_message_id(client, odeon_message_of(bank_ask), &type);
    for (unsigned i = 0; r == 0 && i < BANK_TELLERS; i++) {
        uint64_t last = 0;
        r = judge_track(&shared->books[i / BANK_TELLERS_EACH].tellers[i % BANK_TELLERS_EACH],
                        "transfers of teller", i, port, shared->tellers[i], type, &verdict, &last);
        expect_transfers(shared->seed, i, last);
        verdict.transfers += last;
    }
    for (unsigned i = 0; r == 0 && i < BANK_LANES; i++) {
        uint64_t last = 0;
        r = judge_track(&shared->books[i / BANK_LANES_EACH].lanes[i % BANK_LANES_EACH],
                        "hops of lane", i, port, shared->recorders[i], type, &verdict, &last);
        verdict.hops += last;
    }
    for (unsigned i = 0; r == 0 && i < BANK_ACCOUNTS; i++)
        r = judge_account(i, port, shared->accounts[i], type, &verdict);
    odeon_port_close(port);
    *ret_verdict = verdict;
    return r;
}
