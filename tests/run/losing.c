/* SPDX-License-Identifier: Apache-2.0 */
/* losing WHERE: groups of tests that fail in these places, for test_teardown.sh. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char *where;

static void loses(const char *place)
{
    if (strstr(where, place))
        fail_msg("lost in the %s", place);
}

static int set_up(void **state)
{
    (void)state;
    loses("setup");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    loses("teardown");
    return strstr(where, "return") ? -1 : 0;
}

static void test_first(void **state)
{
    (void)state;
    loses("test");
}

static void test_second(void **state)
{
    (void)state;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first),
        cmocka_unit_test(test_second),
    };
    const struct CMUnitTest more[] = { cmocka_unit_test(test_second) };
    int failed;

    if (argc != 2)
        return 99;
    where = argv[1];
    failed = cmocka_run_group_tests_name("losing", tests, set_up, tear_down);
    return failed + cmocka_run_group_tests_name("more", more, NULL, NULL);
}
