/* SPDX-License-Identifier: Apache-2.0 */
/* The log says who has changed what, and what was before; what was refused, or made by a program,
 * it does not. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/system/harness.h"
#include "tests/system/probe.h"
#include "tests/system/user.h"

static struct service service;

static int end(void **state)
{
    (void)state;
    if (service.pid > 0)
        assert_int_equal(service_stop(&service, SIGTERM), 0);
    service_end(&service);
    return 0;
}

static void expect_line_of_anybody(const char *says)
{
    if (!wait_until(service_log_has(&service, says)))
        fail_msg("the log does not say: %s", says);
}

/* ... of this process. */
static void expect_line(const char *says)
{
    char who[64];

    expect_line_of_anybody(says);
    snprintf(who, sizeof(who), "ODEON_CLIENT_UID=%u ODEON_CLIENT_PID=%d", geteuid(), getpid());
    assert_true(service_log_has(&service, who));
    assert_true(service_log_has(&service, "ODEON_CLIENT_UNIT="));
}

static void set(struct odeon_client *client, const char *key, const char *value)
{
    assert_int_equal(odeon_executor_set(client, &key, &value, 1, NULL), 0);
}

static void test_changes_are_written_down(void **state)
{
    struct odeon_client *ctl, *other;
    struct odeon_dead_letters_done done = { .struct_size = sizeof(done) };
    struct odeon_status *status = NULL;
    odeon_ref ref;
    char says[96];

    (void)state;
    service_start(&service, (const char *const[]){ SMALL_SERVICE, "--plugin", TEST_PROBE, NULL });
    ctl = service_connect(&service, "odeonctl");
    other = service_connect(&service, "somebody");
    set(ctl, "throughput", "77");
    expect_line("(odeonctl, process ");
    expect_line("has set throughput=77, which was as it is by default");
    set(ctl, "throughput", "88");
    expect_line("has set throughput=88, which was 77");
    load_plugin(ctl, TEST_STUCK);
    expect_line("has loaded plugin stuck");
    assert_int_equal(unload_plugin(ctl, "stuck"), 0);
    expect_line("has unloaded plugin stuck");
    ref = spawn(ctl, "probe_echo", "audit.echo", NULL, 0);
    expect_line(", an actor of type probe_echo, called audit.echo");
    assert_int_equal(odeon_actor_stop(ctl, ref, ODEON_DELETE), 0);
    expect_line("has stopped actor 1.");
    assert_int_equal(odeon_dead_letter_purge(ctl, NULL, 0, &done), 0);
    expect_line("has purged 0 dead letters of all that there were");
    assert_int_equal(odeon_service_status(other, &status), 0);
    assert_int_equal(odeon_client_kick(ctl, status->your_id), 0);
    snprintf(says, sizeof(says), "has thrown out client %llu (somebody, process ",
             (unsigned long long)status->your_id);
    expect_line(says);
    odeon_result_free(status);
    odeon_client_disconnect(other);
    odeon_client_disconnect(ctl);
}

static void test_what_is_refused_is_not(void **state)
{
    const char *key = "throughput", *bad = "0";
    struct odeon_client *ctl, *program;
    odeon_ref ref;

    (void)state;
    service_start(&service, (const char *const[]){ SMALL_SERVICE, "--plugin", TEST_PROBE, NULL });
    ctl = service_connect(&service, "odeonctl");
    program = service_connect(&service, "a program");
    assert_true(odeon_executor_set(ctl, &key, &bad, 1, NULL) < 0);
    assert_true(odeon_plugin_unload(ctl, "nothing") < 0);
    assert_true(odeon_client_kick(ctl, 4711) < 0);
    ref = spawn(program, "probe_echo", "audit.echo", NULL, 0); /* programs do so all day */
    assert_int_equal(odeon_actor_stop(program, ref, ODEON_DELETE), 0);
    set(ctl, "throughput", "99");
    expect_line("has set throughput=99");
    assert_int_equal(service_log_count(&service, "ODEON_CLIENT_UNIT="), 1);
    odeon_client_disconnect(program);
    odeon_client_disconnect(ctl);
}

/* audit.AU2 */
static void test_many_by_hand_are_not_told_one_by_one(void **state)
{
    enum { MOST = 16, MANY = 40 };
    char output[256];
    struct odeon_client *ctl_client;

    (void)state;
    service_start(&service, (const char *const[]){ SMALL_SERVICE, "--plugin", TEST_PROBE, NULL });
    ctl_client = service_connect(&service, "a program");
    for (int i = 0; i < MANY; i++)
        (void)spawn(ctl_client, "probe_echo", NULL, NULL, 0);
    assert_int_equal(ctl(&service, output, sizeof(output), "actor stop --type probe_echo"), 0);
    assert_non_null(strstr(output, "sent delete to 40 actors of type probe_echo"));
    expect_line_of_anybody("makes or stops more actors than these");
    assert_int_equal(service_log_count(&service, "has stopped actor"), MOST);
    assert_int_equal(service_log_count(&service, "makes or stops more actors"), 1);
    odeon_client_disconnect(ctl_client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_changes_are_written_down, end),
        cmocka_unit_test_teardown(test_what_is_refused_is_not, end),
        cmocka_unit_test_teardown(test_many_by_hand_are_not_told_one_by_one, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
