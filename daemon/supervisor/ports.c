/* SPDX-License-Identifier: Apache-2.0 */
/* Ports between clients and executor; the interface is in ports.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon/common/events.h"
#include "daemon/common/log.h"
#include "daemon/common/memfd.h"
#include "daemon/supervisor/ports.h"
#include "daemon/supervisor/supervisor.h"
#include "proto/port_layout.h"

static void ports_send_add(struct supervisor *supervisor, struct seat_port *port)
{
    Odeon__Command command = ODEON__COMMAND__INIT;
    Odeon__PortAdd add = ODEON__PORT_ADD__INIT;
    int fds[] = { port->client_fd, port->executor_fd, port->doorbell_fd, port->pipe_write_fd };

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
    add.bound = quotas_bind(&supervisor->config.quotas, port->uid);
    add.backlog_bytes = port->held.amounts[QUOTA_BACKLOG_BYTES];
    command.body_case = ODEON__COMMAND__BODY_PORT_ADD;
    command.port_add = &add;
    port->known = true;
    port->add_id = executor_link_send(&supervisor->executor, &command, fds, add.pipe ? 4 : 3);
    /* added as closing: the executor removes it by itself and reports that under the same id */
    port->remove_id = add.closing ? port->add_id : 0;
}

static void ports_send_remove(struct supervisor *supervisor, struct seat_port *port)
{
    Odeon__Command command = ODEON__COMMAND__INIT;
    Odeon__PortRemove remove = ODEON__PORT_REMOVE__INIT;

    remove.port_id = port->index;
    remove.generation = port->generation;
    command.body_case = ODEON__COMMAND__BODY_PORT_REMOVE;
    command.port_remove = &remove;
    port->remove_id = executor_link_send(&supervisor->executor, &command, NULL, 0);
}

uint32_t ports_count(const struct supervisor *supervisor)
{
    return supervisor->ports.n_used;
}

void ports_send_all(struct supervisor *supervisor)
{
    for (uint32_t i = 0; i < ODEON_PORTS_MAX; i++)
        if (supervisor->ports.ports[i].state != PORT_FREE)
            ports_send_add(supervisor, &supervisor->ports.ports[i]);
}

void ports_sync(struct supervisor *supervisor)
{
    for (uint32_t i = 0; i < ODEON_PORTS_MAX; i++) {
        struct seat_port *port = &supervisor->ports.ports[i];

        if (port->state == PORT_FREE)
            continue;
        if (port->add_id == 0)
            ports_send_add(supervisor, port);
        else if (port->state == PORT_CLOSING && port->remove_id == 0)
            ports_send_remove(supervisor, port);
    }
}

void ports_forget_commands(struct supervisor *supervisor)
{
    for (uint32_t i = 0; i < ODEON_PORTS_MAX; i++)
        supervisor->ports.ports[i].add_id = supervisor->ports.ports[i].remove_id = 0;
}

static void ports_discharge(struct supervisor *supervisor, struct seat_port *port)
{
    struct account *account = account_find(&supervisor->accounts, port->uid);

    if (!account)
        return;
    account_discharge(account, &port->held);
    account_settle(&supervisor->accounts, port->uid);
}

/* The port's end, also in the accounts of its client and user. */
static void ports_release(struct supervisor *supervisor, struct seat_port *port)
{
    struct client *client = clients_find(&supervisor->clients, port->client_id);

    if (client && client->n_ports > 0) {
        client->n_ports--;
        holding_subtract(&client->held, &port->held);
    }
    ports_discharge(supervisor, port);
    persist_forget_port(supervisor, port);
    port_table_release(&supervisor->ports, port);
    supervisor_update_counts(supervisor);
}

void ports_open(struct supervisor *supervisor, struct seat_port *port)
{
    supervisor_update_counts(supervisor);
    if (supervisor->executor.state == LINK_READY)
        ports_send_add(supervisor, port);
}

void ports_close(struct supervisor *supervisor, struct seat_port *port)
{
    port->state = PORT_CLOSING;
    registry_set_port(&supervisor->persist.registry, port->index, REGISTRY_CLOSING);
    if (!port->known)
        ports_release(supervisor, port);
    else if (supervisor->executor.state == LINK_READY && port->remove_id == 0)
        ports_send_remove(supervisor, port);
    supervisor_update_counts(supervisor);
}

void ports_close_of_client(struct supervisor *supervisor, uint32_t client_id)
{
    for (uint32_t i = 0; i < ODEON_PORTS_MAX; i++) {
        struct seat_port *port = &supervisor->ports.ports[i];

        if ((port->state == PORT_OPENING || port->state == PORT_OPEN) &&
            port->client_id == client_id)
            ports_close(supervisor, port);
    }
}

static void ports_fill_open_reply(const struct seat_port *port, Odeon__PortOpenReply *body)
{
    body->port_id = port->index;
    body->ref = port->ref;
    body->submission_bytes = port->submission_bytes;
    body->delivery_bytes = port->delivery_bytes;
    body->submission_offset = PORT_RING_OFFSET;
    body->delivery_offset = PORT_RING_OFFSET;
    body->payload_max = port_payload_max(port);
    body->token.data = (uint8_t *)port->token;
    body->token.len = sizeof(port->token);
    body->actors_max = port->actors_max ? port->actors_max : ODEON_ACTORS_MAX;
}

static void ports_answer_open(struct supervisor *supervisor, struct seat_port *port)
{
    struct client *client = clients_find(&supervisor->clients, port->client_id);
    Odeon__PortOpenReply body = ODEON__PORT_OPEN_REPLY__INIT;
    Odeon__Reply reply = ODEON__REPLY__INIT;
    int read_only;

    if (!client) /* its end has set the port to closing before: not reached */
        return;
    client_end_request(client);
    read_only = memfd_reopen_read_only(port->executor_fd);
    if (read_only < 0) {
        client_refuse(client, port->request_id, read_only,
                      "the port's memory cannot be opened for reading: %s", strerror(-read_only));
        ports_close(supervisor, port);
        return;
    }
    port->state = PORT_OPEN;
    /* G3: before its client hears of it */
    registry_set_port(&supervisor->persist.registry, port->index, REGISTRY_OPEN);
    ports_fill_open_reply(port, &body);
    reply.id = port->request_id;
    reply.body_case = ODEON__REPLY__BODY_PORT_OPEN;
    reply.port_open = &body;
    client_send(client, &reply,
                (int[]){ port->client_fd, read_only, port->doorbell_fd, port->pipe_read_fd },
                port->pipe_read_fd >= 0 ? 4 : 3);
    close(read_only);
    supervisor_update_counts(supervisor);
}

static void ports_tell_broken(struct supervisor *supervisor, const struct seat_port *port,
                              const char *reason)
{
    struct client *client = clients_find(&supervisor->clients, port->client_id);
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

static void ports_on_added(struct supervisor *supervisor, struct seat_port *port,
                           const Odeon__RefReply *answer)
{
    if (port->ref && port->ref != answer->ref)
        log_error("port %u of client %u has another reference after the restart: answers to it "
                  "will not arrive",
                  port->index, port->client_id);
    port->ref = answer->ref;
    port->actors_max = answer->actors_max;
    registry_set_port_ref(&supervisor->persist.registry, port->index, port->ref, port->actors_max);
    if (port->state == PORT_OPENING)
        ports_answer_open(supervisor, port);
}

/* The executor does not have the port (any more). */
static void ports_on_refused(struct supervisor *supervisor, struct seat_port *port,
                             const Odeon__Report *report)
{
    struct client *client = clients_find(&supervisor->clients, port->client_id);
    const char *why =
        report->text[0] ? report->text : strerror(report->error < 0 ? -report->error : EPROTO);

    if (report->id == port->remove_id && report->id != port->add_id) {
        log_debug("port %u: the executor has not removed it: %s", port->index, why);
    } else if (port->state == PORT_OPENING && client) {
        client_end_request(client);
        client_refuse(client, port->request_id, report->error < 0 ? report->error : -EPROTO,
                      "the port cannot be opened: %s", why);
    } else if (port->state == PORT_CLOSING) {
        log_warning("port %u of client %u, which is closed, is not drained: %s", port->index,
                    port->client_id, why);
    } else {
        log_error("port %u of client %u is lost: the executor did not take it again: %s",
                  port->index, port->client_id, why);
        ports_tell_broken(supervisor, port, why);
    }
    ports_release(supervisor, port);
}

static void ports_on_fault(struct supervisor *supervisor, const Odeon__PortFault *fault)
{
    struct seat_port *port = port_table_find(&supervisor->ports, fault->port_id, fault->generation);
    struct client *client;
    const char *reason = port_broken_name(fault->why);

    if (!port || (port->state != PORT_OPEN && port->state != PORT_CLOSING))
        return;
    client = clients_find(&supervisor->clients, port->client_id);
    if (client) {
        char who[160], pid[48];
        const char *const fields[] = { CATALOGUE_PORT_BROKEN, pid, NULL };

        snprintf(pid, sizeof(pid), "ODEON_CLIENT_PID=%d", (int)client->pid);
        log_fields(LOG_LEVEL_WARNING, fields, "port %u of %s is closed: %s (%s)", port->index,
                   client_describe(client, who, sizeof(who)),
                   fault->why == PORT_BROKEN_SLOW
                       ? "its client did not receive, and that is what it asked for"
                       : "its client wrote what no record can be",
                   reason);
    } else {
        log_warning("port %u of client %u, which has gone, is broken (%s)", port->index,
                    port->client_id, reason);
    }
    if (fault->why != PORT_BROKEN_SLOW) /* who is deaf tells no lies */
        clients_note_offence(supervisor, port->pid, port->uid);
    ports_tell_broken(supervisor, port, reason);
    if (port->state == PORT_OPEN) /* telling may have dropped the client, and closed its ports */
        ports_close(supervisor, port);
}

bool ports_handle_report(struct supervisor *supervisor, const Odeon__Report *report)
{
    struct seat_port *port;

    if (report->body_case == ODEON__REPORT__BODY_PORT_FAULT && report->port_fault) {
        ports_on_fault(supervisor, report->port_fault);
        return true;
    }
    port = port_table_find_command(&supervisor->ports, report->id);
    if (!port)
        return false;
    if (report->body_case == ODEON__REPORT__BODY_PORT && report->port && report->id == port->add_id)
        ports_on_added(supervisor, port, report->port);
    else if (report->body_case == ODEON__REPORT__BODY_PORT_REMOVED && report->id == port->remove_id)
        ports_release(supervisor, port);
    else
        ports_on_refused(supervisor, port, report);
    return true;
}
