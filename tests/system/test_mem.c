/* SPDX-License-Identifier: Apache-2.0 */
/* Who holds how much memory: what odeonctl mem says, held against what the kernel counts. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/run/sanitized.h"
#include "tests/system/harness.h"
#include "tests/system/memory_group.h"
#include "tests/system/probe.h"
#include "tests/system/user.h"

enum {
    MIB = 1 << 20,
    WAITING_MIB = 24, /* of posts, for an actor that is busy with the first of them */
    STATES = 500,
    ASKERS = 4,
    ASKS = 50,
    TOLERANCE_PERCENT = 5,
};

static const struct user holder = { 41011, 41011, 0 };
static struct service service;
static uint32_t block_type, work_type;
static odeon_ref busy;

static struct odeon_client *begin_root(void)
{
    struct odeon_client *root = service_connect(&service, "root");

    busy = spawn(root, "probe_ledger", "busy", NULL, 0);
    block_type = message_id(root, odeon_message_of(probe_block));
    work_type = message_id(root, odeon_message_of(probe_work));
    return root;
}

static int end(void **state)
{
    (void)state;
    if (service.pid > 0)
        (void)service_stop(&service, SIGKILL);
    service_end(&service);
    memory_group_end();
    return 0;
}

static struct odeon_memory *show(struct odeon_client *client, const char *by)
{
    struct odeon_memory *memory = NULL;

    assert_int_equal(odeon_memory_show(client, by, &memory), 0);
    return memory;
}

static uint64_t part_of(const struct odeon_memory *memory, const char *what)
{
    for (size_t i = 0; i < memory->n_parts; i++)
        if (strcmp(memory->parts[i].what, what) == 0)
            return memory->parts[i].bytes;
    fail_msg("there is no part '%s'", what);
    return 0;
}

/* Mebibytes of blocks behind a message that does not return before the test has ended. */
static int fill(struct odeon_port *port, unsigned mib)
{
    static const struct probe_block block;
    const struct probe_work endless = { .ns = (uint64_t)SECONDS(10000) };
    int r =
        odeon_port_post_wait(port, busy, work_type, &endless, sizeof(endless), SECONDS(PATIENCE_S));

    for (size_t n = 0; r == 0 && n < (size_t)mib * MIB / sizeof(block); n++)
        r = odeon_port_post_wait(port, busy, block_type, &block, sizeof(block),
                                 SECONDS(PATIENCE_S));
    return r;
}

/* ---- */

static bool sum_agrees(struct odeon_client *root)
{
    struct odeon_memory *memory = show(root, NULL);
    uint64_t told = memory->bytes, counted = memory_group_touched(),
             apart = told > counted ? told - counted : counted - told;

    odeon_result_free(memory);
    if (apart * 100 <= counted * TOLERANCE_PERCENT)
        return true;
    print_message("# told %llu KiB, counted %llu KiB\n", (unsigned long long)told >> 10,
                  (unsigned long long)counted >> 10);
    return false;
}

/* The kernel brings its figures up to date every two seconds or so: the test looks again. */
static void test_the_sum_is_the_kernels(void **state)
{
    (void)state;
    if (SANITIZED || !memory_group_make("512M")) {
        print_message("# skipped: a sanitizer's build, or no control group can be made here\n");
        skip();
    }
    memory_group_enter();
    service_start_for_users(&service, (const char *const[]){ NULL });
    memory_group_leave();
    struct odeon_client *root = begin_root();
    struct odeon_port *port = port_open_or_fail(root, 4 * MIB, 4 * MIB, false);
    for (unsigned n = 0; n < STATES; n++)
        (void)spawn(root, "probe_ledger", NULL, NULL, 0);
    assert_int_equal(fill(port, WAITING_MIB), 0);
    assert_true(wait_until(sum_agrees(root)));
    struct odeon_memory *memory = show(root, NULL);
    assert_true(part_of(memory, "message queues") >= (WAITING_MIB - 8) * (uint64_t)MIB);
    assert_true(part_of(memory, "rings of posts") > 0);
    assert_true(part_of(memory, "states of actors") > 0);
    assert_true(part_of(memory, "states of actors") <= part_of(memory, "odeon-executor"));
    assert_true(memory->limit <= (uint64_t)512 * MIB);
    odeon_result_free(memory);
    odeon_client_disconnect(root);
}

/* ---- who holds it */

/* Rings of its own, of which half a megabyte is filled, and something that waits; then it stays. */
static int hold(struct odeon_client *client)
{
    struct odeon_port_options options = { .struct_size = sizeof(options),
                                          .submission_bytes = MIB,
                                          .delivery_bytes = MIB };
    struct odeon_port *port = NULL;

    if (odeon_port_open(client, &options, &port) < 0 || fill(port, 4) < 0)
        return 1;
    for (;;)
        pause();
}

/* All 0: it is not there. */
static struct odeon_memory_holder find_holder(const struct odeon_memory *memory)
{
    for (size_t i = 0; i < memory->n_holders; i++)
        if (memory->holders[i].uid == holder.uid)
            return memory->holders[i];
    return (struct odeon_memory_holder){ 0 };
}

/* Users are accounted from an eighth of the bound on, and only what came then is theirs. */
static bool holder_waits(struct odeon_client *root)
{
    struct odeon_memory *memory = show(root, "user");
    struct odeon_memory_holder row = find_holder(memory);
    bool waits = row.waiting > 0 && row.clients == 1 && row.ports == 1;

    odeon_result_free(memory);
    return waits;
}

static void test_by_user_client_port(void **state)
{
    static const char *const by[] = { "user", "client", "port" };

    (void)state;
    if (!user_can_change()) {
        print_message("# skipped: other users can be played by root alone\n");
        skip();
    }
    service_start_for_users(&service, (const char *const[]){ "--set", "waiting-bytes=16M", NULL });
    struct odeon_client *root = begin_root();
    pid_t child = user_begin(&service, holder, hold);
    assert_true(wait_until(holder_waits(root)));
    for (size_t i = 0; i < sizeof(by) / sizeof(by[0]); i++) {
        struct odeon_memory *memory = show(root, by[i]);
        struct odeon_memory_holder row = find_holder(memory);

        assert_int_equal(row.ports, 1);
        assert_true(row.rings >= MIB / 2); /* of the ring that was gone round */
        assert_int_equal(row.client != 0, i > 0);
        assert_true(memory->shared >= MIB / 2);
        assert_false(memory->executor_silent);
        odeon_result_free(memory);
    }
    user_kill(child);
    odeon_client_disconnect(root);
}

static void test_refused(void **state)
{
    struct odeon_memory *memory = NULL;
    char output[8192];

    (void)state;
    service_start_for_users(&service, (const char *const[]){ NULL });
    struct odeon_client *root = begin_root();
    assert_int_equal(odeon_memory_show(root, "weight", &memory), -EINVAL);
    assert_non_null(strstr(odeon_error_text(), "by user, by client or by port"));
    assert_null(memory);
    assert_int_equal(ctl(&service, output, sizeof(output), "mem --by weight"), 2);
    assert_int_equal(ctl(&service, output, sizeof(output), "mem"), 0);
    assert_non_null(strstr(output, "message queues"));
    assert_int_equal(ctl(&service, output, sizeof(output), "mem --by client --json"), 0);
    assert_non_null(strstr(output, "\"by\":\"client\""));
    odeon_client_disconnect(root);
}

/* Killed as often as it takes for the answer to come while there is none. Process 0, which would be
 * all of this test's group, is none. */
static bool told_without_executor(struct odeon_client *root)
{
    pid_t executor = (pid_t)service_state(&service).executor_pid;
    struct odeon_memory *memory;
    bool silent;

    if (executor > 0)
        (void)kill(executor, SIGKILL);
    memory = show(root, "user");
    silent = memory->executor_silent;
    if (silent)
        assert_true(part_of(memory, "tables") > 0);
    odeon_result_free(memory);
    return silent;
}

static void test_while_the_executor_is_down(void **state)
{
    (void)state;
    service_start_for_users(&service, (const char *const[]){ NULL });
    struct odeon_client *root = begin_root();
    assert_true(wait_until(told_without_executor(root)));
    odeon_client_disconnect(root);
}

static int ask(struct odeon_client *client)
{
    for (unsigned n = 0; n < ASKS; n++) {
        struct odeon_memory *memory = NULL;

        if (odeon_memory_show(client, n % 2 ? "client" : "port", &memory) < 0)
            return 1;
        odeon_result_free(memory);
    }
    return 0;
}

/* memory_count.MC1: counts are shared, answers are not. */
static void test_many_ask_at_once(void **state)
{
    pid_t children[ASKERS];

    (void)state;
    if (!user_can_change()) {
        print_message("# skipped: other users can be played by root alone\n");
        skip();
    }
    service_start_for_users(&service, (const char *const[]){ "--set", "role-observe=*", NULL });
    struct odeon_client *root = begin_root();
    for (unsigned i = 0; i < ASKERS; i++)
        children[i] = user_begin(&service, holder, ask);
    for (unsigned i = 0; i < ASKERS; i++)
        assert_int_equal(user_ended(children[i]), 0);
    odeon_result_free(show(root, NULL));
    odeon_client_disconnect(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_the_sum_is_the_kernels, end),
        cmocka_unit_test_teardown(test_by_user_client_port, end),
        cmocka_unit_test_teardown(test_refused, end),
        cmocka_unit_test_teardown(test_while_the_executor_is_down, end),
        cmocka_unit_test_teardown(test_many_ask_at_once, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
