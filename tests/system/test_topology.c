/* SPDX-License-Identifier: Apache-2.0 */
/* odeonctl topology, of a real service on this machine: each worker is somewhere, and so is each
 * actor. Machines of other kinds are in unit/ctl_topology. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/system/harness.h"
#include "tests/system/probe.h"

enum { OUTPUT = 1 << 16, ACTORS = 12, WORKERS = 2, QUEUES = 2 };

static struct service service;
static char output[OUTPUT];

/* What the rows of workers have under `key`, together; *ret_rows: how many those are. */
static uint64_t sum(const char *key, unsigned *ret_rows)
{
    char find[32];
    uint64_t all = 0;
    unsigned n = 0;

    snprintf(find, sizeof(find), "\"%s\":", key);
    for (const char *at = output; (at = strstr(at, find)); n++) {
        at += strlen(find);
        if (strncmp(at, "null", 4) == 0)
            n--;
        else
            all += strtoull(at, NULL, 10);
    }
    *ret_rows = n;
    return all;
}

static void begin(const char *affinity)
{
    service_start(&service,
                  (const char *const[]){ "--set", "workers=2", "--set", "queues-per-worker=2",
                                         "--set", affinity, "--plugin", TEST_PROBE, NULL });
}

static int end(void **state)
{
    (void)state;
    if (service.pid > 0)
        assert_int_equal(service_stop(&service, SIGTERM), 0);
    service_end(&service);
    return 0;
}

static void expect_all(void)
{
    struct odeon_client *client = service_connect(&service, "topology");
    unsigned rows;

    for (int i = 0; i < ACTORS; i++)
        (void)spawn(client, "probe_echo", NULL, NULL, 0);
    odeon_client_disconnect(client);
    assert_int_equal(ctl(&service, output, sizeof(output), "--json topology"), 0);
    (void)sum("worker", &rows);
    assert_int_equal(rows, WORKERS);
    /* its own ones, and the pinned one */
    assert_int_equal(sum("queues", &rows), WORKERS * (QUEUES + 1));
    assert_int_equal(rows, WORKERS);
    assert_int_equal(sum("actors", &rows), ACTORS);
}

static void test_bound(void **state)
{
    (void)state;
    begin("affinity=auto");
    expect_all();
    assert_non_null(strstr(output, "\"cpu\":"));
}

static void test_unbound(void **state)
{
    unsigned rows;

    (void)state;
    begin("affinity=none");
    expect_all();
    assert_non_null(strstr(output, "\"cpu\":null,\"worker\":0,"));
    assert_non_null(strstr(output, "\"cpu\":null,\"worker\":1,"));
    (void)sum("cpu", &rows);
    assert_true(rows > 0); /* this machine's, without a worker */
    assert_int_equal(
        ctl(&service, output, sizeof(output), "topology --svg %s/picture.svg", service.dir), 0);
}

static void test_no_service(void **state)
{
    (void)state;
    begin("affinity=none");
    assert_int_equal(service_stop(&service, SIGTERM), 0);
    assert_int_equal(ctl(&service, output, sizeof(output), "topology"), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_bound, end),
        cmocka_unit_test_teardown(test_unbound, end),
        cmocka_unit_test_teardown(test_no_service, end),
    };

    return cmocka_run_group_tests_name("topology", tests, NULL, NULL);
}
