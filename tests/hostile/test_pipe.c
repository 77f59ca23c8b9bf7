/* SPDX-License-Identifier: Apache-2.0 */
/* What a client can do with the descriptor that it polls: nobody waits for it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/hostile/raw.h"
#include "tests/system/probe.h"

enum { RING = 65536 };

static struct service service;
static struct odeon_client *client;
static struct raw honest;
static odeon_ref echo;
static uint16_t number_type;
static pid_t holder;

/* ---- the client ---- */

/* An answer, for which it says that it sleeps. */
static void expect_wake(struct raw_port *port, uint32_t n)
{
    struct envelope envelope = {
        .to = echo, .type = number_type, .length = sizeof(struct probe_number), .behaviour = 255
    };
    struct probe_number number = { .n = n };

    atomic_store(&port->mine->delivery_wait, PORT_WAIT_PIPE | n * PORT_WAIT_STEP);
    raw_port_put(port, &envelope, &number);
    raw_port_publish(port, port->tail);
    raw_port_receive(port, &envelope, &number, sizeof(number));
    assert_int_equal(number.n, n);
}

static void expect_readable(const struct raw_port *port)
{
    struct pollfd p = { .fd = port->pipe, .events = POLLIN };

    assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
}

/* The state of a process, as `ps` has it. */
static char state_of(pid_t pid)
{
    char path[64], text[512], *end;
    FILE *f;
    size_t n;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    f = fopen(path, "re");
    assert_non_null(f);
    n = fread(text, 1, sizeof(text) - 1, f);
    fclose(f);
    text[n] = '\0';
    end = strrchr(text, ')');
    assert_non_null(end);
    return end[2];
}

/* A process that has begun to move what is in the pipe to where there is no room: whoever writes
 * into a pipe(2) waits for that to end, and no signal ends the wait. */
static void hold_pipe(const struct raw_port *port)
{
    pid_t parent = getpid();
    int ends[2], began[2];
    char byte = 0;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(pipe2(began, O_CLOEXEC), 0);
    while (send(ends[0], &byte, 1, MSG_DONTWAIT) == 1)
        ;
    holder = fork();
    assert_true(holder >= 0);
    if (holder == 0) {
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
            _exit(1);
        (void)!write(began[1], &byte, 1);
        (void)splice(port->pipe, NULL, ends[0], NULL, 1, 0);
        for (;;)
            pause();
    }
    assert_int_equal(read(began[0], &byte, 1), 1);
    assert_true(wait_until(state_of(holder) == 'S'));
    for (int i = 0; i < 2; i++) {
        close(ends[i]);
        close(began[i]);
    }
}

static int let_go(void **state)
{
    (void)state;
    if (holder > 0) {
        kill(holder, SIGKILL);
        waitpid(holder, NULL, 0);
    }
    holder = 0;
    return 0;
}

/* ---- the tests ---- */

static void expect_everybody_served(void)
{
    struct raw_port other;

    raw_expect_alive(&honest);
    raw_port_open_with_pipe(&other, &service, RING);
    expect_wake(&other, 1);
    expect_readable(&other);
    raw_port_close(&other);
}

static void test_one_who_holds_it_while_it_is_written(void **state)
{
    struct raw_port port;

    (void)state;
    raw_port_open_with_pipe(&port, &service, RING);
    expect_wake(&port, 1);
    expect_readable(&port);
    hold_pipe(&port);
    expect_wake(&port, 2);
    expect_everybody_served();
    raw_port_close(&port); /* of which odeond tells by it */
    expect_everybody_served();
}

/* It is one-way: what a client wrote there would be the service's to let go of. */
static void test_one_who_writes_into_it(void **state)
{
    struct raw_port port;

    (void)state;
    raw_port_open_with_pipe(&port, &service, RING);
    assert_int_equal(send(port.pipe, "x", 1, MSG_NOSIGNAL), -1);
    assert_int_equal(errno, EPIPE);
    expect_wake(&port, 1);
    expect_readable(&port);
    raw_port_close(&port);
}

static void test_one_who_wants_nothing_more_of_it(void **state)
{
    struct raw_port port;

    (void)state;
    raw_port_open_with_pipe(&port, &service, RING);
    assert_int_equal(shutdown(port.pipe, SHUT_RDWR), 0);
    expect_wake(&port, 1);
    expect_everybody_served();
    raw_port_close(&port);
    raw_expect_alive(&honest);
}

/* A thousand wakes that nobody takes. */
static void test_one_who_never_reads_it(void **state)
{
    struct raw_port port;

    (void)state;
    raw_port_open_with_pipe(&port, &service, RING);
    for (uint32_t n = 1; n <= 1000; n++)
        expect_wake(&port, n);
    expect_readable(&port);
    raw_port_close(&port);
    expect_everybody_served();
}

static int setup(void **state)
{
    (void)state;
    service_start(&service, (const char *const[]){ SMALL_SERVICE, "--plugin", TEST_PROBE, NULL });
    client = service_connect(&service, "pipe");
    number_type = (uint16_t)message_id(client, odeon_message_of(probe_number));
    echo = spawn(client, "probe_echo", NULL, NULL, 0);
    honest = raw_connect(&service);
    raw_hello(&honest);
    return 0;
}

/* The last, since nobody asks what a group's teardown returns. */
static void test_the_service_has_gone_on(void **state)
{
    (void)state;
    assert_int_equal(service_state(&service).executor_restarts, 0);
    raw_close(&honest);
    odeon_client_disconnect(client);
    assert_int_equal(service_stop(&service, SIGTERM), 0);
    service_end(&service);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_one_who_holds_it_while_it_is_written, let_go),
        cmocka_unit_test(test_one_who_writes_into_it),
        cmocka_unit_test(test_one_who_wants_nothing_more_of_it),
        cmocka_unit_test(test_one_who_never_reads_it),
        cmocka_unit_test(test_the_service_has_gone_on),
    };

    return cmocka_run_group_tests_name("pipe", tests, setup, NULL);
}
