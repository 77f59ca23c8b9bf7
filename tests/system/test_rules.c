/* SPDX-License-Identifier: Apache-2.0 */
/* A rule of the executor is broken in the middle of a handler: the log names it, nobody is blamed,
 * and after rule-stops-max times the executor stays down until it is told to go on. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/system/breaker.h"
#include "tests/system/harness.h"

enum { STOPS = 2, WAITING = 20 };

struct bench {
    struct service service;
    struct odeon_client *client;
    struct odeon_port *port;
    struct breaker_page *page;
    odeon_ref actor;
    uint32_t number_type, told_type;
};

static void begin_in_folder(struct bench *b, const char *stops)
{
    struct breaker_args args = { 0 };

    service_spawn(&b->service,
                  (const char *const[]){ SMALL_SERVICE, "--set", "restart-delay-max-ms=10", "--set",
                                         "attempts=1", "--set", "suspect-deaths=1", "--set", stops,
                                         "--executor", TEST_EXECUTOR_EXPORTING, "--plugin",
                                         TEST_BREAKER, NULL });
    service_wait_ready(&b->service);
    b->page = service_map_page(&b->service, args.page, sizeof(args.page), sizeof(*b->page));
    b->client = service_connect(&b->service, "rules");
    b->number_type = message_id(b->client, odeon_message_of(breaker_number));
    b->told_type = message_id(b->client, odeon_message_of(breaker_told));
    b->actor = spawn(b->client, "breaker", NULL, &args, sizeof(args));
    b->port = port_open_or_fail(b->client, 0, 0, false);
}

static const char *begin_folder(struct bench *b)
{
    memset(b, 0, sizeof(*b));
    service_make_dir(&b->service);
    return b->service.dir;
}

static void begin(struct bench *b, const char *stops)
{
    begin_folder(b);
    begin_in_folder(b, stops);
}

static void end(struct bench *b)
{
    odeon_client_disconnect(b->client);
    assert_int_equal(service_stop(&b->service, SIGTERM), 0);
    munmap(b->page, sizeof(*b->page));
    service_end(&b->service);
}

static void touch(const char *file)
{
    int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    close(fd);
}

static void post(struct bench *b, uint64_t n)
{
    struct breaker_number number = { .n = n };

    assert_int_equal(odeon_port_post(b->port, b->actor, b->number_type, &number, sizeof(number)),
                     0);
}

/* The answer to number `n`, which no stop has been counted against. */
static void receive(struct bench *b, uint64_t n, bool redelivered)
{
    const struct breaker_told *told;
    struct odeon_delivery delivery;

    assert_int_equal(odeon_port_receive_wait(b->port, &delivery, SECONDS(PATIENCE_S)), 1);
    assert_int_equal(delivery.type, b->told_type);
    told = delivery.data;
    assert_int_equal(told->n, n);
    assert_int_equal(told->attempts, 0);
    assert_int_equal(told->redelivered, redelivered);
    odeon_port_release(b->port);
}

/* The segment, as odeond has it; 0: it has none. */
static ino_t segment_of(pid_t pid)
{
    char path[64], target[128];
    struct stat st;

    for (unsigned fd = 3; fd < 64; fd++) {
        ssize_t n;

        snprintf(path, sizeof(path), "/proc/%d/fd/%u", (int)pid, fd);
        n = readlink(path, target, sizeof(target) - 1);
        target[n > 0 ? n : 0] = '\0';
        if (strstr(target, "odeon-segment") && stat(path, &st) == 0)
            return st.st_ino;
    }
    return 0;
}

static unsigned state_is_down(struct service *service)
{
    char output[4096];

    return ctl(service, output, sizeof(output), "status") == 0 &&
           strstr(output, "executor-down") != NULL;
}

static void test_it_stays_down_until_told(void **state)
{
    struct odeon_port *refused;
    struct bench b;
    ino_t segment;

    (void)state;
    begin(&b, "rule-stops-max=2");
    segment = segment_of(b.service.pid);
    assert_true(segment != 0);
    atomic_store(&b.page->breaks, 1);
    post(&b, 0);
    assert_true(wait_until(service_log_has(&b.service, "the executor stays down")));
    /* the executor's own lines, odeond's, and nobody's fault */
    assert_int_equal(service_log_count(&b.service, "rule breaker.B1 is broken: "), STOPS);
    assert_int_equal(
        service_log_count(&b.service, "has stopped itself: rule breaker.B1 is broken ("), STOPS);
    assert_int_equal(service_log_count(&b.service, "; it is started again"), STOPS - 1);
    assert_int_equal(service_log_count(&b.service, "a handler of plugin"), 0);
    assert_true(state_is_down(&b.service));
    assert_int_equal(atomic_load(&b.page->entered), STOPS);
    assert_int_equal(service_state(&b.service).executor_pid, 0);
    assert_true(segment_of(b.service.pid) == segment);
    /* what needs an executor is refused, with the way out; what has a port goes on posting */
    assert_int_equal(odeon_port_open(b.client, NULL, &refused), -EHOSTDOWN);
    assert_non_null(strstr(odeon_error_text(), "systemctl reload odeond"));
    for (uint64_t n = 1; n <= WAITING; n++)
        post(&b, n);
    assert_int_equal(atomic_load(&b.page->entered), STOPS);
    atomic_store(&b.page->breaks, 0);
    assert_int_equal(kill(b.service.pid, SIGHUP), 0);
    for (uint64_t n = 0; n <= WAITING; n++)
        receive(&b, n, n == 0);
    assert_true(segment_of(b.service.pid) == segment);
    assert_int_equal(service_figure(&b.service, "dead_letters"), 0);
    assert_int_equal(service_figure(&b.service, "faults"), 0);
    assert_int_equal(atomic_load(&b.page->entered), STOPS + 1 + WAITING);
    end(&b);
}

/* Fewer stops than the limit: it goes on by itself.  Zero: so it always does. */
static void test_it_goes_on_below_the_limit(void **state)
{
    static const char *const limits[] = { "rule-stops-max=1000000", "rule-stops-max=0" };

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct bench b;

        begin(&b, limits[i]);
        atomic_store(&b.page->breaks, 1);
        post(&b, 7);
        assert_true(wait_until(atomic_load(&b.page->entered) >= STOPS + 1));
        atomic_store(&b.page->breaks, 0);
        receive(&b, 7, true);
        assert_int_equal(service_log_count(&b.service, "the executor stays down"), 0);
        end(&b);
    }
}

/* A reload that waits for an executor which does not get ready keeps nobody from starting one. */
static void test_each_reload_starts_one(void **state)
{
    enum { HELD = 3 };
    char file[96];
    struct bench b;

    (void)state;
    snprintf(file, sizeof(file), "%s/breaks", begin_folder(&b));
    assert_int_equal(setenv("BREAKER_FILE", file, 1), 0);
    begin_in_folder(&b, "rule-stops-max=1");
    touch(file);
    atomic_store(&b.page->breaks, 1);
    post(&b, 0);
    for (unsigned i = 1; i < HELD; i++) {
        assert_true(wait_until(service_log_count(&b.service, "the executor stays down") == i));
        assert_int_equal(service_log_count(&b.service, "which was down over a broken rule"), i - 1);
        assert_int_equal(kill(b.service.pid, SIGHUP), 0);
    }
    assert_true(wait_until(service_log_count(&b.service, "the executor stays down") == HELD));
    assert_int_equal(service_log_count(&b.service, "rule breaker.B2 is broken: "), HELD - 1);
    assert_int_equal(unlink(file), 0);
    atomic_store(&b.page->breaks, 0);
    assert_int_equal(kill(b.service.pid, SIGHUP), 0);
    receive(&b, 0, true);
    /* the first one, and the one that was asked for while it ran */
    assert_true(wait_until(
        service_log_count(&b.service, "the configuration has been read again and applied") == 2));
    assert_int_equal(unsetenv("BREAKER_FILE"), 0);
    end(&b);
}

/* A stop while it is down is no matter. */
static void test_a_stop_while_it_is_down(void **state)
{
    struct bench b;

    (void)state;
    begin(&b, "rule-stops-max=1");
    atomic_store(&b.page->breaks, 1);
    post(&b, 0);
    assert_true(wait_until(service_log_has(&b.service, "the executor stays down")));
    end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_stays_down_until_told),
        cmocka_unit_test(test_it_goes_on_below_the_limit),
        cmocka_unit_test(test_each_reload_starts_one),
        cmocka_unit_test(test_a_stop_while_it_is_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
