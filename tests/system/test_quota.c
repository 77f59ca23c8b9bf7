/* SPDX-License-Identifier: Apache-2.0 */
/* Quotas over the real service: what a user's clients may have, what they are told beyond it, and
 * that all of it comes back.
 *
 * Quotas bind all here, so that the tests' own user is one that they bind; clients are connections
 * of this process.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "client-lib/src/connect.h"
#include "proto/bounds.h"
#include "tests/system/harness.h"
#include "tests/system/probe.h"
#include "tests/system/user.h"

enum { RING = 1 << 16 };

static struct service service;

#define START(...)                                                                                 \
    service_start(&service, (const char *const[]){ SMALL_SERVICE, "--plugin", TEST_PROBE, "--set", \
                                                   "quotas-bind=all", __VA_ARGS__, NULL })

static int end(void **state)
{
    (void)state;
    if (service.pid > 0)
        assert_int_equal(service_stop(&service, SIGTERM), 0);
    service_end(&service);
    return 0;
}

static int try_port(struct odeon_client *client, uint64_t bytes, struct odeon_port **ret_port)
{
    struct odeon_port_options options = { .struct_size = sizeof(options),
                                          .submission_bytes = bytes,
                                          .delivery_bytes = RING };

    return odeon_port_open(client, &options, ret_port);
}

/* Until it is refused; how many. */
static unsigned open_all(struct odeon_client *client, struct odeon_port **ports, unsigned max,
                         const char *words)
{
    unsigned n = 0;
    int r = 0;

    while (n < max && (r = try_port(client, RING, &ports[n])) == 0)
        n++;
    assert_int_equal(r, -EDQUOT);
    assert_non_null(strstr(odeon_error_text(), words));
    return n;
}

static void close_all(struct odeon_port **ports, unsigned n)
{
    while (n > 0)
        odeon_port_close(ports[--n]);
}

static uint64_t id_of(struct odeon_client *client)
{
    struct odeon_status *status = NULL;
    uint64_t id;

    if (odeon_service_status(client, &status) < 0)
        fail_msg("status: %s", odeon_error_text());
    id = status->your_id;
    odeon_result_free(status);
    return id;
}

/* What the service says of a quota of this client's user. */
static struct odeon_usage usage(struct odeon_client *client, const char *name)
{
    struct odeon_client_detail *detail = NULL;
    struct odeon_usage usage = { 0 };

    if (odeon_client_show(client, id_of(client), &detail) < 0)
        fail_msg("showing the client: %s", odeon_error_text());
    for (size_t i = 0; i < detail->n_usage; i++)
        if (strcmp(detail->usage[i].name, name) == 0)
            usage = detail->usage[i];
    usage.name = name;
    odeon_result_free(detail);
    return usage;
}

static void test_clients(void **state)
{
    struct odeon_client *clients[3], *more = NULL;

    (void)state;
    START("--set", "quota-clients=3");
    for (int i = 0; i < 3; i++) /* the harness's own is gone, sooner or later */
        assert_true(wait_until(odeon_client_connect(service.socket, "one", &clients[i]) == 0));
    assert_int_equal(odeon_client_connect(service.socket, "too many", &more), -EDQUOT);
    assert_non_null(strstr(odeon_error_text(), "quota-clients"));
    odeon_client_disconnect(clients[0]);
    assert_true(wait_until(odeon_client_connect(service.socket, "in its place", &more) == 0));
    odeon_client_disconnect(more);
    odeon_client_disconnect(clients[1]);
    odeon_client_disconnect(clients[2]);
}

static void test_ports_are_shared_fairly(void **state)
{
    struct odeon_port *a[9], *b[8];
    struct odeon_client *first, *second;
    int64_t begin;

    (void)state;
    START("--set", "quota-ports=8");
    begin = time_ns();
    first = service_connect(&service, "first");
    assert_true(wait_until(usage(first, "clients").user == 1));
    assert_int_equal(open_all(first, a, 9, "quota-ports"), 8);
    close_all(a, 8);
    assert_true(wait_until(usage(first, "ports").user == 0));
    /* with a second client, the first gets a half, the second a half of what is left */
    second = service_connect(&service, "second");
    assert_int_equal(open_all(first, a, 8, "quota-ports"), 4);
    assert_int_equal(open_all(second, b, 8, "quota-ports"), 2);
    assert_int_equal(usage(first, "ports").client, 4);
    assert_int_equal(usage(second, "ports").client, 2);
    assert_int_equal(usage(second, "ports").user, 6);
    assert_int_equal(usage(second, "ports").limit, 8);
    /* of three refusals */
    service_expect_told_once(&service, "is refused a port: its user's quota-ports", begin);
    close_all(a, 4);
    close_all(b, 2);
    assert_true(wait_until(usage(first, "ports").user == 0));
    assert_int_equal(usage(first, "ring-bytes").user, 0);
    assert_int_equal(usage(first, "backlog-bytes").user, 0);
    odeon_client_disconnect(first);
    odeon_client_disconnect(second);
}

static struct odeon_client_detail *show(struct odeon_client *asker, struct odeon_client *shown)
{
    struct odeon_client_detail *detail = NULL;

    if (odeon_client_show(asker, id_of(shown), &detail) < 0)
        fail_msg("showing a client: %s", odeon_error_text());
    return detail;
}

/* Of two clients of one user: each has its own ports, and what they cost when no setting says so;
 * refusals are their user's, who is bound, or not. */
static void test_what_is_shown_of_a_client(void **state)
{
    struct odeon_client *first, *second;
    struct odeon_client_detail *detail;
    struct odeon_port *ports[3];

    (void)state;
    START("--set", "quota-ports=4");
    first = service_connect(&service, "first");
    second = service_connect(&service, "second");
    assert_true(wait_until(usage(first, "clients").user == 2));
    assert_int_equal(open_all(first, ports, 3, "quota-ports"), 2);
    assert_int_equal(try_port(second, RING, &ports[2]), 0);
    detail = show(second, first);
    assert_int_equal(detail->client.ports, 2);
    assert_int_equal(detail->n_ports, 2);
    assert_int_equal(detail->bound, 1);
    assert_int_equal(detail->refusals, 1);
    odeon_result_free(detail);
    assert_int_equal(usage(first, "backlog-bytes").client, 2 * ODEON_BACKLOG_BYTES_DEFAULT);
    assert_int_equal(usage(second, "backlog-bytes").client, ODEON_BACKLOG_BYTES_DEFAULT);
    assert_int_equal(usage(first, "backlog-bytes").user, 3 * ODEON_BACKLOG_BYTES_DEFAULT);
    odeon_client_disconnect(first);
    odeon_client_disconnect(second);
    end(NULL);
    START("--set", "quotas-bind=others");
    first = service_connect(&service, "first");
    detail = show(first, first);
    assert_int_equal(detail->bound, 0);
    assert_int_equal(detail->refusals, 0);
    odeon_result_free(detail);
    odeon_client_disconnect(first);
}

static void test_ring_and_backlog_bytes(void **state)
{
    struct odeon_port *ports[8];
    struct odeon_client *client;

    (void)state;
    START("--set", "quota-ring-bytes=4M", "--set", "quota-backlog-bytes=512K", "--set",
          "backlog-bytes=256K");
    client = service_connect(&service, "rings");
    assert_true(wait_until(usage(client, "clients").user == 1));
    assert_int_equal(try_port(client, 4 << 20, &ports[0]), -EDQUOT);
    assert_non_null(strstr(odeon_error_text(), "quota-ring-bytes"));
    assert_int_equal(open_all(client, ports, 8, "quota-backlog-bytes"), 2);
    assert_int_equal(usage(client, "backlog-bytes").user, 512 << 10);
    assert_int_equal(usage(client, "ring-bytes").user, 4 * RING);
    close_all(ports, 2);
    odeon_client_disconnect(client);
}

/* A port whose user has less left than `backlog-bytes` holds less, and its deliveries beyond it are
 * dropped and counted. */
static void test_smaller_backlog(void **state)
{
    struct probe_flood flood = { .count = 1000 };
    struct odeon_client *client;
    struct odeon_port *port = NULL;
    struct odeon_delivery delivery;

    (void)state;
    START("--set", "quota-backlog-bytes=128K", "--set", "backlog-bytes=16M");
    client = service_connect(&service, "slow");
    assert_int_equal(try_port(client, RING, &port), 0);
    odeon_ref echo = spawn(client, "probe_echo", NULL, NULL, 0);
    assert_int_equal(odeon_port_post(port, echo, message_id(client, odeon_message_of(probe_flood)),
                                     &flood, sizeof(flood)),
                     0);
    assert_true(wait_until(service_figure(&service, "backlog_dropped") +
                               service_figure(&service, "port_deliveries") +
                               service_figure(&service, "port_backlogged") >=
                           1000));
    /* twice: the limit is of the buffer that is written, the one that is being drained may be full,
     * too */
    assert_true(wait_until(service_figure(&service, "backlog_dropped") >=
                           1000 - (2 * (128 << 10) + RING) / 1000));
    /* what has been counted may not be visible yet */
    assert_int_equal(odeon_port_receive_wait(port, &delivery, SECONDS(PATIENCE_S)), 1);
    odeon_port_release(port);
    odeon_port_close(port);
    odeon_client_disconnect(client);
}

static int try_spawn(struct odeon_client *client, odeon_ref *ret_ref)
{
    return odeon_actor_spawn(client, "probe_echo", NULL, NULL, 0, ret_ref);
}

static void test_actors(void **state)
{
    struct odeon_client *client;
    odeon_ref refs[5], more = ODEON_NOBODY;
    pid_t executor;

    (void)state;
    START("--set", "quota-actors=5");
    client = service_connect(&service, "spawner");
    for (int i = 0; i < 5; i++)
        assert_int_equal(try_spawn(client, &refs[i]), 0);
    assert_int_equal(try_spawn(client, &more), -EDQUOT);
    assert_non_null(strstr(odeon_error_text(), "quota-actors"));
    assert_true(
        wait_until(service_log_has(&service, "is refused an actor: its user's quota-actors")));
    assert_int_equal(usage(client, "actors").user, 5);
    assert_int_equal(odeon_actor_stop(client, refs[0], ODEON_DELETE), 0);
    assert_true(wait_until(try_spawn(client, &refs[0]) == 0));
    /* another executor finds them in the segment */
    executor = service_executor(&service);
    assert_int_equal(kill(executor, SIGKILL), 0);
    service_wait_executor(&service, executor);
    assert_int_equal(try_spawn(client, &more), -EDQUOT);
    assert_int_equal(odeon_actor_stop(client, refs[1], ODEON_DELETE), 0);
    assert_true(wait_until(try_spawn(client, &refs[1]) == 0));
    odeon_client_disconnect(client);
}

static void set(struct odeon_client *client, const char *key, const char *value)
{
    if (executor_set(client, (const char *const[]){ key }, (const char *const[]){ value }, 1) < 0)
        fail_msg("%s = %s: %s", key, value, odeon_error_text());
}

static uint64_t count_in(struct odeon_client *client, struct odeon_port *port, odeon_ref ledger)
{
    struct odeon_delivery reply;
    uint64_t count;

    assert_int_equal(odeon_port_call(port, ledger, message_id(client, odeon_message_of(probe_ask)),
                                     NULL, 0, SECONDS(PATIENCE_S), &reply),
                     ODEON_CALL_REPLY);
    count = ((const struct probe_told *)reply.data)->count;
    odeon_port_release(port);
    return count;
}

/* The time that they take is at least what the rate says, whatever the machine does. A client that
 * gets no processor for a while lets the ring run empty: it posts until it has felt the rate. */
static void test_posts(void **state)
{
    enum { RATE = 2000, POSTS = 4000, BURST = RATE / 10 + RATE / 10 + RATE / 50 };
    struct odeon_client *client;
    struct odeon_port *port = NULL;
    uint64_t posted = 0;
    bool full = false;
    int64_t begin;

    (void)state;
    START("--set", "quota-posts=2000");
    client = service_connect(&service, "poster");
    odeon_ref ledger = spawn(client, "probe_ledger", NULL, NULL, 0);
    uint32_t type = message_id(client, odeon_message_of(probe_number));
    begin = time_ns();
    assert_int_equal(try_port(client, RING, &port), 0);
    while (posted < POSTS || (!full && time_ns() - begin < SECONDS(PATIENCE_S))) {
        struct probe_number number = { .n = ++posted };
        int r = odeon_port_post(port, ledger, type, &number, sizeof(number));

        if (r == -EAGAIN) {
            full = true;
            r = odeon_port_post_wait(port, ledger, type, &number, sizeof(number),
                                     SECONDS(PATIENCE_S));
        }
        assert_int_equal(r, 0);
    }
    assert_true(full); /* it feels it */
    assert_int_equal(count_in(client, port, ledger), posted);
    assert_true(time_ns() - begin >= SECONDS(1) * (int64_t)(posted - BURST) / RATE);
    assert_true(service_figure(&service, "rate_limited") > 0);
    assert_true(
        wait_until(service_log_has(&service, "is served more slowly: its user's quota-posts")));
    /* the last batch is counted behind the flush that lets the ledger answer */
    assert_true(wait_until(usage(client, "posts").client == posted + 1));
    odeon_port_close(port);
    odeon_client_disconnect(client);
}

/* A rate that would take for ever, taken away while records wait; set again; and a stop does not
 * wait for it. */
static void test_rate_is_changed(void **state)
{
    struct odeon_client *client;
    struct odeon_port *port = NULL;

    (void)state;
    START("--set", "quota-posts=1");
    client = service_connect(&service, "poster");
    odeon_ref ledger = spawn(client, "probe_ledger", NULL, NULL, 0);
    uint32_t type = message_id(client, odeon_message_of(probe_number));
    assert_int_equal(try_port(client, RING, &port), 0);
    for (int round = 0; round < 2; round++) {
        for (uint64_t i = 1; i <= 500; i++) {
            struct probe_number number = { .n = i };

            assert_int_equal(odeon_port_post(port, ledger, type, &number, sizeof(number)), 0);
        }
        assert_true(wait_until(service_figure(&service, "rate_limited") > (uint64_t)round));
        if (round == 0) {
            set(client, "quota-posts", "0");
            assert_int_equal(count_in(client, port, ledger), 500);
            set(client, "quota-posts", "1");
        }
    }
    odeon_client_disconnect(client); /* what it has published is still consumed */
    assert_int_equal(service_stop(&service, SIGTERM), 0);
    assert_true(service_log_has(&service, "every message that was sent has been received"));
}

/* A flood of requests is read more slowly; none is lost, none refused. On a machine that takes
 * longer for each than the rate it is no flood: then more of them. */
static void test_requests(void **state)
{
    enum { RATE = 20, REQUESTS = 60 };
    struct odeon_client *client;
    int64_t begin;
    int asked = 0;

    (void)state;
    START("--set", "quota-requests=20");
    begin = time_ns();
    client = service_connect(&service, "asker");
    while (asked < REQUESTS || (!service_log_has(&service, "asks too much") &&
                                time_ns() - begin < SECONDS(PATIENCE_S))) {
        struct odeon_status *status = NULL;

        assert_int_equal(odeon_service_status(client, &status), 0);
        odeon_result_free(status);
        asked++;
    }
    /* twice the burst: a bucket that was full, and what came in meanwhile */
    assert_true(time_ns() - begin >= SECONDS(1) * (asked - 2 * RATE) / RATE);
    service_expect_told_once(&service, "asks too much", begin);
    odeon_client_disconnect(client);
}

/* Nor do many connections, one after the other, have more than one: each asks twice. On a machine
 * that takes longer for each of them than the rate it is no flood, as above. */
static void test_requests_by_many(void **state)
{
    enum { RATE = 10, CONNECTIONS = 20, ASK = 2 };
    int64_t begin;
    int came = 0;

    (void)state;
    START("--set", "quota-requests=10");
    begin = time_ns();
    while (came < CONNECTIONS || (!service_log_has(&service, "asks too much") &&
                                  time_ns() - begin < SECONDS(PATIENCE_S))) {
        odeon_client_disconnect(service_connect(&service, "newcomer"));
        came++;
    }
    assert_true(time_ns() - begin >= SECONDS(1) * (came * ASK - 2 * RATE) / RATE);
    assert_true(service_log_has(&service, "asks too much"));
}

static void test_kick(void **state)
{
    struct odeon_client *root, *victim;
    struct odeon_status *status = NULL;
    struct odeon_port *port = NULL;
    char output[4096];
    uint32_t victim_id;

    (void)state;
    START("--set", "quota-ports=8");
    root = service_connect(&service, "root");
    victim = service_connect(&service, "victim");
    victim_id = id_of(victim);
    assert_int_equal(try_port(victim, RING, &port), 0);
    assert_int_equal(ctl(&service, output, sizeof(output), "client show %u", victim_id), 0);
    assert_non_null(strstr(output, "roles: observe, post, register, load, reconfigure"));
    assert_non_null(strstr(output, "ring-bytes"));
    assert_int_equal(odeon_client_kick(root, 4000000), -ENOENT);
    assert_int_equal(odeon_client_kick(root, id_of(root)), -EINVAL);
    assert_int_equal(ctl(&service, output, sizeof(output), "client kick nobody"), 2);
    assert_int_equal(ctl(&service, output, sizeof(output), "client kick %u", victim_id), 0);
    assert_int_equal(odeon_service_status(victim, &status), -ECONNABORTED);
    assert_non_null(strstr(odeon_error_text(), "thrown out by process"));
    assert_true(wait_until(service_log_has(&service, "is disconnected: thrown out by process")));
    assert_true(wait_until(usage(root, "ports").user == 0));
    odeon_client_disconnect(victim);
    odeon_client_disconnect(root);
}

/* ---- other users ---- */

static const struct user somebody = { .uid = 41001, .gid = 41001 };

static void start_for_everybody(const char *setting)
{
    if (!user_can_change()) {
        print_message("# skipped: other users can be played by root alone\n");
        skip();
    }
    service_make_dir(&service);
    assert_int_equal(chmod(service.dir, 0755), 0);
    service_spawn(&service,
                  (const char *const[]){ SMALL_SERVICE, "--set", "socket-mode=0666", "--set",
                                         "role-post=*", "--set", setting, NULL });
    service_wait_ready(&service);
}

struct gate {
    int arrived[2], go[2];
};

/* Connects until it is refused, and keeps it all until it is told to let go. */
static int fill_table(struct odeon_client *client, void *argument)
{
    static struct odeon_client *clients[ODEON_CLIENTS_MAX];
    const struct rlimit limit = { .rlim_cur = 2 * ODEON_CLIENTS_MAX,
                                  .rlim_max = 2 * ODEON_CLIENTS_MAX };
    const struct gate *gate = argument;
    int n = 0, r = 0;
    char byte;

    (void)client;
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
        return -errno;
    while (n < ODEON_CLIENTS_MAX &&
           (r = odeon_client_connect(service.socket, "one of many", &clients[n])) == 0)
        n++;
    if (write(gate->arrived[1], "", 1) != 1 || read(gate->go[0], &byte, 1) != 1)
        r = -EIO;
    while (n > 0)
        odeon_client_disconnect(clients[--n]);
    return r;
}

static void *look_while_full(void *argument)
{
    const struct gate *gate = argument;
    struct odeon_client *root = NULL;
    bool got_in;
    char byte;

    if (read(gate->arrived[0], &byte, 1) != 1)
        return NULL;
    got_in = odeon_client_connect(service.socket, "root", &root) == 0;
    odeon_client_disconnect(root);
    return write(gate->go[1], "", 1) == 1 && got_in ? argument : NULL;
}

static void test_the_last_places_are_for_administrators(void **state)
{
    struct outcome outcome;
    struct gate gate;
    pthread_t thread;
    void *got_in = NULL;

    (void)state;
    start_for_everybody("quota-clients=1024");
    assert_int_equal(pipe2(gate.arrived, O_CLOEXEC), 0);
    assert_int_equal(pipe2(gate.go, O_CLOEXEC), 0);
    assert_int_equal(pthread_create(&thread, NULL, look_while_full, &gate), 0);
    outcome = user_does(&service, somebody, fill_table, &gate);
    pthread_join(thread, &got_in);
    assert_int_equal(outcome.r, -EUSERS);
    assert_non_null(got_in);
    for (int i = 0; i < 2; i++) {
        close(gate.arrived[i]);
        close(gate.go[i]);
    }
}

/* Sends descriptors until it may not any more; how many records went. */
static int flood_descriptors(struct odeon_client *client, void *argument)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int) * 8)];
    } control = { .header = { .cmsg_len = CMSG_LEN(sizeof(int) * 8),
                              .cmsg_level = SOL_SOCKET,
                              .cmsg_type = SCM_RIGHTS } };
    char junk[8] = "junk";
    struct iovec part = { junk, sizeof(junk) };
    struct msghdr record = { .msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes) };
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC), n = 0;

    (void)argument;
    for (int i = 0; i < 8; i++)
        memcpy(CMSG_DATA(&control.header) + (size_t)i * sizeof(int), &fd, sizeof(int));
    for (int i = 0; i < 10000; i++)
        n += sendmsg(client->socket, &record, MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
    close(fd);
    return n;
}

static void test_descriptors_are_not_taken(void **state)
{
    struct odeon_client *root;
    unsigned before;
    struct outcome outcome;

    (void)state;
    start_for_everybody("quota-clients=8");
    root = service_connect(&service, "root");
    assert_true(wait_until(service_state(&service).clients == 1));
    before = process_descriptors(service.pid);
    outcome = user_does(&service, somebody, flood_descriptors, NULL);
    assert_true(outcome.connected);
    print_message("# %d of 10000 records with descriptors could be sent\n", outcome.r);
    assert_true(wait_until(service_state(&service).clients == 1));
    assert_true(
        /* fewer: the harness's own was being closed then */
        wait_until(process_descriptors(service.pid) <= before));
    odeon_client_disconnect(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_clients, end),
        cmocka_unit_test_teardown(test_ports_are_shared_fairly, end),
        cmocka_unit_test_teardown(test_what_is_shown_of_a_client, end),
        cmocka_unit_test_teardown(test_ring_and_backlog_bytes, end),
        cmocka_unit_test_teardown(test_smaller_backlog, end),
        cmocka_unit_test_teardown(test_actors, end),
        cmocka_unit_test_teardown(test_posts, end),
        cmocka_unit_test_teardown(test_rate_is_changed, end),
        cmocka_unit_test_teardown(test_requests, end),
        cmocka_unit_test_teardown(test_requests_by_many, end),
        cmocka_unit_test_teardown(test_kick, end),
        cmocka_unit_test_teardown(test_the_last_places_are_for_administrators, end),
        cmocka_unit_test_teardown(test_descriptors_are_not_taken, end),
    };

    return cmocka_run_group_tests_name("quota", tests, NULL, NULL);
}
