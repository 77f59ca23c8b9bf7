/* SPDX-License-Identifier: Apache-2.0 */
/* What commands choose and sum up by themselves, with a library that has no service. */
#include <errno.h>

#include "tests/unit/ctl_run.h"

static unsigned count_of(const char *text, const char *part)
{
    unsigned n = 0;

    for (; (text = strstr(text, part)); text++)
        n++;
    return n;
}

/* Another odeond's file is read anew: its first rate is of two looks at it, too, and not of what
 * happened between opening and reading it. */
static void test_top_over_a_restart(void **state)
{
    static const char rate[] =
        "\"type\":\"counter\",\"plugin\":\"counter\",\"messages_per_second\":";
    const char *at;

    (void)state;
    fake.by_clock = true;
    fake.replaced_at = 3; /* by the second look */
    assert_int_equal(run("top|types|--watch|0.1|--count|3|--json"), CTL_DONE);
    at = out;
    for (unsigned i = 0; i < 3; i++) {
        at = strstr(at, rate);
        assert_non_null(at);
        at += strlen(rate);
        assert_true(strtod(at, NULL) <= 1000 / 0.1);
    }
}

static void test_top(void **state)
{
    static const char *const bad[] = { "top|queues", "top|--sort|size", "top|--watch|0",
                                       "top|--count|0" };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(run(bad[i]), CTL_USAGE);
    check_has(err, "not a number of looks");
    assert_int_equal(run("top|--watch|0.1|--count|1"), CTL_DONE);
    /* sorted by run time; what has run nothing is not there */
    assert_non_null(strstr(out, "slow"));
    assert_true(strstr(out, "slow") < strstr(out, "counter"));
    assert_null(strstr(out, "quiet"));
    assert_non_null(strstr(out, "2.00 k")); /* 1,000 in half a second */
    assert_non_null(strstr(out, "80.0 %"));
    assert_non_null(strstr(out, "2.50 ms"));
    assert_int_equal(run("top|types|--watch|0.1|--count|2|--sort|messages|--json"), CTL_DONE);
    assert_true(strstr(out, "counter") < strstr(out, "\"slow\""));
    assert_int_equal(count_of(out, "\n"), 2); /* a look is a line */
    check_has(out, "\"type\":\"heavy\"");     /* it runs nothing, and has its states */
    check_has(out, "\"failed\":0,\"actors\":2,\"state_bytes\":4096}");
    assert_null(strstr(out, "quiet"));
    assert_non_null(strstr(out, "\"wait_p99_ns\":2500000"));
    check_has(out, "\"timed\":4,\"samples\":0,\"failed\":3,\"actors\":0,\"state_bytes\":0}");
    assert_int_equal(run("top|flows|-n|3|--watch|0.1|--batch|--json"), CTL_DONE);
    assert_int_equal(count_of(out, "\n"), 3);
    assert_int_equal(run("top|users"), CTL_USAGE);
    check_has(err, "'users' is a view for a terminal. odeonctl mem prints it as a table");
    /* of four types one has done nothing: it takes no row */
    assert_int_equal(run("top|types|--watch|0.1|--count|1|--limit|3"), CTL_DONE);
    check_has(out, "heavy");
    assert_int_equal(run("top|actors|--limit|1"), CTL_DONE);
    assert_non_null(strstr(out, "50.0 %"));
    assert_null(strstr(out, "slow"));
    assert_int_equal(run("top|actors|--sort|wait|--json"), CTL_DONE);
    assert_non_null(strstr(out, "\"messages_waiting\":12345"));
    assert_int_equal(run("top|flows"), CTL_DONE);
    assert_non_null(strstr(out, "99.5"));
    fake.call_result = -EACCES;
    fake_say("observe needs the role observe");
    assert_int_equal(run("top"), CTL_REFUSED);
    assert_non_null(strstr(err, "needs the role observe"));
}

static void test_trace(void **state)
{
    static const char *const bad[] = { "trace|--slower-than|5",  "trace|--slower-than|-1ms",
                                       "trace|--slower-than|ms", "trace|--slower-than|1m",
                                       "trace|--count|0",        "trace|one|two",
                                       "trace|--id|0",           "trace|--id|x" };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(run(bad[i]), CTL_USAGE);
    check_has(err, "--id: 'x' is not a number from 1 on");
    assert_int_equal(run("trace|--past"), CTL_DONE);
    assert_int_equal(count_of(out, "\n"), 3);
    check_has(out, ".123456 w1 port ");
    check_has(out, " ran 31 ns, waited 2.500 ms, sent 2, 1 of 130\n");
    check_has(out, " w0 nobody -> red?[31m?m\303\251 ");
    check_has(out, ": init ran 400.000 ms\n");
    assert_int_equal(run("trace|--past|--type|counter|--slower-than|3ms"), CTL_DONE);
    assert_int_equal(count_of(out, "\n"), 1);
    assert_int_equal(run("trace|--past|--slower-than|2.5ms|--json"), CTL_DONE);
    assert_int_equal(count_of(out, "\n"), 3);
    check_has(out, "\"wait_ns\":2500000,\"sends\":2,\"stands_for\":130}}");
    check_has(out, "\"wait_ns\":null");
    assert_int_equal(run("trace|--past|--count|1|--type|counter"), CTL_DONE); /* the last one */
    check_has(out, " counter 1.404.4 -> counter ");
    assert_int_equal(run("trace|--count|4"), CTL_DONE); /* behind what was before */
    assert_int_equal(count_of(out, "\n"), 4);
    check_has(err, "7 were not read in time");
    assert_int_equal(run("trace|--past|--perfetto|/nowhere/at/all"), CTL_REFUSED);
    check_has(err, "cannot write /nowhere/at/all");
    fake.call_result = -EACCES;
    fake_say("observe needs the role observe");
    assert_int_equal(run("trace"), CTL_REFUSED);
    check_has(err, "needs the role observe");
}

static void test_those_that_took_long_once(void **state)
{
    (void)state;
    assert_int_equal(run("trace|--past|--json"), CTL_DONE);
    assert_null(strstr(out, "at_least"));
    fake.at_least = true;
    assert_int_equal(run("trace|--past"), CTL_DONE);
    check_has(out, ": init ran at least 400.000 ms\n");
    assert_int_equal(run("trace|--past|--json"), CTL_DONE);
    assert_int_equal(count_of(out, "\"stands_for\":0,\"at_least\":true}}"), 2);
}

static void test_a_trace_by_its_id(void **state)
{
    (void)state;
    assert_int_equal(run("trace|--id|77"), CTL_REFUSED);
    check_has(err, "no message of trace 77 is kept");
    fake.traced[0] = fake.traced[2] = 77;
    fake.traced[1] = 78;
    assert_int_equal(run("trace|--id|77"), CTL_DONE);
    assert_int_equal(count_of(out, "\n"), 2);
    check_has(out, ".123456 w1 port ");
    check_has(out, " w0   "); /* what it has caused, below it */
    assert_int_equal(run("trace|--id|77|--json"), CTL_DONE);
    check_has(out, "\"stands_for\":130,\"trace\":77,\"depth\":0}}");
    check_has(out, "\"trace\":77,\"depth\":1}}");
    /* they are kept, but not what was asked for */
    assert_int_equal(run("trace|--id|77|--type|nobody"), CTL_REFUSED);
    check_has(err, "none of the 2 messages of trace 77 that are kept is what else is asked for");
    assert_int_equal(run("trace|--id|79|--type|nobody"), CTL_REFUSED);
    check_has(err, "no message of trace 79 is kept");
    assert_int_equal(run("trace|--id|77|--count|1"), CTL_DONE); /* the last one */
    assert_int_equal(count_of(out, "\n"), 1);
    check_has(out, " ran 400.000 ms");
}

static void test_those_that_were_not_run(void **state)
{
    (void)state;
    assert_int_equal(run("trace|--past|--failed"), CTL_DONE);
    assert_string_equal(out, "");
    fake.reason = ODEON_REASON_NOT_ACCEPTED;
    assert_int_equal(run("trace|--past|--failed"), CTL_DONE);
    assert_int_equal(count_of(out, "\n"), 1);
    check_has(out, ": init was not run: not-accepted\n");
    assert_int_equal(run("trace|--past|--failed|--json"), CTL_DONE);
    check_has(out, "\"stands_for\":0,\"refused\":\"not-accepted\"}}");
    assert_int_equal(run("trace|--past"), CTL_DONE);
    assert_int_equal(count_of(out, " ran "), 2);
}

/* By who has sent them: the one client's port, whatever it is called by. */
static void test_those_of_a_client(void **state)
{
    (void)state;
    fake.client_name = "shop";
    assert_int_equal(run("trace|--past|--client|shop"), CTL_DONE);
    assert_int_equal(count_of(out, "\n"), 1);
    check_has(out, ".123456 w1 port ");
    assert_int_equal(run("trace|--past|--client|1"), CTL_DONE);
    assert_int_equal(count_of(out, "\n"), 1);
    assert_int_equal(run("trace|--past|--client|shop|--failed"), CTL_DONE);
    assert_string_equal(out, "");
    assert_int_equal(run("trace|--past|--client|2"), CTL_REFUSED);
    check_has(err, "--client: no client is '2'. See odeonctl client list");
    assert_int_equal(run("trace|--past|--client|shopper"), CTL_REFUSED);
    fake.ports_untold = 1;
    assert_int_equal(run("trace|--past|--client|shop"), CTL_REFUSED);
    check_has(err, "--client: which ports 'shop' has is not told now");
    fake.list_result = fake.call_result = -EACCES;
    assert_int_equal(run("trace|--past|--client|shop"), CTL_REFUSED);
}

static void test_messages_with_a_traces_id(void **state)
{
    (void)state;
    assert_int_equal(run("actor|send|7.5|counter_add|--trace|0"), CTL_USAGE);
    check_has(err, "--trace: '0' is not a number from 1 on");
    assert_int_equal(run("actor|call|7.5|counter_add|--trace|abc"), CTL_USAGE);
    assert_int_equal(run("actor|send|7.5|counter_add|--trace|77"), CTL_DONE);
    check_has(out, "sent counter_add");
    assert_int_equal(fake.trace, 77);
    assert_int_equal(run("actor|call|7.5|counter_add|--trace|78"), CTL_DONE);
    assert_int_equal(fake.trace, 78);
    assert_int_equal(run("actor|call|7.5|counter_add"), CTL_DONE);
    assert_int_equal(fake.trace, 0);
    fake.call_result = -EDQUOT;
    fake_say("as many ports as user 7 may have");
    assert_int_equal(run("actor|send|7.5|counter_add|--trace|77"), CTL_REFUSED);
}

static void test_dead_letters_by_type_and_reason(void **state)
{
    (void)state;
    fake.n_letters = 20;
    assert_int_equal(run("dlq|list|--type|account|--json"), CTL_DONE);
    assert_int_equal(count_of(out, "\"id\":"), 10);
    assert_null(strstr(out, "counter"));
    assert_int_equal(run("dlq|list|--type|account|--reason|quarantined|--json"), CTL_DONE);
    assert_int_equal(count_of(out, "\"id\":"), 3); /* 4, 10, 16 */
    /* cut in the middle of a page: the next one begins behind the last that was shown */
    assert_int_equal(run("dlq|list|--reason|quarantined|--limit|2|--json"), CTL_DONE);
    check_has(out, "{\"id\":4,");
    check_has(out, "\"more\":true,\"next\":5}");
    assert_int_equal(run("dlq|list|--reason|quarantined|--after|5|--limit|1|--json"), CTL_DONE);
    check_has(out, "{\"id\":7,");
    assert_int_equal(run("dlq|list|--reason|quarantine"), CTL_USAGE);
    check_has(err, "Did you mean quarantined?");
    assert_int_equal(run("dlq|list|--summary|--json"), CTL_DONE);
    check_has(out, "{\"letters\":7,\"bytes\":70,\"type\":\"account\",\"message\":\"go\","
                   "\"reason\":\"queue-full\",\"oldest\":\"2023-11-14T22:13:21.000Z\",");
    assert_int_equal(run("dlq|list|--summary|--type|counter|--json"), CTL_DONE);
    assert_null(strstr(out, "account"));
    assert_int_equal(count_of(out, "\"letters\":"), 2);
}

static void test_actors_of_a_type_are_stopped(void **state)
{
    (void)state;
    fake.n_actors = 600; /* three pages */
    assert_int_equal(run("actor|stop|--type|counter|--how|destroy"), CTL_DONE);
    check_has(out, "sent destroy to 600 actors of type counter");
    assert_string_equal(fake.type_filter, "counter");
    assert_int_equal(fake.how, ODEON_DESTROY);
    assert_int_equal(fake.to, actor_ref_make(599, 1));
    assert_int_equal(run("actor|stop|--type|counter|--json"), CTL_DONE);
    check_has(out, "\"stopping\":600,\"gone\":0}");
    assert_int_equal(run("actor|stop|7.5|--type|counter"), CTL_USAGE);
    assert_int_equal(run("actor|stop"), CTL_USAGE);
    check_has(err, "or --type TYPE for all of a type");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_top, setup, teardown),
        cmocka_unit_test_setup_teardown(test_top_over_a_restart, setup, teardown),
        cmocka_unit_test_setup_teardown(test_trace, setup, teardown),
        cmocka_unit_test_setup_teardown(test_those_that_took_long_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_trace_by_its_id, setup, teardown),
        cmocka_unit_test_setup_teardown(test_those_that_were_not_run, setup, teardown),
        cmocka_unit_test_setup_teardown(test_those_of_a_client, setup, teardown),
        cmocka_unit_test_setup_teardown(test_messages_with_a_traces_id, setup, teardown),
        cmocka_unit_test_setup_teardown(test_dead_letters_by_type_and_reason, setup, teardown),
        cmocka_unit_test_setup_teardown(test_actors_of_a_type_are_stopped, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
