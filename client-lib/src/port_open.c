/* SPDX-License-Identifier: Apache-2.0 */
/* Opening, naming and closing ports, and what a port tells about itself. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client-lib/src/admin_call.h"
#include "client-lib/src/error.h"
#include "client-lib/src/options.h"
#include "client-lib/src/port_explain.h"
#include "client-lib/src/request.h"

/* What a program that was compiled with an earlier version of the struct does not have is 0. */
enum { OPTIONS_LEAST = offsetof(struct odeon_port_options, overflow) };

static int port_open_take_options(const struct odeon_port_options *options,
                                  struct odeon_port_options *ret)
{
    int result = options_take("odeon_port_open", options, OPTIONS_LEAST, sizeof(*ret), ret);

    if (result == 0 && ret->posters > 1)
        return error_set(-EINVAL, "odeon_port_open: options.posters is %u, neither 0 nor 1",
                         ret->posters);
    return result;
}

static int port_open_take_fd(struct client_answer *answer, size_t index)
{
    int fd = index < answer->n_fds ? answer->fds[index] : -1;

    if (fd >= 0)
        answer->fds[index] = -1;
    return fd;
}

static int port_new_from_answer(struct odeon_client *client, struct client_answer *answer,
                                bool pipe, struct odeon_port **ret_port)
{
    const Odeon__PortOpenReply *reply = answer->reply->port_open;
    struct port_plan plan = {
        .submission_bytes = reply->submission_bytes,
        .delivery_bytes = reply->delivery_bytes,
        .submission_offset = reply->submission_offset,
        .delivery_offset = reply->delivery_offset,
        .payload_max = reply->payload_max,
        .actors_max = reply->actors_max,
        .prefix = reply->prefix,
        .room_by_pipe = reply->room_by_pipe,
        .monitors = reply->monitors,
        .demonitors = reply->demonitors,
        .id = reply->port_id,
        .ref = reply->ref,
    };
    int result;

    if (answer->fds_lost)
        return error_set_literal(
            -EMFILE, "the answer's descriptors were lost: too many files are open in this process");
    if (answer->n_fds != (pipe ? 4 : 3))
        return error_set(-EPROTO, "the service sent %zu descriptors with a port, %d were expected",
                         answer->n_fds, pipe ? 4 : 3);
    if (reply->token.len != sizeof(plan.token))
        return error_set(-EPROTO, "the service sent a port's token of %zu bytes, %zu were expected",
                         reply->token.len, sizeof(plan.token));
    memcpy(plan.token, reply->token.data, sizeof(plan.token));
    plan.client_memory = answer->fds[0]; /* stay with the answer: a mapping needs no descriptor */
    plan.executor_memory = answer->fds[1];
    plan.doorbell = port_open_take_fd(answer, 2);
    plan.pipe = port_open_take_fd(answer, 3);
    result = port_new(&plan, client->alive, ret_port);
    if (result < 0) {
        wire_close_fds(&plan.doorbell, 1);
        wire_close_fds(&plan.pipe, 1);
    }
    return result;
}

/* A client that is away need not ask: it does not claim the port when it comes back. */
static void port_open_ask_close(struct odeon_client *client, uint64_t id,
                                const ProtobufCBinaryData *token)
{
    Odeon__PortClose close = ODEON__PORT_CLOSE__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;

    close.port_id = id;
    close.token = *token;
    request.body_case = ODEON__REQUEST__BODY_PORT_CLOSE;
    request.port_close = &close;
    if (!client_call_now(client, &request))
        client_close_later(client, &close);
}

/* One port.  1 (connect.C5): the service went and came meanwhile, try again. */
static int open_once(struct odeon_client *client, Odeon__Request *request, bool pipe,
                     struct odeon_port **ret_port)
{
    struct client_answer answer;
    struct odeon_port *port = NULL;
    int result = client_call(client, request, ODEON__REPLY__BODY_PORT_OPEN, &answer);

    if (result < 0)
        return result;
    result = port_new_from_answer(client, &answer, pipe, &port);
    if (result < 0) {
        char why[512];

        /* the text of what went wrong, not of a failure to give the port back */
        snprintf(why, sizeof(why), "%s", odeon_error_text());
        port_open_ask_close(client, answer.reply->port_open->port_id,
                            &answer.reply->port_open->token);
        error_set(result, "%s", why);
    } else {
        port->client = client;
        if (client_add_port(client, port, answer.hellos)) {
            *ret_port = port;
        } else {
            port_free(port);
            result = 1;
        }
    }
    client_answer_fini(&answer);
    return result;
}

int odeon_port_open(struct odeon_client *client, const struct odeon_port_options *options,
                    struct odeon_port **ret_port)
{
    WITHOUT_CANCELLATION;
    Odeon__PortOpen open = ODEON__PORT_OPEN__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;
    struct odeon_port_options chosen;
    int result = client_check(client);

    if (result == 0)
        result = port_open_take_options(options, &chosen);
    if (result == 0 && !ret_port)
        result = error_set_literal(-EINVAL, "odeon_port_open: no place for the port");
    if (result < 0)
        return result;
    *ret_port = NULL;
    open.submission_bytes = chosen.submission_bytes;
    open.delivery_bytes = chosen.delivery_bytes;
    open.pipe = chosen.pipe != 0;
    open.overflow = chosen.overflow;
    request.body_case = ODEON__REQUEST__BODY_PORT_OPEN;
    request.port_open = &open;
    do
        result = open_once(client, &request, open.pipe, ret_port);
    while (result == 1);
    if (result == 0 && chosen.posters)
        port_share(*ret_port);
    return result;
}

int odeon_port_register(struct odeon_port *port, const char *name)
{
    Odeon__PortRegister body = ODEON__PORT_REGISTER__INIT;
    int r = port ? admin_check_name("odeon_port_register", name)
                 : error_set_literal(-EINVAL, "odeon_port_register: no port was given");

    if (r < 0)
        return r;
    if (port_forked(port))
        return port_explain_fork();
    if (!port_open(port))
        return port_explain(port);
    body.ref = port->ref;
    body.name = admin_string(name);
    return admin_call(port->client,
                      &(struct admin_call){ .request = ODEON__REQUEST__BODY_PORT_REGISTER,
                                            .body = &body,
                                            .reply = ODEON__REPLY__BODY_OK });
}

struct odeon_port *odeon_port_close(struct odeon_port *port)
{
    WITHOUT_CANCELLATION;

    if (!port)
        return NULL;
    if (port->client && !port_forked(port)) {
        /* out of the list first: no event finds a port that is being freed */
        client_remove_port(port->client, port);
        port_depart(port);
        port_open_ask_close(port->client, port->id,
                            &(ProtobufCBinaryData){ sizeof(port->token), port->token });
    } else if (port->client) {
        /* a forked child has one thread and a mutex that may be held for ever */
        for (struct odeon_port **at = &port->client->ports; *at; at = &(*at)->next)
            if (*at == port) {
                *at = port->next;
                break;
            }
    }
    port_free(port);
    return NULL;
}

uint64_t odeon_port_dropped(const struct odeon_port *port)
{
    return port ? atomic_load_explicit(&port->theirs->dropped, memory_order_relaxed) : 0;
}

odeon_ref odeon_port_ref(const struct odeon_port *port)
{
    return port ? port->ref : ODEON_NOBODY;
}

int odeon_port_fd(const struct odeon_port *port)
{
    if (!port)
        return error_set_literal(-EINVAL, "odeon_port_fd: no port was given");
    if (port->pipe < 0)
        return error_set_literal(
            -ENOTSUP, "the port was opened without a pipe: set odeon_port_options.pipe to 1");
    return port->pipe;
}

int odeon_port_closed(struct odeon_port *port)
{
    unsigned broken;

    if (!port)
        return error_set_literal(-EINVAL, "odeon_port_closed: no port was given");
    if (port_forked(port))
        return port_explain_fork();
    if (port->client && atomic_load_explicit(&port->closed, memory_order_acquire) == 0)
        client_poll_events(port->client);
    if (atomic_load_explicit(&port->closed, memory_order_acquire) != 0)
        return (int)port->why;
    broken = atomic_load_explicit(&port->theirs->broken, memory_order_relaxed);
    return broken == PORT_OK ? ODEON_CLOSED_NOT : (int)port_closed_by(broken);
}

int odeon_port_check(struct odeon_port *port)
{
    if (!port)
        return error_set_literal(-EINVAL, "odeon_port_check: no port was given");
    if (port_forked(port))
        return port_explain_fork();
    if (port_open(port) && port->client)
        client_poll_events(port->client);
    return port_open(port) ? 0 : port_explain(port);
}
