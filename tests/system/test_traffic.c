/* SPDX-License-Identifier: Apache-2.0 */
/* Steering while traffic flows: a client posts all the time, and meanwhile plugins are loaded,
 * listed and refused, actors spawned and sent to from the command line, settings changed, figures
 * watched. The traffic must not notice. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/system/harness.h"
#include "tests/system/numbers.h"
#include "tests/system/probe.h"

static struct service service;
static struct numbers numbers;
static char text[64 * 1024];

static int setup(void **state)
{
    (void)state;
    service_start(&service, (const char *const[]){ SMALL_SERVICE, "--plugin", TEST_PROBE, NULL });
    numbers_start(&numbers, &service, 256);
    numbers_wait(&numbers, 1000);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    numbers_finish(&numbers);
    assert_int_equal(service_stop(&service, SIGTERM), 0);
    assert_true(service_log_has(&service, "every message that was sent has been received"));
    service_end(&service);
    return 0;
}

/* Each test: traffic flowed before, flows behind it. */
static int check_traffic(void **state)
{
    (void)state;
    numbers_wait(&numbers, 500);
    return 0;
}

/* A good change is made again while a worker gets no processor: nothing has been changed then. */
static void expect_ctl(int code, const char *words, const char *said)
{
    int result;

    (void)wait_until((result = ctl(&service, text, sizeof(text), "%s", words)) == code ||
                     code != 0 || !strstr(text, "did not stop within"));
    if (result != code || (said && !strstr(text, said)))
        fail_msg("odeonctl %s: exit status %d (expected %d), expected to read '%s':\n%s", words,
                 result, code, said ? said : "", text);
}

static void test_plugin_load_list_spawn_send(void **state)
{
    (void)state;
    expect_ctl(0, "plugin load '" TEST_PLUGINS "/crasher.so'", NULL);
    expect_ctl(0, "plugin list", "crasher");
    expect_ctl(0, "type list", "crasher");
    expect_ctl(0, "actor spawn crasher --name from-the-cli", NULL);
    expect_ctl(0, "actor list", "from-the-cli");
    expect_ctl(0, "actor send from-the-cli ok", NULL);
    expect_ctl(0, "actor show from-the-cli", "crasher");
    /* a plugin that is refused, while traffic flows */
    expect_ctl(1, "plugin load '" TEST_PLUGINS "/wrong_abi.so'", "abi_major is 3, ours is 2");
    expect_ctl(1, "plugin load '" TEST_PLUGINS "/crasher.so'", "crasher");
    expect_ctl(1, "plugin load relative.so", "relative.so does not exist");
    /* unloading names its blockers, and goes through when they are gone */
    expect_ctl(1, "plugin unload crasher", "1 live actor of type crasher");
    expect_ctl(0, "actor stop from-the-cli", NULL);
    assert_true(wait_until(ctl(&service, text, sizeof(text), "actor show from-the-cli") == 1));
    expect_ctl(0, "plugin unload crasher", NULL);
    assert_int_equal(ctl(&service, text, sizeof(text), "plugin list"), 0);
    assert_null(strstr(text, "crasher"));
}

static void test_send_with_fields(void **state)
{
    struct odeon_client *client = service_connect(&service, "fields");
    struct odeon_port *port = port_open_or_fail(client, 0, 0, false);
    uint32_t ask_type = message_id(client, odeon_message_of(probe_ask));
    struct odeon_delivery reply;
    odeon_ref ledger = spawn(client, "probe_ledger", "books", NULL, 0);

    (void)state;
    expect_ctl(0, "actor send books probe_number n=40", NULL);
    expect_ctl(0, "actor send books probe_number n=0x2 origin=0", NULL);
    assert_int_equal(odeon_port_call(port, ledger, ask_type, NULL, 0, SECONDS(PATIENCE_S), &reply),
                     ODEON_CALL_REPLY);
    assert_int_equal(((const struct probe_told *)reply.data)->count, 2);
    assert_int_equal(((const struct probe_told *)reply.data)->sum, 42);
    odeon_port_release(port);
    /* a tail, to the log */
    expect_ctl(0, "actor send books probe_note level=5 text='said by the command line'", NULL);
    assert_true(wait_until(service_log_has(&service, "said by the command line")));
    /* mistakes */
    expect_ctl(1, "actor send nobody probe_number n=1", "nobody");
    expect_ctl(1, "actor send books no_such_message", "no_such_message");
    assert_int_not_equal(ctl(&service, text, sizeof(text), "actor send books probe_number m=1"), 0);
    assert_non_null(strstr(text, "m"));
    assert_int_not_equal(ctl(&service, text, sizeof(text), "actor send books probe_number n=many"),
                         0);
    assert_non_null(strstr(text, "many"));
    odeon_actor_stop(client, ledger, ODEON_DELETE);
    odeon_client_disconnect(client);
}

static void test_call_prints_the_answer(void **state)
{
    struct odeon_client *client = service_connect(&service, "caller");
    odeon_ref ledger = spawn(client, "probe_ledger", "asked", NULL, 0);

    (void)state;
    expect_ctl(0, "actor send asked probe_number n=7", NULL);
    expect_ctl(0, "actor call asked probe_ask --timeout 300", "probe_told count=1 sum=7 ");
    expect_ctl(0, "--json actor call asked probe_ask --timeout 300",
               "\"answer\":{\"message\":\"probe_told\",\"from\":\"");
    expect_ctl(0, "--json actor call asked probe_ask --timeout 300",
               "\"fields\":{\"count\":1,\"sum\":7,");
    /* how else it can end */
    expect_ctl(5, "actor call asked probe_number n=1 --timeout 0.05",
               "no answer from asked in time");
    expect_ctl(1, "actor call asked no_such_message", "there is no message 'no_such_message'");
    expect_ctl(1, "actor call asked probe_told --timeout 300", "it does not accept 'probe_told'");
    expect_ctl(1, "actor call nobody probe_ask", "no actor has this name");
    expect_ctl(2, "actor call asked probe_ask --timeout 0", "'0' is not a number of seconds");
    expect_ctl(2, "actor call asked probe_ask --timeout 1s", "'1s' is not a number of seconds");
    odeon_actor_stop(client, ledger, ODEON_DELETE);
    odeon_client_disconnect(client);
}

static void test_settings_change(void **state)
{
    static const char *const policies[] = { "none",     "random", "round-robin",   "fullest",
                                            "locality", "share",  "longest-victim" };
    char words[128];

    (void)state;
    for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
        snprintf(words, sizeof(words), "executor set stealing=%s throughput=%zu", policies[i],
                 16 + i);
        expect_ctl(0, words, NULL);
        assert_string_equal(service_state(&service).stealing, policies[i]);
        assert_int_equal(service_state(&service).throughput, 16 + i);
        expect_ctl(0, "executor show", policies[i]);
        numbers_wait(&numbers, 500);
    }
    expect_ctl(1, "executor set stealing=always", "always");
    expect_ctl(1, "executor set throughput=0", "throughput");
    expect_ctl(1, "executor set attempts=4", "attempts cannot be changed while the service runs");
    expect_ctl(1, "executor set no-such-key=4", "no-such-key");
    /* all or nothing */
    expect_ctl(1, "executor set stealing=none throughput=0", NULL);
    assert_string_equal(service_state(&service).stealing, "longest-victim");
}

/* The figure after "name": in the first object called "rates". */
static double rate_of(const char *document, const char *name)
{
    const char *rates = strstr(document, "\"rates\""), *at;
    char quoted[64];

    snprintf(quoted, sizeof(quoted), "\"%s\":", name);
    at = rates ? strstr(rates, quoted) : NULL;
    return at ? strtod(at + strlen(quoted), NULL) : -1;
}

/* On a machine under load nothing may run for all of the 0.2 s: asked until it has. */
static bool rates_are_told(const char *words, const char *policy)
{
    expect_ctl(0, words, policy);
    return rate_of(text, "messages_processed") > 0 && rate_of(text, "gulps") > 0 &&
           rate_of(text, "port_messages") > 0;
}

static void test_stats_follow(void **state)
{
    (void)state;
    expect_ctl(0, "executor set stealing=random", NULL);
    assert_true(wait_until(rates_are_told("--json stats --watch 0.2 --count 1", "\"random\"")));
    expect_ctl(0, "executor set stealing=longest-victim", NULL);
    assert_true(
        wait_until(rates_are_told("--json stats --watch 0.2 --count 2", "\"longest-victim\"")));
    assert_null(strstr(text, "\"random\""));
    expect_ctl(0, "stats --watch 0.2 --count 2 --worker", "W0");
    expect_ctl(0, "stats", "Gulps");
    expect_ctl(0, "client list", "numbers");
    expect_ctl(0, "status", "running");
}

/* The statistics are read without asking the daemon. */
static void test_stats_while_the_daemon_stands_still(void **state)
{
    (void)state;
    process_stop(service.pid);
    bool told =
        wait_until(rates_are_told("--json stats --watch 0.1 --count 1", "\"longest-victim\""));
    kill(service.pid, SIGCONT);
    assert_true(told);
}

static void test_unknown_commands(void **state)
{
    (void)state;
    expect_ctl(2, "frobnicate", "frobnicate");
    expect_ctl(2, "plugin frobnicate", "frobnicate");
    expect_ctl(2, "status --frobnicate", "frobnicate");
    expect_ctl(2, "executor set", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_plugin_load_list_spawn_send, check_traffic),
        cmocka_unit_test_teardown(test_send_with_fields, check_traffic),
        cmocka_unit_test_teardown(test_call_prints_the_answer, check_traffic),
        cmocka_unit_test_teardown(test_settings_change, check_traffic),
        cmocka_unit_test_teardown(test_stats_follow, check_traffic),
        cmocka_unit_test_teardown(test_stats_while_the_daemon_stands_still, check_traffic),
        cmocka_unit_test_teardown(test_unknown_commands, check_traffic),
    };

    return cmocka_run_group_tests_name("traffic", tests, setup, teardown);
}
