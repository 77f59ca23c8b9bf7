/* SPDX-License-Identifier: Apache-2.0 */
/* See supervisor_fixture.h. */
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
#include "tests/run/scratch.h"
#include "tests/unit/supervisor_fixture.h"

static const char *odeond, *executor;
static char base[] = "/tmp/odeon-test.service-XXXXXX", config_path[128], log_path[128];
char service_dir[64], service_socket[96];
pid_t service_pid;

int64_t service_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- the service ---- */

pid_t service_spawn(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        int log = open(log_path, O_WRONLY | O_CREAT | O_APPEND, 0600);

        dup2(log, STDERR_FILENO);
        execl(odeond, odeond, "--foreground", "--runtime-dir", service_dir, "--config", config_path,
              "--executor", executor, "--set", "restart-delay-max-ms=20", NULL);
        _exit(127);
    }
    return pid;
}

void service_write_config(const char *content)
{
    FILE *file = fopen(config_path, "we");

    assert_non_null(file);
    fputs(content, file);
    fclose(file);
}

unsigned service_log_count(const char *words)
{
    static char content[1 << 20];
    int fd = open(log_path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, content, sizeof(content) - 1);
    unsigned count = 0;

    if (fd >= 0)
        close(fd);
    content[n > 0 ? n : 0] = '\0';
    for (const char *at = content; (at = strstr(at, words)); at++)
        count++;
    return count;
}

bool service_log_contains(const char *words)
{
    return service_log_count(words) > 0;
}

void service_wait_for_log(const char *words)
{
    int64_t deadline = service_now_ms() + PATIENCE_MS;

    while (!service_log_contains(words)) {
        if (service_now_ms() > deadline)
            fail_msg("the log does not say: %s", words);
        poll(NULL, 0, 2);
    }
}

int service_wait_for_end(pid_t pid)
{
    int64_t deadline = service_now_ms() + PATIENCE_MS;
    int status;

    while (waitpid(pid, &status, WNOHANG) == 0) {
        assert_true(service_now_ms() < deadline);
        poll(NULL, 0, 2);
    }
    return status;
}

int service_start(void **state)
{
    (void)state;
    service_write_config(SERVICE_SMALL);
    unlink(log_path);
    service_pid = service_spawn();
    service_wait_for_log("ready: clients can connect");
    return 0;
}

int service_stop(void **state)
{
    (void)state;
    if (service_pid > 0) {
        int status;

        kill(service_pid, SIGTERM);
        status = service_wait_for_end(service_pid);
        service_pid = 0;
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    assert_int_equal(access(service_socket, F_OK), -1);
    return 0;
}

/* ---- a client ---- */

int peer_connect_raw(void)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct timeval limit = { .tv_sec = PATIENCE_MS / 1000 };
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    strcpy(address.sun_path, service_socket);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
    return fd;
}

struct frame peer_last; /* the frame of the last reply, with its descriptors */

static void __attribute__((noreturn)) give_up(const char *what)
{
    fail_msg("%s", what);
    abort(); /* fail_msg() does not come back, which the compiler does not know */
}

/* The next reply or event; there must be one. */
Odeon__Reply *__attribute__((returns_nonnull)) peer_receive(int fd)
{
    Odeon__Reply *reply;

    frame_fini(&peer_last);
    if (frame_receive(fd, &peer_last) != 1)
        give_up("no answer");
    reply = odeon__reply__unpack(NULL, peer_last.size, peer_last.data);
    if (!reply)
        give_up("an answer that cannot be read");
    return reply;
}

void peer_assert_end(int fd)
{
    int r;

    frame_fini(&peer_last);
    r = frame_receive(fd, &peer_last);
    assert_true(r == 0 || r == -ECONNRESET);
    close(fd);
}

void peer_drop(Odeon__Reply *reply)
{
    odeon__reply__free_unpacked(reply, NULL);
}

Odeon__Reply *peer_call(int fd, Odeon__Request *request)
{
    static uint64_t last_id = 100;
    Odeon__Reply *reply;

    request->id = ++last_id;
    assert_int_equal(frame_send(fd, &request->base, NULL, 0), 0);
    reply = peer_receive(fd);
    while (reply->id == 0 && reply->event) { /* events come in between */
        peer_drop(reply);
        reply = peer_receive(fd);
    }
    assert_int_equal(reply->id, request->id);
    return reply;
}

int peer_connect(const char *name)
{
    Odeon__Hello hello = ODEON__HELLO__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;
    Odeon__Reply *reply;
    int fd = peer_connect_raw();

    hello.protocol = ODEON_PROTOCOL_VERSION;
    hello.name = (char *)name;
    request.body_case = ODEON__REQUEST__BODY_HELLO;
    request.hello = &hello;
    reply = peer_call(fd, &request);
    assert_int_equal(reply->error, 0);
    assert_int_equal(reply->body_case, ODEON__REPLY__BODY_HELLO);
    assert_int_equal(reply->hello->protocol, ODEON_PROTOCOL_VERSION);
    peer_drop(reply);
    return fd;
}

Odeon__Reply *peer_call_status(int fd)
{
    Odeon__Status status = ODEON__STATUS__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;
    Odeon__Reply *reply;

    request.body_case = ODEON__REQUEST__BODY_STATUS;
    request.status = &status;
    reply = peer_call(fd, &request);
    assert_int_equal(reply->error, 0);
    assert_int_equal(reply->body_case, ODEON__REPLY__BODY_STATUS);
    return reply;
}

/* Of an executor that is ready: an earlier test may have killed its predecessor. */
pid_t peer_executor_pid(int fd)
{
    int64_t deadline = service_now_ms() + PATIENCE_MS;

    for (;;) {
        Odeon__Reply *reply = peer_call_status(fd);
        pid_t pid =
            strcmp(reply->status->state, "running") == 0 ? (pid_t)reply->status->executor_pid : 0;

        peer_drop(reply);
        if (pid > 0)
            return pid;
        if (service_now_ms() > deadline)
            give_up("no executor is running");
        poll(NULL, 0, 2);
    }
}

Odeon__Reply *peer_call_lookup(int fd, const char *name)
{
    Odeon__Lookup lookup = ODEON__LOOKUP__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;

    lookup.name = (char *)name;
    request.body_case = ODEON__REQUEST__BODY_LOOKUP;
    request.lookup = &lookup;
    return peer_call(fd, &request);
}

Odeon__Reply *peer_call_port_open(int fd, uint64_t submission_bytes, bool pipe)
{
    Odeon__PortOpen open = ODEON__PORT_OPEN__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;

    open.submission_bytes = submission_bytes;
    open.delivery_bytes = ODEON_RING_MIN;
    open.pipe = pipe;
    request.body_case = ODEON__REQUEST__BODY_PORT_OPEN;
    request.port_open = &open;
    return peer_call(fd, &request);
}

int peer_call_port_close(int fd, uint32_t id)
{
    return peer_call_port_close_with(fd, id, NULL, 0);
}

int peer_call_port_close_with(int fd, uint32_t id, const void *token, size_t n)
{
    Odeon__PortClose close = ODEON__PORT_CLOSE__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;
    Odeon__Reply *reply;
    int error;

    close.port_id = id;
    close.token = (ProtobufCBinaryData){ n, (uint8_t *)(uintptr_t)token };
    request.body_case = ODEON__REQUEST__BODY_PORT_CLOSE;
    request.port_close = &close;
    reply = peer_call(fd, &request);
    error = reply->error;
    peer_drop(reply);
    return error;
}

int peer_call_set(int fd, const char *key, const char *value)
{
    Odeon__Setting setting = ODEON__SETTING__INIT, *list[] = { &setting };
    Odeon__ExecutorSet set = ODEON__EXECUTOR_SET__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;
    Odeon__Reply *reply;
    int error;

    setting.key = (char *)key;
    setting.value = (char *)value;
    set.settings = list;
    set.n_settings = 1;
    request.body_case = ODEON__REQUEST__BODY_EXECUTOR_SET;
    request.executor_set = &set;
    reply = peer_call(fd, &request);
    error = reply->error;
    peer_drop(reply);
    return error;
}

/* Until the statistics in the status say so. */
void peer_wait_for_throughput(int fd, uint32_t throughput)
{
    int64_t deadline = service_now_ms() + PATIENCE_MS;

    for (;;) {
        Odeon__Reply *reply = peer_call_status(fd);
        bool there = reply->status->throughput == throughput;

        peer_drop(reply);
        if (there)
            return;
        assert_true(service_now_ms() < deadline);
        poll(NULL, 0, 2);
    }
}

/* The next frame is this refusal, then the connection ends. */
void peer_assert_refused(int fd, int error, const char *words)
{
    Odeon__Reply *reply = peer_receive(fd);

    assert_int_equal(reply->id, 0);
    assert_int_equal(reply->error, error);
    assert_non_null(strstr(reply->text, words));
    peer_drop(reply);
    peer_assert_end(fd);
}

int service_make(void **state)
{
    if (!scratch_make(base))
        return -1;
    snprintf(service_dir, sizeof(service_dir), "%s/run", base);
    snprintf(service_socket, sizeof(service_socket), "%s/control.sock", service_dir);
    snprintf(config_path, sizeof(config_path), "%s/odeond.conf", base);
    snprintf(log_path, sizeof(log_path), "%s/log", base);
    return service_start(state);
}

int service_remove(void **state)
{
    char command[160];

    (void)state;
    if (service_pid > 0)
        kill(service_pid, SIGKILL);
    snprintf(command, sizeof(command), "rm -rf %s", base);
    return system(command);
}

bool service_init(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: %s ODEOND EXECUTOR\n", argv[0]);
        return false;
    }
    odeond = argv[1];
    executor = argv[2];
    signal(SIGPIPE, SIG_IGN);
    return true;
}
