/* SPDX-License-Identifier: Apache-2.0 */
/* Words for odeonctl that say nothing, or what nobody knows: none of them may do more than what
 * was meant, and what is told names the word. A library without a service is behind it. */
#include <errno.h>

#include "tests/unit/ctl_run.h"

/* A script whose variable is empty writes it. It ended every actor of the service. */
static void test_no_type_is_not_all_types(void **state)
{
    static const char *const lines[] = { "actor|stop|--type|",
                                         "actor|stop|--type=", "actor|list|--type|",
                                         "dlq|list|--type|", "trace|--past|--type|" };

    (void)state;
    fake.n_actors = 3;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        assert_int_equal(run(lines[i]), CTL_USAGE);
        check_has(err, "--type: it is empty. Write --type TYPE");
        assert_string_equal(out, "");
    }
    assert_true(fake.to == ODEON_NOBODY);
}

static void check_usage(const char *line, const char *says)
{
    if (run(line) != CTL_USAGE || !strstr(err, says))
        fail_msg("%s: '%s'", line, err);
    assert_string_equal(out, "");
}

/* "bash" was refused with "Write bash". */
static void test_completion(void **state)
{
    (void)state;
    check_usage("completion|zsh", "there is none for 'zsh'. Write bash");
    check_usage("completion|bash|zsh", "'zsh' is one argument too many. Write odeonctl completion "
                                       "bash");
    check_usage("completion|names", "of what is missing. Write odeonctl completion names KIND");
}

/* The one short option with a value: there was none of it, it said. */
static void test_short_count_without_number(void **state)
{
    (void)state;
    check_usage("top|-n", "-n: its value is missing. Write -n N");
    check_usage("top|-n3", "Write -n 3");
    check_usage("top|-nx", "-nx: options have long names here");
}

/* Who has set the variable and forgotten was sent to the usual place, which was not looked at. */
static void test_missing_statistics_are_named(void **state)
{
    (void)state;
    fake.stats_result = -ENOENT;
    setenv("ODEON_STATS", "/x/stats", 1);
    assert_int_equal(run("stats"), CTL_UNREACHABLE);
    check_has(err, "no service has left any (/x/stats)");
    assert_int_equal(run("stats|--stats|/y/stats"), CTL_UNREACHABLE);
    check_has(err, "no service has left any (/y/stats)");
    setenv("ODEON_STATS", "", 1);
    assert_int_equal(run("stats"), CTL_UNREACHABLE);
    check_has(err, "no service has left any (" ODEON_STATS_DEFAULT ")");
    assert_int_equal(run("stats|--socket|/z/control.sock"), CTL_UNREACHABLE);
    check_has(err, "no service has left any (/z/stats)");
    setenv("ODEON_SOCKET", "/w/control.sock", 1);
    assert_int_equal(run("stats"), CTL_UNREACHABLE);
    check_has(err, "no service has left any (/w/stats)");
}

/* What looks again and again writes each look at once. Why that failed was forgotten at the end. */
static void test_output_without_room_says_why(void **state)
{
    static const char *const commands[][2] = { { "stats", "0.01" }, { "top", "0.1" } };

    (void)state;
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        char *argv[] = { (char *)"odeonctl", (char *)commands[i][0], (char *)"--count",
                         (char *)"1",        (char *)"--watch",      (char *)commands[i][1] };
        FILE *full = fopen("/dev/full", "we"), *err_file;
        size_t size;

        teardown(NULL);
        err_file = open_memstream(&err, &size);
        assert_non_null(full);
        assert_non_null(err_file);
        assert_int_equal(ctl_run(6, argv, full, err_file, false), CTL_REFUSED);
        fclose(err_file);
        fclose(full);
        check_has(err, "cannot write the output: No space left on device");
    }
}

/* As the manual says of types and messages: the nearest is suggested, and nothing is done. */
static void test_nearest_types_and_messages(void **state)
{
    static const struct {
        const char *line, *says;
    } bad[] = {
        { "actor|list|--type|countr", "there is no actor type 'countr'. Did you mean counter?" },
        { "actor|stop|--type|countr", "there is no actor type 'countr'. Did you mean counter?" },
        { "type|release|countr", "there is no actor type 'countr'. Did you mean counter?" },
        { "message|show|counter_ad",
          "there is no message type 'counter_ad'. Did you mean counter_add?" },
        /* nothing is near: what the service says */
        { "actor|list|--type|x", "cannot list the actors: none such" },
        { "type|release|x", "cannot release x: none such" },
        { "message|show|x", "cannot show the message 'x': none such" },
        { "message|show|counter_add|2", "cannot show the message 'counter_add': none such" },
    };

    (void)state;
    fake.n_actors = 3;
    fake.knows_types = 1;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        fake_say("none such");
        if (run(bad[i].line) != CTL_REFUSED || !strstr(err, bad[i].says))
            fail_msg("%s: '%s'", bad[i].line, err);
    }
    assert_true(fake.to == ODEON_NOBODY);
}

/* Nothing that it named said which nodes there are, and a queue without letters no reason. */
static void test_what_is_allowed_is_said(void **state)
{
    (void)state;
    check_usage("actor|spawn|counter|--node|x", "odeonctl topology says which there are");
    check_usage("actor|spawn|counter|--pinned=x", "odeonctl topology says which there are");
    check_usage("dlq|list|--reason|full", "--reason: there is no reason 'full'. Write one of ");
    check_has(err, " queue-full, ");
    check_has(err, ", suspected");
    check_usage("dlq|list|--reason|suspect", "Did you mean suspected? Write one of ");
    check_usage("dlq|list|--reason|", "Write one of ");
}

/* Not any worker, as without "=". */
static void test_no_worker_is_not_any(void **state)
{
    (void)state;
    check_usage("actor|spawn|counter|--pinned=",
                "--pinned: its value is empty. Write --pinned or --pinned=WORKER");
    assert_string_equal(fake.spawned_type, "");
    assert_int_equal(run("actor|spawn|counter|--pinned"), CTL_DONE);
}

static void test_help_of_a_dead_letter(void **state)
{
    (void)state;
    assert_int_equal(run("help|dlq|show"), CTL_DONE);
    check_has(out, "when its message type describes them, in the version\nthat it was sent in");
    assert_null(strstr(out, "newest"));
}

/* Who asks for documents gets one of everything that is done (ctl.C3). */
static void test_what_is_done_is_a_document(void **state)
{
    (void)state;
    assert_int_equal(run("type|release|counter|--json"), CTL_DONE);
    assert_string_equal(out, "{\"version\":1,\"released\":\"counter\"}\n");
    assert_int_equal(run("client|kick|7|--json"), CTL_DONE);
    assert_string_equal(out, "{\"version\":1,\"kicked\":7}\n");
    assert_int_equal(run("type|release|counter"), CTL_DONE);
    assert_string_equal(out, "");
}

/* Of an empty name the library told its own function's name. */
static void test_nobody_is_named(void **state)
{
    static const char *const lines[] = { "actor|show|",
                                         "actor|send||counter_add",
                                         "actor|call||counter_add",
                                         "actor|stop|",
                                         "group|show|",
                                         "timer|list|--of|",
                                         "monitor|list|--of=",
                                         "dlq|replay|all|--to|",
                                         "trace|--past|" };

    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        check_usage(lines[i], "'' names nobody. Write a reference, or a name");
    check_usage("actor|spawn|", "actor spawn: '' names no type. See odeonctl type list");
    check_usage("listen|", "listen: the name is empty. Write another, or leave it out");
    assert_int_equal(run("actor|stop|nobody"), CTL_REFUSED);
    check_has(err, "nobody: no actor has this name. See odeonctl actor list;");
    assert_int_equal(run("group|show|nobody"), CTL_REFUSED);
    check_has(err, "nobody: no group has this name. See odeonctl group list;");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_no_type_is_not_all_types),     TEST(test_completion),
        TEST(test_short_count_without_number),   TEST(test_missing_statistics_are_named),
        TEST(test_output_without_room_says_why), TEST(test_nearest_types_and_messages),
        TEST(test_what_is_allowed_is_said),      TEST(test_help_of_a_dead_letter),
        TEST(test_what_is_done_is_a_document),   TEST(test_nobody_is_named),
        TEST(test_no_worker_is_not_any),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
