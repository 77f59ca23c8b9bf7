/* SPDX-License-Identifier: Apache-2.0 */
/* Opening and closing ports on behalf of clients. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "daemon/supervisor/commands_executor.h"
#include "daemon/supervisor/commands_port.h"
#include "daemon/supervisor/persist.h"
#include "daemon/supervisor/port_admission.h"
#include "daemon/supervisor/port_waits.h"
#include "daemon/supervisor/seat.h"
#include "daemon/supervisor/seat_ports.h"
#include "proto/port_layout.h"

static unsigned commands_port_descriptors(const Odeon__PortOpen *open)
{
    return open->pipe ? DESCRIPTORS_ANSWER_MAX : DESCRIPTORS_ANSWER_MAX - 1;
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

/* What a request says, whoever asks. */
static int commands_port_check(const Odeon__PortOpen *open, uint64_t *submission_bytes,
                               uint64_t *delivery_bytes, struct port_refusal *refusal)
{
    char text[PORT_TEXT_MAX];
    int r;

    *submission_bytes = open->submission_bytes;
    *delivery_bytes = open->delivery_bytes;
    r = port_check_sizes(submission_bytes, delivery_bytes, text);
    if (r < 0)
        return port_refusal_set(refusal, r, false, "%s", text);
    if (open->overflow >= PORT_OVERFLOW_N)
        return port_refusal_set(refusal, -EINVAL, false, "overflow policy %u of a port is unknown",
                                open->overflow);
    return 0;
}

/* 0: the request has been answered, or will be when the executor has. */
static int commands_port_try(struct seat *seat, struct client *client,
                             const Odeon__Request *request, struct port_refusal *refusal)
{
    uint64_t submission_bytes, delivery_bytes;
    struct holding want;
    struct seat_port *port;

    if (seat->stopping)
        return port_refusal_set(refusal, -ESHUTDOWN, false,
                                "the service is stopping: no new ports");
    if (command_refuse_without_executor(seat, client, request) ||
        command_refuse_unkept(client, request))
        return 0;
    if (commands_port_check(request->port_open, &submission_bytes, &delivery_bytes, refusal) < 0 ||
        port_admission_judge(seat, client, submission_bytes + delivery_bytes, &want, refusal) < 0)
        return refusal->error;
    client_expect_descriptors(client, 0);
    if (port_admission_judge_descriptors(
            seat, client, "a port", commands_port_descriptors(request->port_open), refusal) < 0)
        return refusal->error;
    port = port_table_allocate(&seat->ports, client->id);
    if (!port)
        return port_refusal_set(refusal, -ENFILE, true,
                                "the service has %d ports, the most that it can have; close one",
                                ODEON_PORTS_MAX - (int)port_table_count_spent(&seat->ports));
    port->uid = client->uid;
    port->pid = client->pid;
    port->held = want;
    port->may_not_stop = !(client->roles & 1U << ROLE_REGISTER);
    commands_port_begin_open(seat, client, request, port, submission_bytes, delivery_bytes);
    return 0;
}

/* Who is refused while ports of its own are ending is told so: it has done nothing wrong, and may
 * ask again. */
static void commands_port_refuse(struct seat *seat, struct client *client, uint64_t request_id,
                                 const struct port_refusal *refusal)
{
    uint32_t n = refusal->may_pass ? port_table_count_closing(&seat->ports, client->uid) : 0;

    if (n > 0)
        client_refuse(client, request_id, refusal->error,
                      "%s; %u of the user's ports have been closed and are still being drained",
                      refusal->text, n);
    else
        client_refuse(client, request_id, refusal->error, "%s", refusal->text);
    if (refusal->blame[0])
        client_blame(client, refusal->blame);
}

void command_port_open(struct seat *seat, struct client *client, Odeon__Request **request,
                       struct frame *frame)
{
    struct port_refusal refusal;

    (void)frame;
    if (commands_port_try(seat, client, *request, &refusal) == 0)
        return;
    if (!refusal.may_pass || !port_waits_add(&seat->waits, client, request))
        commands_port_refuse(seat, client, (*request)->id, &refusal);
}

bool command_port_open_again(void *userdata, struct client *client, const Odeon__Request *request,
                             bool last)
{
    struct seat *seat = userdata;
    struct port_refusal refusal;

    if (commands_port_try(seat, client, request, &refusal) == 0)
        return true;
    if (refusal.may_pass && !last)
        return false;
    commands_port_refuse(seat, client, request->id, &refusal);
    return true;
}

void command_port_close(struct seat *seat, struct client *client, Odeon__Request **request,
                        struct frame *frame)
{
    uint64_t index = (*request)->port_close->port_id;
    const ProtobufCBinaryData *token = &(*request)->port_close->token;
    struct seat_port *port = port_table_find_of_client(&seat->ports, index, client->id);
    Odeon__Reply reply = ODEON__REPLY__INIT;
    Odeon__Ok ok = ODEON__OK__INIT;

    (void)frame;
    if (!port || (token->len != 0 && (token->len != sizeof(port->token) ||
                                      memcmp(token->data, port->token, token->len) != 0))) {
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
