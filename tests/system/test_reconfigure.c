/* SPDX-License-Identifier: Apache-2.0 */
/* Changing settings of a service that works: several at once while a client's numbers go round,
 * refusals that change nothing, and what a kill of the executor leaves of them. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/system/faulty.h"
#include "tests/system/harness.h"
#include "tests/system/numbers.h"
#include "tests/system/probe.h"

static struct service service;
static struct numbers numbers;
static char text[256 * 1024];

static int setup(void **state)
{
    (void)state;
    service_start(&service,
                  (const char *const[]){
                      "--set",    "workers=2",           "--set",    "workers-max=4",
                      "--set",    "queues-per-worker=2", "--set",    "actors=1024",
                      "--set",    "affinity=none",       "--set",    "throughput=64",
                      "--set",    "detached=2",          "--set",    "restart-delay-max-ms=20",
                      "--set",    "spin-us=5",           "--plugin", TEST_PROBE,
                      "--plugin", TEST_FAULTY,           NULL });
    numbers_start(&numbers, &service, 256);
    numbers_wait(&numbers, 1000);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    numbers_finish(&numbers);
    assert_int_equal(service_stop(&service, SIGTERM), 0);
    assert_true(service_log_has(&service, "every message that was sent has been received"));
    service_end(&service);
    return 0;
}

/* Each test: the numbers went round before, and do behind it. */
static int check_traffic(void **state)
{
    (void)state;
    numbers_wait(&numbers, 500);
    return 0;
}

/* A good change is made again while a worker gets no processor: nothing has been changed then. */
static void expect_ctl(int code, const char *words, const char *said)
{
    int result;

    (void)wait_until((result = ctl(&service, text, sizeof(text), "%s", words)) == code ||
                     code != 0 || !strstr(text, "did not stop within"));
    if (result != code || (said && !strstr(text, said)))
        fail_msg("odeonctl %s: exit status %d (expected %d), expected to read '%s':\n%s", words,
                 result, code, said ? said : "", text);
}

/* The number behind "name": of a JSON document. */
static uint64_t number_of(const char *document, const char *name)
{
    char quoted[64];
    const char *at;

    snprintf(quoted, sizeof(quoted), "\"%s\":", name);
    at = strstr(document, quoted);
    if (!at)
        fail_msg("'%s' is not in: %s", quoted, document);
    return strtoull(at + strlen(quoted), NULL, 10);
}

/* What `executor show` says of a key: its value. */
static void expect_setting(const char *key, const char *value)
{
    char row[128];

    snprintf(row, sizeof(row), "{\"key\":\"%s\",\"value\":\"%s\"", key, value);
    expect_ctl(0, "executor show --json", row);
}

static uint64_t reconfigurations(void)
{
    return service_state(&service).reconfigurations;
}

static void test_several_at_once(void **state)
{
    uint64_t before = reconfigurations();

    (void)state;
    expect_ctl(0,
               "executor set workers=4 stealing=random steal-mode=visit steal-sources=4 "
               "throughput=64 spin-us=5 packing=no "
               "moderate-sleeps=2 moderate-us=20 relaxed-us=10000 --json",
               "\"set\":{\"workers\":\"4\",\"stealing\":\"random\"");
    assert_true(number_of(text, "pause_ns") > 0);
    (void)number_of(text, "moved");
    assert_true(reconfigurations() == before + 1); /* one for all of them */
    assert_int_equal(service_state(&service).workers, 4);
    assert_string_equal(service_state(&service).stealing, "random");
    assert_string_equal(service_state(&service).steal_mode, "visit");
    assert_true(service_state(&service).reconfigure_longest_ns >=
                service_state(&service).reconfigure_last_ns);
    assert_true(service_state(&service).reconfigure_last_ns > 0);
    expect_setting("workers", "4");
    expect_setting("steal-sources", "4");
    expect_setting("packing", "no");
    expect_setting("relaxed-us", "10000");
    numbers_wait(&numbers, 2000);
    expect_ctl(0, "status", "visit");
    expect_ctl(0, "executor set workers=1 steal-mode=keep",
               "workers = 1\nsteal-mode = keep\npaused ");
    assert_non_null(strstr(text, "moved"));
    assert_int_equal(service_state(&service).workers, 1);
    numbers_wait(&numbers, 2000);
    expect_ctl(0,
               "executor set workers=2 stealing=longest-victim steal-sources=1 moderate-sleeps=0 "
               "relaxed-us=0 packing=yes",
               NULL);
    numbers_wait(&numbers, 2000);
}

/* Workers are bound, and let loose again, while they work. */
static void test_places_of_workers(void **state)
{
    struct odeon_stats *stats = NULL;
    (void)state;
    assert_int_equal(odeon_stats_open(service.stats, &stats), 0);
    assert_int_equal(odeon_stats_cpu(stats, 0), -1);
    expect_ctl(0, "executor set affinity=auto smt=yes", "paused ");
    /* it says so itself, once it goes on */
    assert_true(wait_until(odeon_stats_cpu(stats, 0) >= 0));
    expect_setting("affinity", "auto");
    numbers_wait(&numbers, 500);
    expect_ctl(0, "executor set affinity=none smt=no", NULL);
    assert_true(wait_until(odeon_stats_cpu(stats, 0) == -1));
    numbers_wait(&numbers, 500);
    odeon_stats_close(stats);
}

/* Bad values, keys that wait for a start, places that this machine does not have: each with a good
 * one before it, which must not have been taken. */
static void test_refusals(void **state)
{
    static const struct {
        const char *set, *says;
    } bad[] = {
        { "workers=0", "from 1" },
        { "workers=5", "workers-max = 4" },
        { "workers=two", "'two' is not a number" },
        { "stealing=greedy", "round-robin" },
        { "steal-mode=both", "neither keep nor visit" },
        { "steal-sources=0", "from 1" },
        { "throughput=0", "from 1" },
        { "spin-us=1000001", "from 0 to 1000000" },
        { "moderate-sleeps=-1", "not a number" },
        { "moderate-us=0", "from 1" },
        { "relaxed-us=3600000001", "from 0 to 3600000000" },
        { "smt=maybe", "neither yes nor no" },
        { "affinity=1,1", "different CPUs" },
        { "affinity=8191", "setting affinity" },
        { "workers-max=5", "workers-max cannot be changed while the service runs" },
        { "queues-per-worker=3", "restart" },
        { "detached=3", "detached = 3 into the configuration" },
        { "memory=interleave", "memory" },
        { "actors=2048", "actors" },
        { "outbox-bytes=1M", "outbox-bytes" },
        { "colour=red", "there is no such setting" },
    };
    uint64_t before = reconfigurations();

    (void)state;
    expect_setting("throughput", "64");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char words[128];

        snprintf(words, sizeof(words), "executor set %s %s",
                 strncmp(bad[i].set, "throughput=", 11) == 0 ? "spin-us=77" : "throughput=77",
                 bad[i].set);
        expect_ctl(1, words, bad[i].says);
        expect_setting("throughput", "64");
        expect_setting("spin-us", "5");
    }
    assert_true(reconfigurations() == before);
    expect_setting("workers", "2");
}

/* An actor's handler runs until the page says that it may return. */
static struct faulty_page *handler_begin(struct odeon_client *client, struct odeon_port *port,
                                         odeon_ref *ret_actor)
{
    struct faulty_args args = { .index = 0 };
    struct faulty_do loop = { .how = FAULTY_LOOP, .times = 1 };
    struct faulty_page *page;

    page = service_map_page(&service, args.page, sizeof(args.page), sizeof(*page));
    *ret_actor = spawn(client, "faulty_actor", NULL, &args, sizeof(args));
    assert_int_equal(odeon_port_post(port, *ret_actor,
                                     message_id(client, odeon_message_of(faulty_do)), &loop,
                                     sizeof(loop)),
                     0);
    assert_true(wait_until(atomic_load(&page->entered) == 1));
    return page;
}

/* The worker that does not stop is named, with what it runs; nothing has changed, and later it can
 * be. */
static void test_refused_while_a_handler_runs(void **state)
{
    struct odeon_client *client = service_connect(&service, "work");
    struct odeon_port *port = port_open_or_fail(client, 0, 0, false);
    uint64_t before = reconfigurations();
    struct faulty_page *page;
    odeon_ref actor;

    (void)state;
    page = handler_begin(client, port, &actor);
    /* another worker is named when it has had no processor all the time */
    assert_true(wait_until(
        (expect_ctl(1, "executor set workers=3 throughput=77", "did not stop within 2 s"),
         strstr(text, "actor type faulty_actor"))));
    assert_non_null(strstr(text, "nothing has been"));
    assert_true(reconfigurations() == before);
    expect_setting("throughput", "64");
    expect_setting("workers", "2");
    atomic_store(&page->release, 1);
    expect_ctl(0, "executor set workers=2 throughput=65", NULL);
    expect_setting("throughput", "65");
    expect_ctl(0, "executor set throughput=64", NULL);
    odeon_actor_stop(client, actor, ODEON_DELETE);
    odeon_client_disconnect(client);
    munmap(page, sizeof(*page));
}

/* What was set lives on in the next executor; so does what the first one had chosen by itself. */
static void test_survives_a_kill(void **state)
{
    pid_t executor = service_executor(&service);

    (void)state;
    expect_ctl(
        0,
        "executor set workers=3 stealing=fullest steal-mode=visit spin-us=7 throughput=99 smt=yes",
        NULL);
    numbers_wait(&numbers, 500);
    assert_int_equal(kill(executor, SIGKILL), 0);
    service_wait_executor(&service, executor);
    assert_true(wait_until(ctl(&service, text, sizeof(text), "executor show") == 0));
    expect_setting("workers", "3");
    expect_setting("workers-max", "4");
    expect_setting("stealing", "fullest");
    expect_setting("steal-mode", "visit");
    expect_setting("spin-us", "7");
    expect_setting("throughput", "99");
    expect_setting("smt", "yes");
    assert_int_equal(service_state(&service).workers, 3);
    assert_string_equal(service_state(&service).steal_mode, "visit");
    numbers_wait(&numbers, 500);
    expect_ctl(
        0, "executor set workers=2 stealing=longest-victim steal-mode=keep throughput=64 smt=no",
        NULL);
}

/* workers-max follows workers when nobody says it: the next executor must not make another one of
 * the changed number, for which the segment has not been laid out. */
static void test_what_the_first_start_chose_stays(void **state)
{
    struct service other;
    pid_t executor;

    (void)state;
    service_start(&other, (const char *const[]){
                              "--set", "workers=24", "--set", "queues-per-worker=1", "--set",
                              "actors=1024", "--set", "affinity=none", "--set", "limit-bytes=1M",
                              "--set", "outbox-bytes=1M", "--set", "backlog-bytes=1M", "--set",
                              "restart-delay-max-ms=20", NULL });
    assert_int_equal(ctl_set(&other, text, sizeof(text), "workers=1"), 0);
    executor = service_executor(&other);
    assert_int_equal(kill(executor, SIGKILL), 0);
    service_wait_executor(&other, executor);
    assert_true(wait_until(ctl(&other, text, sizeof(text), "executor set workers=24") == 0));
    assert_int_equal(service_state(&other).workers, 24);
    assert_int_equal(service_stop(&other, SIGTERM), 0);
    service_end(&other);
}

static void test_queues(void **state)
{
    (void)state;
    expect_ctl(0, "queue list --kind ordinary --json", "\"kind\":\"ordinary\"");
    assert_null(strstr(text, "\"pinned\""));
    expect_ctl(0, "queue list --kind pinned --json", "\"kind\":\"pinned\"");
    expect_ctl(0, "queue list --kind follow --limit 3", "follow");
    expect_ctl(0, "queue list --kind detached", "detached");
    expect_ctl(0, "queue list --json --limit 2 --after 1", "{\"id\":1,");
    /* those of workers that are not active take no new actors */
    expect_ctl(0, "executor set workers=1", NULL);
    expect_ctl(0, "queue list --json", "\"retiring\":true");
    numbers_wait(&numbers, 500);
    expect_ctl(0, "executor set workers=4", NULL);
    expect_ctl(0, "queue list --json --kind ordinary", NULL);
    assert_null(strstr(text, "\"retiring\":true"));
    expect_ctl(0, "executor set workers=2", NULL);
}

/* As top, gdb and perf show the executor's threads. */
static bool executor_has_thread(const char *wanted)
{
    char path[PATH_MAX], name[32];
    glob_t tasks;
    bool found = false;

    snprintf(path, sizeof(path), "/proc/%d/task/*/comm", (int)service_executor(&service));
    assert_int_equal(glob(path, 0, NULL, &tasks), 0);
    for (size_t i = 0; i < tasks.gl_pathc && !found; i++) {
        FILE *comm = fopen(tasks.gl_pathv[i], "re");

        if (!comm)
            continue; /* it has ended */
        found = fgets(name, sizeof(name), comm) && strcspn(name, "\n") == strlen(wanted) &&
                strncmp(name, wanted, strlen(wanted)) == 0;
        fclose(comm);
    }
    globfree(&tasks);
    return found;
}

static void test_threads_have_names(void **state)
{
    (void)state;
    assert_true(wait_until(executor_has_thread("worker/0") && executor_has_thread("worker/1")));
    assert_true(executor_has_thread("odeon-executor"));
    assert_false(executor_has_thread("detached/0"));
    expect_ctl(0, "actor spawn probe_ledger --name first --detached", NULL);
    assert_true(wait_until(executor_has_thread("detached/0")));
    expect_ctl(0, "actor stop first", NULL);
    assert_true(wait_until(ctl(&service, text, sizeof(text), "actor show first") == 1));
}

static void test_places_of_actors(void **state)
{
    (void)state;
    expect_ctl(0, "actor spawn probe_ledger --name anywhere", NULL);
    expect_ctl(0, "actor show anywhere --json", "\"kind\":\"ordinary\"");
    expect_ctl(0, "actor spawn probe_ledger --name fixed --pinned=1", NULL);
    expect_ctl(0, "actor show fixed --json", "\"kind\":\"pinned\"");
    assert_true(number_of(text, "worker") == 1);
    expect_ctl(0, "actor spawn probe_ledger --name some --pinned", NULL);
    expect_ctl(0, "actor show some", "pinned");
    expect_ctl(0, "actor spawn probe_ledger --name follower --follow", NULL);
    expect_ctl(0, "actor show follower", "follow");
    expect_ctl(0, "actor spawn probe_ledger --name own --detached", NULL);
    expect_ctl(0, "actor show own", "detached");
    expect_ctl(0, "actor list", "detached");
    /* the thread that the first detached actor had gives it back when it has a processor */
    assert_true(wait_until(
        ctl(&service, text, sizeof(text), "actor spawn probe_ledger --detached --name own2") == 0));
    expect_ctl(1, "actor spawn probe_ledger --detached", "setting detached allows 2");
    expect_ctl(1, "actor spawn probe_ledger --pinned=3", "worker 3 does not run");
    expect_ctl(1, "actor spawn probe_ledger --node 1000", "no worker runs on memory node 1000");
    for (int i = 0; i < 6; i++) {
        static const char *const names[] = {
            "anywhere", "fixed", "some", "follower", "own", "own2"
        };

        assert_int_equal(
            ctl(&service, text, sizeof(text), "actor send %s probe_number n=1", names[i]), 0);
        assert_int_equal(ctl(&service, text, sizeof(text), "actor stop %s", names[i]), 0);
        assert_true(wait_until(ctl(&service, text, sizeof(text), "actor show %s", names[i]) == 1));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_several_at_once, check_traffic),
        cmocka_unit_test_teardown(test_places_of_workers, check_traffic),
        cmocka_unit_test_teardown(test_refusals, check_traffic),
        cmocka_unit_test_teardown(test_refused_while_a_handler_runs, check_traffic),
        cmocka_unit_test_teardown(test_survives_a_kill, check_traffic),
        cmocka_unit_test_teardown(test_what_the_first_start_chose_stays, check_traffic),
        cmocka_unit_test_teardown(test_queues, check_traffic),
        cmocka_unit_test_teardown(test_threads_have_names, check_traffic),
        cmocka_unit_test_teardown(test_places_of_actors, check_traffic),
    };

    return cmocka_run_group_tests_name("reconfigure", tests, setup, teardown);
}
