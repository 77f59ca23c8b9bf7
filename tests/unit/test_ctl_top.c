/* SPDX-License-Identifier: Apache-2.0 */
/* odeonctl top, with a library that has no service. */
#include <errno.h>

#include "tests/unit/ctl_run.h"

static void test_top(void **state)
{
    static const char *const bad[] = { "top|queues", "top|--sort|size", "top|--watch|0",
                                       "top|--count|0" };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(run(bad[i]), CTL_USAGE);
    check_has(err, "not a number of looks");
    assert_int_equal(run("top|--watch|0.1|--count|1"), CTL_DONE);
    /* sorted by run time; what has run nothing is not there */
    assert_non_null(strstr(out, "slow"));
    assert_true(strstr(out, "slow") < strstr(out, "counter"));
    assert_null(strstr(out, "quiet"));
    assert_non_null(strstr(out, "2.00 k")); /* 1,000 in half a second */
    assert_non_null(strstr(out, "80.0 %"));
    assert_non_null(strstr(out, "2.50 ms"));
    assert_int_equal(run("top|types|--watch|0.1|--count|2|--sort|messages|--json"), CTL_DONE);
    assert_true(strstr(out, "counter") < strstr(out, "\"slow\""));
    assert_non_null(strstr(out, "\"wait_p99_ns\":2500000"));
    assert_int_equal(run("top|actors|--limit|1"), CTL_DONE);
    assert_non_null(strstr(out, "50.0 %"));
    assert_null(strstr(out, "slow"));
    assert_int_equal(run("top|actors|--sort|wait|--json"), CTL_DONE);
    assert_non_null(strstr(out, "\"messages_waiting\":12345"));
    assert_int_equal(run("top|flows"), CTL_DONE);
    assert_non_null(strstr(out, "99.5"));
    fake.call_result = -EACCES;
    fake_say("observe needs the role observe");
    assert_int_equal(run("top"), CTL_REFUSED);
    assert_non_null(strstr(err, "needs the role observe"));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test_setup_teardown(test_top, setup,
                                                                        teardown) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
