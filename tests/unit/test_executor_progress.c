/* SPDX-License-Identifier: Apache-2.0 */
/* What odeon-executor answers to a ping: how many of its workers have stood still since the ping
 * before. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/executor_fixture.h"

enum { WORKERS = 2 /* the fixture's */, IN_A_ROW = 6 };

/* Valid until the next report. */
static const Odeon__Pong *ping(void)
{
    Odeon__Command command = ODEON__COMMAND__INIT;
    Odeon__Ok ok = ODEON__OK__INIT;
    const Odeon__Report *report;
    uint64_t id;

    command.body_case = ODEON__COMMAND__BODY_PING;
    command.ping = &ok;
    id = send_command(&command, NULL, 0);
    report = receive_report();
    assert_non_null(report);
    assert_int_equal(report->id, id);
    assert_int_equal(report->body_case, ODEON__REPORT__BODY_PONG);
    return report->pong;
}

/* Workers get on until what they have to do is done, and one that has no processor on its way
 * stands still for a while, too: asked until it is so, and stays so. */
static void expect_held(uint32_t in_handlers)
{
    int64_t deadline = now_ms() + PATIENCE_MS;

    for (int row = 0; row < IN_A_ROW;) {
        const Odeon__Pong *pong = ping();

        assert_int_equal(pong->workers, WORKERS);
        row = pong->held_in_handlers == in_handlers && pong->held_elsewhere == 0 ? row + 1 : 0;
        if (row == 0 && now_ms() > deadline)
            fail_msg("%u held in handlers, %u elsewhere", pong->held_in_handlers,
                     pong->held_elsewhere);
        usleep(1000);
    }
}

static void test_before_the_start(void **state)
{
    (void)state;
    spawn_executor();
    assert_int_equal(ping()->workers, 0); /* it is there, and nobody works yet */
}

static void test_held_workers(void **state)
{
    (void)state;
    start_with("hang");
    expect_held(0);
    assert_int_equal(send_to(spawn_actor("hang", ""), "hang", NULL, 0)->error, 0);
    expect_held(1);
    assert_int_equal(send_to(spawn_actor("hang", ""), "hang", NULL, 0)->error, 0);
    expect_held(2);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_before_the_start, setup, teardown),
        cmocka_unit_test_setup_teardown(test_held_workers, setup, teardown),
    };

    if (argc != 3) {
        fprintf(stderr, "usage: %s PATH-OF-ODEON-EXECUTOR DIRECTORY-OF-HOSTILE-PLUGINS\n", argv[0]);
        return 2;
    }
    program = argv[1];
    plugin_dir = argv[2];
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests_name("executor progress", tests, NULL, NULL);
}
