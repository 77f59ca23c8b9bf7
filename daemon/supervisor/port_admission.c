/* SPDX-License-Identifier: Apache-2.0 */
/* Who may have one more port; the interface is in port_admission.h. */
#include "daemon/supervisor/port_admission.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "daemon/common/config.h"
#include "daemon/supervisor/configuration.h"
#include "daemon/supervisor/seat.h"
#include "proto/port_layout.h"

int port_refusal_set(struct port_refusal *refusal, int error, bool may_pass, const char *format,
                     ...)
{
    va_list args;

    *refusal = (struct port_refusal){ .error = error, .may_pass = may_pass };
    va_start(args, format);
    vsnprintf(refusal->text, sizeof(refusal->text), format, args);
    va_end(args);
    return error;
}

static uint64_t port_admission_backlog(const struct seat *seat)
{
    const char *value = setting_list_get(&seat->settings, "backlog-bytes");
    uint64_t bytes;

    return value && config_parse_bytes(value, 0, UINT64_MAX, &bytes) == 0
               ? bytes
               : ODEON_BACKLOG_BYTES_DEFAULT;
}

/* account.Q9 */
static int port_admission_judge_table(const struct seat *seat, const struct client *client,
                                      struct port_refusal *refusal)
{
    const struct accounts *accounts = seat->service->accounts;
    const struct quotas *quotas = &seat->service->config->quotas;
    const struct account *account = account_find(accounts, client->uid);
    uint32_t max = ODEON_PORTS_MAX - port_table_count_spent(&seat->ports);

    if (accounts_ports_room(accounts, quotas, account, max) > 0)
        return 0;
    port_refusal_set(refusal, -EDQUOT, true,
                     "user %u has %llu of the %u ports that are in use; the service can have %u, "
                     "the last %d are for whom quotas do not bind, and of the rest each user may "
                     "have half of what others leave; close a port",
                     client->uid, (unsigned long long)account->used.amounts[QUOTA_PORTS],
                     seat->ports.n_used, max, ODEON_PORTS_RESERVED);
    snprintf(refusal->blame, sizeof(refusal->blame),
             "is refused a port: its user has its share of the service's ports");
    return -EDQUOT;
}

/* account.Q6 */
static int port_admission_judge_rings(const struct seat *seat, const struct client *client,
                                      uint64_t wants, struct port_refusal *refusal)
{
    const struct accounts *accounts = seat->service->accounts;
    const struct account *account = account_find(accounts, client->uid);
    uint64_t room = accounts_rings_room(accounts, &seat->service->config->quotas, account);

    if (wants <= room)
        return 0;
    port_refusal_set(
        refusal, -EDQUOT, true,
        "user %u has rings of %llu bytes, and may have %llu more, not %llu: those of all "
        "clients may have %llu, a quarter of the service's memory, and each user half of "
        "what others leave; close a port, or ask for smaller rings",
        client->uid, (unsigned long long)account->used.amounts[QUOTA_RING_BYTES],
        (unsigned long long)room, (unsigned long long)wants,
        (unsigned long long)accounts->ring_bytes_max);
    snprintf(refusal->blame, sizeof(refusal->blame),
             "is refused a port: its user has its share of the memory for rings");
    return -EDQUOT;
}

/* `least` of a quota, of which its client may have `room` more. */
static int port_admission_refuse_quota(const struct account *account, const struct quotas *quotas,
                                       enum quota what, uint64_t room, uint64_t least,
                                       struct port_refusal *refusal)
{
    port_refusal_set(refusal, -EDQUOT, true,
                     "user %u has %llu of %llu %s (quota-%s), and this one of its %llu clients "
                     "may have %llu more, not "
                     "%llu; close a port, or ask for smaller rings",
                     account->uid, (unsigned long long)account->used.amounts[what],
                     (unsigned long long)quotas->limits[what], quota_name(what), quota_name(what),
                     (unsigned long long)account->used.amounts[QUOTA_CLIENTS],
                     (unsigned long long)room, (unsigned long long)least);
    snprintf(refusal->blame, sizeof(refusal->blame), "is refused a port: its user's quota-%s",
             quota_name(what));
    return -EDQUOT;
}

/* A backlog may be smaller than the setting's; rings are what was asked for. */
int port_admission_judge(struct seat *seat, const struct client *client, uint64_t ring_bytes,
                         struct holding *ret_want, struct port_refusal *ret_refusal)
{
    const struct account *account = account_find(seat->service->accounts, client->uid);
    const struct quotas *quotas = &seat->service->config->quotas;
    uint64_t backlog = port_admission_backlog(seat),
             room = account_room(account, quotas, &client->held, QUOTA_BACKLOG_BYTES);

    *ret_want =
        (struct holding){ .amounts = { [QUOTA_PORTS] = 1, [QUOTA_RING_BYTES] = ring_bytes } };
    if (client->n_ports >= ODEON_PORTS_PER_CLIENT_MAX)
        return port_refusal_set(ret_refusal, -EMFILE, true,
                                "this client has %u ports, the most that one can have (those that "
                                "are still being drained "
                                "count); close one",
                                client->n_ports);
    ret_want->amounts[QUOTA_BACKLOG_BYTES] = backlog < room ? backlog : room;
    for (unsigned i = 0; i < QUOTA_N; i++) {
        uint64_t least = i == QUOTA_BACKLOG_BYTES ? ODEON_BACKLOG_BYTES_MIN : ret_want->amounts[i];

        room = account_room(account, quotas, &client->held, (enum quota)i);
        if (least > room)
            return port_admission_refuse_quota(account, quotas, (enum quota)i, room, least,
                                               ret_refusal);
    }
    if (port_admission_judge_table(seat, client, ret_refusal) < 0)
        return ret_refusal->error;
    return port_admission_judge_rings(seat, client, ring_bytes, ret_refusal);
}

static uint64_t port_admission_descriptors_room(const struct seat *seat,
                                                const struct client *client, bool *ret_own)
{
    const struct accounts *accounts = seat->service->accounts;
    const struct account *account = account_find(accounts, client->uid);
    uint64_t own = account_room(account, &seat->service->config->quotas, &client->held,
                                QUOTA_DESCRIPTORS),
             all = accounts_descriptors_room(accounts, account);

    *ret_own = own <= all;
    return *ret_own ? own : all;
}

static int port_admission_refuse_own(const struct seat *seat, const struct client *client,
                                     const char *what, unsigned wants, struct port_refusal *refusal)
{
    const struct account *account = account_find(seat->service->accounts, client->uid);

    port_refusal_set(refusal, -EDQUOT, false,
                     "%llu of %llu descriptors of user %u lie in answers that its %llu clients "
                     "have not read (quota-descriptors), %llu of them of this one; %s takes "
                     "%u: read the answers",
                     (unsigned long long)account->used.amounts[QUOTA_DESCRIPTORS],
                     (unsigned long long)seat->service->config->quotas.limits[QUOTA_DESCRIPTORS],
                     client->uid, (unsigned long long)account->used.amounts[QUOTA_CLIENTS],
                     (unsigned long long)client->held.amounts[QUOTA_DESCRIPTORS], what, wants);
    snprintf(refusal->blame, sizeof(refusal->blame),
             "is refused %s: its user's quota-descriptors lie unread", what);
    return refusal->error;
}

static int port_admission_refuse_all(const struct seat *seat, const struct client *client,
                                     const char *what, unsigned wants, struct port_refusal *refusal)
{
    const struct accounts *accounts = seat->service->accounts;
    const struct account *account = account_find(accounts, client->uid);

    port_refusal_set(refusal, -ENFILE, false,
                     "%llu of %llu descriptors of all users lie in answers that nobody has read "
                     "(half of LimitNOFILE=), %llu of them of user %u, which may have half of "
                     "what others leave; %s takes %u: read the answers",
                     (unsigned long long)accounts_count_descriptors(accounts),
                     (unsigned long long)accounts->descriptors_max,
                     (unsigned long long)account->used.amounts[QUOTA_DESCRIPTORS], client->uid,
                     what, wants);
    snprintf(refusal->blame, sizeof(refusal->blame),
             "is refused %s: too many descriptors of all users lie unread", what);
    return refusal->error;
}

int port_admission_judge_descriptors(struct seat *seat, const struct client *client,
                                     const char *what, unsigned wants,
                                     struct port_refusal *ret_refusal)
{
    struct account *account = account_find(seat->service->accounts, client->uid);
    bool own;

    if (port_admission_descriptors_room(seat, client, &own) >= wants)
        return 0;
    clients_count_descriptors(client->clients, account);
    if (port_admission_descriptors_room(seat, client, &own) >= wants)
        return 0;
    return own ? port_admission_refuse_own(seat, client, what, wants, ret_refusal)
               : port_admission_refuse_all(seat, client, what, wants, ret_refusal);
}
