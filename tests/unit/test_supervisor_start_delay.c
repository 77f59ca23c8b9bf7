/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/supervisor/start_delay: failed starts are counted over processes, and their wait can be
 * ended. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/supervisor/start_delay.h"
#include "tests/run/scratch.h"

static char base[] = "/tmp/odeon-test.delay-XXXXXX";
static char file[64];

static int make_base(void **state)
{
    (void)state;
    if (!scratch_make(base))
        return -1;
    snprintf(file, sizeof(file), "%s/starts", base);
    return 0;
}

static int remove_base(void **state)
{
    (void)state;
    return rmdir(base);
}

static void write_text(const char *text)
{
    int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void test_count(void **state)
{
    (void)state;
    assert_int_equal(start_delay_count(base), 1);
    assert_int_equal(start_delay_count(base), 2);
    assert_int_equal(start_delay_count(base), 3);
    start_delay_forget(base);
    assert_int_equal(start_delay_count(base), 1);
    start_delay_forget(base);
    start_delay_forget(base);
    assert_int_equal(start_delay_count("/nowhere"), 0);
}

/* Whatever the file says, the wait is bounded and the count goes on. */
static void test_damage(void **state)
{
    static const struct {
        const char *text;
        unsigned next;
    } cases[] = { { "", 1 },
                  { "x", 1 },
                  { "7 apples", 8 },
                  { "-1", 1000001 },
                  { "99999999999999999999", 1000001 } };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        write_text(cases[i].text);
        assert_int_equal(start_delay_count(base), cases[i].next);
    }
    start_delay_forget(base);
}

/* Nobody's link is followed, and what it leads to stays as it is: a file of the test's own, for
 * whoever follows it writes there. */
static void test_link(void **state)
{
    char theirs[64], text[4] = "";
    FILE *f;

    (void)state;
    snprintf(theirs, sizeof(theirs), "%s/theirs", base);
    f = fopen(theirs, "we");
    assert_non_null(f);
    assert_true(fputs("7", f) >= 0);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(symlink(theirs, file), 0);
    assert_int_equal(start_delay_count(base), 0);
    f = fopen(theirs, "re");
    assert_non_null(f);
    assert_non_null(fgets(text, sizeof(text), f));
    assert_string_equal(text, "7");
    assert_int_equal(fclose(f), 0);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(unlink(theirs), 0);
}

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void test_wait(void **state)
{
    static const int stops[] = { SIGTERM, SIGINT };
    sigset_t stop, before;
    int64_t begun = now_ns();

    (void)state;
    assert_int_equal(start_delay_wait(0), 0);
    assert_int_equal(start_delay_wait(1), 0);
    assert_int_equal(start_delay_wait(3), 0);
    assert_true(now_ns() - begun >= 20 * 1000000);

    /* nothing is held back behind it */
    assert_int_equal(sigprocmask(SIG_SETMASK, NULL, &before), 0);
    assert_false(sigismember(&before, SIGTERM) || sigismember(&before, SIGINT));

    /* a stop ends even the longest one, and is used up by it */
    for (size_t i = 0; i < sizeof(stops) / sizeof(stops[0]); i++) {
        sigemptyset(&stop);
        sigaddset(&stop, stops[i]);
        assert_int_equal(sigprocmask(SIG_BLOCK, &stop, &before), 0);
        assert_int_equal(raise(stops[i]), 0);
        assert_int_equal(start_delay_wait(1000), -EINTR);
        assert_int_equal(sigpending(&stop), 0);
        assert_false(sigismember(&stop, stops[i]));
        assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_count),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_link),
        cmocka_unit_test(test_wait),
    };

    return cmocka_run_group_tests(tests, make_base, remove_base);
}
