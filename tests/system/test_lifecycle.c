/* SPDX-License-Identifier: Apache-2.0 */
/* The service's life: ready, who may use it, a second one on the same directory, what a dead one
 * has left, the end. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "proto/bounds.h"
#include "tests/system/harness.h"
#include "tests/system/probe.h"
#include "tests/system/user.h"

enum { NOBODY = 65534 };

static void test_ready_status_and_end(void **state)
{
    struct odeon_status *status = NULL;
    struct odeon_client *client;
    struct service service;
    pid_t executor;
    char text[4096];

    (void)state;
    service_start(&service, (const char *const[]){ SMALL_SERVICE, "--set", "workers-max=3", "--set",
                                                   "detached=5", NULL });
    client = service_connect(&service, "lifecycle");
    assert_int_equal(odeon_service_status(client, &status), 0);
    assert_string_equal(status->state, "running");
    assert_int_equal(status->supervisor_pid, service.pid);
    assert_int_equal(status->workers, 2);
    /* ordinary, pinned and aside ones of each worker there is room for, follow queues, detached
     * actors' */
    assert_int_equal(status->queues, 3 * 2 + 3 + 3 + ODEON_FOLLOW_QUEUES + 5);
    assert_int_equal(status->executor_restarts, 0);
    executor = (pid_t)status->executor_pid;
    assert_true(process_lives(executor));
    odeon_result_free(status);
    assert_int_equal(ctl(&service, text, sizeof(text), "status"), 0);
    assert_non_null(strstr(text, "running"));
    odeon_client_disconnect(client);

    int ended = service_stop(&service, SIGTERM);
    assert_true(WIFEXITED(ended));
    assert_int_equal(WEXITSTATUS(ended), 0);
    assert_false(process_lives(executor));
    assert_true(service_log_has(&service, "every message that was sent has been received"));
    assert_int_not_equal(access(service.socket, F_OK), 0);
    /* figures outlive the service; whoever asks the service is told that there is none */
    assert_string_equal(service_state(&service).state_name, "stopped");
    assert_int_equal(ctl(&service, text, sizeof(text), "status"), 3);
    assert_int_equal(odeon_client_connect(service.socket, NULL, &client), -ENOENT);
    service_end(&service);
}

static void test_second_service_on_the_same_directory_is_refused(void **state)
{
    struct service first, second;
    char process[64];

    (void)state;
    service_start(&first, (const char *const[]){ SMALL_SERVICE, NULL });
    second = first;
    second.own_dir = false;
    second.figures = NULL;
    snprintf(second.log, sizeof(second.log), "%s/log2", first.dir);
    service_spawn(&second, (const char *const[]){ SMALL_SERVICE, NULL });
    int ended = service_wait_end(&second);
    assert_true(WIFEXITED(ended) && WEXITSTATUS(ended) != 0);
    snprintf(process, sizeof(process), "another odeond, process %d runs on", (int)first.pid);
    if (!service_log_has(&second, process))
        fail_msg("the log of the second one does not say: %s", process);
    service_end(&second);
    /* the first one has not noticed */
    odeon_client_disconnect(service_connect(&first, "still there"));
    assert_int_equal(service_stop(&first, SIGINT), 0);
    service_end(&first);
}

/* What connect() says to another user. */
static int connect_as(uid_t user, const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int status = 0;
    pid_t child;

    strcpy(address.sun_path, path);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

        if (fd < 0 || setgid(user) < 0 || setuid(user) < 0)
            _exit(255);
        _exit(connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 ? 0 : errno);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_socket_is_for_its_user_alone(void **state)
{
    struct service service;
    struct stat st;

    (void)state;
    service_start(&service, (const char *const[]){ SMALL_SERVICE, NULL });
    assert_int_equal(lstat(service.socket, &st), 0);
    assert_true(S_ISSOCK(st.st_mode));
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(st.st_uid, geteuid());
    if (user_can_change()) {
        /* the directory lets everybody in, so it is the socket's mode that is tested */
        assert_int_equal(chmod(service.dir, 0755), 0);
        assert_int_equal(connect_as(0, service.socket), 0);
        assert_int_equal(connect_as(NOBODY, service.socket), EACCES);
        /* a mode that somebody widened by mistake: the peer's credentials are looked at, too */
        assert_int_equal(chmod(service.socket, 0666), 0);
        assert_int_equal(connect_as(NOBODY, service.socket), 0);
        assert_true(wait_until(service_log_has(&service, "user 65534, is refused")));
    } else {
        print_message("not root of all users: connecting as another one is left out\n");
    }
    assert_int_equal(service_stop(&service, SIGTERM), 0);
    service_end(&service);
}

static void test_what_a_killed_service_left_is_taken_over(void **state)
{
    struct service service;
    pid_t executor;
    struct stat st;

    (void)state;
    service_start(&service, (const char *const[]){ SMALL_SERVICE, NULL });
    executor = service_executor(&service);
    service_stop(&service, SIGKILL);
    assert_true(wait_until(!process_lives(executor))); /* it does not outlive its supervisor */
    assert_int_equal(lstat(service.socket, &st), 0);   /* a stale socket */
    service.figures = odeon_stats_close(service.figures);
    service_spawn(&service, (const char *const[]){ SMALL_SERVICE, NULL });
    service_wait_ready(&service);
    assert_int_equal(service_stop(&service, SIGTERM), 0);
    service_end(&service);
}

static void test_bad_settings_are_refused_with_a_reason(void **state)
{
    static const struct {
        const char *option, *value, *text;
        int status; /* 1: it is the executor that says so */
    } bad[] = {
        { "--set", "no-such-setting=1", "unknown setting 'no-such-setting'", 1 },
        { "--set", "workers=0", "setting workers: 0 is out of range", 1 },
        { "--set", "stealing=greed", "'greed' is no policy", 1 },
        { "--set", "limit-bytes=12Q", "'12Q' is not a number of bytes", 1 },
        { "--set", "outbox-bytes=1", "setting outbox-bytes: 1 is out of range", 1 },
        { "--set", "workers", "expected KEY=VALUE", 2 },
        { "--set", "quota-ports=x", "quota-ports: 'x' is not", 2 },
        { "--log-level", "loud", "log-level: 'loud' is not one of", 2 },
        { "--plugin", "here.so", "plugin: 'here.so' is not an absolute path", 2 },
        { "--executor", "", "executor: an empty path", 2 },
        { "--config", "/nowhere/odeond.conf", "/nowhere/odeond.conf: ", 1 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct service service;

        service_make_dir(&service);
        service_spawn(&service, (const char *const[]){ bad[i].option, bad[i].value, NULL });
        int ended = service_wait_end(&service);
        assert_true(WIFEXITED(ended));
        if (WEXITSTATUS(ended) != bad[i].status)
            fail_msg("%s %s: ended with %d", bad[i].option, bad[i].value, WEXITSTATUS(ended));
        if (!service_log_has(&service, bad[i].text))
            fail_msg("%s %s: the log does not say: %s", bad[i].option, bad[i].value, bad[i].text);
        service_end(&service);
    }
}

/* An actor keeps its worker busy for longer than there is time to drain: what waits behind it is
 * reported, and the end is in order all the same. */
static void test_end_reports_what_was_not_received(void **state)
{
    struct probe_work work = { .ns = 60 * UINT64_C(1000000000) };
    struct probe_number number = { .n = 1 };
    struct odeon_delivery told;
    struct odeon_client *client;
    struct odeon_port *port;
    struct service service;
    odeon_ref ledger;
    uint32_t type;

    (void)state;
    service_start(&service, (const char *const[]){ SMALL_SERVICE, "--set", "drain-timeout-ms=300",
                                                   "--set", "stall-warn-ms=0", NULL });
    client = service_connect(&service, "lifecycle");
    load_plugin(client, TEST_PROBE);
    type = message_id(client, odeon_message_of(probe_number));
    ledger = spawn(client, "probe_ledger", NULL, NULL, 0);
    port = port_open_or_fail(client, 0, 0, false);
    /* its beginning is behind it: in one batch with the work, that would count as well */
    assert_int_equal(odeon_port_call(port, ledger, message_id(client, odeon_message_of(probe_ask)),
                                     NULL, 0, SECONDS(PATIENCE_S), &told),
                     ODEON_CALL_REPLY);
    odeon_port_release(port);
    assert_int_equal(odeon_port_post(port, ledger, message_id(client, odeon_message_of(probe_work)),
                                     &work, sizeof(work)),
                     0);
    for (int i = 0; i < 10; i++)
        assert_int_equal(odeon_port_post(port, ledger, type, &number, sizeof(number)), 0);
    assert_true(wait_until(service_figure(&service, "port_messages") == 1 + 11));
    int ended = service_stop(&service, SIGTERM);
    /* the executor cannot end a handler that runs: it is killed, and that is said */
    assert_true(WIFEXITED(ended));
    assert_int_equal(WEXITSTATUS(ended), 0);
    if (!service_log_has(&service, " 11 messages sent but not received") &&
        !service_log_has(&service, " 10 messages sent but not received"))
        fail_msg("the log does not say how many messages were not received:\n%s",
                 service_read_log(&service));
    /* told by the port's own word (seat_ports.O4) */
    assert_int_equal(odeon_port_post(port, ledger, type, &number, sizeof(number)), -EPIPE);
    assert_int_equal(odeon_port_check(port), -EPIPE);
    odeon_client_disconnect(client);
    service_end(&service);
}

static void test_second_signal_ends_at_once(void **state)
{
    struct probe_work work = { .ns = 3600 * UINT64_C(1000000000) };
    struct odeon_client *client;
    struct odeon_port *port;
    struct service service;
    int64_t begin;

    (void)state;
    service_start(&service,
                  (const char *const[]){ SMALL_SERVICE, "--set", "drain-timeout-ms=3600000",
                                         "--plugin", TEST_PROBE, NULL });
    client = service_connect(&service, "lifecycle");
    port = port_open_or_fail(client, 0, 0, false);
    assert_int_equal(odeon_port_post(port, spawn(client, "probe_ledger", NULL, NULL, 0),
                                     message_id(client, odeon_message_of(probe_work)), &work,
                                     sizeof(work)),
                     0);
    assert_true(wait_until(service_figure(&service, "port_messages") == 1));
    begin = time_ns();
    assert_int_equal(kill(service.pid, SIGTERM), 0);
    assert_true(wait_until(service_log_has(&service, "the service drains and stops")));
    /* again, and again: signals that come close together are one */
    assert_true(wait_until(
        service_log_has(&service, "again: the executor is killed, nothing more is drained") ||
        kill(service.pid, SIGTERM) != 0));
    assert_true(
        service_log_has(&service, "again: the executor is killed, nothing more is drained"));
    assert_int_equal(service_wait_end(&service), 0);
    assert_true(time_ns() - begin < SECONDS(3600)); /* the time to drain, and to work */
    odeon_client_disconnect(client);
    service_end(&service);
}

static void test_end_reports_objects_that_were_never_sent(void **state)
{
    struct probe_object never = { .how = -1 };
    struct odeon_client *client;
    struct odeon_port *port;
    struct service service;

    (void)state;
    service_start(&service, (const char *const[]){ SMALL_SERVICE, "--plugin", TEST_PROBE, NULL });
    client = service_connect(&service, "lifecycle");
    port = port_open_or_fail(client, 0, 0, false);
    assert_int_equal(odeon_port_post(port, spawn(client, "probe_ledger", NULL, NULL, 0),
                                     message_id(client, odeon_message_of(probe_object)), &never,
                                     sizeof(never)),
                     0);
    assert_true(wait_until(service_figure(&service, "messages_processed") >= 1));
    odeon_client_disconnect(client);
    assert_int_equal(service_stop(&service, SIGTERM), 0);
    assert_true(service_log_has(&service, "1 message objects never sent"));
    service_end(&service);
}

/* Whoever starts it may have blocked what tells it to stop. */
static void test_signals_that_were_blocked_end_it(void **state)
{
    static const int stops[] = { SIGTERM, SIGINT };

    (void)state;
    for (size_t i = 0; i < sizeof(stops) / sizeof(stops[0]); i++) {
        struct service service;
        sigset_t blocked, before;

        sigemptyset(&blocked);
        sigaddset(&blocked, stops[i]);
        service_make_dir(&service);
        assert_int_equal(sigprocmask(SIG_BLOCK, &blocked, &before), 0);
        service_spawn(&service, (const char *const[]){ SMALL_SERVICE, NULL });
        assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
        service_wait_ready(&service);
        assert_int_equal(service_stop(&service, stops[i]), 0);
        assert_true(service_log_has(&service, "the service drains and stops"));
        service_end(&service);
    }
}

/* A stop that comes during the first start does not wait for what will never be ready. */
static void test_end_of_a_start_that_fails(void **state)
{
    struct service service;
    int status;

    (void)state;
    service_make_dir(&service);
    service_spawn(&service,
                  (const char *const[]){ SMALL_SERVICE, "--set", "drain-timeout-ms=3600000",
                                         "--plugin", TEST_PLUGINS "/slow_in_load.so", "--plugin",
                                         TEST_PLUGINS "/wrong_abi.so", NULL });
    assert_true(wait_until(service_log_has(&service, "executor started")));
    status = service_stop(&service, SIGTERM);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
    assert_true(service_log_has(&service, "the service ends: a configured plugin was refused"));
    service_end(&service);
}

/* Everything that was posted before the signal is worked off before the end. */
static void test_end_drains(void **state)
{
    enum { N = 2000 };
    struct odeon_client *client;
    struct odeon_port *port;
    struct service service;
    odeon_ref echo, relay;
    uint32_t type;

    (void)state;
    service_start(&service, (const char *const[]){ SMALL_SERVICE, "--plugin", TEST_PROBE, NULL });
    client = service_connect(&service, "lifecycle");
    type = message_id(client, odeon_message_of(probe_number));
    echo = spawn(client, "probe_echo", NULL, NULL, 0);
    relay = spawn(client, "probe_relay", NULL, &echo, sizeof(echo));
    port = port_open_or_fail(client, 1 << 18, 1 << 18, false);
    for (uint64_t i = 0; i < N; i++) {
        struct probe_number number = { .n = i };

        assert_int_equal(odeon_port_post(port, relay, type, &number, sizeof(number)), 0);
    }
    assert_int_equal(service_stop(&service, SIGTERM), 0);
    assert_true(service_log_has(&service, "every message that was sent has been received"));
    for (uint64_t i = 0; i < N; i++) {
        struct odeon_delivery delivery;

        assert_int_equal(odeon_port_receive(port, &delivery), 1);
        assert_int_equal(((const struct probe_number *)delivery.data)->n, i);
        odeon_port_release(port);
    }
    struct odeon_delivery delivery;
    assert_int_equal(odeon_port_receive_wait(port, &delivery, SECONDS(PATIENCE_S)), -EPIPE);
    odeon_client_disconnect(client);
    service_end(&service);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ready_status_and_end),
        cmocka_unit_test(test_second_service_on_the_same_directory_is_refused),
        cmocka_unit_test(test_socket_is_for_its_user_alone),
        cmocka_unit_test(test_what_a_killed_service_left_is_taken_over),
        cmocka_unit_test(test_bad_settings_are_refused_with_a_reason),
        cmocka_unit_test(test_signals_that_were_blocked_end_it),
        cmocka_unit_test(test_end_of_a_start_that_fails),
        cmocka_unit_test(test_end_drains),
        cmocka_unit_test(test_end_reports_what_was_not_received),
        cmocka_unit_test(test_end_reports_objects_that_were_never_sent),
        cmocka_unit_test(test_second_signal_ends_at_once),
    };

    return cmocka_run_group_tests_name("lifecycle", tests, NULL, NULL);
}
