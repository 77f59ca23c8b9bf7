/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of settings in a storm, by several clients at once, good and bad ones mixed; while a
 * handler hangs; out of range. A bystander's numbers go round all the time. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/system/numbers.h"
#include "tests/system/stuck.h"

enum { STORMERS = 6, STUCK_WORKER = 2 };

static struct service service;
static struct numbers bystander;
static struct odeon_client *client;

static int setup(void **state)
{
    (void)state;
    service_start(&service,
                  (const char *const[]){ "--set", "workers=3", "--set", "workers-max=4", "--set",
                                         "queues-per-worker=2", "--set", "actors=1024", "--set",
                                         "affinity=none", "--set", "throughput=64", "--set",
                                         "moderate-us=64", "--plugin", TEST_PROBE, "--plugin",
                                         TEST_STUCK, NULL });
    client = service_connect(&service, "hostile");
    numbers_start(&bystander, &service, 64);
    numbers_wait(&bystander, 100);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    numbers_finish(&bystander);
    odeon_client_disconnect(client);
    assert_int_equal(service_state(&service).executor_restarts, 0);
    assert_int_equal(service_stop(&service, SIGTERM), 0);
    assert_true(service_log_has(&service, "every message that was sent has been received"));
    service_end(&service);
    return 0;
}

static int check_bystander(void **state)
{
    (void)state;
    numbers_wait(&bystander, 200);
    return 0;
}

/* The values of two settings at one moment; any thread.  False: the request failed. */
static bool show_two(struct odeon_client *asks, const char *a, const char *b, uint64_t *ret_a,
                     uint64_t *ret_b)
{
    struct odeon_executor_info *info = NULL;

    if (odeon_executor_show(asks, &info) < 0)
        return false;
    for (size_t i = 0; i < info->n_settings; i++) {
        if (strcmp(info->settings[i].key, a) == 0)
            *ret_a = strtoull(info->settings[i].value, NULL, 10);
        if (strcmp(info->settings[i].key, b) == 0)
            *ret_b = strtoull(info->settings[i].value, NULL, 10);
    }
    odeon_result_free(info);
    return true;
}

/* ---- a storm ---- */

struct stormer {
    pthread_t thread;
    struct odeon_client *client;
    unsigned index, n, made, refused, seen;
    char wrong[256];
};

/* Two settings in one change, always the same number, and a third one; every third change has a bad
 * one behind them. */
static void storm_once(struct stormer *s, unsigned i)
{
    static const char *const policies[] = { "random",  "round-robin", "longest-victim",
                                            "fullest", "locality",    "share",
                                            "none" };
    static const char *const bad[][2] = { { "workers", "5" },
                                          { "workers", "0" },
                                          { "stealing", "greedy" },
                                          { "colour", "red" },
                                          { "actors", "2048" } };
    char number[32], workers[16];
    const char *keys[] = { "throughput", "moderate-us", i % 2 ? "workers" : "stealing",
                           bad[i % 5][0] };
    const char *values[] = { number, number, i % 2 ? workers : policies[(i + s->index) % 7],
                             bad[i % 5][1] };
    bool is_bad = i % 3 == 2;
    int r;

    snprintf(number, sizeof(number), "%u", 1 + s->index * 10000 + i);
    snprintf(workers, sizeof(workers), "%u", 1 + (i / 2 + s->index) % 4);
    r = executor_set(s->client, keys, values, is_bad ? 4 : 3);
    s->made += r == 0;
    s->refused += r != 0;
    if ((r != 0) != is_bad)
        snprintf(s->wrong, sizeof(s->wrong), "%s change %u: %s", is_bad ? "a bad" : "a good", i,
                 r ? odeon_error_text() : "taken");
}

static void *storm(void *argument)
{
    struct stormer *s = argument;

    for (unsigned i = 0; i < s->n && !s->wrong[0]; i++) {
        uint64_t a = 0, b = 1;

        storm_once(s, i);
        if (!show_two(s->client, "throughput", "moderate-us", &a, &b) || a != b)
            snprintf(s->wrong, sizeof(s->wrong), "half of a change: %llu and %llu",
                     (unsigned long long)a, (unsigned long long)b);
        s->seen++;
    }
    return NULL;
}

static void test_storm(void **state)
{
    struct stormer stormers[STORMERS];
    uint64_t before = service_state(&service).reconfigurations, made = 0;

    (void)state;
    for (unsigned i = 0; i < STORMERS; i++) {
        stormers[i] = (struct stormer){ .index = i,
                                        .n = getenv("ODEON_TEST_QUICK") ? 30 : 150,
                                        .client = service_connect(&service, "stormer") };
        assert_int_equal(pthread_create(&stormers[i].thread, NULL, storm, &stormers[i]), 0);
    }
    numbers_wait(&bystander, 1000); /* meanwhile */
    for (unsigned i = 0; i < STORMERS; i++) {
        assert_int_equal(pthread_join(stormers[i].thread, NULL), 0);
        odeon_client_disconnect(stormers[i].client);
        if (stormers[i].wrong[0])
            fail_msg("%s", stormers[i].wrong);
        assert_true(stormers[i].refused == stormers[i].n / 3 && stormers[i].seen == stormers[i].n);
        made += stormers[i].made;
    }
    assert_true(service_state(&service).reconfigurations ==
                before + made); /* each once, and what was refused not at all */
}

/* ---- while a handler hangs ---- */

static struct stuck_page *page;

static odeon_ref hanger_spawn(void)
{
    struct odeon_spawn_where where = { .struct_size = sizeof(where),
                                       .where = ODEON_WHERE_PINNED,
                                       .worker = STUCK_WORKER };
    struct stuck_args args = { .index = 0 };
    odeon_ref ref = ODEON_NOBODY;

    page = service_map_page(&service, args.page, sizeof(args.page), sizeof(*page));
    if (odeon_actor_spawn_at(client, "stuck_hanger", NULL, &args, sizeof(args), &where, &ref) < 0)
        fail_msg("spawning: %s", odeon_error_text());
    return ref;
}

static void *try_in_vain(void *argument)
{
    struct stormer *s = argument;
    const char *keys[] = { "workers", "throughput" }, *values[] = { "2", "77" };
    int r;

    /* another worker is named when it has had no processor all the time */
    (void)wait_until((r = odeon_executor_set(s->client, keys, values, 2, NULL)) != -EBUSY ||
                     strstr(odeon_error_text(), "worker 2 "));
    if (r != -EBUSY || !strstr(odeon_error_text(), "worker 2 ") ||
        !strstr(odeon_error_text(), "stuck_hanger"))
        snprintf(s->wrong, sizeof(s->wrong), "%d: %s", r, r < 0 ? odeon_error_text() : "taken");
    return NULL;
}

/* Each request is refused and names who holds it up; nothing has changed; messages go on meanwhile,
 * and once the handler has returned, so do changes. */
static void hang_and_storm(odeon_ref hanger, struct odeon_port *port, uint64_t blocks)
{
    struct stormer stormers[3];
    struct stuck_hang hang = { .blocks = blocks };
    uint32_t entered = atomic_load(&page->entered), refused = 0;
    uint64_t before, received, throughput = 0, workers = 0;

    atomic_store(&page->release, 0);
    assert_int_equal(executor_set(client, (const char *const[]){ "workers", "throughput" },
                                  (const char *const[]){ "3", "64" }, 2),
                     0);
    before = service_state(&service).reconfigurations;
    assert_int_equal(odeon_port_post(port, hanger, message_id(client, odeon_message_of(stuck_hang)),
                                     &hang, sizeof(hang)),
                     0);
    assert_true(wait_until(atomic_load(&page->entered) == entered + 1));
    received = atomic_load(&bystander.received);
    /* hundreds each time, if all stood all the time; a million, if they do not, and less on a slow
     * machine */
    do {
        for (unsigned i = 0; i < 3; i++) {
            stormers[i] = (struct stormer){ .client = service_connect(&service, "in vain") };
            assert_int_equal(pthread_create(&stormers[i].thread, NULL, try_in_vain, &stormers[i]),
                             0);
        }
        for (unsigned i = 0; i < 3; i++) {
            assert_int_equal(pthread_join(stormers[i].thread, NULL), 0);
            odeon_client_disconnect(stormers[i].client);
            if (stormers[i].wrong[0])
                fail_msg("%s", stormers[i].wrong);
        }
        refused += 3;
    } while (refused < 15 && atomic_load(&bystander.received) - received <= 10000);
    received = atomic_load(&bystander.received) - received;
    print_message("# bystander: %llu messages during %u refused changes\n",
                  (unsigned long long)received, refused);
    assert_true(received > 10000);
    numbers_wait(&bystander, 500); /* the handler hangs still */
    assert_int_equal(atomic_load(&page->left), entered);
    assert_true(service_state(&service).reconfigurations == before);
    assert_true(show_two(client, "throughput", "workers", &throughput, &workers) &&
                throughput == 64 && workers == 3);
    atomic_store(&page->release, 1);
    syscall(SYS_futex, &page->release, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    assert_true(wait_until(odeon_executor_set(client, (const char *const[]){ "workers" },
                                              (const char *const[]){ "2" }, 1, NULL) == 0));
    assert_int_equal(atomic_load(&page->left), entered + 1);
    numbers_wait(&bystander, 500);
}

static void test_while_a_handler_hangs(void **state)
{
    struct odeon_port *port = port_open_or_fail(client, 0, 0, false);

    (void)state;
    assert_int_equal(
        executor_set(client, (const char *const[]){ "workers" }, (const char *const[]){ "3" }, 1),
        0);
    odeon_ref hanger = hanger_spawn();
    hang_and_storm(hanger, port, 0);
    hang_and_storm(hanger, port, 1);
    odeon_port_close(port);
    munmap(page, sizeof(*page));
}

/* ---- out of range ---- */

static void expect_refused(const char *const *keys, const char *const *values, size_t n,
                           const char *what)
{
    uint64_t before = service_state(&service).reconfigurations, throughput = 0, spin = 0,
             after_throughput = 1, after_spin = 1;
    int r;

    assert_true(show_two(client, "throughput", "spin-us", &throughput, &spin));
    r = odeon_executor_set(client, keys, values, n, NULL);
    if (r != -EINVAL && r != -ERANGE && r != -EBUSY && r != -E2BIG && r != -EMSGSIZE)
        fail_msg("%s: %d %s", what, r, r < 0 ? odeon_error_text() : "");
    assert_true(strlen(odeon_error_text()) > 10);
    assert_true(show_two(client, "throughput", "spin-us", &after_throughput, &after_spin));
    assert_true(throughput == after_throughput && spin == after_spin);
    assert_true(service_state(&service).reconfigurations == before);
}

static void test_values_out_of_range(void **state)
{
    static char long_word[20000];
    static const char *const bad[][2] = {
        { "workers", "18446744073709551617" },
        { "workers", "18446744073709551616000000000000000000000" },
        { "workers", "-1" },
        { "workers", "+1" },
        { "workers", " 1" },
        { "workers", "1 " },
        { "workers", "0x1" },
        { "workers", "1e0" },
        { "workers", "1K" },
        { "workers", "" },
        { "workers", "\n1" },
        { "", "1" },
        { "", "" },
        { "Workers", "1" },
        { "workers ", "1" },
        { "throughput", "4294967296" },
        { "steal-sources", "4294967297" },
        { "moderate-us", "1000001" },
        { "stealing", "" },
        { "stealing", "RANDOM" },
        { "stealing", "random " },
        { "steal-mode", "keep,visit" },
        { "steal-mode", "%s%n" },
        { "affinity", "" },
        { "affinity", "0-" },
        { "affinity", "3-1" },
        { "affinity", "0-99999999999" },
        { "affinity", "," },
        { "smt", "1" },
        { "spin-us", long_word },
        { long_word, "1" },
        { "affinity", long_word },
    };

    (void)state;
    memset(long_word, '1', sizeof(long_word) - 1);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        for (unsigned first = 0; first < 2; first++) { /* before and behind a good one */
            const char *keys[] = { first ? bad[i][0] : "throughput",
                                   first ? "throughput" : bad[i][0] };
            const char *values[] = { first ? bad[i][1] : "123", first ? "123" : bad[i][1] };

            expect_refused(keys, values, 2, bad[i][0]);
        }
    expect_refused(NULL, NULL, 0, "nothing");
}

/* Far more settings than there are: refused as a whole. */
static void test_too_many_at_once(void **state)
{
    enum { MANY = 5000 };
    static const char *keys[MANY], *values[MANY];

    (void)state;
    for (unsigned i = 0; i < MANY; i++) {
        keys[i] = "throughput";
        values[i] = "99";
    }
    expect_refused(keys, values, MANY, "many");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_storm, check_bystander),
        cmocka_unit_test_teardown(test_while_a_handler_hangs, check_bystander),
        cmocka_unit_test_teardown(test_values_out_of_range, check_bystander),
        cmocka_unit_test_teardown(test_too_many_at_once, check_bystander),
    };

    return cmocka_run_group_tests_name("reconfigure", tests, setup, teardown);
}
