/* SPDX-License-Identifier: Apache-2.0 */
/* An odeond beside an executor of another build, and a segment with what another executor left:
 * both are said by name, once, and the state is kept for whom it belongs to. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "proto/segment_layout.h"
#include "tests/system/manager.h"
#include "tests/system/numbers.h"

#define WITH_EXECUTOR(path_)                                                                       \
    SMALL_SERVICE, "--plugin", TEST_PROBE, "--set", "restart-delay-max-ms=20", "--set",            \
        "drain-timeout-ms=500", "--executor", path_

/* What the other one says of itself. */
struct other {
    const char *protocol, *answer, *says;
};

/* It could serve for all that its answer says; it is the one before there were versions; it refuses
 * by itself, and odeond passes that on. */
static const struct other others[] = {
    { "77", "ready", "it speaks version 77 of the protocol between odeond and its executor" },
    { "0", "ready", "it speaks version 0 of the protocol between odeond and its executor" },
    { "1", "refuse", "install both of one; it says: these are its own words" },
};
enum { OTHERS = sizeof(others) / sizeof(others[0]) };

static void become(const struct other *other)
{
    assert_int_equal(setenv("OTHER_PROTOCOL", other->protocol, 1), 0);
    assert_int_equal(setenv("OTHER_ANSWER", other->answer, 1), 0);
}

static bool status_says(struct manager *manager, const char *words)
{
    char *status = manager_status(manager);
    bool says = strstr(status, words) != NULL;

    free(status);
    return says;
}

/* The process that runs now waits for its end, has started one executor and not another. */
static void expect_kept(struct manager *manager, unsigned executors, const char *why,
                        const char *store_before)
{
    struct service *service = manager_service(manager);
    char *store;

    assert_true(wait_until(status_says(manager, "refused, state kept")));
    if (!service_log_has(service, why))
        fail_msg("the log does not say: %s", why);
    assert_int_equal(service_log_count(service, "executor started, process"), executors);
    assert_int_equal(manager_readies(manager), 1);
    store = manager_store_list(manager);
    assert_string_equal(store, store_before);
    free(store);
}

static void go_on(struct manager *manager, struct numbers *numbers)
{
    manager_wait_ready(manager);
    numbers_wait(numbers, 100);
    numbers_finish(numbers);
    manager_end(manager);
}

static struct manager *start(const char *const *arguments, struct numbers *numbers)
{
    struct manager *manager = manager_start(&(struct manager_options){ .arguments = arguments });

    manager_wait_ready(manager);
    numbers_start(numbers, manager_service(manager), 64);
    numbers_wait(numbers, 100);
    return manager;
}

/* ---- an executor of another version */

/* A first start: nothing is kept, there is nothing yet, and the service ends. */
static void test_a_first_start_says_so(void **state)
{
    static const char *const arguments[] = { WITH_EXECUTOR(TEST_OTHER_EXECUTOR), NULL };

    (void)state;
    for (unsigned i = 0; i < OTHERS; i++) {
        struct service service;
        int status;

        become(&others[i]);
        service_make_dir(&service);
        service_spawn(&service, arguments);
        status = service_wait_end(&service);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
        assert_int_equal(service_log_count(&service, others[i].says), 1);
        assert_int_equal(service_log_count(&service, "the executor refuses to start"), 1);
        service_end(&service);
    }
}

static void test_the_next_odeond_keeps_the_state(void **state)
{
    static const char *const own[] = { WITH_EXECUTOR(TEST_EXECUTOR), NULL };
    static const char *const other[] = { WITH_EXECUTOR(TEST_OTHER_EXECUTOR), NULL };

    (void)state;
    for (unsigned i = 0; i < OTHERS; i++) {
        struct numbers numbers;
        struct manager *manager = start(own, &numbers);
        char *store;

        become(&others[i]);
        manager_hold(manager, true);
        manager_kill(manager);
        store = manager_store_list(manager);
        manager_set_program(manager, NULL, other);
        manager_hold(manager, false);
        expect_kept(manager, 2, others[i].says, store);
        free(store);
        manager_set_program(manager, NULL, own);
        assert_int_not_equal(manager_restart(manager), 0); /* it had failed, and says so */
        go_on(manager, &numbers);
    }
}

/* A link that names the executor, as a package's files are replaced: under a name beside it. */
static void point(const char *link, const char *target)
{
    char beside[160];

    snprintf(beside, sizeof(beside), "%s.new", link);
    assert_int_equal(symlink(target, beside), 0);
    assert_int_equal(rename(beside, link), 0);
}

/* The file has been replaced under a service that runs; its executor dies. odeond ends with what is
 * wrong, and the one behind it keeps the state. */
static void test_replaced_under_a_service(void **state)
{
    char link[128];
    const char *const own[] = { WITH_EXECUTOR(TEST_EXECUTOR), NULL };
    const char *const linked[] = { WITH_EXECUTOR(link), NULL };
    struct numbers numbers;
    struct manager *manager;
    char *store;

    (void)state;
    become(&others[0]);
    manager = start(own, &numbers);
    snprintf(link, sizeof(link), "%s/executor", manager_service(manager)->dir);
    point(link, TEST_EXECUTOR);
    manager_set_program(manager, NULL, linked);
    assert_int_equal(manager_restart(manager), 0);
    manager_wait_ready(manager);
    numbers_wait(&numbers, 100);
    store = manager_store_list(manager);
    point(link, TEST_OTHER_EXECUTOR);
    assert_int_equal(kill(service_executor(manager_service(manager)), SIGKILL), 0);
    assert_true(wait_until(manager_starts(manager) == 3));
    assert_true(wait_until(status_says(manager, "refused, state kept")));
    /* the one that ran and the one that was started by the service manager, once each */
    assert_int_equal(service_log_count(manager_service(manager), others[0].says), 3);
    assert_int_equal(manager_failures(manager), 1);
    assert_int_equal(manager_starts(manager), 3);
    assert_non_null(strstr(store, "segment"));
    point(link, TEST_EXECUTOR);
    assert_int_not_equal(manager_restart(manager), 0);
    free(store);
    go_on(manager, &numbers);
}

/* ---- a reference of another executor */

/* Gives the reference of port 0 the next executor's number, or takes that back. */
static void make_foreign(struct manager *manager, int by)
{
    int fd = manager_store_get(manager, "segment");
    struct segment_header header;
    actor_ref ref;
    off_t at;

    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &header, sizeof(header), 0), sizeof(header));
    at = (off_t)(header.ports_offset + offsetof(struct segment_port, ref));
    assert_int_equal(pread(fd, &ref, sizeof(ref), at), sizeof(ref));
    assert_int_equal(actor_ref_number(ref), 0); /* port 0 is open */
    ref = actor_ref_of(actor_ref_executor(ref) + (uint32_t)by, 0, actor_ref_generation(ref));
    assert_int_equal(pwrite(fd, &ref, sizeof(ref), at), sizeof(ref));
    close(fd);
}

static const char foreign[] = "the engine's segment is not this executor's, and is left as it is: "
                              "port 0: a reference of executor 2, and this one is 1";

/* By the next odeond, or by the same one with its next executor: both refuse it once. The executor
 * stands still while it is made foreign: it would give messages that reference as their sender. */
static void refuse_and_keep(bool odeond_dies)
{
    static const char *const arguments[] = { WITH_EXECUTOR(TEST_EXECUTOR), NULL };
    struct numbers numbers;
    struct manager *manager = start(arguments, &numbers);
    pid_t executor = service_executor(manager_service(manager));
    char *store = manager_store_list(manager);

    process_stop(executor);
    make_foreign(manager, 1);
    if (odeond_dies)
        manager_kill(manager);
    else
        assert_int_equal(kill(executor, SIGKILL), 0);
    expect_kept(manager, odeond_dies ? 2 : 3, foreign, store);
    assert_int_equal(manager_starts(manager), 2);
    free(store);
    make_foreign(manager, -1);
    assert_int_not_equal(manager_restart(manager), 0);
    go_on(manager, &numbers);
}

static void test_foreign_references_stop_the_next_odeond(void **state)
{
    (void)state;
    refuse_and_keep(true);
}

static void test_foreign_references_stop_the_next_executor(void **state)
{
    (void)state;
    refuse_and_keep(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_first_start_says_so),
        cmocka_unit_test(test_the_next_odeond_keeps_the_state),
        cmocka_unit_test(test_replaced_under_a_service),
        cmocka_unit_test(test_foreign_references_stop_the_next_odeond),
        cmocka_unit_test(test_foreign_references_stop_the_next_executor),
    };

    return cmocka_run_group_tests_name("mismatch", tests, NULL, NULL);
}
