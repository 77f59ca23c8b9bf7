/* SPDX-License-Identifier: Apache-2.0 */
/* odeonctl message, with a library that has no service. */
#include "tests/unit/ctl_run.h"

static void test_message_list(void **state)
{
    (void)state;
    assert_int_equal(run("message|list|--json"), CTL_DONE);
    check_has(out, "{\"version\":1,\"messages\":[\n{\"name\":\"counter_add\",\"version\":1,"
                   "\"bytes\":32,\"tail\":false,\"accepting\":2,\"plugins\":[\"counter\"],"
                   "\"user\":null}");
    fake.message_by_user = 1;
    assert_int_equal(run("message|list|--json"), CTL_DONE);
    check_has(out, "\"plugins\":[],\"user\":1000}");
    assert_int_equal(run("message|list"), CTL_DONE);
    check_has(out, "ACCEPTED BY");
    assert_int_equal(run("message|list|counter_add"), CTL_USAGE);
}

static void test_message_show(void **state)
{
    (void)state;
    assert_int_equal(run("message|show|counter_add"), CTL_DONE);
    check_has(out, "Declared by plugins  counter\n");
    check_has(out, "Accepted by types    counter\n");
    check_has(out, "1 more");
    check_has(out, "FIELD   TYPE      OFFSET  BYTES\n"
                   "amount  int64_t        0      8\n"
                   "weight  int64_t        8      8\n"
                   "name    char[16]      16     16\n");
    assert_int_equal(run("message|show|counter_add|1|--json"), CTL_DONE);
    check_has(out, "\"accepting\":2,\"accepted_by\":[\"counter\"],");
    check_has(out, "\"fields\":[{\"name\":\"amount\",\"type\":\"int64_t\",\"offset\":0,"
                   "\"bytes\":8},");
    fake.message_fields = "{ uint32_t number; char text[]; }";
    fake.message_size = 4;
    fake.message_tail = 1;
    assert_int_equal(run("message|show|counter_add"), CTL_DONE);
    check_has(out, "text    char[]         4      -\n");
    fake.message_fields = "{ void *pointer; }";
    assert_int_equal(run("message|show|counter_add"), CTL_DONE);
    check_has(out, "Declaration          { void *pointer; }\n");
    check_has(out, "Not laid out");
    assert_int_equal(run("message|show|counter_add|--json"), CTL_DONE);
    check_has(out, "\"declaration\":\"{ void *pointer; }\",\"fields\":null");
    assert_int_equal(run("message|show|counter_sub"), CTL_REFUSED);
    check_has(err, "cannot show the message 'counter_sub'");
    assert_int_equal(run("message|show|counter_add|2"), CTL_REFUSED);
    assert_int_equal(run("message|show|counter_add|0"), CTL_USAGE);
    check_has(err, "'0' is no version of a message");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_message_list),
        TEST(test_message_show),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
