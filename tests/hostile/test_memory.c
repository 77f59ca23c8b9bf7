/* SPDX-License-Identifier: Apache-2.0 */
/* Memory: what waits for actors, and for clients that do not read, is bounded for all together and
 * for each user, and what was needed once is given back. One who floods is refused, and nobody
 * else.
 *
 * Memory is the kernel's figure, the pages of the segment that the executor has touched, and in one
 * test a control group's bound, beyond which the kernel ends it.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/run/sanitized.h"
#include "tests/system/harness.h"
#include "tests/system/memory_group.h"
#include "tests/system/probe.h"
#include "tests/system/user.h"

enum {
    MIB = 1 << 20,
    BOUND_MIB = 16,
    /* beside what waits: tables, rings, outboxes, and a visit of each worker */
    BESIDE_MIB = 20,
    CALLS = 200,
    REFUSED = 1000,
    BLOCKS_A_WORK = 100,
};

static const struct user attacker = { 41001, 41001, 0 }, innocent = { 41002, 41002, 0 };
static struct service service;
static odeon_ref victim, asked, other;
static uint32_t block_type, work_type, flood_type, number_type;

static void start(const char *const *more)
{
    if (!user_can_change()) {
        print_message("# skipped: other users can be played by root alone\n");
        skip();
    }
    service_start_for_users(&service, more);
    struct odeon_client *root = service_connect(&service, "root");
    victim = spawn(root, "probe_ledger", "victim", NULL, 0);
    asked = spawn(root, "probe_echo", "asked", NULL, 0);
    other = spawn(root, "probe_echo", "other", NULL, 0);
    block_type = message_id(root, odeon_message_of(probe_block));
    work_type = message_id(root, odeon_message_of(probe_work));
    flood_type = message_id(root, odeon_message_of(probe_flood));
    number_type = message_id(root, odeon_message_of(probe_number));
    odeon_client_disconnect(root);
}

static int end(void **state)
{
    (void)state;
    if (service.pid > 0)
        (void)service_stop(&service, SIGTERM);
    service_end(&service);
    memory_group_end();
    return 0;
}

/* Of the executor: the pages of the segment and of rings that it has touched. */
static uint64_t shared_mib(void)
{
    char path[64], line[256];
    unsigned long kib = 0;
    bool found = false;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)service_executor(&service));
    f = fopen(path, "re");
    while (f && !found && fgets(line, sizeof(line), f))
        found = sscanf(line, "RssShmem: %lu", &kib) == 1;
    if (f)
        fclose(f);
    if (!found || kib == 0) /* the segment at least has been touched */
        fail_msg("%s does not say how much is shared", path);
    return kib >> 10;
}

/* ---- processes of other users; no assertion works in them */

/* Rings that are not small, until the service says no. */
static int open_large_rings(struct odeon_client *client)
{
    struct odeon_port_options options = { .struct_size = sizeof(options),
                                          .submission_bytes = 4 * MIB,
                                          .delivery_bytes = 4 * MIB };
    struct odeon_port *port;
    int n = 0, r;

    while ((r = odeon_port_open(client, &options, &port)) == 0)
        n++;
    if (r != -EDQUOT || !strstr(odeon_error_text(), "half of what others leave"))
        return 50;
    return n;
}

static struct odeon_port *open_port(struct odeon_client *client, uint64_t submission)
{
    struct odeon_port_options options = { .struct_size = sizeof(options),
                                          .submission_bytes = submission,
                                          .delivery_bytes = 1 << 16 };
    struct odeon_port *port = NULL;

    return odeon_port_open(client, &options, &port) < 0 ? NULL : port;
}

/* More than its receiver can take, for as long as it lives; it reads nothing. */
static int flood(struct odeon_client *client)
{
    struct odeon_port *port = open_port(client, MIB);
    static const struct probe_block filled;
    const struct probe_work slow = { .ns = 20 * 1000 * 1000 };

    for (uint64_t n = 0; port; n++) {
        int r = n % BLOCKS_A_WORK ? odeon_port_post_wait(port, victim, block_type, &filled,
                                                         sizeof(filled), SECONDS(PATIENCE_S))
                                  : odeon_port_post_wait(port, victim, work_type, &slow,
                                                         sizeof(slow), SECONDS(PATIENCE_S));
        if (r < 0 && r != -EAGAIN && r != -ETIMEDOUT)
            break;
    }
    return 1;
}

/* Asks for more than it has room for, and does not read it. */
static int ask_and_be_deaf(struct odeon_client *client)
{
    struct odeon_port *port = open_port(client, 1 << 16);
    const struct probe_flood some = { .count = 2000 };

    while (port && odeon_port_post_wait(port, asked, flood_type, &some, sizeof(some),
                                        SECONDS(PATIENCE_S)) != -EPIPE)
        ;
    return 1;
}

/* So many numbers to an actor that nobody floods: each comes back. */
static int call(struct odeon_client *client)
{
    return user_calls(open_port(client, MIB), other, number_type, CALLS);
}

/* ---- what is shown */

static void expect_others_are_served(pid_t executor)
{
    assert_int_equal(user_ended(user_begin(&service, innocent, call)), 0);
    assert_int_equal(service_executor(&service), executor);
    assert_true(shared_mib() <= BOUND_MIB + BESIDE_MIB);
}

/* Dead letters are kept, up to 16 MiB of them, until somebody has looked at them. */
static bool is_given_back(struct odeon_client *root)
{
    struct odeon_dead_letters_done done = { .struct_size = sizeof(done) };

    assert_int_equal(odeon_dead_letter_purge(root, NULL, 0, &done), 0);
    return shared_mib() <= BOUND_MIB / 2 + BESIDE_MIB / 2;
}

static bool is_answered(struct odeon_port *port)
{
    int r = user_calls(port, asked, number_type, 1);

    odeon_port_release(port); /* a refusal, where not an answer */
    return r == 0;
}

/* Once the attackers' ports have ended, and who was asked has come to the end of what they asked,
 * whose answers are dead letters. */
static void expect_all_given_back(void)
{
    struct odeon_client *root = service_connect(&service, "root");
    struct odeon_port *port;

    assert_true(wait_until(service_state(&service).ports == 0));
    port = port_open_or_fail(root, 1 << 16, 1 << 16, false);
    assert_true(wait_until(is_answered(port)));
    assert_true(wait_until(is_given_back(root)));
    odeon_client_disconnect(root);
}

static void test_flood(void **state)
{
    pid_t child, executor;
    char output[4096];

    (void)state;
    start((const char *const[]){ "--set", "waiting-bytes=16M", NULL });
    executor = service_executor(&service);
    child = user_begin(&service, attacker, flood);
    assert_true(wait_until(service_figure(&service, "refusals") > REFUSED));
    assert_true(wait_until(service_log_has(&service, "its user's quota-waiting-bytes")));
    expect_others_are_served(executor);
    /* its share is half of what is there: a second one of its kind changes nothing for others */
    pid_t second = user_begin(&service, attacker, flood);
    uint64_t before = service_figure(&service, "refusals");
    assert_true(wait_until(service_figure(&service, "refusals") > before + REFUSED));
    expect_others_are_served(executor);
    assert_int_equal(ctl(&service, output, sizeof(output), "client list"), 0);
    user_kill(child);
    user_kill(second);
    expect_all_given_back();
}

/* What waits when the attacker ends is little: each question is 2,000 answers that somebody has to
 * send when nobody is left to read them, and that takes a multiple of what it was reckoned to. */
static void test_who_does_not_read(void **state)
{
    pid_t child, executor;

    (void)state;
    start((const char *const[]){ "--set", "waiting-bytes=16M", "--set", "quota-waiting-ms=50",
                                 NULL });
    executor = service_executor(&service);
    child = user_begin(&service, attacker, ask_and_be_deaf);
    assert_true(wait_until(service_figure(&service, "backlog_dropped") > REFUSED));
    expect_others_are_served(executor);
    user_kill(child);
    expect_all_given_back();
}

/* An executor that is started again beside what waits needs no more than the one before, and knows
 * whose it is. */
static void test_over_a_restart(void **state)
{
    pid_t child, executor;

    (void)state;
    start((const char *const[]){ "--set", "waiting-bytes=16M", NULL });
    executor = service_executor(&service);
    child = user_begin(&service, attacker, flood);
    assert_true(wait_until(service_figure(&service, "refusals") > REFUSED));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(kill(executor, SIGKILL), 0);
        service_wait_executor(&service, executor);
        executor = service_executor(&service);
        uint64_t before = service_figure(&service, "refusals");
        assert_true(wait_until(service_figure(&service, "refusals") > before + REFUSED));
        expect_others_are_served(executor);
    }
    user_kill(child);
    expect_all_given_back();
}

/* With default settings, in a group that may have 150 MB. */
static void test_in_a_small_group(void **state)
{
    pid_t child, executor;

    (void)state;
    if (SANITIZED || !user_can_change() || !memory_group_make("150M")) {
        print_message("# skipped: a sanitizer's build, or no control group can be made here\n");
        skip();
    }
    memory_group_enter();
    start((const char *const[]){ NULL });
    memory_group_leave();
    executor = service_executor(&service);
    /* of a quarter, 37.5 MB, half */
    assert_int_equal(user_ended(user_begin(&service, attacker, open_large_rings)), 2);
    child = user_begin(&service, attacker, flood);
    assert_true(wait_until(service_figure(&service, "refusals") > REFUSED ||
                           service_executor(&service) != executor));
    assert_int_equal(user_ended(user_begin(&service, innocent, call)), 0);
    assert_int_equal(service_executor(&service), executor);
    user_kill(child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_flood, end),
        cmocka_unit_test_teardown(test_who_does_not_read, end),
        cmocka_unit_test_teardown(test_over_a_restart, end),
        cmocka_unit_test_teardown(test_in_a_small_group, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
