/* SPDX-License-Identifier: Apache-2.0 */
/* Bad clients on the control connection: each gets a clear answer, and a bystander's traffic goes
 * on. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/hostile/raw.h"
#include "tests/run/lingering.h"
#include "tests/system/numbers.h"

static struct service service;
static struct numbers bystander;
static bool can_fill_table;

/* As many descriptors as the table of clients may need, here and in the service, which inherits
 * it. False: this machine does not allow them. */
static bool raise_descriptors(void)
{
    enum { NEEDED = ODEON_CLIENTS_MAX + 128 };
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_max < NEEDED)
        return false;
    if (limit.rlim_cur < NEEDED)
        limit.rlim_cur = NEEDED;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

static void skip_without_descriptors(void)
{
    if (!can_fill_table) {
        print_message("# skipped: a process may not have that many descriptors here\n");
        skip();
    }
}

static int setup(void **state)
{
    (void)state;
    can_fill_table = raise_descriptors();
    /* what is tried here are thousands of offences of one process: its waits (test_offenders.c)
     * would be all that one saw; and who says nothing may be silent for as long as this takes */
    service_start(&service,
                  (const char *const[]){ SMALL_SERVICE, "--set", "offender-hold-ms=0", "--set",
                                         "hello-ms=3600000", "--plugin", TEST_PROBE, NULL });
    numbers_start(&bystander, &service, 64);
    numbers_wait(&bystander, 100);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    numbers_finish(&bystander);
    assert_int_equal(service_state(&service).executor_restarts, 0);
    assert_int_equal(service_stop(&service, SIGTERM), 0);
    service_end(&service);
    return 0;
}

/* After each test: the bystander goes on, and nothing is left of the others. */
static int check_bystander(void **state)
{
    (void)state;
    numbers_wait(&bystander, 100);
    assert_true(
        wait_until(service_state(&service).clients == 1 && service_state(&service).ports == 1));
    return 0;
}

static size_t pack_status(uint8_t *bytes, uint64_t id)
{
    Odeon__Request request = ODEON__REQUEST__INIT;
    Odeon__Status status = ODEON__STATUS__INIT;

    request.id = id;
    request.body_case = ODEON__REQUEST__BODY_STATUS;
    request.status = &status;
    return odeon__request__pack(&request, bytes);
}

static size_t pack_hello(uint8_t *bytes, const char *name)
{
    Odeon__Request request = ODEON__REQUEST__INIT;
    Odeon__Hello hello = ODEON__HELLO__INIT;

    hello.protocol = ODEON_PROTOCOL_VERSION;
    hello.name = (char *)name;
    request.id = 1;
    request.body_case = ODEON__REQUEST__BODY_HELLO;
    request.hello = &hello;
    return odeon__request__pack(&request, bytes);
}

static void test_truncated_request(void **state)
{
    static uint8_t bytes[1024];
    size_t size = pack_hello(bytes, "a name of some length");

    (void)state;
    for (size_t cut = 1; cut < size; cut++) {
        struct raw raw = raw_connect(&service);
        struct raw_answer answer;

        raw_send_bytes(&raw, bytes, size - cut);
        /* whatever is left is no request, or one that is not hello */
        assert_int_equal(raw_receive(&raw, &answer), 1);
        assert_true(answer.reply->error < 0 && strlen(answer.reply->text) > 10);
        raw_answer_fini(&answer);
        raw_expect_end(&raw);
        raw_close(&raw);
    }
}

static void test_random_bytes(void **state)
{
    static uint8_t bytes[4096];
    unsigned seed = 20240817;

    (void)state;
    for (int round = 0; round < 200; round++) {
        struct raw raw = raw_connect(&service);
        size_t size = 1 + (size_t)rand_r(&seed) % sizeof(bytes);
        struct raw_answer answer;

        for (size_t i = 0; i < size; i++)
            bytes[i] = (uint8_t)rand_r(&seed);
        if (round % 2) /* half of them have said hello before */
            raw_hello(&raw);
        raw_send_bytes(&raw, bytes, size);
        assert_int_equal(raw_receive(&raw, &answer), 1);
        assert_true(answer.reply->error < 0 && strlen(answer.reply->text) > 10);
        raw_answer_fini(&answer);
        raw_close(&raw);
    }
}

static void test_empty_record(void **state)
{
    struct raw raw = raw_connect(&service);

    (void)state;
    raw_hello(&raw);
    raw_send_bytes(&raw, "", 0);
    raw_expect_error(&raw, 0, -EBADMSG, "an empty record");
    raw_expect_end(&raw);
    raw_close(&raw);
}

static void test_oversized_frame(void **state)
{
    static uint8_t bytes[ODEON_CONTROL_FRAME_MAX + 1];
    struct raw raw = raw_connect(&service);

    (void)state;
    raw_hello(&raw);
    raw_send_bytes(&raw, bytes, sizeof(bytes));
    raw_expect_error(&raw, 0, -EMSGSIZE, "more than 65536 bytes");
    raw_expect_end(&raw);
    raw_close(&raw);
}

static void test_no_hello(void **state)
{
    struct raw raw = raw_connect(&service);
    uint8_t bytes[64];

    (void)state;
    raw_send_bytes(&raw, bytes, pack_status(bytes, 9));
    raw_expect_error(&raw, 9, -EPROTO, "the first request must be hello");
    raw_expect_end(&raw);
    raw_close(&raw);
}

static void test_hello_twice_and_of_another_version(void **state)
{
    Odeon__Request request = ODEON__REQUEST__INIT;
    Odeon__Hello hello = ODEON__HELLO__INIT;
    struct raw raw = raw_connect(&service);

    (void)state;
    raw_hello(&raw);
    hello.protocol = ODEON_PROTOCOL_VERSION;
    request.body_case = ODEON__REQUEST__BODY_HELLO;
    request.hello = &hello;
    raw_send(&raw, &request, NULL, 0);
    raw_expect_error(&raw, raw.last_id, -EALREADY, "hello was said already");
    raw_expect_alive(&raw);
    raw_close(&raw);
    raw = raw_connect(&service);
    hello.protocol = 4711;
    raw_send(&raw, &request, NULL, 0);
    raw_expect_error(&raw, raw.last_id, -EPROTONOSUPPORT, "4711");
    raw_expect_end(&raw);
    raw_close(&raw);
}

/* A name that would break a table or a terminal. */
static void test_names_are_made_printable(void **state)
{
    static char text[16384];
    struct raw raw = raw_connect(&service);
    uint8_t bytes[512];
    struct raw_answer answer;

    (void)state;
    raw_send_bytes(&raw, bytes, pack_hello(bytes, "esc\033[2Jape\nnewline"));
    assert_int_equal(raw_receive(&raw, &answer), 1);
    assert_int_equal(answer.reply->error, 0);
    raw_answer_fini(&answer);
    assert_int_equal(ctl(&service, text, sizeof(text), "client list"), 0);
    assert_non_null(strstr(text, "esc?[2Jape?newline"));
    assert_null(strchr(text, '\033'));
    raw_close(&raw);
}

static void test_no_id_and_unknown_request(void **state)
{
    struct raw raw = raw_connect(&service);
    uint8_t bytes[64];

    (void)state;
    raw_hello(&raw);
    /* field 900, a length of 1: a request of a release to come */
    static const uint8_t unknown[] = { 0x08, 0x07, 0xa2, 0x38, 0x01, 0x00 };
    raw_send_bytes(&raw, unknown, sizeof(unknown));
    raw_expect_error(&raw, 7, -ENOSYS, "does not know this request");
    raw_expect_alive(&raw);
    raw_send_bytes(&raw, bytes, pack_status(bytes, 0));
    raw_expect_error(&raw, 0, -EBADMSG, "without an id");
    raw_expect_end(&raw);
    raw_close(&raw);
}

static void test_unknown_fields_are_ignored(void **state)
{
    struct raw raw = raw_connect(&service);
    struct raw_answer answer;
    uint8_t bytes[128];
    size_t size;

    (void)state;
    raw_hello(&raw);
    size = pack_status(bytes, 55);
    memcpy(bytes + size, (const uint8_t[]){ 0xa2, 0x38, 0x03, 'x', 'y', 'z', 0xa8, 0x38, 0x2a }, 9);
    raw_send_bytes(&raw, bytes, size + 9);
    assert_int_equal(raw_receive(&raw, &answer), 1);
    assert_int_equal(answer.reply->id, 55);
    assert_int_equal(answer.reply->error, 0);
    assert_int_equal(answer.reply->body_case, ODEON__REPLY__BODY_STATUS);
    raw_answer_fini(&answer);
    raw_close(&raw);
}

static void send_port_open(struct raw *raw, uint64_t submission_bytes, uint64_t delivery_bytes)
{
    Odeon__Request request = ODEON__REQUEST__INIT;
    Odeon__PortOpen open = ODEON__PORT_OPEN__INIT;

    open.submission_bytes = submission_bytes;
    open.delivery_bytes = delivery_bytes;
    request.body_case = ODEON__REQUEST__BODY_PORT_OPEN;
    request.port_open = &open;
    raw_send(raw, &request, NULL, 0);
}

static void test_too_many_ports(void **state)
{
    struct raw raw = raw_connect(&service);

    (void)state;
    raw_hello(&raw);
    for (int i = 0; i < ODEON_PORTS_PER_CLIENT_MAX; i++) {
        struct raw_answer answer;

        send_port_open(&raw, ODEON_RING_MIN, ODEON_RING_MIN);
        assert_int_equal(raw_receive(&raw, &answer), 1);
        assert_int_equal(answer.reply->error, 0);
        raw_answer_fini(&answer);
    }
    send_port_open(&raw, ODEON_RING_MIN, ODEON_RING_MIN);
    raw_expect_error(&raw, raw.last_id, -EMFILE, "this client has 32 ports");
    raw_expect_alive(&raw);
    raw_close(&raw);
}

/* All ports that there are: the next one is refused, the ports in use are not disturbed, and the
 * room comes back. */
static void test_all_ports_taken(void **state)
{
    enum { CLIENTS = ODEON_PORTS_MAX / ODEON_PORTS_PER_CLIENT_MAX + 1 };
    struct raw raws[CLIENTS];
    struct raw_answer answer;
    int opened = 0, clients = 0;

    (void)state;
    skip_without_descriptors();
    for (bool full = false; !full;) {
        struct raw *raw = &raws[opened / ODEON_PORTS_PER_CLIENT_MAX];

        if (opened % ODEON_PORTS_PER_CLIENT_MAX == 0) {
            assert_true(clients < CLIENTS);
            *raw = raw_connect(&service);
            raw_hello(raw);
            clients++;
        }
        send_port_open(raw, ODEON_RING_MIN, ODEON_RING_MIN);
        assert_int_equal(raw_receive(raw, &answer), 1);
        full = answer.reply->error != 0;
        if (full) {
            assert_int_equal(answer.reply->error, -ENFILE);
            assert_non_null(strstr(answer.reply->text, "256 ports"));
        }
        raw_answer_fini(&answer);
        opened += !full;
    }
    numbers_wait(&bystander, 100);
    /* earlier ones may be on their way out */
    assert_in_range(opened, ODEON_PORTS_MAX - 40, ODEON_PORTS_MAX - 1);
    while (clients > 0)
        raw_close(&raws[--clients]);
}

/* Asked for and gone before the answer: nothing is left of it. */
static void test_gone_before_the_answer(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        struct raw raw = raw_connect(&service);

        raw_hello(&raw);
        for (int k = 0; k <= i % 4; k++)
            send_port_open(&raw, ODEON_RING_MIN, ODEON_RING_MIN);
        raw_close(&raw);
    }
}

static void test_bad_port_requests(void **state)
{
    static const uint64_t sizes[] = { 1,          4096,
                                      100000,     UINT64_C(1) << 27,
                                      UINT64_MAX, UINT64_C(1) << 63 };
    static const uint32_t policies[] = { PORT_OVERFLOW_N, UINT32_MAX };
    Odeon__Request request = ODEON__REQUEST__INIT;
    Odeon__PortClose close = ODEON__PORT_CLOSE__INIT;
    Odeon__PortOpen open = ODEON__PORT_OPEN__INIT;
    struct raw raw = raw_connect(&service);

    (void)state;
    raw_hello(&raw);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        send_port_open(&raw, sizes[i], 0);
        raw_expect_error(&raw, raw.last_id, -EINVAL, "power of two");
        send_port_open(&raw, 0, sizes[i]);
        raw_expect_error(&raw, raw.last_id, -EINVAL, "power of two");
    }
    /* what a client that does not receive asks for: the first that there is not, and the last */
    request.body_case = ODEON__REQUEST__BODY_PORT_OPEN;
    request.port_open = &open;
    for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
        open.overflow = policies[i];
        raw_send(&raw, &request, NULL, 0);
        raw_expect_error(&raw, raw.last_id, -EINVAL, "overflow policy");
    }
    /* somebody else's port, and none */
    request.body_case = ODEON__REQUEST__BODY_PORT_CLOSE;
    request.port_close = &close;
    for (uint32_t id = 0; id < 3; id++) {
        close.port_id = id;
        raw_send(&raw, &request, NULL, 0);
        raw_expect_error(&raw, raw.last_id, -ENOENT, "no open port");
    }
    close.port_id = UINT32_MAX;
    raw_send(&raw, &request, NULL, 0);
    raw_expect_error(&raw, raw.last_id, -ENOENT, "no open port");
    raw_close(&raw);
}

/* Ports of earlier tests may still be on their way out. */
static unsigned count_settled_descriptors(pid_t pid)
{
    unsigned n;

    do
        n = process_descriptors(pid);
    while (wait_until_within(1, process_descriptors(pid) != n));
    return n;
}

static void test_descriptors_that_nobody_asked_for(void **state)
{
    Odeon__Request request = ODEON__REQUEST__INIT;
    Odeon__Status status = ODEON__STATUS__INIT;
    struct raw raw = raw_connect(&service);
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

    (void)state;
    raw_hello(&raw);
    raw_expect_alive(&raw);
    unsigned before = count_settled_descriptors(service.pid);
    request.body_case = ODEON__REQUEST__BODY_STATUS;
    request.status = &status;
    for (unsigned round = getenv("ODEON_TEST_QUICK") ? 10 : 250; round > 0;
         round--) /* a flood: some 9,000 descriptors */
        for (size_t n = 1; n <= FRAME_FDS_MAX; n++) {
            raw_send(&raw, &request, (int[]){ null, null, null, null, null, null, null, null }, n);
            raw_expect_error(&raw, raw.last_id, -EINVAL, "takes 0");
        }
    raw_expect_alive(&raw);
    assert_true(wait_until(process_descriptors(service.pid) <= before)); /* none was kept */
    /* more than a frame can have */
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int) * 20)];
    } control = { 0 };
    uint8_t bytes[64];
    struct iovec part = { bytes, pack_status(bytes, 77) };
    struct msghdr message = { .msg_iov = &part,
                              .msg_iovlen = 1,
                              .msg_control = control.bytes,
                              .msg_controllen = sizeof(control.bytes) };
    control.header = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int) * 20),
                                       .cmsg_level = SOL_SOCKET,
                                       .cmsg_type = SCM_RIGHTS };
    for (int i = 0; i < 20; i++)
        memcpy(CMSG_DATA(&control.header) + (size_t)i * sizeof(int), &null, sizeof(int));
    assert_true(sendmsg(raw.fd, &message, MSG_NOSIGNAL) > 0);
    raw_expect_error(&raw, 0, -EPROTO, "descriptors");
    raw_expect_end(&raw);
    raw_close(&raw);
    assert_true(wait_until(process_descriptors(service.pid) <= before - 1));
    close(null);
}

/* Each would stop the service for an hour, and more than eight of them any number of threads. */
static void test_descriptors_that_take_long_to_close(void **state)
{
    enum { N = 20 };
    Odeon__Request request = ODEON__REQUEST__INIT;
    Odeon__Status status = ODEON__STATUS__INIT;
    struct raw raw = raw_connect(&service);
    int peers[N], n = 0, first;

    (void)state;
    raw_hello(&raw);
    first = (int)raw.last_id + 1;
    request.body_case = ODEON__REQUEST__BODY_STATUS;
    request.status = &status;
    /* all of ours are closed before any of the service's */
    assert_int_equal(kill(service.pid, SIGSTOP), 0);
    for (int i = 0; i < N; i++) {
        int fd = lingering_socket(&peers[i]);

        if (fd < 0)
            break; /* there is no TCP here */
        raw_send(&raw, &request, &fd, 1);
        close(fd);
        n++;
    }
    assert_int_equal(kill(service.pid, SIGCONT), 0);
    for (int i = 0; i < n; i++)
        raw_expect_error(&raw, (uint64_t)(first + i), -EINVAL, "takes 0");
    raw_expect_alive(&raw);
    for (int i = 0; i < n; i++)
        close(peers[i]);
    raw_close(&raw);
}

/* A hello that is sixteen thousand merged into one: quadratic work, if it were done. */
static void test_a_request_that_takes_much_to_read(void **state)
{
    static uint8_t bytes[ODEON_CONTROL_FRAME_MAX] = { 0x08, 0x02, 0x12, 0x80, 0xf4, 0x03 };
    struct raw raw = raw_connect(&service);

    (void)state;
    raw_hello(&raw);
    for (size_t at = 6; at < 6 + 64000; at += 4)
        memcpy(bytes + at, (const uint8_t[]){ 0x22, 0x02, 0x22, 0x00 }, 4);
    raw_send_bytes(&raw, bytes, 6 + 64000);
    raw_expect_error(&raw, 0, -E2BIG, "too much memory");
    raw_expect_end(&raw);
    raw_close(&raw);
}

/* As many as are read, while none is answered. */
static unsigned count_taken(struct raw *raw, Odeon__Request *request)
{
    unsigned n = 0;
    int r;

    do {
        request->id = ++raw->last_id;
        r = frame_send(raw->fd, &request->base, NULL, 0);
        n += r == 0;
    } while (r == 0 ||
             wait_until_within(1, poll(&(struct pollfd){ raw->fd, POLLOUT, 0 }, 1, 0) == 1));
    return n;
}

/* client.K2: by their number, or by what is kept for them. */
static void test_unanswered_requests_are_bounded(void **state)
{
    enum { REQUESTS = 64 }; /* that are kept of one client, however small they are */
    static char name[60000];
    Odeon__Request request = ODEON__REQUEST__INIT;
    Odeon__Lookup lookup = ODEON__LOOKUP__INIT;
    pid_t executor = (pid_t)service_state(&service).executor_pid;
    unsigned n;

    (void)state;
    memset(name, 'x', sizeof(name) - 1);
    lookup.name = name;
    request.body_case = ODEON__REQUEST__BODY_LOOKUP;
    request.lookup = &lookup;
    assert_int_equal(kill(executor, SIGSTOP), 0);
    for (int i = 0; i < 2; i++) {
        struct raw raw = raw_connect(&service);

        raw_hello(&raw);
        assert_int_equal(fcntl(raw.fd, F_SETFL, O_NONBLOCK), 0);
        n = count_taken(&raw, &request);
        assert_in_range(n, 2, 16); /* two are kept, and the socket holds some */
        raw_close(&raw);
    }
    lookup.name = (char[]){ "x" };
    for (int i = 0; i < 2; i++) {
        struct raw raw = raw_connect(&service);

        raw_hello(&raw);
        assert_int_equal(fcntl(raw.fd, F_SETFL, O_NONBLOCK), 0);
        n = count_taken(&raw, &request);
        assert_in_range(n, REQUESTS, REQUESTS + 4096); /* as above: the socket holds hundreds */
        raw_close(&raw);
    }
    assert_int_equal(kill(executor, SIGCONT), 0);
}

/* Asks and never reads: its answers are bounded, it is disconnected, and nobody waits for it. */
static void test_one_that_never_reads(void **state)
{
    struct raw raw = raw_connect(&service);
    uint8_t bytes[64];
    int64_t end = time_ns() + SECONDS(PATIENCE_S);
    ssize_t n = 0;

    (void)state;
    raw_hello(&raw);
    for (uint64_t id = 2; n >= 0 || errno == EAGAIN; id++) {
        size_t size = pack_status(bytes, id);

        n = send(raw.fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EAGAIN)
            pause_briefly();
        if (time_ns() > end)
            fail_msg("it is still connected");
    }
    assert_true(errno == EPIPE || errno == ECONNRESET);
    assert_true(wait_until(service_log_has(&service, "does not read its answers")));
    raw_close(&raw);
}

/* Many requests to the executor at once: all are answered, in order, and the others get their
 * turn. */
static void test_many_requests_at_once(void **state)
{
    Odeon__Request request = ODEON__REQUEST__INIT;
    Odeon__Lookup lookup = ODEON__LOOKUP__INIT;
    struct raw raw = raw_connect(&service);

    (void)state;
    raw_hello(&raw);
    lookup.name = (char[]){ "nobody" };
    request.body_case = ODEON__REQUEST__BODY_LOOKUP;
    request.lookup = &lookup;
    uint64_t first = raw.last_id + 1;
    for (int i = 0; i < 60; i++)
        raw_send(&raw, &request, NULL, 0);
    for (uint64_t id = first; id <= raw.last_id; id++)
        raw_expect_error(&raw, id, -ENOENT, "nobody");
    raw_close(&raw);
}

/* The bodies of the requests that make no sense. */
struct senseless {
    Odeon__Spawn spawn;
    Odeon__ActorSend send;
    Odeon__ActorStop stop;
    Odeon__MessageType type;
    Odeon__MessageTypeIntern intern, nothing;
    Odeon__Setting setting, *settings[1];
    Odeon__ExecutorSet set;
    Odeon__Lookup lookup;
    Odeon__PluginUnload unload;
    Odeon__StartActor start_actor;
};

static void senseless_init(struct senseless *s, char *longest)
{
    *s = (struct senseless){ .spawn = ODEON__SPAWN__INIT,
                             .send = ODEON__ACTOR_SEND__INIT,
                             .stop = ODEON__ACTOR_STOP__INIT,
                             .type = ODEON__MESSAGE_TYPE__INIT,
                             .intern = ODEON__MESSAGE_TYPE_INTERN__INIT,
                             .nothing = ODEON__MESSAGE_TYPE_INTERN__INIT,
                             .setting = ODEON__SETTING__INIT,
                             .settings = { &s->setting },
                             .set = ODEON__EXECUTOR_SET__INIT,
                             .lookup = ODEON__LOOKUP__INIT,
                             .unload = ODEON__PLUGIN_UNLOAD__INIT,
                             .start_actor = ODEON__START_ACTOR__INIT };
    s->spawn.type = longest;
    s->send.ref = UINT64_MAX;
    s->send.message = longest;
    s->stop.ref = UINT64_MAX;
    s->stop.how = 77;
    s->type.name = (char *)"bad\nname";
    s->intern.type = &s->type;
    s->setting.key = longest;
    s->setting.value = (char *)"";
    s->set.n_settings = 1;
    s->set.settings = s->settings;
    s->lookup.name = longest;
    s->unload.name = longest;
    s->start_actor.type = longest;
}

static void expect_refusal(struct raw *raw, Odeon__Request__BodyCase body, Odeon__Request request)
{
    struct raw_answer answer;

    request.body_case = body;
    raw_send(raw, &request, NULL, 0);
    assert_int_equal(raw_receive(raw, &answer), 1);
    assert_int_equal(answer.reply->id, raw->last_id);
    if (answer.reply->error >= 0 || strlen(answer.reply->text) < 10)
        fail_msg("request %d: error %d, '%s'", body, answer.reply->error, answer.reply->text);
    raw_answer_fini(&answer);
    raw_expect_alive(raw);
}

/* Requests with strings, numbers and payloads that make no sense. */
static void test_senseless_requests(void **state)
{
    static char longest[60000];
    struct raw raw = raw_connect(&service);
    Odeon__Request request = ODEON__REQUEST__INIT;
    struct senseless s;

    (void)state;
    raw_hello(&raw);
    memset(longest, 'x', sizeof(longest) - 1);
    senseless_init(&s, longest);
    request.spawn = &s.spawn;
    expect_refusal(&raw, ODEON__REQUEST__BODY_SPAWN, request);
    request.actor_send = &s.send;
    expect_refusal(&raw, ODEON__REQUEST__BODY_ACTOR_SEND, request);
    request.actor_stop = &s.stop;
    expect_refusal(&raw, ODEON__REQUEST__BODY_ACTOR_STOP, request);
    request.message_type_intern = &s.intern;
    expect_refusal(&raw, ODEON__REQUEST__BODY_MESSAGE_TYPE_INTERN, request);
    request.executor_set = &s.set;
    expect_refusal(&raw, ODEON__REQUEST__BODY_EXECUTOR_SET, request);
    request.lookup = &s.lookup;
    expect_refusal(&raw, ODEON__REQUEST__BODY_LOOKUP, request);
    request.plugin_unload = &s.unload;
    expect_refusal(&raw, ODEON__REQUEST__BODY_PLUGIN_UNLOAD, request);
    request.start_actor = &s.start_actor; /* odeond's own */
    expect_refusal(&raw, ODEON__REQUEST__BODY_START_ACTOR, request);
    request.message_type_intern = &s.nothing;
    expect_refusal(&raw, ODEON__REQUEST__BODY_MESSAGE_TYPE_INTERN, request);
    raw_close(&raw);
}

/* What odeond asks for when its configuration has been read again; and a change that says two
 * things of one setting. */
static void test_settings_for_the_next_start_and_twice(void **state)
{
    struct raw raw = raw_connect(&service);
    Odeon__Setting first = ODEON__SETTING__INIT, second = ODEON__SETTING__INIT;
    Odeon__Setting *settings[] = { &first, &second };
    Odeon__ExecutorSet set = ODEON__EXECUTOR_SET__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;

    (void)state;
    raw_hello(&raw);
    first.key = (char[]){ "actors" };
    first.value = (char[]){ "2048" };
    second.key = (char[]){ "throughput" };
    second.value = (char[]){ "77" };
    set.n_settings = 2;
    set.settings = settings;
    set.later = true;
    request.body_case = ODEON__REQUEST__BODY_EXECUTOR_SET;
    request.executor_set = &set;
    raw_send(&raw, &request, NULL, 0);
    raw_expect_error(&raw, raw.last_id, -EPERM, "odeond alone");
    set.later = false;
    first.key = (char[]){ "throughput" };
    first.value = (char[]){ "78" };
    raw_send(&raw, &request, NULL, 0);
    raw_expect_error(&raw, raw.last_id, -EINVAL, "throughput is given twice");
    assert_false(service_log_has(&service, "for the next start"));
    assert_false(service_log_has(&service, "setting throughput is now"));
    raw_expect_alive(&raw);
    raw_close(&raw);
}

/* One that fills the table of clients: the next is refused with a reason, and the room comes
 * back. */
static void test_too_many_clients(void **state)
{
    static struct raw raws[ODEON_CLIENTS_MAX];
    struct odeon_client *client = NULL;
    int n = 0, r = 0;

    (void)state;
    skip_without_descriptors();
    for (; n < ODEON_CLIENTS_MAX - 1; n++)
        raws[n] = raw_connect(&service);
    assert_true(wait_until(service_state(&service).clients == ODEON_CLIENTS_MAX));
    r = odeon_client_connect(service.socket, "one too many", &client);
    assert_int_equal(r, -EUSERS);
    assert_non_null(strstr(odeon_error_text(), "1024 clients"));
    while (n > 0)
        raw_close(&raws[--n]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_truncated_request, check_bystander),
        cmocka_unit_test_teardown(test_random_bytes, check_bystander),
        cmocka_unit_test_teardown(test_empty_record, check_bystander),
        cmocka_unit_test_teardown(test_oversized_frame, check_bystander),
        cmocka_unit_test_teardown(test_no_hello, check_bystander),
        cmocka_unit_test_teardown(test_hello_twice_and_of_another_version, check_bystander),
        cmocka_unit_test_teardown(test_names_are_made_printable, check_bystander),
        cmocka_unit_test_teardown(test_no_id_and_unknown_request, check_bystander),
        cmocka_unit_test_teardown(test_unknown_fields_are_ignored, check_bystander),
        cmocka_unit_test_teardown(test_too_many_ports, check_bystander),
        cmocka_unit_test_teardown(test_all_ports_taken, check_bystander),
        cmocka_unit_test_teardown(test_gone_before_the_answer, check_bystander),
        cmocka_unit_test_teardown(test_bad_port_requests, check_bystander),
        cmocka_unit_test_teardown(test_descriptors_that_nobody_asked_for, check_bystander),
        cmocka_unit_test_teardown(test_descriptors_that_take_long_to_close, check_bystander),
        cmocka_unit_test_teardown(test_a_request_that_takes_much_to_read, check_bystander),
        cmocka_unit_test_teardown(test_unanswered_requests_are_bounded, check_bystander),
        cmocka_unit_test_teardown(test_one_that_never_reads, check_bystander),
        cmocka_unit_test_teardown(test_many_requests_at_once, check_bystander),
        cmocka_unit_test_teardown(test_senseless_requests, check_bystander),
        cmocka_unit_test_teardown(test_settings_for_the_next_start_and_twice, check_bystander),
        cmocka_unit_test_teardown(test_too_many_clients, check_bystander),
    };

    return cmocka_run_group_tests_name("control", tests, setup, teardown);
}
