/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin that cannot be sent to the executor for want of a descriptor: those behind it wait, as
 * they may look for what it has, and as an executor's end is put to a plugin by its place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/system/harness.h"

static void test_those_behind_wait(void **state)
{
    struct service service;
    char *log, *first, *second;

    (void)state;
    service_make_dir(&service);
    assert_int_equal(setenv("LD_PRELOAD", TEST_NO_ROOM_ONCE, 1), 0); /* for odeond */
    service_spawn(&service,
                  (const char *const[]){ SMALL_SERVICE, "--plugin", TEST_ORDER "/order_a.so",
                                         "--plugin", TEST_ORDER "/order_b.so", NULL });
    assert_int_equal(unsetenv("LD_PRELOAD"), 0);
    service_wait_ready(&service);
    assert_true(service_log_has(&service, "the executor cannot be sent something now"));
    log = service_read_log(&service);
    first = strstr(log, "plugin order_a 1.0.0 loaded");
    second = strstr(log, "plugin order_b 1.0.0 loaded");
    assert_true(first && second && first < second);
    free(log);
    service_end(&service);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_those_behind_wait),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
