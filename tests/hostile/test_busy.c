/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that are few and take long: they count for as many as odeond's loop could have answered
 * meanwhile, and what others wait for comes between them.
 *
 * Quotas bind all here, so that the tests' own user is one that they bind. Judged by processor
 * time, and by what is refused; no time on the clock is.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/hostile/raw.h"

enum {
    SLOW_COPIES = 100,
    SLOW_WATCHES = 200,
    AT_ONCE = 32,
    MANY = 120,
    LISTS = 8,
    LAST = 240,
    RING = 1 << 16
};

static struct service service;

#define START(...)                                                                                 \
    service_start(&service,                                                                        \
                  (const char *const[]){ SMALL_SERVICE, "--set", "quotas-bind=all", "--set",       \
                                         "quota-ports=256", __VA_ARGS__, NULL })

static int end(void **state)
{
    (void)state;
    assert_int_equal(service_stop(&service, SIGTERM), 0);
    service_end(&service);
    return 0;
}

/* What odeond has used. */
static uint64_t service_cpu_ns(void)
{
    struct timespec used;
    clockid_t clock;

    assert_int_equal(clock_getcpuclockid(service.pid, &clock), 0);
    assert_int_equal(clock_gettime(clock, &used), 0);
    return (uint64_t)used.tv_sec * UINT64_C(1000000000) + (uint64_t)used.tv_nsec;
}

/* Whoever sends to this socket wakes each of them. */
static void watch_often(int fd, int *copies, int *watchers)
{
    struct epoll_event event = { .events = EPOLLIN };

    for (int i = 0; i < SLOW_COPIES; i++) {
        copies[i] = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        assert_true(copies[i] >= 0);
    }
    for (int i = 0; i < SLOW_WATCHES; i++) {
        watchers[i] = epoll_create1(EPOLL_CLOEXEC);
        assert_true(watchers[i] >= 0);
        for (int k = 0; k < SLOW_COPIES; k++)
            assert_int_equal(epoll_ctl(watchers[i], EPOLL_CTL_ADD, copies[k], &event), 0);
    }
}

static void ask_status(struct raw *raw)
{
    Odeon__Request request = ODEON__REQUEST__INIT;
    Odeon__Status status = ODEON__STATUS__INIT;
    struct raw_answer answer;

    request.body_case = ODEON__REQUEST__BODY_STATUS;
    request.status = &status;
    for (int i = 0; i < AT_ONCE; i++)
        raw_send(raw, &request, NULL, 0);
    for (int i = 0; i < AT_ONCE; i++) {
        assert_int_equal(raw_receive(raw, &answer), 1);
        assert_int_equal(answer.reply->error, 0);
        raw_answer_fini(&answer);
    }
}

/* Whoever has less of a processor than what a second's requests may take is never slowed down for
 * that: an odeond that is starved so long that it says nothing of the rule. */
static bool is_starved(int64_t begin_ns, uint64_t used_ns)
{
    int64_t passed = time_ns() - begin_ns;

    return passed > SECONDS(10) && 4 * (service_cpu_ns() - used_ns) < (uint64_t)passed;
}

/* Each of these takes milliseconds, so that a second has never as many of them as are allowed: who
 * asks is slowed down for how long they take. */
static void test_requests_that_take_long(void **state)
{
    int copies[SLOW_COPIES], watchers[SLOW_WATCHES], asked = 0;
    bool starved = false, told;
    uint64_t used;
    int64_t begin;
    struct raw raw;

    (void)state;
    START("--set", "quota-requests=2000");
    raw = raw_connect(&service);
    raw_hello(&raw);
    watch_often(raw.fd, copies, watchers);
    begin = time_ns();
    used = service_cpu_ns();
    while (!(told = service_log_has(&service, "asks too much")) && !starved &&
           time_ns() - begin < SECONDS(PATIENCE_S)) {
        ask_status(&raw);
        asked += AT_ONCE;
        starved = is_starved(begin, used);
    }
    print_message("# slowed down behind %d requests, %llu us of odeond's\n", asked,
                  (unsigned long long)(service_cpu_ns() - used) / 1000);
    for (int i = 0; i < SLOW_WATCHES; i++)
        close(watchers[i]);
    for (int i = 0; i < SLOW_COPIES; i++)
        close(copies[i]);
    raw_close(&raw);
    if (starved && !told) {
        print_message("# skipped: odeond has no quarter of a processor\n");
        skip();
    }
    assert_true(told);
    assert_true(service_log_has(&service, "quota-requests"));
}

static void send_list(struct raw *raw)
{
    Odeon__Request request = ODEON__REQUEST__INIT;
    Odeon__ClientList list = ODEON__CLIENT_LIST__INIT;
    Odeon__Page page = ODEON__PAGE__INIT;

    page.rows = ODEON_PAGE_ROWS_MAX;
    list.page = &page;
    request.body_case = ODEON__REQUEST__BODY_CLIENT_LIST;
    request.client_list = &list;
    raw_send(raw, &request, NULL, 0);
}

static void receive_list(struct raw *raw)
{
    struct raw_answer answer;

    assert_int_equal(raw_receive(raw, &answer), 1);
    assert_int_equal(answer.reply->error, 0);
    assert_int_equal(answer.reply->body_case, ODEON__REPLY__BODY_CLIENT_LIST);
    raw_answer_fini(&answer);
}

/* What took so long was done in turns, the longest of which is a small part of it. */
static void expect_turns(const struct odeon_status *status, const char *what, uint64_t spent)
{
    print_message("# %s: %llu us, the longest turn %llu us (%s)\n", what,
                  (unsigned long long)spent / 1000,
                  (unsigned long long)status->supervisor_turn_longest_ns / 1000,
                  status->supervisor_turn_work);
    assert_true(status->supervisor_turn_longest_ns < spent / 4);
}

/* All that lies there when the loop looks is not answered in one turn, and all of it is answered.
 */
static void test_many_at_once(void **state)
{
    struct raw_port *ports = calloc(MANY, sizeof(*ports));
    struct odeon_status *status = NULL;
    struct odeon_client *client;
    uint64_t before, spent;

    (void)state;
    assert_non_null(ports);
    START("--set", "quota-requests=0");
    for (int i = 0; i < MANY; i++)
        raw_port_open(&ports[i], &service, RING);
    assert_int_equal(kill(service.pid, SIGSTOP), 0);
    before = service_cpu_ns();
    for (int i = 0; i < MANY * LISTS; i++)
        send_list(&ports[i / LISTS].raw);
    assert_int_equal(kill(service.pid, SIGCONT), 0);
    for (int i = 0; i < MANY * LISTS; i++)
        receive_list(&ports[i / LISTS].raw);
    spent = service_cpu_ns() - before;
    for (int i = 0; i < MANY; i++)
        raw_port_close(&ports[i]);
    free(ports);
    client = service_connect(&service, "asks");
    assert_int_equal(odeon_service_status(client, &status), 0);
    expect_turns(status, "many at once", spent);
    odeon_result_free(status);
    odeon_client_disconnect(client);
}

static _Noreturn void send_lists_when_told(int told)
{
    struct raw raw = raw_connect(&service);
    char byte;

    raw_hello(&raw);
    if (write(told, "h", 1) != 1 || read(told, &byte, 1) != 1)
        _exit(1);
    for (int i = 0; i < LAST; i++)
        send_list(&raw);
    _exit(0);
}

static bool is_alone(struct odeon_client *client, struct odeon_status **status)
{
    odeon_result_free(*status);
    *status = NULL;
    return odeon_service_status(client, status) == 0 && (*status)->clients == 1 + MANY;
}

/* What a process had asked for before it died is worked off in turns, too. */
static void test_of_one_who_has_died(void **state)
{
    struct raw_port *ports = calloc(MANY, sizeof(*ports));
    struct odeon_status *status = NULL;
    struct odeon_client *client;
    uint64_t before, spent;
    int ends[2];
    char byte;
    pid_t child;

    (void)state;
    assert_non_null(ports);
    START("--set", "quota-requests=0");
    for (int i = 0; i < MANY; i++)
        raw_port_open(&ports[i], &service, RING);
    client = service_connect(&service, "asks");
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        send_lists_when_told(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    process_stop(service.pid);
    before = service_cpu_ns();
    assert_int_equal(write(ends[0], "g", 1), 1);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(kill(service.pid, SIGCONT), 0);
    assert_true(wait_until(is_alone(client, &status)));
    spent = service_cpu_ns() - before;
    expect_turns(status, "of one who has died", spent);
    odeon_result_free(status);
    odeon_client_disconnect(client);
    for (int i = 0; i < MANY; i++)
        raw_port_close(&ports[i]);
    free(ports);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_requests_that_take_long, end),
        cmocka_unit_test_teardown(test_many_at_once, end),
        cmocka_unit_test_teardown(test_of_one_who_has_died, end),
    };

    return cmocka_run_group_tests_name("busy", tests, NULL, NULL);
}
