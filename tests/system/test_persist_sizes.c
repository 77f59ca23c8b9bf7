/* SPDX-License-Identifier: Apache-2.0 */
/* Settings that are not live, and above all the sizes that memory is laid out by: whoever does what
 * a refusal says finds a service that serves, and in the end the new value. And what a reload sets
 * where settings are in force that were not configured.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/system/manager.h"
#include "tests/system/numbers.h"

#define COMMON                                                                                     \
    SMALL_SERVICE, "--executor", TEST_EXECUTOR, "--set", "restart-delay-max-ms=20", "--set",       \
        "drain-timeout-ms=500"

static const char *const plain[] = { COMMON, NULL };
static const char *const bare[] = { "--executor", TEST_EXECUTOR, "--set", "affinity=none",
                                    "--set",      "actors=1024", NULL };
static const char *const with_probe[] = { COMMON, "--plugin", TEST_PROBE, NULL };

static struct manager *start(const char *const *arguments)
{
    struct manager *manager = manager_start(&(struct manager_options){ .arguments = arguments });

    manager_wait_ready(manager);
    return manager;
}

/* Of `key`; it lives until the next call. */
static const char *setting_of(struct manager *manager, const char *key)
{
    static char text[16384];
    static char found[64];
    char found_key[64];

    assert_int_equal(ctl(manager_service(manager), text, sizeof(text), "executor show"), 0);
    for (char *save = NULL, *line = strtok_r(text, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save))
        if (sscanf(line, "%63s %63s", found_key, found) == 2 && strcmp(found_key, key) == 0)
            return found;
    fail_msg("no setting %s is shown", key);
    return NULL;
}

static void expect_setting(struct manager *manager, const char *key, const char *value)
{
    assert_string_equal(setting_of(manager, key), value);
}

/* Each key that is not live. `waits`: for a stop and a start, since memory is laid out by it. */
static const struct {
    const char *key, *value;
    bool waits;
} fixed[] = {
    { "workers-max", "3", true },
    { "queues-per-worker", "3", true },
    { "actors", "4096", true },
    { "limit-bytes", "1048576", true },
    { "outbox-bytes", "1048576", true },
    { "backlog-bytes", "1048576", true },
    { "dead-letter-bytes", "1048576", true },
    { "durable-bytes", "1024", true },
    { "timers", "1000", true },
    { "timer-bytes", "1048576", true },
    { "detached", "3", true },
    { "stash", "7", false },
    { "attempts", "4", false },
    { "suspect-deaths", "5", false },
    { "memory", "interleave", false },
};
enum { N_FIXED = sizeof(fixed) / sizeof(fixed[0]) };

static void expect_all_fixed(struct manager *manager)
{
    char text[16384];
    unsigned n = 0;

    assert_int_equal(ctl(manager_service(manager), text, sizeof(text), "executor show"), 0);
    for (char *save = NULL, *line = strtok_r(text, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save)) {
        char key[64], live[8];

        if (sscanf(line, "%63s %*s %*s %7s", key, live) == 2 && strcmp(live, "no") == 0)
            n++;
    }
    assert_int_equal(n, N_FIXED);
}

static void set_fixed_and_do_what_it_says(unsigned i)
{
    char setting[64], text[1024], before[64];
    const char *const edited[] = { COMMON, "--set", setting, NULL };
    struct manager *manager = start(plain);

    snprintf(setting, sizeof(setting), "%s=%s", fixed[i].key, fixed[i].value);
    snprintf(before, sizeof(before), "%s", setting_of(manager, fixed[i].key));
    if (i == 0)
        expect_all_fixed(manager);
    assert_int_equal(ctl_set(manager_service(manager), text, sizeof(text), setting), 1);
    assert_non_null(strstr(text, fixed[i].waits ? "stop and start it" : "and restart it"));
    manager_set_program(manager, NULL, edited);
    assert_int_equal(manager_restart(manager), 0);
    manager_wait_ready(manager);
    expect_setting(manager, fixed[i].key, fixed[i].waits ? before : fixed[i].value);
    if (fixed[i].waits) {
        snprintf(text, sizeof(text), "%s = %s waits until the service is stopped and started",
                 fixed[i].key, fixed[i].value);
        assert_true(wait_until(service_log_has(manager_service(manager), text)));
        assert_int_equal(manager_stop(manager), 0);
        manager_start_again(manager);
        manager_wait_ready(manager);
        expect_setting(manager, fixed[i].key, fixed[i].value);
    }
    manager_end(manager);
}

static void test_settings_that_are_not_live(void **state)
{
    (void)state;
    for (unsigned i = 0; i < N_FIXED; i++)
        set_fixed_and_do_what_it_says(i);
}

/* What lies in the memory is there afterwards; the sizes that nobody has set are recorded, too, for
 * a build to come that has others. */
static void test_other_sizes_wait(void **state)
{
    static const char *const larger[] = { COMMON,        "--plugin", TEST_PROBE,      "--set",
                                          "actors=4096", "--set",    "workers-max=4", "--set",
                                          "workers=4",   NULL };
    static char registry[1 << 20];
    struct manager *manager = start(with_probe);
    struct numbers numbers;
    ssize_t n;
    int fd;

    (void)state;
    numbers_start(&numbers, manager_service(manager), 64);
    numbers_wait(&numbers, 100);
    manager_set_program(manager, NULL, larger);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(manager_restart(manager), 0);
        manager_wait_ready(manager);
        numbers_wait(&numbers, 100);
        expect_setting(manager, "actors", "1024");
    }
    manager_kill_executor(manager);
    numbers_wait(&numbers, 100);
    numbers_finish(&numbers);
    fd = manager_store_get(manager, "registry");
    n = pread(fd, registry, sizeof(registry), 0);
    close(fd);
    assert_true(n > 0);
    assert_non_null(memmem(registry, (size_t)n, "timer-bytes", 11));
    assert_non_null(memmem(registry, (size_t)n, "durable-bytes", 13));
    manager_end(manager);
}

/* A worker that gets no processor does not stop in time, and nothing is changed then: it is for
 * whoever asks to ask again, as executor_set() does. */
static void write_and_reload(struct manager *manager, const char *text)
{
    static const char applied[] = "has been read again and applied",
                      refused[] = " did not stop within ";
    struct service *service = manager_service(manager);
    unsigned before = service_log_count(service, applied), times;

    service_configure(service, text);
    do {
        times = service_log_count(service, refused);
        assert_int_equal(kill(manager_pid(manager), SIGHUP), 0);
        assert_true(wait_until(service_log_count(service, applied) > before ||
                               service_log_count(service, refused) > times));
    } while (service_log_count(service, applied) == before);
    assert_int_equal(service_log_count(service, applied), before + 1);
}

/* ... also where the larger memory has room for more workers: they wait as it does, and a reload
 * does what else there is to do, whatever has become of odeond since. */
static void test_a_reload_beside_what_waits(void **state)
{
    static const char *const larger[] = { COMMON,  "--set",         "workers=4",
                                          "--set", "workers-max=4", NULL };
    struct manager *manager = start(plain);

    (void)state;
    manager_set_program(manager, NULL, larger);
    assert_int_equal(manager_restart(manager), 0);
    manager_wait_ready(manager);
    for (unsigned i = 0; i < 2; i++) {
        write_and_reload(manager, "");
        expect_setting(manager, "workers", "2");
        manager_kill(manager);
        manager_wait_ready(manager);
    }
    manager_end(manager);
}

/* Room that one reload has asked for is room for what the next one asks.  It is no more than a
 * build with ThreadSanitizer has addresses for. */
static void test_one_reload_after_the_other(void **state)
{
    struct manager *manager = start(bare);

    (void)state;
    write_and_reload(manager, "workers = 2\nworkers-max = 3\n");
    write_and_reload(manager, "workers = 3\nworkers-max = 3\nspin-us = 7\n");
    expect_setting(manager, "workers", "2");
    expect_setting(manager, "spin-us", "7");
    assert_true(service_log_has(manager_service(manager),
                                "workers = 3 takes effect when the service is stopped"));
    manager_end(manager);
}

/* A reload of a file that nobody has edited changes nothing, and of an edited one what was edited,
 * also behind a crash: it is judged by what was last read, not by what is in force. */
static void test_a_reload_behind_a_crash(void **state)
{
    static const char spin[] = "spin-us = 10\n";
    struct manager *manager = start(plain);

    (void)state;
    write_and_reload(manager, spin);
    expect_setting(manager, "spin-us", "10");
    manager_set(manager, "spin-us=77");
    for (unsigned i = 0; i < 2; i++) { /* the second crash is of one that has resumed */
        manager_kill_and_wait(manager);
        expect_setting(manager, "spin-us", "77");
        write_and_reload(manager, spin);
        expect_setting(manager, "spin-us", "77");
    }
    service_configure(manager_service(manager), "spin-us = 12\nthroughput = 9\n");
    manager_kill_and_wait(manager);
    expect_setting(manager, "spin-us", "77");
    write_and_reload(manager, "spin-us = 12\nthroughput = 9\n");
    expect_setting(manager, "spin-us", "12");
    expect_setting(manager, "throughput", "9");
    write_and_reload(manager, spin);
    manager_set(manager, "spin-us=77");
    write_and_reload(manager, ""); /* it has nothing for the executor, and is a reading, too */
    manager_kill_and_wait(manager);
    write_and_reload(manager, spin);
    expect_setting(manager, "spin-us", "10");
    manager_end(manager);
}

/* Each is good, and together they are not: who is told to stop and start would lose what is kept,
 * and have no service. */
static void test_sizes_that_no_start_takes(void **state)
{
    static const char *const none[] = {
        COMMON,           "--set", "limit-bytes=8G", "--set", "outbox-bytes=1G", "--set",
        "workers-max=64", NULL
    };
    struct manager *manager = start(plain);
    struct service *service = manager_service(manager);

    (void)state;
    manager_set_program(manager, NULL, none);
    assert_int_equal(manager_restart(manager), 0);
    manager_wait_ready(manager);
    assert_true(wait_until(service_log_has(service, "behind a stop it would not start")));
    assert_false(service_log_has(service, "waits until the service is stopped and started"));
    manager_end(manager);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_settings_that_are_not_live),
        cmocka_unit_test(test_other_sizes_wait),
        cmocka_unit_test(test_a_reload_beside_what_waits),
        cmocka_unit_test(test_one_reload_after_the_other),
        cmocka_unit_test(test_a_reload_behind_a_crash),
        cmocka_unit_test(test_sizes_that_no_start_takes),
    };

    return cmocka_run_group_tests_name("persist_sizes", tests, NULL, NULL);
}
