/* SPDX-License-Identifier: Apache-2.0 */
/* The library inside real programs: what they do beside it, and what the service makes of it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "proto/bounds.h"
#include "tests/system/harness.h"
#include "tests/system/probe.h"

enum { RING = 1 << 16 };

static struct service service;

static int begin(void **state)
{
    (void)state;
    service_start(&service, (const char *const[]){ SMALL_SERVICE, "--plugin", TEST_PROBE, NULL });
    return 0;
}

static int end(void **state)
{
    (void)state;
    if (service.pid > 0)
        assert_int_equal(service_stop(&service, SIGTERM), 0);
    service_end(&service);
    return 0;
}

static int open_port(struct odeon_client *client, bool pipe, struct odeon_port **ret_port)
{
    struct odeon_port_options options = { .struct_size = sizeof(options),
                                          .pipe = pipe,
                                          .submission_bytes = RING,
                                          .delivery_bytes = RING };

    return odeon_port_open(client, &options, ret_port);
}

/* A program with all ports that a client may have, whose child knows nothing of the library and
 * outlives it, until `leash` ends. Says the child's number, and stays; does not return. */
static void be_parent(int tell, int leash)
{
    struct odeon_client *client = NULL;
    struct odeon_port *port;
    pid_t child;
    char end_of_test;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (odeon_client_connect(service.socket, "parent", &client) < 0)
        _exit(1);
    for (int i = 0; i < ODEON_PORTS_PER_CLIENT_MAX; i++)
        if (open_port(client, false, &port) < 0)
            _exit(1);
    child = fork();
    if (child == 0)
        _exit(read(leash, &end_of_test, 1) != 0);
    if (child < 0 || write(tell, &child, sizeof(child)) != sizeof(child))
        _exit(1);
    for (;;)
        pause();
}

static pid_t start_parent(pid_t *ret_child, int *ret_leash)
{
    int told[2], leash[2];
    pid_t parent;

    assert_int_equal(pipe(told), 0);
    assert_int_equal(pipe(leash), 0);
    parent = fork();
    assert_true(parent >= 0);
    if (parent == 0) {
        close(leash[1]);
        be_parent(told[1], leash[0]);
    }
    close(told[1]);
    close(leash[0]);
    *ret_leash = leash[1];
    assert_int_equal(read(told[0], ret_child, sizeof(*ret_child)), sizeof(*ret_child));
    close(told[0]);
    return parent;
}

/* The child has copies of the connection and of all that came over it. */
static void test_child_does_not_keep_ports(void **state)
{
    struct odeon_client *client = service_connect(&service, "bystander");
    struct odeon_port *port = NULL;
    int leash;
    pid_t child, parent = start_parent(&child, &leash);

    (void)state;
    assert_true(wait_until(service_state(&service).ports == ODEON_PORTS_PER_CLIENT_MAX));
    assert_int_equal(kill(parent, SIGKILL), 0);
    assert_int_equal(waitpid(parent, NULL, 0), parent);
    assert_true(wait_until(service_state(&service).ports == 0));
    assert_true(wait_until(service_state(&service).clients == 1));
    assert_true(process_lives(child));
    assert_true(service_log_has(&service, "left its connection to another"));
    assert_int_equal(open_port(client, false, &port), 0);
    close(leash);
    odeon_client_disconnect(client);
}

/* A program that posts, and asks about nothing. */
struct poster {
    struct odeon_client *client;
    struct odeon_port *port;
    odeon_ref ledger;
    uint32_t type;
};

static struct poster start_poster(bool pipe)
{
    struct poster poster = { .client = service_connect(&service, "poster") };

    poster.type = message_id(poster.client, odeon_message_of(probe_number));
    poster.ledger = spawn(poster.client, "probe_ledger", NULL, NULL, 0);
    assert_int_equal(open_port(poster.client, pipe, &poster.port), 0);
    return poster;
}

static int post_number(const struct poster *poster)
{
    const struct probe_number number = { .n = 1 };

    return odeon_port_post(poster->port, poster->ledger, poster->type, &number, sizeof(number));
}

static void kick(const struct poster *poster)
{
    struct odeon_client *root = service_connect(&service, "root");
    struct odeon_status *status = NULL;

    assert_int_equal(odeon_service_status(poster->client, &status), 0);
    assert_int_equal(odeon_client_kick(root, status->your_id), 0);
    odeon_result_free(status);
    odeon_client_disconnect(root);
}

static void expect_posts_are_refused(const struct poster *poster, const char *words)
{
    assert_int_equal(post_number(poster), -EPIPE);
    if (!strstr(odeon_error_text(), words))
        fail_msg("no %s in: %s", words, odeon_error_text());
    errno = 0;
    assert_null(odeon_port_reserve(poster->port, poster->ledger, poster->type, 8));
    assert_int_equal(errno, EPIPE);
    assert_int_equal(odeon_port_commit(poster->port), -EPIPE);
}

static void test_post_tells_of_a_kick(void **state)
{
    struct poster poster = start_poster(false), reserved = start_poster(false);

    (void)state;
    assert_int_equal(post_number(&poster), 0);
    assert_non_null(odeon_port_reserve(reserved.port, reserved.ledger, reserved.type,
                                       sizeof(struct probe_number)));
    kick(&poster);
    kick(&reserved);
    expect_posts_are_refused(&poster, "thrown out");
    assert_int_equal(odeon_port_commit(reserved.port), -EPIPE);
    odeon_client_disconnect(poster.client);
    odeon_client_disconnect(reserved.client);
}

static void test_post_tells_of_a_stop(void **state)
{
    struct poster poster = start_poster(false);

    (void)state;
    assert_int_equal(post_number(&poster), 0);
    assert_int_equal(odeon_port_commit(poster.port), 0);
    assert_int_equal(service_stop(&service, SIGTERM), 0);
    expect_posts_are_refused(&poster, "the service");
    odeon_client_disconnect(poster.client);
}

/* Nobody is left who could say it: it is found out when nothing more can be posted. */
static void test_post_tells_of_a_service_that_was_killed(void **state)
{
    struct poster poster = start_poster(false);
    int r = 0;

    (void)state;
    service_stop(&service, SIGKILL);
    assert_true(wait_until((r = post_number(&poster)) != 0 && r != -EAGAIN));
    assert_int_equal(r, -EPIPE);
    expect_posts_are_refused(&poster, "closed the connection");
    odeon_client_disconnect(poster.client);
}

/* Looks at POLLIN, as a loop does that takes a hang-up for the loop's own affair. */
static void test_kick_makes_readable(void **state)
{
    struct poster poster = start_poster(true);
    struct pollfd look = { .fd = odeon_port_fd(poster.port), .events = POLLIN };

    (void)state;
    assert_int_equal(odeon_port_arm(poster.port), 0);
    kick(&poster);
    assert_int_equal(poll(&look, 1, PATIENCE_MS), 1);
    assert_true(wait_until(service_state(&service).clients == 0)); /* the harness's own, too */
    assert_true(wait_until(poll(&look, 1, 0) == 1 && look.revents & POLLHUP));
    assert_true(look.revents & POLLIN); /* still: the port has gone by now */
    assert_int_equal(odeon_port_arm(poster.port), -EPIPE);
    odeon_client_disconnect(poster.client);
}

static bool standard_ones_are_closed(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            return false;
    return true;
}

static void claim(bool holds, int line)
{
    if (!holds)
        _exit(line % 250 + 1);
}

/* A program whose standard descriptors are closed, as some daemons and hooks run: what it then
 * writes to those numbers is its own. Ends with 0, or with the line of what went wrong. */
#define CLAIM(what_) claim(what_, __LINE__)
static void be_without_descriptors(const char *socket)
{
    struct odeon_client *client = NULL;
    struct odeon_stats *stats = NULL;
    struct odeon_delivery reply;
    struct odeon_port *port = NULL;
    odeon_ref ledger = ODEON_NOBODY;
    uint32_t type = 0;

    alarm(PATIENCE_S);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        close(fd);
    CLAIM(odeon_client_connect(socket, "bare", &client) == 0);
    CLAIM(standard_ones_are_closed());
    CLAIM(open_port(client, true, &port) == 0);
    CLAIM(standard_ones_are_closed() && odeon_port_fd(port) > STDERR_FILENO);
    CLAIM(odeon_stats_open(service.stats, &stats) == 0);
    CLAIM(odeon_actor_spawn(client, "probe_ledger", NULL, NULL, 0, &ledger) == 0);
    CLAIM(odeon_message_id(client, odeon_message_of(probe_ask), &type) == 0);
    CLAIM(odeon_port_call(port, ledger, type, NULL, 0, -1, &reply) == ODEON_CALL_REPLY);
    CLAIM(odeon_port_arm(port) == 0 && standard_ones_are_closed());
    odeon_stats_close(stats);
    odeon_client_disconnect(client);
    _exit(0);
}

/* Also by a path that has no room in an address, and goes by way of its directory's descriptor. */
static void test_standard_descriptors_stay_free(void **state)
{
    char detour[160];
    const char *const paths[] = { service.socket, detour };
    int n = snprintf(detour, sizeof(detour), "%s/", service.dir);

    (void)state;
    while (n < 130)
        n += snprintf(detour + n, sizeof(detour) - (size_t)n, "./");
    snprintf(detour + n, sizeof(detour) - (size_t)n, "%s", strrchr(service.socket, '/') + 1);
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        int status;
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0)
            be_without_descriptors(paths[i]);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
    }
}

/* One that ends with nobody behind it is no news. */
static void test_plain_end_is_quiet(void **state)
{
    struct odeon_client *client = NULL;
    pid_t pid = fork();

    (void)state;
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(odeon_client_connect(service.socket, "short", &client) < 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(wait_until(service_state(&service).clients == 0));
    assert_false(service_log_has(&service, "left its connection to another"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_child_does_not_keep_ports, begin, end),
        cmocka_unit_test_setup_teardown(test_post_tells_of_a_kick, begin, end),
        cmocka_unit_test_setup_teardown(test_post_tells_of_a_stop, begin, end),
        cmocka_unit_test_setup_teardown(test_post_tells_of_a_service_that_was_killed, begin, end),
        cmocka_unit_test_setup_teardown(test_kick_makes_readable, begin, end),
        cmocka_unit_test_setup_teardown(test_standard_descriptors_stay_free, begin, end),
        cmocka_unit_test_setup_teardown(test_plain_end_is_quiet, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
