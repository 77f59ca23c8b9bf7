/* SPDX-License-Identifier: Apache-2.0 */
/* Machines of every size, by their number of workers: the service starts with what nobody has set,
 * answers, counts what its workers do, and stops in order (settings_shrink() in settings.c). */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "tests/system/harness.h"
#include "tests/system/probe.h"

enum { ACTORS = 64 };

/* Spread, so that many of the workers have one. */
static void machine_answers(struct service *service)
{
    struct odeon_client *client = service_connect(service, "machines");
    struct odeon_port *port = port_open_or_fail(client, 0, 0, false);
    uint32_t ask = message_id(client, odeon_message_of(probe_ask));

    for (unsigned i = 0; i < ACTORS; i++) {
        struct odeon_delivery reply;
        odeon_ref actor;

        if (odeon_actor_spawn(client, "probe_ledger", NULL, NULL, 0, &actor) < 0)
            fail_msg("spawning: %s", odeon_error_text());
        assert_int_equal(odeon_port_call(port, actor, ask, NULL, 0, SECONDS(PATIENCE_S), &reply),
                         ODEON_CALL_REPLY);
        odeon_port_release(port);
    }
    odeon_client_disconnect(client);
}

static void machine_of(unsigned workers)
{
    struct service service;
    char setting[32];

    snprintf(setting, sizeof(setting), "workers=%u", workers);
    service_start(&service, (const char *const[]){ "--set", setting, "--set", "affinity=none",
                                                   "--plugin", TEST_PROBE, NULL });
    machine_answers(&service);
    assert_true(wait_until(service_figure(&service, "messages_processed") >= ACTORS));
    assert_int_equal(service_stop(&service, SIGTERM), 0);
    service_end(&service);
}

static void test_small_and_usual(void **state)
{
    (void)state;
    machine_of(1);
    machine_of(16);
}

/* more workers than a word of a mask has bits, twice */
static void test_large(void **state)
{
    (void)state;
    machine_of(130);
}

static void test_largest(void **state)
{
    (void)state;
    if (!SIGNALS_ARRIVE)
        skip(); /* ThreadSanitizer has no memory for so many threads */
    machine_of(1024);
}

/* Descriptors are what a large machine has too few of: the refusal says so. */
static void test_too_few_descriptors(void **state)
{
    struct service service;
    char script[256];
    FILE *file;

    (void)state;
    service_make_dir(&service);
    snprintf(script, sizeof(script), "%s/few", service.dir);
    file = fopen(script, "w");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\nulimit -n 200\nexec '%s' \"$@\"\n", TEST_EXECUTOR);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(script, 0755), 0);
    service_spawn(&service, (const char *const[]){ "--executor", script, "--set", "workers=120",
                                                   "--set", "detached=8", NULL });
    assert_int_not_equal(service_wait_end(&service), 0);
    assert_true(service_log_has(&service, "128 threads of workers and detached actors need two "
                                          "descriptors each, and this process may have 200"));
    service_end(&service);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_and_usual),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_largest),
        cmocka_unit_test(test_too_few_descriptors),
    };
    return cmocka_run_group_tests_name("machines", tests, NULL, NULL);
}
