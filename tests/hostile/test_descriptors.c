/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors in flight: the kernel counts those that lie unread in sockets to the user who sent
 * them, and at RLIMIT_NOFILE that user can send no more. One who does not read must not use up what
 * the service has for all.
 *
 * Under the limits of the packaged unit: a user of its own, no capabilities, its LimitNOFILE.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/common/frame.h"
#include "proto/bounds.h"
#include "proto/control.pb-c.h"
#include "tests/hostile/place.h"
#include "tests/system/harness.h"
#include "tests/system/probe.h"
#include "tests/system/user.h"

enum { RECORD_MAX = 4096 };

static const struct user owner = { 41010, 41010, 0 }, attacker = { 41001, 41001, 0 },
                         innocent = { 41002, 41002, 0 };
static struct service service;

static void start(void)
{
    if (!user_can_change()) {
        print_message("# skipped: other users can be played by root alone\n");
        skip();
    }
    service_make_dir(&service);
    place_under_unit(&service, owner);
    service_spawn(&service,
                  (const char *const[]){ SMALL_SERVICE, "--set", "socket-mode=0666", "--set",
                                         "role-post=*", "--plugin", TEST_PROBE, NULL });
    service_wait_ready(&service);
}

static int end(void **state)
{
    (void)state;
    if (service.pid > 0)
        assert_int_equal(service_stop(&service, SIGTERM), 0);
    service_end(&service);
    return 0;
}

/* ---- a process of another user, which does something and then holds what it has */

struct holder {
    pid_t pid;
    int told; /* readable: it has done it */
};

static struct holder hold(struct user user, void (*act)(void))
{
    pid_t parent = getpid();
    struct holder holder;
    int ends[2];

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    holder.pid = fork();
    assert_true(holder.pid >= 0);
    if (holder.pid == 0) {
        if (!user_become(user) || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
            _exit(1);
        act();
        if (write(ends[1], "", 1) == 1)
            for (;;)
                pause();
        _exit(1);
    }
    close(ends[1]);
    holder.told = ends[0];
    return holder;
}

static bool has_told(const struct holder *holder)
{
    struct pollfd p = { .fd = holder->told, .events = POLLIN };

    return poll(&p, 1, 0) == 1;
}

static void let_go(struct holder *holder)
{
    assert_int_equal(kill(holder->pid, SIGKILL), 0);
    assert_int_equal(waitpid(holder->pid, NULL, 0), holder->pid);
    close(holder->told);
}

/* ---- the attacks; in the holder's process, where no assertion works */

/* The requests so far, in memory that the test has, too: as long as they grow, it goes on. */
static _Atomic uint64_t *said;

static int say(int socket, Odeon__Request *request)
{
    request->id = ++*said;
    return frame_send(socket, &request->base, NULL, 0);
}

/* The next answer as it lies there: it stays unread. NULL: none came. */
static Odeon__Reply *peek(int socket)
{
    uint8_t record[RECORD_MAX];

    for (int waited = 0; waited < PATIENCE_MS; waited++) {
        ssize_t n = recv(socket, record, sizeof(record), MSG_PEEK | MSG_DONTWAIT);

        if (n > 0)
            return odeon__reply__unpack(NULL, (size_t)n, record);
        if (n == 0 || errno != EAGAIN)
            return NULL;
        poll(NULL, 0, 1);
    }
    return NULL;
}

/* Negative: it could not; otherwise a socket that has said hello, and from which nothing is read
 * any more. */
static int connect_deaf(void)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), from = 0;
    Odeon__Request request = ODEON__REQUEST__INIT;
    Odeon__Hello hello = ODEON__HELLO__INIT;
    Odeon__Reply *reply;

    strcpy(address.sun_path, service.socket);
    hello.protocol = ODEON_PROTOCOL_VERSION;
    hello.name = (char[]){ "deaf" };
    request.body_case = ODEON__REQUEST__BODY_HELLO;
    request.hello = &hello;
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_PEEK_OFF, &from, sizeof(from)) < 0 || say(fd, &request) < 0)
        return -1;
    reply = peek(fd);
    if (!reply)
        return -1;
    odeon__reply__free_unpacked(reply, NULL);
    return fd;
}

enum opened { OPENED, REFUSED, SILENT };

static enum opened open_deaf(int socket, bool close_it)
{
    Odeon__Request request = ODEON__REQUEST__INIT;
    Odeon__PortOpen open = ODEON__PORT_OPEN__INIT;
    Odeon__PortClose close = ODEON__PORT_CLOSE__INIT;
    Odeon__Reply *reply;

    open.submission_bytes = open.delivery_bytes = 1 << 16;
    open.pipe = true;
    request.body_case = ODEON__REQUEST__BODY_PORT_OPEN;
    request.port_open = &open;
    if (say(socket, &request) < 0 || !(reply = peek(socket)))
        return SILENT;
    if (reply->error < 0) {
        odeon__reply__free_unpacked(reply, NULL);
        return REFUSED;
    }
    close.port_id = reply->port_open->port_id;
    odeon__reply__free_unpacked(reply, NULL);
    if (!close_it)
        return OPENED;
    request = (Odeon__Request)ODEON__REQUEST__INIT;
    request.body_case = ODEON__REQUEST__BODY_PORT_CLOSE;
    request.port_close = &close;
    if (say(socket, &request) < 0 || !(reply = peek(socket)))
        return SILENT;
    odeon__reply__free_unpacked(reply, NULL);
    return OPENED;
}

/* Until each of 40 connections has been refused several times in a row, or the service is dumb: a
 * port that is being drained counts, so one refusal says little. */
static void act_deaf(void)
{
    for (int i = 0; i < 40; i++) {
        int fd = connect_deaf(), refused = 0;

        if (fd < 0)
            return;
        for (int n = 0; n < 130 && refused < 20; n++) {
            enum opened opened = open_deaf(fd, true);

            if (opened == SILENT)
                return;
            refused = opened == REFUSED ? refused + 1 : 0;
        }
    }
}

/* The same by connections that are over for the service, and are kept. */
static void act_gone(void)
{
    for (int i = 0; i < 200; i++) {
        int fd = connect_deaf();

        if (fd < 0)
            return;
        for (int n = 0; n < 30; n++)
            if (open_deaf(fd, false) == SILENT)
                return;
        if (shutdown(fd, SHUT_WR) < 0)
            return;
    }
}

/* ---- who has nothing to do with it */

static int open_port(struct odeon_client *client, void *argument)
{
    struct odeon_port_options options = { .struct_size = sizeof(options), .pipe = true };
    struct odeon_port *port = NULL;
    int r;

    (void)argument;
    (void)odeon_client_set_patience(client, SECONDS(PATIENCE_S));
    r = odeon_port_open(client, &options, &port);
    odeon_port_close(port);
    return r;
}

/* Bystanders all the while; how many. */
static unsigned attack(void (*act)(void), struct holder *ret_holder)
{
    int64_t end = time_ns() + SECONDS(PATIENCE_S);
    uint64_t before = 0;
    unsigned n = 0;

    said = mmap(NULL, sizeof(*said), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(said, MAP_FAILED);
    *ret_holder = hold(attacker, act);
    for (bool over = false; !over; n++) {
        over = has_told(ret_holder);
        user_expects(&service, innocent, open_port, NULL, 0, NULL);
        assert_false(service_log_has(&service, "Too many references"));
        if (*said > before) {
            before = *said;
            end = time_ns() + SECONDS(PATIENCE_S);
        }
        assert_true(time_ns() < end);
    }
    munmap((void *)said, sizeof(*said));
    return n;
}

static int count_unread(struct odeon_client *client, void *argument)
{
    struct odeon_list *list = NULL;
    struct odeon_client_detail *detail = NULL;
    uint64_t *ret_user = argument;
    int r = odeon_client_list(client, 0, 0, &list);

    for (size_t i = 0; r == 0 && i < list->n; i++) {
        const struct odeon_client_info *row = &((const struct odeon_client_info *)list->rows)[i];

        if (row->uid != attacker.uid || odeon_client_show(client, row->id, &detail) < 0)
            continue;
        for (size_t k = 0; k < detail->n_usage; k++)
            if (strcmp(detail->usage[k].name, "descriptors") == 0)
                *ret_user = detail->usage[k].user;
        odeon_result_free(detail);
    }
    odeon_list_free(list);
    return r;
}

/* Shown to whoever asks for a client of it. */
static uint64_t attackers_descriptors(void)
{
    struct odeon_client *root = service_connect(&service, "root");
    uint64_t n = 0;

    assert_int_equal(count_unread(root, &n), 0);
    odeon_client_disconnect(root);
    return n;
}

/* Its user has as many as it may, and that is said; afterwards it has none. */
static void expect_charged(struct holder *holder, bool connected)
{
    uint64_t limit = place_unit_descriptors() / 16;

    assert_true(service_log_has(&service, "is refused a port: its user's quota-descriptors"));
    user_expects(&service, attacker, open_port, NULL, -EDQUOT, "quota-descriptors");
    if (connected)
        assert_in_range(attackers_descriptors(), limit - limit / 4, limit);
    let_go(holder);
    assert_true(wait_until(user_does(&service, attacker, open_port, NULL).r == 0));
}

static void expect_no_harm(void)
{
    assert_int_equal(service_state(&service).executor_restarts, 0);
    user_expects(&service, innocent, open_port, NULL, 0, NULL);
    user_expects(&service, (struct user){ 0 }, open_port, NULL, 0, NULL);
}

static void test_ports_opened_by_one_who_does_not_read(void **state)
{
    struct holder deaf;

    (void)state;
    start();
    attack(act_deaf, &deaf);
    expect_no_harm();
    expect_charged(&deaf, true);
}

static void test_connections_that_have_gone_and_are_kept(void **state)
{
    struct holder gone;

    (void)state;
    start();
    attack(act_gone, &gone);
    expect_no_harm();
    expect_charged(&gone, false);
}

/* ---- nothing can be sent, by whomever of the service's user */

static int send_many(int socket)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int) * FRAME_FDS_MAX)];
    } control = { .header = { .cmsg_len = CMSG_LEN(sizeof(int) * FRAME_FDS_MAX),
                              .cmsg_level = SOL_SOCKET,
                              .cmsg_type = SCM_RIGHTS } };
    char junk[8] = "junk";
    struct iovec part = { junk, sizeof(junk) };
    struct msghdr record = { .msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes) };

    memset(CMSG_DATA(&control.header), 0, sizeof(int) * FRAME_FDS_MAX); /* standard input */
    return sendmsg(socket, &record, MSG_DONTWAIT) < 0 ? -errno : 0;
}

static void act_fill(void)
{
    const struct rlimit limit = { service.descriptors, service.descriptors };
    int r = -EAGAIN;

    if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
        return;
    while (r == -EAGAIN) {
        int ends[2];

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
            return;
        while ((r = send_many(ends[0])) == 0)
            ;
    }
}

static void act_open(void)
{
    struct odeon_client *client = NULL;

    if (odeon_client_connect(service.socket, "waits", &client) < 0 || open_port(client, NULL) < 0)
        _exit(1);
}

/* Neither the executor nor a client is to blame. */
static void test_what_cannot_be_sent_now_is_sent_later(void **state)
{
    struct holder filler, waits;
    pid_t executor;

    (void)state;
    start();
    executor = service_executor(&service);
    filler = hold(owner, act_fill);
    assert_true(wait_until(has_told(&filler)));
    waits = hold(innocent, act_open);
    assert_true(wait_until(service_log_has(&service, "cannot be sent something now")));
    assert_int_equal(kill(executor, SIGKILL), 0);
    assert_true(wait_until(service_log_count(&service, "executor started") == 2));
    /* as long as this takes: nothing can happen that ends it */
    assert_false(wait_until_within(1, has_told(&waits)));
    assert_int_equal(service_log_count(&service, "executor started"), 2);
    let_go(&filler);
    assert_true(wait_until(has_told(&waits)));
    assert_int_equal(service_log_count(&service, "has died"), 1);
    assert_int_equal(service_state(&service).executor_restarts, 1);
    let_go(&waits);
    user_expects(&service, innocent, open_port, NULL, 0, NULL);
}

/* ---- the executor has none left */

struct spender_told {
    uint64_t opened;
    int32_t error;
    uint32_t padding;
};

static void spend(struct odeon_client *client, struct odeon_port *port)
{
    static const struct odeon_message_type spend_type = {
        .struct_size = sizeof(spend_type), .version = 1, .name = "spender_spend", .fields = ""
    };
    odeon_ref spender = spawn(client, "spender", NULL, NULL, 0);
    struct odeon_delivery reply;
    struct spender_told told;

    assert_int_equal(odeon_port_call(port, spender, message_id(client, &spend_type), NULL, 0,
                                     SECONDS(PATIENCE_S), &reply),
                     ODEON_CALL_REPLY);
    memcpy(&told, reply.data, sizeof(told));
    odeon_port_release(port);
    assert_int_equal(told.error, -EMFILE);
    assert_true(told.opened > 1000);
}

/* Every request has an outcome: what is left of the reserve serves some, the others are told. */
static void test_a_plugin_that_opens_all_there_is(void **state)
{
    enum { TRIES = 24 };
    struct odeon_client *client;
    struct odeon_port *port, *more[TRIES] = { NULL };
    unsigned opened = 0, refused = 0;
    int r;

    (void)state;
    start();
    client = service_connect(&service, "root");
    load_plugin(client, TEST_PLUGINS "/spender.so");
    port = port_open_or_fail(client, 1 << 16, 1 << 16, false);
    spend(client, port);
    for (unsigned i = 0; i < TRIES; i++) {
        struct odeon_port_options options = { .struct_size = sizeof(options), .pipe = true };

        r = odeon_port_open(client, &options, &more[i]);
        opened += r == 0;
        refused += r == -EMFILE;
        if (r < 0 && (r != -EMFILE || !strstr(odeon_error_text(), "the executor")))
            fail_msg("a port: %d, %s", r, odeon_error_text());
    }
    assert_true(opened > 0 && refused > 0);
    r = odeon_plugin_load(client, TEST_PLUGINS "/good.so");
    if (r < 0 && (r != -EMFILE || !strstr(odeon_error_text(), "the executor")))
        fail_msg("a plugin: %d, %s", r, odeon_error_text());
    for (unsigned i = 0; i < TRIES; i++)
        odeon_port_close(more[i]);
    /* the reserve is full again when they are drained */
    assert_true(wait_until(user_does(&service, innocent, open_port, NULL).r == 0));
    assert_int_equal(service_state(&service).executor_restarts, 0);
    odeon_port_close(port);
    odeon_client_disconnect(client);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_ports_opened_by_one_who_does_not_read, end),
        cmocka_unit_test_teardown(test_connections_that_have_gone_and_are_kept, end),
        cmocka_unit_test_teardown(test_what_cannot_be_sent_now_is_sent_later, end),
        cmocka_unit_test_teardown(test_a_plugin_that_opens_all_there_is, end),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("descriptors", tests, NULL, NULL);
}
