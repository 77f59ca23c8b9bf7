/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/common/name: every byte that may, and may not, be in a name; lengths. */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/common/name.h"
#include "proto/bounds.h"

static void test_each_byte(void **state)
{
    unsigned good = 0;

    (void)state;
    for (int c = 1; c < 256; c++) {
        char name[] = { 'a', (char)c, 'z', '\0' };
        bool expected = c < 128 && (isalnum(c) || strchr("_.-", c));

        if (name_is_good(name) != expected)
            fail_msg("byte %d in a name: %d was expected", c, expected);
        good += expected;
    }
    assert_int_equal(good, 26 + 26 + 10 + 3);
}

static void test_lengths(void **state)
{
    char name[ODEON_NAME_MAX + 2];

    (void)state;
    memset(name, 'n', sizeof(name));
    name[ODEON_NAME_MAX + 1] = '\0';
    assert_false(name_is_good(name));
    name[ODEON_NAME_MAX] = '\0';
    assert_true(name_is_good(name));
    assert_true(name_is_good("n"));
    assert_false(name_is_good(""));
    assert_false(name_is_good(NULL));
}

/* Of an actor: what is looked up as a reference is no name. */
static void test_references(void **state)
{
    static const char *const bad[] = { "319.1", "0.1", "1.319.1", "99999999999.7", "0.0.0" };
    static const char *const good[] = { "319",    "319.", ".1",  "1.2.3.4", "319.1a",
                                        "a319.1", "1..2", "1-2", "-1.2",    "v1.2" };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_true(name_is_good(bad[i])); /* a plugin's version */
        assert_false(name_is_good_for_actor(bad[i]));
    }
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_true(name_is_good_for_actor(good[i]));
    assert_false(name_is_good_for_actor("a/b"));
    assert_false(name_is_good_for_actor("a:b"));
    assert_false(name_is_good_for_actor(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_byte),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_references),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
