/* SPDX-License-Identifier: Apache-2.0 */
/* Which metrics there are: of statistics files with few workers and with many, with counters that
 * are newer than the exporter, replaced, spoilt and gone; of more types than there is room for.
 * What the library says of types is made up here. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>
#include <odeon/observe.h>

#include "client-lib/exporter/expose.h"
#include "client-lib/src/arena.h"
#include "proto/stats_layout.h"
#include "tests/run/scratch.h"

static char folder[] = "/tmp/odeon-test.exporter.XXXXXX", path[64];
static struct stats_header *header;
static struct figures figures;
static struct tally tally;
static struct buffer buffer;
static unsigned fake_types, fake_idle; /* the first of them have done nothing */

/* ---- a library without a service */

int odeon_observe_open(struct odeon_client *client, struct odeon_observer **ret)
{
    (void)client;
    *ret = NULL;
    return -EACCES;
}

struct odeon_observer *odeon_observe_close(struct odeon_observer *observer)
{
    (void)observer;
    return NULL;
}

int odeon_observe_look(struct odeon_observer *observer, uint64_t *ret_ns)
{
    (void)observer;
    (void)ret_ns;
    return 0;
}

int odeon_observe_types(struct odeon_observer *observer, int total, struct odeon_list **ret)
{
    struct odeon_list *list = arena_new(sizeof(*list));
    struct odeon_type_figures *rows = arena_alloc(list, fake_types + 1, sizeof(*rows));
    char name[32];

    (void)observer;
    assert_int_equal(total, 1);
    list->rows = rows;
    for (unsigned i = fake_idle; i < fake_types; i++) {
        snprintf(name, sizeof(name), "type_%u", i);
        rows[list->n++] =
            (struct odeon_type_figures){ .id = i + 1,
                                         .type = arena_string(list, i == 1 ? "other" : name),
                                         .plugin = "p",
                                         .messages = 10,
                                         .failed = 3,
                                         .actors = 2,
                                         .state_bytes = 96,
                                         .run_ns = 1000000000 };
    }
    *ret = list;
    return 0;
}

int odeon_observe_times(struct odeon_observer *observer, uint32_t id, enum odeon_observe_what what,
                        const uint64_t *below_ns, size_t n, uint64_t *ret_counts)
{
    (void)observer;
    assert_int_not_equal(id, 0);
    assert_int_equal(below_ns[0], 256);
    assert_int_equal(below_ns[1], 1024);
    for (size_t i = 0; i <= n; i++)
        ret_counts[i] = i == 0 ? 0 : i == n ? 10 : what == ODEON_TIMES_RUN ? 4 : 5;
    return 0;
}

/* ---- statistics */

static struct stats_worker *worker(uint32_t id)
{
    return (struct stats_worker *)((char *)header + STATS_WORKER_OFFSET) + id;
}

static void close_file(void)
{
    if (header)
        munmap(header, STATS_SEGMENT_SIZE);
    header = NULL;
}

/* A new file in the place of the one that is there. */
static void make_file(uint32_t n_workers)
{
    static const char *const names[] = {
#define STAT(name, doc)       #name,
#define STAT_GAUGE(name, doc) #name,
#include "proto/stats.def"
    };
    char made[80];
    int fd;

    close_file();
    snprintf(made, sizeof(made), "%s.new", path);
    fd = open(made, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, STATS_SEGMENT_SIZE), 0);
    header = mmap(NULL, STATS_SEGMENT_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(header, MAP_FAILED);
    close(fd);
    header->version = STATS_VERSION;
    header->header_size = sizeof(*header);
    header->worker_size = sizeof(struct stats_worker);
    header->worker_offset = STATS_WORKER_OFFSET;
    header->workers_max = ODEON_WORKERS_MAX;
    header->n_stats = STAT_N;
    for (size_t i = 0; i < STAT_N; i++)
        snprintf(header->names[i], STATS_STAT_NAME, "%s", names[i]);
    header->n_workers = n_workers;
    header->service_state = SERVICE_RUNNING;
    header->supervisor_pid = header->executor_pid = (uint32_t)getpid();
    atomic_store(&header->magic, STATS_MAGIC);
    assert_int_equal(rename(made, path), 0);
}

static int begin(void **state)
{
    (void)state;
    figures_init(&figures, path);
    tally = (struct tally){ .scrapes = 1 };
    return 0;
}

static int end(void **state)
{
    (void)state;
    figures_fini(&figures);
    buffer_free(&buffer);
    close_file();
    (void)unlink(path);
    return 0;
}

/* The metrics, as a string. */
static const char *scrape(struct observed *observed, enum metrics_format format)
{
    struct expose expose = {
        .figures = &figures, .with_types = observed != NULL, .observed = observed, .tally = &tally
    };

    buffer_free(&buffer);
    expose.readable = figures_look(&figures) == 0;
    assert_int_equal(expose_write(&expose, format, &buffer), 0);
    buffer_add(&buffer, "", 1);
    assert_false(buffer.failed);
    return buffer.bytes;
}

static bool has_line(const char *text, const char *line)
{
    size_t n = strlen(line);

    for (const char *at = strstr(text, line); at; at = strstr(at + 1, line))
        if ((at == text || at[-1] == '\n') && at[n] == '\n')
            return true;
    return false;
}

static void expect_line(const char *text, const char *line)
{
    if (!has_line(text, line))
        fail_msg("there is no line '%s' in:\n%.4000s", line, text);
}

static unsigned count_series(const char *text)
{
    unsigned n = 0;

    for (const char *at = text; *at; at = strchr(at, '\n') + 1)
        n += *at != '#';
    return n;
}

/* The sum of all series whose line begins so. */
static double sum_of(const char *text, const char *begins)
{
    double sum = 0;

    for (const char *at = text; *at; at = strchr(at, '\n') + 1)
        if (strncmp(at, begins, strlen(begins)) == 0)
            sum += strtod(strrchr(begins, '{') ? strchr(at, '}') + 1 : at + strlen(begins), NULL);
    return sum;
}

static void test_each_worker_has_its_series(void **state)
{
    const char *text;

    (void)state;
    make_file(2);
    worker(0)->value[STAT_gulps] = 5;
    worker(1)->value[STAT_gulps] = 7;
    worker(1)->value[STAT_state] = WORKER_PARKED;
    worker(2)->value[STAT_gulps] = 11; /* one that is no more */
    worker(STATS_CONTROL_BLOCK)->value[STAT_gulps] = 1;
    worker(0)->cpu = 3;
    worker(1)->cpu = UINT32_MAX;
    text = scrape(NULL, METRICS_TEXT);
    expect_line(text, "odeon_up 1");
    expect_line(text, "odeon_service_state{state=\"running\"} 1");
    expect_line(text, "# TYPE odeon_gulps_total counter");
    expect_line(text, "odeon_gulps_total{worker=\"0\"} 5");
    expect_line(text, "odeon_gulps_total{worker=\"1\"} 7");
    expect_line(text, "odeon_gulps_total{worker=\"2\"} 11");
    expect_line(text, "odeon_gulps_total{worker=\"control\"} 1");
    assert_null(strstr(text, "odeon_gulps_total{worker=\"3\"}"));
    expect_line(text, "odeon_worker_state{worker=\"1\"} 3");
    expect_line(text, "odeon_worker_cpu{worker=\"0\"} 3");
    expect_line(text, "odeon_worker_cpu{worker=\"1\"} -1");
    expect_line(text, "odeon_exporter_series_left_out 0");
    assert_null(strstr(text, "odeon_average_gulp_size")); /* queries compute it */
    assert_null(strstr(text, "type="));
    /* each known counter and gauge is there */
#define STAT(name, doc)       assert_non_null(strstr(text, "\nodeon_" #name "_total{"));
#define STAT_GAUGE(name, doc) assert_non_null(strstr(text, "\nodeon_worker_" #name "{"));
#include "proto/stats.def"
}

/* Of series that were there before, none is below what it was, and none is gone. */
static const char *scrape_that_grows(void)
{
    static char *before;
    char line[160];

    free(before);
    before = strdup(buffer.bytes ? buffer.bytes : "");
    assert_non_null(before);
    scrape(NULL, METRICS_TEXT);
    for (const char *at = before; (at = strstr(at, "\nodeon_gulps_total{")); at++) {
        int n = (int)(strchr(at, '}') + 1 - at);

        snprintf(line, sizeof(line), "%.*s", n, at);
        if (!strstr(buffer.bytes, line))
            fail_msg("gone:%s", line);
        if (strtod(strstr(buffer.bytes, line) + n, NULL) < strtod(at + n, NULL))
            fail_msg("it has fallen:%s", line);
    }
    return buffer.bytes;
}

/* Workers that go and come, and an exporter that begins anew: what was counted is where it was. */
static void test_what_workers_have_counted_stays(void **state)
{
    (void)state;
    make_file(3);
    for (uint32_t i = 0; i < 3; i++)
        worker(i)->value[STAT_gulps] = 10 + i;
    worker(7)->value[STAT_gulps] = 100; /* a thread of detached actors */
    worker(ODEON_WORKERS_MAX - 1)->value[STAT_gulps] = 1000;
    assert_true(sum_of(scrape_that_grows(), "odeon_gulps_total{") == 1133);
    header->n_workers = 1;
    assert_true(sum_of(scrape_that_grows(), "odeon_gulps_total{") == 1133);
    expect_line(buffer.bytes, "odeon_gulps_total{worker=\"2\"} 12");
    expect_line(buffer.bytes, "odeon_gulps_total{worker=\"7\"} 100");
    expect_line(buffer.bytes, "odeon_gulps_total{worker=\"other\"} 1000");
    expect_line(buffer.bytes,
                "odeon_exporter_series_left_out 0"); /* no worker has none of its own */
    worker(0)->value[STAT_gulps] += 5;
    assert_true(sum_of(scrape_that_grows(), "odeon_gulps_total{") == 1138);
    figures_fini(&figures);
    figures_init(&figures, path);
    assert_true(sum_of(scrape_that_grows(), "odeon_gulps_total{") == 1138);
    for (uint32_t n = 2; n <= 1000; n *= 2) {
        header->n_workers = n;
        assert_true(sum_of(scrape_that_grows(), "odeon_gulps_total{") == 1138);
    }
    assert_true(figures_total(&figures, figures_find(&figures, "gulps")) == 1138);
}

static void test_more_workers_than_there_is_room_for(void **state)
{
    const char *text;
    double left_out;

    (void)state;
    make_file(1000);
    for (uint32_t i = 0; i < 1000; i++)
        worker(i)->value[STAT_gulps] = 1;
    text = scrape(NULL, METRICS_OPEN);
    assert_true(count_series(text) <= EXPOSE_SERIES);
    assert_true(count_series(text) > EXPOSE_SERIES * 8 / 10);
    assert_true(sum_of(text, "odeon_gulps_total{") == 1000);
    assert_non_null(strstr(text, "odeon_gulps_total{worker=\"other\"}"));
    left_out = sum_of(text, "odeon_exporter_series_left_out");
    assert_true(left_out > 900 * STAT_N && left_out < 1000.0 * (STAT_N + 1));
    expect_line(text, "# EOF");
}

/* A newer service's, of which nobody knows whether they only grow; and names that are none. */
static void test_counters_of_a_newer_service(void **state)
{
    const char *text;

    (void)state;
    make_file(1);
    assert_true(STAT_N + 3 <= STATS_SLOTS);
    header->n_stats = STAT_N + 3;
    strcpy(header->names[STAT_N], "from_the_future");
    strcpy(header->names[STAT_N + 1], "a\"} 1\nodeon_up 7");
    strcpy(header->names[STAT_N + 2], "workers"); /* there is one of the service's */
    worker(0)->value[STAT_N] = 42;
    text = scrape(NULL, METRICS_TEXT);
    expect_line(text, "# TYPE odeon_from_the_future untyped");
    expect_line(text, "odeon_from_the_future{worker=\"0\"} 42");
    assert_false(has_line(text, "odeon_up 7"));
    expect_line(text, "odeon_workers 1");
    assert_null(strstr(text, "odeon_workers{"));
    expect_line(text, "odeon_exporter_series_left_out 2");
    text = scrape(NULL, METRICS_OPEN);
    expect_line(text, "# TYPE odeon_from_the_future unknown");
}

static void test_what_is_known_is_told(void **state)
{
    const char *text;

    (void)state;
    text = scrape(NULL, METRICS_TEXT); /* no service has run here */
    expect_line(text, "odeon_up 0");
    expect_line(text, "odeon_statistics_readable 0");
    assert_null(strstr(text, "odeon_gulps"));
    make_file(1);
    worker(0)->value[STAT_gulps] = 5;
    expect_line(scrape(NULL, METRICS_TEXT), "odeon_up 1");
    header->service_state = SERVICE_DRAINING;
    text = scrape(NULL, METRICS_TEXT);
    expect_line(text, "odeon_up 0");
    expect_line(text, "odeon_service_state{state=\"draining\"} 1");
    header->service_state = SERVICE_EXECUTOR_DOWN;
    text = scrape(NULL, METRICS_TEXT);
    expect_line(text, "odeon_up 0");
    expect_line(text, "odeon_gulps_total{worker=\"0\"} 5");
    expect_line(text, "odeon_service_state{state=\"executor-down\"} 1");
    header->service_state = SERVICE_RUNNING;
    header->executor_pid = INT32_MAX; /* killed, and odeond does not know yet */
    text = scrape(NULL, METRICS_TEXT);
    expect_line(text, "odeon_up 0");
    expect_line(text, "odeon_service_state{state=\"executor-down\"} 1");
    header->supervisor_pid = INT32_MAX; /* all of it was killed */
    expect_line(scrape(NULL, METRICS_TEXT), "odeon_service_state{state=\"stopped\"} 1");
    assert_int_equal(unlink(path), 0); /* the folder is cleared */
    text = scrape(NULL, METRICS_TEXT);
    expect_line(text, "odeon_up 0");
    expect_line(text, "odeon_gulps_total{worker=\"0\"} 5");
}

static void test_another_file_is_another_service(void **state)
{
    const char *text;
    int fd;

    (void)state;
    make_file(1);
    worker(0)->value[STAT_gulps] = 5;
    expect_line(scrape(NULL, METRICS_TEXT), "odeon_gulps_total{worker=\"0\"} 5");
    make_file(2);
    worker(1)->value[STAT_gulps] = 3;
    text = scrape(NULL, METRICS_TEXT);
    expect_line(text, "odeon_gulps_total{worker=\"0\"} 0");
    expect_line(text, "odeon_gulps_total{worker=\"1\"} 3");
    assert_true(sum_of(text, "odeon_gulps_total{") == 3);
    make_file(2);
    header->version = STATS_VERSION + 1;
    text = scrape(NULL, METRICS_TEXT);
    expect_line(text, "odeon_up 0");
    expect_line(text, "odeon_statistics_readable 0");
    assert_null(strstr(text, "odeon_gulps"));
    /* a file that is short, and one that is good again */
    close_file();
    assert_int_equal(unlink(path), 0);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    close(fd);
    expect_line(scrape(NULL, METRICS_TEXT), "odeon_statistics_readable 0");
    make_file(1);
    expect_line(scrape(NULL, METRICS_TEXT), "odeon_up 1");
}

static void test_types(void **state)
{
    struct observed observed = { .helper = NULL };
    const char *text;

    (void)state;
    make_file(1);
    fake_types = 1;
    text = scrape(&observed, METRICS_OPEN);
    expect_line(text, "odeon_types_readable 1");
    expect_line(text, "odeon_type_messages_total{type=\"type_0\",plugin=\"p\"} 10");
    expect_line(text, "odeon_type_failed_total{type=\"type_0\",plugin=\"p\"} 3");
    expect_line(text, "odeon_type_actors{type=\"type_0\",plugin=\"p\"} 2");
    expect_line(text, "# TYPE odeon_type_state_bytes gauge");
    expect_line(text, "odeon_type_state_bytes{type=\"type_0\",plugin=\"p\"} 96");
    expect_line(text, "# UNIT odeon_type_run_seconds seconds");
    expect_line(text, "odeon_type_run_seconds_bucket{type=\"type_0\",le=\"2.56e-07\"} 0");
    expect_line(text, "odeon_type_run_seconds_bucket{type=\"type_0\",le=\"1.024e-06\"} 4");
    expect_line(text, "odeon_type_run_seconds_bucket{type=\"type_0\",le=\"68.719476736\"} 4");
    expect_line(text, "odeon_type_run_seconds_bucket{type=\"type_0\",le=\"+Inf\"} 10");
    expect_line(text, "odeon_type_run_seconds_sum{type=\"type_0\"} 1");
    expect_line(text, "odeon_type_run_seconds_count{type=\"type_0\"} 10");
    expect_line(text, "odeon_type_wait_seconds_bucket{type=\"type_0\",le=\"1.024e-06\"} 5");
}

/* Also beside a type that is called as the sum of those that there is no room for. */
static void test_more_types_than_there_is_room_for(void **state)
{
    struct observed observed = { .helper = NULL };
    const char *text;

    (void)state;
    make_file(1000);
    fake_types = 1023;
    text = scrape(&observed, METRICS_TEXT);
    assert_true(count_series(text) <= EXPOSE_SERIES);
    assert_true(sum_of(text, "odeon_type_messages_total{") == 10230);
    assert_true(sum_of(text, "odeon_type_run_seconds_count{") == 10230);
    assert_true(sum_of(text, "odeon_type_state_bytes{") == 1023 * 96);
    expect_line(text, "odeon_type_messages_total{type=\"type_0\",plugin=\"p\"} 10");
    assert_non_null(strstr(text, "odeon_type_messages_total{type=\"other\",plugin=\"\"} "));
    assert_null(strstr(text, "{type=\"other\",plugin=\"p\"}"));
    assert_true(sum_of(text, "odeon_exporter_series_left_out") > 900 * 30);
    expect_line(text, "# TYPE odeon_exporter_series_left_out gauge");
}

static bool is_shown(const char *text, unsigned type)
{
    char line[64];

    snprintf(line, sizeof(line), "odeon_type_messages_total{type=\"type_%u\"", type);
    return strstr(text, line) != NULL;
}

/* What one that was idle does afterwards takes nobody's place. */
static void test_a_type_that_comes_late(void **state)
{
    struct observed observed = { .helper = NULL };
    unsigned last = 2;
    const char *text;

    (void)state;
    make_file(1000);
    fake_types = 1023;
    fake_idle = 1;
    text = scrape(&observed, METRICS_TEXT);
    while (is_shown(text, last + 1))
        last++;
    assert_in_range(last, 10, 1000);
    fake_idle = 0;
    text = scrape(&observed, METRICS_TEXT);
    assert_true(is_shown(text, 0));
    assert_true(is_shown(text, last));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_each_worker_has_its_series, begin, end),
        cmocka_unit_test_setup_teardown(test_what_workers_have_counted_stays, begin, end),
        cmocka_unit_test_setup_teardown(test_more_workers_than_there_is_room_for, begin, end),
        cmocka_unit_test_setup_teardown(test_counters_of_a_newer_service, begin, end),
        cmocka_unit_test_setup_teardown(test_what_is_known_is_told, begin, end),
        cmocka_unit_test_setup_teardown(test_another_file_is_another_service, begin, end),
        cmocka_unit_test_setup_teardown(test_types, begin, end),
        cmocka_unit_test_setup_teardown(test_more_types_than_there_is_room_for, begin, end),
        cmocka_unit_test_setup_teardown(test_a_type_that_comes_late, begin, end),
    };
    int failed;

    if (!scratch_make(folder))
        return 1;
    snprintf(path, sizeof(path), "%s/stats", folder);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)rmdir(folder);
    return failed;
}
