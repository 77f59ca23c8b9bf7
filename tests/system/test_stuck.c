/* SPDX-License-Identifier: Apache-2.0 */
/* A handler of one of four workers does not return, computing or sleeping: whatever the policy,
 * everybody else's messages are run, each once and in order, and the other workers go on as fast as
 * they would without it.
 *
 * How fast: a line `check=stuck …` for each policy and mode gives the ratio of two rates, the
 * median of pairs measured in turn. Both sides have the same threads, so that neither the number of
 * processors nor who else uses them matters: three workers beside a detached actor that hangs,
 * against four workers of which one hangs. The ratio lies around 1, a twentieth above or below;
 * less than 0.90 in each of five tries fails the test. In short runs (ODEON_TEST_QUICK, as with
 * sanitizers) it is only told. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/system/harness.h"
#include "tests/system/numbers.h"
#include "tests/system/probe.h"
#include "tests/system/stuck.h"

enum {
    WORKERS = 4,
    STUCK_WORKER = 3,
    QUEUES = 16,
    MATES = 4,
    CLIENTS = 8,
    PAIRS = 7,
    TRIES = 5,
    WINDOW_MS = 40
};
#define LEAST 0.90 /* of the others' rate */

enum { HANGER_PINNED, HANGER_DETACHED, HANGER_OTHER, HANGER_FIRST_MATE }; /* whose counts */

static const char *const policies[] = { "random",  "round-robin", "longest-victim",
                                        "fullest", "locality",    "share" };
static const char *const modes[] = { "keep", "visit" };
static const char *const kinds[] = { "computes", "sleeps" };
enum { N_POLICIES = sizeof(policies) / sizeof(policies[0]) };

static struct service service;
static struct odeon_client *client;
static struct odeon_port *port;
static struct stuck_page *page;
static char page_path[96], text[4096];
static odeon_ref pinned, detached;
static uint32_t hang_type, count_type;
static uint32_t hangs; /* so far */

/* ---- the service and its actors ---- */

static void page_make(void)
{
    page = service_map_page(&service, page_path, sizeof(page_path), sizeof(*page));
}

static odeon_ref hanger_spawn(enum odeon_where where, uint32_t worker, uint32_t index)
{
    struct odeon_spawn_where place = { .struct_size = sizeof(place),
                                       .where = where,
                                       .worker = worker };
    struct stuck_args args = { .index = index };
    odeon_ref ref = ODEON_NOBODY;

    memcpy(args.page, page_path, sizeof(args.page));
    if (odeon_actor_spawn_at(client, "stuck_hanger", NULL, &args, sizeof(args), &place, &ref) < 0)
        fail_msg("spawning: %s", odeon_error_text());
    return ref;
}

static int setup(void **state)
{
    (void)state;
    service_start(&service,
                  (const char *const[]){ "--set", "workers=4", "--set", "workers-max=4", "--set",
                                         "queues-per-worker=4", "--set", "actors=1024", "--set",
                                         "affinity=none", "--set", "detached=1", "--set",
                                         "drain-timeout-ms=1000", "--plugin", TEST_PROBE,
                                         "--plugin", TEST_STUCK, NULL });
    client = service_connect(&service, "stuck");
    port = port_open_or_fail(client, 0, 0, false);
    hang_type = message_id(client, odeon_message_of(stuck_hang));
    count_type = message_id(client, odeon_message_of(stuck_count));
    page_make();
    pinned = hanger_spawn(ODEON_WHERE_PINNED, STUCK_WORKER, HANGER_PINNED);
    detached = hanger_spawn(ODEON_WHERE_DETACHED, 0, HANGER_DETACHED);
    return 0;
}

static void __attribute__((format(printf, 1, 2))) set(const char *format, ...)
{
    char words[128];
    va_list args;

    va_start(args, format);
    vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    if (ctl_set(&service, text, sizeof(text), words) != 0)
        fail_msg("%s: %s", words, text);
}

static void hang(odeon_ref hanger, uint64_t blocks)
{
    struct stuck_hang message = { .blocks = blocks };

    atomic_store(&page->release, 0);
    assert_int_equal(odeon_port_post(port, hanger, hang_type, &message, sizeof(message)), 0);
    hangs++;
    assert_true(wait_until(atomic_load(&page->entered) == hangs));
}

static void let_go(void)
{
    assert_int_equal(atomic_load(&page->left), hangs - 1);
    atomic_store(&page->release, 1);
    assert_true(wait_until(atomic_load(&page->left) == hangs));
}

static void post_counts(odeon_ref hanger, uint64_t *posted, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        struct stuck_count count = { .n = ++*posted };

        assert_int_equal(odeon_port_post_wait(port, hanger, count_type, &count, sizeof(count),
                                              SECONDS(PATIENCE_S)),
                         0);
    }
}

/* ---- everything else is delivered ---- */

/* Clients whose numbers pass through two actors each, spread over all queues: they go on, and none
 * is missing. */
static void test_others_are_delivered(void **state)
{
    static struct numbers numbers[CLIENTS];
    uint64_t posted = 0, more = getenv("ODEON_TEST_QUICK") ? 300 : 1500;

    (void)state;
    for (unsigned i = 0; i < CLIENTS; i++)
        numbers_start(&numbers[i], &service, 64);
    for (unsigned config = 0; config < N_POLICIES * 4; config++) {
        set("stealing=%s steal-mode=%s steal-sources=%u", policies[config / 4],
            modes[config / 2 % 2], 1 + config % 3);
        hang(pinned, config % 2);
        post_counts(pinned, &posted, 20);
        for (unsigned i = 0; i < CLIENTS; i++)
            numbers_wait(&numbers[i], more);
        /* it did hang all the time */
        assert_true(atomic_load(&page->counted[HANGER_PINNED]) == posted - 20);
        let_go();
        assert_true(wait_until(atomic_load(&page->counted[HANGER_PINNED]) == posted));
    }
    for (unsigned i = 0; i < CLIENTS; i++)
        numbers_finish(&numbers[i]);
    assert_int_equal(atomic_load(&page->out_of_order), 0);
}

static uint32_t queue_of(odeon_ref ref)
{
    struct odeon_actor_detail *detail;
    uint32_t queue;

    assert_int_equal(odeon_actor_show(client, ref, NULL, &detail), 0);
    queue = detail->actor.queue;
    odeon_result_free(detail);
    return queue;
}

/* Some in the queue of the first, one in each other queue; actors go round the queues. */
static void mates_spawn(odeon_ref *mates, odeon_ref *others)
{
    uint32_t n_others = 0;

    mates[0] = hanger_spawn(ODEON_WHERE_ANY, 0, HANGER_FIRST_MATE);
    while (n_others < QUEUES - 1) {
        odeon_ref ref = hanger_spawn(ODEON_WHERE_ANY, 0, HANGER_OTHER);

        if (queue_of(ref) != queue_of(mates[0]))
            others[n_others++] = ref;
    }
    for (uint32_t n = 1, tries = 0; n < MATES; tries++) {
        mates[n] = hanger_spawn(ODEON_WHERE_ANY, 0, HANGER_FIRST_MATE + n);
        if (queue_of(mates[n]) == queue_of(mates[0]))
            n++;
        assert_true(tries < 2 * QUEUES * MATES);
    }
}

/* The queue of the actor that hangs waits with it, until it is set aside (test_faults.c), which it
 * is not here, and no other does; then what waited is run, once and in order. */
static void test_only_its_queue_waits(void **state)
{
    odeon_ref mates[MATES], others[QUEUES - 1];
    uint64_t posted;

    (void)state;
    set("stealing=longest-victim steal-mode=keep steal-sources=1 stall-warn-ms=0");
    mates_spawn(mates, others);
    hang(mates[0], 1);
    for (unsigned i = 0; i < MATES; i++)
        post_counts(mates[i], &(uint64_t){ 0 }, 100);
    for (unsigned i = 0; i < QUEUES - 1; i++)
        post_counts(others[i], &(uint64_t){ 0 }, 100);
    posted = (QUEUES - 1) * 100;
    assert_true(wait_until(atomic_load(&page->counted[HANGER_OTHER]) == posted));
    for (unsigned i = 0; i < MATES; i++)
        assert_int_equal(atomic_load(&page->counted[HANGER_FIRST_MATE + i]), 0);
    let_go();
    for (unsigned i = 0; i < MATES; i++)
        assert_true(wait_until(atomic_load(&page->counted[HANGER_FIRST_MATE + i]) == 100));
    assert_int_equal(atomic_load(&page->out_of_order), 0);
    set("stall-warn-ms=1000");
}

/* ---- the others' rate ---- */

static void runners_start(void)
{
    odeon_ref runners[STUCK_RUNNERS];
    uint32_t link_type = message_id(client, odeon_message_of(stuck_link)),
             token_type = message_id(client, odeon_message_of(stuck_token));

    for (uint32_t i = 0; i < STUCK_RUNNERS; i++) {
        struct stuck_args args = { .index = i };

        memcpy(args.page, page_path, sizeof(args.page));
        runners[i] = spawn(client, "stuck_runner", NULL, &args, sizeof(args));
    }
    for (uint32_t i = 0; i < STUCK_RUNNERS; i++) {
        struct stuck_link link = { .next = runners[(i + 7) % STUCK_RUNNERS] };

        assert_int_equal(odeon_port_post(port, runners[i], link_type, &link, sizeof(link)), 0);
    }
    /* Order holds between one sender and one receiver: a token that another runner passes on may
     * overtake the link. */
    assert_true(wait_until(atomic_load(&page->linked) == STUCK_RUNNERS));
    for (uint32_t i = 0; i < STUCK_RUNNERS * STUCK_TOKENS; i++) {
        struct stuck_token token = { .hops = 0 };

        assert_int_equal(
            odeon_port_post(port, runners[i % STUCK_RUNNERS], token_type, &token, sizeof(token)),
            0);
    }
}

/* Every token is there. */
static void runners_stop(void)
{
    atomic_store(&page->halt, 1);
    if (!wait_until(atomic_load(&page->absorbed) == STUCK_RUNNERS * STUCK_TOKENS))
        fail_msg("%lu of %d tokens are there, %lu could not be passed on",
                 (unsigned long)atomic_load(&page->absorbed), STUCK_RUNNERS * STUCK_TOKENS,
                 (unsigned long)atomic_load(&page->unsent));
    assert_int_equal(atomic_load(&page->unsent), 0);
}

static uint64_t hops(void)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < STUCK_RUNNERS; i++)
        n += atomic_load_explicit(&page->runners[i].hops, memory_order_relaxed);
    return n;
}

static void wait_hops(uint64_t more)
{
    uint64_t target = hops() + more;

    assert_true(wait_until(hops() >= target));
}

/* Hops a second, once things have settled. */
static double rate(void)
{
    wait_hops(2000);
    uint64_t before = hops();
    int64_t begin = time_ns(), end = begin + MILLISECONDS(WINDOW_MS);

    while (time_ns() < end)
        pause_briefly();
    return (double)(hops() - before) * 1e9 / (double)(time_ns() - begin);
}

static double rate_beside_detached(uint64_t blocks)
{
    double result;

    set("workers=%d", WORKERS - 1);
    hang(detached, blocks);
    result = rate();
    let_go();
    set("workers=%d", WORKERS);
    return result;
}

static double rate_beside_stuck(uint64_t blocks)
{
    double result;

    hang(pinned, blocks);
    result = rate();
    let_go();
    return result;
}

static int compare(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

static double median_ratio(uint64_t blocks, unsigned pairs)
{
    double ratios[PAIRS];

    for (unsigned i = 0; i < pairs; i++) {
        double without, with;

        if (i % 2) {
            with = rate_beside_stuck(blocks);
            without = rate_beside_detached(blocks);
        } else {
            without = rate_beside_detached(blocks);
            with = rate_beside_stuck(blocks);
        }
        ratios[i] = with / without;
    }
    qsort(ratios, pairs, sizeof(ratios[0]), compare);
    return ratios[pairs / 2];
}

/* A low one is measured again: what is low because of the machine is not low each time. */
static bool keeps_its_rate(unsigned config, unsigned pairs, unsigned tries)
{
    double ratio = 0;

    for (; tries > 0 && ratio < LEAST; tries--) {
        ratio = median_ratio(config % 2, pairs);
        print_message(
            "# check=stuck policy=%s mode=%s handler=%s ratio=%.2f at_least=%.2f pairs=%u\n",
            policies[config / 4], modes[config / 2 % 2], kinds[config % 2], ratio, LEAST, pairs);
    }
    return ratio >= LEAST;
}

static void test_others_keep_their_rate(void **state)
{
    /* a rate says nothing on a machine that others use, too */
    bool told_only = getenv("ODEON_TEST_STRICT") == NULL;
    unsigned slow = 0;

    (void)state;
    runners_start();
    for (unsigned config = 0; config < N_POLICIES * 4; config++) {
        set("stealing=%s steal-mode=%s steal-sources=1", policies[config / 4],
            modes[config / 2 % 2]);
        slow += !keeps_its_rate(config, told_only ? 3 : PAIRS, told_only ? 1 : TRIES);
    }
    runners_stop();
    assert_true(told_only || slow == 0);
}

/* The last one does not return at all: the service ends nevertheless, and says that it has not run
 * everything. */
static void test_stop(void **state)
{
    (void)state;
    hang(pinned, 0);
    assert_int_equal(service_stop(&service, SIGTERM), 0);
    assert_false(service_log_has(&service, "every message that was sent has been received"));
    service_end(&service);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_others_are_delivered),
        cmocka_unit_test(test_only_its_queue_waits),
        cmocka_unit_test(test_others_keep_their_rate),
        cmocka_unit_test(test_stop),
    };

    return cmocka_run_group_tests_name("stuck", tests, setup, NULL);
}
