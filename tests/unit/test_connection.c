/* SPDX-License-Identifier: Apache-2.0 */
/* The control connection of a client against a service that the test plays in a thread: answers, events, and nonsense.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <odeon/admin.h>

#include "proto/control.pb-c.h"
#include "tests/run/scratch.h"
#include "tests/unit/clientlib_fake.h"

#include "tests/unit/clientlib_cmocka.h"

enum { SECOND_NS = 1000000000, TYPE = 20 };

struct service {
    char directory[64], path[128];
    int listener;
    _Atomic int connection;
    pthread_t thread;
    bool threaded;
    struct fake fake;
    /* what it does otherwise than well */
    uint32_t protocol;
    int hello_error;
    unsigned port_fds;
    bool event_before_reply, close_instead, garbage_instead, strange_id, oversized, wrong_body;
    /* what it saw */
    _Atomic unsigned requests, interns, port_closes;
    char client_name[64];
    Odeon__Spawn spawn;
};

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

static void service_tell_broken(struct service *s, char *reason)
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

    snprintf(s->client_name, sizeof(s->client_name), "%s", request->hello->name);
    body.protocol = s->protocol;
    body.service = (char[]){ "9.9.9" };
    body.client_id = 4;
    reply->body_case = ODEON__REPLY__BODY_HELLO;
    reply->hello = &body;
    reply->error = s->hello_error;
    reply->text = s->hello_error ? (char[]){ "the service is starting: try again" } : reply->text;
    service_send(s, reply, NULL, 0);
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

static void answer_client_list(struct service *s, const Odeon__Request *request, Odeon__Reply *reply)
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
        service_tell_broken(s, (char[]){ "a bad tail, said before the reply" });
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
    ref.ref = UINT64_C(1) << 32 | (uint8_t)request->lookup->name[0];
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

/* An older service does not say what a change took: as this one does not when the first value is empty. */
static void answer_executor_set(struct service *s, const Odeon__Request *request, Odeon__Reply *reply)
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
    body.n_queues = 1;
    body.queues = rows;
    reply->body_case = ODEON__REPLY__BODY_QUEUE_LIST;
    reply->queue_list = &body;
    service_send(s, reply, NULL, 0);
}

static void answer(struct service *s, const Odeon__Request *request)
{
    Odeon__Reply reply = ODEON__REPLY__INIT;
    Odeon__Ok ok = ODEON__OK__INIT;

    reply.id = request->id;
    atomic_fetch_add(&s->requests, 1);
    switch (request->body_case) {
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

static void *serve(void *argument)
{
    struct service *s = argument;
    uint8_t data[ODEON_CONTROL_FRAME_MAX];
    ssize_t got;

    while ((got = recv(s->connection, data, sizeof(data), 0)) > 0) {
        Odeon__Request *request = odeon__request__unpack(NULL, (size_t)got, data);
        bool hello;

        if (!request)
            break;
        hello = request->body_case == ODEON__REQUEST__BODY_HELLO;
        if (!hello && s->close_instead) {
            odeon__request__free_unpacked(request, NULL);
            break;
        }
        answer(s, request);
        odeon__request__free_unpacked(request, NULL);
    }
    shutdown(s->connection, SHUT_RDWR);
    return NULL;
}

static void *accept_and_serve(void *argument)
{
    struct service *s = argument;

    s->connection = accept(s->listener, NULL, NULL);
    return s->connection < 0 ? NULL : serve(s);
}

static int setup(void **state)
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
           sizeof(s->path) < sizeof(address.sun_path) ? sizeof(s->path) : sizeof(address.sun_path) - 1);
    assert_int_equal(bind(s->listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(s->listener, 4), 0);
    *state = s;
    return 0;
}

static int teardown(void **state)
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

static int try_connect(struct service *s, const char *name, struct odeon_client **ret_client)
{
    assert_int_equal(pthread_create(&s->thread, NULL, accept_and_serve, s), 0);
    s->threaded = true;
    return odeon_connect(s->path, name, ret_client);
}

static struct odeon_client *connected(struct service *s)
{
    struct odeon_client *client = NULL;
    int result = try_connect(s, "tester", &client);

    if (result < 0)
        fail_msg("odeon_connect: %d, %s", result, odeon_error_text());
    return client;
}

static struct odeon_port *opened(struct odeon_client *client)
{
    struct odeon_port *port = NULL;
    int result = odeon_port_open(client, NULL, &port);

    if (result < 0)
        fail_msg("odeon_port_open: %d, %s", result, odeon_error_text());
    return port;
}

static void test_no_service(void **state)
{
    struct service *s = *state;
    struct odeon_client *client = NULL;
    char path[200], longer[300];
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int stream;

    snprintf(path, sizeof(path), "%s/none", s->directory);
    assert_int_equal(odeon_connect(path, NULL, &client), -ENOENT);
    assert_non_null(strstr(odeon_error_text(), path));
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = 0;
    assert_int_equal(odeon_connect(longer, NULL, &client), -ENAMETOOLONG);
    shutdown(s->listener, SHUT_RDWR);
    close(s->listener);
    assert_int_equal(odeon_connect(s->path, NULL, &client), -ECONNREFUSED);
    setenv("ODEON_SOCKET", s->path, 1);
    assert_int_equal(odeon_connect(NULL, NULL, &client), -ECONNREFUSED);
    unsetenv("ODEON_SOCKET");
    s->listener = stream = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    unlink(s->path);
    memcpy(address.sun_path, s->path, strlen(s->path));
    assert_int_equal(bind(stream, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(stream, 1), 0);
    assert_int_equal(odeon_connect(s->path, NULL, &client), -EPROTO);
    assert_int_equal(odeon_connect(s->path, NULL, NULL), -EINVAL);
    assert_null(client);
    assert_null(odeon_disconnect(NULL));
}

static void test_hello(void **state)
{
    struct service *s = *state;
    struct odeon_client *client = connected(s);

    assert_string_equal(s->client_name, "tester");
    odeon_disconnect(client);
}

static void test_hello_of_another_protocol(void **state)
{
    struct service *s = *state;
    struct odeon_client *client = NULL;

    s->protocol = ODEON_PROTOCOL_VERSION + 1;
    assert_int_equal(try_connect(s, NULL, &client), -EPROTO);
    assert_non_null(strstr(odeon_error_text(), "9.9.9"));
    assert_null(client);
}

static void test_hello_while_the_service_starts(void **state)
{
    struct service *s = *state;
    struct odeon_client *client = NULL;

    s->hello_error = -EAGAIN;
    assert_int_equal(try_connect(s, NULL, &client), -EAGAIN);
    assert_string_equal(odeon_error_text(), "the service is starting: try again");
    assert_null(client);
}

static void test_message_ids_are_asked_for_once(void **state)
{
    struct service *s = *state;
    struct odeon_client *client = connected(s);
    struct odeon_message_type types[200];
    struct odeon_message_type bad = { .struct_size = sizeof(bad), .name = "conflict" };
    uint32_t id = 0;

    for (unsigned round = 0; round < 3; round++)
        for (uint32_t i = 0; i < 200; i++) {
            if (round == 0)
                types[i] = (struct odeon_message_type){
                    .struct_size = sizeof(types[i]), .version = i + 1, .name = "some", .fields = ""
                };
            assert_int_equal(odeon_message_id(client, &types[i], &id), 0);
            assert_int_equal(id, 17 + i);
        }
    assert_int_equal(atomic_load(&s->interns), 200);
    /* the same address, another type: as after dlclose() and dlopen() */
    types[0].name = "other";
    assert_int_equal(odeon_message_id(client, &types[0], &id), 0);
    assert_int_equal(atomic_load(&s->interns), 201);

    assert_int_equal(odeon_message_id(client, &bad, &id), -EBADMSG);
    assert_string_equal(odeon_error_text(), "conflict: size is 8 here, 16 there");
    bad.name = "";
    assert_int_equal(odeon_message_id(client, &bad, &id), -EINVAL);
    bad.struct_size = 0;
    assert_int_equal(odeon_message_id(client, &bad, &id), -EINVAL);
    assert_int_equal(odeon_message_id(client, NULL, &id), -EINVAL);
    odeon_disconnect(client);
}

static void test_arguments_and_unknown_requests(void **state)
{
    struct service *s = *state;
    struct odeon_client *client = connected(s);
    struct odeon_status *status = NULL;
    char name[100];
    odeon_ref ref = 0;

    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = 0;
    assert_int_equal(odeon_lookup(client, "A", &ref), 0);
    assert_int_equal(ref, UINT64_C(1) << 32 | 'A');
    assert_int_equal(odeon_lookup(client, name, &ref), -EINVAL);
    assert_int_equal(odeon_lookup(client, NULL, &ref), -EINVAL);
    assert_int_equal(odeon_lookup(NULL, "A", &ref), -EINVAL);
    assert_int_equal(odeon_spawn(client, "type", NULL, name, 233, &ref), -E2BIG);
    assert_int_equal(odeon_spawn(client, NULL, NULL, NULL, 0, &ref), -EINVAL);
    assert_int_equal(odeon_plugin_load(client, "relative.so"), -EINVAL);
    assert_int_equal(odeon_plugin_load(client, NULL), -EINVAL);
    assert_int_equal(atomic_load(&s->requests), 2); /* hello and the one lookup */
    assert_int_equal(odeon_plugin_load(client, "/absolute.so"), -ENOSYS);
    assert_string_equal(odeon_error_text(), "Function not implemented");
    assert_int_equal(odeon_admin_status(client, &status), -ENOSYS);
    assert_null(status);
    assert_int_equal(odeon_admin_actor_stop(client, ref, ODEON_NODELETE), -EINVAL);
    s->wrong_body = true;
    assert_int_equal(odeon_lookup(client, "A", &ref), -EPROTO);
    s->wrong_body = false;
    assert_int_equal(odeon_lookup(client, "A", &ref), 0); /* each record was told from the other */
    odeon_disconnect(client);
}

static void test_listings(void **state)
{
    struct service *s = *state;
    struct odeon_client *client = connected(s);
    struct odeon_list *list = NULL;
    const struct odeon_client_info *row;

    assert_int_equal(odeon_admin_client_list(client, 10, 100, &list), 0);
    assert_int_equal(list->n, 100);
    assert_true(list->more);
    assert_int_equal(list->next, 10 + 200);
    row = list->rows;
    assert_int_equal(row[99].id, 210);
    assert_string_equal(row[99].name, "somebody whose name is long enough for several blocks of an arena");
    assert_string_equal(row[99].library, "");
    odeon_list_free(list);
    assert_int_equal(odeon_admin_client_list(client, 10, 0, &list), 0);
    assert_int_equal(list->n, 0);
    assert_int_equal(list->next, 10);
    odeon_list_free(list);
    assert_int_equal(odeon_admin_plugin_list(client, 3, 0, &list), 0);
    assert_int_equal(list->n, 1);
    assert_int_equal(list->next, 4);
    assert_int_equal(((struct odeon_plugin_info *)list->rows)->n_types, 2);
    assert_string_equal(((struct odeon_plugin_info *)list->rows)->types[1], "two");
    odeon_free(list);
    odeon_list_free(NULL);
    odeon_free(NULL);
    odeon_disconnect(client);
}

/* What steering says and is told: places of actors, the cost of a change, queues. */
static void test_places_changes_and_queues(void **state)
{
    static const char *const keys[] = { "throughput" }, *const some[] = { "7" }, *const none[] = { "" };
    struct odeon_spawn_where where = {
        .struct_size = sizeof(where), .where = ODEON_WHERE_NODE, .node = 3, .worker = 9
    };
    struct odeon_reconfigured done = { .struct_size = 4 };
    struct service *s = *state;
    struct odeon_client *client = connected(s);
    const struct odeon_queue_info *queue;
    struct odeon_list *list;
    odeon_ref ref;

    assert_int_equal(odeon_admin_actor_spawn(client, "t", NULL, NULL, 0, &where, &ref), 0);
    assert_true(s->spawn.place == 1 && s->spawn.node == 3 && s->spawn.worker == 0);
    where.where = ODEON_WHERE_PINNED;
    assert_int_equal(odeon_admin_actor_spawn(client, "t", NULL, NULL, 0, &where, &ref), 0);
    assert_true(s->spawn.place == 2 && s->spawn.node == 0 && s->spawn.worker == 10);
    where.worker = ODEON_WORKER_ANY;
    assert_int_equal(odeon_admin_actor_spawn(client, "t", NULL, NULL, 0, &where, &ref), 0);
    assert_true(s->spawn.place == 2 && s->spawn.worker == 0);
    where.struct_size = 4;
    assert_int_equal(odeon_admin_actor_spawn(client, "t", NULL, NULL, 0, &where, &ref), -EINVAL);

    assert_int_equal(odeon_admin_executor_set(client, keys, some, 1, &done), -EINVAL);
    done.struct_size = sizeof(done);
    assert_int_equal(odeon_admin_executor_set(client, keys, some, 1, &done), 0);
    assert_true(done.pause_ns == 84000 && done.moved == 0);
    assert_int_equal(odeon_admin_executor_set(client, keys, none, 1, &done), 0);
    assert_true(done.pause_ns == 0);
    assert_int_equal(odeon_admin_queue_list(client, "pinned", 30, 5, &list), 0);
    queue = list->rows;
    assert_true(list->n == 1 && list->next == 34);
    assert_true(queue->id == 33 && queue->home == 2 && queue->retiring && queue->bytes == UINT64_C(5) << 32 && queue->urgent_bytes == 2);
    assert_string_equal(queue->kind, "pinned");
    odeon_list_free(list);
    odeon_disconnect(client);
}

static void test_port_from_the_service(void **state)
{
    struct service *s = *state;
    struct odeon_client *client = connected(s);
    struct odeon_port *port = opened(client), *refused = NULL;
    struct odeon_port_options options = { .struct_size = sizeof(options), .pipe = 1 };
    uint8_t payload[UINT16_MAX];
    struct envelope e;

    assert_int_equal(odeon_port_fd(port), -ENOTSUP);
    assert_int_equal(odeon_port_arm(port), -ENOTSUP);
    assert_int_equal(odeon_post(port, UINT64_C(1) << 32, TYPE, "abc", 3), 0);
    assert_true(fake_take(&s->fake, &e, payload));
    assert_memory_equal(payload, "abc", 3);
    assert_null(odeon_port_close(port));
    assert_int_equal(atomic_load(&s->port_closes), 1);

    /* three descriptors where four are due: refused, and given back */
    assert_int_equal(odeon_port_open(client, &options, &refused), -EPROTO);
    assert_non_null(strstr(odeon_error_text(), "descriptors"));
    assert_int_equal(atomic_load(&s->port_closes), 2);
    s->port_fds = 4;
    assert_int_equal(odeon_port_open(client, NULL, &refused), -EPROTO);
    s->fake.plan.submission_bytes = 12345;
    assert_int_equal(odeon_port_open(client, &options, &refused), -EPROTO);
    assert_non_null(strstr(odeon_error_text(), "power of two"));
    s->fake.plan.submission_bytes = 65536;
    options.struct_size = 4;
    assert_int_equal(odeon_port_open(client, &options, &refused), -EINVAL);
    options.struct_size = sizeof(options);
    assert_null(refused);
    assert_int_equal(odeon_port_open(client, &options, &port), 0);
    assert_true(odeon_port_fd(port) >= 0);
    odeon_disconnect(client); /* closes the port, too */
}

static void test_events_between_request_and_reply(void **state)
{
    struct service *s = *state;
    struct odeon_client *client = connected(s);
    struct odeon_port *port = opened(client);
    odeon_ref ref = 0;

    assert_int_equal(odeon_port_check(port), 0);
    s->event_before_reply = true;
    assert_int_equal(odeon_lookup(client, "B", &ref), 0);
    assert_int_equal(ref, UINT64_C(1) << 32 | 'B');
    assert_int_equal(odeon_post(port, ref, TYPE, "x", 1), -EPIPE);
    assert_non_null(strstr(odeon_error_text(), "a bad tail, said before the reply"));
    odeon_disconnect(client);
}

static void test_events_are_found_by_looking(void **state)
{
    struct service *s = *state;
    struct odeon_client *client = connected(s);
    struct odeon_port *port = opened(client);
    struct odeon_delivery d;

    service_tell_broken(s, (char[]){ "a bad tail, said unasked" });
    assert_int_equal(odeon_receive_wait(port, &d, INT64_C(20) * SECOND_NS), -EPIPE);
    assert_non_null(strstr(odeon_error_text(), "said unasked"));
    assert_int_equal(odeon_port_check(port), -EPIPE);
    odeon_disconnect(client);
}

static void test_end_of_the_service(void **state)
{
    struct service *s = *state;
    struct odeon_client *client = connected(s);
    struct odeon_port *port = opened(client);
    struct odeon_delivery d;
    odeon_ref ref;

    shutdown(s->connection, SHUT_RDWR);
    assert_int_equal(odeon_call(port, UINT64_C(1) << 32, TYPE, "x", 1, -1, &d), ODEON_CALL_CLOSED);
    assert_non_null(strstr(odeon_error_text(), "closed the connection"));
    assert_int_equal(odeon_receive_wait(port, &d, -1), -EPIPE);
    assert_int_equal(odeon_port_check(port), -EPIPE);
    assert_int_equal(odeon_lookup(client, "A", &ref), -ECONNRESET);
    assert_int_equal(odeon_lookup(client, "A", &ref), -ECONNRESET);
    odeon_disconnect(client);
}

static void test_service_closes_instead_of_answering(void **state)
{
    struct service *s = *state;
    struct odeon_client *client = connected(s);
    odeon_ref ref;

    s->close_instead = true;
    assert_int_equal(odeon_lookup(client, "A", &ref), -ECONNRESET);
    odeon_disconnect(client);
}

static void expect_nonsense(struct service *s)
{
    struct odeon_client *client = connected(s);
    struct odeon_port *port = opened(client);
    odeon_ref ref;

    assert_int_equal(odeon_lookup(client, "A", &ref), -EPROTO);
    assert_int_equal(odeon_lookup(client, "A", &ref), -EPROTO); /* and that is the end */
    assert_int_equal(odeon_port_check(port), -EPIPE);
    odeon_disconnect(client);
}

static void test_garbage(void **state)
{
    struct service *s = *state;

    s->garbage_instead = true;
    expect_nonsense(s);
}

static void test_oversized_record(void **state)
{
    struct service *s = *state;

    s->oversized = true;
    expect_nonsense(s);
}

static void test_strange_id(void **state)
{
    struct service *s = *state;

    s->strange_id = true;
    expect_nonsense(s);
}

static int child_of_fork(struct odeon_client *client, struct odeon_port *port)
{
    struct odeon_delivery d;
    odeon_ref ref;
    int wrong = 0;

    wrong |= (odeon_post(port, UINT64_C(1) << 32, TYPE, "x", 1) != -ECHILD) << 0;
    wrong |= (odeon_receive(port, &d) != -ECHILD) << 1;
    wrong |= (odeon_lookup(client, "A", &ref) != -ECHILD) << 2;
    wrong |= (odeon_call(port, UINT64_C(1) << 32, TYPE, "x", 1, 0, &d) != -ECHILD) << 3;
    wrong |= (odeon_port_check(port) != -ECHILD) << 4;
    odeon_commit(port);
    odeon_release(port);
    odeon_port_close(port);
    odeon_disconnect(client);
    return wrong;
}

static void test_fork(void **state)
{
    struct service *s = *state;
    struct odeon_client *client = connected(s);
    struct odeon_port *port = opened(client);
    uint8_t payload[UINT16_MAX];
    struct envelope e;
    odeon_ref ref;
    int status = -1;
    pid_t child;

    assert_non_null(odeon_reserve(port, UINT64_C(1) << 32, TYPE, 8));
    child = fork();
    if (child == 0)
        _exit(child_of_fork(client, port));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_false(fake_take(&s->fake, &e, payload)); /* the child published nothing */
    odeon_commit(port);
    assert_true(fake_take(&s->fake, &e, payload));
    assert_int_equal(odeon_lookup(client, "A", &ref), 0); /* and has not closed our connection */
    assert_int_equal(atomic_load(&s->port_closes), 0);
    odeon_disconnect(client);
}

static void *look_up_often(void *argument)
{
    odeon_ref ref;

    for (unsigned i = 0; i < 300; i++) {
        char name[2] = { (char)('a' + i % 26), 0 };

        if (odeon_lookup(argument, name, &ref) != 0 || ref != (UINT64_C(1) << 32 | (uint8_t)name[0]))
            return NULL;
    }
    return argument;
}

static void test_a_client_is_shared_by_threads(void **state)
{
    struct odeon_client *client = connected(*state);
    pthread_t threads[4];
    void *result;

    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, look_up_often, client), 0);
    for (unsigned i = 0; i < 4; i++) {
        pthread_join(threads[i], &result);
        assert_ptr_equal(result, client);
    }
    odeon_disconnect(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_no_service, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hello, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hello_of_another_protocol, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hello_while_the_service_starts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_message_ids_are_asked_for_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_arguments_and_unknown_requests, setup, teardown),
        cmocka_unit_test_setup_teardown(test_listings, setup, teardown),
        cmocka_unit_test_setup_teardown(test_places_changes_and_queues, setup, teardown),
        cmocka_unit_test_setup_teardown(test_port_from_the_service, setup, teardown),
        cmocka_unit_test_setup_teardown(test_events_between_request_and_reply, setup, teardown),
        cmocka_unit_test_setup_teardown(test_events_are_found_by_looking, setup, teardown),
        cmocka_unit_test_setup_teardown(test_end_of_the_service, setup, teardown),
        cmocka_unit_test_setup_teardown(test_service_closes_instead_of_answering, setup, teardown),
        cmocka_unit_test_setup_teardown(test_garbage, setup, teardown),
        cmocka_unit_test_setup_teardown(test_oversized_record, setup, teardown),
        cmocka_unit_test_setup_teardown(test_strange_id, setup, teardown),
        cmocka_unit_test_setup_teardown(test_fork, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_client_is_shared_by_threads, setup, teardown),
    };

    return cmocka_run_group_tests_name("client connection", tests, NULL, NULL);
}
