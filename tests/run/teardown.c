/* SPDX-License-Identifier: Apache-2.0 */
/* The teardown of a group of tests can fail its program. cmocka prints that it has failed and
 * returns as if nothing had been: what is asserted there, such as that a service has ended as it
 * should, would be nobody's. Linked into every test program, in front of cmocka (CMakeLists.txt),
 * so that no test has to think of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* What cmocka_run_group_tests() calls: the linker's --wrap gives its name to the first, and calls
 * cmocka's own the second. */
int __wrap__cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t n,
                                   CMFixtureFunction setup, CMFixtureFunction teardown);
int __real__cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t n,
                                   CMFixtureFunction setup, CMFixtureFunction teardown);

static CMFixtureFunction teardown_real;
static volatile bool teardown_done; /* a failed assertion leaves it by a jump */

static int teardown_run(void **state)
{
    int r = teardown_real(state);

    teardown_done = r == 0;
    return r;
}

int __wrap__cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t n,
                                   CMFixtureFunction setup, CMFixtureFunction teardown)
{
    int failed;

    if (!teardown)
        return __real__cmocka_run_group_tests(name, tests, n, setup, NULL);
    teardown_real = teardown;
    teardown_done = false;
    failed = __real__cmocka_run_group_tests(name, tests, n, setup, teardown_run);
    return failed + !teardown_done;
}
