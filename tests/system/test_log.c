/* SPDX-License-Identifier: Apache-2.0 */
/* The log of a service without a journal is a pipe that nobody reads, one whose reader has gone, a
 * file that may not grow: requests and traffic go on, and what is missing is told of. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/system/harness.h"
#include "tests/system/probe.h"

enum { WARNING = 4, INFO = 6, DEBUG = 7 }; /* enum odeon_log_level, which is the plugins' */
enum { PIPE_BYTES = 4096, ROUNDS = 60, NOTES = 60, NUMBERS = 100, TEXT_MAX = 1 << 18 };

static const char *const arguments[] = { SMALL_SERVICE, "--log-level", "debug",
                                         "--plugin",    TEST_PROBE,    NULL };

/* The service's log is a pipe; its reading end. */
static int start_with_pipe(struct service *service)
{
    int reader;

    service_make_dir(service);
    assert_int_equal(mkfifo(service->log, 0600), 0);
    reader = open(service->log, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(reader >= 0);
    assert_true(fcntl(reader, F_SETPIPE_SZ, PIPE_BYTES) >= 0);
    service_spawn(service, arguments);
    snprintf(service->log, sizeof(service->log), "%s/no-log", service->dir);
    service_wait_ready(service);
    return reader;
}

/* Some hundred lines of odeond, as many of the executor. */
static void live(struct service *service)
{
    struct odeon_client *client = service_connect(service, "talks");
    odeon_ref echo = spawn(client, "probe_echo", NULL, NULL, 0),
              ledger = spawn(client, "probe_ledger", NULL, NULL, 0);
    uint32_t number = message_id(client, odeon_message_of(probe_number)),
             note = message_id(client, odeon_message_of(probe_note));
    struct odeon_port *port = port_open_or_fail(client, 1 << 16, 1 << 16, false);
    struct {
        uint32_t level;
        char text[200];
    } said = { .level = 3 };
    struct odeon_delivery delivery;

    memset(said.text, 'x', sizeof(said.text) - 1);
    for (unsigned i = 0; i < NOTES; i++)
        assert_int_equal(odeon_port_post(port, ledger, note, &said, sizeof(said)), 0);
    for (unsigned i = 0; i < ROUNDS; i++)
        odeon_client_disconnect(service_connect(service, "one line for coming, one for going"));
    for (uint64_t n = 0; n < NUMBERS; n++)
        assert_int_equal(odeon_port_post(port, echo, number, &(struct probe_number){ .n = n }, 16),
                         0);
    for (uint64_t n = 0; n < NUMBERS; n++) {
        assert_int_equal(odeon_port_receive_wait(port, &delivery, SECONDS(PATIENCE_S)), 1);
        assert_int_equal(((const struct probe_number *)delivery.data)->n, n);
        odeon_port_release(port);
    }
    odeon_port_close(port);
    odeon_client_disconnect(client);
}

/* What the pipe has now, behind what is in `text` already. */
static void drain(int reader, char *text)
{
    size_t used = strlen(text);
    ssize_t n;

    while (used < TEXT_MAX - 1 && (n = read(reader, text + used, TEXT_MAX - 1 - used)) > 0)
        text[used += (size_t)n] = '\0';
}

static bool has_told(int reader, char *text, const char *who)
{
    const char *line = text;

    drain(reader, text);
    while ((line = strstr(line, " lines of this log are missing here")) != NULL) {
        const char *begin = line;

        while (begin > text && begin[-1] != '\n')
            begin--;
        if (strstr(begin, who) && strstr(begin, who) < line)
            return true;
        line++;
    }
    return false;
}

/* Both write into one pipe: what one of them still had to say may have filled it before the other
 * one's next line, which is then missing, too. */
static void expect_told(struct service *service, int reader, char *text, const char *who)
{
    assert_true(wait_until(has_told(reader, text, who) || (live(service), text[0] = '\0')));
}

static void test_nobody_reads(void **state)
{
    struct service service;
    int reader = start_with_pipe(&service), ended;
    char *text = calloc(1, TEXT_MAX);

    (void)state;
    assert_non_null(text);
    live(&service);
    /* odeond ends in order behind a full pipe, too; both have told how much is missing when it is
     * read again */
    drain(reader, text);
    live(&service);
    expect_told(&service, reader, text, "odeond[");
    expect_told(&service, reader, text, "odeon-executor[");
    live(&service);
    ended = service_stop(&service, SIGTERM);
    assert_true(WIFEXITED(ended) && WEXITSTATUS(ended) == 0);
    close(reader);
    free(text);
    service_end(&service);
}

static void test_the_reader_has_gone(void **state)
{
    struct service service;
    int reader = start_with_pipe(&service), ended;
    pid_t executor = service_executor(&service);

    (void)state;
    close(reader);
    live(&service);
    assert_int_equal(service_executor(&service), executor);
    assert_int_equal(kill(executor, SIGKILL), 0);
    service_wait_executor(&service, executor);
    live(&service);
    ended = service_stop(&service, SIGTERM);
    assert_true(WIFEXITED(ended) && WEXITSTATUS(ended) == 0);
    service_end(&service);
}

/* Also what is made in memory has a file's size. */
static void test_files_may_not_grow(void **state)
{
    struct rlimit usual, small = { 4096, 4096 };
    struct odeon_client *client;
    struct odeon_port *port = NULL;
    struct service service;
    pid_t executor;
    int ended;

    (void)state;
    service_start(&service, arguments);
    executor = service_executor(&service);
    assert_int_equal(prlimit(service.pid, RLIMIT_FSIZE, &small, &usual), 0);
    assert_int_equal(prlimit(executor, RLIMIT_FSIZE, &small, NULL), 0);
    client = service_connect(&service, "grows");
    assert_int_equal(odeon_port_open(client, NULL, &port), -EFBIG);
    assert_non_null(strstr(odeon_error_text(), "File too large"));
    for (unsigned i = 0; i < ROUNDS; i++)
        odeon_client_disconnect(service_connect(&service, "more lines than the file may have"));
    odeon_client_disconnect(client);
    assert_int_equal(service_executor(&service), executor);
    ended = service_stop(&service, SIGTERM);
    assert_true(WIFEXITED(ended) && WEXITSTATUS(ended) == 0);
    service_end(&service);
}

static void reload(struct service *service, const char *text)
{
    static const char applied[] = "the configuration has been read again and applied";
    unsigned before = service_log_count(service, applied);
    char output[16384];

    service_configure(service, text);
    assert_int_equal(kill(service->pid, SIGHUP), 0);
    assert_true(wait_until(service_log_count(service, applied) == before + 1));
    /* an executor that answers this has done what it was told before */
    assert_int_equal(ctl(service, output, sizeof(output), "executor show"), 0);
}

/* A handler's line of that level, and one behind it that any level but error shows. */
static unsigned count_lines(struct service *service, struct odeon_port *port, odeon_ref ledger,
                            uint32_t note, uint32_t level)
{
    static unsigned n;
    struct {
        uint32_t level; /* as a probe_note, and its tail */
        char text[32];
    } said = { .level = level }, last = { .level = WARNING };

    snprintf(said.text, sizeof(said.text), "said %u.", ++n);
    snprintf(last.text, sizeof(last.text), "last %u.", n);
    assert_int_equal(odeon_port_post(port, ledger, note, &said, sizeof(said)), 0);
    assert_int_equal(odeon_port_post(port, ledger, note, &last, sizeof(last)), 0);
    assert_true(wait_until(service_log_has(service, last.text)));
    return service_log_count(service, said.text);
}

/* What a reload says of the level holds for the executor that runs, too, and for the next one. */
static void test_the_level_is_live(void **state)
{
    struct odeon_client *client;
    struct odeon_port *port;
    struct service service;
    odeon_ref ledger;
    uint32_t note;

    (void)state;
    service_start(&service, (const char *const[]){ SMALL_SERVICE, "--plugin", TEST_PROBE, NULL });
    client = service_connect(&service, "level");
    port = port_open_or_fail(client, 0, 0, false);
    ledger = spawn(client, "probe_ledger", NULL, NULL, 0);
    note = message_id(client, odeon_message_of(probe_note));
    assert_int_equal(count_lines(&service, port, ledger, note, DEBUG), 0);
    reload(&service, "log-level = debug\n");
    assert_int_equal(count_lines(&service, port, ledger, note, DEBUG), 1);
    reload(&service, "log-level = notice\n");
    assert_int_equal(count_lines(&service, port, ledger, note, INFO), 0);
    service_kill_executor(&service);
    assert_int_equal(count_lines(&service, port, ledger, note, INFO), 0);
    odeon_client_disconnect(client);
    assert_int_equal(service_stop(&service, SIGTERM), 0);
    service_end(&service);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody_reads),
        cmocka_unit_test(test_the_reader_has_gone),
        cmocka_unit_test(test_files_may_not_grow),
        cmocka_unit_test(test_the_level_is_live),
    };

    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
