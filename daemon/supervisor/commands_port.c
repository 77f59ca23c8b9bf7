/* SPDX-License-Identifier: Apache-2.0 */
/* Opening and closing ports on behalf of clients. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "daemon/common/config.h"
#include "daemon/supervisor/commands_executor.h"
#include "daemon/supervisor/commands_port.h"
#include "daemon/supervisor/configuration.h"
#include "daemon/supervisor/persist.h"
#include "daemon/supervisor/seat.h"
#include "daemon/supervisor/seat_ports.h"
#include "proto/port_layout.h"

static uint64_t commands_port_backlog_setting(const struct seat *seat)
{
    const char *value = setting_list_get(&seat->settings, "backlog-bytes");
    uint64_t bytes;

    return value && config_parse_bytes(value, 0, UINT64_MAX, &bytes) == 0
               ? bytes
               : ODEON_BACKLOG_BYTES_DEFAULT;
}

/* account.Q6 */
static int commands_port_judge_rings(struct seat *seat, struct client *client,
                                     const Odeon__Request *request, uint64_t wants)
{
    const struct accounts *accounts = seat->service->accounts;
    const struct account *account = account_find(accounts, client->uid);
    uint64_t room = accounts_rings_room(accounts, &seat->service->config->quotas, account);

    if (wants <= room)
        return 0;
    client_refuse(client, request->id, -EDQUOT,
                  "user %u has rings of %llu bytes, and may have %llu more, not %llu: those of all "
                  "clients may have %llu, a quarter of the service's memory, and each user half of "
                  "what others leave; close a port, or ask for smaller rings",
                  client->uid, (unsigned long long)account->used.amounts[QUOTA_RING_BYTES],
                  (unsigned long long)room, (unsigned long long)wants,
                  (unsigned long long)accounts->ring_bytes_max);
    client_blame(client, "is refused a port: its user has its share of the memory for rings");
    return -EDQUOT;
}

/* What the port takes of its user's account. A backlog may be smaller than the setting's; rings are
 * what was asked for. */
static int commands_port_judge(struct seat *seat, struct client *client,
                               const Odeon__Request *request, struct holding *want)
{
    const struct account *account = account_find(seat->service->accounts, client->uid);
    const struct quotas *quotas = &seat->service->config->quotas;
    uint64_t backlog = commands_port_backlog_setting(seat),
             room = account_room(account, quotas, &client->held, QUOTA_BACKLOG_BYTES);

    want->amounts[QUOTA_BACKLOG_BYTES] = backlog < room ? backlog : room;
    for (unsigned i = 0; i < QUOTA_N; i++) {
        uint64_t least = i == QUOTA_BACKLOG_BYTES ? ODEON_BACKLOG_BYTES_MIN : want->amounts[i];
        char what[128];

        room = account_room(account, quotas, &client->held, (enum quota)i);
        if (least <= room)
            continue;
        client_refuse(client, request->id, -EDQUOT,
                      "user %u has %llu of %llu %s (quota-%s), and this one of its %llu clients "
                      "may have %llu more, not "
                      "%llu; close a port, or ask for smaller rings",
                      client->uid, (unsigned long long)account->used.amounts[i],
                      (unsigned long long)quotas->limits[i], quota_name((enum quota)i),
                      quota_name((enum quota)i),
                      (unsigned long long)account->used.amounts[QUOTA_CLIENTS],
                      (unsigned long long)room, (unsigned long long)least);
        snprintf(what, sizeof(what), "is refused a port: its user's quota-%s",
                 quota_name((enum quota)i));
        client_blame(client, what);
        return -EDQUOT;
    }
    return commands_port_judge_rings(seat, client, request, want->amounts[QUOTA_RING_BYTES]);
}

static unsigned commands_port_descriptors(const Odeon__Request *request)
{
    return request->port_open->pipe ? DESCRIPTORS_ANSWER_MAX : DESCRIPTORS_ANSWER_MAX - 1;
}

/* client.K10, account.Q5 */
static uint64_t commands_port_descriptors_room(const struct seat *seat, const struct client *client,
                                               bool *ret_own)
{
    const struct accounts *accounts = seat->service->accounts;
    const struct account *account = account_find(accounts, client->uid);
    uint64_t own = account_room(account, &seat->service->config->quotas, &client->held,
                                QUOTA_DESCRIPTORS),
             all = accounts_descriptors_room(accounts, account);

    *ret_own = own <= all;
    return *ret_own ? own : all;
}

/* Nothing is opened for who does not read: what its clients have asked for, and left. */
static int commands_port_judge_descriptors(struct seat *seat, struct client *client,
                                           const Odeon__Request *request)
{
    const struct accounts *accounts = seat->service->accounts;
    struct account *account = account_find(accounts, client->uid);
    unsigned long long wants = commands_port_descriptors(request);
    bool own;

    client_expect_descriptors(client, 0);
    if (commands_port_descriptors_room(seat, client, &own) >= wants)
        return 0;
    clients_count_descriptors(client->clients, account);
    if (commands_port_descriptors_room(seat, client, &own) >= wants)
        return 0;
    if (own)
        client_refuse(client, request->id, -EDQUOT,
                      "%llu of %llu descriptors of user %u lie in answers that its %llu clients "
                      "have not read (quota-descriptors), %llu of them of this one; a port takes "
                      "%llu: read the answers",
                      (unsigned long long)account->used.amounts[QUOTA_DESCRIPTORS],
                      (unsigned long long)seat->service->config->quotas.limits[QUOTA_DESCRIPTORS],
                      client->uid, (unsigned long long)account->used.amounts[QUOTA_CLIENTS],
                      (unsigned long long)client->held.amounts[QUOTA_DESCRIPTORS], wants);
    else
        client_refuse(client, request->id, -ENFILE,
                      "%llu of %llu descriptors of all users lie in answers that nobody has read "
                      "(half of LimitNOFILE=), %llu of them of user %u, which may have half of "
                      "what others leave; a port takes %llu: read the answers",
                      (unsigned long long)accounts_count_descriptors(accounts),
                      (unsigned long long)accounts->descriptors_max,
                      (unsigned long long)account->used.amounts[QUOTA_DESCRIPTORS], client->uid,
                      wants);
    client_blame(client, own ? "is refused a port: its user's quota-descriptors lie unread"
                             : "is refused a port: too many descriptors of all users lie unread");
    return own ? -EDQUOT : -ENFILE;
}

/* Where its memory cannot be made, the port has not been known to anybody. */
static void commands_port_begin_open(struct seat *seat, struct client *client,
                                     const Odeon__Request *request, struct seat_port *port,
                                     uint64_t submission_bytes, uint64_t delivery_bytes)
{
    int r = port_make_memory(port, submission_bytes, delivery_bytes, request->port_open->pipe);

    port->request_id = request->id;
    port->overflow = request->port_open->overflow;
    if (r < 0) {
        port_table_release(&seat->ports, port);
        client_refuse(client, request->id, r, "memory for the port: %s", strerror(-r));
        return;
    }
    client_take_port(client, &port->held);
    account_charge(account_find(seat->service->accounts, client->uid), &port->held);
    client_begin_request(client);
    client_expect_descriptors(client, (int)seat_ports_descriptors(port));
    seat_ports_open(seat, client, port);
}

void command_port_open(struct seat *seat, struct client *client, Odeon__Request **request,
                       struct frame *frame)
{
    uint64_t submission_bytes = (*request)->port_open->submission_bytes,
             delivery_bytes = (*request)->port_open->delivery_bytes;
    char text[PORT_TEXT_MAX];
    struct holding want = { .amounts = { [QUOTA_PORTS] = 1 } };
    struct seat_port *port;
    int r;

    (void)frame;
    if (seat->stopping) {
        client_refuse(client, (*request)->id, -ESHUTDOWN, "the service is stopping: no new ports");
        return;
    }
    if (command_refuse_without_executor(seat, client, *request) ||
        command_refuse_unkept(client, *request))
        return;
    r = port_check_sizes(&submission_bytes, &delivery_bytes, text);
    if (r < 0) {
        client_refuse(client, (*request)->id, r, "%s", text);
        return;
    }
    if ((*request)->port_open->overflow >= PORT_OVERFLOW_N) {
        client_refuse(client, (*request)->id, -EINVAL, "overflow policy %u of a port is unknown",
                      (*request)->port_open->overflow);
        return;
    }
    if (client->n_ports >= ODEON_PORTS_PER_CLIENT_MAX) {
        client_refuse(client, (*request)->id, -EMFILE,
                      "this client has %u ports, the most that one can have (those that are still "
                      "being drained "
                      "count); close one",
                      client->n_ports);
        return;
    }
    want.amounts[QUOTA_RING_BYTES] = submission_bytes + delivery_bytes;
    if (commands_port_judge(seat, client, *request, &want) < 0 ||
        commands_port_judge_descriptors(seat, client, *request) < 0)
        return;
    port = port_table_allocate(&seat->ports, client->id);
    if (!port) {
        client_refuse(client, (*request)->id, -ENFILE,
                      "the service has %d ports, the most that it can have; close one",
                      ODEON_PORTS_MAX - (int)port_table_count_spent(&seat->ports));
        return;
    }
    port->uid = client->uid;
    port->pid = client->pid;
    port->held = want;
    port->may_not_stop = !(client->roles & 1U << ROLE_REGISTER);
    commands_port_begin_open(seat, client, *request, port, submission_bytes, delivery_bytes);
}

void command_port_close(struct seat *seat, struct client *client, Odeon__Request **request,
                        struct frame *frame)
{
    uint64_t index = (*request)->port_close->port_id;
    struct seat_port *port = port_table_find_of_client(&seat->ports, index, client->id);
    Odeon__Reply reply = ODEON__REPLY__INIT;
    Odeon__Ok ok = ODEON__OK__INIT;

    (void)frame;
    if (!port) {
        client_refuse(client, (*request)->id, -ENOENT,
                      "this client has no open port %" PRIu64 "; a broken port is closed already",
                      index);
        return;
    }
    seat_ports_close(seat, port);
    reply.id = (*request)->id;
    reply.body_case = ODEON__REPLY__BODY_OK;
    reply.ok = &ok;
    client_send(client, &reply, NULL, 0);
}
