/* SPDX-License-Identifier: Apache-2.0 */
/* odeond --developer: plugins are loaded where they lie, also after a kill, and not those that
 * somebody else could change. What a debugger makes of it is debugging.sh's. */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/system/harness.h"

enum { NOBODY = 65534 };

static struct service service;
static char plugin[PATH_MAX];

static void copy_probe(void)
{
    static char bytes[1 << 16];
    FILE *from = fopen(TEST_PROBE, "re"), *to;
    size_t n;

    snprintf(plugin, sizeof(plugin), "%s/mine.so", service.dir);
    to = fopen(plugin, "we");
    assert_non_null(from);
    assert_non_null(to);
    while ((n = fread(bytes, 1, sizeof(bytes), from)) > 0)
        assert_int_equal(fwrite(bytes, 1, n, to), n);
    fclose(from);
    assert_int_equal(fclose(to), 0);
    assert_int_equal(chmod(plugin, 0644), 0);
}

static bool executor_maps_it(void)
{
    char path[PATH_MAX], line[PATH_MAX + 256];
    bool found = false;
    FILE *maps;

    snprintf(path, sizeof(path), "/proc/%d/maps", (int)service_executor(&service));
    maps = fopen(path, "re");
    while (maps && !found && fgets(line, sizeof(line), maps))
        found = strstr(line, plugin) != NULL;
    if (maps)
        fclose(maps);
    return found;
}

static void test_in_place(void **state)
{
    struct odeon_client *client = service_connect(&service, "developer");
    pid_t executor;

    (void)state;
    assert_int_equal(odeon_plugin_load(client, plugin), 0);
    assert_true(executor_maps_it());
    spawn(client, "probe_ledger", "ledger", NULL, 0);
    executor = service_executor(&service);
    assert_int_equal(kill(executor, SIGKILL), 0);
    service_wait_executor(&service, executor);
    assert_true(wait_until(executor_maps_it()));
    odeon_client_disconnect(client);
}

static void expect_refused(struct odeon_client *client, const char *text)
{
    assert_int_equal(odeon_plugin_load(client, plugin), -EACCES);
    if (!strstr(odeon_error_text(), text))
        fail_msg("'%s' was expected: %s", text, odeon_error_text());
    assert_false(executor_maps_it());
}

static void test_files_of_others(void **state)
{
    struct odeon_client *client = service_connect(&service, "developer");

    (void)state;
    assert_int_equal(chmod(plugin, 0646), 0);
    expect_refused(client, "has mode 0646, and others may write it");
    assert_int_equal(chmod(plugin, 0644), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(plugin, NOBODY, NOBODY), 0);
        expect_refused(client, "belongs to user 65534");
        assert_int_equal(chown(plugin, 0, NOBODY), 0);
        assert_int_equal(chmod(plugin, 0664), 0);
        expect_refused(client, "has mode 0664, and others may write it");
    }
    odeon_client_disconnect(client);
}

static int setup(void **state)
{
    (void)state;
    service_start(&service, (const char *const[]){ "--developer", "--set", "workers=1", NULL });
    copy_probe();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    service_end(&service);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_in_place, setup, teardown),
        cmocka_unit_test_setup_teardown(test_files_of_others, setup, teardown),
    };

    return cmocka_run_group_tests_name("developer", tests, NULL, NULL);
}
