/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptions of structs that say the same, and those that do not. */
#include "proto/fields_same.h"

#include "tests/unit/clientlib_cmocka.h"

static void expect(const char *one, const char *other, bool same)
{
    if (fields_same(one, other) != same || fields_same(other, one) != same)
        fail_msg("%s and %s: %s was expected", one, other, same ? "the same" : "not the same");
}

static void test_space_means_nothing(void **state)
{
    (void)state;
    expect("", "", true);
    expect("", "  \t", true);
    expect("{ int64_t a; }", "{ int64_t a; }", true);
    expect("{ int64_t a; }", "{int64_t a;}", true);
    expect("{ int64_t a; }", "\n{\n\tint64_t  a ;\r\n}\n", true);
    expect("{ char text[16]; }", "{char text [ 16 ];}", true);
    /* of those that only their author understands, too */
    expect("{ struct odd o; int * p; }", "{ struct odd o ;int*p; }", true);
    expect("? !", "?!", true);
}

static void test_space_between_words_means_something(void **state)
{
    (void)state;
    expect("{ struct odd o; }", "{ structodd o; }", false);
    expect("{ int64_t ab; }", "{ int64_t a b; }", false);
    expect("{ struct odd a1; }", "{ struct odd a 1; }", false);
    expect("x ", "x y", false);
}

static void test_the_same_fields_in_other_words(void **state)
{
    (void)state;
    expect("{ int64_t a, b; }", "{ int64_t a; int64_t b; }", true);
    expect("{ unsigned int n; }", "{ unsigned n; }", true);
    expect("{ uint64_t n; }", "{ unsigned long n; }", true);
    expect("{ }", "", true);
}

static void test_other_fields(void **state)
{
    (void)state;
    expect("{ int64_t a; }", "{ int64_t b; }", false);
    expect("{ int64_t a; }", "{ uint64_t a; }", false);
    expect("{ int64_t a; }", "{ double a; }", false);
    expect("{ int64_t a; int32_t b; }", "{ int32_t b; int64_t a; }", false);
    expect("{ int32_t a, b; }", "{ int32_t a[2]; }", false);
    expect("{ int32_t a; }", "{ int32_t a[1]; }", false);
    expect("{ char text[4]; }", "{ char text[8]; }", false);
    expect("{ char text[8]; }", "{ char text[]; }", false);
    expect("{ int64_t a; }", "{ int64_t a; char tail[]; }", false);
    expect("{ int64_t a; }", "", false);
    expect("{ struct odd o; }", "{ struct even o; }", false);
    expect("{ struct odd o; }", "{ int64_t o; }", false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_space_means_nothing),
        cmocka_unit_test(test_space_between_words_means_something),
        cmocka_unit_test(test_the_same_fields_in_other_words),
        cmocka_unit_test(test_other_fields),
    };

    return cmocka_run_group_tests_name("descriptions of structs", tests, NULL, NULL);
}
