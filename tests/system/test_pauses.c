/* SPDX-License-Identifier: Apache-2.0 */
/* A process that stands still (SIGSTOP, a machine that sleeps) is neither dead nor stuck: nobody is
 * declared so, nothing is lost or doubled, and no handler is blamed for the time in which it could
 * not run.
 *
 * The pause is longer than the executor lets a handler run, so that a false report would show. The
 * sleeps are the pauses themselves. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/system/faulty.h"
#include "tests/system/numbers.h"
#include "tests/system/probe.h"

enum { PAUSE_MS = 3500 };
#define WARN "stall-warn-ms=2000"
#define KILL "stall-kill-ms=2500"

static struct service service;
static struct numbers numbers;

static int setup(void **state)
{
    (void)state;
    service_start(&service,
                  (const char *const[]){ SMALL_SERVICE, "--set", WARN, "--set", KILL, "--plugin",
                                         TEST_PROBE, "--plugin", TEST_FAULTY, NULL });
    numbers_start(&numbers, &service, 64);
    numbers_wait(&numbers, 1000);
    return 0;
}

/* Nobody has been declared anything. */
static int teardown(void **state)
{
    (void)state;
    numbers_wait(&numbers, 1000);
    numbers_finish(&numbers);
    assert_int_equal(service_state(&service).executor_restarts, 0);
    assert_int_equal(service_figure(&service, "handler_stalls"), 0);
    assert_int_equal(service_figure(&service, "redeliveries"), 0);
    assert_int_equal(service_figure(&service, "refusals"), 0);
    assert_false(service_log_has(&service, "has not returned"));
    assert_false(service_log_has(&service, "did not return"));
    assert_int_equal(service_stop(&service, SIGTERM), 0);
    service_end(&service);
    return 0;
}

static void pass(unsigned ms)
{
    nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L }, NULL);
}

/* In the middle of a handler, too, which stops it: were it stopped from here, the handler would
 * compute until this thread comes to that. */
static void test_executor_is_stopped(void **state)
{
    struct odeon_client *client = service_connect(&service, "pauses");
    struct odeon_port *port = port_open_or_fail(client, 0, 0, false);
    struct faulty_args args = { .index = 0 };
    struct faulty_do stop = { .how = FAULTY_STOP, .times = 1 };
    pid_t executor = service_executor(&service);
    struct faulty_page *page;

    (void)state;
    page = service_map_page(&service, args.page, sizeof(args.page), sizeof(*page));
    assert_int_equal(odeon_port_post(port, spawn(client, "faulty_actor", NULL, &args, sizeof(args)),
                                     message_id(client, odeon_message_of(faulty_do)), &stop,
                                     sizeof(stop)),
                     0);
    assert_true(wait_until(process_stands(executor)));
    assert_int_equal(atomic_load(&page->entered), 1);
    pass(PAUSE_MS);
    assert_int_equal(kill(executor, SIGCONT), 0);
    assert_true(wait_until(atomic_load(&page->done) == 1));
    assert_int_equal(atomic_load(&page->entered), 1);
    munmap(page, sizeof(*page));
    odeon_client_disconnect(client);
}

/* A client of its own process: calls an echo and counts, until it is told to stop. */
struct caller {
    _Atomic uint64_t called;
    _Atomic uint32_t stop;
};

static int caller_run(struct caller *caller, const char *socket)
{
    struct odeon_client *client = NULL;
    struct odeon_port *port = NULL;
    odeon_ref echo = ODEON_NOBODY;
    uint32_t type = 0;

    if (odeon_client_connect(socket, "caller", &client) < 0 ||
        odeon_port_open(client, NULL, &port) < 0 ||
        odeon_message_id(client, odeon_message_of(probe_number), &type) < 0 ||
        odeon_actor_spawn(client, "probe_echo", NULL, NULL, 0, &echo) < 0)
        return 1;
    for (uint64_t n = 1; !atomic_load(&caller->stop); n++) {
        struct probe_number number = { .n = n };
        struct odeon_delivery reply;

        if (odeon_port_call(port, echo, type, &number, sizeof(number), SECONDS(PATIENCE_S),
                            &reply) != ODEON_CALL_REPLY)
            return 2;
        if (((const struct probe_number *)reply.data)->n != n)
            return 3;
        odeon_port_release(port);
        atomic_store(&caller->called, n);
    }
    odeon_client_disconnect(client);
    return 0;
}

/* Both at once: a client that stands still, and odeond, which everybody else does not need
 * meanwhile. */
static void test_odeond_and_a_client_are_stopped(void **state)
{
    struct caller *caller =
        mmap(NULL, sizeof(*caller), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    uint64_t before;
    int status;
    pid_t pid;

    (void)state;
    assert_true(caller != MAP_FAILED);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(caller_run(caller, service.socket));
    assert_true(wait_until(atomic_load(&caller->called) > 100));
    process_stop(pid);
    process_stop(service.pid);
    before = atomic_load(&caller->called);
    numbers_wait(&numbers, 1000);
    pass(PAUSE_MS);
    numbers_wait(&numbers, 1000);
    assert_int_equal(kill(service.pid, SIGCONT), 0);
    odeon_client_disconnect(service_connect(&service, "answered"));
    assert_int_equal(kill(pid, SIGCONT), 0);
    assert_true(wait_until(atomic_load(&caller->called) > before + 100));
    atomic_store(&caller->stop, 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    munmap(caller, sizeof(*caller));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_executor_is_stopped, setup, teardown),
        cmocka_unit_test_setup_teardown(test_odeond_and_a_client_are_stopped, setup, teardown),
    };

    return cmocka_run_group_tests_name("pauses", tests, NULL, NULL);
}
