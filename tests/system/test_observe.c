/* SPDX-License-Identifier: Apache-2.0 */
/* What actors do, as the library reads it of a service that runs: which actor is hot, who sends to
 * whom, how long messages run and wait, held against what this program has posted; who may look. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <odeon/observe.h>

#include "tests/system/harness.h"
#include "tests/system/ledger.h"
#include "tests/system/manager.h"
#include "tests/system/probe.h"
#include "tests/system/user.h"

enum {
    LEDGERS = 20,
    WORKS = 100,
    WORK_NS = 1000000, /* one of the hot actor's; the others' take none */
    LONG_NS = 20000000,
    PAUSE_US = 300, /* between two posts: each is taken from the ring by itself, or nearly */
};

static struct service service;
static struct odeon_client *root;
static struct odeon_port *port;
static odeon_ref ledgers[LEDGERS];
static uint32_t work_type;

static void begin(const char *const *arguments)
{
    service_start_for_users(&service, arguments);
    root = service_connect(&service, "root");
    port = port_open_or_fail(root, 1 << 20, 1 << 20, false);
    work_type = message_id(root, odeon_message_of(probe_work));
    for (unsigned i = 0; i < LEDGERS; i++)
        ledgers[i] = spawn(root, "probe_ledger", NULL, NULL, 0);
}

static int end(void **state)
{
    (void)state;
    odeon_port_close(port);
    odeon_client_disconnect(root);
    port = NULL;
    root = NULL;
    if (service.pid > 0)
        (void)service_stop(&service, SIGKILL);
    service_end(&service);
    return 0;
}

/* All that has been posted has been run. */
static void settle(void)
{
    for (unsigned i = 0; i < LEDGERS; i++)
        ledger_settle(port, ledgers[i], message_id(root, odeon_message_of(probe_ask)));
}

/* Of one type since odeond's start; all zeros: it has none. */
static struct odeon_type_figures figures_of(struct odeon_observer *observer, const char *type)
{
    struct odeon_type_figures figures = { 0 };
    struct odeon_list *list = NULL;

    assert_int_equal(odeon_observe_look(observer, NULL), 0);
    assert_int_equal(odeon_observe_types(observer, 1, &list), 0);
    for (size_t i = 0; i < list->n; i++) {
        const struct odeon_type_figures *row = (const struct odeon_type_figures *)list->rows + i;

        if (strcmp(row->type, type) == 0)
            figures = *row;
    }
    figures.type = figures.plugin = NULL;
    odeon_list_free(list);
    return figures;
}

static odeon_ref hottest(struct odeon_observer *observer, enum odeon_observe_by by)
{
    struct odeon_list *list = NULL;
    odeon_ref ref = ODEON_NOBODY;

    assert_int_equal(odeon_observe_look(observer, NULL), 0);
    assert_int_equal(odeon_observe_actors(observer, by, &list), 0);
    if (list->n)
        ref = ((const struct odeon_actor_figures *)list->rows)->ref;
    odeon_list_free(list);
    return ref;
}

static bool flow_is_there(struct odeon_observer *observer, const char *from, const char *to)
{
    struct odeon_list *list = NULL;
    bool is = false;

    assert_int_equal(odeon_observe_look(observer, NULL), 0);
    assert_int_equal(odeon_observe_flows(observer, &list), 0);
    for (size_t i = 0; i < list->n; i++) {
        const struct odeon_flow_figures *row = (const struct odeon_flow_figures *)list->rows + i;

        is = is || (strcmp(row->from, from) == 0 && strcmp(row->to, to) == 0 && row->most > 0);
    }
    odeon_list_free(list);
    return is;
}

/* What odeonctl type list says of their states, before they have run anything, beside actors that
 * are there again behind a crash of the executor. */
static bool states_are_told(struct odeon_observer *observer, uint64_t actors)
{
    struct odeon_type_figures ledger = figures_of(observer, "probe_ledger");
    char output[16384], says[80];

    snprintf(says, sizeof(says), "\"state_bytes\":%" PRIu64 ",", ledger.state_bytes);
    return ledger.actors == actors && ledger.state_bytes > actors &&
           ctl(&service, output, sizeof(output), "type list --json") == 0 &&
           strstr(output, says) != NULL;
}

static void test_states_are_told(void **state)
{
    struct odeon_observer *observer = NULL;

    (void)state;
    begin((const char *const[]){ "--set", "restart-delay-max-ms=1", NULL });
    assert_int_equal(odeon_observe_open(root, &observer), 0);
    assert_true(states_are_told(observer, LEDGERS));
    service_kill_executor(&service);
    assert_true(wait_until(states_are_told(observer, LEDGERS)));
    assert_int_equal(odeon_actor_stop(root, ledgers[0], ODEON_DELETE), 0);
    assert_true(wait_until(states_are_told(observer, LEDGERS - 1)));
    odeon_observe_close(observer);
}

/* One message that takes its time for the hot one, three that take none for the others in turn. */
static void work_a_round(odeon_ref hot, unsigned round)
{
    ledger_work(port, hot, work_type, WORK_NS);
    for (unsigned k = 0; k < 3; k++)
        ledger_work(port, ledgers[(round + k) % LEDGERS], work_type, 0);
    usleep(PAUSE_US);
}

static void test_the_hot_actor_is_named(void **state)
{
    struct odeon_observer *observer = NULL;
    unsigned rounds = 0;
    odeon_ref hot;

    (void)state;
    begin((const char *const[]){ NULL });
    hot = ledgers[LEDGERS / 2];
    assert_int_equal(odeon_observe_open(root, &observer), 0);
    for (; rounds < WORKS; rounds++)
        work_a_round(hot, rounds);
    /* of the last seconds: while it is so, and not long after, which is when this thread may come
     * to look */
    assert_true(wait_until((work_a_round(hot, rounds++), hottest(observer, ODEON_BY_RUN) == hot)));
    settle();
    struct odeon_type_figures ledger = figures_of(observer, "probe_ledger");
    assert_true(ledger.run_most_ns >= WORK_NS);
    /* most of the hot one's are timed one by one; where its worker was kept from the processor
     * while others ran many quick ones, the next are taken for quick, too */
    assert_true(ledger.run_ns >= (uint64_t)WORKS * WORK_NS / 4);
    assert_true(ledger.messages >= ledger.timed && ledger.timed > 0);
    assert_true(flow_is_there(observer, "port", "probe_ledger"));
    odeon_observe_close(observer);
}

/* All that has run is in the histogram, those that took long above what others took. */
static void test_times_are_told(void **state)
{
    const uint64_t below[] = { 1 << 19, UINT64_C(1) << 39 }, falling[] = { 2, 1 };
    struct odeon_observer *observer = NULL;
    struct odeon_list *list = NULL;
    const struct odeon_type_figures *row;
    uint64_t counts[3];

    (void)state;
    begin((const char *const[]){ NULL });
    assert_int_equal(odeon_observe_open(root, &observer), 0);
    for (unsigned i = 0; i < WORKS; i++) {
        ledger_work(port, ledgers[i % LEDGERS], work_type, i % 2 ? WORK_NS : 0);
        usleep(PAUSE_US);
    }
    settle();
    assert_int_equal(odeon_observe_look(observer, NULL), 0);
    assert_int_equal(odeon_observe_types(observer, 1, &list), 0);
    assert_int_equal(list->n, 1);
    row = list->rows;
    assert_int_equal(odeon_observe_times(observer, row->id, ODEON_TIMES_RUN, below, 2, counts), 0);
    assert_int_equal(counts[2], row->messages);
    assert_int_equal(counts[1], row->messages);
    assert_true(counts[0] < row->messages && counts[0] > 0);
    assert_int_equal(odeon_observe_times(observer, row->id, ODEON_TIMES_WAIT, NULL, 0, counts), 0);
    assert_int_equal(counts[0], row->waited);
    assert_int_equal(odeon_observe_times(observer, row->id, ODEON_TIMES_RUN, falling, 2, counts),
                     -EINVAL);
    assert_int_equal(odeon_observe_times(observer, 0, ODEON_TIMES_RUN, below, 2, counts), -ENOENT);
    assert_int_equal(
        odeon_observe_times(observer, row->id + 1000, ODEON_TIMES_RUN, below, 2, counts), -ENOENT);
    assert_int_equal(odeon_observe_times(observer, row->id, ODEON_TIMES_RUN, below, 2, NULL),
                     -EINVAL);
    odeon_list_free(list);
    odeon_observe_close(observer);
}

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* A message behind one that takes long waits for it, less what lies between the two posts. True: as
 * long as that is told. Which of the two is a sample is a matter of chance, how far they lie apart
 * one of the machine's load: it is tried again. */
static bool waiting_is_told(struct odeon_observer *observer)
{
    int64_t begin_ns = now_ns(), apart_ns;

    ledger_work(port, ledgers[0], work_type, LONG_NS);
    ledger_work(port, ledgers[0], work_type, 0);
    apart_ns = now_ns() - begin_ns;
    settle();
    return figures_of(observer, "probe_ledger").wait_most_ns >= LONG_NS / 2 &&
           apart_ns < LONG_NS / 2;
}

static void test_waiting_is_told(void **state)
{
    struct odeon_observer *observer = NULL;

    (void)state;
    begin((const char *const[]){ NULL });
    assert_int_equal(odeon_observe_open(root, &observer), 0);
    assert_true(wait_until(waiting_is_told(observer)));
    struct odeon_type_figures ledger = figures_of(observer, "probe_ledger");
    assert_true(ledger.waited > 0 && ledger.wait_ns > 0);
    assert_true(ledger.wait_p50_ns <= ledger.wait_p99_ns);
    assert_true(ledger.wait_p99_ns <= ledger.wait_most_ns);
    odeon_observe_close(observer);
}

static void test_it_goes_on_behind_a_crash(void **state)
{
    struct odeon_observer *observer = NULL;
    uint64_t before;

    (void)state;
    begin((const char *const[]){ "--set", "restart-delay-max-ms=1", NULL });
    assert_int_equal(odeon_observe_open(root, &observer), 0);
    for (unsigned i = 0; i < WORKS; i++)
        ledger_work(port, ledgers[i % LEDGERS], work_type, WORK_NS / 10);
    settle();
    before = figures_of(observer, "probe_ledger").messages;
    assert_true(before >= WORKS);
    service_kill_executor(&service);
    assert_true(figures_of(observer, "probe_ledger").messages >= before);
    for (unsigned i = 0; i < WORKS; i++)
        ledger_work(port, ledgers[i % LEDGERS], work_type, WORK_NS / 10);
    settle();
    assert_true(figures_of(observer, "probe_ledger").messages >= before + WORKS);
    odeon_observe_close(observer);
}

/* ---- odeonctl top */

static FILE *top_begin(const struct service *watched, const char *words)
{
    char command[512];
    FILE *out;

    snprintf(command, sizeof(command), "exec '%s' --socket '%s' top --json %s 2>&1", TEST_ODEONCTL,
             watched->socket, words);
    out = popen(command, "re");
    assert_non_null(out);
    return out;
}

/* Reads to the end of another look; false: there is none. */
static bool top_goes_on(FILE *out)
{
    char line[4096];

    while (fgets(line, sizeof(line), out))
        if (strstr(line, "\"more\":"))
            return true;
    return false;
}

static void test_top_ends_with_the_service(void **state)
{
    FILE *out;
    int status;

    (void)state;
    begin((const char *const[]){ NULL });
    out = top_begin(&service, "--watch 0.1");
    assert_true(top_goes_on(out) && top_goes_on(out));
    assert_int_equal(service_stop(&service, SIGTERM), 0);
    while (top_goes_on(out))
        ;
    status = pclose(out);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 3);
}

/* False: the next one came later than a program that prints waits for, which says nothing. */
static bool top_goes_on_with_the_next_one(void)
{
    enum { PATIENCE_OF_TOP_S = 5 };
    static const char *const arguments[] = { SMALL_SERVICE, "--plugin", TEST_PROBE, NULL };
    struct manager *manager =
        manager_start(&(struct manager_options){ .arguments = arguments, .activate = true });
    int64_t begin_ns;
    bool goes_on = true;
    FILE *out;

    manager_wait_ready(manager);
    out = top_begin(manager_service(manager), "actors --watch 0.1");
    assert_true(top_goes_on(out) && top_goes_on(out));
    begin_ns = time_ns();
    assert_int_equal(manager_restart(manager), 0);
    manager_wait_ready(manager);
    for (int i = 0; i < 5 && goes_on; i++)
        goes_on = top_goes_on(out);
    if (!goes_on)
        assert_true(time_ns() - begin_ns >= SECONDS(PATIENCE_OF_TOP_S));
    assert_int_equal(manager_stop(manager), 0);
    manager_end(manager);
    pclose(out);
    return goes_on;
}

static void test_top_goes_on_with_the_next_one(void **state)
{
    (void)state;
    assert_true(wait_until(top_goes_on_with_the_next_one()));
}

/* ---- who may */

static int look(struct odeon_client *client, void *argument)
{
    struct odeon_observer *observer = NULL;
    int r = odeon_observe_open(client, &observer);

    (void)argument;
    odeon_observe_close(observer);
    return r;
}

/* -EACCES: what it has been handed cannot be opened for writing. */
static int look_and_try_to_write(struct odeon_client *client, void *argument)
{
    struct odeon_observer *observer = NULL;
    int r = odeon_observe_open(client, &observer), n = 0;

    (void)argument;
    for (int fd = 3; r == 0 && fd < 64; fd++) {
        char path[64], target[128] = "";

        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        if (readlink(path, target, sizeof(target) - 1) < 0 || !strstr(target, "odeon-observed"))
            continue;
        n++;
        if (write(fd, "", 1) == 1 || open(path, O_RDWR | O_CLOEXEC) >= 0)
            r = -EBADF;
        else
            r = -errno;
    }
    odeon_observe_close(observer);
    return n == 1 ? r : -ENOENT;
}

static void test_the_role_is_needed_and_nobody_writes(void **state)
{
    static const struct user somebody = { .uid = 41021, .gid = 41021 };

    (void)state;
    if (!user_can_change())
        skip();
    begin((const char *const[]){ "--set", "role-observe=41021", NULL });
    user_expects(&service, somebody, look_and_try_to_write, NULL, -EACCES, NULL);
    user_expects(&service, (struct user){ .uid = 41022, .gid = 41022 }, look, NULL, -EACCES,
                 "observe needs the role observe");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_states_are_told, end),
        cmocka_unit_test_teardown(test_the_hot_actor_is_named, end),
        cmocka_unit_test_teardown(test_waiting_is_told, end),
        cmocka_unit_test_teardown(test_times_are_told, end),
        cmocka_unit_test_teardown(test_it_goes_on_behind_a_crash, end),
        cmocka_unit_test_teardown(test_top_ends_with_the_service, end),
        cmocka_unit_test(test_top_goes_on_with_the_next_one),
        cmocka_unit_test_teardown(test_the_role_is_needed_and_nobody_writes, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
