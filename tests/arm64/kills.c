/* SPDX-License-Identifier: Apache-2.0 */
/* Kill torture of the whole service, also where an emulator runs it: clients post numbers through
 * two actors and get them back, while executor and odeond are killed at random moments. A history
 * (tests/history) judges each client's: none missing, none twice, none out of order.
 *
 *     kills [--seconds N] [--seed N] [--odeond FILE] [--executor FILE] [--plugin FILE]
 *
 * N seconds of it (60), and for longer until each kind of kill has come and numbers have come back
 * behind it. --odeond, --executor: programs to start instead of this build's, an emulator's wrapper
 * for example. --plugin: the one called `probe`. Exit status 0: all that held.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "tests/system/manager.h"
#include "tests/system/numbers.h"

enum { CLIENTS = 3, LEAST = 2, PAUSE_US = 300000, SOON_US = 20000 };

/* `RECOVERY`: the executor, and the next one as soon as it is there or a little later. */
enum victim { EXECUTOR, RECOVERY, ODEOND, BOTH, VICTIMS };

static const char *const victim_names[VICTIMS] = { "executor", "recovery", "odeond", "both" };
static const uint64_t windows[CLIENTS] = { 1000, 64, 8 };

static struct {
    double seconds;
    unsigned seed;
    const char *odeond, *executor, *plugin;
} options = { .seconds = 60, .executor = TEST_EXECUTOR, .plugin = TEST_PROBE };

static struct manager *manager;
static struct numbers numbers[CLIENTS];
static unsigned kills[VICTIMS];

static void nap_us(unsigned most)
{
    unsigned us = (unsigned)rand_r(&options.seed) % most;

    nanosleep(&(struct timespec){ .tv_nsec = us * 1000L }, NULL);
}

/* The figures' file is another one behind each start of odeond. 0: there is no executor now. */
static pid_t executor_now(void)
{
    struct service *service = manager_service(manager);
    struct odeon_stats_service state = { .struct_size = sizeof(state) };
    struct odeon_stats *stats = NULL;
    pid_t pid = 0;

    if (odeon_stats_open(service->stats, &stats) == 0 && odeon_stats_service(stats, &state) == 0)
        pid = (pid_t)state.executor_pid;
    odeon_stats_close(stats);
    return pid;
}

static pid_t kill_executor(pid_t former)
{
    pid_t pid = 0;

    if (!wait_until((pid = executor_now()) > 0 && pid != former))
        fail_msg("there is no executor");
    (void)kill(pid, SIGKILL); /* it may have ended with its odeond a moment ago */
    return pid;
}

static void kill_somebody(enum victim victim)
{
    switch (victim) {
    case EXECUTOR:
        (void)kill_executor(0);
        break;
    case RECOVERY: {
        pid_t former = kill_executor(0);

        nap_us(SOON_US);
        (void)kill_executor(former);
        break;
    }
    case ODEOND:
        (void)manager_kill(manager);
        break;
    case BOTH:
        (void)kill_executor(0);
        (void)manager_kill(manager);
        break;
    case VICTIMS:
        break;
    }
    kills[victim]++;
}

static bool has_shown_enough(void)
{
    for (int victim = 0; victim < VICTIMS; victim++)
        if (kills[victim] < LEAST)
            return false;
    return true;
}

/* What each client had under way before the kill is back behind it. */
static void expect_all_go_on(void)
{
    for (int i = 0; i < CLIENTS; i++)
        numbers_wait(&numbers[i], windows[i] + 1);
}

static void print_sums(void)
{
    const struct odeon_stats_service state = service_state(manager_service(manager));
    unsigned long long n = 0;

    for (int i = 0; i < CLIENTS; i++)
        n += atomic_load(&numbers[i].received);
    printf("# kills:");
    for (int victim = 0; victim < VICTIMS; victim++)
        printf(" %s=%u", victim_names[victim], kills[victim]);
    printf("; numbers=%llu starts=%u redeliveries=%llu\n", n, manager_starts(manager),
           (unsigned long long)state.recovered_redeliveries);
    fflush(stdout);
}

static void test_kills(void **state)
{
    const char *const arguments[] = {
        SMALL_SERVICE,     "--executor", options.executor,         "--plugin",
        options.plugin,    "--set",      "restart-delay-max-ms=1", "--set",
        "stall-warn-ms=0", NULL
    };
    int64_t end;

    (void)state;
    printf("# seed=%u\n", options.seed);
    manager = manager_start(
        &(struct manager_options){ .program = options.odeond, .arguments = arguments });
    manager_wait_ready(manager);
    for (int i = 0; i < CLIENTS; i++)
        numbers_start(&numbers[i], manager_service(manager), windows[i]);
    expect_all_go_on();
    end = time_ns() + (int64_t)(options.seconds * 1e9);
    while (time_ns() < end || !has_shown_enough()) {
        nap_us(PAUSE_US);
        kill_somebody((enum victim)((unsigned)rand_r(&options.seed) % VICTIMS));
        expect_all_go_on();
    }
    for (int i = 0; i < CLIENTS; i++)
        numbers_finish(&numbers[i]);
    print_sums();
    assert_int_equal(manager_crashes(manager), 0);
    assert_int_equal(manager_stop(manager), 0);
    manager = manager_end(manager);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_kills) };

    options.seed = (unsigned)time_ns();
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *word = argv[i], *value = argv[i + 1];

        if (strcmp(word, "--seconds") == 0)
            options.seconds = atof(value);
        else if (strcmp(word, "--seed") == 0)
            options.seed = (unsigned)strtoul(value, NULL, 10);
        else if (strcmp(word, "--odeond") == 0)
            options.odeond = value;
        else if (strcmp(word, "--executor") == 0)
            options.executor = value;
        else if (strcmp(word, "--plugin") == 0)
            options.plugin = value;
        else
            return 2;
    }
    if (argc % 2 == 0 || options.seconds <= 0)
        return 2;
    return cmocka_run_group_tests_name("kills", tests, NULL, NULL);
}
