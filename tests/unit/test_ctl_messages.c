/* SPDX-License-Identifier: Apache-2.0 */
/* odeonctl message, odeonctl listen, who is sent which message, and what messages are called, with
 * a library that has no service. */
#include <errno.h>
#include <signal.h>

#include "tests/unit/ctl_run.h"

static void test_message_list(void **state)
{
    (void)state;
    assert_int_equal(run("message|list|--json"), CTL_DONE);
    check_has(out, "{\"version\":1,\"messages\":[\n{\"name\":\"counter_add\",\"version\":1,"
                   "\"bytes\":32,\"tail\":false,\"accepting\":2,\"plugins\":[\"counter\"],"
                   "\"user\":null}");
    fake.message_by_user = 1;
    assert_int_equal(run("message|list|--json"), CTL_DONE);
    check_has(out, "\"plugins\":[],\"user\":1000}");
    assert_int_equal(run("message|list"), CTL_DONE);
    check_has(out, "ACCEPTED BY");
    assert_int_equal(run("message|list|counter_add"), CTL_USAGE);
}

static void test_message_show(void **state)
{
    (void)state;
    assert_int_equal(run("message|show|counter_add"), CTL_DONE);
    check_has(out, "Declared by plugins  counter\n");
    check_has(out, "Accepted by types    counter\n");
    check_has(out, "1 more");
    check_has(out, "FIELD   TYPE      OFFSET  BYTES\n"
                   "amount  int64_t        0      8\n"
                   "weight  int64_t        8      8\n"
                   "name    char[16]      16     16\n");
    assert_int_equal(run("message|show|counter_add|1|--json"), CTL_DONE);
    check_has(out, "\"accepting\":2,\"accepted_by\":[\"counter\"],");
    check_has(out, "\"fields\":[{\"name\":\"amount\",\"type\":\"int64_t\",\"offset\":0,"
                   "\"bytes\":8},");
    fake.message_fields = "{ uint32_t number; char text[]; }";
    fake.message_size = 4;
    fake.message_tail = 1;
    assert_int_equal(run("message|show|counter_add"), CTL_DONE);
    check_has(out, "text    char[]         4      -\n");
    fake.message_fields = "{ void *pointer; }";
    assert_int_equal(run("message|show|counter_add"), CTL_DONE);
    check_has(out, "Declaration          { void *pointer; }\n");
    check_has(out, "Not laid out");
    assert_int_equal(run("message|show|counter_add|--json"), CTL_DONE);
    check_has(out, "\"declaration\":\"{ void *pointer; }\",\"fields\":null");
    assert_int_equal(run("message|show|counter_sub"), CTL_REFUSED);
    check_has(err, "cannot show the message 'counter_sub'");
    assert_int_equal(run("message|show|counter_add|2"), CTL_REFUSED);
    assert_int_equal(run("message|show|counter_add|0"), CTL_USAGE);
    check_has(err, "'0' is no version of a message");
}

static unsigned lines_of(const char *text)
{
    unsigned n = 0;

    for (; *text; text++)
        n += *text == '\n';
    return n;
}

/* The words behind the time, which is another one each time. */
static void check_line(const char *words)
{
    check_has(out, "Z 1.7.5 ");
    check_has(out, words);
}

static void test_listen(void **state)
{
    (void)state;
    fake.n_deliveries = 5;
    assert_int_equal(run("listen|--count|3"), CTL_DONE);
    assert_string_equal(err, "listening as 1.3.1\n");
    assert_int_equal(lines_of(out), 3);
    check_line(" counter_value total=42\n");
    /* the rest, and then a signal */
    fake.signal = SIGTERM;
    assert_int_equal(run("listen|screen|--json"), CTL_DONE);
    assert_string_equal(fake.port_name, "screen");
    assert_int_equal(lines_of(out), 3);
    check_has(out, "{\"version\":1,\"listening\":{\"ref\":\"1.3.1\",\"name\":\"screen\"}}\n");
    check_has(out, "\"from\":\"1.7.5\",\"message\":\"counter_value\",\"type\":40,\"bytes\":8,"
                   "\"fields\":{\"total\":42}}}\n");
    assert_string_equal(err, "");

    assert_int_equal(run("listen|total"), CTL_REFUSED);
    check_has(err, "cannot listen as 'total'");
    fake.call_result = -EACCES;
    fake_say("port_open needs the role post; user 1000 has here: observe");
    assert_int_equal(run("listen"), CTL_REFUSED);
    check_has(err, "cannot open a port to listen at: port_open needs the role post");
}

static void test_listen_to_strange_things(void **state)
{
    static const char text[] = "\033[2J\"quoted\"\n";

    (void)state;
    fake.n_deliveries = 1;
    fake.delivery_type = FAKE_UNKNOWN_TYPE;
    assert_int_equal(run("listen"), CTL_DONE);
    check_line(" type-404 (8 bytes)\n");
    fake.n_deliveries = 1;
    assert_int_equal(run("listen|--json"), CTL_DONE);
    check_has(out, "\"message\":null,\"type\":404,\"bytes\":8,\"fields\":null}}\n");
    /* another size than the type has */
    fake.n_deliveries = 1;
    fake.delivery_type = 40;
    fake.delivery_size = 4;
    assert_int_equal(run("listen"), CTL_DONE);
    check_line(" counter_value (4 bytes)\n");
    /* what a terminal would act on */
    fake.n_deliveries = 1;
    fake.answer_name = "said\033[1m";
    fake.answer_fields = "{ char text[]; }";
    fake.answer_size = 0;
    fake.answer_tail = 1;
    fake.delivery = text;
    fake.delivery_size = sizeof(text) - 1;
    assert_int_equal(run("listen"), CTL_DONE);
    check_line(" said?[1m text=\"\\x1b[2J\\\"quoted\\\"\\x0a\"\n");
    assert_null(strchr(out, '\033'));
    fake.n_deliveries = 1;
    assert_int_equal(run("listen|--json"), CTL_DONE);
    check_has(out, "{\"text\":\"\\u001b[2J\\\"quoted\\\"\\n\"}");
    assert_null(strchr(out, '\033'));
}

static void test_listen_to_the_end(void **state)
{
    (void)state;
    fake.n_deliveries = 2;
    fake.receive_result = -EPIPE;
    fake.dropped = 7;
    fake_say("the service is stopping");
    assert_int_equal(run("listen"), CTL_UNREACHABLE);
    assert_int_equal(lines_of(out), 2);
    check_has(err, "nothing more can be received: the service is stopping. See the journal");
    fake.receive_result = 0;
    assert_int_equal(run("listen"), CTL_DONE);
    check_has(err, "7 messages have been dropped: they came faster than they were read");
}

static void test_listen_usage(void **state)
{
    (void)state;
    assert_int_equal(run("listen|a|b"), CTL_USAGE);
    check_has(err, "'b' is one argument too many");
    assert_int_equal(run("listen|--count|0"), CTL_USAGE);
    check_has(err, "not a number of messages");
    assert_int_equal(run("listen|--count|many"), CTL_USAGE);
    check_has(err, "not a number of messages");
}

/* A port's post is refused to the port, which is closed at once: who takes nothing of it is asked
 * for before, and nothing is sent. */
static void test_what_is_sent_with_a_trace_is_taken(void **state)
{
    (void)state;
    assert_int_equal(run("actor|send|7.5|counter_add|--trace|9"), CTL_DONE);
    assert_string_equal(out, "sent counter_add (32 bytes) to 1.7.5\n");
    assert_true(fake.trace == 9);

    fake.trace = 0;
    fake.accepts_other = 1;
    assert_int_equal(run("actor|send|7.5|counter_add|--trace|9"), CTL_REFUSED);
    check_has(err, "cannot send to 7.5: it does not accept 'counter_add'");
    check_has(err, "It accepts: counter_get");
    fake.accepts_nothing = 1;
    assert_int_equal(run("actor|send|7.5|counter_add|--trace|9"), CTL_REFUSED);
    check_has(err,
              "it does not accept 'counter_add'. It accepts nothing, as one does whose plugin");
    fake.accepts_nothing = 0;
    fake.receiver_type = "port";
    assert_int_equal(run("actor|send|7.5|counter_add|--trace|9"), CTL_REFUSED);
    check_has(err, "cannot send to 7.5: it is a client's port, not an actor");
    assert_int_equal(run("actor|send|404.4|counter_add|--trace|9"), CTL_REFUSED);
    check_has(err, "cannot send to 404.4: there is no such actor");
    assert_true(fake.trace == 0);
    /* what a group's members accept is for each of them to say */
    fake.receiver_type = "odeon_group";
    assert_int_equal(run("actor|send|7.5|counter_add|--trace|9"), CTL_DONE);
    assert_true(fake.trace == 9);
    /* who may send and not look is told nothing of the actor */
    fake.receiver_type = "counter";
    fake.show_result = -EACCES;
    assert_int_equal(run("actor|send|7.5|counter_add|--trace|8"), CTL_DONE);
    assert_true(fake.trace == 8);
}

static void expect_sent(unsigned version)
{
    const int64_t older[2] = { 3, 2 }, newer[2] = { 2, 3 };

    assert_int_equal(fake.type, FAKE_TYPE + version);
    assert_memory_equal(fake.payload, version == 1 ? older : newer, sizeof(older));
}

/* A newer version is not for who does not accept it, however well it would fit. */
static void test_the_version_that_is_accepted_is_sent(void **state)
{
    (void)state;
    fake.newer = 2;
    assert_int_equal(run("actor|send|7.5|counter_add|amount=3|weight=2"), CTL_DONE);
    expect_sent(1);
    fake.type = 0;
    assert_int_equal(run("actor|call|7.5|counter_add|amount=3|weight=2"), CTL_DONE);
    assert_int_equal(fake.type, FAKE_TYPE + 1);
    fake.type = 0;
    assert_int_equal(run("actor|send|7.5|counter_add|amount=3|weight=2|--trace|9"), CTL_DONE);
    assert_int_equal(fake.type, FAKE_TYPE + 1);

    fake.receiver_type = "abacus";
    assert_int_equal(run("actor|send|7.5|counter_add|amount=3|weight=2"), CTL_DONE);
    expect_sent(3);
    /* of a group, and to who may not look, it is the newest */
    fake.receiver_type = "odeon_group";
    fake.accepts_other = 1;
    assert_int_equal(run("actor|send|7.5|counter_add|amount=3|weight=2"), CTL_DONE);
    expect_sent(3);
    fake.receiver_type = "counter";
    fake.accepts_other = 0;
    fake.show_result = -EACCES;
    assert_int_equal(run("actor|send|7.5|counter_add|amount=3|weight=2"), CTL_DONE);
    expect_sent(3);
    /* ... who is told what the service has said of it */
    fake.call_result = -EOPNOTSUPP;
    fake_say("actors of type counter do not accept counter_add in version 3");
    assert_int_equal(run("actor|send|7.5|counter_add|amount=3|weight=2"), CTL_REFUSED);
    check_has(err,
              "cannot send to 7.5: actors of type counter do not accept counter_add in version 3");
}

/* Who prints records of an executor that does not answer waits for it once, and not for each type
 * that they are of. */
static void test_names_are_asked_of_who_answers(void **state)
{
    (void)state;
    fake.of_types = true;
    assert_int_equal(run("trace|--past"), CTL_DONE);
    assert_int_equal(fake.n_shown, 3);
    assert_null(strstr(out, "type 2"));
    fake.n_shown = 0;
    fake.show_message_result = -ENOENT;
    assert_int_equal(run("trace|--past"), CTL_DONE);
    assert_int_equal(fake.n_shown, 3);
    fake.n_shown = 0;
    fake.show_message_result = -ETIMEDOUT;
    assert_int_equal(run("trace|--past"), CTL_DONE);
    assert_int_equal(fake.n_shown, 1);
    check_has(out, ": type 20 ran ");
    check_has(out, ": type 22 ran ");
}

/* Whoever loses the service before the answer does not know: what is done twice may do harm. */
static void test_a_lost_answer_is_no_refusal(void **state)
{
    (void)state;
    for (const int *end = (int[]){ -ECONNRESET, -ECONNABORTED, 0 }; *end; end++) {
        fake.call_result = *end;
        assert_int_equal(run("dlq|replay|7"), CTL_UNREACHABLE);
        check_has(err, "It may have been done: see what there is");
        assert_int_equal(run("actor|spawn|counter"), CTL_UNREACHABLE);
        check_has(err, "It may have been done: see what there is");
    }
    fake.call_result = -ESHUTDOWN; /* it has refused */
    assert_int_equal(run("actor|spawn|counter"), CTL_UNREACHABLE);
    check_has(err, "See the journal of odeond, then try again");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_message_list),
        TEST(test_message_show),
        TEST(test_listen),
        TEST(test_listen_to_strange_things),
        TEST(test_listen_to_the_end),
        TEST(test_listen_usage),
        TEST(test_what_is_sent_with_a_trace_is_taken),
        TEST(test_the_version_that_is_accepted_is_sent),
        TEST(test_names_are_asked_of_who_answers),
        TEST(test_a_lost_answer_is_no_refusal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
