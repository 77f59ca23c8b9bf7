/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/common/log: text on stderr. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/common/log.h"
#include "daemon/common/log_sink.h"
#include "tests/run/scratch.h"

static char captured[16384];

/* Runs `say` with stderr in a pipe. */
static void capture(void (*say)(void))
{
    int ends[2], saved = dup(STDERR_FILENO);
    ssize_t n;

    assert_int_equal(pipe(ends), 0);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    say();
    dup2(saved, STDERR_FILENO);
    close(saved);
    n = read(ends[0], captured, sizeof(captured) - 1);
    close(ends[0]);
    captured[n > 0 ? n : 0] = '\0';
}

static void say_levels(void)
{
    log_open("tester", LOG_LEVEL_NOTICE);
    log_error("number %d", 1);
    log_notice("number %d", 2);
    log_info("number %d", 3);
}

static void test_levels(void **state)
{
    char *second;

    (void)state;
    capture(say_levels);
    assert_non_null(strstr(captured, "tester["));
    assert_non_null(strstr(captured, "error: number 1\n"));
    second = strchr(captured, '\n');
    assert_non_null(second);
    assert_non_null(strstr(second, "number 2\n"));
    assert_null(strstr(captured, "number 3"));
}

static void say_hostile(void)
{
    const char *const fields[] = { "ODEON_A=x\ny", "ODEON_B=2", NULL };

    log_open("tester", LOG_LEVEL_INFO);
    log_fields(LOG_LEVEL_INFO, fields, "name '%s'", "a\033[31mb\nfake line");
}

static void test_control_characters(void **state)
{
    (void)state;
    capture(say_hostile);
    assert_null(strchr(captured, '\033'));
    assert_ptr_equal(strchr(captured, '\n'), captured + strlen(captured) - 1); /* one line */
    assert_non_null(strstr(captured, "name 'a?[31mb fake line' ODEON_A=x y ODEON_B=2\n"));
}

static void say_much(void)
{
    char text[8000];

    memset(text, 'z', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    log_open("tester", LOG_LEVEL_INFO);
    log_fields(LOG_LEVEL_INFO, (const char *const[]){ text, NULL }, "%s", text);
}

static void test_long_lines_are_cut(void **state)
{
    size_t length;

    (void)state;
    capture(say_much);
    length = strlen(captured);
    assert_true(length > 1000 && length < 5000);
    assert_int_equal(captured[length - 1], '\n');
}

/* Without waiting, whichever it is. */
static ssize_t recv_or_read(int reader)
{
    ssize_t n = recv(reader, captured, sizeof(captured) - 1, MSG_DONTWAIT);

    return n < 0 && errno == ENOTSOCK ? read(reader, captured, sizeof(captured) - 1) : n;
}

static unsigned count_lines(size_t size)
{
    unsigned n = 0;

    for (size_t i = 0; i < size; i++)
        n += captured[i] == '\n';
    return n;
}

/* A socket's or pipe's end as stderr, whose other end nobody reads meanwhile; how many of `n` lines
 * stderr had taken, and the line that tells of the others. */
static unsigned long long told;

static unsigned say_into(int fd, int reader, unsigned n)
{
    int saved = dup(STDERR_FILENO), flags;
    unsigned taken = 0;
    ssize_t got;
    char *line;

    assert_true(saved >= 0 && dup2(fd, STDERR_FILENO) >= 0);
    flags = fcntl(STDERR_FILENO, F_GETFL);
    log_open("tester", LOG_LEVEL_INFO);
    for (unsigned i = 0; i < n; i++)
        log_info("a line that may not fit %0500u", i);
    assert_int_equal(fcntl(STDERR_FILENO, F_GETFL), flags); /* it is not ours alone */
    while ((got = recv_or_read(reader)) > 0)
        taken += count_lines((size_t)got);
    log_info("the last");
    assert_int_equal(log_count_dropped(), 0);
    dup2(saved, STDERR_FILENO);
    close(saved);
    got = recv_or_read(reader);
    assert_true(got > 0);
    captured[got] = '\0';
    line = strstr(captured, "warning: ");
    told = line ? strtoull(line + strlen("warning: "), NULL, 10) : 0;
    while (!strstr(captured, "the last\n") && (got = recv_or_read(reader)) > 0)
        captured[got] = '\0';
    assert_non_null(strstr(captured, "the last\n"));
    return taken;
}

static void test_nobody_reads_a_pipe(void **state)
{
    enum { LINES = 300 };
    unsigned taken;
    int ends[2];

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    taken = say_into(ends[1], ends[0], LINES);
    assert_true(taken > 0 && taken < LINES);
    assert_int_equal(taken + told, LINES);
    close(ends[0]);
    close(ends[1]);
}

static void test_nobody_reads_a_socket(void **state)
{
    enum { LINES = 3000 };
    unsigned taken;
    int ends[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    taken = say_into(ends[1], ends[0], LINES);
    assert_true(taken > 0 && taken < LINES);
    assert_int_equal(taken + told, LINES);
    close(ends[0]);
    close(ends[1]);
}

static void test_the_reader_of_a_pipe_has_gone(void **state)
{
    int ends[2], saved = dup(STDERR_FILENO);

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_true(dup2(ends[1], STDERR_FILENO) >= 0);
    log_open("tester", LOG_LEVEL_INFO);
    close(ends[0]);
    signal(SIGPIPE, SIG_IGN);
    log_info("nobody");
    log_info("nobody");
    signal(SIGPIPE, SIG_DFL);
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(ends[1]);
    assert_int_equal(log_count_dropped(), 2);
    capture(say_levels); /* somebody else, later */
    assert_non_null(strstr(captured, "2 lines of this log are missing here"));
    assert_int_equal(log_count_dropped(), 0);
}

/* The journal stands still; then it reads. */
static void test_the_journal(void **state)
{
    char base[] = "/tmp/odeon-test.log-XXXXXX";
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct iovec parts[] = { { (char *)"MESSAGE=text", 12 }, { (char *)"ODEON_A=x\ny", 11 } };
    static const char expected[] = "MESSAGE=text\nODEON_A\n\3\0\0\0\0\0\0\0x\ny\n";
    int journal = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), r = 0;
    unsigned n = 0;

    (void)state;
    assert_non_null(scratch_make(base));
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/journal", base);
    assert_int_equal(bind(journal, (struct sockaddr *)&address, sizeof(address)), 0);
    log_sink_open(address.sun_path);
    while (n < 100000 && (r = log_sink_journal(parts, 2)) == 0)
        n++;
    assert_int_equal(r, -EAGAIN);
    for (; n > 0; n--) {
        assert_int_equal(recv(journal, captured, sizeof(captured), 0), sizeof(expected) - 1);
        assert_memory_equal(captured, expected, sizeof(expected) - 1);
    }
    assert_int_equal(log_sink_journal(parts, 2), 0);
    close(journal);
    assert_int_equal(log_sink_journal(parts, 2), -ECONNREFUSED);
    unlink(address.sun_path);
    rmdir(base);
    log_sink_open(NULL);
    assert_int_equal(log_sink_journal(parts, 2), -ENOTCONN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_levels),
        cmocka_unit_test(test_control_characters),
        cmocka_unit_test(test_long_lines_are_cut),
        cmocka_unit_test(test_nobody_reads_a_pipe),
        cmocka_unit_test(test_nobody_reads_a_socket),
        cmocka_unit_test(test_the_reader_of_a_pipe_has_gone),
        cmocka_unit_test(test_the_journal),
    };

    unsetenv("JOURNAL_STREAM");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
