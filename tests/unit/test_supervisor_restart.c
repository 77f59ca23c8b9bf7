/* SPDX-License-Identifier: Apache-2.0 */
/* odeond when executors die, when the configuration changes, and when it is told to stop.
 *
 * usage: test_supervisor_restart ODEOND EXECUTOR
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/common/frame.h"
#include "daemon/common/memfd.h"
#include "proto/control.pb-c.h"
#include "proto/port_layout.h"
#include "proto/stats_layout.h"
#include "tests/unit/supervisor_fixture.h"

static void test_executor_dies(void **state)
{
    int fd = peer_connect("survivor");
    Odeon__Reply *reply = peer_call_port_open(fd, ODEON_RING_MIN, false);
    uint32_t id = reply->port_open->port_id;
    pid_t before;

    (void)state;
    peer_drop(reply);
    assert_int_equal(peer_call_set(fd, "throughput", "77"), 0);
    before = peer_executor_pid(fd);
    assert_int_equal(kill(before, SIGKILL), 0);
    reply = peer_receive(fd);
    assert_non_null(reply->event);
    assert_int_equal(reply->event->body_case, ODEON__EVENT__BODY_EXECUTOR_RESTARTED);
    assert_true(reply->event->executor_restarted->boots >= 2);
    peer_drop(reply);
    assert_int_not_equal(peer_executor_pid(fd), before);
    peer_wait_for_throughput(fd, 77); /* what was changed while it ran */
    reply = peer_call_lookup(fd, "nobody");
    assert_int_equal(reply->error, -ENOENT); /* the new one's answer */
    peer_drop(reply);
    reply = peer_call_status(fd);
    assert_true(reply->status->executor_restarts >= 1);
    assert_int_equal(reply->status->ports, 1);
    peer_drop(reply);
    assert_int_equal(peer_call_port_close(fd, id), 0); /* the port lives */
    close(fd);
}

static void test_request_in_flight(void **state)
{
    Odeon__Lookup lookup = ODEON__LOOKUP__INIT;
    Odeon__PortOpen open = ODEON__PORT_OPEN__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;
    int fd = peer_connect("in flight"), seen_lookup = 0, seen_port = 0;
    pid_t pid = peer_executor_pid(fd);

    (void)state;
    assert_int_equal(kill(pid, SIGSTOP), 0);
    lookup.name = (char *)"x";
    request.id = 1;
    request.body_case = ODEON__REQUEST__BODY_LOOKUP;
    request.lookup = &lookup;
    assert_int_equal(frame_send(fd, &request.base, NULL, 0), 0);
    request.id = 2;
    request.body_case = ODEON__REQUEST__BODY_PORT_OPEN;
    request.port_open = &open;
    assert_int_equal(frame_send(fd, &request.base, NULL, 0), 0);
    peer_drop(peer_call_status(fd)); /* both have been passed on before this is answered */
    assert_int_equal(kill(pid, SIGKILL), 0);
    while (!seen_lookup || !seen_port) {
        Odeon__Reply *reply = peer_receive(fd);

        if (reply->id == 1) {
            assert_int_equal(reply->error, -ECONNRESET);
            assert_non_null(strstr(reply->text, "restarted while the request was running"));
            seen_lookup++;
        } else if (reply->id == 2) { /* this one can be repeated, and is */
            assert_int_equal(reply->error, 0);
            assert_int_equal(peer_last.n_fds, 3);
            seen_port++;
        }
        peer_drop(reply);
    }
    assert_int_equal(seen_lookup, 1);
    close(fd);
}

/* More requests than one client may have unanswered: all are answered, none is lost. */
static void test_back_pressure(void **state)
{
    enum { N = 200 };
    Odeon__Lookup lookup = ODEON__LOOKUP__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;
    int fd = peer_connect("eager"), other = peer_connect("other");
    pid_t pid = peer_executor_pid(fd);

    (void)state;
    lookup.name = (char *)"x";
    request.body_case = ODEON__REQUEST__BODY_LOOKUP;
    request.lookup = &lookup;
    assert_int_equal(kill(pid, SIGSTOP), 0);
    for (uint64_t i = 1; i <= N; i++) {
        request.id = i;
        assert_int_equal(frame_send(fd, &request.base, NULL, 0), 0);
    }
    peer_drop(peer_call_status(other)); /* others are served */
    assert_int_equal(kill(pid, SIGCONT), 0);
    for (uint64_t i = 1; i <= N; i++) {
        Odeon__Reply *reply = peer_receive(fd);

        assert_int_equal(reply->id, i);
        assert_int_equal(reply->error, -ENOENT);
        peer_drop(reply);
    }
    close(fd);
    close(other);
}

static void test_reload(void **state)
{
    int fd = peer_connect("reload");

    (void)state;
    service_write_config(SERVICE_SMALL "throughput=123\n");
    kill(service_pid, SIGHUP);
    service_wait_for_log("has been read again and applied");
    peer_wait_for_throughput(fd, 123);
    /* the second is out of range */
    service_write_config(SERVICE_SMALL "throughput=99\nworkers=1000\n");
    kill(service_pid, SIGHUP);
    service_wait_for_log("reload: nothing is changed: setting workers");
    peer_wait_for_throughput(fd, 123);
    /* the second cannot change at run time */
    service_write_config(SERVICE_SMALL "throughput=124\nattempts=7\n");
    kill(service_pid, SIGHUP);
    service_wait_for_log("reload: attempts = 7 takes effect when the service is started again");
    peer_wait_for_throughput(fd, 124);
    service_write_config("nonsense\n");
    kill(service_pid, SIGHUP);
    service_wait_for_log("reload: nothing is changed: /");
    peer_wait_for_throughput(fd, 124);
    close(fd);
}

/* What is written while a reload runs is not what that one has read. */
static void test_reload_while_one_runs(void **state)
{
    int fd = peer_connect("reload again");
    pid_t pid = peer_executor_pid(fd);

    (void)state;
    assert_int_equal(kill(pid, SIGSTOP), 0); /* the first one waits for its verdict */
    service_write_config(SERVICE_SMALL "throughput=131\n");
    while (!service_log_contains("a reload is running already")) {
        assert_int_equal(kill(service_pid, SIGHUP), 0);
        poll(NULL, 0, 2);
    }
    service_write_config(SERVICE_SMALL "throughput=132\n");
    kill(service_pid, SIGHUP);
    assert_int_equal(kill(pid, SIGCONT), 0);
    peer_wait_for_throughput(fd, 132);
    close(fd);
}

static void test_statistics_header(void **state)
{
    char path[128];
    int fd = peer_connect("statistics"), file;
    const struct stats_header *header;
    Odeon__Reply *reply = peer_call_status(fd);

    (void)state;
    snprintf(path, sizeof(path), "%s/stats", service_dir);
    file = open(path, O_RDONLY | O_CLOEXEC);
    header = mmap(NULL, STATS_SEGMENT_SIZE, PROT_READ, MAP_SHARED, file, 0);
    assert_ptr_not_equal(header, MAP_FAILED);
    close(file);
    assert_int_equal(atomic_load(&header->service_state), SERVICE_RUNNING);
    assert_int_equal(atomic_load(&header->supervisor_pid), service_pid);
    assert_int_equal(atomic_load(&header->executor_pid), reply->status->executor_pid);
    assert_int_equal(atomic_load(&header->n_clients), reply->status->clients);
    assert_int_equal(atomic_load(&header->executor_restarts), reply->status->executor_restarts);
    peer_drop(reply);
    close(fd);
    service_stop(NULL);
    assert_int_equal(atomic_load(&header->service_state), SERVICE_STOPPED);
    assert_int_equal(atomic_load(&header->executor_pid), 0);
    assert_true(service_log_contains("drained: every message that was sent has been received"));
    munmap((void *)header, STATS_SEGMENT_SIZE);
}

static void test_second_signal(void **state)
{
    int fd, status;
    pid_t pid;
    int64_t deadline = service_now_ms() + PATIENCE_MS;

    service_start(state);
    fd = peer_connect("two signals");
    pid = peer_executor_pid(fd);
    close(fd);
    assert_int_equal(kill(pid, SIGSTOP), 0); /* does not drain */
    assert_int_equal(kill(service_pid, SIGTERM), 0);
    service_wait_for_log("SIGTERM: the service drains and stops");
    while (
        /* one that comes at once counts as the same */
        !service_log_contains("SIGINT again: the executor is killed")) {
        assert_int_equal(kill(service_pid, SIGINT), 0);
        assert_true(service_now_ms() < deadline);
        poll(NULL, 0, 20);
    }
    status = service_wait_for_end(service_pid);
    service_pid = 0;
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(kill(pid, 0), -1);
}

/* What a killed odeond leaves behind does not stop the next one, and no executor outlives it. */
static void test_killed_service(void **state)
{
    int fd;
    pid_t pid;
    int64_t deadline = service_now_ms() + PATIENCE_MS;

    service_start(state);
    fd = peer_connect("orphan");
    pid = peer_executor_pid(fd);
    close(fd);
    assert_int_equal(kill(service_pid, SIGKILL), 0);
    service_wait_for_end(service_pid);
    while (kill(pid, 0) == 0) {
        char path[64], status[64] = "";
        int file;

        snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
        file = open(path, O_RDONLY | O_CLOEXEC);
        if (file < 0 || read(file, status, sizeof(status) - 1) <= 0 || strstr(status, ") Z"))
            deadline = INT64_MAX; /* ended; its new parent is late to notice */
        if (file >= 0)
            close(file);
        if (deadline == INT64_MAX)
            break;
        assert_true(service_now_ms() < deadline);
        poll(NULL, 0, 2);
    }
    assert_int_equal(access(service_socket, F_OK), 0); /* stale */
    service_start(state);
    close(peer_connect("next"));
    service_stop(state);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_executor_dies),
        cmocka_unit_test(test_request_in_flight),
        cmocka_unit_test(test_back_pressure),
        cmocka_unit_test(test_reload),
        cmocka_unit_test(test_reload_while_one_runs),
        cmocka_unit_test(test_statistics_header), /* stops the service */
        cmocka_unit_test(test_second_signal),
        cmocka_unit_test(test_killed_service),
    };

    if (!service_init(argc, argv))
        return 2;
    return cmocka_run_group_tests(tests, service_make, service_remove);
}
