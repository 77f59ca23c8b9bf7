/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/common/check: a rule that holds costs nothing that can be seen; one that is broken ends
 * its process so that the parent can tell. The rules that are broken here:
 *
 * test_check.T1  It holds, or is broken on purpose.
 * test_check.T2  It is broken while another one is told.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/common/check.h"
#include "daemon/common/log.h"

static char said[4096];
static unsigned *told; /* shared with the child */

/* Runs `end` in a child; what it wrote to stderr is in `said`.  Its wait status. */
static int run_child(void (*end)(void))
{
    int ends[2], status;
    size_t got = 0;
    ssize_t n;
    pid_t pid;

    assert_int_equal(pipe(ends), 0);
    *told = 0;
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        log_open("test", LOG_LEVEL_INFO); /* it has looked where its lines go */
        end();
        _exit(0);
    }
    close(ends[1]);
    while ((n = read(ends[0], said + got, sizeof(said) - 1 - got)) > 0)
        got += (size_t)n;
    said[got] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static unsigned count_lines(const char *text)
{
    unsigned n = 0;

    for (const char *at = said; (at = strstr(at, text)) != NULL; at++)
        n++;
    return n;
}

static void tell(const struct check_site *site)
{
    if (strcmp(site->rule, "test_check.T1") == 0)
        ++*told;
}

static void at_exit(void)
{
    *told += 100; /* check.CH1: not called */
}

static void break_one(void)
{
    int one = 1;

    atexit(at_exit);
    check_set_teller(tell);
    check("test_check.T1", one == 2);
}

static void tell_and_break(const struct check_site *site)
{
    tell(site);
    check("test_check.T2", site == NULL);
}

static void break_while_telling(void)
{
    check_set_teller(tell_and_break);
    check("test_check.T1", told == NULL);
}

static void *break_here(void *unused)
{
    check("test_check.T1", unused != NULL);
    return NULL;
}

static void break_many(void)
{
    pthread_t threads[8];

    check_set_teller(tell);
    for (unsigned i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, break_here, NULL);
    for (unsigned i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
}

static void keep_it(void)
{
    unsigned evaluated = 0;

    check_set_teller(tell);
    for (unsigned i = 1; i <= 3; i++)
        check("test_check.T1", ++evaluated == i);
    *told = evaluated;
}

static void assert_stopped(int status)
{
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), CHECK_EXIT_STATUS);
}

static void test_a_broken_rule_is_named(void **state)
{
    (void)state;
    assert_stopped(run_child(break_one));
    assert_int_equal(count_lines("error: rule test_check.T1 is broken: one == 2 ("), 1);
    assert_int_equal(count_lines("test_check.c:"), 1);
    assert_int_equal(count_lines("ODEON_RULE=test_check.T1"), 1);
    assert_int_equal(count_lines("\n"), 1);
    assert_int_equal(*told, 1);
}

/* check.CH2 */
static void test_the_first_one_is_told(void **state)
{
    (void)state;
    assert_stopped(run_child(break_while_telling));
    assert_int_equal(count_lines("is broken"), 1);
    assert_int_equal(*told, 1);
    assert_stopped(run_child(break_many));
    assert_int_equal(count_lines("is broken"), 1);
    assert_int_equal(*told, 1);
}

static void test_a_rule_that_holds(void **state)
{
    (void)state;
    assert_int_equal(run_child(keep_it), 0);
    assert_string_equal(said, "");
    assert_int_equal(*told, 3); /* each expression once */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_broken_rule_is_named),
        cmocka_unit_test(test_the_first_one_is_told),
        cmocka_unit_test(test_a_rule_that_holds),
    };

    told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (told == MAP_FAILED)
        return 1;
    log_open("test", LOG_LEVEL_INFO);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
