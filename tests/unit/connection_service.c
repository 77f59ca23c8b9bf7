/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <odeon/admin.h>

#include "proto/control.pb-c.h"
#include "proto/reference.h"
#include "tests/run/scratch.h"
#include "tests/unit/connection_service.h"

#include "tests/unit/clientlib_cmocka.h"

static void service_send(struct service *s, const Odeon__Reply *reply, const int *fds, size_t n_fds)
{
    uint8_t data[ODEON_CONTROL_FRAME_MAX];
    struct iovec part = { .iov_base = data, .iov_len = odeon__reply__pack(reply, data) };
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int) * 4)];
    } control = { 0 };
    struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };

    if (n_fds > 0) {
        struct cmsghdr *c = &control.align;

        header.msg_control = &control;
        header.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
        memcpy(CMSG_DATA(c), fds, sizeof(int) * n_fds);
    }
    sendmsg(s->connection, &header, MSG_NOSIGNAL);
}

void connection_service_tell_broken(struct service *s, char *reason)
{
    Odeon__PortBroken broken = ODEON__PORT_BROKEN__INIT;
    Odeon__Event event = ODEON__EVENT__INIT;
    Odeon__Reply reply = ODEON__REPLY__INIT;

    broken.port_id = s->fake.plan.id;
    broken.reason = reason;
    event.body_case = ODEON__EVENT__BODY_PORT_BROKEN;
    event.port_broken = &broken;
    reply.event = &event;
    service_send(s, &reply, NULL, 0);
}

static void answer_hello(struct service *s, const Odeon__Request *request, Odeon__Reply *reply)
{
    Odeon__HelloReply body = ODEON__HELLO_REPLY__INIT;
    uint8_t token[PORT_TOKEN_BYTES] = { 0 };

    snprintf(s->client_name, sizeof(s->client_name), "%s", request->hello->name);
    body.protocol = s->protocol;
    body.service = (char[]){ "9.9.9" };
    body.client_id = 4;
    body.instance = s->instance;
    body.token = (ProtobufCBinaryData){ sizeof(token), token };
    reply->body_case = ODEON__REPLY__BODY_HELLO;
    reply->hello = &body;
    reply->error = atomic_load(&s->hello_error);
    reply->text = reply->error ? (char[]){ "the service is starting: try again" } : reply->text;
    service_send(s, reply, NULL, 0);
    atomic_fetch_add(&s->greetings, 1);
}

static void answer_port_open(struct service *s, Odeon__Reply *reply)
{
    Odeon__PortOpenReply body = ODEON__PORT_OPEN_REPLY__INIT;
    const struct port_plan *plan = &s->fake.plan;
    int fds[] = { plan->client_memory, plan->executor_memory, plan->doorbell, plan->pipe };

    body.port_id = plan->id;
    body.ref = plan->ref;
    body.submission_bytes = plan->submission_bytes;
    body.delivery_bytes = plan->delivery_bytes;
    body.submission_offset = plan->submission_offset;
    body.token = (ProtobufCBinaryData){ sizeof(plan->token), (uint8_t *)(uintptr_t)plan->token };
    body.delivery_offset = plan->delivery_offset;
    body.payload_max = plan->payload_max;
    body.actors_max = plan->actors_max;
    reply->body_case = ODEON__REPLY__BODY_PORT_OPEN;
    reply->port_open = &body;
    service_send(s, reply, fds, s->port_fds);
}

static void answer_intern(struct service *s, const Odeon__Request *request, Odeon__Reply *reply)
{
    Odeon__MessageType body = ODEON__MESSAGE_TYPE__INIT;
    char conflict[] = "conflict: size is 8 here, 16 there";
    atomic_fetch_add(&s->interns, 1);
    body.id = 16 + request->message_type_intern->type->version;
    reply->body_case = ODEON__REPLY__BODY_MESSAGE_TYPE;
    reply->message_type = &body;
    if (strcmp(request->message_type_intern->type->name, "conflict") == 0) {
        reply->error = -EBADMSG;
        reply->text = conflict;
    }
    service_send(s, reply, NULL, 0);
}

static void answer_client_list(struct service *s, const Odeon__Request *request,
                               Odeon__Reply *reply)
{
    Odeon__ClientListReply body = ODEON__CLIENT_LIST_REPLY__INIT;
    Odeon__Client rows[100], *pointers[100];
    char name[] = "somebody whose name is long enough for several blocks of an arena";

    body.n_clients = request->client_list->page->rows;
    body.more = 1;
    body.clients = pointers;
    for (unsigned i = 0; i < body.n_clients; i++) {
        odeon__client__init(&rows[i]);
        rows[i].id = (uint32_t)request->client_list->page->after + 2 * i + 2;
        rows[i].name = name;
        pointers[i] = &rows[i];
    }
    reply->body_case = ODEON__REPLY__BODY_CLIENT_LIST;
    reply->client_list = &body;
    service_send(s, reply, NULL, 0);
}

static void answer_plugin_list(struct service *s, Odeon__Reply *reply)
{
    Odeon__PluginListReply body = ODEON__PLUGIN_LIST_REPLY__INIT;
    Odeon__Plugin row = ODEON__PLUGIN__INIT, *rows[] = { &row };
    char one[] = "one", two[] = "two", *types[] = { one, two };

    row.name = (char[]){ "counter" };
    row.n_types = 2;
    row.types = types;
    body.n_plugins = 1;
    body.plugins = rows;
    reply->body_case = ODEON__REPLY__BODY_PLUGIN_LIST;
    reply->plugin_list = &body;
    service_send(s, reply, NULL, 0);
}

/* A reference made from the name: its first byte. */
static void answer_lookup(struct service *s, const Odeon__Request *request, Odeon__Reply *reply)
{
    Odeon__RefReply ref = ODEON__REF_REPLY__INIT;

    if (s->event_before_reply)
        connection_service_tell_broken(s, (char[]){ "a bad tail, said before the reply" });
    if (s->garbage_instead) {
        send(s->connection, "\xff\xff\xff\xff", 4, MSG_NOSIGNAL);
        return;
    }
    if (s->oversized) {
        static const uint8_t zeros[ODEON_CONTROL_FRAME_MAX + 1];

        send(s->connection, zeros, sizeof(zeros), MSG_NOSIGNAL);
        return;
    }
    reply->id += s->strange_id;
    ref.ref = UINT64_C(1) << 32 | ACTOR_REF_OWN | (uint8_t)request->lookup->name[0];
    reply->body_case = s->wrong_body ? ODEON__REPLY__BODY__NOT_SET : ODEON__REPLY__BODY_REF;
    reply->ref = s->wrong_body ? NULL : &ref;
    service_send(s, reply, NULL, 0);
}

static void answer_spawn(struct service *s, const Odeon__Request *request, Odeon__Reply *reply)
{
    Odeon__RefReply ref = ODEON__REF_REPLY__INIT;

    s->spawn = *request->spawn; /* its numbers only: the rest goes with the request */
    reply->body_case = ODEON__REPLY__BODY_REF;
    reply->ref = &ref;
    service_send(s, reply, NULL, 0);
}

/* An older service does not say what a change took: as this one does not when the first value is
 * empty. */
static void answer_executor_set(struct service *s, const Odeon__Request *request,
                                Odeon__Reply *reply)
{
    Odeon__Reconfigured done = ODEON__RECONFIGURED__INIT;
    Odeon__Ok ok = ODEON__OK__INIT;

    done.pause_ns = 84000;
    reply->body_case = ODEON__REPLY__BODY_OK;
    reply->ok = &ok;
    reply->reconfigured = request->executor_set->settings[0]->value[0] ? &done : NULL;
    service_send(s, reply, NULL, 0);
}

static void answer_queue_list(struct service *s, const Odeon__Request *request, Odeon__Reply *reply)
{
    Odeon__QueueListReply body = ODEON__QUEUE_LIST_REPLY__INIT;
    Odeon__Queue row = ODEON__QUEUE__INIT, *rows[] = { &row };

    row.id = (uint32_t)request->queue_list->page->after + 3;
    row.kind = request->queue_list->kind;
    row.urgent_bytes = row.home = 2;
    row.bytes = UINT64_C(5) << 32;
    row.retiring = true;
    row.oldest_to = 17;
    row.oldest_ns = UINT64_C(3) << 33;
    row.oldest_name = (char *)(uintptr_t) "one";
    row.oldest_type = (char *)(uintptr_t) "counter";
    body.n_queues = 1;
    body.queues = rows;
    reply->body_case = ODEON__REPLY__BODY_QUEUE_LIST;
    reply->queue_list = &body;
    service_send(s, reply, NULL, 0);
}

static void answer_timer_list(struct service *s, const Odeon__Request *request, Odeon__Reply *reply)
{
    Odeon__TimerListReply body = ODEON__TIMER_LIST_REPLY__INIT;
    Odeon__Timer row = ODEON__TIMER__INIT, *rows[] = { &row };

    row.id = UINT64_C(7) << 40;
    row.owner = request->timer_list->owner;
    row.to = row.owner + 1;
    row.message = (char *)(uintptr_t) "tick";
    row.size = 8;
    row.due_in_ns = UINT64_C(5) << 32;
    row.period_ns = 3;
    body.n_timers = request->timer_list->owner != 0;
    body.timers = rows;
    body.next = request->timer_list->page->after + 4096;
    body.more = true;
    reply->body_case = ODEON__REPLY__BODY_TIMER_LIST;
    reply->timer_list = &body;
    service_send(s, reply, NULL, 0);
}

static void answer(struct service *s, const Odeon__Request *request)
{
    Odeon__Reply reply = ODEON__REPLY__INIT;
    Odeon__Ok ok = ODEON__OK__INIT;

    reply.id = request->id;
    atomic_fetch_add(&s->requests, 1);
    switch (s->knows_nothing && request->body_case != ODEON__REQUEST__BODY_HELLO
                ? ODEON__REQUEST__BODY__NOT_SET
                : request->body_case) {
    case ODEON__REQUEST__BODY_HELLO:
        answer_hello(s, request, &reply);
        return;
    case ODEON__REQUEST__BODY_PORT_OPEN:
        answer_port_open(s, &reply);
        return;
    case ODEON__REQUEST__BODY_SPAWN:
        answer_spawn(s, request, &reply);
        return;
    case ODEON__REQUEST__BODY_EXECUTOR_SET:
        answer_executor_set(s, request, &reply);
        return;
    case ODEON__REQUEST__BODY_QUEUE_LIST:
        answer_queue_list(s, request, &reply);
        return;
    case ODEON__REQUEST__BODY_TIMER_LIST:
        answer_timer_list(s, request, &reply);
        return;
    case ODEON__REQUEST__BODY_MESSAGE_TYPE_INTERN:
        answer_intern(s, request, &reply);
        return;
    case ODEON__REQUEST__BODY_LOOKUP:
        answer_lookup(s, request, &reply);
        return;
    case ODEON__REQUEST__BODY_CLIENT_LIST:
        answer_client_list(s, request, &reply);
        return;
    case ODEON__REQUEST__BODY_PLUGIN_LIST:
        answer_plugin_list(s, &reply);
        return;
    case ODEON__REQUEST__BODY_PORT_CLOSE:
        if (request->port_close->token.len == sizeof(s->fake.plan.token) &&
            memcmp(request->port_close->token.data, s->fake.plan.token, PORT_TOKEN_BYTES) == 0)
            atomic_fetch_add(&s->port_closes, 1);
        reply.body_case = ODEON__REPLY__BODY_OK;
        reply.ok = &ok;
        break;
    default:
        reply.error = -ENOSYS; /* without a text */
        break;
    }
    service_send(s, &reply, NULL, 0);
}

/* Whether the connection ends instead of an answer. */
static bool service_ends(struct service *s)
{
    unsigned ends = atomic_load(&s->ends);

    if (ends > 0)
        atomic_store(&s->ends, ends - 1);
    return ends > 0 || s->close_instead;
}

static void serve(struct service *s)
{
    uint8_t data[ODEON_CONTROL_FRAME_MAX];
    ssize_t got;

    while ((got = recv(s->connection, data, sizeof(data), 0)) > 0) {
        Odeon__Request *request = odeon__request__unpack(NULL, (size_t)got, data);
        bool hello;

        if (!request)
            break;
        hello = request->body_case == ODEON__REQUEST__BODY_HELLO;
        if (!hello && service_ends(s)) {
            odeon__request__free_unpacked(request, NULL);
            break;
        }
        atomic_fetch_add(&s->held, atomic_load(&s->holds));
        while (atomic_load(&s->holds))
            sched_yield();
        answer(s, request);
        odeon__request__free_unpacked(request, NULL);
    }
    shutdown(s->connection, SHUT_RDWR);
}

static void *accept_and_serve(void *argument)
{
    struct service *s = argument;

    s->connection = accept(s->listener, NULL, NULL);
    while (s->connection >= 0) {
        int former = s->connection;

        serve(s);
        if (s->instance == 0)
            break;
        s->connection = accept(s->listener, NULL, NULL);
        close(former);
    }
    return NULL;
}

int connection_service_setup(void **state)
{
    struct service *s = calloc(1, sizeof(*s));
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    s->protocol = ODEON_PROTOCOL_VERSION;
    s->port_fds = 3;
    s->connection = -1;
    fake_init(&s->fake, 65536, 65536, true);
    assert_non_null(scratch_make(strcpy(s->directory, "/tmp/odeon-test.conn-XXXXXX")));
    snprintf(s->path, sizeof(s->path), "%s/control.sock", s->directory);
    s->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    memcpy(address.sun_path, s->path,
           sizeof(s->path) < sizeof(address.sun_path) ? sizeof(s->path)
                                                      : sizeof(address.sun_path) - 1);
    assert_int_equal(bind(s->listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(s->listener, 4), 0);
    *state = s;
    return 0;
}

int connection_service_teardown(void **state)
{
    struct service *s = *state;

    shutdown(s->listener, SHUT_RDWR);
    if (s->connection >= 0) /* a test that has failed has not disconnected */
        shutdown(s->connection, SHUT_RDWR);
    if (s->threaded)
        pthread_join(s->thread, NULL);
    if (s->connection >= 0)
        close(s->connection);
    close(s->listener);
    unlink(s->path);
    rmdir(s->directory);
    fake_fini(&s->fake);
    free(s);
    return 0;
}

int connection_service_connect(struct service *s, const char *name,
                               struct odeon_client **ret_client)
{
    assert_int_equal(pthread_create(&s->thread, NULL, accept_and_serve, s), 0);
    s->threaded = true;
    return odeon_client_connect(s->path, name, ret_client);
}

struct odeon_client *connection_service_client(struct service *s)
{
    struct odeon_client *client = NULL;
    int result = connection_service_connect(s, "tester", &client);

    if (result < 0)
        fail_msg("odeon_client_connect: %d, %s", result, odeon_error_text());
    return client;
}

struct odeon_port *connection_service_port(struct odeon_client *client)
{
    struct odeon_port *port = NULL;
    int result = odeon_port_open(client, NULL, &port);

    if (result < 0)
        fail_msg("odeon_port_open: %d, %s", result, odeon_error_text());
    return port;
}
