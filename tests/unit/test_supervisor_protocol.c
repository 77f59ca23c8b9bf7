/* SPDX-License-Identifier: Apache-2.0 */
/* odeond and odeon-executor as processes, spoken to frame by frame: good clients, bad ones, and executors that die.
 *
 * usage: test_supervisor_protocol ODEOND EXECUTOR
 *
 * One service for most tests.  Every wait has a deadline.
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

enum { DEADLINE_MS = 20000 };

static const char *odeond, *executor;
static char base[] = "/tmp/odeon-test-protocol-XXXXXX", dir[64], socket_path[96], config_path[128], log_path[128];
static pid_t service;

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- the service ---- */

static pid_t spawn_service(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        int log = open(log_path, O_WRONLY | O_CREAT | O_APPEND, 0600);

        dup2(log, STDERR_FILENO);
        execl(odeond, odeond, "--foreground", "--runtime-dir", dir, "--config", config_path, "--executor", executor,
              "--set", "restart-delay-max-ms=20", NULL);
        _exit(127);
    }
    return pid;
}

static void write_config(const char *content)
{
    FILE *file = fopen(config_path, "we");

    assert_non_null(file);
    fputs(content, file);
    fclose(file);
}

#define SMALL                                                                                                          \
    "workers=1\nqueues-per-worker=2\nactors=4096\nlimit-bytes=64K\noutbox-bytes=256K\nbacklog-bytes=256K\ndead-"       \
    "letter-bytes=256K\naffinity=none\n"

static bool log_contains(const char *words)
{
    static char content[1 << 20];
    int fd = open(log_path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, content, sizeof(content) - 1);

    if (fd >= 0)
        close(fd);
    content[n > 0 ? n : 0] = '\0';
    return strstr(content, words) != NULL;
}

static void wait_for_log(const char *words)
{
    int64_t deadline = now_ms() + DEADLINE_MS;

    while (!log_contains(words)) {
        if (now_ms() > deadline)
            fail_msg("the log does not say: %s", words);
        poll(NULL, 0, 2);
    }
}

static int wait_for_end(pid_t pid)
{
    int64_t deadline = now_ms() + DEADLINE_MS;
    int status;

    while (waitpid(pid, &status, WNOHANG) == 0) {
        assert_true(now_ms() < deadline);
        poll(NULL, 0, 2);
    }
    return status;
}

static int start_service(void **state)
{
    (void)state;
    write_config(SMALL);
    unlink(log_path);
    service = spawn_service();
    wait_for_log("ready: clients can connect");
    return 0;
}

static int stop_service(void **state)
{
    (void)state;
    if (service > 0) {
        int status;

        kill(service, SIGTERM);
        status = wait_for_end(service);
        service = 0;
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    assert_int_equal(access(socket_path, F_OK), -1);
    return 0;
}

/* ---- a client ---- */

static int connect_raw(void)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct timeval limit = { .tv_sec = DEADLINE_MS / 1000 };
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    strcpy(address.sun_path, socket_path);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
    return fd;
}

static struct frame last; /* the frame of the last reply, with its descriptors */

static void __attribute__((noreturn)) give_up(const char *what)
{
    fail_msg("%s", what);
    abort(); /* fail_msg() does not come back, which the compiler does not know */
}

/* The next reply or event; there must be one. */
static Odeon__Reply *__attribute__((returns_nonnull)) receive(int fd)
{
    Odeon__Reply *reply;

    frame_fini(&last);
    if (frame_receive(fd, &last) != 1)
        give_up("no answer");
    reply = odeon__reply__unpack(NULL, last.size, last.data);
    if (!reply)
        give_up("an answer that cannot be read");
    return reply;
}

static void assert_end(int fd)
{
    int r;

    frame_fini(&last);
    r = frame_receive(fd, &last);
    assert_true(r == 0 || r == -ECONNRESET);
    close(fd);
}

static void drop(Odeon__Reply *reply)
{
    odeon__reply__free_unpacked(reply, NULL);
}

static Odeon__Reply *call(int fd, Odeon__Request *request)
{
    static uint64_t last_id = 100;
    Odeon__Reply *reply;

    request->id = ++last_id;
    assert_int_equal(frame_send(fd, &request->base, NULL, 0), 0);
    reply = receive(fd);
    while (reply->id == 0 && reply->event) { /* events come in between */
        drop(reply);
        reply = receive(fd);
    }
    assert_int_equal(reply->id, request->id);
    return reply;
}

static int connect_hello(const char *name)
{
    Odeon__Hello hello = ODEON__HELLO__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;
    Odeon__Reply *reply;
    int fd = connect_raw();

    hello.protocol = ODEON_PROTOCOL_VERSION;
    hello.name = (char *)name;
    request.body_case = ODEON__REQUEST__BODY_HELLO;
    request.hello = &hello;
    reply = call(fd, &request);
    assert_int_equal(reply->error, 0);
    assert_int_equal(reply->body_case, ODEON__REPLY__BODY_HELLO);
    assert_int_equal(reply->hello->protocol, ODEON_PROTOCOL_VERSION);
    drop(reply);
    return fd;
}

static Odeon__Reply *call_status(int fd)
{
    Odeon__Status status = ODEON__STATUS__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;
    Odeon__Reply *reply;

    request.body_case = ODEON__REQUEST__BODY_STATUS;
    request.status = &status;
    reply = call(fd, &request);
    assert_int_equal(reply->error, 0);
    assert_int_equal(reply->body_case, ODEON__REPLY__BODY_STATUS);
    return reply;
}

/* Of an executor that is ready: an earlier test may have killed its predecessor. */
static pid_t executor_pid(int fd)
{
    int64_t deadline = now_ms() + DEADLINE_MS;

    for (;;) {
        Odeon__Reply *reply = call_status(fd);
        pid_t pid = strcmp(reply->status->state, "running") == 0 ? (pid_t)reply->status->executor_pid : 0;

        drop(reply);
        if (pid > 0)
            return pid;
        if (now_ms() > deadline)
            give_up("no executor is running");
        poll(NULL, 0, 2);
    }
}

static Odeon__Reply *call_lookup(int fd, const char *name)
{
    Odeon__Lookup lookup = ODEON__LOOKUP__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;

    lookup.name = (char *)name;
    request.body_case = ODEON__REQUEST__BODY_LOOKUP;
    request.lookup = &lookup;
    return call(fd, &request);
}

static Odeon__Reply *call_port_open(int fd, uint64_t submission_bytes, bool pipe)
{
    Odeon__PortOpen open = ODEON__PORT_OPEN__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;

    open.submission_bytes = submission_bytes;
    open.delivery_bytes = ODEON_RING_MIN;
    open.pipe = pipe;
    request.body_case = ODEON__REQUEST__BODY_PORT_OPEN;
    request.port_open = &open;
    return call(fd, &request);
}

static int call_port_close(int fd, uint32_t id)
{
    Odeon__PortClose close = ODEON__PORT_CLOSE__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;
    Odeon__Reply *reply;
    int error;

    close.port_id = id;
    request.body_case = ODEON__REQUEST__BODY_PORT_CLOSE;
    request.port_close = &close;
    reply = call(fd, &request);
    error = reply->error;
    drop(reply);
    return error;
}

static int call_set(int fd, const char *key, const char *value)
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
    reply = call(fd, &request);
    error = reply->error;
    drop(reply);
    return error;
}

/* Until the statistics in the status say so. */
static void wait_for_throughput(int fd, uint32_t throughput)
{
    int64_t deadline = now_ms() + DEADLINE_MS;

    for (;;) {
        Odeon__Reply *reply = call_status(fd);
        bool there = reply->status->throughput == throughput;

        drop(reply);
        if (there)
            return;
        assert_true(now_ms() < deadline);
        poll(NULL, 0, 2);
    }
}

/* The next frame is this refusal, then the connection ends. */
static void assert_refused_and_closed(int fd, int error, const char *words)
{
    Odeon__Reply *reply = receive(fd);

    assert_int_equal(reply->id, 0);
    assert_int_equal(reply->error, error);
    assert_non_null(strstr(reply->text, words));
    drop(reply);
    assert_end(fd);
}

/* ---- tests ---- */

static void test_access(void **state)
{
    struct stat st;
    pid_t second;
    int status;

    (void)state;
    assert_int_equal(stat(socket_path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    second = spawn_service();
    status = wait_for_end(second);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    assert_true(log_contains("another odeond, process "));
    close(connect_hello("after the second one"));
}

static void test_hello(void **state)
{
    Odeon__Hello hello = ODEON__HELLO__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;
    Odeon__Status status = ODEON__STATUS__INIT;
    Odeon__Reply *reply;
    int fd = connect_raw();

    (void)state;
    request.body_case = ODEON__REQUEST__BODY_STATUS;
    request.status = &status;
    reply = call(fd, &request);
    assert_int_equal(reply->error, -EPROTO);
    drop(reply);
    assert_end(fd);

    fd = connect_raw();
    hello.protocol = ODEON_PROTOCOL_VERSION + 1;
    request.body_case = ODEON__REQUEST__BODY_HELLO;
    request.hello = &hello;
    reply = call(fd, &request);
    assert_int_equal(reply->error, -EPROTONOSUPPORT);
    drop(reply);
    assert_end(fd);

    fd = connect_hello("twice");
    hello.protocol = ODEON_PROTOCOL_VERSION;
    reply = call(fd, &request);
    assert_int_equal(reply->error, -EALREADY);
    drop(reply);
    drop(call_status(fd)); /* and goes on */
    close(fd);
}

static void test_records_that_are_no_requests(void **state)
{
    static const uint8_t garbage[] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
    static const uint8_t truncated[] = { 0x08, 0x05, 0x12, 0x7f, 0x08 }; /* a hello of 127 bytes that is not there */
    static const uint8_t no_id[] = { 0x2a, 0x00 };
    uint8_t *large = calloc(1, ODEON_CONTROL_FRAME_MAX + 1);
    int bystander = connect_hello("bystander"), fd;

    (void)state;
    fd = connect_hello("garbage");
    assert_int_equal(send(fd, garbage, sizeof(garbage), 0), sizeof(garbage));
    assert_refused_and_closed(fd, -EBADMSG, "no request");
    fd = connect_raw(); /* also before hello */
    assert_int_equal(send(fd, truncated, sizeof(truncated), 0), sizeof(truncated));
    assert_refused_and_closed(fd, -EBADMSG, "no request");
    fd = connect_hello("no id");
    assert_int_equal(send(fd, no_id, sizeof(no_id), 0), sizeof(no_id));
    assert_refused_and_closed(fd, -EBADMSG, "without an id");
    fd = connect_hello("empty");
    assert_int_equal(send(fd, "", 0, 0), 0);
    assert_refused_and_closed(fd, -EBADMSG, "empty record");
    fd = connect_hello("large");
    assert_int_equal(send(fd, large, ODEON_CONTROL_FRAME_MAX + 1, 0), ODEON_CONTROL_FRAME_MAX + 1);
    assert_refused_and_closed(fd, -EMSGSIZE, "65536");
    drop(call_status(bystander));
    close(bystander);
    free(large);
}

static void test_unknown_request(void **state)
{
    /* id 9, then field 1000 with two bytes; the same with a known request and an unknown field in it */
    static const uint8_t unknown[] = { 0x08, 0x09, 0xc2, 0x3e, 0x02, 0x01, 0x02 };
    static const uint8_t known[] = { 0x08, 0x0a, 0x2a, 0x04, 0xc0, 0x3e, 0x05, 0x00 };
    int fd = connect_hello("from the future");
    Odeon__Reply *reply;

    (void)state;
    assert_int_equal(send(fd, unknown, sizeof(unknown), 0), sizeof(unknown));
    reply = receive(fd);
    assert_int_equal(reply->id, 9);
    assert_int_equal(reply->error, -ENOSYS);
    drop(reply);
    assert_int_equal(send(fd, known, 7, 0), 7); /* too short for what it says */
    reply = receive(fd);
    assert_int_equal(reply->error, -EBADMSG);
    drop(reply);
    close(fd);
    fd = connect_hello("unknown field");
    assert_int_equal(send(fd, (const uint8_t[]){ 0x08, 0x0a, 0x2a, 0x03, 0xc0, 0x3e, 0x05 }, 7, 0), 7);
    reply = receive(fd);
    assert_int_equal(reply->id, 10);
    assert_int_equal(reply->error, 0);
    assert_int_equal(reply->body_case, ODEON__REPLY__BODY_STATUS);
    drop(reply);
    close(fd);
}

static void test_descriptors_nobody_wants(void **state)
{
    Odeon__Status status = ODEON__STATUS__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;
    int fd = connect_hello("generous"), fds[FRAME_FDS_MAX] = { 0 };
    Odeon__Reply *reply;

    (void)state;
    request.id = 1;
    request.body_case = ODEON__REQUEST__BODY_STATUS;
    request.status = &status;
    assert_int_equal(frame_send(fd, &request.base, fds, FRAME_FDS_MAX), 0);
    reply = receive(fd);
    assert_int_equal(reply->error, -EINVAL);
    drop(reply);
    drop(call_status(fd));
    close(fd);
}

static void test_port_descriptors(void **state)
{
    int fd = connect_hello("port");
    Odeon__Reply *reply = call_port_open(fd, ODEON_RING_MIN, true);
    const Odeon__PortOpenReply *port = reply->port_open;

    (void)state;
    assert_int_equal(reply->error, 0);
    assert_int_equal(reply->body_case, ODEON__REPLY__BODY_PORT_OPEN);
    assert_int_equal(last.n_fds, 4);
    assert_true(port->ref != 0);
    assert_int_equal(port->token.len, 16);
    assert_int_equal(port->payload_max, ODEON_PAYLOAD_MAX);
    assert_true(port->actors_max > 0);
    assert_int_equal(memfd_check(last.fds[0], port->submission_offset + port->submission_bytes), 0);
    assert_int_equal(memfd_check(last.fds[1], port->delivery_offset + port->delivery_bytes), 0);
    assert_int_equal(fcntl(last.fds[0], F_GETFL) & O_ACCMODE, O_RDWR);
    assert_int_equal(fcntl(last.fds[1], F_GETFL) & O_ACCMODE, O_RDONLY);
    assert_ptr_equal(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, last.fds[1], 0), MAP_FAILED);
    assert_int_equal(fcntl(last.fds[3], F_GETFL) & O_ACCMODE, O_RDONLY);
    assert_int_equal(call_port_close(fd, port->port_id), 0);
    assert_int_equal(call_port_close(fd, port->port_id), -ENOENT);
    assert_int_equal(call_port_close(fd, UINT32_MAX), -ENOENT);
    drop(reply);
    reply = call_port_open(fd, ODEON_RING_MIN + 8, false);
    assert_int_equal(reply->error, -EINVAL);
    drop(reply);
    close(fd);
}

static void test_port_limits(void **state)
{
    int fd = connect_hello("many"), other = connect_hello("other");
    uint32_t first = 0;
    int64_t deadline = now_ms() + DEADLINE_MS;

    (void)state;
    for (int i = 0; i < ODEON_PORTS_PER_CLIENT_MAX; i++) {
        Odeon__Reply *reply = call_port_open(fd, ODEON_RING_MIN, false);

        assert_int_equal(reply->error, 0);
        first = i ? first : reply->port_open->port_id;
        drop(reply);
    }
    {
        Odeon__Reply *reply = call_port_open(fd, ODEON_RING_MIN, false);

        assert_int_equal(reply->error, -EMFILE);
        drop(reply);
    }
    assert_int_equal(call_port_close(other, first), -ENOENT); /* not his */
    assert_int_equal(call_port_close(fd, first), 0);
    for (int error = -EMFILE; error != 0;) { /* as soon as it is drained there is room again */
        Odeon__Reply *reply = call_port_open(fd, ODEON_RING_MIN, false);

        error = reply->error;
        assert_true(error == 0 || error == -EMFILE);
        assert_true(now_ms() < deadline);
        drop(reply);
    }
    close(fd);
    for (uint32_t ports = 1; ports != 0;) { /* the end of the connection closes them all */
        Odeon__Reply *reply = call_status(other);

        ports = reply->status->ports;
        drop(reply);
        assert_true(now_ms() < deadline);
    }
    close(other);
}

static void test_broken_port(void **state)
{
    int fd = connect_hello("vandal"), other = connect_hello("bystander");
    Odeon__Reply *reply = call_port_open(fd, ODEON_RING_MIN, false);
    uint32_t id = reply->port_open->port_id;
    struct port_client *words = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, last.fds[0], 0);
    int doorbell = frame_take_fd(&last, 2);

    (void)state;
    assert_ptr_not_equal(words, MAP_FAILED);
    drop(reply);
    atomic_store(&words->submission_tail, UINT64_C(1) << 40);
    assert_int_equal(write(doorbell, &(uint64_t){ 1 }, 8), 8);
    reply = receive(fd);
    assert_non_null(reply->event);
    assert_int_equal(reply->event->body_case, ODEON__EVENT__BODY_PORT_BROKEN);
    assert_int_equal(reply->event->port_broken->port_id, id);
    assert_string_equal(reply->event->port_broken->reason, port_broken_name(PORT_BROKEN_TAIL));
    drop(reply);
    assert_int_equal(call_port_close(fd, id), -ENOENT); /* closed already */
    reply = call_port_open(fd, ODEON_RING_MIN, false);  /* may try again */
    assert_int_equal(reply->error, 0);
    drop(reply);
    drop(call_status(other));
    assert_true(log_contains("vandal"));
    munmap(words, 4096);
    close(doorbell);
    close(fd);
    close(other);
}

static void test_executor_dies(void **state)
{
    int fd = connect_hello("survivor");
    Odeon__Reply *reply = call_port_open(fd, ODEON_RING_MIN, false);
    uint32_t id = reply->port_open->port_id;
    pid_t before;

    (void)state;
    drop(reply);
    assert_int_equal(call_set(fd, "throughput", "77"), 0);
    before = executor_pid(fd);
    assert_int_equal(kill(before, SIGKILL), 0);
    reply = receive(fd);
    assert_non_null(reply->event);
    assert_int_equal(reply->event->body_case, ODEON__EVENT__BODY_EXECUTOR_RESTARTED);
    assert_true(reply->event->executor_restarted->boots >= 2);
    drop(reply);
    assert_int_not_equal(executor_pid(fd), before);
    wait_for_throughput(fd, 77); /* what was changed while it ran */
    reply = call_lookup(fd, "nobody");
    assert_int_equal(reply->error, -ENOENT); /* the new one's answer */
    drop(reply);
    reply = call_status(fd);
    assert_true(reply->status->executor_restarts >= 1);
    assert_int_equal(reply->status->ports, 1);
    drop(reply);
    assert_int_equal(call_port_close(fd, id), 0); /* the port lives */
    close(fd);
}

static void test_request_in_flight(void **state)
{
    Odeon__Lookup lookup = ODEON__LOOKUP__INIT;
    Odeon__PortOpen open = ODEON__PORT_OPEN__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;
    int fd = connect_hello("in flight"), seen_lookup = 0, seen_port = 0;
    pid_t pid = executor_pid(fd);

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
    drop(call_status(fd)); /* both have been passed on before this is answered */
    assert_int_equal(kill(pid, SIGKILL), 0);
    while (!seen_lookup || !seen_port) {
        Odeon__Reply *reply = receive(fd);

        if (reply->id == 1) {
            assert_int_equal(reply->error, -ECONNRESET);
            assert_non_null(strstr(reply->text, "restarted while the request was running"));
            seen_lookup++;
        } else if (reply->id == 2) { /* this one can be repeated, and is */
            assert_int_equal(reply->error, 0);
            assert_int_equal(last.n_fds, 3);
            seen_port++;
        }
        drop(reply);
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
    int fd = connect_hello("eager"), other = connect_hello("other");
    pid_t pid = executor_pid(fd);

    (void)state;
    lookup.name = (char *)"x";
    request.body_case = ODEON__REQUEST__BODY_LOOKUP;
    request.lookup = &lookup;
    assert_int_equal(kill(pid, SIGSTOP), 0);
    for (uint64_t i = 1; i <= N; i++) {
        request.id = i;
        assert_int_equal(frame_send(fd, &request.base, NULL, 0), 0);
    }
    drop(call_status(other)); /* others are served */
    assert_int_equal(kill(pid, SIGCONT), 0);
    for (uint64_t i = 1; i <= N; i++) {
        Odeon__Reply *reply = receive(fd);

        assert_int_equal(reply->id, i);
        assert_int_equal(reply->error, -ENOENT);
        drop(reply);
    }
    close(fd);
    close(other);
}

static void test_slow_reader(void **state)
{
    Odeon__Status status = ODEON__STATUS__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;
    int fd = connect_hello("slow reader"), other = connect_hello("other"), r = 0;
    int64_t deadline = now_ms() + DEADLINE_MS;

    (void)state;
    request.body_case = ODEON__REQUEST__BODY_STATUS;
    request.status = &status;
    while (r == 0) {
        request.id++;
        r = frame_send(fd, &request.base, NULL, 0);
        assert_true(now_ms() < deadline);
    }
    assert_true(r == -EPIPE || r == -ECONNRESET);
    drop(call_status(other));
    wait_for_log("slow reader");
    wait_for_log("does not read its answers");
    close(fd);
    close(other);
}

static void test_client_list_pages(void **state)
{
    int fds[5];
    uint64_t after = 0;
    unsigned found = 0, pages = 0;
    bool more = true;

    (void)state;
    for (int i = 0; i < 5; i++)
        fds[i] = connect_hello("page\033[2J");
    while (more) {
        Odeon__Page page = ODEON__PAGE__INIT;
        Odeon__ClientList list = ODEON__CLIENT_LIST__INIT;
        Odeon__Request request = ODEON__REQUEST__INIT;
        Odeon__Reply *reply;

        page.after = after;
        page.rows = 2;
        list.page = &page;
        request.body_case = ODEON__REQUEST__BODY_CLIENT_LIST;
        request.client_list = &list;
        reply = call(fds[0], &request);
        assert_int_equal(reply->error, 0);
        assert_true(reply->client_list->n_clients <= 2);
        for (size_t i = 0; i < reply->client_list->n_clients; i++) {
            const Odeon__Client *client = reply->client_list->clients[i];

            assert_true(client->id > after);
            after = client->id;
            if (strcmp(client->name, "page?[2J") == 0) { /* no control characters */
                assert_int_equal(client->pid, getpid());
                found++;
            }
        }
        more = reply->client_list->more;
        drop(reply);
        assert_true(++pages < 100);
    }
    assert_int_equal(found, 5);
    for (int i = 0; i < 5; i++)
        close(fds[i]);
}

static void test_plugin_paths(void **state)
{
    static const struct {
        const char *path, *words;
        int error;
    } cases[] = {
        { "/tmp", "is a directory", -EISDIR },
        { "relative.so", "is not an absolute path", -EINVAL },
        { "/nowhere/x.so", "does not exist", -ENOENT },
        { "/dev/null", "is not a regular file", -EINVAL },
    };
    int fd = connect_hello("loader");

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        Odeon__PluginLoad load = ODEON__PLUGIN_LOAD__INIT;
        Odeon__Request request = ODEON__REQUEST__INIT;
        Odeon__Reply *reply;

        load.path = (char *)cases[i].path;
        request.body_case = ODEON__REQUEST__BODY_PLUGIN_LOAD;
        request.plugin_load = &load;
        reply = call(fd, &request);
        assert_int_equal(reply->error, cases[i].error);
        assert_non_null(strstr(reply->text, cases[i].words));
        drop(reply);
    }
    close(fd);
}

static void test_reload(void **state)
{
    int fd = connect_hello("reload");

    (void)state;
    write_config(SMALL "throughput=123\n");
    kill(service, SIGHUP);
    wait_for_log("has been read again and applied");
    wait_for_throughput(fd, 123);
    write_config(SMALL "throughput=99\nworkers=2\n"); /* the second cannot change at run time */
    kill(service, SIGHUP);
    wait_for_log("reload: nothing is changed: setting workers");
    write_config("nonsense\n");
    kill(service, SIGHUP);
    wait_for_log("reload: nothing is changed: /");
    wait_for_throughput(fd, 123);
    close(fd);
}

static void test_statistics_header(void **state)
{
    char path[128];
    int fd = connect_hello("statistics"), file;
    const struct stats_header *header;
    Odeon__Reply *reply = call_status(fd);

    (void)state;
    snprintf(path, sizeof(path), "%s/stats", dir);
    file = open(path, O_RDONLY | O_CLOEXEC);
    header = mmap(NULL, STATS_SEGMENT_SIZE, PROT_READ, MAP_SHARED, file, 0);
    assert_ptr_not_equal(header, MAP_FAILED);
    close(file);
    assert_int_equal(atomic_load(&header->service_state), SERVICE_RUNNING);
    assert_int_equal(atomic_load(&header->supervisor_pid), service);
    assert_int_equal(atomic_load(&header->executor_pid), reply->status->executor_pid);
    assert_int_equal(atomic_load(&header->n_clients), reply->status->clients);
    assert_int_equal(atomic_load(&header->executor_restarts), reply->status->executor_restarts);
    drop(reply);
    close(fd);
    stop_service(NULL);
    assert_int_equal(atomic_load(&header->service_state), SERVICE_STOPPED);
    assert_int_equal(atomic_load(&header->executor_pid), 0);
    assert_true(log_contains("drained: every message that was sent has been received"));
    munmap((void *)header, STATS_SEGMENT_SIZE);
}

static void test_second_signal(void **state)
{
    int fd, status;
    pid_t pid;
    int64_t deadline = now_ms() + DEADLINE_MS;

    start_service(state);
    fd = connect_hello("two signals");
    pid = executor_pid(fd);
    close(fd);
    assert_int_equal(kill(pid, SIGSTOP), 0); /* does not drain */
    assert_int_equal(kill(service, SIGTERM), 0);
    wait_for_log("SIGTERM: the service drains and stops");
    while (!log_contains("SIGINT again: the executor is killed")) { /* one that comes at once counts as the same */
        assert_int_equal(kill(service, SIGINT), 0);
        assert_true(now_ms() < deadline);
        poll(NULL, 0, 20);
    }
    status = wait_for_end(service);
    service = 0;
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(kill(pid, 0), -1);
}

/* What a killed odeond leaves behind does not stop the next one, and no executor outlives it. */
static void test_killed_service(void **state)
{
    int fd;
    pid_t pid;
    int64_t deadline = now_ms() + DEADLINE_MS;

    start_service(state);
    fd = connect_hello("orphan");
    pid = executor_pid(fd);
    close(fd);
    assert_int_equal(kill(service, SIGKILL), 0);
    wait_for_end(service);
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
        assert_true(now_ms() < deadline);
        poll(NULL, 0, 2);
    }
    assert_int_equal(access(socket_path, F_OK), 0); /* stale */
    start_service(state);
    close(connect_hello("next"));
    stop_service(state);
}

static int make_base(void **state)
{
    if (!mkdtemp(base))
        return -1;
    snprintf(dir, sizeof(dir), "%s/run", base);
    snprintf(socket_path, sizeof(socket_path), "%s/control.sock", dir);
    snprintf(config_path, sizeof(config_path), "%s/odeond.conf", base);
    snprintf(log_path, sizeof(log_path), "%s/log", base);
    return start_service(state);
}

static int remove_base(void **state)
{
    char command[160];

    (void)state;
    if (service > 0)
        kill(service, SIGKILL);
    snprintf(command, sizeof(command), "rm -rf %s", base);
    return system(command);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_access),
        cmocka_unit_test(test_hello),
        cmocka_unit_test(test_records_that_are_no_requests),
        cmocka_unit_test(test_unknown_request),
        cmocka_unit_test(test_descriptors_nobody_wants),
        cmocka_unit_test(test_port_descriptors),
        cmocka_unit_test(test_port_limits),
        cmocka_unit_test(test_broken_port),
        cmocka_unit_test(test_executor_dies),
        cmocka_unit_test(test_request_in_flight),
        cmocka_unit_test(test_back_pressure),
        cmocka_unit_test(test_slow_reader),
        cmocka_unit_test(test_client_list_pages),
        cmocka_unit_test(test_plugin_paths),
        cmocka_unit_test(test_reload),
        cmocka_unit_test(test_statistics_header), /* stops the service */
        cmocka_unit_test(test_second_signal),
        cmocka_unit_test(test_killed_service),
    };

    if (argc != 3) {
        fprintf(stderr, "usage: %s ODEOND EXECUTOR\n", argv[0]);
        return 2;
    }
    odeond = argv[1];
    executor = argv[2];
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, make_base, remove_base);
}
