/* SPDX-License-Identifier: Apache-2.0 */
/* Messages one by one, as the library and odeonctl trace tell them of a service that runs: which
 * they were is held against what this program has posted. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <odeon/codec.h>
#include <odeon/observe.h>

#include "tests/system/harness.h"
#include "tests/system/json.h"
#include "tests/system/ledger.h"
#include "tests/system/probe.h"
#include "tests/system/user.h"

enum {
    WORKS = 200,
    WORK_NS = 50000, /* so that each is timed by itself, and none is only a sample */
    SLOW_NS = 500000000,
    CLOCK_ERROR_NS = 1000000,
    RATE_ERROR_PART = 64, /* which the executor leaves as it is */
    OUTPUT = 1 << 20,
};

static struct service service;
static struct odeon_client *root;
static struct odeon_port *port;
static odeon_ref ledger, other;
static uint32_t work_type, sleep_type, ask_type;
static char output[OUTPUT];

static int begin(void **state)
{
    (void)state;
    service_start_for_users(&service, (const char *const[]){ NULL });
    root = service_connect(&service, "root");
    port = port_open_or_fail(root, 1 << 20, 1 << 20, false);
    work_type = message_id(root, odeon_message_of(probe_work));
    sleep_type = message_id(root, odeon_message_of(probe_sleep));
    ask_type = message_id(root, odeon_message_of(probe_ask));
    ledger = spawn(root, "probe_ledger", "traced", NULL, 0);
    other = spawn(root, "probe_ledger", NULL, NULL, 0);
    return 0;
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

/* Of this actor's works among those since the call before; each is looked at. */
static unsigned works_of(struct odeon_observer *observer, odeon_ref ref)
{
    struct odeon_list *list = NULL;
    uint64_t lost = 0, before = 0;
    unsigned n = 0;

    assert_int_equal(odeon_observe_look(observer, NULL), 0);
    assert_int_equal(odeon_observe_traced(observer, &lost, &list), 0);
    assert_int_equal(lost, 0);
    for (size_t i = 0; i < list->n; i++) {
        const struct odeon_traced *m = (const struct odeon_traced *)list->rows + i;

        assert_true(m->began_ns >= before);
        before = m->began_ns;
        if (m->to != ref || m->message != work_type)
            continue;
        n++;
        assert_int_equal(m->from, odeon_port_ref(port));
        assert_string_equal(m->from_type, "port");
        assert_string_equal(m->type, "probe_ledger");
        assert_true(m->run_ns >= WORK_NS / 2);
        assert_int_equal(m->stands_for, 0);
        assert_int_equal(m->sends, 0);
    }
    odeon_list_free(list);
    return n;
}

static void test_each_slow_message_is_there_once(void **state)
{
    struct odeon_observer *observer = NULL;
    unsigned n = 0;

    (void)state;
    assert_int_equal(odeon_observe_open(root, &observer), 0);
    for (unsigned i = 0; i < WORKS; i++) {
        ledger_work(port, i % 2 ? ledger : other, work_type, WORK_NS);
        if (i % 50 == 49)
            n += works_of(observer, ledger);
    }
    ledger_settle(port, ledger, ask_type);
    ledger_settle(port, other, ask_type);
    assert_true(wait_until((n += works_of(observer, ledger)) >= WORKS / 2));
    assert_int_equal(n, WORKS / 2);
    odeon_observe_close(observer);
}

/* Of this actor's records: none says that it ran while the last slow one did, but for the clock's
 * error. How long that took is by the executor's clock, whose rate is not exact. */
static void expect_one_at_a_time(const struct odeon_list *list, odeon_ref ref, uint32_t slow_type)
{
    const struct odeon_traced *rows = list->rows, *slow = NULL;
    uint64_t run_ns = 0, error_ns;

    for (size_t i = 0; i < list->n; i++)
        if (rows[i].to == ref && rows[i].message == slow_type)
            slow = &rows[i], run_ns = rows[i].run_ns;
    assert_true(slow && run_ns >= SLOW_NS / 2);
    error_ns = CLOCK_ERROR_NS + run_ns / RATE_ERROR_PART;
    for (size_t i = 0; i < list->n; i++)
        if (rows[i].to == ref && &rows[i] != slow)
            assert_true(rows[i].began_ns + rows[i].run_ns <= slow->began_ns + error_ns ||
                        rows[i].began_ns + error_ns >= slow->began_ns + run_ns);
}

/* Something has come for it meanwhile. Where its worker could not be stopped in time it is not. */
static bool is_set_aside_for_once(void)
{
    ledger_work(port, ledger, sleep_type, SLOW_NS);
    for (unsigned i = 0; i < 200; i++) {
        ledger_work(port, ledger, work_type,
                    WORK_NS); /* never known as quick, so that each slow one is timed */
        pause_briefly();
        if (service_figure(&service, "passed_aside") > 0)
            return true;
    }
    ledger_settle(port, ledger, ask_type);
    return false;
}

/* Its handler takes long, and it is set aside meanwhile: what is passed on to it is not told as if
 * it had run. */
static void test_what_waits_for_a_slow_handler_has_not_run(void **state)
{
    struct odeon_observer *observer = NULL;
    struct odeon_list *list = NULL;
    const char *key = "stall-warn-ms", *value = "20";

    (void)state;
    assert_int_equal(executor_set(root, &key, &value, 1), 0);
    assert_int_equal(odeon_observe_open(root, &observer), 0);
    assert_true(wait_until(is_set_aside_for_once()));
    ledger_settle(port, ledger, ask_type);
    assert_int_equal(odeon_observe_look(observer, NULL), 0);
    assert_int_equal(odeon_observe_traced(observer, NULL, &list), 0);
    expect_one_at_a_time(list, ledger, sleep_type);
    odeon_list_free(list);
    odeon_observe_close(observer);
}

static unsigned count_of(const char *text, const char *part)
{
    unsigned n = 0;

    for (; (text = strstr(text, part)); text++)
        n++;
    return n;
}

static void test_the_past_outlives_the_executor(void **state)
{
    (void)state;
    for (unsigned i = 0; i < WORKS; i++)
        ledger_work(port, ledger, work_type, WORK_NS);
    ledger_settle(port, ledger, ask_type);
    service_kill_executor(&service);
    assert_int_equal(ctl(&service, output, sizeof(output), "trace traced --past"), 0);
    assert_int_equal(count_of(output, ": probe_work ran "), WORKS);
    assert_int_equal(ctl(&service, output, sizeof(output), "trace --past --slower-than 100s"), 0);
    assert_string_equal(output, "");
    assert_int_equal(ctl(&service, output, sizeof(output), "trace --past --type nobody"), 0);
    assert_string_equal(output, "");
    assert_int_equal(
        ctl(&service, output, sizeof(output), "--json trace --past --type probe_ledger --count 3"),
        0);
    assert_int_equal(count_of(output, "\n"), 3);
    for (char *rest = output, *line; (line = strsep(&rest, "\n")) && *line;)
        assert_true(json_is_valid(line));
}

static void test_a_file_for_perfetto_is_whole(void **state)
{
    char path[128];
    FILE *file;

    (void)state;
    for (unsigned i = 0; i < WORKS; i++)
        ledger_work(port, ledger, work_type, WORK_NS);
    ledger_settle(port, ledger, ask_type);
    snprintf(path, sizeof(path), "%s/trace.json", service.dir);
    assert_int_equal(
        ctl(&service, output, sizeof(output), "trace traced --past --perfetto %s", path), 0);
    file = fopen(path, "r");
    assert_non_null(file);
    output[fread(output, 1, sizeof(output) - 1, file)] = '\0';
    fclose(file);
    assert_true(json_is_valid(output));
    assert_true(count_of(output, "\"ph\":\"X\"") >= WORKS);
    assert_int_equal(count_of(output, "\"ph\":\"b\""), count_of(output, "\"ph\":\"e\""));
    assert_int_equal(count_of(output, "\"message\":\"probe_work\""), WORKS);
    assert_non_null(strstr(output, "\"traceEvents\":["));
    assert_int_equal(
        ctl(&service, output, sizeof(output), "trace --past --perfetto %s/no/such", service.dir),
        1);
    assert_non_null(strstr(output, "cannot write "));
}

/* ---- as it goes on ---- */

/* Its output goes to `fd`. */
static pid_t follow_into(int fd, const char *words)
{
    char command[512];
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid > 0)
        return pid;
    snprintf(command, sizeof(command), "exec '%s' --socket '%s' trace %s", TEST_ODEONCTL,
             service.socket, words);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && dup2(fd, STDOUT_FILENO) == STDOUT_FILENO)
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

static pid_t follow(const char *words)
{
    char path[128];
    int fd;
    pid_t pid;

    snprintf(path, sizeof(path), "%s/followed", service.dir);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    pid = follow_into(fd, words);
    close(fd);
    return pid;
}

static const char *followed(void)
{
    char path[128];
    FILE *file;

    snprintf(path, sizeof(path), "%s/followed", service.dir);
    file = fopen(path, "r");
    if (!file)
        return "";
    output[fread(output, 1, sizeof(output) - 1, file)] = '\0';
    fclose(file);
    return output;
}

static bool has_ended(pid_t pid, int *ret_status)
{
    return waitpid(pid, ret_status, WNOHANG) == pid;
}

static void test_it_follows_over_a_crash_until_it_has_enough(void **state)
{
    int status = -1;
    pid_t pid;

    (void)state;
    pid = follow("traced --count 50");
    assert_true(wait_until(
        (ledger_work(port, ledger, work_type, WORK_NS), strstr(followed(), "probe_work"))));
    service_kill_executor(&service);
    assert_true(
        wait_until((ledger_work(port, ledger, work_type, WORK_NS), has_ended(pid, &status))));
    assert_int_equal(status, 0);
    assert_int_equal(count_of(followed(), "\n"), 50);
    assert_null(strstr(output, "1 of"));
}

static off_t size_of(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 ? st.st_size : 0;
}

static void test_a_signal_ends_it_and_its_file(void **state)
{
    char words[160], path[128];
    int status = -1;
    FILE *file;
    pid_t pid;

    (void)state;
    snprintf(path, sizeof(path), "%s/trace.json", service.dir);
    snprintf(words, sizeof(words), "--perfetto '%s'", path);
    pid = follow(words);
    assert_true(
        wait_until((ledger_work(port, ledger, work_type, WORK_NS), size_of(path)) >= 100000));
    assert_int_equal(kill(pid, SIGINT), 0);
    assert_true(wait_until(has_ended(pid, &status)));
    assert_int_equal(status, 0);
    file = fopen(path, "r");
    assert_non_null(file);
    output[fread(output, 1, sizeof(output) - 1, file)] = '\0';
    assert_true(feof(file));
    fclose(file);
    assert_true(json_is_valid(output));
}

/* As the kernel tells to who may look; where it tells nobody, it is taken to stand there. */
static bool stands_at_its_output(pid_t pid)
{
    char path[64], text[64];
    long number = -1;
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/syscall", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    if (n < 0)
        return true;
    text[n] = '\0';
    return sscanf(text, "%ld", &number) == 1 && number == SYS_write;
}

/* What is in the pipe: whole lines. */
static void assert_ends_with_a_line(int pipe_end)
{
    char bytes[4096], last = 0;
    ssize_t n;

    while ((n = read(pipe_end, bytes, sizeof(bytes))) > 0)
        last = bytes[n - 1];
    assert_int_equal(last, '\n');
}

/* Whose output nobody reads stands at the full pipe, and ends all the same: there is nothing that
 * has to be ended properly. */
static void test_a_signal_ends_it_at_a_full_pipe(void **state)
{
    int ends[2], status = 0, n = 0, size;
    pid_t pid;

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    size = fcntl(ends[1], F_SETPIPE_SZ, 4096);
    assert_true(size >= 4096);
    pid = follow_into(ends[1], "traced");
    close(ends[1]);
    assert_true(wait_until((ledger_work(port, ledger, work_type, WORK_NS),
                            ioctl(ends[0], FIONREAD, &n) == 0 && n > size / 2)));
    for (unsigned i = 0; i < WORKS; i++) /* more than the program's buffer has room for */
        ledger_work(port, ledger, work_type, WORK_NS);
    assert_true(wait_until(stands_at_its_output(pid)));
    assert_int_equal(kill(pid, SIGTERM), 0);
    assert_true(wait_until(has_ended(pid, &status)));
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    assert_ends_with_a_line(ends[0]);
    close(ends[0]);
}

/* ---- traces ---- */

enum { TRACE = 4711, TRACE_SENT, TRACE_CALLED, TRACE_KILLED };
static odeon_ref echo, second, first;
static uint32_t number_type;

/* A number goes through two relays to an echo, which sends it back. */
static void make_chain(void)
{
    number_type = message_id(root, odeon_message_of(probe_number));
    echo = spawn(root, "probe_echo", NULL, NULL, 0);
    second = spawn(root, "probe_relay", NULL, &echo, sizeof(echo));
    first = spawn(root, "probe_relay", "first", &second, sizeof(second));
}

static void send_number(odeon_ref to, uint64_t trace)
{
    const struct probe_number number = { .n = trace };

    assert_int_equal(odeon_port_post_with(port, to, number_type, &number, sizeof(number),
                                          ODEON_POST_OPTIONS(.wait_ns = -1, .trace = trace)),
                     0);
}

static void receive_number(uint64_t n)
{
    struct odeon_delivery delivery;

    assert_int_equal(odeon_port_receive_wait(port, &delivery, PATIENCE_NS), 1);
    assert_int_equal(delivery.type, number_type);
    assert_int_equal(delivery.size, sizeof(struct probe_number));
    assert_int_equal(((const struct probe_number *)delivery.data)->n, n);
    odeon_port_release(port);
}

/* How far a line's message is below the first cause: "17:12:13.404941 w0     ..." */
static unsigned depth_of(const char *line)
{
    const char *worker = strstr(line, " w");
    unsigned n = 0;

    assert_non_null(worker);
    for (worker += strcspn(worker + 1, " ") + 2; worker[n] == ' '; n++)
        continue;
    return n / 2;
}

/* So many messages, each the cause of the next one. */
static bool is_chain(uint64_t trace, unsigned n)
{
    unsigned i = 0;

    if (ctl(&service, output, sizeof(output), "trace --id %u", (unsigned)trace) != 0 ||
        count_of(output, "\n") != n)
        return false;
    assert_int_equal(count_of(output, ": probe_number ran "), n);
    for (char *rest = output, *line; (line = strsep(&rest, "\n")) && *line; i++)
        assert_int_equal(depth_of(line), i);
    return true;
}

/* Whatever else is run between, quick as it is. */
static void test_a_trace_is_followed(void **state)
{
    (void)state;
    make_chain();
    for (unsigned i = 0; i < WORKS; i++) {
        send_number(first, i == WORKS / 2 ? TRACE : 0);
        receive_number(i == WORKS / 2 ? TRACE : 0);
    }
    assert_true(wait_until(is_chain(TRACE, 3)));
    service_kill_executor(&service);
    assert_true(is_chain(TRACE, 3));
    assert_int_equal(ctl(&service, output, sizeof(output), "--json trace --id %u", (unsigned)TRACE),
                     0);
    for (char *rest = output, *line; (line = strsep(&rest, "\n")) && *line;) {
        assert_true(json_is_valid(line));
        assert_non_null(strstr(line, "\"trace\":4711"));
    }
    assert_int_equal(ctl(&service, output, sizeof(output), "trace --id 1"), 1);
    assert_non_null(strstr(output, "no message of trace 1 is kept"));
}

static void test_a_trace_from_the_command_line(void **state)
{
    char text[ODEON_REF_TEXT];

    (void)state;
    make_chain();
    assert_int_equal(ctl(&service, output, sizeof(output),
                         "actor send first probe_number n=5 --trace %u", (unsigned)TRACE_SENT),
                     0);
    assert_non_null(strstr(output, "sent probe_number"));
    assert_true(wait_until(is_chain(TRACE_SENT, 3)));
    odeon_ref_format(echo, text);
    assert_int_equal(ctl(&service, output, sizeof(output),
                         "actor call %s probe_number n=6 --trace %u", text, (unsigned)TRACE_CALLED),
                     0);
    assert_non_null(strstr(output, "n=6"));
    assert_true(wait_until(is_chain(TRACE_CALLED, 1)));
}

/* What waits for a slow handler when the executor dies is run by the next one, and followed. */
static void test_a_trace_goes_on_behind_a_crash(void **state)
{
    (void)state;
    make_chain();
    ledger_work(port, ledger, work_type, SLOW_NS);
    send_number(ledger, TRACE_KILLED);
    service_kill_executor(&service);
    ledger_settle(port, ledger, ask_type);
    assert_true(wait_until(is_chain(TRACE_KILLED, 1)));
}

static void test_arrows_lead_from_cause_to_effect(void **state)
{
    char path[128];
    FILE *file;

    (void)state;
    make_chain();
    send_number(first, 0);
    receive_number(0);
    send_number(first, TRACE);
    receive_number(TRACE);
    assert_true(wait_until(is_chain(TRACE, 3)));
    snprintf(path, sizeof(path), "%s/trace.json", service.dir);
    assert_int_equal(ctl(&service, output, sizeof(output), "trace --past --perfetto %s", path), 0);
    file = fopen(path, "r");
    assert_non_null(file);
    output[fread(output, 1, sizeof(output) - 1, file)] = '\0';
    fclose(file);
    assert_true(json_is_valid(output));
    assert_int_equal(count_of(output, "\"ph\":\"s\""), 2);
    assert_int_equal(count_of(output, "\"ph\":\"f\""), 2);
    assert_int_equal(count_of(output, "\"name\":\"trace 4711\""), 4);
}

/* A relay takes no work. */
static void test_what_cannot_be_run_is_told(void **state)
{
    (void)state;
    make_chain();
    ledger_work(port, ledger, work_type, WORK_NS);
    ledger_work(port, first, work_type, WORK_NS);
    assert_true(
        wait_until(ctl(&service, output, sizeof(output), "trace --past --failed") == 0 && *output));
    assert_int_equal(count_of(output, "\n"), 1);
    assert_non_null(strstr(output, ": probe_work was not run: not-accepted"));
    assert_non_null(strstr(output, "-> probe_relay "));
    assert_int_equal(ctl(&service, output, sizeof(output), "top types --total --json"), 0);
    assert_int_equal(count_of(output, "\"failed\":1,"), 1);
    assert_int_equal(count_of(output, "\"failed\":0,") + 1, count_of(output, "\"failed\":"));
}

/* Two clients post to one actor, and one of them by two ports. */
static void test_a_client_has_what_it_posted(void **state)
{
    struct odeon_client *shop = service_connect(&service, "shop");
    struct odeon_port *one = port_open_or_fail(shop, 1 << 16, 1 << 16, false),
                      *two = port_open_or_fail(shop, 1 << 16, 1 << 16, false),
                      *const turns[] = { one, port, two, port };

    (void)state;
    for (unsigned i = 0; i < WORKS; i++)
        ledger_work(turns[i % 4], ledger, work_type, WORK_NS);
    for (unsigned i = 0; i < 3; i++)
        ledger_settle(turns[i], ledger, ask_type);
    assert_int_equal(ctl(&service, output, sizeof(output), "trace traced --past --client shop"), 0);
    assert_int_equal(count_of(output, ": probe_work ran "), WORKS / 2);
    service_kill_executor(&service);
    assert_int_equal(ctl(&service, output, sizeof(output), "trace --past --client root"), 0);
    assert_int_equal(count_of(output, ": probe_work ran "), WORKS / 2);
    assert_int_equal(ctl(&service, output, sizeof(output), "trace --past --client nobody"), 1);
    assert_non_null(strstr(output, "no client is 'nobody'"));
    odeon_port_close(one);
    odeon_port_close(two);
    odeon_client_disconnect(shop);
    assert_true(
        wait_until(ctl(&service, output, sizeof(output), "trace --past --client shop") == 1));
}

/* ---- who may ---- */

static const struct user stranger = { .uid = 41001, .gid = 41001, .group = 41900 };

static int observe(struct odeon_client *client, void *unused)
{
    struct odeon_observer *observer = NULL;
    int r = odeon_observe_open(client, &observer);

    (void)unused;
    odeon_observe_close(observer);
    return r;
}

static void test_the_role_is_needed(void **state)
{
    (void)state;
    if (!user_can_change())
        skip();
    user_expects(&service, stranger, observe, NULL, -EACCES, "needs the role observe");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_each_slow_message_is_there_once, begin, end),
        cmocka_unit_test_setup_teardown(test_what_waits_for_a_slow_handler_has_not_run, begin, end),
        cmocka_unit_test_setup_teardown(test_the_past_outlives_the_executor, begin, end),
        cmocka_unit_test_setup_teardown(test_a_file_for_perfetto_is_whole, begin, end),
        cmocka_unit_test_setup_teardown(test_it_follows_over_a_crash_until_it_has_enough, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_a_signal_ends_it_and_its_file, begin, end),
        cmocka_unit_test_setup_teardown(test_a_signal_ends_it_at_a_full_pipe, begin, end),
        cmocka_unit_test_setup_teardown(test_a_trace_is_followed, begin, end),
        cmocka_unit_test_setup_teardown(test_a_trace_from_the_command_line, begin, end),
        cmocka_unit_test_setup_teardown(test_a_trace_goes_on_behind_a_crash, begin, end),
        cmocka_unit_test_setup_teardown(test_arrows_lead_from_cause_to_effect, begin, end),
        cmocka_unit_test_setup_teardown(test_what_cannot_be_run_is_told, begin, end),
        cmocka_unit_test_setup_teardown(test_a_client_has_what_it_posted, begin, end),
        cmocka_unit_test_setup_teardown(test_the_role_is_needed, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
