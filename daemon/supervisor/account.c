/* SPDX-License-Identifier: Apache-2.0 */
/* Accounts of users; the interface is in account.h. */
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "daemon/common/check.h"
#include "daemon/common/share.h"
#include "daemon/supervisor/account.h"
#include "proto/bounds.h"

#define NAME_AGAIN_NS UINT64_C(60000000000)

static const char *const names[QUOTA_N] = {
    [QUOTA_CLIENTS] = "clients",         [QUOTA_PORTS] = "ports",
    [QUOTA_RING_BYTES] = "ring-bytes",   [QUOTA_BACKLOG_BYTES] = "backlog-bytes",
    [QUOTA_DESCRIPTORS] = "descriptors", [QUOTA_ANSWER_BYTES] = "answer-bytes",
};

/* Of a client's first port, and first answer, as long as there is so much (account.Q2). */
static const uint64_t first_of[QUOTA_N] = {
    [QUOTA_PORTS] = 1,
    [QUOTA_RING_BYTES] = 2 * ODEON_RING_DEFAULT,
    [QUOTA_BACKLOG_BYTES] = ODEON_BACKLOG_BYTES_MIN,
    [QUOTA_DESCRIPTORS] = DESCRIPTORS_ANSWER_MAX,
    [QUOTA_ANSWER_BYTES] = 2 * ODEON_CONTROL_FRAME_MAX,
};

const char *quota_name(enum quota what)
{
    return (unsigned)what < QUOTA_N ? names[what] : "unknown";
}

struct account *account_find(const struct accounts *accounts, uid_t uid)
{
    for (struct account *account = accounts->first; account; account = account->next)
        if (account->uid == uid)
            return account;
    return NULL;
}

struct account *account_open(struct accounts *accounts, uid_t uid)
{
    struct account *account = account_find(accounts, uid);

    if (account)
        return account;
    account = calloc(1, sizeof(*account));
    if (!account)
        return NULL;
    account->uid = uid;
    account->next = accounts->first;
    accounts->first = account;
    return account;
}

static bool account_is_empty(const struct account *account)
{
    for (unsigned i = 0; i < QUOTA_N; i++)
        if (account->used.amounts[i] > 0)
            return false;
    return true;
}

void account_settle(struct accounts *accounts, uid_t uid)
{
    for (struct account **at = &accounts->first; *at; at = &(*at)->next) {
        struct account *account = *at;

        if (account->uid != uid || !account_is_empty(account))
            continue;
        if (account->asked > 0 && accounts->on_kept) {
            accounts->on_kept(accounts->userdata);
            return;
        }
        *at = account->next;
        free(account);
        return;
    }
}

static void account_refill(struct account *account, const struct quotas *quotas, uint64_t now_ns)
{
    account->asked -= (double)quotas->requests * (double)(now_ns - account->asked_ns) / 1e9;
    if (account->asked < 0 || quotas->requests == 0)
        account->asked = 0;
    account->asked_ns = now_ns;
}

bool accounts_sweep(struct accounts *accounts, const struct quotas *quotas, uint64_t now_ns)
{
    bool some_stay = false;

    for (struct account **at = &accounts->first; *at;) {
        struct account *account = *at;

        account_refill(account, quotas, now_ns);
        if (!account_is_empty(account) || account->asked > 0) {
            some_stay |= account_is_empty(account);
            at = &account->next;
            continue;
        }
        *at = account->next;
        free(account);
    }
    return some_stay;
}

bool account_may_ask(struct account *account, const struct quotas *quotas, uint64_t now_ns)
{
    if (quotas->requests == 0 || !quotas_bind(quotas, account->uid))
        return true;
    account_refill(account, quotas, now_ns);
    return account->asked + 1 <= (double)quotas->requests;
}

void account_ask(struct account *account)
{
    account->asked += 1;
}

bool account_ask_longer(struct account *account, const struct quotas *quotas, uint64_t ns)
{
    double requests = (double)ns * (double)quotas->requests / (double)REQUESTS_NS;

    if (requests <= 1)
        return false;
    account->asked += requests - 1;
    return true;
}

void accounts_fini(struct accounts *accounts)
{
    while (accounts->first) {
        struct account *account = accounts->first;

        accounts->first = account->next;
        free(account);
    }
}

bool quotas_bind(const struct quotas *quotas, uid_t uid)
{
    return quotas->everybody || (uid != 0 && uid != geteuid());
}

uint64_t account_room(const struct account *account, const struct quotas *quotas,
                      const struct holding *own, enum quota what)
{
    uint64_t limit = quotas->limits[what], used = account->used.amounts[what],
             has = own->amounts[what];
    uint64_t left = limit > used ? limit - used : 0, n = account->used.amounts[QUOTA_CLIENTS],
             share, room;

    if (!quotas_bind(quotas, account->uid))
        return UINT64_MAX;
    if (what == QUOTA_CLIENTS)
        return left;
    share = (left + has) / (n ? n : 1);
    room = share > has ? share - has : 0;
    if (has == 0 && room < first_of[what])
        room = first_of[what];
    return room < left ? room : left;
}

/* `bound`: of those that these quotas bind; NULL: of all. */
static uint64_t accounts_sum(const struct accounts *accounts, enum quota what,
                             const struct quotas *bound)
{
    uint64_t n = 0;

    for (const struct account *account = accounts->first; account; account = account->next)
        if (!bound || quotas_bind(bound, account->uid))
            n += account->used.amounts[what];
    return n;
}

/* Half of what the others leave of it; the account is one of those that count. */
static uint64_t accounts_share(const struct accounts *accounts, const struct account *account,
                               enum quota what, const struct quotas *bound, uint64_t max)
{
    uint64_t has = account->used.amounts[what];

    return share_room(max, accounts_sum(accounts, what, bound) - has, has, first_of[what]);
}

uint64_t accounts_count_descriptors(const struct accounts *accounts)
{
    return accounts_sum(accounts, QUOTA_DESCRIPTORS, NULL);
}

uint64_t accounts_descriptors_room(const struct accounts *accounts, const struct account *account)
{
    return accounts_share(accounts, account, QUOTA_DESCRIPTORS, NULL, accounts->descriptors_max);
}

uint64_t accounts_rings_room(const struct accounts *accounts, const struct quotas *quotas,
                             const struct account *account)
{
    if (accounts->ring_bytes_max == 0 || !quotas_bind(quotas, account->uid))
        return UINT64_MAX;
    return accounts_share(accounts, account, QUOTA_RING_BYTES, quotas, accounts->ring_bytes_max);
}

uint64_t accounts_answers_room(const struct accounts *accounts, const struct quotas *quotas,
                               const struct account *account)
{
    if (accounts->answer_bytes_max == 0 || !quotas_bind(quotas, account->uid))
        return UINT64_MAX;
    return accounts_share(accounts, account, QUOTA_ANSWER_BYTES, quotas,
                          accounts->answer_bytes_max);
}

uint64_t accounts_ports_room(const struct accounts *accounts, const struct quotas *quotas,
                             const struct account *account, uint64_t max)
{
    uint64_t shared = max > ODEON_PORTS_RESERVED ? max - ODEON_PORTS_RESERVED : 0;

    if (!quotas_bind(quotas, account->uid))
        return UINT64_MAX;
    return accounts_share(accounts, account, QUOTA_PORTS, NULL, shared);
}

uint64_t accounts_descriptors_limit(void)
{
    struct rlimit limit;

    /* the limit is raised to the greatest that is allowed as soon as odeond runs */
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return 1024;
    return limit.rlim_max < 1 << 20 ? limit.rlim_max : 1 << 20;
}

void holding_add(struct holding *to, const struct holding *from)
{
    for (unsigned i = 0; i < QUOTA_N; i++)
        to->amounts[i] += from->amounts[i];
}

void holding_subtract(struct holding *from, const struct holding *what)
{
    for (unsigned i = 0; i < QUOTA_N; i++) {
        check("account.Q1", from->amounts[i] >= what->amounts[i]);
        from->amounts[i] -= what->amounts[i];
    }
}

void account_charge(struct account *account, const struct holding *holding)
{
    holding_add(&account->used, holding);
}

void account_discharge(struct account *account, struct holding *holding)
{
    holding_subtract(&account->used, holding);
    *holding = (struct holding){ 0 };
}

bool account_blame(struct account *account, uint64_t now_ns, uint64_t *ret_more)
{
    account->refusals++;
    if (account->named_ns && now_ns - account->named_ns < NAME_AGAIN_NS)
        return false;
    *ret_more = account->refusals - account->refusals_named - 1;
    account->refusals_named = account->refusals;
    account->named_ns = now_ns;
    return true;
}
