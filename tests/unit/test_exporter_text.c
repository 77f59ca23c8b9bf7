/* SPDX-License-Identifier: Apache-2.0 */
/* What odeon-exporter writes, and whom it answers: both formats to the byte, names that do harm,
 * bounds of series; hosts, tokens, and what a scraper may want. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "client-lib/exporter/accept.h"
#include "client-lib/exporter/guard.h"
#include "client-lib/exporter/metrics.h"

static struct buffer buffer;
static struct metrics metrics;

static void begin(enum metrics_format format, size_t most)
{
    buffer_free(&buffer);
    assert_int_equal(metrics_begin(&metrics, &buffer, format, most), 0);
}

static void expect(const char *text)
{
    metrics_end(&metrics);
    assert_false(buffer.failed);
    buffer_add(&buffer, "", 1);
    assert_string_equal(buffer.bytes, text);
    buffer_free(&buffer);
}

static void write_all(void)
{
    static const double tops[] = { 0.000256, 1 };
    static const uint64_t counts[] = { 3, 0, 2 };
    const struct metrics_label label = { "worker", "0" };

    metrics_family(&metrics, "odeon_sends", METRICS_COUNTER, "", "a \"count\"\nof \\ sends");
    metrics_value(&metrics, &label, 1, 12345678901234567.0);
    metrics_family(&metrics, "odeon_last_seconds", METRICS_GAUGE, "seconds", "how long");
    metrics_value(&metrics, NULL, 0, 0.1);
    metrics_family(&metrics, "odeon_new", METRICS_UNKNOWN, "", "newer");
    metrics_value(&metrics, NULL, 0, -1);
    metrics_family(&metrics, "odeon_run_seconds", METRICS_HISTOGRAM, "seconds", "runs");
    metrics_histogram(&metrics, &label, 1, tops, counts, 2, 2.5);
}

static void test_text_format(void **state)
{
    (void)state;
    begin(METRICS_TEXT, 100);
    write_all();
    expect("# HELP odeon_sends_total a \"count\"\\nof \\\\ sends\n"
           "# TYPE odeon_sends_total counter\n"
           "odeon_sends_total{worker=\"0\"} 12345678901234568\n"
           "# HELP odeon_last_seconds how long\n"
           "# TYPE odeon_last_seconds gauge\n"
           "odeon_last_seconds 0.1\n"
           "# HELP odeon_new newer\n"
           "# TYPE odeon_new untyped\n"
           "odeon_new -1\n"
           "# HELP odeon_run_seconds runs\n"
           "# TYPE odeon_run_seconds histogram\n"
           "odeon_run_seconds_bucket{worker=\"0\",le=\"0.000256\"} 3\n"
           "odeon_run_seconds_bucket{worker=\"0\",le=\"1\"} 3\n"
           "odeon_run_seconds_bucket{worker=\"0\",le=\"+Inf\"} 5\n"
           "odeon_run_seconds_sum{worker=\"0\"} 2.5\n"
           "odeon_run_seconds_count{worker=\"0\"} 5\n");
    assert_string_equal(metrics_content_type(METRICS_TEXT),
                        "text/plain; version=0.0.4; charset=utf-8");
}

static void test_open_format(void **state)
{
    (void)state;
    begin(METRICS_OPEN, 100);
    write_all();
    expect("# HELP odeon_sends a \\\"count\\\"\\nof \\\\ sends\n"
           "# TYPE odeon_sends counter\n"
           "odeon_sends_total{worker=\"0\"} 12345678901234568\n"
           "# HELP odeon_last_seconds how long\n"
           "# TYPE odeon_last_seconds gauge\n"
           "# UNIT odeon_last_seconds seconds\n"
           "odeon_last_seconds 0.1\n"
           "# HELP odeon_new newer\n"
           "# TYPE odeon_new unknown\n"
           "odeon_new -1\n"
           "# HELP odeon_run_seconds runs\n"
           "# TYPE odeon_run_seconds histogram\n"
           "# UNIT odeon_run_seconds seconds\n"
           "odeon_run_seconds_bucket{worker=\"0\",le=\"0.000256\"} 3\n"
           "odeon_run_seconds_bucket{worker=\"0\",le=\"1.0\"} 3\n"
           "odeon_run_seconds_bucket{worker=\"0\",le=\"+Inf\"} 5\n"
           "odeon_run_seconds_sum{worker=\"0\"} 2.5\n"
           "odeon_run_seconds_count{worker=\"0\"} 5\n"
           "# EOF\n");
    assert_string_equal(metrics_content_type(METRICS_OPEN),
                        "application/openmetrics-text; version=1.0.0; charset=utf-8");
}

/* Labels with whatever a name may have: nothing ends the label, the line or the text. */
static void test_names_do_no_harm(void **state)
{
    static const struct {
        const char *given, *written;
    } labels[] = {
        { "a\"b", "a\\\"b" },
        { "a\nb", "a\\nb" },
        { "a\\", "a\\\\" },
        { "a\x1b[31m\r\x7f", "a\\\\x1b[31m\\\\x0d\\\\x7f" },
        { "gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f" },
        { "\xe2\x82\xac \xf0\x9f\x98\x80", "\xe2\x82\xac \xf0\x9f\x98\x80" },
        { "\xff\xc3", "\xef\xbf\xbd\xef\xbf\xbd" },
        { "\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd" },                 /* longer than it need be */
        { "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" }, /* half of a pair */
        { "\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
        { "\xe0\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
        { "\xf0\x80\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++) {
        char text[256];

        begin(METRICS_TEXT, 100);
        metrics_family(&metrics, "m", METRICS_GAUGE, "", "");
        metrics_value(&metrics, &(struct metrics_label){ "l", labels[i].given }, 1, 1);
        snprintf(text, sizeof(text), "# HELP m \n# TYPE m gauge\nm{l=\"%s\"} 1\n",
                 labels[i].written);
        expect(text);
    }
}

/* Neither a name that the format does not have, nor one that is there already. */
static void test_names_that_are_none_are_left_out(void **state)
{
    static const char *const names[] = { "", "9a", "a b", "a{", "a\n", "m", "gr\xc3\xbc" };

    (void)state;
    begin(METRICS_TEXT, 100);
    metrics_family(&metrics, "m", METRICS_GAUGE, "", "");
    metrics_value(&metrics, NULL, 0, 1);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        metrics_family(&metrics, names[i], METRICS_GAUGE, "", "");
        metrics_value(&metrics, NULL, 0, 2);
        assert_int_equal(metrics.left_out, i + 1);
    }
    expect("# HELP m \n# TYPE m gauge\nm 1\n");
}

static void test_series_are_bounded(void **state)
{
    static const double top = 1;
    static const uint64_t counts[] = { 1, 0 };

    (void)state;
    begin(METRICS_TEXT, 3);
    metrics_family(&metrics, "m", METRICS_GAUGE, "", "");
    for (unsigned i = 0; i < 5; i++)
        metrics_value(&metrics, NULL, 0, i);
    metrics_family(&metrics, "h", METRICS_HISTOGRAM, "", "");
    metrics_histogram(&metrics, NULL, 0, &top, counts, 1, 1);
    assert_int_equal(metrics.series, 3);
    assert_int_equal(metrics.left_out, 2 + 4);
    expect("# HELP m \n# TYPE m gauge\nm 0\nm 1\nm 2\n# HELP h \n# TYPE h histogram\n");
}

static void test_numbers_are_short_and_exact(void **state)
{
    static const struct {
        double value;
        const char *text;
    } numbers[] = { { 0, "0" },        { 0.1, "0.1" },          { 1.0 / 3, "0.3333333333333333" },
                    { 1e18, "1e+18" }, { 2.56e-7, "2.56e-07" }, { 4294967295.0, "4294967295" } };
    char text[METRICS_NUMBER];

    (void)state;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        assert_string_equal(metrics_number(numbers[i].value, text), numbers[i].text);
        assert_true(strtod(numbers[i].text, NULL) == numbers[i].value);
    }
    assert_string_equal(metrics_number(1e300 * 1e300, text), "+Inf");
    assert_string_equal(metrics_number(-1e300 * 1e300, text), "-Inf");
    assert_string_equal(metrics_number(strtod("nan", NULL), text), "NaN");
}

static void test_a_buffer_has_a_bound(void **state)
{
    static char much[1 << 20];

    (void)state;
    buffer_free(&buffer);
    for (unsigned i = 0; i < BUFFER_MOST / sizeof(much); i++)
        buffer_add(&buffer, much, sizeof(much));
    assert_false(buffer.failed);
    buffer_add(&buffer, much, 1);
    assert_true(buffer.failed);
    assert_int_equal(buffer.n, BUFFER_MOST);
    buffer_free(&buffer);
}

/* ---- what a scraper wants */

static void test_the_format_is_the_one_that_is_wanted(void **state)
{
    static const struct {
        const char *accept;
        enum metrics_format format;
    } wants[] = {
        { NULL, METRICS_TEXT },
        { "", METRICS_TEXT },
        { "*/*", METRICS_TEXT },
        { "text/plain", METRICS_TEXT },
        { "application/openmetrics-text", METRICS_OPEN },
        { "Application/OpenMetrics-Text; Version=1.0.0", METRICS_OPEN },
        { "application/openmetrics-text;version=1.0.0;q=0.5,"
          "application/openmetrics-text;version=0.0.1;q=0.4,"
          "text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
          METRICS_OPEN },
        { "text/plain;version=0.0.4;q=0.9, application/openmetrics-text;q=0.1", METRICS_TEXT },
        { "application/openmetrics-text;q=0", METRICS_TEXT },
        { "application/openmetrics-text;version=2.0.0", METRICS_TEXT },
        { "application/openmetrics-textual", METRICS_TEXT },
        { ";;;===,,,;q=", METRICS_TEXT },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(wants) / sizeof(wants[0]); i++)
        assert_int_equal(accept_format(wants[i].accept), wants[i].format);
}

/* ---- who is answered */

static void test_hosts(void **state)
{
    static const char *const ours[] = {
        "localhost",  "LOCALHOST:9464",  "127.0.0.1",         "127.1.2.3:80",   "[::1]",
        "[::1]:9464", "metrics.example", "Metrics.Example:1", "192.0.2.7:9464", "192.0.2.7"
    };
    static const char *const others[] = { "",
                                          "evil.example",
                                          "localhost.evil.example",
                                          "127.0.0.1.evil.example",
                                          "127.0.0.1:80@evil.example",
                                          "127.0.1",
                                          "127.evil.1.1",
                                          "localhost:9464.evil",
                                          "[::1",
                                          "[::2]",
                                          "[::1].evil",
                                          "metrics.example.org",
                                          ":80",
                                          "192.0.2.70" };
    const struct guard guard = { .hosts = { "metrics.example", "192.0.2.7:9464" }, .n_hosts = 2 };

    (void)state;
    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
        assert_true(guard_takes_host(&guard, ours[i]));
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_false(guard_takes_host(&guard, others[i]));
    assert_false(guard_takes_host(&guard, NULL));
}

static int read_token(struct guard *guard, const char *text, size_t n, mode_t mode, char *why)
{
    char path[] = "/tmp/odeon-token.XXXXXX";
    int fd = mkstemp(path), r;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, n), n);
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
    r = guard_read_token(guard, path, why, 512);
    unlink(path);
    return r;
}

static void test_tokens(void **state)
{
    static const char *const wrong[] = { "Bearer 0123456789abcde",
                                         "Bearer 0123456789abcdef0",
                                         "Bearer 0123456789abcdeF",
                                         "Bearer ",
                                         "Bearer",
                                         "",
                                         "Basic 0123456789abcdef",
                                         "0123456789abcdef" };
    struct guard guard = { .n_hosts = 0 };
    char why[512], longer[GUARD_TOKEN_MOST + 32] = "Bearer ";

    (void)state;
    assert_int_equal(guard_judge_token(&guard, NULL), GUARD_NONE);
    assert_int_equal(guard_judge_token(&guard, "Bearer "), GUARD_WRONG); /* there is none */
    assert_int_equal(read_token(&guard, "0123456789abcdef\n", 17, 0640, why), 0);
    assert_int_equal(guard_judge_token(&guard, NULL), GUARD_NONE);
    assert_int_equal(guard_judge_token(&guard, "Bearer 0123456789abcdef"), GUARD_RIGHT);
    assert_int_equal(guard_judge_token(&guard, "bearer  0123456789abcdef"), GUARD_RIGHT);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(guard_judge_token(&guard, wrong[i]), GUARD_WRONG);
    /* as long as may be, and longer */
    memset(longer + 7, 'x', GUARD_TOKEN_MOST);
    assert_int_equal(read_token(&guard, longer + 7, GUARD_TOKEN_MOST, 0600, why), 0);
    assert_int_equal(guard_judge_token(&guard, longer), GUARD_RIGHT);
    longer[7 + GUARD_TOKEN_MOST] = 'x';
    assert_int_equal(guard_judge_token(&guard, longer), GUARD_WRONG);
}

static void test_token_files_that_are_refused(void **state)
{
    static const struct {
        const char *text;
        size_t n;
    } files[] = { { "", 0 },
                  { "short\n", 6 },
                  { "0123456789abcdef\nmore\n", 22 },
                  { "0123456789 abcdef\n", 18 },
                  { "0123456789abcdef\r\n", 18 },
                  { "0123456789abcdef\0abcdefgh\n", 26 } };
    static char longer[1000];
    struct guard guard = { .n_hosts = 0 };
    char why[512];

    (void)state;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        assert_int_equal(read_token(&guard, files[i].text, files[i].n, 0600, why), -EINVAL);
        assert_non_null(strstr(why, "a token is one line"));
    }
    memset(longer, 'x', sizeof(longer));
    assert_int_equal(read_token(&guard, longer, GUARD_TOKEN_MOST + 1, 0600, why), -EINVAL);
    assert_int_equal(read_token(&guard, longer, sizeof(longer), 0600, why), -EINVAL);
    assert_int_equal(read_token(&guard, "0123456789abcdef\n", 17, 0644, why), -EACCES);
    assert_non_null(strstr(why, "chmod"));
    assert_int_equal(guard_read_token(&guard, "/nowhere/token", why, sizeof(why)), -ENOENT);
    assert_non_null(strstr(why, "cannot be read"));
    assert_int_equal(guard.token[0], '\0');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_format),
        cmocka_unit_test(test_open_format),
        cmocka_unit_test(test_names_do_no_harm),
        cmocka_unit_test(test_names_that_are_none_are_left_out),
        cmocka_unit_test(test_series_are_bounded),
        cmocka_unit_test(test_numbers_are_short_and_exact),
        cmocka_unit_test(test_a_buffer_has_a_bound),
        cmocka_unit_test(test_the_format_is_the_one_that_is_wanted),
        cmocka_unit_test(test_hosts),
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_token_files_that_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
