/* SPDX-License-Identifier: Apache-2.0 */
/* An executor that cannot have groups does not run: what is published to those there are would
 * become dead letters, and whoever stops one would end it, though a group is for ever. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "tests/unit/executor_fixture.h"

static void test_no_memory_for_groups(void **state)
{
    const Odeon__Report *report;
    uint64_t id;
    int status;

    (void)state;
    setenv("LD_PRELOAD", TEST_NO_FIRST_TYPE, 1);
    spawn_executor();
    unsetenv("LD_PRELOAD");
    id = send_start(0, 0);
    report = receive_report();
    assert_non_null(report);
    assert_int_equal(report->id, id);
    assert_int_equal(report->error, -ENOMEM);
    assert_text_has(report->text, "groups");
    status = wait_for_end();
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    start_with(NULL); /* the next one has them, and all that there was */
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_no_memory_for_groups, setup, teardown),
    };

    if (argc != 2) {
        fprintf(stderr, "usage: %s PATH-OF-ODEON-EXECUTOR\n", argv[0]);
        return 2;
    }
    program = argv[1];
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests_name("executor without groups", tests, NULL, NULL);
}
