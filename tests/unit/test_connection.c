/* SPDX-License-Identifier: Apache-2.0 */
/* The control connection of a client against a service that the test plays in a thread: answers,
 * events, and nonsense.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <odeon/admin.h>

#include "client-lib/src/connect.h"
#include "client-lib/src/error.h"
#include "proto/control.pb-c.h"
#include "tests/run/scratch.h"
#include "tests/unit/clientlib_fake.h"
#include "tests/unit/connection_service.h"

#include "tests/unit/clientlib_cmocka.h"

static void test_no_service(void **state)
{
    struct service *s = *state;
    struct odeon_client *client = NULL;
    char path[200], longer[300];
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int stream;

    snprintf(path, sizeof(path), "%s/none", s->directory);
    assert_int_equal(odeon_client_connect(path, NULL, &client), -ENOENT);
    assert_non_null(strstr(odeon_error_text(), path));
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = 0;
    assert_int_equal(odeon_client_connect(longer, NULL, &client), -ENAMETOOLONG);
    shutdown(s->listener, SHUT_RDWR);
    close(s->listener);
    assert_int_equal(odeon_client_connect(s->path, NULL, &client), -ECONNREFUSED);
    setenv("ODEON_SOCKET", s->path, 1);
    assert_int_equal(odeon_client_connect(NULL, NULL, &client), -ECONNREFUSED);
    unsetenv("ODEON_SOCKET");
    s->listener = stream = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    unlink(s->path);
    memcpy(address.sun_path, s->path, strlen(s->path));
    assert_int_equal(bind(stream, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(stream, 1), 0);
    assert_int_equal(odeon_client_connect(s->path, NULL, &client), -EPROTO);
    assert_int_equal(odeon_client_connect(s->path, NULL, NULL), -EINVAL);
    assert_null(client);
    assert_null(odeon_client_disconnect(NULL));
}

static void test_hello(void **state)
{
    struct service *s = *state;
    struct odeon_client *client = connection_service_client(s);

    assert_string_equal(s->client_name, "tester");
    odeon_client_disconnect(client);
}

static void test_hello_of_another_protocol(void **state)
{
    struct service *s = *state;
    struct odeon_client *client = NULL;

    s->protocol = ODEON_PROTOCOL_VERSION + 1;
    assert_int_equal(connection_service_connect(s, NULL, &client), -EPROTO);
    assert_non_null(strstr(odeon_error_text(), "9.9.9"));
    assert_null(client);
}

/* As a service says it that does not go on with this library's version. */
static void test_hello_that_the_service_does_not_speak(void **state)
{
    struct service *s = *state;
    struct odeon_client *client = NULL;

    s->hello_error = -EPROTONOSUPPORT;
    assert_int_equal(connection_service_connect(s, NULL, &client), -EPROTO);
    assert_null(client);
}

static void test_hello_while_the_service_starts(void **state)
{
    struct service *s = *state;
    struct odeon_client *client = NULL;

    s->hello_error = -EAGAIN;
    assert_int_equal(connection_service_connect(s, NULL, &client), -EAGAIN);
    assert_string_equal(odeon_error_text(), "the service is starting: try again");
    assert_null(client);
}

/* A socket that is there, and nobody accepts or answers: one greeting, which has its second. */
static void test_not_waiting_for_a_service_that_stands_still(void **state)
{
    struct service *s = *state;
    struct odeon_client *client = NULL;
    char *former = getenv("ODEON_TIMEOUT_MS");

    former = former ? strdup(former) : NULL;
    assert_int_equal(setenv("ODEON_TIMEOUT_MS", "4000", 1), 0);
    assert_int_equal(odeon_client_connect_wait(s->path, NULL, 0, &client), -ETIMEDOUT);
    assert_non_null(strstr(odeon_error_text(), " 1000 ms"));
    assert_null(client);
    if (former)
        assert_int_equal(setenv("ODEON_TIMEOUT_MS", former, 1), 0);
    else
        assert_int_equal(unsetenv("ODEON_TIMEOUT_MS"), 0);
    free(former);
}

static void test_message_ids_are_asked_for_once(void **state)
{
    struct service *s = *state;
    struct odeon_client *client = connection_service_client(s);
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
    /* and one that was changed where it is */
    types[1].size = 8;
    types[2].has_tail = 1;
    types[3].fields = "{ int64_t amount; }";
    for (uint32_t i = 1; i <= 3; i++) {
        assert_int_equal(odeon_message_id(client, &types[i], &id), 0);
        assert_int_equal(odeon_message_id(client, &types[i], &id), 0);
        assert_int_equal(atomic_load(&s->interns), 201 + i);
    }

    assert_int_equal(odeon_message_id(client, &bad, &id), -EBADMSG);
    assert_string_equal(odeon_error_text(), "conflict: size is 8 here, 16 there");
    bad.name = "";
    assert_int_equal(odeon_message_id(client, &bad, &id), -EINVAL);
    bad.struct_size = 0;
    assert_int_equal(odeon_message_id(client, &bad, &id), -EINVAL);
    assert_int_equal(odeon_message_id(client, NULL, &id), -EINVAL);
    odeon_client_disconnect(client);
}

static void test_arguments_and_unknown_requests(void **state)
{
    struct service *s = *state;
    struct odeon_client *client = connection_service_client(s);
    struct odeon_status *status = NULL;
    char name[100];
    odeon_ref ref = 0;

    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = 0;
    assert_int_equal(odeon_actor_find(client, "A", &ref), 0);
    assert_int_equal(ref, UINT64_C(1) << 32 | ACTOR_REF_OWN | 'A');
    assert_int_equal(odeon_actor_find(client, name, &ref), -EINVAL);
    assert_int_equal(odeon_actor_find(client, NULL, &ref), -EINVAL);
    assert_int_equal(odeon_actor_find(NULL, "A", &ref), -EINVAL);
    assert_int_equal(odeon_actor_spawn(client, "type", NULL, name, 233, &ref), -E2BIG);
    assert_int_equal(odeon_actor_spawn(client, NULL, NULL, NULL, 0, &ref), -EINVAL);
    assert_int_equal(odeon_plugin_load(client, "relative.so"), -EINVAL);
    assert_int_equal(odeon_plugin_load(client, NULL), -EINVAL);
    assert_int_equal(atomic_load(&s->requests), 2); /* hello and the one lookup */
    assert_int_equal(odeon_plugin_load(client, "/absolute.so"), -ENOSYS);
    assert_string_equal(odeon_error_text(), "Function not implemented");
    assert_int_equal(odeon_service_status(client, &status), -ENOSYS);
    assert_null(status);
    assert_int_equal(odeon_actor_stop(client, ref, ODEON_NODELETE), -EINVAL);
    assert_int_equal(odeon_port_dropped(NULL), 0);
    s->wrong_body = true;
    assert_int_equal(odeon_actor_find(client, "A", &ref), -EPROTO);
    s->wrong_body = false;
    assert_int_equal(odeon_actor_find(client, "A", &ref),
                     0); /* each record was told from the other */
    odeon_client_disconnect(client);
}

/* A text stays until the next failure, whatever the calls between have had to overcome. */
static void test_texts_outlive_calls_that_succeed(void **state)
{
    struct service *s = *state;
    struct odeon_client *client = connection_service_client(s);
    odeon_ref ref;

    assert_int_equal(odeon_actor_find(client, NULL, &ref), -EINVAL);
    assert_string_equal(odeon_error_text(), "odeon_actor_find: no name was given");
    s->event_before_reply = true;
    assert_int_equal(odeon_actor_find(client, "A", &ref), 0);
    assert_string_equal(odeon_error_text(), "odeon_actor_find: no name was given");
    odeon_client_disconnect(client);
    assert_string_equal(odeon_error_text(), "odeon_actor_find: no name was given");

    error_set(-EIO, "first %d", 1);
    error_keep();
    error_set(-EIO, "second %d", 2);
    error_keep();
    error_set(-EIO, "third %d", 3);
    assert_int_equal(error_settle(0), 0);
    assert_int_equal(error_settle(7), 7);
    assert_string_equal(odeon_error_text(), "first 1");
    error_keep();
    error_set(-EIO, "fourth %d", 4);
    assert_int_equal(error_settle(-EIO), -EIO);
    assert_string_equal(odeon_error_text(), "fourth 4");
}

/* A program that has closed its standard input does not find the connection there. */
static void test_descriptors_are_no_standard_ones(void **state)
{
    struct service *s = *state;
    struct odeon_client *client;
    struct odeon_port *port;
    int aside = dup(STDIN_FILENO);

    assert_true(aside > STDERR_FILENO);
    close(STDIN_FILENO);
    client = connection_service_client(s);
    port = connection_service_port(client);
    assert_true(client->socket > STDERR_FILENO);
    assert_true(port->doorbell > STDERR_FILENO);
    /* the number itself may be taken: the service that is played here lives in the same process */
    assert_int_equal(dup2(aside, STDIN_FILENO), STDIN_FILENO);
    close(aside);
    odeon_client_disconnect(client);
}

/* Through the calls, which hand them to the kernel and to clocks. */
static void test_times_of_any_length(void **state)
{
    static const int64_t lengths[] = { INT64_MAX,     INT64_MAX - 1, INT64_MAX - 1000000000,
                                       INT64_MAX / 2, INT64_MIN,     -1 };
    struct service *s = *state;
    struct odeon_client *client = connection_service_client(s);
    odeon_ref ref;

    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        assert_int_equal(odeon_client_set_patience(client, lengths[i]), 0);
        assert_int_equal(odeon_client_set_timeout(client, lengths[i]), 0);
        assert_int_equal(odeon_actor_find(client, "A", &ref), 0);
        assert_true(deadline_after(lengths[i]) > monotonic_ns() + 1000000000);
    }
    odeon_client_disconnect(client);
}

static void test_listings(void **state)
{
    struct service *s = *state;
    struct odeon_client *client = connection_service_client(s);
    struct odeon_list *list = NULL;
    const struct odeon_client_info *row;

    assert_int_equal(odeon_client_list(client, 10, 100, &list), 0);
    assert_int_equal(list->n, 100);
    assert_true(list->more);
    assert_int_equal(list->next, 10 + 200);
    row = list->rows;
    assert_int_equal(row[99].id, 210);
    assert_string_equal(row[99].name,
                        "somebody whose name is long enough for several blocks of an arena");
    assert_string_equal(row[99].library, "");
    assert_int_equal(row[99].traffic.known, 0); /* an older service does not say */
    odeon_list_free(list);
    assert_int_equal(odeon_client_list(client, 10, 0, &list), 0);
    assert_int_equal(list->n, 0);
    assert_int_equal(list->next, 10);
    odeon_list_free(list);
    assert_int_equal(odeon_plugin_list(client, 3, 0, &list), 0);
    assert_int_equal(list->n, 1);
    assert_int_equal(list->next, 4);
    assert_int_equal(((struct odeon_plugin_info *)list->rows)->n_types, 2);
    assert_string_equal(((struct odeon_plugin_info *)list->rows)->types[1], "two");
    odeon_result_free(list);
    odeon_list_free(NULL);
    odeon_result_free(NULL);
    odeon_client_disconnect(client);
}

/* What steering says and is told: places of actors, the cost of a change, queues. */
static void test_places_changes_and_queues(void **state)
{
    static const char *const keys[] = { "throughput" }, *const some[] = { "7" },
                             *const none[] = { "" };
    struct odeon_spawn_where where = {
        .struct_size = sizeof(where), .where = ODEON_WHERE_NODE, .node = 3, .worker = 9
    };
    struct odeon_reconfigured done = { .struct_size = 4 };
    struct service *s = *state;
    struct odeon_client *client = connection_service_client(s);
    const struct odeon_queue_info *queue;
    struct odeon_list *list;
    odeon_ref ref;

    assert_int_equal(odeon_actor_spawn_at(client, "t", NULL, NULL, 0, &where, &ref), 0);
    assert_true(s->spawn.place == 1 && s->spawn.node == 3 && s->spawn.worker == 0);
    where.where = ODEON_WHERE_PINNED;
    assert_int_equal(odeon_actor_spawn_at(client, "t", NULL, NULL, 0, &where, &ref), 0);
    assert_true(s->spawn.place == 2 && s->spawn.node == 0 && s->spawn.worker == 10);
    where.worker = ODEON_WORKER_ANY;
    assert_int_equal(odeon_actor_spawn_at(client, "t", NULL, NULL, 0, &where, &ref), 0);
    assert_true(s->spawn.place == 2 && s->spawn.worker == 0);
    where.struct_size = 4;
    assert_int_equal(odeon_actor_spawn_at(client, "t", NULL, NULL, 0, &where, &ref), -EINVAL);

    assert_int_equal(odeon_executor_set(client, keys, some, 1, &done), -EINVAL);
    done.struct_size = sizeof(done);
    assert_int_equal(odeon_executor_set(client, keys, some, 1, &done), 0);
    assert_true(done.pause_ns == 84000 && done.moved == 0);
    assert_int_equal(odeon_executor_set(client, keys, none, 1, &done), 0);
    assert_true(done.pause_ns == 0);
    assert_int_equal(odeon_queue_list(client, "pinned", 30, 5, &list), 0);
    queue = list->rows;
    assert_true(list->n == 1 && list->next == 34);
    assert_true(queue->id == 33 && queue->home == 2 && queue->retiring &&
                queue->bytes == UINT64_C(5) << 32 && queue->urgent_bytes == 2);
    assert_string_equal(queue->kind, "pinned");
    assert_true(queue->oldest_to == 17 && queue->oldest_ns == UINT64_C(3) << 33);
    assert_string_equal(queue->oldest_name, "one");
    assert_string_equal(queue->oldest_type, "counter");
    odeon_list_free(list);
    odeon_client_disconnect(client);
}

/* A page among very many timers may be empty, and lead on. */
static void test_timers(void **state)
{
    struct odeon_client *client = connection_service_client(*state);
    const struct odeon_timer_info *timer;
    struct odeon_list *list;

    assert_int_equal(odeon_timer_list(client, 17, 30, 5, &list), 0);
    timer = list->rows;
    assert_true(list->n == 1 && list->more && list->next == 30 + 4096);
    assert_true(timer->id == UINT64_C(7) << 40 && timer->owner == 17 && timer->to == 18);
    assert_true(timer->size == 8 && timer->due_in_ns == UINT64_C(5) << 32 && timer->period_ns == 3);
    assert_string_equal(timer->message, "tick");
    odeon_list_free(list);
    assert_int_equal(odeon_timer_list(client, ODEON_NOBODY, 0, 0, &list), 0);
    assert_true(list->n == 0 && list->more && list->next == 4096);
    odeon_list_free(list);
    odeon_client_disconnect(client);
}

static void test_port_from_the_service(void **state)
{
    struct service *s = *state;
    struct odeon_client *client = connection_service_client(s);
    struct odeon_port *port = connection_service_port(client), *refused = NULL;
    struct odeon_port_options options = { .struct_size = sizeof(options), .pipe = 1 };
    uint8_t payload[UINT16_MAX];
    struct envelope e;

    assert_int_equal(odeon_port_fd(port), -ENOTSUP);
    assert_int_equal(odeon_port_arm(port), -ENOTSUP);
    assert_int_equal(odeon_port_post(port, UINT64_C(1) << 32 | ACTOR_REF_OWN, TYPE, "abc", 3), 0);
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
    odeon_client_disconnect(client); /* closes the port, too */
}

/* connect.C7, where nothing more can be sent: it is asked for when that can be done again. */
static void test_a_port_is_closed_while_the_service_takes_nothing(void **state)
{
    struct service *s = *state;
    struct odeon_client *client = connection_service_client(s);
    struct odeon_port *port = connection_service_port(client);
    odeon_ref ref;

    atomic_store(&s->holds, true);
    assert_int_equal(odeon_client_set_timeout(client, 0), 0);
    do
        assert_int_equal(odeon_actor_find(client, "A", &ref), -ETIMEDOUT);
    while (!strstr(odeon_error_text(), "has taken nothing"));
    assert_null(odeon_port_close(port));
    atomic_store(&s->holds, false);
    assert_int_equal(odeon_client_set_timeout(client, -1), 0);
    for (unsigned i = 0; i < 2; i++) /* behind the first it is asked, and before the second */
        assert_int_equal(odeon_actor_find(client, "A", &ref), 0);
    assert_int_equal(atomic_load(&s->port_closes), 1);
    odeon_client_disconnect(client);
}

static void test_events_between_request_and_reply(void **state)
{
    struct service *s = *state;
    struct odeon_client *client = connection_service_client(s);
    struct odeon_port *port = connection_service_port(client);
    odeon_ref ref = 0;

    assert_int_equal(odeon_port_check(port), 0);
    s->event_before_reply = true;
    assert_int_equal(odeon_actor_find(client, "B", &ref), 0);
    assert_int_equal(ref, UINT64_C(1) << 32 | ACTOR_REF_OWN | 'B');
    assert_int_equal(odeon_port_post(port, ref, TYPE, "x", 1), -EPIPE);
    assert_non_null(strstr(odeon_error_text(), "a bad tail, said before the reply"));
    odeon_client_disconnect(client);
}

static void test_events_are_found_by_looking(void **state)
{
    struct service *s = *state;
    struct odeon_client *client = connection_service_client(s);
    struct odeon_port *port = connection_service_port(client);
    struct odeon_delivery d;

    connection_service_tell_broken(s, (char[]){ "a bad tail, said unasked" });
    assert_int_equal(odeon_port_receive_wait(port, &d, PATIENCE_NS), -EPIPE);
    assert_non_null(strstr(odeon_error_text(), "said unasked"));
    assert_int_equal(odeon_port_check(port), -EPIPE);
    odeon_client_disconnect(client);
}

static void test_end_of_the_service(void **state)
{
    struct service *s = *state;
    struct odeon_client *client = connection_service_client(s);
    struct odeon_port *port = connection_service_port(client);
    struct odeon_delivery d;
    odeon_ref ref;

    shutdown(s->connection, SHUT_RDWR);
    assert_int_equal(odeon_port_call(port, UINT64_C(1) << 32 | ACTOR_REF_OWN, TYPE, "x", 1, -1, &d),
                     ODEON_CALL_CLOSED);
    assert_non_null(strstr(odeon_error_text(), "closed the connection"));
    assert_int_equal(odeon_port_receive_wait(port, &d, -1), -EPIPE);
    assert_int_equal(odeon_port_check(port), -EPIPE);
    assert_int_equal(odeon_actor_find(client, "A", &ref), -ECONNRESET);
    assert_int_equal(odeon_actor_find(client, "A", &ref), -ECONNRESET);
    odeon_client_disconnect(client);
}

static void test_service_closes_instead_of_answering(void **state)
{
    struct service *s = *state;
    struct odeon_client *client = connection_service_client(s);
    odeon_ref ref;

    s->close_instead = true;
    assert_int_equal(odeon_actor_find(client, "A", &ref), -ECONNRESET);
    odeon_client_disconnect(client);
}

static void expect_nonsense(struct service *s)
{
    struct odeon_client *client = connection_service_client(s);
    struct odeon_port *port = connection_service_port(client);
    odeon_ref ref;

    assert_int_equal(odeon_actor_find(client, "A", &ref), -EPROTO);
    assert_int_equal(odeon_actor_find(client, "A", &ref), -EPROTO); /* and that is the end */
    assert_int_equal(odeon_port_check(port), -EPIPE);
    odeon_client_disconnect(client);
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

    wrong |= (odeon_port_post(port, UINT64_C(1) << 32 | ACTOR_REF_OWN, TYPE, "x", 1) != -ECHILD)
             << 0;
    wrong |= (odeon_port_receive(port, &d) != -ECHILD) << 1;
    wrong |= (odeon_actor_find(client, "A", &ref) != -ECHILD) << 2;
    wrong |=
        (odeon_port_call(port, UINT64_C(1) << 32 | ACTOR_REF_OWN, TYPE, "x", 1, 0, &d) != -ECHILD)
        << 3;
    wrong |= (odeon_port_check(port) != -ECHILD) << 4;
    odeon_port_commit(port);
    odeon_port_release(port);
    odeon_port_close(port);
    odeon_client_disconnect(client);
    return wrong;
}

static void test_fork(void **state)
{
    struct service *s = *state;
    struct odeon_client *client = connection_service_client(s);
    struct odeon_port *port = connection_service_port(client);
    uint8_t payload[UINT16_MAX];
    struct envelope e;
    odeon_ref ref;
    int status = -1;
    pid_t child;

    assert_non_null(odeon_port_reserve(port, UINT64_C(1) << 32 | ACTOR_REF_OWN, TYPE, 8));
    child = fork();
    if (child == 0)
        _exit(child_of_fork(client, port));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_false(fake_take(&s->fake, &e, payload)); /* the child published nothing */
    odeon_port_commit(port);
    assert_true(fake_take(&s->fake, &e, payload));
    assert_int_equal(odeon_actor_find(client, "A", &ref),
                     0); /* and has not closed our connection */
    assert_int_equal(atomic_load(&s->port_closes), 0);
    odeon_client_disconnect(client);
}

static void *look_up_often(void *argument)
{
    odeon_ref ref;

    for (unsigned i = 0; i < 300; i++) {
        char name[2] = { (char)('a' + i % 26), 0 };

        if (odeon_actor_find(argument, name, &ref) != 0 ||
            ref != (UINT64_C(1) << 32 | ACTOR_REF_OWN | (uint8_t)name[0]))
            return NULL;
    }
    return argument;
}

static void test_a_client_is_shared_by_threads(void **state)
{
    struct odeon_client *client = connection_service_client(*state);
    pthread_t threads[4];
    void *result;

    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, look_up_often, client), 0);
    for (unsigned i = 0; i < 4; i++) {
        pthread_join(threads[i], &result);
        assert_ptr_equal(result, client);
    }
    odeon_client_disconnect(client);
}

/* Is not cancelled behind its call: AddressSanitizer does not know of stacks that are left so. */
static void *look_up_and_end(void *argument)
{
    odeon_ref ref;
    int r = odeon_actor_find(argument, "a", &ref), state;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    return r == 0 && state == PTHREAD_CANCEL_ENABLE ? argument : NULL;
}

/* In the middle of a request, whose answer comes later: nothing of it is left behind. */
static void test_a_thread_is_cancelled_behind_its_call(void **state)
{
    struct service *s = *state;
    struct odeon_client *client = connection_service_client(s);
    pthread_t thread;
    void *result;

    atomic_store(&s->holds, true);
    assert_int_equal(pthread_create(&thread, NULL, look_up_and_end, client), 0);
    while (atomic_load(&s->held) == 0)
        sched_yield();
    assert_int_equal(pthread_cancel(thread), 0);
    nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL); /* it may be seen now, or later */
    atomic_store(&s->holds, false);
    pthread_join(thread, &result);
    assert_ptr_equal(result, client); /* and PTHREAD_CANCELED, if it had been within it */
    assert_int_equal(pthread_mutex_trylock(&client->mutex), 0);
    pthread_mutex_unlock(&client->mutex);
    assert_ptr_equal(look_up_often(client), client);
    odeon_client_disconnect(client);
}

struct nudge {
    pthread_t whom;
    _Atomic bool ends;
};

static void on_nudge(int signal)
{
    (void)signal;
}

static void *nudge(void *argument)
{
    struct nudge *nudge = argument;

    while (!atomic_load(&nudge->ends)) {
        pthread_kill(nudge->whom, SIGUSR1);
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
    return NULL;
}

/* A program's timer that goes off more often than the request's time is long: each signal ends a
 * system call that waits, whatever the handler's flags say. */
static void test_signals_do_not_prolong(void **state)
{
    struct service *s = *state;
    struct odeon_client *client = connection_service_client(s);
    struct sigaction action = { .sa_handler = on_nudge, .sa_flags = SA_RESTART };
    struct nudge nudges = { .whom = pthread_self() };
    pthread_t thread;
    odeon_ref ref;

    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    assert_int_equal(odeon_client_set_timeout(client, 50000000), 0);
    atomic_store(&s->holds, true);
    assert_int_equal(pthread_create(&thread, NULL, nudge, &nudges), 0);
    assert_int_equal(odeon_actor_find(client, "A", &ref), -ETIMEDOUT);
    assert_non_null(strstr(odeon_error_text(), "50 ms"));
    atomic_store(&s->holds, false);
    assert_int_equal(odeon_client_set_timeout(client, -1), 0);
    assert_int_equal(odeon_actor_find(client, "A", &ref), 0); /* nor do they end it */
    atomic_store(&nudges.ends, true);
    pthread_join(thread, NULL);
    odeon_client_disconnect(client);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(test_no_service, connection_service_setup,
                                    connection_service_teardown),
    cmocka_unit_test_setup_teardown(test_signals_do_not_prolong, connection_service_setup,
                                    connection_service_teardown),
    cmocka_unit_test_setup_teardown(test_a_thread_is_cancelled_behind_its_call,
                                    connection_service_setup, connection_service_teardown),
    cmocka_unit_test_setup_teardown(test_hello, connection_service_setup,
                                    connection_service_teardown),
    cmocka_unit_test_setup_teardown(test_hello_of_another_protocol, connection_service_setup,
                                    connection_service_teardown),
    cmocka_unit_test_setup_teardown(test_hello_that_the_service_does_not_speak,
                                    connection_service_setup, connection_service_teardown),
    cmocka_unit_test_setup_teardown(test_hello_while_the_service_starts, connection_service_setup,
                                    connection_service_teardown),
    cmocka_unit_test_setup_teardown(test_not_waiting_for_a_service_that_stands_still,
                                    connection_service_setup, connection_service_teardown),
    cmocka_unit_test_setup_teardown(test_message_ids_are_asked_for_once, connection_service_setup,
                                    connection_service_teardown),
    cmocka_unit_test_setup_teardown(test_arguments_and_unknown_requests, connection_service_setup,
                                    connection_service_teardown),
    cmocka_unit_test_setup_teardown(test_texts_outlive_calls_that_succeed, connection_service_setup,
                                    connection_service_teardown),
    cmocka_unit_test_setup_teardown(test_descriptors_are_no_standard_ones, connection_service_setup,
                                    connection_service_teardown),
    cmocka_unit_test_setup_teardown(test_times_of_any_length, connection_service_setup,
                                    connection_service_teardown),
    cmocka_unit_test_setup_teardown(test_listings, connection_service_setup,
                                    connection_service_teardown),
    cmocka_unit_test_setup_teardown(test_timers, connection_service_setup,
                                    connection_service_teardown),
    cmocka_unit_test_setup_teardown(test_places_changes_and_queues, connection_service_setup,
                                    connection_service_teardown),
    cmocka_unit_test_setup_teardown(test_port_from_the_service, connection_service_setup,
                                    connection_service_teardown),
    cmocka_unit_test_setup_teardown(test_a_port_is_closed_while_the_service_takes_nothing,
                                    connection_service_setup, connection_service_teardown),
    cmocka_unit_test_setup_teardown(test_events_between_request_and_reply, connection_service_setup,
                                    connection_service_teardown),
    cmocka_unit_test_setup_teardown(test_events_are_found_by_looking, connection_service_setup,
                                    connection_service_teardown),
    cmocka_unit_test_setup_teardown(test_end_of_the_service, connection_service_setup,
                                    connection_service_teardown),
    cmocka_unit_test_setup_teardown(test_service_closes_instead_of_answering,
                                    connection_service_setup, connection_service_teardown),
    cmocka_unit_test_setup_teardown(test_garbage, connection_service_setup,
                                    connection_service_teardown),
    cmocka_unit_test_setup_teardown(test_oversized_record, connection_service_setup,
                                    connection_service_teardown),
    cmocka_unit_test_setup_teardown(test_strange_id, connection_service_setup,
                                    connection_service_teardown),
    cmocka_unit_test_setup_teardown(test_fork, connection_service_setup,
                                    connection_service_teardown),
    cmocka_unit_test_setup_teardown(test_a_client_is_shared_by_threads, connection_service_setup,
                                    connection_service_teardown),
};

int main(void)
{
    return cmocka_run_group_tests_name("client connection", tests, NULL, NULL);
}
