/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of clients; the interface is in commands.h. */
#include <errno.h>
#include <malloc.h>
#include <odeon/version.h>
#include <stddef.h>
#include <stdlib.h>

#include "daemon/supervisor/commands.h"
#include "daemon/supervisor/commands_client.h"
#include "daemon/supervisor/commands_executor.h"
#include "daemon/supervisor/commands_memory.h"
#include "daemon/supervisor/commands_observe.h"
#include "daemon/supervisor/commands_port.h"
#include "daemon/supervisor/commands_status.h"
#include "daemon/supervisor/commands_user.h"
#include "daemon/supervisor/persist.h"
#include "daemon/supervisor/resume.h"
#include "daemon/supervisor/runtime.h"
#include "daemon/supervisor/seat.h"
#include "daemon/supervisor/turns.h"
#include "daemon/supervisor/unpack.h"

/* False: it was refused, and is gone. */
static bool commands_resume(struct seat *seat, struct client *client, const Odeon__Request *request)
{
    char text[REGISTRY_TEXT_MAX];
    int r = resume_client(seat, client, request->hello->resume, text);

    if (r == 0)
        return true;
    client_refuse(client, request->id, r, "%s", text);
    client_part(client, CLIENT_PART_RESUME, text);
    return false;
}

static size_t commands_list_ports(const struct seat *seat, const struct client *client,
                                  uint64_t *ids)
{
    size_t n = 0;

    for (uint32_t i = 0; i < ODEON_PORTS_MAX && n < ODEON_PORTS_PER_CLIENT_MAX; i++)
        if (seat->ports.ports[i].state == PORT_OPEN && seat->ports.ports[i].client_id == client->id)
            ids[n++] = i;
    return n;
}

static void command_hello(struct seat *seat, struct client *client, Odeon__Request **request,
                          struct frame *frame)
{
    const Odeon__Hello *hello = (*request)->hello;
    Odeon__Reply reply = ODEON__REPLY__INIT;
    Odeon__HelloReply body = ODEON__HELLO_REPLY__INIT;
    uint64_t ports[ODEON_PORTS_PER_CLIENT_MAX];

    (void)frame;
    if (client->said_hello) {
        client_refuse(client, (*request)->id, -EALREADY,
                      "hello was said already; one connection is one client");
        return;
    }
    if (hello->protocol != ODEON_PROTOCOL_VERSION) {
        client_refuse(client, (*request)->id, -EPROTONOSUPPORT,
                      "the client speaks version %u of the protocol, the service (odeond %s) "
                      "version %d; use a library of the "
                      "service's release",
                      hello->protocol, ODEON_VERSION, ODEON_PROTOCOL_VERSION);
        client_part(client, CLIENT_PART_VERSION, "speaks another version of the protocol");
        return;
    }
    if (hello->resume && !commands_resume(seat, client, *request))
        return;
    client_set_hello(client, hello->name, hello->library);
    body.roles = client->roles;
    body.protocol = ODEON_PROTOCOL_VERSION;
    body.service = (char *)ODEON_VERSION;
    body.client_id = client->id;
    body.stats_path = seat->service->runtime->stats_path;
    if (persist_is_on(seat->service->persist)) {
        body.instance = seat->service->persist->registry.map->header.instance;
        body.epoch = seat->service->persist->registry.map->header.epoch;
    }
    body.token.data = client->token;
    body.token.len = sizeof(client->token);
    body.ports = ports;
    body.n_ports = commands_list_ports(seat, client, ports);
    reply.id = (*request)->id;
    reply.body_case = ODEON__REPLY__BODY_HELLO;
    reply.hello = &body;
    client_send(client, &reply, NULL, 0);
}

typedef void (*command_fn)(struct seat *seat, struct client *client, Odeon__Request **request,
                           struct frame *frame);

/* Requests that are not in this table are the executor's. */
static const struct {
    Odeon__Request__BodyCase body;
    command_fn handle;
    unsigned n_fds_max;
} commands[] = {
    { ODEON__REQUEST__BODY_HELLO, command_hello, 0 },
    { ODEON__REQUEST__BODY_PORT_OPEN, command_port_open, 0 },
    { ODEON__REQUEST__BODY_PORT_CLOSE, command_port_close, 0 },
    { ODEON__REQUEST__BODY_STATUS, command_status, 0 },
    { ODEON__REQUEST__BODY_CLIENT_LIST, command_client_list, 0 },
    { ODEON__REQUEST__BODY_CLIENT_SHOW, command_client_show, 0 },
    { ODEON__REQUEST__BODY_CLIENT_KICK, command_client_kick, 0 },
    { ODEON__REQUEST__BODY_USER_LIST, command_user_list, 0 },
    { ODEON__REQUEST__BODY_MEMORY_SHOW, command_memory_show, 0 },
    { ODEON__REQUEST__BODY_OBSERVE, command_observe, 0 },
    { ODEON__REQUEST__BODY_PLUGIN_LOAD, command_plugin_load, 1 },
};

static const char *commands_request_name(Odeon__Request__BodyCase body)
{
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field(&odeon__request__descriptor, (unsigned)body);

    return field ? field->name : "a request";
}

static bool commands_may(const struct client *client, const Odeon__Request *request)
{
    unsigned needed = roles_needed(request->body_case);

    return needed == 0 || (client->roles & needed);
}

static void commands_refuse_role(struct client *client, const Odeon__Request *request)
{
    char needed[ROLES_TEXT_MAX], has[ROLES_TEXT_MAX];
    unsigned roles = roles_needed(request->body_case);
    const char *choice = roles & (roles - 1) ? "one of the roles" : "the role";

    client_refuse(client, request->id, -EACCES,
                  "%s needs %s %s; user %u has here: %s; odeond.conf says who has which role",
                  commands_request_name(request->body_case), choice, roles_describe(roles, needed),
                  client->uid, roles_describe(client->roles, has));
}

static void commands_dispatch(struct seat *seat, struct client *client, Odeon__Request **request,
                              struct frame *frame)
{
    command_fn handle = command_forward;
    unsigned n_fds_max = 0;

    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        if (commands[i].body == (*request)->body_case) {
            handle = commands[i].handle;
            n_fds_max = commands[i].n_fds_max;
        }
    if (!commands_may(client, *request)) {
        commands_refuse_role(client, *request);
        return;
    }
    if (frame->fds_lost) {
        client_refuse(client, (*request)->id, -EMFILE,
                      "the service has no room for the descriptors of the request (LimitNOFILE=)");
        return;
    }
    if (frame->n_fds > n_fds_max) {
        client_refuse(client, (*request)->id, -EINVAL,
                      "%zu descriptors came with a request that takes %u", frame->n_fds, n_fds_max);
        return;
    }
    handle(seat, client, request, frame);
}

/* True: the request can be looked at.  Otherwise it has been answered. */
static bool commands_check(struct client *client, const Odeon__Request *request,
                           const struct frame *frame)
{
    if (!request || request->id == 0) {
        client_refuse(client, 0, -EBADMSG,
                      frame->size == 0 ? "an empty record; the connection is closed"
                      : request
                          ? "a request without an id; the connection is closed"
                          : "a record of %zu bytes that is no request; the connection is closed",
                      frame->size);
        client_throw_out(client, "sent a record that is no request");
        return false;
    }
    if (!client->said_hello && request->body_case != ODEON__REQUEST__BODY_HELLO) {
        client_refuse(client, request->id, -EPROTO,
                      "the first request must be hello; the connection is closed");
        client_throw_out(client, "did not say hello");
        return false;
    }
    if (request->body_case == ODEON__REQUEST__BODY__NOT_SET) {
        client_refuse(client, request->id, -ENOSYS,
                      "odeond %s does not know this request; it may be of a newer release",
                      ODEON_VERSION);
        return false;
    }
    return true;
}

/* The request has been taken from the socket, and nobody has answered it. Where a service manager
 * keeps the state, the next odeond does: its clients come back and ask again. */
static void commands_lack_memory(struct seat *seat, struct client *client)
{
    if (persist_is_on(seat->service->persist))
        seat->ops->fail(seat, "there is no memory to read a request");
    else
        client_drop(client, "there is no memory to read its request");
}

static void commands_refuse_cost(struct client *client, const struct frame *frame)
{
    client_refuse(client, 0, -E2BIG,
                  "a request of %zu bytes that takes too much memory to read; the connection is "
                  "closed",
                  frame->size);
    client_throw_out(client, "sent a request that takes too much memory to read");
}

void commands_handle(struct seat *seat, struct client *client, struct frame *frame)
{
    Odeon__Request *request;
    enum unpack_end end;
    size_t bytes;

    turns_begin_piece("a record that is no request");
    request = unpack_request(frame, &end, &bytes);
    if (end == UNPACK_NO_MEMORY) {
        (void)malloc_trim(0); /* what others could have */
        request = unpack_request(frame, &end, &bytes);
    }
    if (end == UNPACK_NO_MEMORY) {
        commands_lack_memory(seat, client);
        return;
    }
    if (end == UNPACK_TOO_COSTLY) {
        commands_refuse_cost(client, frame);
        return;
    }
    client->read_bytes = bytes;
    if (request)
        turns_begin_piece(commands_request_name(request->body_case));
    if (commands_check(client, request, frame))
        commands_dispatch(seat, client, &request, frame);
    odeon__request__free_unpacked(request, NULL);
}
