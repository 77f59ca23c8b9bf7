/* SPDX-License-Identifier: Apache-2.0 */
/* Ports between clients and executor; the interface is in ports.h. */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon/common/check.h"
#include "daemon/common/events.h"
#include "daemon/common/log.h"
#include "daemon/common/memfd.h"
#include "daemon/common/page.h"
#include "daemon/common/port_pipe.h"
#include "daemon/supervisor/client.h"
#include "daemon/supervisor/configuration.h"
#include "daemon/supervisor/persist.h"
#include "daemon/supervisor/seat.h"
#include "daemon/supervisor/seat_ports.h"
#include "proto/envelope.h"
#include "proto/port_layout.h"

static void seat_ports_send_add(struct seat *seat, struct seat_port *port)
{
    Odeon__Command command = ODEON__COMMAND__INIT;
    Odeon__PortAdd add = ODEON__PORT_ADD__INIT;
    int fds[] = { port->client_fd, port->executor_fd, port->doorbell_fd, port->pipe_write_fd };

    check("seat_ports.O1", port->add_id == 0 && seat->executor.state != LINK_DOWN);
    add.port_id = port->index;
    add.generation = port->generation;
    add.submission_bytes = port->submission_bytes;
    add.delivery_bytes = port->delivery_bytes;
    add.closing = port->state == PORT_CLOSING;
    add.pipe = port->pipe_write_fd >= 0;
    add.client_id = port->client_id;
    add.overflow = port->overflow;
    add.uid = port->uid;
    add.may_not_stop = port->may_not_stop;
    add.bound = quotas_bind(&seat->service->config->quotas, port->uid);
    add.backlog_bytes = port->held.amounts[QUOTA_BACKLOG_BYTES];
    command.body_case = ODEON__COMMAND__BODY_PORT_ADD;
    command.port_add = &add;
    port->known = true;
    port->add_id = executor_link_send(&seat->executor, &command, fds, add.pipe ? 4 : 3);
    /* added as closing: the executor removes it by itself and reports that under the same id */
    port->remove_id = add.closing ? port->add_id : 0;
}

static void seat_ports_send_remove(struct seat *seat, struct seat_port *port)
{
    Odeon__Command command = ODEON__COMMAND__INIT;
    Odeon__PortRemove remove = ODEON__PORT_REMOVE__INIT;

    check("seat_ports.O1", port->remove_id == 0 && seat->executor.state == LINK_READY);
    remove.port_id = port->index;
    remove.generation = port->generation;
    command.body_case = ODEON__COMMAND__BODY_PORT_REMOVE;
    command.port_remove = &remove;
    port->remove_id = executor_link_send(&seat->executor, &command, NULL, 0);
}

/* seat_ports.O5 */
static bool seat_ports_is_for_executors(const struct seat_port *port)
{
    return port->state != PORT_FREE && !port->storing;
}

uint32_t seat_ports_count(const struct seat *seat)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < ODEON_PORTS_MAX; i++)
        n += seat_ports_is_for_executors(&seat->ports.ports[i]);
    return n;
}

void seat_ports_announce(struct seat *seat)
{
    for (uint32_t i = 0; i < ODEON_PORTS_MAX; i++)
        seat->ports.ports[i].known |= seat_ports_is_for_executors(&seat->ports.ports[i]);
}

bool seat_ports_send_all(struct seat *seat)
{
    for (uint32_t i = 0; i < ODEON_PORTS_MAX; i++) {
        struct seat_port *port = &seat->ports.ports[i];

        if (!seat_ports_is_for_executors(port) || !port->known || port->add_id != 0)
            continue;
        seat_ports_send_add(seat, port);
        if (port->add_id == 0)
            return false;
    }
    return true;
}

static void seat_ports_forget_command(struct seat_port *port)
{
    port->add_id = port->remove_id = 0;
    port->added = false;
}

void seat_ports_forget_commands(struct seat *seat)
{
    for (uint32_t i = 0; i < ODEON_PORTS_MAX; i++)
        seat_ports_forget_command(&seat->ports.ports[i]);
}

static void seat_ports_discharge(struct seat *seat, struct seat_port *port)
{
    struct account *account = account_find(seat->service->accounts, port->uid);

    if (!account)
        return;
    account_discharge(account, &port->held);
    account_settle(seat->service->accounts, port->uid);
}

/* The port's end, also in the accounts of its client and user. */
static void seat_ports_release(struct seat *seat, struct seat_port *port)
{
    struct client *client = clients_find(seat->service->clients, port->client_id);

    check("seat_ports.O2", !port->known);
    if (client)
        client_give_port(client, &port->held);
    seat_ports_discharge(seat, port);
    persist_forget_port(seat->service->persist, port);
    port_table_release(&seat->ports, port);
    port_waits_look(&seat->waits);
    if (port_is_spent(port))
        log_warning("port %u has had each of its generations: it is used no more, as are %" PRIu32
                    " of %d until the state is given up",
                    port->index, port_table_count_spent(&seat->ports), ODEON_PORTS_MAX);
    seat_update_counts(seat);
}

/* Nobody but its client has heard of it. It goes before that is told: telling may drop the client,
 * which closes the ports that it has. */
static void seat_ports_fail_open(struct seat *seat, struct seat_port *port, int error)
{
    struct client *client = clients_find(seat->service->clients, port->client_id);
    uint64_t request_id = port->request_id;
    const char *why = error == -ESHUTDOWN
                          ? "the service is stopping"
                          : "the service manager does not keep the port's descriptors";

    check("seat_ports.O3", client);
    port->storing = false;
    client_end_request(client);
    client_expect_descriptors(client, -(int)seat_ports_descriptors(port));
    seat_ports_release(seat, port);
    client_refuse(client, request_id, error, "%s: %s", why, strerror(-error));
}

/* seat_ports.O5, registry_layout.G3 */
static void seat_ports_on_stored(struct line_waiter *waiter, int error)
{
    struct seat_port *port =
        (struct seat_port *)((char *)waiter - offsetof(struct seat_port, stored));
    struct seat *seat = port->userdata;

    check("seat_ports.O5", port->storing && !port->known);
    port->storing = false;
    if (port->state == PORT_CLOSING) {
        seat_ports_release(seat, port);
        return;
    }
    if (error == 0 && seat->stopping)
        error = -ESHUTDOWN;
    if (error == 0)
        error = persist_record_port(seat->service->persist,
                                    clients_find(seat->service->clients, port->client_id), port);
    if (error < 0) {
        seat_ports_fail_open(seat, port, error);
        return;
    }
    seat_update_counts(seat);
    if (seat->executor.state == LINK_READY)
        seat_ports_send_add(seat, port);
}

void seat_ports_open(struct seat *seat, struct client *client, struct seat_port *port)
{
    int r;

    port->stored.passed = seat_ports_on_stored;
    port->userdata = seat;
    port->storing = true;
    seat_update_counts(seat);
    r = persist_store_port(seat->service->persist, client, port);
    if (r < 0)
        seat_ports_fail_open(seat, port, r);
}

/* Who wrote what cannot be has been told so by the executor. odeond maps nothing that a client has
 * a descriptor of (supervisor.V1). */
static void seat_ports_mark_memory(const struct seat_port *port)
{
    const off_t at = offsetof(struct port_executor, broken);
    uint32_t word = PORT_OK;

    if (pread(port->executor_fd, &word, sizeof(word), at) != sizeof(word) || word != PORT_OK)
        return;
    word = PORT_BROKEN_CLOSED;
    if (pwrite(port->executor_fd, &word, sizeof(word), at) != sizeof(word))
        log_warning("port %u cannot be marked as closed: %s", port->index, strerror(errno));
}

/* seat_ports.O4 */
static void seat_ports_mark_closed(const struct seat *seat, const struct seat_port *port)
{
    if (seat->service->persist->ended)
        return;
    seat_ports_mark_memory(port);
    if (port->pipe_write_fd >= 0)
        port_pipe_wake(port->pipe_write_fd);
}

void seat_ports_close(struct seat *seat, struct seat_port *port)
{
    port->state = PORT_CLOSING;
    seat_ports_mark_closed(seat, port);
    if (port->storing) { /* seat_ports.O5 */
        seat_update_counts(seat);
        return;
    }
    registry_set_port(&seat->service->persist->registry, port->index, REGISTRY_CLOSING);
    if (!port->known)
        seat_ports_release(seat, port);
    else if (seat->executor.state == LINK_READY && port->remove_id == 0)
        seat_ports_send_remove(seat, port);
    seat_update_counts(seat);
}

void seat_ports_close_of_client(struct seat *seat, uint64_t client_id)
{
    for (uint32_t i = 0; i < ODEON_PORTS_MAX; i++) {
        struct seat_port *port = &seat->ports.ports[i];

        if ((port->state == PORT_OPENING || port->state == PORT_OPEN) &&
            port->client_id == client_id)
            seat_ports_close(seat, port);
    }
}

unsigned seat_ports_descriptors(const struct seat_port *port)
{
    return port->pipe_read_fd >= 0 ? 4 : 3;
}

static void seat_ports_fill_open_reply(const struct seat_port *port, Odeon__PortOpenReply *body)
{
    body->port_id = port->index;
    body->ref = port->ref;
    body->submission_bytes = port->submission_bytes;
    body->delivery_bytes = port->delivery_bytes;
    body->submission_offset = body->delivery_offset = port_ring_offset(page_bytes());
    body->payload_max = port_payload_max(port);
    body->token.data = (uint8_t *)port->token;
    body->token.len = sizeof(port->token);
    body->actors_max = port->actors_max ? port->actors_max : ODEON_ACTORS_MAX;
    body->prefix = PREFIX_CLIENT_MAY_SET;
    body->room_by_pipe = port->pipe_read_fd >= 0;
    body->monitors = true;
    body->demonitors = true;
}

static void seat_ports_answer_open(struct seat *seat, struct seat_port *port)
{
    struct client *client = clients_find(seat->service->clients, port->client_id);
    Odeon__PortOpenReply body = ODEON__PORT_OPEN_REPLY__INIT;
    Odeon__Reply reply = ODEON__REPLY__INIT;
    int n_fds = (int)seat_ports_descriptors(port), read_only, r;

    check("seat_ports.O3", client);
    client_end_request(client);
    read_only = memfd_reopen_read_only(port->executor_fd);
    if (read_only < 0) {
        client_refuse(client, port->request_id, read_only,
                      "the port's memory cannot be opened for reading: %s", strerror(-read_only));
        client_expect_descriptors(client, -n_fds);
        seat_ports_close(seat, port);
        return;
    }
    port->state = PORT_OPEN;
    /* registry_layout.G3: before its client hears of it */
    registry_set_port(&seat->service->persist->registry, port->index, REGISTRY_OPEN);
    seat_ports_fill_open_reply(port, &body);
    reply.id = port->request_id;
    reply.body_case = ODEON__REPLY__BODY_PORT_OPEN;
    reply.port_open = &body;
    r = client_send(client, &reply,
                    (int[]){ port->client_fd, read_only, port->doorbell_fd, port->pipe_read_fd },
                    (size_t)n_fds);
    close(read_only);
    client_expect_descriptors(client, -n_fds); /* those that were sent are counted as such */
    if (r < 0 && port->state == PORT_OPEN)     /* it has been told that there is none */
        seat_ports_close(seat, port);
    seat_update_counts(seat);
}

void seat_ports_sync(struct seat *seat)
{
    for (uint32_t i = 0; i < ODEON_PORTS_MAX; i++) {
        struct seat_port *port = &seat->ports.ports[i];

        if (!seat_ports_is_for_executors(port))
            continue;
        if (port->add_id == 0) {
            seat_ports_send_add(seat, port);
            if (port->add_id == 0) /* there are no means now: it comes here again */
                return;
        } else if (port->state == PORT_OPENING && port->added) {
            seat_ports_answer_open(seat, port);
        } else if (port->state == PORT_CLOSING && port->remove_id == 0) {
            seat_ports_send_remove(seat, port);
        }
    }
}

static void seat_ports_tell_broken(struct seat *seat, const struct seat_port *port,
                                   const char *reason)
{
    struct client *client = clients_find(seat->service->clients, port->client_id);
    Odeon__Event event = ODEON__EVENT__INIT;
    Odeon__PortBroken broken = ODEON__PORT_BROKEN__INIT;

    if (!client || port->state != PORT_OPEN)
        return;
    client->n_broken_ports++;
    broken.port_id = port->index;
    broken.reason = (char *)reason;
    event.body_case = ODEON__EVENT__BODY_PORT_BROKEN;
    event.port_broken = &broken;
    client_tell(client, &event);
}

static void seat_ports_on_added(struct seat *seat, struct seat_port *port,
                                const Odeon__RefReply *answer)
{
    if (port->ref && port->ref != answer->ref)
        log_error("port %u of client %" PRIu64
                  " has another reference after the restart: answers to it "
                  "will not arrive",
                  port->index, port->client_id);
    port->ref = answer->ref;
    port->actors_max = answer->actors_max;
    registry_set_port_ref(&seat->service->persist->registry, port->index, port->ref,
                          port->actors_max);
    port->added = true;
    /* of one that starts the answer waits: nothing of the first start is settled before it is ready
     * (registry_layout.G7) */
    if (port->state == PORT_OPENING && seat->executor.state == LINK_READY)
        seat_ports_answer_open(seat, port);
}

/* The executor does not have the port (any more). */
static void seat_ports_on_refused(struct seat *seat, struct seat_port *port,
                                  const Odeon__Report *report)
{
    struct client *client = clients_find(seat->service->clients, port->client_id);
    const char *why =
        report->text[0] ? report->text : strerror(report->error < 0 ? -report->error : EPROTO);

    if (report->id == port->remove_id && report->id != port->add_id) {
        log_debug("port %u: the executor has not removed it: %s", port->index, why);
    } else if (port->state == PORT_OPENING && client) {
        client_end_request(client);
        client_expect_descriptors(client, -(int)seat_ports_descriptors(port));
        client_refuse(client, port->request_id, report->error < 0 ? report->error : -EPROTO,
                      "the port cannot be opened: %s", why);
    } else if (port->state == PORT_CLOSING) {
        log_warning("port %u of client %" PRIu64 ", which is closed, is not drained: %s",
                    port->index, port->client_id, why);
    } else {
        log_error("port %u of client %" PRIu64 " is lost: the executor did not take it again: %s",
                  port->index, port->client_id, why);
        seat_ports_tell_broken(seat, port, why);
    }
    port->known = false;
    seat_ports_release(seat, port);
}

/* client.K12.  Not to receive is no offence, and again as soon as there is another port. */
static void seat_ports_log_fault(struct seat *seat, const struct seat_port *port,
                                 const struct client *client, uint32_t why)
{
    struct clients *clients = seat->service->clients;
    char who[160] = "a client that has gone", pid[48], times[64] = "";
    const char *const fields[] = { CATALOGUE_PORT_BROKEN, pid, NULL };
    uint64_t more = 0;

    if (!clients_tell_of(clients, why == PORT_BROKEN_SLOW ? CLIENT_PART_PORT : CLIENT_PART_OFFENCE,
                         port->uid, &more))
        return;
    if (more > 0)
        snprintf(times, sizeof(times), "; %" PRIu64 " more since that was last told", more);
    if (client)
        client_describe(client, who, sizeof(who));
    snprintf(pid, sizeof(pid), "ODEON_CLIENT_PID=%d", (int)port->pid);
    log_fields(LOG_LEVEL_WARNING, fields, "port %u of %s is closed: %s (%s)%s", port->index, who,
               why == PORT_BROKEN_SLOW ? "its client did not receive, and that is what it asked for"
                                       : "its client wrote what no record can be",
               port_broken_name(why), times);
}

static void seat_ports_on_fault(struct seat *seat, const Odeon__PortFault *fault)
{
    struct seat_port *port = port_table_find(&seat->ports, fault->port_id, fault->generation);

    if (!port || (port->state != PORT_OPEN && port->state != PORT_CLOSING))
        return;
    seat_ports_log_fault(seat, port, clients_find(seat->service->clients, port->client_id),
                         fault->why);
    if (fault->why != PORT_BROKEN_SLOW) /* who is deaf tells no lies */
        clients_note_offence(seat->service->clients, port->pid, port->uid);
    seat_ports_tell_broken(seat, port, port_broken_name(fault->why));
    if (port->state == PORT_OPEN) /* telling may have dropped the client, and closed its ports */
        seat_ports_close(seat, port);
}

bool seat_ports_handle_report(struct seat *seat, const Odeon__Report *report)
{
    struct seat_port *port;

    if (report->body_case == ODEON__REPORT__BODY_PORT_FAULT && report->port_fault) {
        seat_ports_on_fault(seat, report->port_fault);
        return true;
    }
    port = port_table_find_command(&seat->ports, report->id);
    if (!port)
        return false;
    if (report->body_case == ODEON__REPORT__BODY_PORT && report->port &&
        report->id == port->add_id) {
        seat_ports_on_added(seat, port, report->port);
    } else if (report->body_case == ODEON__REPORT__BODY_PORT_REMOVED &&
               report->id == port->remove_id) {
        port->known = false;
        seat_ports_release(seat, port);
    } else {
        seat_ports_on_refused(seat, port, report);
    }
    return true;
}
