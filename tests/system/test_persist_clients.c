/* SPDX-License-Identifier: Apache-2.0 */
/* What clients see of the end of odeond, and what becomes of those that end, close or claim while
 * none runs. */
#include <errno.h>
#include <linux/sockios.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "client-lib/src/connect.h"
#include "proto/registry_layout.h"
#include "tests/system/manager.h"
#include "tests/system/probe.h"

static const char *const arguments[] = { SMALL_SERVICE,
                                         "--executor",
                                         TEST_EXECUTOR,
                                         "--plugin",
                                         TEST_PROBE,
                                         "--set",
                                         "restart-delay-max-ms=20",
                                         "--set",
                                         "drain-timeout-ms=500",
                                         NULL };

struct scene {
    struct manager *manager;
    struct odeon_client *client;
    struct odeon_port *port;
    odeon_ref echo, ledger;
    uint32_t number, work, ask;
};

static void set_scene(struct scene *scene)
{
    *scene = (struct scene){ .manager = manager_start(
                                 &(struct manager_options){ .arguments = arguments }) };
    manager_wait_ready(scene->manager);
    scene->client = service_connect(manager_service(scene->manager), "scene");
    scene->number = message_id(scene->client, odeon_message_of(probe_number));
    scene->work = message_id(scene->client, odeon_message_of(probe_work));
    scene->ask = message_id(scene->client, odeon_message_of(probe_ask));
    scene->echo = spawn(scene->client, "probe_echo", NULL, NULL, 0);
    scene->ledger = spawn(scene->client, "probe_ledger", "ledger", NULL, 0);
    scene->port = port_open_or_fail(scene->client, 1 << 16, 1 << 16, true);
}

static void clear_scene(struct scene *scene)
{
    odeon_client_disconnect(scene->client);
    manager_end(scene->manager);
}

/* Ends odeond and executor; none is started until the hold ends. */
static void take_away(struct scene *scene)
{
    struct service *service = manager_service(scene->manager);
    pid_t executor;

    service->figures = odeon_stats_close(service->figures);
    executor = service_executor(service);
    manager_hold(scene->manager, true);
    manager_kill(scene->manager);
    assert_true(wait_until(!process_lives(executor)));
}

static void bring_back(struct scene *scene)
{
    manager_hold(scene->manager, false);
    manager_wait_ready(scene->manager);
}

static void post_number(struct scene *scene, odeon_ref to, uint64_t n)
{
    struct probe_number number = { .n = n };

    assert_int_equal(odeon_port_post(scene->port, to, scene->number, &number, sizeof(number)), 0);
}

static void expect_number(struct scene *scene, uint64_t n)
{
    struct odeon_delivery delivery;

    assert_int_equal(odeon_port_receive_wait(scene->port, &delivery, SECONDS(PATIENCE_S)), 1);
    assert_int_equal(((const struct probe_number *)delivery.data)->n, n);
    odeon_port_release(scene->port);
}

static bool is_bare(struct manager *manager)
{
    return manager_store_count(manager, "port-") == 0 &&
           manager_store_count(manager, "client-") == 0;
}

/* ---- calls */

static void *call(void *userdata)
{
    struct scene *scene = userdata;
    struct odeon_delivery reply;

    return (void *)(intptr_t)odeon_port_call(scene->port, scene->ledger, scene->ask, NULL, 0,
                                             SECONDS(PATIENCE_S), &reply);
}

/* The call is on its way when everything dies, and ends in a reply all the same. */
static void test_call_over_the_end_of_odeond(void **state)
{
    struct probe_work work = { .ns = 100 * UINT64_C(1000000) };
    struct scene scene;
    pthread_t thread;
    void *outcome;

    (void)state;
    set_scene(&scene);
    /* the question waits behind the work */
    assert_int_equal(odeon_port_post(scene.port, scene.ledger, scene.work, &work, sizeof(work)), 0);
    assert_int_equal(pthread_create(&thread, NULL, call, &scene), 0);
    assert_true(wait_until(service_figure(manager_service(scene.manager), "port_messages") >= 1));
    take_away(&scene);
    bring_back(&scene);
    assert_int_equal(pthread_join(thread, &outcome), 0);
    assert_int_equal((intptr_t)outcome, ODEON_CALL_REPLY);
    clear_scene(&scene);
}

/* So does a person's call, whose program is told at once of other ends. */
static void test_odeonctl_calls_over_the_end_of_odeond(void **state)
{
    struct probe_work work = { .ns = SECONDS(PATIENCE_S) }; /* as long as it is not killed */
    char command[512], line[256] = "";
    struct scene scene;
    FILE *call;

    (void)state;
    set_scene(&scene);
    assert_int_equal(odeon_port_post(scene.port, scene.ledger, scene.work, &work, sizeof(work)), 0);
    snprintf(command, sizeof(command),
             "exec '%s' --socket '%s' actor call ledger probe_ask --timeout %d 2>&1", TEST_ODEONCTL,
             manager_service(scene.manager)->socket, PATIENCE_S);
    call = popen(command, "re");
    assert_non_null(call);
    assert_true(wait_until(service_figure(manager_service(scene.manager), "port_messages") >= 2));
    take_away(&scene);
    bring_back(&scene);
    assert_non_null(fgets(line, sizeof(line), call));
    if (pclose(call) != 0 || !strstr(line, "probe_told count=0"))
        fail_msg("odeonctl said: %s", line);
    clear_scene(&scene);
}

/* Nobody is there: the call keeps its deadline, and its reply, which comes later, is nobody's. */
static void test_call_expires_while_nobody_is_there(void **state)
{
    struct odeon_delivery reply;
    struct scene scene;

    (void)state;
    set_scene(&scene);
    take_away(&scene);
    assert_int_equal(
        odeon_port_call(scene.port, scene.ledger, scene.ask, NULL, 0, MILLISECONDS(50), &reply),
        ODEON_CALL_EXPIRED);
    post_number(&scene, scene.echo, 1);
    bring_back(&scene);
    expect_number(&scene, 1);
    assert_int_equal(
        odeon_port_call(scene.port, scene.ledger, scene.ask, NULL, 0, SECONDS(PATIENCE_S), &reply),
        ODEON_CALL_REPLY);
    odeon_port_release(scene.port);
    assert_int_equal(odeon_port_receive(scene.port, &reply), 0);
    clear_scene(&scene);
}

/* ---- waiting */

/* By a path that means something else by then, and, absolute, is longer than an address has room
 * for. */
static void test_relative_path_over_the_end_of_odeond(void **state)
{
    struct odeon_client *client = NULL;
    struct scene scene;
    char before[4096], path[128], longer[256];
    struct service *service;
    odeon_ref ref;

    (void)state;
    set_scene(&scene);
    service = manager_service(scene.manager);
    assert_non_null(getcwd(before, sizeof(before)));
    snprintf(longer, sizeof(longer), "%s/%0100d", service->dir, 1);
    snprintf(path, sizeof(path), "..%s", strrchr(service->socket, '/'));
    assert_int_equal(mkdir(longer, 0700), 0);
    assert_int_equal(chdir(longer), 0);
    assert_int_equal(odeon_client_connect(path, "relative", &client), 0);
    assert_int_equal(odeon_client_set_patience(client, SECONDS(20)), 0);
    assert_int_equal(chdir(before), 0);
    take_away(&scene);
    bring_back(&scene);
    if (odeon_actor_find(client, "ledger", &ref) < 0)
        fail_msg("%s", odeon_error_text());
    odeon_client_disconnect(client);
    rmdir(longer);
    clear_scene(&scene);
}

static void test_poll_over_the_end_of_odeond(void **state)
{
    struct pollfd look = { .events = POLLIN };
    struct scene scene;

    (void)state;
    set_scene(&scene);
    look.fd = odeon_port_fd(scene.port);
    assert_int_equal(odeon_port_arm(scene.port), 0);
    take_away(&scene);
    post_number(&scene, scene.echo, 7);
    assert_int_equal(odeon_port_check(scene.port), 0); /* it may come back */
    bring_back(&scene);
    do { /* a new executor wakes whoever may have been waiting */
        assert_int_equal(poll(&look, 1, PATIENCE_S * 1000), 1);
        assert_int_equal(look.revents, POLLIN);
    } while (odeon_port_arm(scene.port) == 0);
    expect_number(&scene, 7);
    clear_scene(&scene);
}

/* Requests wait; what had been asked before and can be found again is as it was. */
static void test_requests_wait_and_names_stay(void **state)
{
    odeon_ref ref = ODEON_NOBODY;
    struct scene scene;
    uint64_t epoch;

    (void)state;
    set_scene(&scene);
    epoch = odeon_client_epoch(scene.client);
    assert_int_equal(epoch, 1);
    take_away(&scene);
    manager_hold(scene.manager, false);
    assert_int_equal(odeon_actor_find(scene.client, "ledger", &ref), 0);
    assert_int_equal(ref, scene.ledger);
    assert_int_equal(odeon_client_epoch(scene.client), epoch + 1);
    odeon_port_close(port_open_or_fail(scene.client, 0, 0, false));
    clear_scene(&scene);
}

struct attempt {
    struct odeon_client *client;
    int result;
    char text[256];
};

static void *attempt_spawn(void *userdata)
{
    struct attempt *attempt = userdata;

    attempt->result = odeon_actor_spawn(attempt->client, "probe_echo", "doubtful", NULL, 0, NULL);
    snprintf(attempt->text, sizeof(attempt->text), "%s", odeon_error_text());
    return NULL;
}

/* Bytes that nobody has read yet. */
static int count_unread(int socket)
{
    int bytes = 0;

    assert_int_equal(ioctl(socket, SIOCOUTQ, &bytes), 0);
    return bytes;
}

/* A request that changes something was on its way: it is not made twice, and its caller is told. */
static void test_request_in_doubt_is_told(void **state)
{
    struct attempt attempt = { 0 };
    struct scene scene;
    pthread_t thread;
    odeon_ref ref;

    (void)state;
    set_scene(&scene);
    attempt.client = scene.client;
    int socket = scene.client->socket; /* the thread's own once it runs */
    process_stop(manager_pid(scene.manager));
    assert_int_equal(pthread_create(&thread, NULL, attempt_spawn, &attempt), 0);
    assert_true(wait_until(count_unread(socket) > 0));
    manager_kill(scene.manager);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(attempt.result, -ECONNRESET);
    assert_non_null(strstr(attempt.text, "whether it was carried out is not known"));
    /* the connection goes on, and one can look */
    assert_int_equal(odeon_actor_find(scene.client, "doubtful", &ref), -ENOENT);
    assert_int_equal(odeon_port_check(scene.port), 0);
    clear_scene(&scene);
}

/* ---- the end of patience, and another service */

static void test_patience_ends(void **state)
{
    struct scene scene;
    odeon_ref ref;

    (void)state;
    set_scene(&scene);
    assert_int_equal(odeon_client_set_patience(scene.client, MILLISECONDS(50)), 0);
    take_away(&scene);
    assert_int_equal(odeon_actor_find(scene.client, "ledger", &ref), -ECONNRESET);
    assert_non_null(strstr(odeon_error_text(), "has not come back within 50 ms"));
    assert_int_equal(odeon_port_check(scene.port), -EPIPE);
    clear_scene(&scene);
}

static void test_service_that_begins_anew_is_another(void **state)
{
    struct scene scene;
    odeon_ref ref;

    (void)state;
    set_scene(&scene);
    assert_int_equal(manager_stop(scene.manager), 0);
    manager_start_again(scene.manager);
    manager_wait_ready(scene.manager);
    assert_int_equal(odeon_actor_find(scene.client, "ledger", &ref), -ECONNRESET);
    assert_non_null(strstr(odeon_error_text(), "has begun anew"));
    assert_int_equal(odeon_port_check(scene.port), -EPIPE);
    assert_true(is_bare(scene.manager));
    clear_scene(&scene);
}

/* ---- what ends while no odeond runs */

/* A process with a port posts, and is killed when nobody can see it: what it had posted is
 * consumed, nothing of it stays. */
static void test_client_dies_while_no_odeond_runs(void **state)
{
    struct odeon_delivery reply;
    struct probe_told told;
    struct scene scene;
    int ends[2];
    char byte;
    pid_t child;

    (void)state;
    set_scene(&scene);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct scene own = scene;

        own.client = service_connect(manager_service(scene.manager), "mortal");
        own.port = port_open_or_fail(own.client, 1 << 16, 1 << 16, false);
        if (write(ends[1], "o", 1) != 1 || read(ends[1], &byte, 1) < 0)
            _exit(1);
        for (uint64_t n = 1; n <= 10; n++)
            post_number(&own, scene.ledger, n);
        if (write(ends[1], "p", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    assert_int_equal(read(ends[0], &byte, 1), 1);
    take_away(&scene);
    assert_int_equal(write(ends[0], "g", 1), 1);
    assert_true(read(ends[0], &byte, 1) == 1 && byte == 'p');
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(ends[0]);
    close(ends[1]);
    bring_back(&scene);
    assert_true(wait_until(manager_store_count(scene.manager, "client-") == 1));
    assert_true(wait_until(manager_store_count(scene.manager, "port-") == 5)); /* ours */
    assert_int_equal(
        odeon_port_call(scene.port, scene.ledger, scene.ask, NULL, 0, SECONDS(PATIENCE_S), &reply),
        ODEON_CALL_REPLY);
    memcpy(&told, reply.data, sizeof(told));
    assert_int_equal(told.sum, 55);
    clear_scene(&scene);
}

/* The process lives on: nobody but itself can tell that it has gone. */
static void test_client_leaves_while_no_odeond_runs(void **state)
{
    struct odeon_port *second;
    struct scene scene;

    (void)state;
    set_scene(&scene);
    second = port_open_or_fail(scene.client, 0, 0, false);
    take_away(&scene);
    odeon_port_close(second);
    bring_back(&scene);
    assert_true(wait_until(manager_store_count(scene.manager, "port-") == 5));
    take_away(&scene);
    post_number(&scene, scene.ledger, 1);
    scene.client = odeon_client_disconnect(scene.client);
    bring_back(&scene);
    if (!wait_until(is_bare(scene.manager)))
        fail_msg("left in the store:\n%s", manager_store_list(scene.manager));
    clear_scene(&scene);
}

/* Clients that the registry has. */
static unsigned count_registered(struct manager *manager)
{
    static struct registry registry;
    int fd = manager_store_get(manager, "registry");
    unsigned n = 0;

    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &registry, sizeof(registry), 0), sizeof(registry));
    close(fd);
    for (size_t i = 0; i < ODEON_CLIENTS_MAX; i++)
        n += atomic_load(&registry.clients[i].state) != REGISTRY_FREE;
    return n;
}

/* A client whose ports have all ended is nobody to go on with: its place is free again, or there
 * would be none after as many. A port's number goes on where it was. */
static void test_nothing_is_left_without_a_port(void **state)
{
    struct scene scene;

    (void)state;
    set_scene(&scene);
    assert_int_equal(manager_store_count(scene.manager, "port-0-1-"), 5);
    scene.port = odeon_port_close(scene.port);
    assert_true(wait_until(manager_store_count(scene.manager, "port-") == 0));
    assert_int_equal(count_registered(scene.manager), 1);
    take_away(&scene);
    bring_back(&scene);
    assert_true(wait_until(manager_store_count(scene.manager, "client-") == 0));
    assert_int_equal(count_registered(scene.manager), 0);
    scene.port = port_open_or_fail(scene.client, 1 << 16, 1 << 16, true);
    assert_int_equal(manager_store_count(scene.manager, "port-0-2-"), 5);
    assert_int_equal(manager_store_count(scene.manager, "port-"), 5);
    assert_int_equal(count_registered(scene.manager), 1);
    post_number(&scene, scene.echo, 3);
    expect_number(&scene, 3);
    clear_scene(&scene);
}

static _Noreturn void open_and_leave_when_told(const struct service *service, int told)
{
    struct odeon_client *client = service_connect(service, "leaves");
    char byte;

    (void)port_open_or_fail(client, 0, 0, false);
    if (write(told, "o", 1) != 1 || read(told, &byte, 1) != 1)
        _exit(1);
    odeon_client_disconnect(client);
    if (write(told, "d", 1) != 1)
        _exit(1);
    for (;;)
        pause();
}

/* It leaves, and the next odeond has no room for it: a client of its user came first. Its port does
 * not count for that user any more, though nobody has heard it say so. */
static void test_client_leaves_and_is_not_let_in(void **state)
{
    static const char *const narrow[] = {
        SMALL_SERVICE, "--executor",      TEST_EXECUTOR, "--set",         "quotas-bind=all",
        "--set",       "quota-clients=1", "--set",       "quota-ports=1", NULL
    };
    struct manager *manager = manager_start(&(struct manager_options){ .arguments = narrow });
    struct odeon_client *client;
    struct odeon_port *port = NULL;
    int ends[2];
    char byte;
    pid_t child;

    (void)state;
    manager_wait_ready(manager);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        open_and_leave_when_told(manager_service(manager), ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    process_stop(child); /* else it might be back before anybody else */
    manager_kill(manager);
    manager_wait_ready(manager);
    client = service_connect(manager_service(manager), "comes first");
    assert_int_equal(kill(child, SIGCONT), 0);
    assert_int_equal(write(ends[0], "g", 1), 1);
    assert_true(read(ends[0], &byte, 1) == 1 && byte == 'd');
    if (!wait_until(odeon_port_open(client, NULL, &port) == 0))
        fail_msg("%s", odeon_error_text());
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(ends[0]);
    close(ends[1]);
    odeon_client_disconnect(client);
    manager_end(manager);
}

/* ---- claims */

/* The next odeond has begun and has not answered the greeting, which claims the port: that it was
 * closed is told behind the answer. */
static void test_port_closes_while_a_greeting_waits(void **state)
{
    struct scene scene;
    odeon_ref ref;

    (void)state;
    set_scene(&scene);
    manager_kill(scene.manager);
    manager_wait_ready(scene.manager);
    process_stop(manager_pid(scene.manager));
    assert_true(
        wait_until(odeon_port_check(scene.port) == 0 && scene.client->link == LINK_GREETING));
    scene.port = odeon_port_close(scene.port);
    assert_int_equal(kill(manager_pid(scene.manager), SIGCONT), 0);
    assert_int_equal(odeon_actor_find(scene.client, "ledger", &ref), 0);
    assert_true(wait_until(manager_store_count(scene.manager, "port-") == 0));
    clear_scene(&scene);
}

static void expect_refused(struct scene *scene, const char *why)
{
    odeon_ref ref;

    assert_int_equal(odeon_actor_find(scene->client, "ledger", &ref), -EACCES);
    if (!strstr(odeon_error_text(), why))
        fail_msg("refused with: %s", odeon_error_text());
    assert_int_equal(odeon_port_check(scene->port), -EPIPE);
}

static void test_wrong_token_is_refused(void **state)
{
    struct scene scene;

    (void)state;
    set_scene(&scene);
    take_away(&scene);
    scene.client->token[3] ^= 1;
    bring_back(&scene);
    expect_refused(&scene, "its token is another");
    /* who has the right one may still come */
    assert_int_equal(manager_store_count(scene.manager, "client-"), 1);
    clear_scene(&scene);
}

/* Each port is claimed by a token of its own: one that is claimed by another is closed, and the
 * others go on. */
static void test_port_with_a_wrong_token_is_closed(void **state)
{
    struct odeon_port *other;
    struct scene scene;
    odeon_ref ref;

    (void)state;
    set_scene(&scene);
    other = port_open_or_fail(scene.client, 1 << 16, 1 << 16, false);
    take_away(&scene);
    other->token[sizeof(other->token) - 1] ^= 1;
    bring_back(&scene);
    assert_int_equal(odeon_actor_find(scene.client, "ledger", &ref), 0);
    assert_int_equal(odeon_port_check(other), -EPIPE);
    assert_int_equal(odeon_port_check(scene.port), 0);
    post_number(&scene, scene.echo, 3);
    expect_number(&scene, 3);
    clear_scene(&scene);
}

/* As many as a client can have. */
static void test_all_ports_come_back(void **state)
{
    struct odeon_port *ports[ODEON_PORTS_PER_CLIENT_MAX];
    struct scene scene;
    odeon_ref ref;

    (void)state;
    set_scene(&scene);
    ports[0] = scene.port;
    for (size_t i = 1; i < ODEON_PORTS_PER_CLIENT_MAX; i++)
        ports[i] = port_open_or_fail(scene.client, 1 << 16, 1 << 16, false);
    take_away(&scene);
    bring_back(&scene);
    assert_int_equal(odeon_actor_find(scene.client, "ledger", &ref), 0);
    for (size_t i = 0; i < ODEON_PORTS_PER_CLIENT_MAX; i++)
        assert_int_equal(odeon_port_check(ports[i]), 0);
    clear_scene(&scene);
}

static void become(struct odeon_client *thief, const struct odeon_client *rightful)
{
    thief->client_id = rightful->client_id;
    memcpy(thief->token, rightful->token, sizeof(thief->token));
    close(thief->socket);
    thief->socket = -1;
    thief->link = LINK_AWAY;
}

static bool claims_in_vain(struct odeon_client *thief, const struct scene *scene)
{
    odeon_ref ref;

    become(thief, scene->client);
    thief->away_ns = time_ns();
    assert_int_equal(odeon_actor_find(thief, "ledger", &ref), -ECONNRESET);
    return service_log_has(manager_service(scene->manager),
                           "the client that is claimed is connected");
}

/* Whoever comes with the token of a client that is connected has to wait until it is not. */
static void test_connected_client_cannot_be_claimed(void **state)
{
    struct odeon_client *thief;
    struct scene scene;

    (void)state;
    set_scene(&scene);
    thief = service_connect(manager_service(scene.manager), "thief");
    assert_int_equal(odeon_client_set_patience(thief, MILLISECONDS(100)), 0);
    /* on a machine that is busy its patience may be over before odeond has looked at it */
    assert_true(wait_until(claims_in_vain(thief, &scene)));
    odeon_client_disconnect(thief);
    post_number(&scene, scene.echo, 3);
    expect_number(&scene, 3);
    clear_scene(&scene);
}

/* Another process with the right token: told, or guessed. */
static void test_token_of_another_process_is_refused(void **state)
{
    struct odeon_client *thief, *rightful;
    struct scene scene;
    int status;
    pid_t child;

    (void)state;
    set_scene(&scene);
    rightful = scene.client;
    take_away(&scene);
    bring_back(&scene);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        odeon_ref ref;

        thief = service_connect(manager_service(scene.manager), "thief");
        become(thief, rightful);
        _exit(odeon_actor_find(thief, "ledger", &ref) == -EACCES &&
                      strstr(odeon_error_text(), "another process")
                  ? 0
                  : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    post_number(&scene, scene.echo, 3);
    expect_number(&scene, 3);
    assert_true(wait_until(odeon_client_epoch(scene.client) == 2));
    clear_scene(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_call_over_the_end_of_odeond),
        cmocka_unit_test(test_odeonctl_calls_over_the_end_of_odeond),
        cmocka_unit_test(test_call_expires_while_nobody_is_there),
        cmocka_unit_test(test_relative_path_over_the_end_of_odeond),
        cmocka_unit_test(test_poll_over_the_end_of_odeond),
        cmocka_unit_test(test_requests_wait_and_names_stay),
        cmocka_unit_test(test_request_in_doubt_is_told),
        cmocka_unit_test(test_patience_ends),
        cmocka_unit_test(test_service_that_begins_anew_is_another),
        cmocka_unit_test(test_client_dies_while_no_odeond_runs),
        cmocka_unit_test(test_client_leaves_while_no_odeond_runs),
        cmocka_unit_test(test_nothing_is_left_without_a_port),
        cmocka_unit_test(test_client_leaves_and_is_not_let_in),
        cmocka_unit_test(test_port_closes_while_a_greeting_waits),
        cmocka_unit_test(test_wrong_token_is_refused),
        cmocka_unit_test(test_port_with_a_wrong_token_is_closed),
        cmocka_unit_test(test_all_ports_come_back),
        cmocka_unit_test(test_connected_client_cannot_be_claimed),
        cmocka_unit_test(test_token_of_another_process_is_refused),
    };

    return cmocka_run_group_tests_name("persist_clients", tests, NULL, NULL);
}
