/* SPDX-License-Identifier: Apache-2.0 */
/* What the soak's plugin, its clients and its books share: messages, and what transfer a number
 * stands for.
 *
 * A client's transfers go to one of its tellers, which numbers nothing itself: transfer `number` of
 * a teller is the same for everybody who knows the run's seed. The teller sends a debit and a
 * credit to two accounts, each of which gives the client a receipt. Hops go through a lane of
 * forwarders to a recorder and from there back to the client. Tellers, accounts and recorders keep
 * their states over crashes. */
#pragma once

#include <odeon/message.h>

enum {
    BANK_CLIENTS = 8,
    BANK_TELLERS_EACH = 2,
    BANK_TELLERS = BANK_CLIENTS * BANK_TELLERS_EACH,
    BANK_LANES_EACH = 4,
    BANK_LANES = BANK_CLIENTS * BANK_LANES_EACH,
    BANK_ACCOUNTS = 1000,
    BANK_ACTORS = 2000,
    /* the lanes have as many each, or one more */
    BANK_FORWARDERS = BANK_ACTORS - BANK_ACCOUNTS - BANK_TELLERS - BANK_LANES,
    BANK_INITIAL = 1000000,
};

/* What an account knows of a teller; the digest is one of all its entries. */
struct bank_line {
    uint32_t last, count;
    uint64_t digest;
};

ODEON_MESSAGE(bank_transfer, 1, {
    odeon_ref origin, from, to;
    uint64_t number;
    int64_t amount;
});
ODEON_MESSAGE(bank_entry, 1, {
    odeon_ref origin;
    uint64_t number;
    int64_t amount; /* below 0: debit */
    uint64_t teller;
});
ODEON_MESSAGE(bank_receipt, 1, {
    uint64_t number;
    int64_t amount;
    uint32_t teller, account;
});
/* `ask` is handed on like any other; the recorder answers it with the last number that it has
 * seen. */
ODEON_MESSAGE(bank_hop, 1, {
    odeon_ref origin;
    uint64_t number;
    uint32_t lane, ask;
});
ODEON_SIGNAL(bank_ask, 1);
/* by tellers, recorders */
ODEON_MESSAGE(bank_told, 1, { uint64_t last, wrong, failed, runs_again; });
ODEON_MESSAGE(bank_statement, 1, {
    int64_t balance;
    uint64_t wrong, failed, runs_again;
    struct bank_line lines[BANK_TELLERS];
});
ODEON_INTERFACE(bank_teller, bank_transfer, bank_ask);
ODEON_INTERFACE(bank_account, bank_entry, bank_ask);
ODEON_INTERFACE(bank_forwarder, bank_hop);
ODEON_INTERFACE(bank_recorder, bank_hop, bank_ask);

/* Of tellers and accounts; a forwarder's is the next one's reference. */
struct bank_args {
    int64_t balance;
    uint32_t index;
};

struct bank_plan {
    uint32_t from, to;
    int64_t amount;
};

static inline uint64_t bank_mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static inline struct bank_plan bank_plan_of(uint64_t seed, uint32_t teller, uint64_t number)
{
    uint64_t drawn =
        bank_mix(seed * UINT64_C(0x9e3779b97f4a7c15) + ((uint64_t)teller << 40) + number);
    uint32_t from = (uint32_t)(drawn % BANK_ACCOUNTS);
    return (struct bank_plan){ .from = from,
                               .to = (uint32_t)((from + 1 + (drawn >> 20) % (BANK_ACCOUNTS - 1)) %
                                                BANK_ACCOUNTS),
                               .amount = 1 + (int64_t)((drawn >> 44) % 1000) };
}

static inline void bank_line_enter(struct bank_line *line, uint64_t number, int64_t amount)
{
    line->last = (uint32_t)number;
    line->count++;
    line->digest = bank_mix(line->digest ^ number) + (uint64_t)amount;
}
