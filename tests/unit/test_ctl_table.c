/* SPDX-License-Identifier: Apache-2.0 */
/* odeonctl's table of commands, its parsing, its answers and its exit codes, with a library that
 * has no service. */
#include "client-lib/ctl/ctl.h"
#include "client-lib/ctl/stats_view.h"
#include "client-lib/ctl/suggest.h"
#include "tests/unit/ctl_run.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void test_table_is_sound(void **state)
{
    (void)state;
    for (size_t i = 0; i < command_table_n; i++) {
        const struct command *c = &command_table[i];

        assert_non_null(c->run);
        assert_true(*c->doc && c->doc[strlen(c->doc) - 1] != '.');
        assert_true(c->words_min <= c->words_max);
        assert_int_equal(*c->arguments == '\0', c->words_max == 0);
        assert_ptr_equal(command_find(c->noun, c->verb), c);
        if (i > 0 &&
            /* nouns stand together, and either all or none of their commands have verbs */
            !command_begins_noun(c))
            assert_true(c->verb && c[-1].verb);
        for (size_t k = 0; k + 1 < i; k++)
            if (!strcmp(command_table[k].noun, c->noun))
                assert_string_equal(c[-1].noun, c->noun);
    }
    for (int o = 0; o < OPTION_N; o++)
        assert_non_null(option_table[o].name);
}

static void test_usage_errors(void **state)
{
    static const struct {
        const char *line, *says;
    } bad[] = {
        { "", "no command" },
        { "statz", "Did you mean stats?" },
        { "frobnicate", "there is no such command" },
        { "plugin", "needs a verb. Write one of load, list, unload" },
        { "plugin|lod", "Did you mean load?" },
        { "plugin|explode", "There are load, list, unload" },
        { "plugin|load", "an argument is missing" },
        { "plugin|load|", "path is empty" },
        { "plugin|load|a|b", "'b' is one argument too many" },
        { "status|--sockt|x", "Did you mean --socket?" },
        { "status|--socket", "its value is missing" },
        { "status|--json=yes", "takes no value" },
        { "status|--limit|3", "--limit does not belong to it" },
        { "status|-x", "long names" },
        { "actor|list|--limit|0", "not a number of rows" },
        { "actor|list|--limit|-1", "not a number of rows" },
        { "actor|list|--limit|99999999999999999999", "not a number of rows" },
        { "actor|list|--after|x", "not a key" },
        { "actor|stop|7.5|--how|kill", "delete, destroy or finished" },
        { "actor|stop|7.0", "generations begin at 1" },
        { "actor|spawn|counter|xyz", "hexadecimal" },
        { "actor|spawn|counter|--name|1.2", "written like a reference" },
        { "actor|send|7.5|counter_add|ammount=1", "Did you mean amount?" },
        { "actor|send|7.5|counter_add|amount=1e3", "not a value of amount" },
        { "actor|spawn|counter|--node|x", "not a number of a memory node" },
        { "actor|spawn|counter|--pinned=x", "not a number of a worker" },
        { "actor|spawn|counter|--pinned=4294967295", "not a number of a worker" },
        { "actor|spawn|counter|--pinned|--follow",
          "--pinned and --follow: an actor lives in one place" },
        { "actor|spawn|counter|--follow=1", "takes no value" },
        { "queue|list|--kind|blue", "Write ordinary, pinned, follow, aside or detached" },
        { "queue|list|--type|counter", "--type does not belong to it" },
        { "executor|set|stealing", "KEY=VALUE" },
        { "executor|set|a=1|a=2", "given twice" },
        { "stats|--count|3", "--watch SECONDS" },
        { "stats|--watch|0", "not a number of seconds" },
        { "stats|--watch|nan", "not a number of seconds" },
        { "stats|--watch|1x", "not a number of seconds" },
        { "stats|--watch|1|--count|0", "not a number of intervals" },
        { "completion|zsh", "Write bash" },
        { "help|frobnicate", "no such command" },
        { "help|plugin|frobnicate", "no such verb" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        int code = run(bad[i].line);

        if (code != CTL_USAGE || strncmp(err, "odeonctl: ", 10) != 0 || !strstr(err, bad[i].says))
            fail_msg("%s: %d, '%s'", bad[i].line, code, err);
        if (*out)
            fail_msg("%s: printed '%s'", bad[i].line, out);
    }
}

static void test_exit_codes(void **state)
{
    (void)state;
    fake.connect_result = -ENOENT;
    assert_int_equal(run("status|--socket|/x/y"), CTL_UNREACHABLE);
    check_has(err, "/x/y");
    fake.connect_result = -ECONNREFUSED;
    assert_int_equal(run("actor|list"), CTL_UNREACHABLE);
    check_has(err, ODEON_SOCKET_DEFAULT);
    fake.connect_result = -EACCES;
    assert_int_equal(run("status"), CTL_REFUSED);
    fake.connect_result = -EPROTO;
    fake_say("the service speaks protocol 2, this library 1");
    assert_int_equal(run("status"), CTL_VERSION);
    check_has(err, "protocol 2");

    fake.connect_result = 0;
    fake.call_result = -ECONNRESET;
    assert_int_equal(run("status"), CTL_UNREACHABLE);
    fake.call_result = -ENOSYS;
    assert_int_equal(run("status"), CTL_VERSION);
    fake.call_result = -EBUSY;
    fake_say("3 actors of its type 'counter' live.  Stop them first.");
    assert_int_equal(run("plugin|unload|counter"), CTL_REFUSED);
    check_has(err,
              "cannot unload 'counter': 3 actors of its type 'counter' live.  Stop them first\n");
}

static void test_help_and_version(void **state)
{
    (void)state;
    assert_int_equal(run("--version"), CTL_DONE);
    assert_string_equal(out, "odeonctl " ODEON_VERSION "\n");
    assert_int_equal(run("help"), CTL_DONE);
    for (size_t i = 0; i < command_table_n; i++)
        check_has(out, command_table[i].doc);
    assert_int_equal(run("--help"), CTL_DONE);
    check_has(out, "Exit codes");
    assert_int_equal(run("plugin|--help"), CTL_DONE);
    check_has(out, "unload NAME");
    assert_int_equal(run("actor|send|-h"), CTL_DONE);
    check_has(out, "Usage: odeonctl actor send REF|NAME MESSAGE [FIELD=VALUE...]");
    assert_int_equal(run("help|stats"), CTL_DONE);
    check_has(out, "--watch SECONDS");
    assert_int_equal(run("help|--all"), CTL_DONE);
    check_has(out, "odeonctl plugin unload NAME\n");
    assert_int_equal(fake.n_connects, 0);
}

static void test_completion_knows_every_command(void **state)
{
    (void)state;
    assert_int_equal(run("completion|bash"), CTL_DONE);
    for (size_t i = 0; i < command_table_n; i++) {
        check_has(out, command_table[i].noun);
        if (command_table[i].verb)
            check_has(out, command_table[i].verb);
    }
    check_has(out, "complete -F _odeonctl odeonctl");
}

static void test_suggestions(void **state)
{
    (void)state;
    assert_int_equal(suggest_distance("", "abc"), 3);
    assert_int_equal(suggest_distance("stats", "stats"), 0);
    assert_int_equal(suggest_distance("sttas", "stats"), 1);
    assert_int_equal(suggest_distance("kitten", "sitting"), 3);
}

static void test_paging(void **state)
{
    (void)state;
    fake.n_actors = FAKE_ACTORS;
    assert_int_equal(run("actor|list|--no-legend|--type|counter"), CTL_DONE);
    assert_int_equal(fake.n_pages, 3);
    assert_string_equal(fake.type_filter, "counter");
    check_has(out, "\n1.599.1  counter");
    assert_null(strstr(out, "REF"));

    fake.n_pages = 0;
    assert_int_equal(run("actor|list|--limit|10|--after|100"), CTL_DONE);
    assert_int_equal(fake.n_pages, 1);
    check_has(out, "REF");
    check_has(out, "1.109.1");
    assert_null(strstr(out, "1.110.1"));
    check_has(out, "--after 110");

    assert_int_equal(run("actor|list|--limit|300|--json"), CTL_DONE);
    check_has(out, "{\"version\":1,\"actors\":[\n{\"ref\":\"1.0.1\",\"type\":\"counter\",\"name\":"
                   "\"\",\"state\":"
                   "\"idle\",\"queue\":0,\"worker\":null,"
                   "\"spawned_by\":null,\"kind\":\"ordinary\"},\n");
    check_has(out, "],\"more\":true,\"next\":300}\n");

    fake.n_actors = 0;
    assert_int_equal(run("actor|list"), CTL_DONE);
    check_has(out, "REF");
    assert_int_equal(run("actor|list|--json"), CTL_DONE);
    assert_string_equal(out, "{\"version\":1,\"actors\":[\n],\"more\":false,\"next\":null}\n");

    fake.n_actors = FAKE_ACTORS;
    fake.pages_go_round = 1;
    assert_int_equal(run("actor|list"), CTL_REFUSED);
    check_has(err, "leads back");
}

static void test_strange_names_do_no_harm(void **state)
{
    (void)state;
    fake.client_name = "a\033[2Jb\"\\\n\xff\xc2\x9b";
    assert_int_equal(run("client|list|--json"), CTL_DONE);
    check_has(out, "\"name\":\"a\\u001b[2Jb\\\"\\\\\\n\\ufffd\\u009b\"");
    assert_int_equal(run("client|list"), CTL_DONE);
    assert_null(strchr(out, '\033'));
    fake.call_result = -EBUSY;
    fake_say("blocked by \033[31mred");
    assert_int_equal(run("plugin|unload|counter"), CTL_REFUSED);
    assert_null(strchr(err, '\033'));
}

static void test_status(void **state)
{
    (void)state;
    assert_int_equal(run("--json|status"), CTL_DONE);
    check_has(out, "{\"version\":1,\"status\":{\"state\":\"running\"");
    check_has(out, "\"executor_pid\":null");
    check_has(out, "\"stealing\":\"random\",\"steal_mode\":\"visit\"");
    check_has(
        out,
        "\"reconfigurations\":3,\"reconfigure_last_ns\":84000,\"reconfigure_longest_ns\":2500000");
    check_has(out, "\"control_waits\":4,\"control_turn_longest_ns\":320000,"
                   "\"control_turn_work\":\"request spawn\","
                   "\"supervisor_turn_longest_ns\":410000,"
                   "\"supervisor_turn_work\":\"a connection\"");
    assert_int_equal(run("status"), CTL_DONE);
    check_has(out, "1 min 1 s");
    check_has(out, "320 us");
    assert_null(strchr(out, '\033'));
}

static void test_executor(void **state)
{
    (void)state;
    assert_int_equal(run("executor|set|stealing=random,throughput=64"), CTL_DONE);
    assert_string_equal(fake.settings, "stealing=random;throughput=64;");
    assert_int_equal(run("executor|set|affinity=0-3,8|throughput=1|--json"), CTL_DONE);
    assert_string_equal(fake.settings, "affinity=0-3,8;throughput=1;");
    assert_string_equal(out, "{\"version\":1,\"set\":{\"affinity\":\"0-3,8\",\"throughput\":\"1\"},"
                             "\"pause_ns\":84000,\"moved\":12}\n");
    assert_int_equal(run("executor|set|workers=3|spin-us=7"), CTL_DONE);
    assert_string_equal(out, "workers = 3\nspin-us = 7\npaused 84 us, 12 queues moved\n");
    assert_int_equal(run("executor|show"), CTL_DONE);
    check_has(out, "throughput  64");
    check_has(out, "longest-victim");
    check_has(out, "Reconfigurations: 3; the last paused for 84 us, the longest for 2.500 ms");
    assert_int_equal(run("executor|show|--json"), CTL_DONE);
    check_has(
        out,
        "\"reconfigurations\":3,\"reconfigure_last_ns\":84000,\"reconfigure_longest_ns\":2500000");
    check_has(out, "\"value\":\"64\",\"default\":\"4096\"");

    fake.call_result = -EINVAL;
    fake_say("unknown");
    assert_int_equal(run("executor|set|stealin=none"), CTL_REFUSED);
    check_has(err, "Did you mean stealing?");
    fake_say("stealing: 'x' is no policy. Write none, random or longest-victim");
    assert_int_equal(run("executor|set|stealing=x"), CTL_REFUSED);
    check_has(err, fake.text);
    fake.call_result = -EBUSY;
    fake_say("workers cannot be changed while running");
    assert_int_equal(run("executor|set|workers=3"), CTL_REFUSED);
    check_has(err, "nothing has been set: workers cannot be changed while running");
    /* who loses the service while it is at work cannot say so */
    for (const int *end = (int[]){ -ECONNRESET, -ECONNABORTED, -ETIMEDOUT, 0 }; *end; end++) {
        fake.call_result = *end;
        assert_int_not_equal(run("executor|set|workers=3"), CTL_DONE);
        check_has(err, "it is not known whether it has been set: workers cannot");
    }
}

static void test_plugin(void **state)
{
    (void)state;
    assert_int_equal(run("plugin|load|/x/y.so"), CTL_DONE);
    assert_string_equal(fake.path, "/x/y.so");
    assert_int_equal(run("plugin|load|./y.so"), CTL_DONE);
    assert_int_equal(fake.path[0], '/');
    check_has(fake.path, "/y.so");
    assert_null(strstr(fake.path, "./"));
    assert_int_equal(run("plugin|unload|countr"), CTL_REFUSED);
    check_has(err, "Did you mean counter?");
    assert_int_equal(run("plugin|unload|counter"), CTL_DONE);
    assert_string_equal(out, "unloaded counter\n");
    assert_int_equal(run("plugin|list|--json"), CTL_DONE);
    check_has(out, "\"types\":[\"counter\"]");
}

static void test_actor_send(void **state)
{
    struct {
        int64_t amount, weight;
        char name[16];
    } expected = { -3, 2, "x" };

    (void)state;
    assert_int_equal(run("actor|send|7.5|counter_add|amount=-3|weight=2|name=x"), CTL_DONE);
    assert_string_equal(out, "sent counter_add (32 bytes) to 1.7.5\n");
    assert_true(fake.to == (UINT64_C(5) << 32 | UINT64_C(1) << 24 | 7));
    assert_int_equal(fake.payload_size, sizeof(expected));
    assert_memory_equal(fake.payload, &expected, sizeof(expected));

    fake.to = 0;
    assert_int_equal(run("actor|send|total|counter_add|--json"), CTL_DONE);
    assert_true(fake.to == (UINT64_C(5) << 32 | UINT64_C(1) << 24 | 7));
    check_has(out, "\"to\":\"1.7.5\"");
    assert_int_equal(run("actor|send|nobody|counter_add"), CTL_REFUSED);
    check_has(err, "no actor has this name");
    assert_int_equal(run("actor|send|total|counter_ad"), CTL_REFUSED);
    check_has(err, "Did you mean counter_add?");
    check_has(err, "It accepts: counter_add, counter_get");

    fake.call_result = -ESRCH;
    assert_int_equal(run("actor|send|7.5|counter_add"), CTL_REFUSED);
    check_has(err, "cannot send to 7.5: there is no such actor");
    assert_int_equal(run("actor|stop|7.5"), CTL_REFUSED);
    check_has(err, "cannot stop 7.5");
    fake.call_result = -EOPNOTSUPP;
    assert_int_equal(run("actor|send|7.5|counter_add"), CTL_REFUSED);
    check_has(err, "it does not accept 'counter_add'");
    fake.call_result = 0;

    fake.message_size = 33;
    assert_int_equal(run("actor|send|total|counter_add"), CTL_REFUSED);
    check_has(err, "registered with 33");
    fake.message_fields = "{ uint32_t n; char text[]; }";
    fake.message_size = 4;
    fake.message_tail = 1;
    assert_int_equal(run("actor|send|total|counter_add|text=a b"), CTL_DONE);
    assert_int_equal(fake.payload_size, 7);
    assert_memory_equal(fake.payload, "\0\0\0\0a b", 7);
}

static void test_actor_call(void **state)
{
    (void)state;
    assert_int_equal(run("actor|call|7.5|counter_add|amount=3"), CTL_DONE);
    assert_string_equal(out, "counter_value total=42\n");
    assert_true(fake.call_timeout_ns == INT64_C(10000000000));
    assert_int_equal(run("actor|call|7.5|counter_add|--json|--timeout|0.25"), CTL_DONE);
    assert_string_equal(out, "{\"version\":1,\"answer\":{\"message\":\"counter_value\","
                             "\"from\":\"1.7.5\",\"bytes\":8,\"fields\":{\"total\":42}}}\n");
    assert_true(fake.call_timeout_ns == INT64_C(250000000));

    /* an answer that nobody can name the fields of, and one that would play with the terminal */
    fake.answer_fields = "{ struct deep s; }";
    fake.answer_name = "a\033[2Jb";
    assert_int_equal(run("actor|call|7.5|counter_add"), CTL_DONE);
    assert_null(strchr(out, '\033'));
    check_has(out, "(8 bytes)");
    assert_int_equal(run("actor|call|7.5|counter_add|--json"), CTL_DONE);
    check_has(out, "\"fields\":null");

    fake.outcome = ODEON_CALL_REFUSED;
    assert_int_equal(run("actor|call|7.5|counter_add"), CTL_REFUSED);
    check_has(err, "no answer from 7.5: the message was refused: queue-full");
    fake.outcome = ODEON_CALL_EXPIRED;
    assert_int_equal(run("actor|call|7.5|counter_add"), CTL_NO_ANSWER);
    check_has(err, "no answer from 7.5 in time");
    fake.outcome = ODEON_CALL_CLOSED;
    assert_int_equal(run("actor|call|7.5|counter_add"), CTL_UNREACHABLE);
    assert_int_equal(run("actor|call|7.5|counter_add|--timeout|soon"), CTL_USAGE);
    assert_int_equal(run("actor|call|7.5"), CTL_USAGE);
    fake.call_result = -EDQUOT;
    fake_say("as many ports as user 7 may have");
    assert_int_equal(run("actor|call|7.5|counter_add"), CTL_REFUSED);
    check_has(err, "cannot open a port to call from: as many ports");
}

static void test_actor_spawn_by_fields(void **state)
{
    static const unsigned char both[16] = { [0] = 0xfe, 0xff, 0xff,      0xff, 0xff, 0xff,
                                            0xff,       0xff, [9] = 'a', ' ',  'b' };

    (void)state;
    assert_int_equal(run("actor|spawn|counter|name=a b|start=-2"), CTL_DONE);
    assert_string_equal(out, "1.42.1\n");
    assert_int_equal(fake.payload_size, 16);
    assert_memory_equal(fake.payload, both, 16);
    assert_int_equal(run("actor|spawn|counter"), CTL_DONE);
    assert_int_equal(fake.payload_size, 0);

    assert_int_equal(run("actor|spawn|counter|stert=1"), CTL_USAGE);
    check_has(err, "cannot write the arguments of 'counter'");
    check_has(err, "Did you mean start?");
    assert_int_equal(run("actor|spawn|counter|step=256"), CTL_USAGE);
    check_has(err, "step");
    assert_int_equal(run("actor|spawn|counter|start=1|0102"), CTL_USAGE);
    check_has(err, "FIELD=VALUE");
    assert_int_equal(run("actor|spawn|conter|start=1"), CTL_REFUSED);
    check_has(err, "Did you mean counter?");

    fake.args_size = 17;
    assert_int_equal(run("actor|spawn|counter|start=1"), CTL_REFUSED);
    check_has(err, "registered with 17");
    fake.args_fields = "";
    fake.args_size = 0;
    assert_int_equal(run("actor|spawn|counter|start=1"), CTL_REFUSED);
    check_has(err, "its plugin does not say what it is spawned with. Write its bytes as "
                   "hexadecimal digits");
    fake.type_unloaded = 1;
    assert_int_equal(run("actor|spawn|counter|start=1"), CTL_REFUSED);
    check_has(err, "its plugin is not loaded");
    assert_int_equal(fake.n_leaked, 0);
}

static void test_actor_others(void **state)
{
    (void)state;
    assert_int_equal(run("actor|spawn|counter|--name|c1|0x0102|ff"), CTL_DONE);
    assert_string_equal(out, "1.42.1\n");
    assert_string_equal(fake.spawned_name, "c1");
    assert_int_equal(fake.payload_size, 3);
    assert_int_equal(fake.where.where, ODEON_WHERE_ANY);
    assert_int_equal(run("actor|spawn|counter|--node|1"), CTL_DONE);
    assert_int_equal(fake.where.where, ODEON_WHERE_NODE);
    assert_int_equal(fake.where.node, 1);
    /* its value is never the next word */
    assert_int_equal(run("actor|spawn|--pinned|counter"), CTL_DONE);
    assert_int_equal(fake.where.where, ODEON_WHERE_PINNED);
    assert_true(fake.where.worker == ODEON_WORKER_ANY);
    assert_int_equal(run("actor|spawn|counter|--pinned=3"), CTL_DONE);
    assert_int_equal(fake.where.worker, 3);
    assert_int_equal(run("actor|spawn|counter|--follow"), CTL_DONE);
    assert_int_equal(fake.where.where, ODEON_WHERE_FOLLOW);
    assert_int_equal(run("actor|spawn|counter|--detached"), CTL_DONE);
    assert_int_equal(fake.where.where, ODEON_WHERE_DETACHED);
    assert_int_equal(run("actor|spawn|conter"), CTL_REFUSED);
    check_has(err, "Did you mean counter?");
    assert_int_equal(run("actor|stop|42.1"), CTL_DONE);
    assert_int_equal(fake.how, ODEON_DELETE);
    assert_int_equal(run("actor|stop|total|--how=finished"), CTL_DONE);
    assert_int_equal(fake.how, ODEON_FINISHED);
    assert_int_equal(run("actor|show|total"), CTL_DONE);
    check_has(out, "counter_add, counter_get");
    assert_int_equal(run("actor|show|9.3|--json"), CTL_DONE);
    check_has(out, "\"ref\":\"1.9.3\"");
    check_has(out, "\"kind\":\"pinned\"");
    assert_int_equal(run("actor|show|404.4"), CTL_REFUSED);
    check_has(err, "cannot show 404.4: there is no such actor, it has ended or never was");
    assert_int_equal(run("actor|show|totals"), CTL_REFUSED);
    check_has(err, "totals: no actor has this name");
    assert_int_equal(run("type|list"), CTL_DONE);
    check_has(out, "counter_add, counter_get");
    check_has(out, "{ int64_t start; uint8_t step; char name[7]; }");
    assert_int_equal(run("type|list|--json"), CTL_DONE);
    check_has(out, "\"args_size\":16,"
                   "\"args_fields\":\"{ int64_t start; uint8_t step; char name[7]; }\"");
    check_has(out, "\"actors\":3,\"state_size\":16,\"state_bytes\":48,");
}

static void test_queue(void **state)
{
    (void)state;
    assert_int_equal(run("queue|list|--json|--kind|pinned"), CTL_DONE);
    assert_string_equal(fake.kind_filter, "pinned");
    check_has(out, "{\"version\":1,\"queues\":[\n{\"id\":33,\"kind\":\"pinned\",\"home\":2,"
                   "\"owner\":1,\"bytes\":4096,"
                   "\"urgent_bytes\":96,\"actors\":7,\"retiring\":true,"
                   "\"oldest_ns\":2500000000,\"oldest_to\":\"1.9.3\",\"oldest_name\":\"one\","
                   "\"oldest_type\":\"counter\"}");
    assert_int_equal(run("queue|list"), CTL_DONE);
    assert_string_equal(fake.kind_filter, "");
    check_has(out, "RETIRING");
    check_has(out, "URGENT");
    check_has(out, "4096");
    check_has(out, "2.5 s");
    check_has(out, "1.9.3");
}

static void test_queues_are_sorted(void **state)
{
    (void)state;
    fake.more_queues = 1; /* of the second one nobody knows the oldest, and more waits in it */
    assert_int_equal(run("queue|list|--json|--sort|bytes"), CTL_DONE);
    assert_true(strstr(out, "{\"id\":34,") < strstr(out, "{\"id\":33,"));
    check_has(out, "\"oldest_ns\":null,\"oldest_to\":null,\"oldest_name\":\"\"");
    assert_int_equal(run("queue|list|--json|--sort|wait|--busy"), CTL_DONE);
    assert_true(strstr(out, "{\"id\":33,") < strstr(out, "{\"id\":34,"));
    check_has(out, "\"more\":false");
    assert_int_equal(run("queue|list|--json|--sort|actors"), CTL_DONE); /* equal: as they stand */
    assert_true(strstr(out, "{\"id\":33,") < strstr(out, "{\"id\":34,"));
    assert_int_equal(run("queue|list|--json|--sort|bytes|--limit|1"), CTL_DONE);
    assert_null(strstr(out, "{\"id\":33,"));
    check_has(out, "\"more\":true,\"next\":null");
    assert_int_equal(run("queue|list|--sort|messages"), CTL_USAGE);
    check_has(err, "'messages' is no figure to sort queues by. Write bytes, wait or actors");
    fake.list_result = -EACCES;
    assert_int_equal(run("queue|list|--sort|wait"), CTL_REFUSED);
    check_has(err, "cannot list the queues");
}

static void test_group(void **state)
{
    (void)state;
    assert_int_equal(run("group|list|--json"), CTL_DONE);
    check_has(out, "{\"version\":1,\"groups\":[\n{\"ref\":\"1.7.1\",\"name\":\"prices\","
                   "\"members\":2}");
    assert_int_equal(run("group|show|1.7.1"), CTL_DONE);
    assert_int_equal(fake.to, odeon_ref_make(1, 7, 1));
    check_has(out, "1.8.4");
    assert_int_equal(run("group|show"), CTL_USAGE);
}

static void test_monitor(void **state)
{
    (void)state;
    assert_int_equal(run("monitor|list|--json|--of|1.5.2"), CTL_DONE);
    assert_int_equal(fake.to, odeon_ref_make(1, 5, 2));
    check_has(out, "{\"version\":1,\"monitors\":[\n{\"id\":78,\"watcher\":\"1.5.2\","
                   "\"watched\":\"1.6.3\",\"kind\":\"link\"}");
    assert_int_equal(run("monitor|list"), CTL_DONE);
    assert_int_equal(fake.to, ODEON_NOBODY);
    check_has(out, "WATCHED");
}

static void test_timer(void **state)
{
    (void)state;
    assert_int_equal(run("timer|list|--json|--of|1.5.2"), CTL_DONE);
    assert_int_equal(fake.to, odeon_ref_make(1, 5, 2));
    check_has(out, "{\"version\":1,\"timers\":[\n{\"id\":77,\"owner\":\"1.5.2\",\"to\":\"1.6.3\","
                   "\"message\":\"tick\",\"bytes\":8,\"due_in_ns\":5000000000,"
                   "\"period_ns\":250000,\"clock\":\"monotonic\"}");
    assert_int_equal(run("timer|list"), CTL_DONE);
    assert_int_equal(fake.to, ODEON_NOBODY);
    check_has(out, "DUE IN");
    check_has(out, "250 us");
    assert_int_equal(run("timer|list|--of|1.5.0"), CTL_USAGE);
    check_has(err, "generations begin at 1");
}

static void test_memory(void **state)
{
    (void)state;
    assert_int_equal(run("mem"), CTL_DONE);
    check_has(out, "rings of posts (clients' as well, not in the sum)  1.0 MiB");
    check_has(out, "  of which states of actors");
    check_has(out, "together                                           8.0 MiB");
    check_has(out, "1000        2      3  4 KiB");
    check_has(out, "2 more have 100 B together.");
    assert_int_equal(run("mem|--by|port"), CTL_DONE);
    assert_null(strstr(out, "WAITING"));
    assert_int_equal(run("mem|--json"), CTL_DONE);
    check_has(out, "\"bytes\":8388608,\"shared\":1048576,\"limit\":null");
    check_has(out, "{\"what\":\"states of actors\",\"bytes\":1024,\"of_clients\":false,"
                   "\"within\":true}");
    check_has(out, "\"waiting\":17}");
    assert_int_equal(run("mem|--by|weight"), CTL_USAGE);
}

/* Fields are named when the message type describes what lies there, and only then. */
static void check_dlq_fields(void)
{
    fake.message_fields = "{ uint8_t kind, low, high; }";
    fake.message_size = 3;
    assert_int_equal(run("dlq|show|12"), CTL_DONE);
    check_has(out, "kind=1 low=171 high=255");
    assert_null(strstr(out, "01 ab ff"));
    assert_int_equal(run("dlq|show|12|--hex"), CTL_DONE);
    check_has(out, "kind=1 low=171 high=255");
    check_has(out, "01 ab ff");
    assert_int_equal(run("dlq|show|12|--json"), CTL_DONE);
    check_has(out, "\"fields\":{\"kind\":1,\"low\":171,\"high\":255},\"payload\":\"01 ab ff\"");
    fake.message_fields = "{ uint8_t kind, low; }"; /* not what lies there */
    fake.message_size = 2;
    assert_int_equal(run("dlq|show|12"), CTL_DONE);
    check_has(out, "01 ab ff");
    assert_null(strstr(out, "kind="));
    assert_int_equal(run("dlq|show|12|--json"), CTL_DONE);
    check_has(out, "\"fields\":null,\"payload\":\"01 ab ff\"");
    fake.letter_message = 7; /* which is not the newest of its name */
    fake.answer_fields = "{ uint8_t a, b, c; }";
    fake.answer_size = 3;
    assert_int_equal(run("dlq|show|12"), CTL_DONE);
    check_has(out, "a=1 b=171 c=255");
}

static void test_dlq(void **state)
{
    (void)state;
    assert_int_equal(run("dlq|list|--json"), CTL_DONE);
    check_has(out, "\"dead_letters\":[\n{\"id\":12,\"time\":\"2023-11-14T22:13:20.123Z\",\"to\":"
                   "\"1.9.1\",\"type\":\"counter\",\"message\":\"counter_add\",\"version\":null,"
                   "\"bytes\":3,\"reason\":\"quarantined\",\"attempts\":1,\"from\":null}");
    assert_int_equal(run("dlq|show|12"), CTL_DONE);
    check_has(out, "01 ab ff");
    check_dlq_fields();
    assert_int_equal(run("dlq|show|x"), CTL_USAGE);
    assert_int_equal(run("dlq|show|13"), CTL_REFUSED);
    assert_int_equal(run("dlq|replay|all|--to|7.3"), CTL_DONE);
    assert_int_equal(fake.n_ids, 0);
    assert_int_equal(fake.replay_to, 0x301000007);
    check_has(out, "5 replayed");
    check_has(err, "2 stay: their receivers have ended");
    check_has(err, "1 stay: their receivers' queues are at their limit");
    assert_int_equal(run("dlq|purge|3|12"), CTL_DONE);
    assert_int_equal(fake.n_ids, 2);
    assert_int_equal(fake.last_id, 12);
    assert_int_equal(run("dlq|purge|3|all"), CTL_USAGE);
    assert_int_equal(run("dlq|purge"), CTL_USAGE);
    assert_int_equal(run("dlq|purge|all|--json"), CTL_DONE);
    check_has(out, "\"done\":9");
    assert_int_equal(run("type|release|counter"), CTL_DONE);
    assert_int_equal(run("type|release|other"), CTL_REFUSED);
}

static void test_client(void **state)
{
    (void)state;
    assert_int_equal(run("client|show|7"), CTL_DONE);
    check_has(out, "Client 7, x: process 99, sh, user 1000, roles: post");
    check_has(out, "refused so far: 12");
    check_has(out, "NOT RECEIVED");
    check_has(out, "1.405.4");
    check_has(out, "a queue");
    check_has(out, "1000/s");
    assert_int_equal(run("client|show|7|--json"), CTL_DONE);
    check_has(out,
              "{\"name\":\"ports\",\"client\":2,\"user\":5,\"limit\":64,\"per_second\":false}");
    check_has(out, "{\"name\":\"actors\",\"user\":3,\"per_second\":false}");
    check_has(out, "\"ports\":[{\"id\":3,\"ref\":\"1.405.4\",\"posts\":11,"
                   "\"not_taken_bytes\":64,\"delivered_bytes\":4096,"
                   "\"not_received_bytes\":2048,\"backlog_bytes\":512,\"dropped\":5,\"refused\":2,"
                   "\"waits_for\":\"a queue\"}]");
    fake.traffic_untold = 1;
    assert_int_equal(run("client|show|7|--json"), CTL_DONE);
    check_has(out, "\"dropped\":5,\"waits_for\"");
    assert_int_equal(run("client|show|8"), CTL_REFUSED);
    assert_int_equal(run("client|show|seven"), CTL_USAGE);
    assert_int_equal(run("client|kick|7"), CTL_DONE);
    assert_int_equal(run("client|kick|8"), CTL_REFUSED);
    assert_int_equal(run("client|kick|0"), CTL_USAGE);
}

static void test_traffic(void **state)
{
    (void)state;
    assert_int_equal(run("client|traffic"), CTL_DONE);
    check_has(out, "1.50 us");
    check_has(out, "9.00 us");
    assert_int_equal(run("client|traffic|--json"), CTL_DONE);
    check_has(out, "\"posts\":17,\"refused\":0,\"dropped\":0,\"calls_answered\":5,"
                   "\"calls_refused\":0,\"calls_late\":0,\"call_p50_ns\":1500,"
                   "\"call_p99_ns\":9000,\"call_most_ns\":9100}");
    assert_int_equal(run("user|list|--json"), CTL_DONE);
    check_has(out, "{\"uid\":1000,\"clients\":2,\"ports\":3,\"refusals\":4,\"posts\":17,"
                   "\"refused\":1,\"dropped\":2,\"calls_answered\":0,");
    check_has(out, "\"call_p50_ns\":null"); /* of none */
    fake.traffic_untold = 1;                /* what is not known is not 0 */
    assert_int_equal(run("client|traffic|--json"), CTL_DONE);
    check_has(out, "\"posts\":null,\"refused\":null,");
    check_has(out, "\"calls_answered\":null,");
}

/* A process id that nobody has: a child's that has been waited for. */
static uint32_t dead_process(void)
{
    pid_t child = fork();

    if (child == 0)
        _exit(0);
    assert_true(child > 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    return (uint32_t)child;
}

static void test_stats(void **state)
{
    (void)state;
    fake.value[0] = 1234567;
    fake.value[5] = 77;
    assert_int_equal(run("stats|--socket|/a/b/control.sock"), CTL_DONE);
    assert_string_equal(fake.path, "/a/b/stats");
    assert_int_equal(fake.n_connects, 0); /* nobody is asked */
    check_has(out, "Gulps");
    check_has(out, "1234567");
    check_has(out, "from_the_future");
    check_has(out, "2.50");
    assert_null(strstr(out, "last figures"));
    assert_int_equal(run("stats|--worker|--stats|/x"), CTL_DONE);
    assert_string_equal(fake.path, "/x");
    check_has(out, "stealing random, visit");
    check_has(out, "CONTROL");
    check_has(out, "parked");

    fake.state = "executor-down";
    assert_int_equal(run("stats"), CTL_DONE);
    check_has(out, "executor is down");
    fake.state = "running";
    fake.executor_pid = dead_process();
    assert_int_equal(run("stats"), CTL_DONE);
    check_has(out, "executor is down");
    fake.supervisor_pid = fake.executor_pid; /* killed: it could not write that it stops */
    assert_int_equal(run("stats"), CTL_DONE);
    check_has(out, "service is down");
    assert_int_equal(run("stats|--json|--worker"), CTL_DONE);
    check_has(out, "\"supervisor_running\":false");
    check_has(out, "\"gulps\":1234567");
    check_has(out, "\"boots\":2");
    check_has(out, "\"steal_mode\":\"visit\"");
    check_has(out, "\"reconfigurations\":3");
    check_has(out, "\"id\":2,\"control\":true,\"cpu\":null");

    fake.stats_result = -ENOENT;
    assert_int_equal(run("stats"), CTL_UNREACHABLE);
    fake.stats_result = -EPROTO;
    assert_int_equal(run("stats"), CTL_VERSION);
}

static void test_stats_watch(void **state)
{
    unsigned lines = 0;

    (void)state;
    fake.growth = 10;
    assert_int_equal(run("stats|--watch|0.02|--count|3|--json"), CTL_DONE);
    for (const char *c = out; *c; c++)
        lines += *c == '\n';
    assert_int_equal(lines, 3);
    check_has(out, "\"average_gulp_size\":1,"); /* as many messages as gulps in each interval */
    assert_int_equal(run("stats|--watch=0.02|--count=2"), CTL_DONE);
    check_has(out, "GULPS/S");
    lines = 0;
    for (const char *c = out; *c; c++)
        lines += *c == '\n';
    assert_int_equal(lines, 3);
    assert_int_equal(run("stats|--watch|0.01|--count|1|--worker|--no-legend"), CTL_DONE);
    assert_null(strstr(out, "GULPS/S"));
    check_has(out, "control");
}

/* More workers, or fewer: each is held against itself, and the control thread is the last. */
static void test_workers_that_come_and_go(void **state)
{
    struct snapshot_figure gulps = { .name = "gulps", .kind = ODEON_STATS_COUNTER };
    double few_values[] = { 0, 10, 20, 30 }, many_values[] = { 0, 11, 22, 5e6, 6e6, 33 };
    const struct snapshot few = { .n = 1, .n_workers = 3, .figures = &gulps, .values = few_values },
                          many = {
                              .n = 1, .n_workers = 5, .figures = &gulps, .values = many_values
                          };

    (void)state;
    assert_true(snapshot_difference(&many, &few, 0, 0) == 1);
    assert_true(snapshot_difference(&many, &few, 1, 0) == 2);
    assert_true(snapshot_difference(&many, &few, 2, 0) == 0);
    assert_true(snapshot_difference(&many, &few, 3, 0) == 0);
    assert_true(snapshot_difference(&many, &few, 4, 0) == 3);
    few_values[3] = 40;
    assert_true(snapshot_difference(&few, &many, 2, 0) == 7);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_table_is_sound),
        TEST(test_usage_errors),
        TEST(test_exit_codes),
        TEST(test_help_and_version),
        TEST(test_completion_knows_every_command),
        TEST(test_suggestions),
        TEST(test_paging),
        TEST(test_strange_names_do_no_harm),
        TEST(test_status),
        TEST(test_executor),
        TEST(test_plugin),
        TEST(test_actor_send),
        TEST(test_actor_call),
        TEST(test_actor_spawn_by_fields),
        TEST(test_actor_others),
        TEST(test_queue),
        TEST(test_queues_are_sorted),
        TEST(test_monitor),
        TEST(test_group),
        TEST(test_timer),
        TEST(test_memory),
        TEST(test_dlq),
        TEST(test_client),
        TEST(test_traffic),
        TEST(test_stats),
        TEST(test_stats_watch),
        TEST(test_workers_that_come_and_go),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
