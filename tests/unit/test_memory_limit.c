/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory the service may use: control groups of both versions, as files in a folder. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "daemon/common/memory_limit.h"

#define MACHINE (UINT64_C(8) << 30)

static char folder[64];

static void put(const char *path, const char *text)
{
    char whole[256];

    snprintf(whole, sizeof(whole), "%s/%s", folder, path);
    for (char *p = whole + strlen(folder) + 1; (p = strchr(p, '/')); p++) {
        *p = '\0';
        (void)mkdir(whole, 0755);
        *p = '/';
    }
    FILE *file = fopen(whole, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static uint64_t limit(void)
{
    return memory_limit_read(folder, folder, MACHINE);
}

static int make(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/odeon-limit-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int drop(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof(command), "rm -r %s", folder);
    return system(command);
}

static void test_no_group(void **state)
{
    (void)state;
    assert_int_equal(limit(), MACHINE);
    put("cgroup", "what is this\n0::\n7:cpu:/a\n:::\n");
    assert_int_equal(limit(), MACHINE);
    assert_int_equal(memory_limit_read(folder, folder, 0), 0);
}

static void test_version_2(void **state)
{
    (void)state;
    put("cgroup", "0::/system.slice/odeond.service\n");
    put("system.slice/odeond.service/memory.max", "max\n");
    assert_int_equal(limit(), MACHINE);
    put("system.slice/memory.max", "300000000\n");
    assert_int_equal(limit(), 300000000);
    put("system.slice/odeond.service/memory.max", "200000000\n");
    assert_int_equal(limit(), 200000000);
    put("system.slice/odeond.service/memory.max", "400000000\n");
    assert_int_equal(limit(), 300000000);
    /* beside version 1 it is in a folder of its own */
    put("unified/system.slice/odeond.service/memory.max", "100000000\n");
    assert_int_equal(limit(), 100000000);
}

static void test_version_1(void **state)
{
    (void)state;
    put("cgroup", "5:cpu,cpuacct:/b\n4:memory:/a/b\n0::/\n");
    put("memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("memory/a/memory.limit_in_bytes", "157286400\n");
    put("memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
    assert_int_equal(limit(), 157286400);
    assert_int_equal(memory_limit_read(folder, folder, 0), 157286400);
}

static void test_this_machine(void **state)
{
    (void)state;
    assert_true(memory_limit_for_service() > (UINT64_C(1) << 20));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_no_group, make, drop),
        cmocka_unit_test_setup_teardown(test_version_2, make, drop),
        cmocka_unit_test_setup_teardown(test_version_1, make, drop),
        cmocka_unit_test(test_this_machine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
