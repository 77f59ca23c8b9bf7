/* SPDX-License-Identifier: Apache-2.0 */
/* Monitors in the real service: however actors and clients end, and whatever is killed meanwhile,
 * each end is told once, behind the last words, with a reason that can be. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <odeon/codec.h>

#include "tests/system/ends.h"
#include "tests/system/mortal.h"
#include "tests/system/stage.h"

enum { ENDS = 1200, KILL_EVERY = 60, CLIENTS = 12 };

static struct stage stage;
static odeon_ref watcher;
static uint32_t heard_type;

static struct ends_heard next_heard(void)
{
    struct ends_heard heard;

    (void)stage_receive(&stage, heard_type, &heard, sizeof(heard));
    if (heard.wrong)
        fail_msg("ends.c:%llu, at number %llu", (unsigned long long)heard.wrong,
                 (unsigned long long)heard.number);
    return heard;
}

/* An executor that dies behind the end, and before its word, makes no difference. */
static bool is_right(const struct ends_heard *heard)
{
    switch (heard->number % ENDS_CASES) {
    case ENDS_PLAIN:
        return (heard->reason == ODEON_REASON_FINISHED && heard->words == 1) ||
               heard->reason == ODEON_REASON_BEGUN_ANEW;
    case ENDS_STOPPED:
        return heard->reason == ODEON_REASON_STOPPED && heard->words == 0;
    case ENDS_UNBEGUN: /* it has not begun, and begins anew */
        return (heard->reason == ODEON_REASON_INIT_FAILED ||
                heard->reason == ODEON_REASON_BEGUN_ANEW) &&
               heard->words == 0;
    case ENDS_TOO_LATE: /* another one may have had its slot */
        return (heard->reason == ODEON_REASON_FINISHED ||
                heard->reason == ODEON_REASON_NO_SUCH_ACTOR) &&
               heard->words == 1;
    default:
        return heard->reason == ODEON_REASON_FINISHED && heard->words == 1;
    }
}

static void test_over_kills(void **state)
{
    const struct ends_start start = { .port = odeon_port_ref(stage.port), .last = ENDS };
    uint64_t anew = 0;

    (void)state;
    (void)spawn(stage.client, "ends_plain", NULL, NULL, 0);
    stage_post(&stage, watcher, odeon_message_of(ends_start), &start, sizeof(start));
    for (uint64_t number = 1; number <= ENDS; number++) {
        struct ends_heard heard = next_heard();

        assert_int_equal(heard.number, number);
        if (!is_right(&heard))
            fail_msg("end %llu is told with reason %s, behind %llu words",
                     (unsigned long long)number, odeon_reason_name((unsigned)heard.reason),
                     (unsigned long long)heard.words);
        anew += heard.reason == ODEON_REASON_BEGUN_ANEW;
        if (number % KILL_EVERY == 0)
            stage_kill_executor(&stage);
    }
    print_message("%llu of %d began anew\n", (unsigned long long)anew, ENDS);
    assert_true(service_figure(&stage.service, "downs") >= ENDS / 2);
    assert_true(service_log_has(&stage.service, "actors of type ends_plain begin anew"));
}

/* What odeonctl shows of one, and of nobody once the client has gone. */
static void is_shown(odeon_ref watched)
{
    char output[1024], shown[128], ref[ODEON_REF_TEXT];

    odeon_ref_format(watched, ref);
    snprintf(shown, sizeof(shown), "\"watched\":\"%s\",\"kind\":\"monitor\"}", ref);
    assert_true(wait_until(
        ctl(&stage.service, output, sizeof(output), "monitor list --json --of %s", ref) == 0 &&
        strstr(output, shown)));
}

static void test_clients(void **state)
{
    (void)state;
    for (int i = 0; i < CLIENTS; i++) {
        struct ends_watch watch = { .port = odeon_port_ref(stage.port) };
        pid_t pid = mortal_begin(&stage.service, &watch.ref);
        struct ends_heard heard;

        stage_post(&stage, watcher, odeon_message_of(ends_watch), &watch, sizeof(watch));
        if (i == 0)
            is_shown(watch.ref);
        if (i % 3 == 1)
            stage_kill_executor(&stage);
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        heard = next_heard();
        assert_int_equal(heard.reason, ODEON_REASON_CLIENT_GONE);
    }
}

/* What the service alone says. */
static void test_forged(void **state)
{
    const struct odeon_down down = { .ref = watcher, .reason = ODEON_REASON_FINISHED };
    struct odeon_port *other = port_open_or_fail(stage.client, 0, 0, false);
    struct odeon_delivery delivery;
    const struct odeon_refusal *refusal;

    (void)state;
    assert_int_equal(odeon_port_post_wait(other, watcher,
                                          message_id(stage.client, odeon_message_of(odeon_down)),
                                          &down, sizeof(down), SECONDS(PATIENCE_S)),
                     0);
    assert_int_equal(odeon_port_receive_wait(other, &delivery, SECONDS(PATIENCE_S)), 1);
    refusal = delivery.data;
    assert_int_equal(refusal->reason, ODEON_REASON_NOT_ACCEPTED);
    odeon_port_release(other);
    odeon_port_close(other);
}

static int setup(void **state)
{
    (void)state;
    stage_begin(&stage, TEST_ENDS, "ends");
    heard_type = message_id(stage.client, odeon_message_of(ends_heard));
    watcher = spawn(stage.client, "ends_watcher", NULL, NULL, 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    stage_end(&stage);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_over_kills, setup, teardown),
        cmocka_unit_test_setup_teardown(test_clients, setup, teardown),
        cmocka_unit_test_setup_teardown(test_forged, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
