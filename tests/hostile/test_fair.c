/* SPDX-License-Identifier: Apache-2.0 */
/* Time: a user who floods slow actors is refused, or waits, as soon as what waits for him takes
 * longer than may be. Others, whose actors share the queue with those, wait behind that and not
 * behind minutes of it.
 *
 * Judged by how many works the executor runs before a call that lies there is run, as its actors
 * note it, and by no clock: what it runs while a caller gets no processor counts for nobody.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/history/history.h"
#include "tests/system/harness.h"
#include "tests/system/probe.h"
#include "tests/system/user.h"

enum {
    CALLS = 10,
    WORK_NS = 2 * 1000 * 1000,
    QUOTA_MS = 100,
    /* a call may come behind two buffers of what may wait, and some that were taken by a guess; a
     * busy machine makes works longer, not more */
    WORKS_A_CALL = 4 * QUOTA_MS * (1000 * 1000 / (WORK_NS / 1000)) / 1000,
    REFUSED = 1000,
    BATCH = 400, /* works: eight times as long as may wait */
    TIMED = 20,
};

static const struct user attacker = { 41001, 41001, 0 }, innocent = { 41002, 41002, 0 };
static struct service service;
static odeon_ref rejects, waits, marks, asked;
static uint32_t work_type, number_type;
static struct history_log *runs;  /* of these three: there is one worker */
static _Atomic uint64_t *n_works; /* that calls have waited for; of all processes */

static odeon_ref spawn_logged(struct odeon_client *client, const char *type, const char *name)
{
    struct probe_log log = { 0 };

    snprintf(log.path, sizeof(log.path), "%s/runs", service.dir);
    return spawn(client, type, name, &log, sizeof(log));
}

static void open_runs(void)
{
    char path[128];

    snprintf(path, sizeof(path), "%s/runs", service.dir);
    runs = history_log_open(path, PROBE_LOG_RECORDS);
    assert_non_null(runs);
    n_works =
        mmap(NULL, sizeof(*n_works), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(n_works, MAP_FAILED);
}

/* One queue, which all share. */
static void start_with(const char *throughput)
{
    if (!user_can_change()) {
        print_message("# skipped: other users can be played by root alone\n");
        skip();
    }
    service_make_dir(&service);
    assert_int_equal(chmod(service.dir, 0755), 0);
    service_spawn(&service,
                  (const char *const[]){ SMALL_SERVICE, "--set", "workers=1", "--set",
                                         "queues-per-worker=1", "--set", "socket-mode=0666",
                                         "--set", "role-post=*", "--set", "quota-waiting-ms=100",
                                         "--set", throughput, "--plugin", TEST_PROBE, NULL });
    service_wait_ready(&service);
    open_runs();
    struct odeon_client *root = service_connect(&service, "root");
    rejects = spawn_logged(root, "probe_reject", "rejects");
    waits = spawn_logged(root, "probe_stall", "waits");
    marks = spawn_logged(root, "probe_reject", "marks");
    asked = spawn(root, "probe_echo", "asked", NULL, 0);
    work_type = message_id(root, odeon_message_of(probe_work));
    number_type = message_id(root, odeon_message_of(probe_number));
    odeon_client_disconnect(root);
}

static void start(void)
{
    start_with("throughput=4096");
}

static int end(void **state)
{
    (void)state;
    if (service.pid > 0)
        (void)service_stop(&service, SIGTERM);
    service_end(&service);
    runs = history_log_close(runs);
    if (n_works)
        munmap(n_works, sizeof(*n_works));
    n_works = NULL;
    return 0;
}

/* ---- processes of other users; no assertion works in them */

static struct odeon_port *open_port(struct odeon_client *client)
{
    const struct odeon_port_options options = { .struct_size = sizeof(options),
                                                .submission_bytes = 1 << 20,
                                                .delivery_bytes = 1 << 20 };
    struct odeon_port *port = NULL;

    return odeon_port_open(client, &options, &port) < 0 ? NULL : port;
}

/* What has come, all of which is to be refusals for that reason. */
static bool take_refusals(struct odeon_port *port)
{
    struct odeon_delivery delivery;
    struct odeon_refusal refusal;

    while (odeon_port_receive(port, &delivery) == 1) {
        if (delivery.type != ODEON_MSG_REFUSAL)
            return false;
        memcpy(&refusal, delivery.data, sizeof(refusal));
        if (refusal.reason != ODEON_REASON_USER_SLOW)
            return false;
        odeon_port_release(port);
    }
    return true;
}

static int post_works(struct odeon_client *client, odeon_ref to, uint64_t n)
{
    struct odeon_port *port = open_port(client);
    const struct probe_work slow = { .ns = WORK_NS };

    for (uint64_t i = 0; port && i < n; i++) {
        int r = odeon_port_post_wait(port, to, work_type, &slow, sizeof(slow), SECONDS(PATIENCE_S));

        if (r < 0 && r != -EAGAIN && r != -ETIMEDOUT)
            return 1;
        if (!take_refusals(port))
            return 2;
    }
    return port ? 0 : 8;
}

static int flood(struct odeon_client *client)
{
    return post_works(client, rejects, UINT64_MAX);
}

static int flood_what_waits(struct odeon_client *client)
{
    return post_works(client, waits, UINT64_MAX);
}

static int post_a_batch(struct odeon_client *client)
{
    return post_works(client, waits, BATCH);
}

/* By requests, which go by no port. As many works as make a behaviour known to be slow, each behind
 * the other, are waited for: nobody is turned away by a guess. */
static int flood_by_requests(struct odeon_client *client)
{
    const struct probe_work slow = { .ns = 100ul * WORK_NS };
    uint64_t before = service_figure(&service, "messages_processed");
    int r = 0;

    for (uint64_t i = 0; r == 0 && i < TIMED; i++) {
        r = odeon_actor_send(client, rejects, "probe_work", &slow, sizeof(slow));
        if (!wait_until(service_figure(&service, "messages_processed") > before + i))
            return 2;
    }
    for (int i = 0; r == 0 && i < REFUSED; i++)
        r = odeon_actor_send(client, rejects, "probe_work", &slow, sizeof(slow));
    return r == -EDQUOT && strstr(odeon_error_text(), "quota-waiting-ms: 100") ? 0 : 1;
}

static int send_one(struct odeon_client *client)
{
    const struct probe_number number = { .n = 1 };

    return odeon_actor_send(client, rejects, "probe_number", &number, sizeof(number)) == 0 ? 0 : 1;
}

/* From the `begin`th on, before this number of the port's, which has been run. False: it has left
 * no mark. */
static bool count_works(uint64_t begin, odeon_ref sender, uint64_t number)
{
    const struct history_record *records;
    uint64_t n = history_log_records(runs, &records), i = 0;

    while (i < n && (records[i].receiver != marks || records[i].sender != sender ||
                     records[i].sequence != number))
        i++;
    *n_works += i > begin ? i - begin : 0; /* it may have been run before this process got on */
    return i < n;
}

/* Each call is posted behind a number that leaves a mark; when it has been answered, that is
 * there. */
static int call(struct odeon_client *client)
{
    struct odeon_port *port = open_port(client);
    const struct history_record *records;

    for (uint64_t i = 1; port && i <= CALLS; i++) {
        const struct probe_number number = { .n = i };
        uint64_t begin;
        int r;

        if (odeon_port_post(port, marks, number_type, &number, sizeof(number)) < 0)
            return 1;
        begin = history_log_records(runs, &records);
        r = user_calls(port, asked, number_type, 1);
        if (r != 0)
            return r;
        if (!count_works(begin, odeon_port_ref(port), i))
            return 5;
    }
    return port ? 0 : 8;
}

/* ---- what is shown */

static void expect_others_are_served(void)
{
    *n_works = 0;
    assert_int_equal(user_ended(user_begin(&service, innocent, call)), 0);
    print_message("# %llu works have been run before %d calls were answered\n",
                  (unsigned long long)*n_works, CALLS);
    assert_true(*n_works <= CALLS * WORKS_A_CALL);
}

/* Whoever asks for the flooder is told how long what waits for its user takes. */
static void expect_told(pid_t child)
{
    struct odeon_client *root = service_connect(&service, "root");
    struct odeon_client_detail *detail = NULL;
    struct odeon_list *list = NULL;
    bool told = false;

    assert_int_equal(odeon_client_list(root, 0, 0, &list), 0);
    for (size_t i = 0; i < list->n; i++) {
        const struct odeon_client_info *info = &((const struct odeon_client_info *)list->rows)[i];

        if (info->pid == (uint32_t)child)
            assert_int_equal(odeon_client_show(root, info->id, &detail), 0);
    }
    odeon_list_free(list);
    assert_non_null(detail);
    for (size_t i = 0; i < detail->n_usage; i++) {
        const struct odeon_usage *usage = &detail->usage[i];

        if (strcmp(usage->name, "waiting ms") == 0)
            told = usage->user_known && usage->user > 0 && usage->limit == QUOTA_MS;
    }
    assert_true(told);
    odeon_result_free(detail);
    odeon_client_disconnect(root);
}

static void test_who_floods_is_refused(void **state)
{
    pid_t child;

    (void)state;
    start();
    child = user_begin(&service, attacker, flood);
    assert_true(wait_until(service_figure(&service, "refused_slow") > REFUSED));
    assert_true(wait_until(service_log_has(&service, "its user's quota-waiting-ms (100, and ")));
    expect_told(child);
    expect_others_are_served();
    user_kill(child);
}

/* What is sent by requests waits like what is posted, and counts like it. */
static void test_who_floods_by_requests_is_refused(void **state)
{
    (void)state;
    start();
    assert_int_equal(user_ended(user_begin(&service, attacker, flood_by_requests)), 0);
    assert_int_equal(user_ended(user_begin(&service, innocent, send_one)), 0);
}

/* A queue's turn of a few messages: calls behind the flood have their turn as well. */
static void test_few_at_a_time(void **state)
{
    pid_t child;

    (void)state;
    start_with("throughput=16");
    child = user_begin(&service, attacker, flood);
    assert_true(wait_until(service_figure(&service, "refused_slow") > REFUSED));
    expect_others_are_served();
    user_kill(child);
    child = user_begin(&service, attacker, flood_what_waits);
    assert_true(wait_until(service_figure(&service, "stalled") > 0));
    expect_others_are_served();
    user_kill(child);
}

static void test_who_floods_waits(void **state)
{
    pid_t child;

    (void)state;
    start();
    child = user_begin(&service, attacker, flood_what_waits);
    assert_true(wait_until(service_figure(&service, "stalled") > 0));
    expect_others_are_served();
    assert_int_equal(service_figure(&service, "refused_slow"), 0);
    user_kill(child);
}

/* Who has slow work to be done has all of it done where the receiver says that it waits. */
static void test_a_batch_is_done(void **state)
{
    uint64_t before;
    pid_t child;

    (void)state;
    start();
    before = service_figure(&service, "messages_processed");
    child = user_begin(&service, attacker, post_a_batch);
    expect_others_are_served();
    assert_int_equal(user_ended(child), 0);
    assert_true(wait_until(service_figure(&service, "messages_processed") >= before + BATCH));
    assert_int_equal(service_figure(&service, "refusals"), 0);
}

/* The next executor finds what waits, and whose it is. */
static void test_over_a_restart(void **state)
{
    pid_t child, executor;

    (void)state;
    start();
    child = user_begin(&service, attacker, flood);
    for (int i = 0; i < 3; i++) {
        uint64_t before = service_figure(&service, "refused_slow");

        assert_true(wait_until(service_figure(&service, "refused_slow") > before + REFUSED));
        executor = service_executor(&service);
        assert_int_equal(kill(executor, SIGKILL), 0);
        service_wait_executor(&service, executor);
        expect_others_are_served();
    }
    user_kill(child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_who_floods_is_refused, end),
        cmocka_unit_test_teardown(test_who_floods_by_requests_is_refused, end),
        cmocka_unit_test_teardown(test_who_floods_waits, end),
        cmocka_unit_test_teardown(test_few_at_a_time, end),
        cmocka_unit_test_teardown(test_a_batch_is_done, end),
        cmocka_unit_test_teardown(test_over_a_restart, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
