/* SPDX-License-Identifier: Apache-2.0 */
/* odeon-exporter beside a service: what it says of one that works, that is killed, that stops and
 * comes back; whom it answers; connections that say nothing, that read nothing, that say too
 * much. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "proto/stats_layout.h"
#include "tests/system/probe.h"
#include "tests/system/scrape.h"
#include "tests/system/stage.h"

enum {
    WORKS = 200,
    WORK_NS = 100000,
    KILLS = 5,
    SILENT = 1000,
    SCRAPES = 20,
    PLACES = 256,
    SLOW = 200
};

static struct stage stage;
static struct exporter exporter;
static odeon_ref ledger;
static const struct user stranger = { .uid = 41001, .gid = 41001, .group = 41900 };

static int begin(void **state)
{
    (void)state;
    stage_begin(&stage, TEST_PROBE, "exporter");
    exporter = exporter_start(&stage.service, NULL, NULL);
    ledger = spawn(stage.client, "probe_ledger", NULL, NULL, 0);
    return 0;
}

static int end(void **state)
{
    (void)state;
    if (exporter.pid > 0)
        assert_int_equal(exporter_stop(&exporter), 0);
    stage_end(&stage);
    return 0;
}

/* Runs so many messages to their end. */
static void work(unsigned n, uint64_t ns)
{
    uint32_t ask = message_id(stage.client, odeon_message_of(probe_ask));
    struct odeon_delivery answer;

    for (unsigned i = 0; i < n; i++)
        stage_post(&stage, ledger, odeon_message_of(probe_work),
                   &(struct probe_work){ .ns = ns, .n = i }, sizeof(struct probe_work));
    assert_int_equal(
        odeon_port_call(stage.port, ledger, ask, NULL, 0, SECONDS(PATIENCE_S), &answer),
        ODEON_CALL_REPLY);
}

static void test_figures_are_those_of_the_service(void **state)
{
    char *answer;

    (void)state;
    work(WORKS, 0);
    /* a worker's counters are some milliseconds old at most */
    assert_true(wait_until(scrape_now(&exporter, "odeon_messages_processed_total") >= WORKS));
    answer = scrape_metrics(&exporter, false);
    assert_non_null(strstr(answer, "\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r"));
    assert_true(scrape_value(answer, "odeon_up") == 1);
    assert_true(scrape_value(answer, "odeon_workers") == 2);
    assert_true(scrape_value(answer, "odeon_actors") == 1);
    assert_true(scrape_value(answer, "odeon_service_state{state=\"running\"}") == 1);
    assert_true(scrape_sum(answer, "odeon_messages_processed_total") ==
                (double)service_figure(&stage.service, "messages_processed"));
    assert_true(scrape_value(answer, "odeon_exporter_series_left_out") == 0);
    free(answer);
    answer = scrape_get(&exporter, "/metrics",
                        "Accept: application/openmetrics-text;version=1.0.0\r\n", 200);
    assert_non_null(strstr(answer, "\r\nContent-Type: application/openmetrics-text; version=1.0.0; "
                                   "charset=utf-8\r"));
    assert_string_equal(answer + strlen(answer) - 6, "# EOF\n");
    free(answer);
}

/* What takes long is counted one by one, most of it. */
static bool types_are_told(void)
{
    char *answer;
    bool are;

    work(WORKS / 10, WORK_NS);
    answer = scrape_metrics(&exporter, true);
    are = scrape_value(answer, "odeon_types_readable") == 1 &&
          scrape_sum(answer, "odeon_type_messages_total") >= WORKS;

    free(answer);
    return are;
}

static void test_names_are_for_who_has_the_token(void **state)
{
    char *answer;

    (void)state;
    assert_true(wait_until(types_are_told()));
    answer = scrape_metrics(&exporter, true);
    assert_true(scrape_value(answer, "odeon_type_run_seconds_count{type=\"probe_ledger\"}") >=
                WORKS);
    assert_true(
        scrape_value(answer, "odeon_type_run_seconds_count{type=\"probe_ledger\"}") ==
        scrape_value(answer, "odeon_type_run_seconds_bucket{type=\"probe_ledger\",le=\"+Inf\"}"));
    assert_true(scrape_value(answer, "odeon_type_run_seconds_sum{type=\"probe_ledger\"}") > 0);
    free(answer);
    answer = scrape_metrics(&exporter, false);
    assert_null(strstr(answer, "probe"));
    assert_null(strstr(answer, "odeon_type"));
    free(answer);
    answer =
        scrape_get(&exporter, "/metrics", "Authorization: Bearer no-token-of-this-test\r\n", 401);
    assert_null(strstr(answer, "odeon_up"));
    assert_non_null(strstr(answer, "\r\nWWW-Authenticate: Bearer\r"));
    free(answer);
}

/* The role observe is missing: the rest is told all the same. */
static void test_without_the_role_there_are_no_types(void **state)
{
    struct service service = { .pid = 0 };
    struct exporter strangers;
    char *answer;

    (void)state;
    if (!user_can_change())
        skip();
    service_start_for_users(&service, (const char *const[]){ NULL });
    strangers = exporter_start(&service, &stranger, NULL);
    for (unsigned i = 0; i < 3; i++) {
        answer = scrape_metrics(&strangers, true);
        assert_true(scrape_value(answer, "odeon_up") == 1);
        assert_true(scrape_value(answer, "odeon_types_readable") == 0);
        free(answer);
    }
    assert_int_equal(exporter_stop(&strangers), 0);
    service_end(&service);
}

/* Each scrape while executors die is answered, and nothing that was counted falls. */
static void test_executors_die_while_it_is_scraped(void **state)
{
    double before = 0;

    (void)state;
    for (unsigned i = 0; i < KILLS; i++) {
        pid_t executor;

        work(WORKS, 0);
        executor = service_executor(&stage.service);
        assert_int_equal(kill(executor, SIGKILL), 0);
        do {
            char *answer = scrape_metrics(&exporter, i % 2);
            double up = scrape_value(answer, "odeon_up"),
                   now = scrape_sum(answer, "odeon_messages_processed_total");

            assert_true(up == 0 || up == 1);
            assert_true(now >= before);
            before = now;
            free(answer);
        } while (scrape_now(&exporter, "odeon_executor_restarts_total") < i + 1);
        service_wait_executor(&stage.service, executor);
        assert_true(wait_until(scrape_now(&exporter, "odeon_up") == 1));
    }
}

static void test_a_service_stops_and_comes_back(void **state)
{
    const char *const arguments[] = { SMALL_SERVICE, "--plugin", TEST_PROBE, NULL };
    char *answer;

    (void)state;
    work(WORKS, 0);
    odeon_port_close(stage.port);
    stage.port = NULL;
    stage.client = odeon_client_disconnect(stage.client);
    (void)service_stop(&stage.service, SIGTERM);
    answer = scrape_metrics(&exporter, true);
    assert_true(scrape_value(answer, "odeon_up") == 0);
    assert_true(scrape_value(answer, "odeon_types_readable") == 0);
    assert_null(strstr(answer, "odeon_type_actors{"));
    assert_true(scrape_value(answer, "odeon_service_state{state=\"stopped\"}") == 1);
    assert_true(scrape_sum(answer, "odeon_messages_processed_total") >= WORKS);
    free(answer);
    service_spawn(&stage.service, arguments);
    service_wait_ready(&stage.service);
    answer = scrape_metrics(&exporter, false);
    assert_true(scrape_value(answer, "odeon_up") == 1);
    assert_true(scrape_sum(answer, "odeon_messages_processed_total") < WORKS);
    free(answer);
    stage.client = service_connect(&stage.service, "again");
    stage.port = port_open_or_fail(stage.client, 0, 0, false);
    ledger = spawn(stage.client, "probe_ledger", NULL, NULL, 0);
    assert_true(wait_until(types_are_told())); /* by the next odeond */
}

/* An odeond that does not answer holds up nobody. */
static void test_a_service_that_stands_still(void **state)
{
    struct exporter second;
    char *answer;

    (void)state;
    process_stop(stage.service.pid);
    second = exporter_start(&stage.service, NULL, NULL);
    for (unsigned i = 0; i < 3; i++) {
        answer = scrape_metrics(&second, true);
        assert_true(scrape_value(answer, "odeon_workers") == 2);
        assert_true(scrape_value(answer, "odeon_types_readable") == 0);
        free(answer);
    }
    assert_int_equal(kill(stage.service.pid, SIGCONT), 0);
    assert_int_equal(exporter_stop(&second), 0);
}

/* ---- who is answered */

static void expect_answer(const char *request, const char *begins)
{
    char *answer = scrape_raw(&exporter, request, strlen(request));

    if (!answer || strncmp(answer, begins, strlen(begins)) != 0)
        fail_msg("'%.60s' was answered by '%.60s', not by '%s'", request,
                 answer ? answer : "nothing", begins);
    free(answer);
}

static void test_requests_that_are_refused(void **state)
{
    char *answer;

    (void)state;
    expect_answer("POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc",
                  "HTTP/1.1 405 ");
    expect_answer("PUT /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n", "HTTP/1.1 405 ");
    expect_answer("OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 405 ");
    expect_answer("GET /metrics HTTP/1.1\r\nHost: rebound.example\r\nConnection: close\r\n\r\n",
                  "HTTP/1.1 403 ");
    expect_answer("GET /metrics HTTP/1.0\r\n\r\n", "HTTP/1.1 403 ");
    expect_answer("GET /metrics/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
                  "HTTP/1.1 404 ");
    expect_answer("GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
                  "HTTP/1.1 404 ");
    expect_answer("HEAD /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
                  "HTTP/1.1 200 ");
    answer = scrape_get(&exporter, "/metrics?name=up", "", 200);
    assert_non_null(strstr(answer, "\nodeon_exporter_refused_total{reason=\"method\"} 3\n"));
    assert_non_null(strstr(answer, "\nodeon_exporter_refused_total{reason=\"host\"} 2\n"));
    assert_non_null(strstr(answer, "\nodeon_exporter_refused_total{reason=\"path\"} 2\n"));
    free(answer);
}

/* The page is three files of the program's own, and nothing else may run in it. */
static void test_the_page_has_a_policy(void **state)
{
    static const char *const files[][2] = { { "/", "text/html; charset=utf-8" },
                                            { "/page.css", "text/css; charset=utf-8" },
                                            { "/page.js", "text/javascript; charset=utf-8" } };

    (void)state;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char *answer = scrape_get(&exporter, files[i][0], "", 200), type[96];

        snprintf(type, sizeof(type), "\r\nContent-Type: %s\r\n", files[i][1]);
        assert_non_null(strstr(answer, type));
        assert_non_null(
            strstr(answer, "\r\nContent-Security-Policy: default-src 'none'; script-src 'self';"));
        assert_null(strstr(answer, "unsafe"));
        assert_non_null(strstr(answer, "\r\nX-Content-Type-Options: nosniff\r\n"));
        assert_non_null(strstr(answer, "SPDX-License-Identifier"));
        free(answer);
    }
}

static bool page_is_told(const char *name)
{
    char *answer = scrape_get(&exporter, "/api/status.json",
                              "Authorization: Bearer " SCRAPE_TOKEN "\r\n", 200);
    bool is = strstr(answer, name) != NULL;

    free(answer);
    return is;
}

static void test_what_the_page_is_told(void **state)
{
    static const char *const named[] = { "\"types\":[{",   "\"probe_ledger\"",
                                         "\"clients\":[{", "\"name\":\"exporter\"",
                                         "\"queues\":[{",  "\"flows\":[" };
    char *answer;

    (void)state;
    assert_true(wait_until(types_are_told()));
    for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++)
        assert_true(wait_until(page_is_told(named[i])));
    answer = scrape_get(&exporter, "/api/status.json", "", 200);
    assert_non_null(strstr(answer, "\r\nContent-Type: application/json\r\n"));
    assert_non_null(strstr(answer, "\"state\":\"running\""));
    assert_non_null(strstr(answer, "\"workers\":[{\"worker\":0,"));
    for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++)
        assert_null(strstr(answer, named[i]));
    free(answer);
    free(scrape_get(&exporter, "/api/status.json", "Authorization: Bearer wrong\r\n", 401));
}

static void test_names_of_hosts_may_be_given(void **state)
{
    struct exporter second =
        exporter_start(&stage.service, NULL, (const char *const[]){ "--host", "a.example", NULL });
    const char *request =
        "GET /metrics HTTP/1.1\r\nHost: a.example:80\r\nConnection: close\r\n\r\n";
    char *answer = scrape_raw(&second, request, strlen(request));

    (void)state;
    assert_non_null(answer);
    assert_int_equal(strncmp(answer, "HTTP/1.1 200 ", 13), 0);
    free(answer);
    expect_answer(request, "HTTP/1.1 403 "); /* by the other one */
    assert_int_equal(exporter_stop(&second), 0);
}

/* A socket that listens at this address, which the machine need not have; its port in *ret_port. */
static int listen_at(const char *address, unsigned short *ret_port)
{
    struct sockaddr_in at = { .sin_family = AF_INET };
    socklen_t size = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_true(fd >= 0);
    assert_int_equal(setsockopt(fd, IPPROTO_IP, IP_FREEBIND, &(int){ 1 }, sizeof(int)), 0);
    assert_int_equal(inet_pton(AF_INET, address, &at.sin_addr), 1);
    assert_int_equal(bind(fd, (const struct sockaddr *)&at, size), 0);
    assert_int_equal(listen(fd, 16), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    *ret_port = ntohs(at.sin_port);
    return fd;
}

/* As a service manager starts it, with two sockets and no option that names their addresses. */
static struct exporter start_with_sockets(void)
{
    struct exporter second;
    unsigned short other;
    int fds[2];
    char pid[16];

    fds[0] = listen_at("127.0.0.1", &second.port);
    fds[1] = listen_at("192.0.2.7", &other);
    second.pid = fork();
    assert_true(second.pid >= 0);
    if (second.pid == 0) {
        snprintf(pid, sizeof(pid), "%d", (int)getpid());
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && dup2(fds[0], 200) == 200 &&
            dup2(fds[1], 201) == 201 && dup2(200, 3) == 3 && dup2(201, 4) == 4 &&
            setenv("LISTEN_PID", pid, 1) == 0 && setenv("LISTEN_FDS", "2", 1) == 0 &&
            freopen("/dev/null", "w", stderr))
            execl(TEST_EXPORTER, TEST_EXPORTER, "--stats", stage.service.stats, (char *)NULL);
        _exit(127);
    }
    close(fds[0]);
    close(fds[1]);
    return second;
}

static void test_addresses_of_inherited_sockets_are_answered(void **state)
{
    struct exporter second = start_with_sockets(), first = exporter;

    (void)state;
    exporter = second;
    expect_answer("GET /metrics HTTP/1.1\r\nHost: 192.0.2.7:9464\r\nConnection: close\r\n\r\n",
                  "HTTP/1.1 200 ");
    expect_answer("GET /metrics HTTP/1.1\r\nHost: 192.0.2.8:9464\r\nConnection: close\r\n\r\n",
                  "HTTP/1.1 403 ");
    exporter = first;
    assert_int_equal(exporter_stop(&second), 0);
}

/* What is no HTTP, and headers without end: whatever is said to it, it goes on. */
static void test_requests_that_are_none(void **state)
{
    static const char *const requests[] = { "\r\n\r\n\r\n",
                                            "GET\r\n\r\n",
                                            "GET / HTTP/9.9\r\n\r\n",
                                            "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
                                            "GET /metrics HTTP/1.1\nHost localhost\n\n",
                                            "GET /%00%ff%zz HTTP/1.1\r\nHost: localhost\r\n\r\n" };
    static char longer[64 << 10];
    int fd;

    (void)state;
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        fd = scrape_connect(&exporter);
        assert_true(fd >= 0);
        (void)send(fd, requests[i], strlen(requests[i]), MSG_NOSIGNAL);
        close(fd);
        assert_true(scrape_now(&exporter, "odeon_up") == 1);
    }
    memset(longer, 'x', sizeof(longer));
    memcpy(longer, "GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: ", 43);
    fd = scrape_connect(&exporter);
    assert_true(fd >= 0);
    (void)send(fd, longer, sizeof(longer), MSG_NOSIGNAL);
    /* refused or reset, and not waited for */
    while (recv(fd, longer, sizeof(longer), 0) > 0)
        ;
    close(fd);
    assert_true(scrape_now(&exporter, "odeon_up") == 1);
}

/* ---- who takes places */

static long resident_kib(pid_t pid)
{
    char path[64], line[256];
    long kib = -1;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file))
        if (sscanf(line, "VmRSS: %ld", &kib) == 1)
            break;
    fclose(file);
    assert_true(kib > 0);
    return kib;
}

static void raise_limit(void)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max < 4096 ? limit.rlim_max : 4096;
    assert_true(limit.rlim_cur > SILENT + 100);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* Connections that say nothing cost those who ask nothing but time. */
static void test_a_thousand_that_say_nothing(void **state)
{
    static int fds[SILENT];

    (void)state;
    raise_limit();
    for (unsigned i = 0; i < SILENT; i++) {
        fds[i] = scrape_connect(&exporter);
        assert_true(fds[i] >= 0);
        if (i % (SILENT / SCRAPES) == 0)
            assert_true(scrape_now(&exporter, "odeon_up") == 1);
    }
    for (unsigned i = 0; i < SCRAPES; i++) {
        char *answer = scrape_metrics(&exporter, false);

        assert_true(scrape_value(answer, "odeon_exporter_connections") <= PLACES);
        free(answer);
    }
    /* where the machine is slow, some of them have been late before */
    assert_true(scrape_now(&exporter, "odeon_exporter_ended_total") >= SILENT - PLACES);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    assert_in_range(resident_kib(exporter.pid), 0, 64 << 10);
#else
    (void)resident_kib;
#endif
    for (unsigned i = 0; i < SILENT; i++)
        close(fds[i]);
    assert_true(wait_until(scrape_now(&exporter, "odeon_exporter_connections") == 1));
}

/* Statistics of so many workers that each answer is as large as one can be. */
static void make_much(const char *path)
{
    static const char *const names[] = {
#define STAT(name, doc)       #name,
#define STAT_GAUGE(name, doc) #name,
#include "proto/stats.def"
    };
    static struct stats_header header = { .version = STATS_VERSION,
                                          .header_size = sizeof(header),
                                          .worker_size = sizeof(struct stats_worker),
                                          .worker_offset = STATS_WORKER_OFFSET,
                                          .workers_max = ODEON_WORKERS_MAX,
                                          .n_stats = STAT_N,
                                          .n_workers = 1000 };
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    for (size_t i = 0; i < STAT_N; i++)
        snprintf(header.names[i], STATS_STAT_NAME, "%s", names[i]);
    atomic_store(&header.magic, STATS_MAGIC);
    assert_int_equal(fwrite(&header, sizeof(header), 1, file), 1);
    assert_int_equal(ftruncate(fileno(file), STATS_SEGMENT_SIZE), 0);
    assert_int_equal(fclose(file), 0);
}

/* Those who ask and do not read cost those who read nothing: the oldest of them are ended. */
static void test_who_does_not_read(void **state)
{
    static const char request[] = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
    static int fds[SLOW];
    struct exporter second;
    char path[112], *answer;

    (void)state;
    raise_limit();
    snprintf(path, sizeof(path), "%s/much", stage.service.dir);
    make_much(path);
    second = exporter_start(&stage.service, NULL, (const char *const[]){ "--stats", path, NULL });
    for (unsigned i = 0; i < SLOW; i++) {
        fds[i] = scrape_connect(&second);
        assert_true(fds[i] >= 0);
        (void)setsockopt(fds[i], SOL_SOCKET, SO_RCVBUF, &(int){ 1 }, sizeof(int));
        /* one behind the other, of which the first is not read */
        for (unsigned k = 0; k < SCRAPES; k++)
            if (send(fds[i], request, sizeof(request) - 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
                break;
        if (i % (SLOW / SCRAPES) == 0)
            assert_true(scrape_now(&second, "odeon_workers") == 1000);
    }
    answer = scrape_metrics(&second, false);
    assert_true(strlen(answer) * SLOW > 40 << 20); /* more than may wait */
    assert_true(scrape_sum(answer, "odeon_exporter_ended_total") > 0);
    free(answer);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    assert_in_range(resident_kib(second.pid), 0, 96 << 10);
#endif
    for (unsigned i = 0; i < SLOW; i++)
        close(fds[i]);
    assert_int_equal(exporter_stop(&second), 0);
}

/* A request of a byte now and then has an end, too: here the time of the exporter itself is what is
 * waited for. */
static void test_who_takes_too_long(void **state)
{
    int fd = scrape_connect(&exporter);
    char byte = 'G';

    (void)state;
    assert_true(fd >= 0);
    assert_true(wait_until((usleep(100000), send(fd, &byte, 1, MSG_NOSIGNAL) < 0)));
    close(fd);
    assert_true(scrape_now(&exporter, "odeon_exporter_ended_total{reason=\"late\"}") >= 1);
}

static void test_command_lines_that_are_refused(void **state)
{
    static const struct {
        const char *words[8];
        int status;
        const char *says;
    } lines[] = {
        { { "--nonsense" }, 2, "nonsense" },
        { { "now" }, 2, "'now': only options are understood" },
        { { "--listen", "localhost" }, 1, "'localhost' is no address to listen on" },
        { { "--listen", "127.0.0.1" }, 1, "is no address to listen on" },
        { { "--listen", "127.0.0.1:99999" }, 1, "is no address to listen on" },
        { { "--listen", "::1:80" }, 1, "is no address to listen on" },
        { { "--listen", "[::1:80" }, 1, "is no address to listen on" },
        { { "--listen", "192.0.2.1:9464" }, 1, "cannot listen on 192.0.2.1:9464: " },
        { { "--token-file", "/nowhere/token" }, 1, "/nowhere/token: cannot be read: " },
    };
    const char *many[40];
    char text[512];

    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        assert_int_equal(exporter_refused(lines[i].words, text, sizeof(text)), lines[i].status);
        if (!strstr(text, lines[i].says))
            fail_msg("'%s' does not say '%s'", text, lines[i].says);
    }
    for (unsigned i = 0; i < 9; i++) {
        many[2 * i] = "--listen";
        many[2 * i + 1] = "127.0.0.1:0";
    }
    many[18] = NULL;
    assert_int_equal(exporter_refused(many, text, sizeof(text)), 2);
    assert_non_null(strstr(text, "--listen: 8 are the most"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_figures_are_those_of_the_service, begin, end),
        cmocka_unit_test_setup_teardown(test_names_are_for_who_has_the_token, begin, end),
        cmocka_unit_test(test_without_the_role_there_are_no_types),
        cmocka_unit_test_setup_teardown(test_executors_die_while_it_is_scraped, begin, end),
        cmocka_unit_test_setup_teardown(test_a_service_stops_and_comes_back, begin, end),
        cmocka_unit_test_setup_teardown(test_a_service_that_stands_still, begin, end),
        cmocka_unit_test_setup_teardown(test_requests_that_are_refused, begin, end),
        cmocka_unit_test_setup_teardown(test_the_page_has_a_policy, begin, end),
        cmocka_unit_test_setup_teardown(test_what_the_page_is_told, begin, end),
        cmocka_unit_test_setup_teardown(test_names_of_hosts_may_be_given, begin, end),
        cmocka_unit_test_setup_teardown(test_addresses_of_inherited_sockets_are_answered, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_requests_that_are_none, begin, end),
        cmocka_unit_test_setup_teardown(test_a_thousand_that_say_nothing, begin, end),
        cmocka_unit_test_setup_teardown(test_who_does_not_read, begin, end),
        cmocka_unit_test_setup_teardown(test_who_takes_too_long, begin, end),
        cmocka_unit_test(test_command_lines_that_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
