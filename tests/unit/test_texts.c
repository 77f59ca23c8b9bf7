/* SPDX-License-Identifier: Apache-2.0 */
/* <odeon/names.h>: every reason, outcome and error that the public headers name has words of its
 * own, the same ones compiled in and exported. */
#include <odeon/client.h>

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Through pointers: what the library exports, not what is compiled in here. */
static const char *(*const volatile reason_name)(unsigned) = odeon_reason_name;
static const char *(*const volatile error_name)(int) = odeon_strerror;

static void test_reasons(void **state)
{
    (void)state;
    unsigned n = 0;
    for (; strcmp(odeon_reason_name(n), "unknown") != 0; n++) {
        assert_string_equal(odeon_reason_name(n), reason_name(n));
        for (unsigned i = 0; i < n; i++)
            assert_string_not_equal(odeon_reason_name(i), odeon_reason_name(n));
    }
    assert_int_equal(n, ODEON_REASON_NO_SUCH_MONITOR + 1);
    assert_string_equal(odeon_reason_name(ODEON_REASON_QUEUE_FULL), "queue-full");
    assert_string_equal(reason_name(UINT_MAX), "unknown");
}

static void test_outcomes(void **state)
{
    (void)state;
    assert_string_equal(odeon_outcome_name(ODEON_CALL_REPLY), "reply");
    assert_string_equal(odeon_outcome_name(ODEON_CALL_REFUSED), "refused");
    assert_string_equal(odeon_outcome_name(ODEON_CALL_EXPIRED), "expired");
    assert_string_equal(odeon_outcome_name(ODEON_CALL_CLOSED), "closed");
    assert_string_equal(odeon_outcome_name(4), "unknown");
    assert_string_equal(odeon_outcome_name(-EPIPE), odeon_strerror(-EPIPE));
}

static void test_reasons_of_a_close(void **state)
{
    (void)state;
    assert_string_equal(odeon_port_closed_name(ODEON_CLOSED_NOT), "open");
    for (int why = 0; why <= ODEON_CLOSED_IMPOSSIBLE; why++) {
        assert_string_not_equal(odeon_port_closed_name(why), "unknown");
        for (int i = 0; i < why; i++)
            assert_string_not_equal(odeon_port_closed_name(i), odeon_port_closed_name(why));
    }
    assert_string_equal(odeon_port_closed_name(ODEON_CLOSED_IMPOSSIBLE + 1), "unknown");
    assert_string_equal(odeon_port_closed_name(-EINVAL), odeon_strerror(-EINVAL));
}

/* What means here what it means everywhere. */
static bool is_the_systems(int error)
{
    static const int theirs[] = { ENOMEM, ENOEXEC, EISDIR, EFBIG, ELOOP, EBADF };
    for (size_t i = 0; i < sizeof(theirs) / sizeof(theirs[0]); i++)
        if (theirs[i] == error)
            return true;
    return false;
}

/* The comments of the header name them: " -EAGAIN", wherever it stands. */
static unsigned errors_of(const char *header)
{
    char line[512];
    unsigned n = 0;
    FILE *f = fopen(header, "re");
    assert_non_null(f);
    while (fgets(line, sizeof(line), f)) {
        for (char *at = line; (at = strstr(at, "-E")) != NULL; at += 2) {
            char name[32];
            int error = 0;
            if (sscanf(at + 1, "%31[A-Z0-9]", name) != 1)
                continue;
            while (error < 4096 &&
                   (!strerrorname_np(error) || strcmp(strerrorname_np(error), name) != 0))
                error++;
            if (strcmp(name, "EOPNOTSUPP") == 0 || strcmp(name, "ENOTSUP") == 0)
                error = ENOTSUP;
            if (error == 4096 || is_the_systems(error) || error == ENOTDIR)
                continue;
            n++;
            if (strcmp(odeon_strerror(-error), strerror(error)) == 0)
                fail_msg("%s: %s has no words of its own", header, name);
            assert_string_equal(odeon_strerror(-error), error_name(error));
        }
    }
    fclose(f);
    return n;
}

static void test_errors(void **state)
{
    (void)state;
    assert_true(errors_of(ODEON_HEADERS "/client.h") > 30);
    assert_true(errors_of(ODEON_HEADERS "/plugin.h") > 15);
    assert_string_equal(odeon_strerror(-ENOMEM), strerror(ENOMEM));
    assert_string_equal(odeon_strerror(0), strerror(0));
    assert_string_equal(odeon_strerror(INT_MIN), "unknown error");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reasons),
        cmocka_unit_test(test_outcomes),
        cmocka_unit_test(test_reasons_of_a_close),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests_name("texts", tests, NULL, NULL);
}
