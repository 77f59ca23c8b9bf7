/* SPDX-License-Identifier: Apache-2.0 */
/* Who offends again and again waits before it is listened to again, and nobody else does
 * (daemon/supervisor/offenders.h).
 *
 * The offender is a process of its own: the one that runs the tests is an honest one of the same
 * user. It says in shared memory how far it has come. That somebody waits is seen by the counter,
 * and by time that must have gone by; that somebody does not, by the counter alone.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/hostile/raw.h"
#include "tests/system/numbers.h"

enum {
    RING = 1 << 16,
    OFFENCES = 8,
    PREPARED = 10,
    LEFT = 50,
    PROCESSES = 16,
    CROWD = 36,
    CROWD_ROUNDS = 4,
    NAMED = 9, /* that many at the most, before they are many; the last line is their user's */
    GROWN = 10
};
/* So long after the last offence, or hold, a process is forgotten. */
#define REMEMBERED SECONDS(1)
/* What the offences of either kind must bring together: less than they do, or than a pause in which
 * they were forgotten (a second). */
#define ROUNDS_WAIT   MILLISECONDS(10 + 20 + 40 + 80 + 100 + 100)
#define PREPARED_WAIT SECONDS(1)

static struct service service;
static struct numbers bystander;

/* ---- the offender ---- */

struct offender {
    _Atomic int step, ready;
    _Atomic bool answered; /* the request that waits has been */
    int64_t began_ns, took_ns;
};
static struct offender *offender;
static pid_t offender_pid;

static void __attribute__((noreturn)) live(pid_t parent, void (*act)(void))
{
    /* an expectation that fails there ends the process, not the test */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent ||
        setenv("CMOCKA_TEST_ABORT", "1", 1) < 0)
        _exit(1);
    act();
    _exit(0);
}

static void offender_start(void (*act)(void))
{
    pid_t parent = getpid();

    memset((void *)offender, 0, sizeof(*offender));
    fflush(NULL);
    offender_pid = fork();
    assert_true(offender_pid >= 0);
    if (offender_pid == 0)
        live(parent, act);
}

static void offender_end(void)
{
    int status = -1;

    assert_int_equal(waitpid(offender_pid, &status, 0), offender_pid);
    assert_int_equal(status, 0);
}

static void break_port(struct raw_port *port)
{
    raw_port_publish(port, 8 * (uint64_t)RING);
    while (atomic_load(&port->theirs->broken) == PORT_OK)
        pause_briefly();
}

/* It is told of each of its offences, also while it is held back. */
static void expect_told(struct raw_port *port)
{
    struct raw_answer answer;

    assert_int_equal(raw_receive(&port->raw, &answer), 1);
    assert_true(answer.reply->event && answer.reply->event->port_broken);
    raw_answer_fini(&answer);
}

/* One after the other, as quickly as it is let. The executor closes a port before odeond hears of
 * it: who came back at once could be there before its offence is known, and would be spared one
 * wait. */
static void break_ports(void)
{
    struct raw_port port;

    offender->began_ns = time_ns();
    for (int i = 0; i < OFFENCES; i++) {
        raw_port_open(&port, &service, RING);
        break_port(&port);
        expect_told(&port);
        raw_port_close(&port);
    }
    raw_port_open(&port, &service, RING);
    offender->took_ns = time_ns() - offender->began_ns;
    raw_port_close(&port);
}

static void say_nonsense_once(void)
{
    struct raw raw = raw_connect(&service);

    raw_send_bytes(&raw, "nonsense", 8);
    raw_expect_error(&raw, 0, -EBADMSG, "no request");
    raw_expect_end(&raw);
    raw_close(&raw);
}

static void say_nonsense(void)
{
    for (int i = 0; i < OFFENCES; i++)
        say_nonsense_once();
}

/* And waits to be let on, to the next step. */
static void come_to(int step)
{
    atomic_store(&offender->step, step);
    while (atomic_load(&offender->step) == step)
        pause_briefly();
}

/* Many at once, prepared before: then a request that must wait long, and connections that it leaves
 * behind. */
static void leave_connections(void)
{
    static struct raw_port ports[PREPARED];
    struct raw waits;

    for (int i = 0; i < PREPARED; i++)
        raw_port_open(&ports[i], &service, RING);
    waits = raw_connect(&service);
    raw_hello(&waits);
    offender->began_ns = time_ns();
    for (int i = 0; i < PREPARED; i++)
        break_port(&ports[i]);
    for (int i = 0; i < PREPARED; i++) {
        expect_told(&ports[i]);
        raw_port_close(&ports[i]);
    }
    come_to(1);
    for (int i = 0; i < LEFT; i++) {
        struct raw left = raw_connect(&service);

        raw_send_bytes(&left, "nonsense", 8);
        raw_close(&left);
    }
    atomic_store(&offender->step, 3);
    raw_expect_alive(&waits);
    atomic_store(&offender->answered, true);
    come_to(4);
}

static void live_as_many(int n, void (*act)(void))
{
    pid_t parent = getpid(), children[CROWD];

    for (int i = 0; i < n; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0)
            live(parent, act);
    }
    for (int i = 0; i < n; i++) {
        int status = -1;

        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
}

static void break_a_port(void)
{
    struct raw_port port;

    raw_port_open(&port, &service, RING);
    atomic_fetch_add(&offender->ready, 1);
    while (atomic_load(&offender->ready) < PROCESSES)
        pause_briefly();
    break_port(&port);
    raw_port_close(&port);
}

/* Many processes with an offence each, all at once. */
static void offend_as_many(void)
{
    live_as_many(PROCESSES, break_a_port);
}

/* One that has said this before odeond could look: however long its process may have had to wait
 * for a processor, it has not been silent. */
static struct raw connect_and_say(const void *data, size_t size)
{
    struct raw raw;

    process_stop(service.pid);
    raw = raw_connect(&service);
    raw_send_bytes(&raw, data, size);
    assert_int_equal(kill(service.pid, SIGCONT), 0);
    return raw;
}

static struct raw connect_and_say_hello(void)
{
    Odeon__Request request = ODEON__REQUEST__INIT;
    Odeon__Hello hello = ODEON__HELLO__INIT;
    uint8_t bytes[64];
    struct raw raw;

    hello.protocol = ODEON_PROTOCOL_VERSION;
    hello.name = (char[]){ "grown" };
    request.id = 1;
    request.body_case = ODEON__REQUEST__BODY_HELLO;
    request.hello = &hello;
    raw = connect_and_say(bytes, odeon__request__pack(&request, bytes));
    raw.last_id = 1;
    return raw;
}

static void expect_heard(struct raw *raw)
{
    struct raw_answer answer;

    assert_int_equal(raw_receive(raw, &answer), 1);
    assert_int_equal(answer.reply->error, 0);
    raw_answer_fini(&answer);
    raw_expect_alive(raw);
}

/* It says hello at once, and is heard when its hold is over, longer than it may be silent. */
static void say_nonsense_then_hello(void)
{
    struct raw raw;

    for (int i = 0; i < GROWN; i++) {
        raw = connect_and_say("nonsense", 8);
        raw_expect_error(&raw, 0, -EBADMSG, "no request");
        raw_expect_end(&raw);
        raw_close(&raw);
    }
    raw = connect_and_say_hello();
    expect_heard(&raw);
    raw_close(&raw);
}

/* More processes than are remembered, in turn. */
static void say_nonsense_as_a_crowd(void)
{
    for (int i = 0; i < CROWD_ROUNDS; i++)
        live_as_many(CROWD, say_nonsense_once);
}

/* ---- tests ---- */

static int setup(void **state)
{
    (void)state;
    offender =
        mmap(NULL, sizeof(*offender), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(offender != MAP_FAILED);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return munmap((void *)offender, sizeof(*offender));
}

static void begin(const char *hold)
{
    service_start(&service, (const char *const[]){ SMALL_SERVICE, "--set", hold, "--plugin",
                                                   TEST_PROBE, NULL });
    numbers_start(&bystander, &service, 64);
    numbers_wait(&bystander, 100);
}

static void end(void)
{
    numbers_wait(&bystander, 100);
    numbers_finish(&bystander);
    assert_int_equal(service_state(&service).executor_restarts, 0);
    assert_int_equal(service_stop(&service, SIGTERM), 0);
    service_end(&service);
}

/* An honest process of the same user comes and asks, and is not held back. */
static void expect_no_wait(void)
{
    uint64_t held = service_figure(&service, "clients_held");

    for (int i = 0; i < 10; i++) {
        struct odeon_client *client = service_connect(&service, "honest");
        struct odeon_port *port = port_open_or_fail(client, RING, RING, false);

        odeon_port_close(port);
        odeon_client_disconnect(client);
    }
    assert_int_equal(service_figure(&service, "clients_held"), held);
}

/* Once, on a machine that is not so slow that a hold is over before the next connection comes. */
static void offend_until_held(void (*act)(void))
{
    int64_t end = time_ns() + SECONDS(PATIENCE_S);

    while (service_figure(&service, "clients_held") == 0 && time_ns() < end) {
        offender_start(act);
        offender_end();
    }
    assert_true(service_figure(&service, "clients_held") > 0);
}

static void test_each_round_waits(void **state)
{
    char who[80];

    (void)state;
    begin("offender-hold-ms=100");
    offend_until_held(break_ports);
    assert_true(offender->took_ns >= ROUNDS_WAIT);
    assert_int_equal(service_log_count(&service, "is listened to only after a while"), 1);
    snprintf(who, sizeof(who), "process %d, user %u) is listened to", (int)offender_pid, getuid());
    assert_true(service_log_has(&service, who));
    expect_no_wait();
    end();
}

static void test_nonsense_waits_too(void **state)
{
    (void)state;
    begin("offender-hold-ms=100");
    offend_until_held(say_nonsense);
    expect_no_wait();
    end();
}

/* A hold of seconds: others are served meanwhile, what the offender leaves behind goes at once, and
 * the service's end waits for nobody. */
static void test_nobody_waits_for_the_held(void **state)
{
    uint32_t clients;
    unsigned named;
    bool answered;

    (void)state;
    begin("offender-hold-ms=1000");
    clients = service_state(&service).clients;
    offender_start(leave_connections);
    assert_true(wait_until(atomic_load(&offender->step) == 1));
    expect_no_wait();
    atomic_store(&offender->step, 2);
    assert_true(wait_until(atomic_load(&offender->step) == 3));
    odeon_client_disconnect(service_connect(&service, "honest")); /* behind those 50 */
    assert_true(wait_until(service_state(&service).clients == clients + 1));
    answered = atomic_load(&offender->answered);
    named = service_log_count(&service, "sent a record that is no request");
    /* a machine that is slower than that shows nothing here */
    if (time_ns() - offender->began_ns < PREPARED_WAIT) {
        assert_false(answered);
        assert_int_equal(named, 0); /* nobody has listened to those that have gone */
    }
    assert_true(wait_until(atomic_load(&offender->answered)));
    assert_true(time_ns() - offender->began_ns >= PREPARED_WAIT);
    assert_true(wait_until(atomic_load(&offender->step) == 4));
    atomic_store(&offender->step, 5);
    offender_end();
    end();
}

/* They cannot be told from the next one of their user; from those who were there before they
 * can. */
static void test_many_processes_hold_newcomers(void **state)
{
    int64_t end_ns = time_ns() + SECONDS(PATIENCE_S);
    struct raw before;
    uint64_t held;

    (void)state;
    begin("offender-hold-ms=100");
    before = raw_connect(&service);
    raw_hello(&before);
    /* once, on a machine that is not so slow that they are forgotten before the next one comes */
    do {
        offender_start(offend_as_many);
        offender_end();
        odeon_client_disconnect(service_connect(&service, "newcomer"));
        held = service_figure(&service, "clients_held");
    } while (held == 0 && time_ns() < end_ns);
    assert_true(held > 0);
    raw_expect_alive(&before);
    assert_int_equal(service_figure(&service, "clients_held"), held);
    raw_close(&before);
    end();
}

/* How many the log has named, of one crowd; and how many it may have by the time that has gone by:
 * where offences come so slowly that some are forgotten meanwhile, others are named. */
static unsigned name_a_crowd(unsigned *ret_may)
{
    unsigned before = service_log_count(&service, "sent a record that is no request");
    int64_t began = time_ns();

    offender_start(say_nonsense_as_a_crowd);
    offender_end();
    *ret_may = NAMED * (unsigned)((time_ns() - began) / REMEMBERED + 1);
    return service_log_count(&service, "sent a record that is no request") - before;
}

/* Nor do they fill the log, as soon as there are too many for each to be named. */
static void test_a_crowd_does_not_fill_the_log(void **state)
{
    int64_t end_ns = time_ns() + SECONDS(PATIENCE_S);
    unsigned named, may;

    (void)state;
    begin("offender-hold-ms=20");
    do {
        named = name_a_crowd(&may);
        print_message("# %u of %d are named, %u may be\n", named, CROWD * CROWD_ROUNDS, may);
        assert_in_range(named, 1, may);
    } while (may >= CROWD * CROWD_ROUNDS && time_ns() < end_ns);
    end();
    if (may >= CROWD * CROWD_ROUNDS) {
        print_message("# skipped: no crowd comes quickly enough here\n");
        skip();
    }
}

static void test_shutdown_with_somebody_held(void **state)
{
    (void)state;
    begin("offender-hold-ms=1000");
    offender_start(leave_connections);
    assert_true(wait_until(atomic_load(&offender->step) == 1));
    assert_int_equal(kill(offender_pid, SIGKILL), 0);
    assert_int_equal(waitpid(offender_pid, NULL, 0), offender_pid);
    end();
}

static void test_none_is_held_without_a_hold(void **state)
{
    (void)state;
    begin("offender-hold-ms=0");
    offender_start(break_ports);
    offender_end();
    assert_int_equal(service_figure(&service, "ports_broken"), OFFENCES);
    assert_int_equal(service_figure(&service, "clients_held"), 0);
    end();
}

static bool is_answered(struct odeon_client *client)
{
    struct odeon_status *status = NULL;
    bool answered = odeon_service_status(client, &status) == 0;

    odeon_result_free(status);
    return answered;
}

/* From now on: who is there has said hello, and who has not is not meant to. */
static void allow_silence_for(const char *setting)
{
    service_configure(&service, setting);
    assert_int_equal(kill(service.pid, SIGHUP), 0);
    assert_true(wait_until(service_log_has(&service, "read again and applied")));
}

/* One that connects and says nothing gives its place back; those that have said hello may be silent
 * for as long as they like. */
static void test_who_says_nothing_is_ended(void **state)
{
    struct odeon_client *idle;
    struct raw raw;

    (void)state;
    begin("offender-hold-ms=100");
    idle = service_connect(&service, "idle");
    allow_silence_for("hello-ms = 2000\n");
    for (int i = 0; i < 2; i++) {
        raw = raw_connect(&service);
        raw_expect_end(&raw);
        raw_close(&raw);
    }
    assert_true(
        wait_until(service_log_has(&service, "it has not said hello within 2000 ms (hello-ms)")));
    assert_true(is_answered(idle));
    assert_false(service_log_has(&service, "idle, process"));
    /* once a minute: the second is there with the next, if there is one (told.T1) */
    assert_int_equal(service_log_count(&service, "it has not said hello within"), 1);
    odeon_client_disconnect(idle);
    end();
}

static void test_who_is_held_back_is_not_silent(void **state)
{
    (void)state;
    service_start(&service,
                  (const char *const[]){ SMALL_SERVICE, "--set", "offender-hold-ms=1000", NULL });
    allow_silence_for("hello-ms = 500\n");
    offender_start(say_nonsense_then_hello);
    offender_end();
    assert_false(service_log_has(&service, "it has not said hello within"));
    assert_int_equal(service_stop(&service, SIGTERM), 0);
    service_end(&service);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_round_waits),
        cmocka_unit_test(test_nonsense_waits_too),
        cmocka_unit_test(test_nobody_waits_for_the_held),
        cmocka_unit_test(test_many_processes_hold_newcomers),
        cmocka_unit_test(test_a_crowd_does_not_fill_the_log),
        cmocka_unit_test(test_shutdown_with_somebody_held),
        cmocka_unit_test(test_none_is_held_without_a_hold),
        cmocka_unit_test(test_who_says_nothing_is_ended),
        cmocka_unit_test(test_who_is_held_back_is_not_silent),
    };

    return cmocka_run_group_tests_name("offenders", tests, setup, teardown);
}
