/* SPDX-License-Identifier: Apache-2.0 */
/* The work queue of docs/examples in the real service: its client's program, consumers that are
 * killed, and an executor that is killed while jobs of all sizes go round. Its tests without a
 * service are beside it. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "docs/examples/work-queue/work_actors.h"
#include "tests/system/harness.h"

enum { KILLS = 8, JOBS = 600, PUTS_AT_ONCE = 8, WINDOW = 8, LEASE_AN_HOUR_MS = 3600 * 1000 };

static struct service service;
static struct odeon_client *client;
static odeon_ref queue;

/* ---- The client's program ---- */

static int run_program(const char *arguments, char *output, size_t size)
{
    char command[512];
    FILE *program;
    size_t n;

    snprintf(command, sizeof(command), "ODEON_SOCKET=%s %s %s 2>&1", service.socket,
             TEST_WORK_CLIENT, arguments);
    program = popen(command, "r");
    assert_non_null(program);
    n = fread(output, 1, size - 1, program);
    output[n] = '\0';
    return WEXITSTATUS(pclose(program));
}

static void expect_output(const char *arguments, int code, const char *expected)
{
    char output[512];
    int got = run_program(arguments, output, sizeof(output));

    assert_string_equal(output, expected);
    assert_int_equal(got, code);
}

static bool looks_like(const char *name, const char *expected)
{
    char arguments[64], output[512];

    snprintf(arguments, sizeof(arguments), "look %s", name);
    return run_program(arguments, output, sizeof(output)) == 0 && strstr(output, expected);
}

static void test_the_program(void **state)
{
    (void)state;
    expect_output("put jobs one two", 0, "1\n2\n");
    expect_output("look jobs", 0,
                  "waiting 2, leased 0, returned 0, done 0, put away 0, lost 0; consumers 0, "
                  "window 0\n");
    expect_output("take jobs 2", 0, "1 (1): one\n2 (1): two\n");
    expect_output("wait jobs", 0, "done 2, put away 0, lost 0\n");
    expect_output("kick jobs 1", 1, "odeon-work: no such job is put away\n");
    /* who wants one is lent no other, which it would not read */
    expect_output("put jobs three four", 0, "3\n4\n");
    expect_output("take jobs 1", 0, "3 (1): three\n");
    assert_true(wait_until(looks_like("jobs", "waiting 1, leased 0, returned 0, done 3")));
    expect_output("take jobs 1", 0, "4 (1): four\n");
    /* its consumers have gone, and are forgotten */
    assert_true(wait_until(looks_like("jobs", "consumers 0, window 0")));
}

/* A consumer that ends with the test, also if it is stopped and the test fails. */
static pid_t begin_program(const char *verb, const char *name, const char *n)
{
    pid_t parent = getpid(), child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
            _exit(9);
        setenv("ODEON_SOCKET", service.socket, 1);
        execl(TEST_WORK_CLIENT, TEST_WORK_CLIENT, verb, name, n, NULL);
        _exit(9);
    }
    return child;
}

/* Its lease is an hour: it is its end that gives the jobs back. */
static void test_a_consumer_that_is_killed(void **state)
{
    pid_t child;
    int status;

    (void)state;
    expect_output("put jobs one two three", 0, "1\n2\n3\n");
    child = begin_program("hold", "jobs", "2");
    assert_true(wait_until(looks_like("jobs", "waiting 1, leased 2, returned 0")));
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_true(wait_until(looks_like("jobs", "waiting 1, leased 0, returned 2")));
    /* before the one that waits, and for the second time */
    expect_output("take jobs 3", 0, "1 (2): one\n2 (2): two\n3 (1): three\n");
}

/* The test may be slower than a lease: it has the job again then, and closes it the next time. */
static void take_what_comes_back(struct odeon_port *port, odeon_ref from)
{
    const struct work_ready ready = { .window = 1 };
    uint32_t ready_type = message_id(client, odeon_message_of(work_ready));
    uint32_t job_type = message_id(client, odeon_message_of(work_job));
    uint32_t done_type = message_id(client, odeon_message_of(work_done));
    uint32_t closed_type = message_id(client, odeon_message_of(work_closed));
    struct odeon_delivery delivery;

    assert_int_equal(odeon_port_post(port, from, ready_type, &ready, sizeof(ready)), 0);
    for (bool closed = false; !closed; odeon_port_release(port)) {
        assert_int_equal(odeon_port_receive_wait(port, &delivery, SECONDS(PATIENCE_S)), 1);
        if (delivery.type == job_type) {
            struct work_done done = { ((const struct work_job *)delivery.data)->attempt };

            assert_true(done.attempt > 1);
            assert_int_equal(odeon_port_post(port, delivery.from, done_type, &done, sizeof(done)),
                             0);
        } else {
            assert_int_equal(delivery.type, closed_type);
            closed = ((const struct work_closed *)delivery.data)->outcome == WORK_OK;
        }
    }
}

/* Another one has done its job meanwhile, whose actor has ended: for who is late that is closed. */
static void test_a_consumer_that_is_too_late(void **state)
{
    const struct work_queue_args args = { .lease_ms = 1000, .name = "short" };
    struct odeon_port *port = port_open_or_fail(client, 0, 0, false);
    odeon_ref brief = spawn(client, "work_queue", "short", &args, sizeof(args));
    pid_t child;
    int status;

    (void)state;
    child = begin_program("take", "short", "1");
    assert_true(wait_until(looks_like("short", "consumers 1, window 1")));
    process_stop(child);
    expect_output("put short one", 0, "1\n");
    assert_true(wait_until(looks_like("short", "waiting 0")));
    take_what_comes_back(port, brief);
    assert_true(wait_until(looks_like("short", "done 1")));
    assert_int_equal(kill(child, SIGCONT), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    odeon_port_close(port);
}

/* ---- Kills ---- */

/* One port that puts jobs and one that does them. */
struct market {
    struct odeon_port *producer, *consumer;
    uint32_t put_type, taken_type, ready_type, job_type, done_type, closed_type;
    uint32_t next, under_way, taken, closed;
    uint64_t lent, late;
    uint8_t closings[2 * JOBS + 1]; /* by number */
};

static size_t size_of_job(uint64_t kind)
{
    return kind * 397 % (WORK_BYTES_MAX + 1);
}

static void post_job(struct market *market, uint32_t kind)
{
    uint8_t message[sizeof(struct work_put) + WORK_BYTES_MAX];
    struct work_put head = { .kind = kind };
    size_t size = size_of_job(kind);

    memcpy(message, &head, sizeof(head));
    memset(message + sizeof(head), (int)(kind & 0xff), size);
    assert_int_equal(odeon_port_post_correlated(market->producer, queue, market->put_type, kind + 1,
                                                message, sizeof(head) + size),
                     0);
    market->under_way++;
}

/* A job that is refused is put again: only then has it not been taken. */
static bool produce(struct market *market)
{
    struct odeon_delivery delivery;
    const struct work_taken *taken;

    while (market->under_way < PUTS_AT_ONCE && market->next < JOBS)
        post_job(market, market->next++);
    if (odeon_port_receive(market->producer, &delivery) != 1)
        return false;
    market->under_way--;
    taken = delivery.data;
    if (delivery.type == market->taken_type && taken->outcome == WORK_OK)
        market->taken++;
    else
        post_job(market, (uint32_t)(delivery.correlation - 1));
    odeon_port_release(market->producer);
    return true;
}

static void do_job(struct market *market, const struct odeon_delivery *delivery)
{
    struct work_job job;
    const uint8_t *bytes = (const uint8_t *)delivery->data + sizeof(job);
    struct work_done done;

    memcpy(&job, delivery->data, sizeof(job));
    assert_int_equal(delivery->size, sizeof(job) + size_of_job(job.kind));
    for (size_t i = 0; i < size_of_job(job.kind); i++)
        assert_int_equal(bytes[i], job.kind & 0xff);
    market->lent++;
    done.attempt = job.attempt;
    assert_int_equal(odeon_port_post_wait(market->consumer, delivery->from, market->done_type,
                                          &done, sizeof(done), SECONDS(PATIENCE_S)),
                     0);
}

static bool consume(struct market *market)
{
    struct odeon_delivery delivery;
    const struct work_closed *closed;

    if (odeon_port_receive(market->consumer, &delivery) != 1)
        return false;
    closed = delivery.data;
    if (delivery.type == market->job_type) {
        do_job(market, &delivery);
    } else if (delivery.type == market->closed_type && closed->outcome == WORK_OK) {
        assert_in_range(closed->number, 1, 2 * JOBS);
        assert_int_equal(market->closings[closed->number]++, 0);
        market->closed++;
    } else { /* the lease was over, or the job had ended */
        market->late++;
    }
    odeon_port_release(market->consumer);
    return true;
}

static void open_market(struct market *market)
{
    struct work_ready ready = { .window = WINDOW };

    *market = (struct market){ .put_type = message_id(client, odeon_message_of(work_put)),
                               .taken_type = message_id(client, odeon_message_of(work_taken)),
                               .ready_type = message_id(client, odeon_message_of(work_ready)),
                               .job_type = message_id(client, odeon_message_of(work_job)),
                               .done_type = message_id(client, odeon_message_of(work_done)),
                               .closed_type = message_id(client, odeon_message_of(work_closed)) };
    market->producer = port_open_or_fail(client, 0, 0, false);
    market->consumer = port_open_or_fail(client, 0, 0, false);
    assert_int_equal(
        odeon_port_post(market->consumer, queue, market->ready_type, &ready, sizeof(ready)), 0);
}

/* What was taken is done, once, byte by byte, whoever is killed meanwhile. Each step on the way has
 * a test's patience. */
static void test_over_kills(void **state)
{
    struct market market;
    int64_t end_ns = time_ns() + SECONDS(PATIENCE_S);
    unsigned kills = 0, steps = 0;

    (void)state;
    open_market(&market);
    while (market.taken < JOBS || market.closed < JOBS) {
        bool moved = produce(&market);

        moved |= consume(&market);
        if (market.closed >= JOBS / (KILLS + 1) * (kills + 1) && kills < KILLS) {
            pid_t executor = service_executor(&service);

            assert_int_equal(kill(executor, SIGKILL), 0);
            service_wait_executor(&service, executor);
            kills++;
        }
        if (!moved)
            pause_briefly();
        if (market.taken + market.closed + kills > steps) {
            steps = market.taken + market.closed + kills;
            end_ns = time_ns() + SECONDS(PATIENCE_S);
        }
        if (time_ns() > end_ns)
            fail_msg("%u of %d taken, %u closed, %llu lent", market.taken, JOBS, market.closed,
                     (unsigned long long)market.lent);
    }
    print_message("%u kills, %llu leases of %d jobs, %llu of them late\n", kills,
                  (unsigned long long)market.lent, JOBS, (unsigned long long)market.late);
    assert_int_equal(kills, KILLS);
    assert_int_equal(market.closed, JOBS);
    odeon_port_close(market.producer);
    odeon_port_close(market.consumer);
    expect_output("wait jobs", 0, "done 600, put away 0, lost 0\n");
}

static int setup(void **state)
{
    const struct work_queue_args args = { .lease_ms = LEASE_AN_HOUR_MS, .name = "jobs" };

    (void)state;
    service_start(&service, (const char *const[]){ SMALL_SERVICE, "--set", "durable-bytes=4096",
                                                   "--plugin", TEST_WORK, NULL });
    client = service_connect(&service, "work");
    queue = spawn(client, "work_queue", "jobs", &args, sizeof(args));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    odeon_client_disconnect(client);
    service_end(&service);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_program, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_consumer_that_is_killed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_consumer_that_is_too_late, setup, teardown),
        cmocka_unit_test_setup_teardown(test_over_kills, setup, teardown),
    };

    return cmocka_run_group_tests_name("system/work", tests, NULL, NULL);
}
