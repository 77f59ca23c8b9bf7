/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers that end the executor without a trace: their message is suspected by repetition and
 * given up; what runs beside it is served, and who is killed from outside is not suspected. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/system/faulty.h"
#include "tests/system/harness.h"
#include "tests/system/manager.h"

enum { DEATHS = 4 };

struct bench {
    struct service service;
    struct odeon_client *client;
    struct odeon_port *port;
    struct faulty_page *page;
    char path[96];
    odeon_ref passer, victim, mate; /* the two are in queues of two workers */
    uint32_t do_type, count_type, pass_type;
    uint64_t posted;
};

static uint32_t queue_of(struct bench *b, odeon_ref ref)
{
    struct odeon_actor_detail *detail;
    uint32_t queue;

    assert_int_equal(odeon_actor_show(b->client, ref, NULL, &detail), 0);
    queue = detail->actor.queue;
    odeon_result_free(detail);
    return queue;
}

static odeon_ref actor_spawn(struct bench *b, uint32_t index)
{
    struct faulty_args args = { .index = index };

    memcpy(args.page, b->path, sizeof(args.page));
    return spawn(b->client, "faulty_actor", NULL, &args, sizeof(args));
}

/* Without help: what a killer holds up stays where it is. */
static void begin(struct bench *b, const char *deaths)
{
    memset(b, 0, sizeof(*b));
    service_start(&b->service,
                  (const char *const[]){ SMALL_SERVICE, "--set", "restart-delay-max-ms=10", "--set",
                                         deaths, "--set", "quarantine-crashes=0", "--plugin",
                                         TEST_FAULTY, "--plugin", TEST_PASSER, NULL });
    b->client = service_connect(&b->service, "suspect");
    b->port = port_open_or_fail(b->client, 0, 0, false);
    b->do_type = message_id(b->client, odeon_message_of(faulty_do));
    b->count_type = message_id(b->client, odeon_message_of(faulty_count));
    b->pass_type = message_id(b->client, odeon_message_of(faulty_pass));
    b->page = service_map_page(&b->service, b->path, sizeof(b->path), sizeof(*b->page));
    b->passer = spawn(b->client, "passer_actor", NULL, NULL, 0);
    b->victim = actor_spawn(b, 0);
    do
        b->mate = actor_spawn(b, 1);
    while (queue_of(b, b->mate) / 2 == queue_of(b, b->victim) / 2);
}

static void end(struct bench *b)
{
    odeon_client_disconnect(b->client);
    assert_int_equal(service_stop(&b->service, SIGTERM), 0);
    service_end(&b->service);
}

static void post(struct bench *b, odeon_ref to, uint32_t type, const void *message, size_t size)
{
    assert_int_equal(odeon_port_post_wait(b->port, to, type, message, size, SECONDS(PATIENCE_S)),
                     0);
}

static void post_counts(struct bench *b, unsigned n)
{
    while (n-- > 0) {
        struct faulty_count count = { .n = ++b->posted };

        post(b, b->mate, b->count_type, &count, sizeof(count));
    }
}

static void post_do(struct bench *b, odeon_ref to, enum faulty_how how)
{
    struct faulty_do message = { .how = how, .times = 1 };

    post(b, to, b->do_type, &message, sizeof(message));
}

/* By an actor: what becomes of it is no client's business, but a dead letter. */
static void pass_do(struct bench *b, enum faulty_how how)
{
    struct faulty_pass message = { .to = b->victim, .how = how };

    post(b, b->passer, b->pass_type, &message, sizeof(message));
}

static bool all_counted(struct bench *b)
{
    return wait_until(atomic_load(&b->page->last[1]) == b->posted) &&
           atomic_load(&b->page->out_of_order) == 0;
}

static void killer_is_given_up(enum faulty_how how)
{
    char text[4096];
    struct bench b;

    begin(&b, "suspect-deaths=4");
    post_counts(&b, 100);
    pass_do(&b, how);
    for (unsigned i = 0; i < 20; i++) {
        post_counts(&b, 20);
        pause_briefly();
    }
    assert_true(wait_until(service_figure(&b.service, "dead_letters") == 1));
    assert_true(all_counted(&b));
    assert_int_equal(atomic_load(&b.page->entered), DEATHS);
    assert_int_equal(service_state(&b.service).executor_restarts, DEATHS);
    assert_int_equal(service_figure(&b.service, "faults"), 0);
    assert_int_equal(service_figure(&b.service, "refusals"), 0);
    assert_true(wait_until(ctl(&b.service, text, sizeof(text), "dlq list") == 0 &&
                           strstr(text, "suspected") != NULL));
    assert_non_null(strstr(text, "faulty_actor"));
    assert_non_null(strstr(text, "faulty_do"));
    /* a message of the mate's may have been running at two of them, by chance */
    assert_int_equal(service_log_count(&b.service, ", message faulty_do, sent by "), DEATHS - 1);
    assert_true(service_log_has(&b.service, "a message is suspected: it was running at 2 deaths"));
    assert_true(service_log_has(&b.service, "plugin faulty, actor type faulty_actor, actor "));
    assert_int_equal(service_log_count(&b.service, "it is given up (suspect-deaths = 4)"), 1);
    /* replayed, it begins without suspicion; it may strike before there is an answer */
    (void)ctl(&b.service, text, sizeof(text), "dlq replay all");
    assert_true(wait_until(service_figure(&b.service, "dead_letters") == 2));
    assert_int_equal(atomic_load(&b.page->entered), 2 * DEATHS);
    end(&b);
}

static void test_sigkill_is_given_up(void **state)
{
    (void)state;
    killer_is_given_up(FAULTY_SIGKILL);
}

static void test_bare_exit_is_given_up(void **state)
{
    (void)state;
    killer_is_given_up(FAULTY_EXIT_GROUP);
}

/* What the executor had not read when it died makes the kernel tell its end in another way: it is a
 * death like any other, not one that odeond has a part in. */
static void test_an_unread_request_explains_nothing(void **state)
{
    odeon_ref nobody;
    struct bench b;

    (void)state;
    begin(&b, "suspect-deaths=4");
    pass_do(&b, FAULTY_HANG);
    for (unsigned i = 1; i <= DEATHS; i++) {
        struct odeon_status *status = NULL;
        pid_t executor;

        assert_true(wait_until(atomic_load(&b.page->entered) == i));
        executor = service_executor(&b.service);
        process_stop(executor);
        assert_int_equal(odeon_client_set_timeout(b.client, MILLISECONDS(1)), 0);
        assert_int_equal(odeon_actor_find(b.client, "nobody", &nobody), -ETIMEDOUT);
        /* odeond alone answers it, behind the other one, which it has passed on by now */
        assert_int_equal(odeon_client_set_timeout(b.client, SECONDS(PATIENCE_S)), 0);
        assert_int_equal(odeon_service_status(b.client, &status), 0);
        odeon_result_free(status);
        assert_int_equal(kill(executor, SIGKILL), 0);
        service_wait_executor(&b.service, executor);
    }
    assert_true(wait_until(service_figure(&b.service, "dead_letters") == 1));
    assert_int_equal(atomic_load(&b.page->entered), DEATHS);
    assert_int_equal(service_log_count(&b.service, "it is given up (suspect-deaths = 4)"), 1);
    assert_false(service_log_has(&b.service, "connection to the executor"));
    end(&b);
}

/* What it says at its end is nonsense, which odeond kills an executor for: too late, it has ended
 * by itself, and its wait status says so. */
static void test_a_kill_that_comes_too_late_explains_nothing(void **state)
{
    struct bench b;

    (void)state;
    begin(&b, "suspect-deaths=1");
    process_stop(b.service.pid);
    pid_t executor = service_executor(&b.service);
    pass_do(&b, FAULTY_NONSENSE);
    assert_true(wait_until(!process_lives(executor)));
    assert_int_equal(kill(b.service.pid, SIGCONT), 0);
    assert_true(wait_until(service_figure(&b.service, "dead_letters") == 1));
    assert_true(service_log_has(&b.service, "a report that cannot be read"));
    assert_int_equal(atomic_load(&b.page->entered), 1);
    end(&b);
}

/* What runs whenever the killer strikes, because it takes longer than a killer needs, is told apart
 * from it: the one is refused, the other one runs to its end. */
static void test_a_long_bystander_is_served(void **state)
{
    struct bench b;

    (void)state;
    begin(&b, "suspect-deaths=4");
    post_do(&b, b.mate, FAULTY_NAP);
    assert_true(wait_until(atomic_load(&b.page->entered) == 1));
    pass_do(&b, FAULTY_SIGKILL);
    assert_true(wait_until(service_figure(&b.service, "dead_letters") == 1));
    assert_true(wait_until(atomic_load(&b.page->done) == 1));
    assert_int_equal(service_figure(&b.service, "refusals"), 0);
    assert_int_equal(service_log_count(&b.service, "it is given up"), 1);
    post_counts(&b, 100);
    assert_true(all_counted(&b));
    assert_int_equal(service_figure(&b.service, "dead_letters"), 1);
    end(&b);
}

/* More kills from outside than make a suspect, at any time, under load. */
static void test_kills_from_outside_suspect_nobody(void **state)
{
    enum { KILLS = 10 + 5 };
    uint32_t seed = 20261123;
    struct bench b;

    (void)state;
    begin(&b, "suspect-deaths=10");
    for (unsigned i = 0; i < KILLS; i++) {
        pid_t executor = service_executor(&b.service);

        post_counts(&b, 500);
        seed = seed * 1664525 + 1013904223;
        nanosleep(&(struct timespec){ .tv_nsec = (long)(seed >> 8) % 20000000 }, NULL);
        assert_int_equal(kill(executor, SIGKILL), 0);
        service_wait_executor(&b.service, executor);
    }
    assert_true(all_counted(&b));
    assert_int_equal(service_state(&b.service).executor_restarts, KILLS);
    assert_int_equal(
        service_figure(&b.service, "dead_letters") + service_figure(&b.service, "refusals"), 0);
    end(&b);
}

/* odeond goes, and the executor with it: nobody saw the end, so it counts against nobody, even
 * where one death that counts would be too many. */
static void test_ends_of_odeond_suspect_nobody(void **state)
{
    static const char *const arguments[] = { SMALL_SERVICE,
                                             "--executor",
                                             TEST_EXECUTOR,
                                             "--plugin",
                                             TEST_FAULTY,
                                             "--set",
                                             "restart-delay-max-ms=10",
                                             "--set",
                                             "suspect-deaths=1",
                                             NULL };
    struct manager *manager = manager_start(&(struct manager_options){ .arguments = arguments });
    struct service *service = manager_service(manager);
    struct bench b = { 0 };

    (void)state;
    manager_wait_ready(manager);
    b.client = service_connect(service, "suspect");
    b.port = port_open_or_fail(b.client, 0, 0, false);
    b.do_type = message_id(b.client, odeon_message_of(faulty_do));
    b.page = service_map_page(service, b.path, sizeof(b.path), sizeof(*b.page));
    post_do(&b, actor_spawn(&b, 0), FAULTY_HANG);
    for (unsigned i = 1; i <= 3; i++) {
        pid_t executor;

        assert_true(wait_until(atomic_load(&b.page->entered) == i));
        service->figures = odeon_stats_close(service->figures);
        executor = service_executor(service);
        manager_kill(manager);
        assert_true(wait_until(!process_lives(executor)));
        manager_wait_ready(manager);
    }
    atomic_store(&b.page->release, 1);
    syscall(SYS_futex, &b.page->release, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    assert_true(wait_until(atomic_load(&b.page->done) == 1));
    assert_false(service_log_has(service, "a message is suspected"));
    odeon_client_disconnect(b.client);
    assert_int_equal(manager_stop(manager), 0);
    manager_end(manager);
}

/* ---- memory */

struct group {
    char path[512];
};

static bool group_write(const struct group *group, const char *file, const char *text)
{
    char path[600];
    int fd;
    bool done;

    snprintf(path, sizeof(path), "%s/%s", group->path, file);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return done;
}

/* A memory cgroup of this size, of version 1 or 2, below one's own. */
static bool group_make(struct group *group, const char *bytes)
{
    static const struct {
        const char *root, *key, *limit;
    } kinds[] = { { "/sys/fs/cgroup/memory", ":memory:", "memory.limit_in_bytes" },
                  { "/sys/fs/cgroup", "0::", "memory.max" } };
    char line[512];

    for (unsigned i = 0; i < 2; i++) {
        FILE *own = fopen("/proc/self/cgroup", "re");
        const char *at = NULL;

        while (own && !at && fgets(line, sizeof(line), own))
            if ((at = strstr(line, kinds[i].key)) != NULL)
                at += strlen(kinds[i].key);
        if (own)
            fclose(own);
        if (!at)
            continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(group->path, sizeof(group->path), "%s%.300s/odeon-suspect-%d", kinds[i].root, at,
                 (int)getpid());
        if (mkdir(group->path, 0755) < 0)
            continue;
        if (group_write(group, kinds[i].limit, bytes)) {
            (void)group_write(group, "memory.swap.max", "0");
            return true;
        }
        (void)rmdir(group->path);
    }
    return false;
}

static void group_take(const struct group *group, pid_t process)
{
    char text[24];

    snprintf(text, sizeof(text), "%d", (int)process);
    assert_true(group_write(group, "cgroup.procs", text));
}

static void test_a_hungry_handler_is_given_up(void **state)
{
    struct group group;
    struct bench b;

    (void)state;
    if (!group_make(&group, "157286400")) {
        print_message("no memory cgroup can be made here\n");
        skip();
    }
    begin(&b, "suspect-deaths=4");
    group_take(&group, service_executor(&b.service));
    group_take(&group, b.service.pid); /* and whatever it starts */
    post_counts(&b, 100);
    pass_do(&b, FAULTY_HUNGRY);
    assert_true(wait_until(service_figure(&b.service, "dead_letters") == 1));
    post_counts(&b, 100);
    assert_true(all_counted(&b));
    assert_int_equal(atomic_load(&b.page->done), 0);
    assert_int_equal(service_log_count(&b.service, "it is given up (suspect-deaths = 4)"), 1);
    assert_int_equal(service_state(&b.service).executor_restarts, DEATHS);
    end(&b);
    wait_until(rmdir(group.path) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sigkill_is_given_up),
        cmocka_unit_test(test_bare_exit_is_given_up),
        cmocka_unit_test(test_an_unread_request_explains_nothing),
        cmocka_unit_test(test_a_kill_that_comes_too_late_explains_nothing),
        cmocka_unit_test(test_a_long_bystander_is_served),
        cmocka_unit_test(test_kills_from_outside_suspect_nobody),
        cmocka_unit_test(test_ends_of_odeond_suspect_nobody),
        cmocka_unit_test(test_a_hungry_handler_is_given_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
