/* SPDX-License-Identifier: Apache-2.0 */
/* odeond, spoken to frame by frame by good clients and by bad ones.
 *
 * usage: test_supervisor_protocol ODEOND EXECUTOR
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

static void test_access(void **state)
{
    struct stat st;
    pid_t second;
    int status;

    (void)state;
    assert_int_equal(stat(service_socket, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    second = service_spawn();
    status = service_wait_for_end(second);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    assert_true(service_log_contains("another odeond, process "));
    close(peer_connect("after the second one"));
}

static void test_hello(void **state)
{
    Odeon__Hello hello = ODEON__HELLO__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;
    Odeon__Status status = ODEON__STATUS__INIT;
    Odeon__Reply *reply;
    int fd = peer_connect_raw();

    (void)state;
    request.body_case = ODEON__REQUEST__BODY_STATUS;
    request.status = &status;
    reply = peer_call(fd, &request);
    assert_int_equal(reply->error, -EPROTO);
    peer_drop(reply);
    peer_assert_end(fd);

    fd = peer_connect_raw();
    hello.protocol = ODEON_PROTOCOL_VERSION + 1;
    request.body_case = ODEON__REQUEST__BODY_HELLO;
    request.hello = &hello;
    reply = peer_call(fd, &request);
    assert_int_equal(reply->error, -EPROTONOSUPPORT);
    peer_drop(reply);
    peer_assert_end(fd);

    fd = peer_connect("twice");
    hello.protocol = ODEON_PROTOCOL_VERSION;
    reply = peer_call(fd, &request);
    assert_int_equal(reply->error, -EALREADY);
    peer_drop(reply);
    peer_drop(peer_call_status(fd)); /* and goes on */
    close(fd);
}

static void test_records_that_are_no_requests(void **state)
{
    static const uint8_t garbage[] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                       0xff, 0xff, 0xff, 0xff, 0xff };
    /* a hello of 127 bytes that is not there */
    static const uint8_t truncated[] = { 0x08, 0x05, 0x12, 0x7f, 0x08 };
    static const uint8_t no_id[] = { 0x2a, 0x00 };
    uint8_t *large = calloc(1, ODEON_CONTROL_FRAME_MAX + 1);
    int bystander = peer_connect("bystander"), fd;

    (void)state;
    fd = peer_connect("garbage");
    assert_int_equal(send(fd, garbage, sizeof(garbage), 0), sizeof(garbage));
    peer_assert_refused(fd, -EBADMSG, "no request");
    fd = peer_connect_raw(); /* also before hello */
    assert_int_equal(send(fd, truncated, sizeof(truncated), 0), sizeof(truncated));
    peer_assert_refused(fd, -EBADMSG, "no request");
    fd = peer_connect("no id");
    assert_int_equal(send(fd, no_id, sizeof(no_id), 0), sizeof(no_id));
    peer_assert_refused(fd, -EBADMSG, "without an id");
    fd = peer_connect("empty");
    assert_int_equal(send(fd, "", 0, 0), 0);
    peer_assert_refused(fd, -EBADMSG, "empty record");
    fd = peer_connect("large");
    assert_int_equal(send(fd, large, ODEON_CONTROL_FRAME_MAX + 1, 0), ODEON_CONTROL_FRAME_MAX + 1);
    peer_assert_refused(fd, -EMSGSIZE, "65536");
    peer_drop(peer_call_status(bystander));
    close(bystander);
    free(large);
}

static void test_unknown_request(void **state)
{
    /* id 9, then field 1000 with two bytes; the same with a known request and an unknown field in
     * it */
    static const uint8_t unknown[] = { 0x08, 0x09, 0xc2, 0x3e, 0x02, 0x01, 0x02 };
    static const uint8_t known[] = { 0x08, 0x0a, 0x2a, 0x04, 0xc0, 0x3e, 0x05, 0x00 };
    int fd = peer_connect("from the future");
    Odeon__Reply *reply;

    (void)state;
    assert_int_equal(send(fd, unknown, sizeof(unknown), 0), sizeof(unknown));
    reply = peer_receive(fd);
    assert_int_equal(reply->id, 9);
    assert_int_equal(reply->error, -ENOSYS);
    peer_drop(reply);
    assert_int_equal(send(fd, known, 7, 0), 7); /* too short for what it says */
    reply = peer_receive(fd);
    assert_int_equal(reply->error, -EBADMSG);
    peer_drop(reply);
    close(fd);
    fd = peer_connect("unknown field");
    assert_int_equal(send(fd, (const uint8_t[]){ 0x08, 0x0a, 0x2a, 0x03, 0xc0, 0x3e, 0x05 }, 7, 0),
                     7);
    reply = peer_receive(fd);
    assert_int_equal(reply->id, 10);
    assert_int_equal(reply->error, 0);
    assert_int_equal(reply->body_case, ODEON__REPLY__BODY_STATUS);
    peer_drop(reply);
    close(fd);
}

static void test_descriptors_nobody_wants(void **state)
{
    Odeon__Status status = ODEON__STATUS__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;
    int fd = peer_connect("generous"), fds[FRAME_FDS_MAX] = { 0 };
    Odeon__Reply *reply;

    (void)state;
    request.id = 1;
    request.body_case = ODEON__REQUEST__BODY_STATUS;
    request.status = &status;
    assert_int_equal(frame_send(fd, &request.base, fds, FRAME_FDS_MAX), 0);
    reply = peer_receive(fd);
    assert_int_equal(reply->error, -EINVAL);
    peer_drop(reply);
    peer_drop(peer_call_status(fd));
    close(fd);
}

static void test_port_descriptors(void **state)
{
    int fd = peer_connect("port");
    Odeon__Reply *reply = peer_call_port_open(fd, ODEON_RING_MIN, true);
    const Odeon__PortOpenReply *port = reply->port_open;
    struct port_executor *words;

    (void)state;
    assert_int_equal(reply->error, 0);
    assert_int_equal(reply->body_case, ODEON__REPLY__BODY_PORT_OPEN);
    assert_int_equal(peer_last.n_fds, 4);
    assert_true(port->ref != 0);
    assert_int_equal(port->token.len, 16);
    assert_int_equal(port->payload_max, ODEON_PAYLOAD_MAX);
    assert_true(port->actors_max > 0);
    assert_int_equal(
        memfd_check(peer_last.fds[0], port->submission_offset + port->submission_bytes), 0);
    assert_int_equal(memfd_check(peer_last.fds[1], port->delivery_offset + port->delivery_bytes),
                     0);
    assert_int_equal(fcntl(peer_last.fds[0], F_GETFL) & O_ACCMODE, O_RDWR);
    assert_int_equal(fcntl(peer_last.fds[1], F_GETFL) & O_ACCMODE, O_RDONLY);
    assert_ptr_equal(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, peer_last.fds[1], 0),
                     MAP_FAILED);
    assert_int_equal(send(peer_last.fds[3], "x", 1, MSG_NOSIGNAL), -1); /* to be read alone */
    assert_int_equal(errno, EPIPE);
    words = mmap(NULL, 4096, PROT_READ, MAP_SHARED, peer_last.fds[1], 0);
    assert_ptr_not_equal(words, MAP_FAILED);
    assert_int_equal(atomic_load(&words->broken), PORT_OK);
    port->token.data[7] ^= 1; /* of one that had this number before, and has ended */
    assert_int_equal(peer_call_port_close_with(fd, port->port_id, port->token.data, 16), -ENOENT);
    port->token.data[7] ^= 1;
    assert_int_equal(peer_call_port_close_with(fd, port->port_id, port->token.data, 15), -ENOENT);
    assert_int_equal(peer_call_port_close_with(fd, port->port_id, port->token.data, 16), 0);
    assert_int_equal(atomic_load(&words->broken), PORT_BROKEN_CLOSED); /* whoever looks sees it */
    munmap(words, 4096);
    assert_int_equal(peer_call_port_close(fd, port->port_id), -ENOENT);
    assert_int_equal(peer_call_port_close(fd, UINT32_MAX), -ENOENT);
    peer_drop(reply);
    reply = peer_call_port_open(fd, ODEON_RING_MIN + 8, false);
    assert_int_equal(reply->error, -EINVAL);
    peer_drop(reply);
    close(fd);
}

static void test_port_limits(void **state)
{
    int fd = peer_connect("many"), other = peer_connect("other");
    uint32_t first = 0;
    int64_t deadline = service_now_ms() + PATIENCE_MS;

    (void)state;
    for (int i = 0; i < ODEON_PORTS_PER_CLIENT_MAX; i++) {
        Odeon__Reply *reply = peer_call_port_open(fd, ODEON_RING_MIN, false);

        assert_int_equal(reply->error, 0);
        first = i ? first : reply->port_open->port_id;
        peer_drop(reply);
    }
    {
        Odeon__Reply *reply = peer_call_port_open(fd, ODEON_RING_MIN, false);

        assert_int_equal(reply->error, -EMFILE);
        peer_drop(reply);
    }
    assert_int_equal(peer_call_port_close(other, first), -ENOENT); /* not his */
    assert_int_equal(peer_call_port_close(fd, first), 0);
    for (int error = -EMFILE; error != 0;) { /* as soon as it is drained there is room again */
        Odeon__Reply *reply = peer_call_port_open(fd, ODEON_RING_MIN, false);

        error = reply->error;
        assert_true(error == 0 || error == -EMFILE);
        assert_true(service_now_ms() < deadline);
        peer_drop(reply);
    }
    close(fd);
    for (uint32_t ports = 1; ports != 0;) { /* the end of the connection closes them all */
        Odeon__Reply *reply = peer_call_status(other);

        ports = reply->status->ports;
        peer_drop(reply);
        assert_true(service_now_ms() < deadline);
    }
    close(other);
}

/* Of the clients with this name: those of its ports that were closed for what was written there. */
static uint32_t count_broken_ports(int fd, const char *name)
{
    Odeon__ClientList list = ODEON__CLIENT_LIST__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;
    Odeon__Reply *reply;
    uint32_t n = 0;

    request.body_case = ODEON__REQUEST__BODY_CLIENT_LIST;
    request.client_list = &list;
    reply = peer_call(fd, &request);
    assert_int_equal(reply->error, 0);
    for (size_t i = 0; i < reply->client_list->n_clients; i++)
        if (strcmp(reply->client_list->clients[i]->name, name) == 0)
            n += reply->client_list->clients[i]->broken_ports;
    peer_drop(reply);
    return n;
}

static void test_broken_port(void **state)
{
    int fd = peer_connect("vandal"), other = peer_connect("bystander");
    Odeon__Reply *reply = peer_call_port_open(fd, ODEON_RING_MIN, false);
    uint32_t id = reply->port_open->port_id;
    struct port_client *words =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, peer_last.fds[0], 0);
    int doorbell = frame_take_fd(&peer_last, 2);

    (void)state;
    assert_ptr_not_equal(words, MAP_FAILED);
    peer_drop(reply);
    atomic_store(&words->submission_tail, UINT64_C(1) << 40);
    assert_int_equal(write(doorbell, &(uint64_t){ 1 }, 8), 8);
    reply = peer_receive(fd);
    assert_non_null(reply->event);
    assert_int_equal(reply->event->body_case, ODEON__EVENT__BODY_PORT_BROKEN);
    assert_int_equal(reply->event->port_broken->port_id, id);
    assert_string_equal(reply->event->port_broken->reason, port_broken_name(PORT_BROKEN_TAIL));
    peer_drop(reply);
    assert_int_equal(peer_call_port_close(fd, id), -ENOENT); /* closed already */
    reply = peer_call_port_open(fd, ODEON_RING_MIN, false);  /* may try again */
    assert_int_equal(reply->error, 0);
    peer_drop(reply);
    peer_drop(peer_call_status(other));
    assert_int_equal(count_broken_ports(other, "vandal"), 1);
    assert_int_equal(count_broken_ports(other, "bystander"), 0);
    assert_true(service_log_contains("vandal"));
    munmap(words, 4096);
    close(doorbell);
    close(fd);
    close(other);
}

static void test_slow_reader(void **state)
{
    Odeon__Status status = ODEON__STATUS__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;
    int fd = peer_connect("slow reader"), other = peer_connect("other"), r = 0;
    int64_t deadline = service_now_ms() + PATIENCE_MS;

    (void)state;
    request.body_case = ODEON__REQUEST__BODY_STATUS;
    request.status = &status;
    while (r == 0) {
        request.id++;
        r = frame_send(fd, &request.base, NULL, 0);
        assert_true(service_now_ms() < deadline);
    }
    assert_true(r == -EPIPE || r == -ECONNRESET);
    peer_drop(peer_call_status(other));
    service_wait_for_log("slow reader");
    service_wait_for_log("does not read its answers");
    close(fd);
    close(other);
}

static void ask_hello(int fd, uint32_t protocol, Odeon__Resume *resume)
{
    Odeon__Hello hello = ODEON__HELLO__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;

    hello.protocol = protocol;
    hello.name = (char[]){ "comes back" };
    hello.resume = resume;
    request.id = 1;
    request.body_case = ODEON__REQUEST__BODY_HELLO;
    request.hello = &hello;
    assert_int_equal(frame_send(fd, &request.base, NULL, 0), 0);
}

static void come_with_another_version(void)
{
    int fd = peer_connect_raw();

    ask_hello(fd, ODEON_PROTOCOL_VERSION + 98, NULL);
    peer_drop(peer_receive(fd));
    peer_assert_end(fd);
}

static void come_as_somebody_else(void)
{
    Odeon__Resume resume = ODEON__RESUME__INIT;
    int fd = peer_connect_raw();
    Odeon__Reply *reply;

    ask_hello(fd, ODEON_PROTOCOL_VERSION, &resume);
    reply = peer_receive(fd);
    assert_int_equal(reply->error, -ESTALE);
    peer_drop(reply);
    peer_assert_end(fd);
}

/* The answer is there, and stays unread: the service's end of the connection is reset. */
static void go_without_reading(void)
{
    struct pollfd p = { .fd = peer_connect_raw(), .events = POLLIN };

    ask_hello(p.fd, ODEON_PROTOCOL_VERSION, NULL);
    assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
    close(p.fd);
}

static void wait_until_alone(int fd)
{
    int64_t deadline = service_now_ms() + PATIENCE_MS;
    Odeon__Reply *reply;
    bool alone = false;

    while (!alone) {
        assert_true(service_now_ms() < deadline);
        reply = peer_call_status(fd);
        alone = reply->status->clients == 1;
        peer_drop(reply);
        poll(NULL, 0, 2);
    }
}

/* What is no offence, and can be had as often as one likes, does not fill the log; the first of
 * each kind is in it at once. */
static void test_who_comes_back_and_back(void **state)
{
    enum { ROUNDS = 100, HANDFUL = 8 };
    static const struct {
        void (*come)(void);
        const char *said;
    } ways[] = {
        { come_with_another_version, "is disconnected: speaks another version" },
        { come_as_somebody_else, "is disconnected: the service has begun anew" },
        { go_without_reading, "is disconnected: Connection reset by peer" },
    };
    int other = peer_connect("other");

    (void)state;
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        ways[i].come();
        service_wait_for_log(ways[i].said);
        for (unsigned round = 0; round < ROUNDS; round++)
            ways[i].come();
        wait_until_alone(other);
        assert_in_range(service_log_count(ways[i].said), 1, HANDFUL);
    }
    close(other);
}

static void test_client_list_pages(void **state)
{
    int fds[5], silent = peer_connect_raw();
    uint64_t after = 0;
    unsigned found = 0, pages = 0;
    bool more = true;

    (void)state;
    for (int i = 0; i < 5; i++)
        fds[i] = peer_connect("page\033[2J");
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
        reply = peer_call(fds[0], &request);
        assert_int_equal(reply->error, 0);
        assert_true(reply->client_list->n_clients <= 2);
        for (size_t i = 0; i < reply->client_list->n_clients; i++) {
            const Odeon__Client *client = reply->client_list->clients[i];

            assert_true(client->id > after);
            after = client->id;
            assert_string_not_equal(client->name, "");   /* who has not said hello is none yet */
            if (strcmp(client->name, "page?[2J") == 0) { /* no control characters */
                assert_int_equal(client->pid, getpid());
                found++;
            }
        }
        more = reply->client_list->more;
        peer_drop(reply);
        assert_true(++pages < 100);
    }
    assert_int_equal(found, 5);
    for (int i = 0; i < 5; i++)
        close(fds[i]);
    close(silent);
}

static Odeon__Reply *peer_call_user_list(int fd)
{
    Odeon__UserList list = ODEON__USER_LIST__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;

    request.body_case = ODEON__REQUEST__BODY_USER_LIST;
    request.user_list = &list;
    return peer_call(fd, &request);
}

/* What a client says of its round trips is told as it is, and does nothing else. */
static void test_round_trips_that_are_lies(void **state)
{
    int fd = peer_connect("liar");
    Odeon__Reply *reply = peer_call_port_open(fd, ODEON_RING_MIN, false);
    struct port_client *words =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, peer_last.fds[0], 0);
    const Odeon__Traffic *traffic;

    (void)state;
    assert_ptr_not_equal(words, MAP_FAILED);
    peer_drop(reply);
    memset(&words->round_trips, 0xff, sizeof(words->round_trips));
    reply = peer_call_user_list(fd);
    assert_int_equal(reply->error, 0);
    assert_int_equal(reply->user_list->n_users, 1);
    traffic = reply->user_list->users[0]->traffic;
    assert_true(traffic->calls_late == UINT64_MAX && traffic->longest_ns == UINT64_MAX);
    assert_true(traffic->calls_answered == (uint64_t)-TIME_CELLS); /* so many times -1 */
    assert_true(traffic->p50_ns <= traffic->longest_ns && traffic->posts == 0);
    peer_drop(reply);
    words->round_trips.answered[TIME_CELLS - 1] = 1;
    words->round_trips.longest_ns = 5;
    reply = peer_call_user_list(fd);
    assert_int_equal(reply->user_list->users[0]->traffic->longest_ns, 5);
    assert_true(reply->user_list->users[0]->traffic->p99_ns <= 5); /* no more than the longest */
    peer_drop(reply);
    munmap(words, 4096);
    close(fd);
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
    int fd = peer_connect("loader");

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        Odeon__PluginLoad load = ODEON__PLUGIN_LOAD__INIT;
        Odeon__Request request = ODEON__REQUEST__INIT;
        Odeon__Reply *reply;

        load.path = (char *)cases[i].path;
        request.body_case = ODEON__REQUEST__BODY_PLUGIN_LOAD;
        request.plugin_load = &load;
        reply = peer_call(fd, &request);
        assert_int_equal(reply->error, cases[i].error);
        assert_non_null(strstr(reply->text, cases[i].words));
        peer_drop(reply);
    }
    close(fd);
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
        cmocka_unit_test(test_slow_reader),
        cmocka_unit_test(test_who_comes_back_and_back),
        cmocka_unit_test(test_client_list_pages),
        cmocka_unit_test(test_round_trips_that_are_lies),
        cmocka_unit_test(test_plugin_paths),
    };

    if (!service_init(argc, argv))
        return 2;
    return cmocka_run_group_tests(tests, service_make, service_remove);
}
