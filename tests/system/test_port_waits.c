/* SPDX-License-Identifier: Apache-2.0 */
/* Who opens a port while ports of its user are ending waits for them, and is refused for nothing
 * else than before.
 *
 * The executor is stopped by SIGSTOP: a port that is closed then does not end until it goes on.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/system/harness.h"

enum { RING = 1 << 16, PORTS = 2 };

static struct service service;
static pid_t stopped; /* the executor; 0: it runs */

static int end(void **state)
{
    (void)state;
    if (stopped)
        kill(stopped, SIGCONT);
    stopped = 0;
    if (service.pid > 0)
        assert_int_equal(service_stop(&service, SIGTERM), 0);
    service_end(&service);
    return 0;
}

static int try_port(struct odeon_client *client, struct odeon_port **ret_port)
{
    struct odeon_port_options options = { .struct_size = sizeof(options),
                                          .submission_bytes = RING,
                                          .delivery_bytes = RING };

    return odeon_port_open(client, &options, ret_port);
}

/* As many as the user may have; then the executor stands still, and one of them is closed. */
static struct odeon_client *begin(struct odeon_port **ports)
{
    struct odeon_client *client;

    service_start(&service,
                  (const char *const[]){ SMALL_SERVICE, "--log-level", "debug", "--set",
                                         "quotas-bind=all", "--set", "quota-ports=2", NULL });
    client = service_connect(&service, "first");
    for (int i = 0; i < PORTS; i++) /* the harness's own client goes, sooner or later */
        assert_true(wait_until(try_port(client, &ports[i]) == 0));
    stopped = service_executor(&service);
    process_stop(stopped);
    ports[0] = odeon_port_close(ports[0]);
    return client;
}

static void go_on(void)
{
    assert_int_equal(kill(stopped, SIGCONT), 0);
    stopped = 0;
}

/* An opening in a thread of its own. */
struct opening {
    pthread_t thread;
    struct odeon_client *client;
    struct odeon_port *port;
    int r;
    char text[400];
    atomic_bool done;
};

static void *open_there(void *argument)
{
    struct opening *opening = argument;

    opening->r = try_port(opening->client, &opening->port);
    if (opening->r < 0)
        snprintf(opening->text, sizeof(opening->text), "%s", odeon_error_text());
    atomic_store(&opening->done, true);
    return NULL;
}

static void opening_begin(struct opening *opening, struct odeon_client *client)
{
    *opening = (struct opening){ .client = client };
    assert_int_equal(pthread_create(&opening->thread, NULL, open_there, opening), 0);
}

static int opening_end(struct opening *opening)
{
    assert_int_equal(pthread_join(opening->thread, NULL), 0);
    return opening->r;
}

static unsigned waits(void)
{
    return service_log_count(&service, "waits for a port until one of its user's has ended");
}

/* A request waits for some seconds at most (port_waits.W2). A machine may take them from the trial,
 * which says so then, and is begun anew. */
static void try_until_in_time(bool (*trial)(void))
{
    assert_true(wait_until(trial() || end(NULL) != 0));
}

static bool next_one_waits(void)
{
    struct odeon_port *ports[PORTS];
    struct odeon_client *client = begin(ports);
    unsigned refused = service_log_count(&service, "is refused a port");
    struct opening opening;
    int r;

    opening_begin(&opening, client);
    assert_true(wait_until(waits() == 1 || atomic_load(&opening.done)));
    go_on();
    r = opening_end(&opening);
    if (waits() != 1 || (r < 0 && r != -EDQUOT))
        fail_msg("the next port: %s", opening.text);
    if (r == 0)
        assert_int_equal(service_log_count(&service, "is refused a port"), refused);
    odeon_port_close(opening.port);
    odeon_port_close(ports[1]);
    odeon_client_disconnect(client);
    return r == 0;
}

static void test_the_next_one_waits(void **state)
{
    (void)state;
    try_until_in_time(next_one_waits);
}

/* Too late: the first one has been refused, and the second one waits for the port that ends. */
static bool no_more_wait_than_are_ending(void)
{
    struct odeon_port *ports[PORTS], *more;
    struct odeon_client *client = begin(ports), *second;
    struct opening opening;
    bool in_time;

    second = service_connect(&service, "second");
    opening_begin(&opening, client);
    assert_true(wait_until(waits() == 1));
    assert_int_equal(try_port(second, &more), -EDQUOT);
    assert_non_null(strstr(odeon_error_text(), "quota-ports"));
    assert_non_null(strstr(odeon_error_text(), "1 of the user's ports have been closed"));
    go_on();
    /* with a second client the first one's share is one port, which it has: its request is judged
     * by what holds when the port has ended */
    assert_int_equal(opening_end(&opening), -EDQUOT);
    assert_non_null(strstr(opening.text, "quota-ports"));
    in_time = waits() == 1;
    odeon_port_close(ports[1]);
    odeon_client_disconnect(second);
    odeon_client_disconnect(client);
    return in_time;
}

/* port_waits.W1: one port ends, and one request waits for it. */
static void test_no_more_wait_than_are_ending(void **state)
{
    (void)state;
    try_until_in_time(no_more_wait_than_are_ending);
}

/* port_waits.W2: a port that does not end is told of, and what the user still has of its own. */
static void test_nobody_waits_for_ever(void **state)
{
    struct odeon_port *ports[PORTS], *more;
    struct odeon_client *client = begin(ports);

    (void)state;
    assert_int_equal(try_port(client, &more), -EDQUOT);
    assert_non_null(strstr(odeon_error_text(), "1 of the user's ports have been closed"));
    assert_int_equal(waits(), 1);
    assert_true(wait_until(service_log_count(&service, "is refused a port") == 1));
    go_on();
    assert_true(wait_until(try_port(client, &more) == 0));
    odeon_port_close(more);
    odeon_port_close(ports[1]);
    odeon_client_disconnect(client);
}

/* What has nothing to do with ports that end is refused at once. */
static void test_what_cannot_be_does_not_wait(void **state)
{
    struct odeon_port *ports[PORTS], *more;
    struct odeon_client *client = begin(ports);
    struct odeon_port_options options = { .struct_size = sizeof(options), .overflow = 77 };

    (void)state;
    assert_int_equal(odeon_port_open(client, &options, &more), -EINVAL);
    assert_int_equal(waits(), 0);
    go_on();
    odeon_port_close(ports[1]);
    odeon_client_disconnect(client);
}

/* A process of its own, which opens what there is, closes one and waits for another. */
static pid_t begin_waiting_process(void)
{
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        struct odeon_client *client;
        struct odeon_port *port;

        if (odeon_client_connect(service.socket, "child", &client) < 0)
            _exit(1);
        try_port(client, &port);
        _exit(2);
    }
    return child;
}

static bool client_dies_waiting(void)
{
    struct odeon_port *ports[PORTS], *more[PORTS];
    struct odeon_client *client = begin(ports);
    pid_t child;
    int status;

    child = begin_waiting_process();
    assert_true(wait_until(waits() == 1));
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    go_on();
    odeon_port_close(ports[1]);
    for (int i = 0; i < PORTS; i++) /* its client goes, sooner or later */
        assert_true(wait_until(try_port(client, &more[i]) == 0));
    for (int i = 0; i < PORTS; i++)
        odeon_port_close(more[i]);
    odeon_client_disconnect(client);
    return WIFSIGNALED(status);
}

/* port_waits.W2: nothing is left of one whose client has been killed. */
static void test_a_client_that_dies_waiting(void **state)
{
    (void)state;
    try_until_in_time(client_dies_waiting);
}

static bool stop_answers(void)
{
    struct odeon_port *ports[PORTS];
    struct odeon_client *client = begin(ports);
    struct opening opening;
    int r;

    opening_begin(&opening, client);
    assert_true(wait_until(waits() == 1));
    assert_int_equal(kill(service.pid, SIGTERM), 0);
    r = opening_end(&opening);
    if (r != -EDQUOT)
        assert_int_equal(r, -ESHUTDOWN);
    go_on();
    odeon_port_close(ports[1]);
    odeon_client_disconnect(client);
    assert_int_equal(service_wait_end(&service), 0);
    return r == -ESHUTDOWN;
}

/* port_waits.W2: a stop answers what waits before it has drained. */
static void test_a_stop(void **state)
{
    (void)state;
    try_until_in_time(stop_answers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_the_next_one_waits, end),
        cmocka_unit_test_teardown(test_no_more_wait_than_are_ending, end),
        cmocka_unit_test_teardown(test_nobody_waits_for_ever, end),
        cmocka_unit_test_teardown(test_what_cannot_be_does_not_wait, end),
        cmocka_unit_test_teardown(test_a_client_that_dies_waiting, end),
        cmocka_unit_test_teardown(test_a_stop, end),
    };

    return cmocka_run_group_tests_name("system/port_waits", tests, NULL, NULL);
}
