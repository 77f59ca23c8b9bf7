/* SPDX-License-Identifier: Apache-2.0 */
/* What an operator asks at three in the morning, each answered by one command while it happens:
 * which actor is hot, who floods whom, whose messages wait. The answer is held against what this
 * program does, round after round, of which ODEON_INCIDENTS says how many. Which handler does not
 * return, who crashes and who is refused: test_doctor.c. */
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <odeon/codec.h>

#include "tests/system/harness.h"
#include "tests/system/ledger.h"
#include "tests/system/probe.h"

enum { LEDGERS = 20, OUTPUT = 1 << 18, WORK_NS = 500000, LONG_NS = 20000000 };

static struct service service;
static struct odeon_client *client;
static struct odeon_port *honest, *flooder;
static odeon_ref ledgers[LEDGERS];
static uint32_t work_type, ask_type;
static char output[OUTPUT];
static unsigned rounds = 3, seed;

static int begin(void **state)
{
    (void)state;
    service_start(&service, (const char *const[]){ SMALL_SERVICE, "--set", "quota-waiting-ms=0",
                                                   "--plugin", TEST_PROBE, NULL });
    client = service_connect(&service, "incidents");
    honest = port_open_or_fail(client, 1 << 16, 1 << 16, false);
    flooder = port_open_or_fail(client, 1 << 16, 1 << 16, false);
    work_type = message_id(client, odeon_message_of(probe_work));
    ask_type = message_id(client, odeon_message_of(probe_ask));
    for (unsigned i = 0; i < LEDGERS; i++)
        ledgers[i] = spawn(client, "probe_ledger", NULL, NULL, 0);
    return 0;
}

static int end(void **state)
{
    (void)state;
    odeon_port_close(honest);
    odeon_port_close(flooder);
    client = odeon_client_disconnect(client);
    honest = flooder = NULL;
    (void)service_stop(&service, SIGKILL);
    service_end(&service);
    return 0;
}

static const char *answer(const char *command)
{
    assert_int_equal(ctl(&service, output, sizeof(output), "%s", command), 0);
    return output;
}

/* The text begins an object of the answer's first row. */
static bool is_first(const char *key, const char *row)
{
    char first[256];

    snprintf(first, sizeof(first), "\"%s\":[{%s", key, row);
    return strstr(output, first) != NULL;
}

/* How often this round's has been named, and how often somebody else: one who had a processor taken
 * away in the middle of a handler may seem to have done much. */
struct verdict {
    unsigned right, wrong;
};

/* Asks once more, behind its having happened once more: whether it is named more often than anybody
 * else by now. What happened is told of for seconds: an answer that came later names nobody, and
 * says nothing. */
static bool names(struct verdict *verdict, const char *command, const char *key, const char *row)
{
    (void)answer(command);
    if (is_first(key, row))
        verdict->right++;
    else
        verdict->wrong += is_first(key, "");
    return verdict->right > verdict->wrong;
}

static odeon_ref draw(void)
{
    return ledgers[(unsigned)rand_r(&seed) % LEDGERS];
}

/* Everybody has something to do, one of them much: it has been run when this returns. */
static void heat(odeon_ref hot)
{
    for (unsigned i = 0; i < 100; i++) {
        ledger_work(honest, hot, work_type, WORK_NS);
        ledger_work(honest, ledgers[i % LEDGERS], work_type, 0);
    }
    ledger_settle(honest, hot, ask_type);
}

static void test_which_actor_is_hot(void **state)
{
    char ref[ODEON_REF_TEXT], row[128];
    unsigned named = 0;

    (void)state;
    for (unsigned i = 0; i < rounds; i++) {
        struct verdict verdict = { 0 };
        odeon_ref hot = draw();

        /* windows are seconds: of the round before nothing is to be left */
        assert_true(wait_until(strstr(answer("--json top actors --count 1"), "\"actors\":[]") ||
                               strstr(output, "\"actors\":[\n]")));
        odeon_ref_format(hot, ref);
        snprintf(row, sizeof(row), "\"ref\":\"%s\",\"type\":\"probe_ledger\",", ref);
        named +=
            wait_until((heat(hot), names(&verdict, "--json top actors --count 1", "actors", row)));
    }
    printf("# check=incidents what=hot named=%u of=%u\n", named, rounds);
    assert_int_equal(named, rounds);
}

/* One of the two posts much more than the other: it has been run when this returns. */
static void flood(odeon_ref to)
{
    for (unsigned k = 0; k < 5000; k++)
        ledger_work(flooder, to, work_type, 0);
    for (unsigned k = 0; k < LEDGERS; k++)
        ledger_work(honest, ledgers[k], work_type, 0);
    ledger_settle(flooder, to, ask_type);
}

static void test_who_floods_whom(void **state)
{
    unsigned named = 0;
    char row[128];

    (void)state;
    snprintf(row, sizeof(row), "\"from\":\"port\",\"port\":%u,\"to\":\"probe_ledger\"",
             odeon_ref_slot(odeon_port_ref(flooder)));
    for (unsigned i = 0; i < rounds; i++) {
        struct verdict verdict = { 0 };
        odeon_ref to = draw();

        named +=
            wait_until((flood(to), names(&verdict, "--json top flows --count 1", "flows", row)));
    }
    printf("# check=incidents what=flood named=%u of=%u\n", named, rounds);
    assert_int_equal(named, rounds);
}

/* Behind a message that takes long others wait. One of them at least is a sample, or it is itself;
 * a long one among quick ones of its kind need not be. */
static void test_whose_messages_wait(void **state)
{
    unsigned named = 0;

    (void)state;
    for (unsigned i = 0; i < rounds; i++) {
        odeon_ref slow = draw();
        char command[128], ref[ODEON_REF_TEXT];

        ledger_work(honest, slow, work_type, LONG_NS);
        for (unsigned k = 0; k < 5; k++)
            ledger_work(honest, slow, work_type, 0);
        ledger_settle(honest, slow, ask_type);
        odeon_ref_format(slow, ref);
        snprintf(command, sizeof(command), "--json trace %s --past --slower-than 15ms", ref);
        named += strstr(answer(command), "\"type\":\"probe_ledger\"") != NULL;
    }
    printf("# check=incidents what=waits named=%u of=%u\n", named, rounds);
    assert_int_equal(named, rounds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_which_actor_is_hot, begin, end),
        cmocka_unit_test_setup_teardown(test_who_floods_whom, begin, end),
        cmocka_unit_test_setup_teardown(test_whose_messages_wait, begin, end),
    };
    const char *asked = getenv("ODEON_INCIDENTS");

    if (asked && atoi(asked) > 0)
        rounds = (unsigned)atoi(asked);
    seed = (unsigned)time_ns();
    printf("# seed=%u\n", seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
