/* SPDX-License-Identifier: Apache-2.0 */
/* <odeon/test.h>, its failures included.  Arguments: plugins' files, the counter's, and that of
 * world_plugin.c. */
#include <odeon/test.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "docs/examples/counter/counter.h"
#include "world_plugin.h"

#define SECOND_NS UINT64_C(1000000000)

ODEON_STATE(tally, { int64_t total; });

static const char *counter_file, *world_file;

static struct odeon_test *open_seeded(uint64_t seed)
{
    return odeon_test_open(.plugin = &odeon_plugin_descriptor, .seed = seed, .workers = 3);
}

/* The text of a failure, without the place, which has to be in this file. */
static const char *failure(void (*function)(void *userdata), void *userdata)
{
    static char text[1000];
    assert_int_equal(odeon_test_catch(function, userdata, text, sizeof(text)), 1);
    const char *place = strstr(text, "test_world.c:");
    assert_non_null(place);
    const char *what = strchr(place + strlen("test_world.c:"), ':');
    assert_non_null(what);
    return what + 2;
}

/* ---- messages */

static void test_replies(void **state)
{
    (void)state;
    struct odeon_test *world = open_seeded(1);
    tally_ref tally = odeon_test_spawn(world, tally, .name = "sum");
    odeon_test_send(world, tally, tally_add, .amount = 3);
    odeon_test_send(world, tally, tally_add, .amount = 4);
    odeon_test_signal(world, tally, tally_get);
    assert_int_equal(odeon_test_expect(world, tally_value, .total = 7)->total, 7);
    odeon_test_expect_none(world);
    assert_true(odeon_test_lookup(world, "sum") == tally.ref);
    assert_true(odeon_test_lookup(world, "product") == ODEON_NOBODY);
    assert_int_equal(odeon_test_state(world, tally, tally)->total, 7);
    odeon_test_close(world);
}

static void test_ports(void **state)
{
    (void)state;
    struct odeon_test *world =
        odeon_test_open(.plugin = &odeon_plugin_descriptor, .ports = 2, .seed = 5);
    tally_ref tally = odeon_test_spawn(world, tally);
    listener_ref listener = odeon_test_spawn(world, listener);
    odeon_test_signal_from(world, 1, tally, tally_get);
    odeon_test_send_from(world, 1, listener, listener_hears, .number = 9,
                         .port = odeon_test_port_ref(world, 0));
    odeon_test_expect_from(world, 1, tally_value, .total = 0);
    odeon_test_expect(world, tally_value, .total = 9);
    odeon_test_expect_none(world);
    odeon_test_close(world);
}

/* What behaviours see of a trace; once with a crash, which is at another moment with each seed. */
static void traces(uint64_t seed)
{
    enum { ID = 4711, TOLD = 5 };
    struct odeon_test *world =
        odeon_test_open(.plugin = &odeon_plugin_descriptor, .seed = seed, .crashes = 1);
    odeon_ref port = odeon_test_port_ref(world, 0);
    tracer_ref first = odeon_test_spawn(world, tracer), second = odeon_test_spawn(world, tracer);
    unsigned of_id = 0;

    odeon_test_send(world, first, tracer_tell, .port = port, .next = second.ref);
    odeon_test_traced(world, 0, ID);
    odeon_test_send(world, first, tracer_tell, .port = port, .next = second.ref);
    odeon_test_traced(world, 0, 0);
    odeon_test_send(world, first, tracer_tell, .port = port);
    for (unsigned i = 0; i < TOLD; i++) {
        uint64_t trace = odeon_test_expect_type(world, tracer_told)->trace;
        assert_true(trace == 0 || trace == ID);
        of_id += trace == ID;
    }
    assert_int_equal(of_id, 2);
    odeon_test_expect_none(world);
    odeon_test_close(world);
}

static void test_traces(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++)
        traces(seed);
}

static void expects_what_does_not_come(void *world)
{
    odeon_test_expect((struct odeon_test *)world, tally_value, .total = 7);
}

static void test_missing(void **state)
{
    (void)state;
    struct odeon_test *world = open_seeded(1);
    assert_string_equal(
        failure(expects_what_does_not_come, world),
        "expected tally_value redelivered=0 attempts=0 total=7 at port 0, and nothing has "
        "come");
    odeon_test_close(world);
}

static void expects_another_type(void *world)
{
    odeon_test_expect_type((struct odeon_test *)world, alarm_rang);
}

static void test_another(void **state)
{
    (void)state;
    struct odeon_test *world = open_seeded(1);
    tally_ref tally = odeon_test_spawn(world, tally);
    odeon_test_signal(world, tally, tally_get);
    assert_string_equal(
        failure(expects_what_does_not_come, world),
        "expected tally_value redelivered=0 attempts=0 total=7 at port 0, and tally_value "
        "redelivered=0 attempts=0 total=0 has come");
    assert_string_equal(failure(expects_another_type, world),
                        "expected alarm_rang at port 0, and tally_value redelivered=0 attempts=0 "
                        "total=0 has come");
    odeon_test_expect_type(world, tally_value);
    odeon_test_close(world);
}

static void expects_none(void *world)
{
    odeon_test_expect_none((struct odeon_test *)world);
}

static void test_unexpected(void **state)
{
    (void)state;
    struct odeon_test *world = open_seeded(1);
    tally_ref tally = odeon_test_spawn(world, tally);
    odeon_test_signal(world, tally, tally_get);
    assert_string_equal(
        failure(expects_none, world),
        "expected no message, and tally_value redelivered=0 attempts=0 total=0 has come to "
        "port 0");
    odeon_test_close(world);
}

/* Padding is nobody's field. */
static void test_compares_fields(void **state)
{
    (void)state;
    struct odeon_test *world = open_seeded(1);
    tally_ref tally = odeon_test_spawn(world, tally);
    struct tally_value wanted;
    memset(&wanted, 0xff, sizeof(wanted));
    wanted.redelivered = wanted.attempts = 0;
    wanted.total = 0;
    odeon_test_signal(world, tally, tally_get);
    odeon_test_expect_at(world, 0, odeon_message_of(tally_value), &wanted, sizeof(wanted), __FILE__,
                         __LINE__);
    odeon_test_close(world);
}

static struct odeon_refusal receive_refusal(struct odeon_test *world)
{
    struct odeon_test_message got;
    struct odeon_refusal refusal;
    assert_int_equal(odeon_test_receive(world, 0, &got), 1);
    assert_int_equal(got.type, ODEON_MSG_REFUSAL);
    assert_string_equal(got.name, "odeon_refusal");
    assert_int_equal(got.size, sizeof(refusal));
    memcpy(&refusal, got.payload, sizeof(refusal));
    return refusal;
}

static void test_refused(void **state)
{
    (void)state;
    struct odeon_test *world = open_seeded(1);
    tally_ref tally = odeon_test_spawn(world, tally);
    odeon_test_stop(world, tally.ref, ODEON_DELETE);
    odeon_test_until_idle(world);
    assert_int_equal(odeon_test_lives(world, tally.ref), 0);
    assert_null(odeon_test_state(world, tally, tally));
    odeon_test_post_at(world, 0, tally.ref, odeon_message_of(tally_get), NULL, 0, 77, __FILE__,
                       __LINE__);
    struct odeon_refusal refusal = receive_refusal(world);
    assert_int_equal(refusal.correlation, 77);
    assert_int_equal(refusal.reason, ODEON_REASON_NO_SUCH_ACTOR);
    odeon_test_close(world);
}

static void spawns_what_is_none(void *world)
{
    odeon_test_spawn_at((struct odeon_test *)world, "nobody", NULL, __FILE__, __LINE__);
}

static void opens_another(void *world)
{
    (void)world;
    (void)odeon_test_open(.plugin = &odeon_plugin_descriptor);
}

static void opens_without_a_plugin(void *world)
{
    (void)world;
    (void)odeon_test_open(.plugin_file = "/nonexistent/plugin.so");
}

static void test_wrong_wishes(void **state)
{
    (void)state;
    struct odeon_test *world = open_seeded(1);
    assert_string_equal(failure(spawns_what_is_none, world),
                        "there is no actor type nobody in the plugin");
    assert_string_equal(failure(opens_another, world), "another world is open");
    odeon_test_close(world);
    assert_non_null(strstr(failure(opens_without_a_plugin, NULL),
                           "plugin /nonexistent/plugin.so cannot be read"));
    world = open_seeded(1); /* it is none that is in the way */
    odeon_test_close(world);
}

static void runs_for_ever(void *world)
{
    odeon_test_expect_none((struct odeon_test *)world);
}

static void test_endless(void **state)
{
    (void)state;
    struct odeon_test *world =
        odeon_test_open(.plugin = &odeon_plugin_descriptor, .steps_max = 100000);
    endless_ref endless = odeon_test_spawn(world, endless);
    odeon_test_signal(world, endless, endless_go);
    assert_non_null(strstr(failure(runs_for_ever, world), "livelock: no end after"));
    odeon_test_close(world);
}

/* ---- time */

static void test_time(void **state)
{
    (void)state;
    struct odeon_test *world = open_seeded(3);
    alarm_ref alarm = odeon_test_spawn(world, alarm);
    uint64_t began = odeon_test_now_ns(world);
    odeon_test_send(world, alarm, alarm_set, .delay_ns = 3600 * SECOND_NS);
    odeon_test_expect_none(world);
    assert_true(odeon_test_now_ns(world) == began);
    odeon_test_advance(world, 3600 * SECOND_NS - 1);
    odeon_test_expect_none(world);
    odeon_test_advance(world, 1);
    odeon_test_expect(world, alarm_rang, .at_ns = began + 3600 * SECOND_NS);
    odeon_test_close(world);
}

static void test_periods(void **state)
{
    (void)state;
    struct odeon_test *world = open_seeded(4);
    alarm_ref alarm = odeon_test_spawn(world, alarm);
    uint64_t began = odeon_test_now_ns(world);
    odeon_test_send(world, alarm, alarm_set, .period_ns = SECOND_NS);
    odeon_test_advance(world, 3 * SECOND_NS + SECOND_NS / 2);
    for (uint64_t i = 1; i <= 3; i++)
        odeon_test_expect(world, alarm_rang, .at_ns = began + i * SECOND_NS);
    odeon_test_expect_none(world);
    odeon_test_crash_now(world);
    odeon_test_advance(world, SECOND_NS);
    odeon_test_expect(world, alarm_rang, .at_ns = began + 4 * SECOND_NS);
    odeon_test_expect_none(world);
    odeon_test_close(world);
}

/* ---- crashes */

static int64_t total_behind(const char *type, enum odeon_test_crash where)
{
    struct odeon_test *world = open_seeded(11);
    tally_ref tally = odeon_as(tally, odeon_test_spawn_at(world, type, NULL, __FILE__, __LINE__));
    odeon_test_send(world, tally, tally_add, .amount = 1);
    odeon_test_send(world, tally, tally_add, .amount = 10);
    odeon_test_send(world, tally, tally_add, .amount = 100);
    odeon_test_crash(world, tally_add, 2, where);
    odeon_test_until_idle(world);
    assert_int_equal(odeon_test_crashes(world), 1);
    odeon_test_signal(world, tally, tally_get);
    int64_t total = odeon_test_expect_type(world, tally_value)->total;
    odeon_test_expect_none(world);
    odeon_test_close(world);
    return total;
}

static void test_crashes(void **state)
{
    (void)state;
    /* What was there is gone, and what was not committed comes again. */
    assert_int_equal(total_behind("tally", ODEON_TEST_BEFORE), 110);
    assert_int_equal(total_behind("tally", ODEON_TEST_BEHIND), 110);
    assert_int_equal(total_behind("tally", ODEON_TEST_COMMITTED), 100);
    assert_int_equal(total_behind("tally", ODEON_TEST_FAULT), 110);
    for (int where = ODEON_TEST_BEFORE; where <= ODEON_TEST_FAULT; where++)
        assert_int_equal(total_behind("kept_tally", (enum odeon_test_crash)where), 111);
}

static void test_redelivered(void **state)
{
    (void)state;
    struct odeon_test *world = open_seeded(12);
    tally_ref tally = odeon_test_spawn(world, tally);
    odeon_test_signal(world, tally, tally_get);
    odeon_test_crash(world, tally_get, 1, ODEON_TEST_BEHIND);
    odeon_test_expect(world, tally_value, .redelivered = 1);
    odeon_test_signal(world, tally, tally_get);
    odeon_test_crash(world, tally_get, 1, ODEON_TEST_BEFORE);
    odeon_test_expect(world, tally_value, .redelivered = 1);
    odeon_test_signal(world, tally, tally_get);
    odeon_test_crash(world, tally_get, 1, ODEON_TEST_FAULT);
    odeon_test_expect(world, tally_value, .redelivered = 1, .attempts = 1);
    odeon_test_signal(world, tally, tally_get);
    odeon_test_crash(world, tally_get, 1, ODEON_TEST_COMMITTED);
    odeon_test_expect(world, tally_value, .redelivered = 0);
    odeon_test_expect_none(world);
    assert_int_equal(odeon_test_crashes(world), 4);
    odeon_test_close(world);
}

static void test_stops(void **state)
{
    (void)state;
    struct odeon_test *world = open_seeded(13);
    stopped_tally_ref tally = odeon_test_spawn(world, stopped_tally);
    odeon_test_send(world, tally, tally_add, .amount = 1);
    odeon_test_until_idle(world);
    assert_int_equal(odeon_test_lives(world, tally.ref), 1);
    odeon_test_crash_now(world);
    assert_int_equal(odeon_test_lives(world, tally.ref), 0);
    odeon_test_close(world);
}

static void test_faults(void **state)
{
    (void)state;
    struct odeon_test *world = open_seeded(14);
    tally_ref tally = odeon_test_spawn(world, tally);
    odeon_test_send(world, tally, tally_add, .amount = 1);
    odeon_test_send(world, tally, tally_add, .amount = 10);
    odeon_test_crash(world, tally_add, 1, ODEON_TEST_FAULT_EACH);
    odeon_test_signal(world, tally, tally_get);
    assert_int_equal(receive_refusal(world).reason, ODEON_REASON_ATTEMPTS);
    odeon_test_expect(world, tally_value, .total = 10);
    odeon_test_expect_none(world);
    assert_int_equal(odeon_test_crashes(world), 3);
    assert_int_equal(odeon_test_dead_letters(world), 0);
    /* what an actor has sent, nobody is told of */
    relay_ref relay = odeon_test_spawn(world, relay);
    listener_ref listener = odeon_test_spawn(world, listener);
    odeon_test_send(world, relay, relay_pass, .to = listener.ref);
    odeon_test_crash(world, listener_hears, 1, ODEON_TEST_FAULT_EACH);
    odeon_test_expect_none(world);
    assert_int_equal(odeon_test_crashes(world), 6);
    assert_int_equal(odeon_test_dead_letters(world), 1);
    odeon_test_close(world);
}

/* A crash that is due when the world is closed, or has been since a request before, is no reason to
 * wait: it happens, and the end goes on. */
static void crashes_at_the_end(uint64_t seed, enum odeon_test_crash where, bool asks)
{
    struct odeon_test *world = open_seeded(seed);
    kept_tally_ref tally = odeon_test_spawn(world, kept_tally);
    odeon_test_send(world, tally, tally_add, .amount = 1);
    odeon_test_signal(world, tally, tally_get);
    odeon_test_crash(world, tally_add, 1, where);
    if (asks)
        odeon_test_spawn(world, tally);
    odeon_test_close(world);
}

static void test_crashes_at_the_end(void **state)
{
    (void)state;
    for (int where = ODEON_TEST_BEFORE; where <= ODEON_TEST_FAULT_EACH; where++)
        for (uint64_t seed = 1; seed <= 20; seed++)
            crashes_at_the_end(seed, (enum odeon_test_crash)where, seed % 2 == 0);
}

static void test_many_dead_letters(void **state)
{
    enum { LETTERS = 3000 };
    (void)state;
    struct odeon_test *world = open_seeded(15);
    relay_ref relay = odeon_test_spawn(world, relay);
    listener_ref listener = odeon_test_spawn(world, listener);
    odeon_test_stop(world, listener.ref, ODEON_DELETE);
    odeon_test_expect_none(world);
    for (unsigned i = 0; i < LETTERS; i++)
        odeon_test_send(world, relay, relay_pass, .to = listener.ref);
    odeon_test_expect_none(world);
    assert_int_equal(odeon_test_dead_letters(world), LETTERS);
    odeon_test_close(world);
}

/* ---- schedules */

static uint64_t trace_of(uint64_t seed, uint32_t crashes, uint32_t *ret_crashes)
{
    struct odeon_test *world = odeon_test_open(.plugin = &odeon_plugin_descriptor, .seed = seed,
                                               .workers = 3, .crashes = crashes);
    kept_tally_ref tally = odeon_test_spawn(world, kept_tally);
    /* under way when it crashes, and made once all the same */
    for (const char *name = "a\0b\0c\0d\0e\0f\0g\0h\0"; *name; name += 2)
        odeon_test_spawn(world, tally, .name = name);
    for (int i = 0; i < 20; i++)
        odeon_test_send(world, tally, tally_add, .amount = i);
    odeon_test_signal(world, tally, tally_get);
    assert_int_equal(odeon_test_expect_type(world, tally_value)->total, 190);
    odeon_test_expect_none(world);
    uint64_t trace = odeon_test_trace(world);
    *ret_crashes += odeon_test_crashes(world);
    odeon_test_close(world);
    return trace;
}

static void test_same_seed(void **state)
{
    (void)state;
    uint32_t crashes = 0, again = 0;
    for (uint64_t seed = 1; seed <= 60; seed++)
        assert_true(trace_of(seed, 3, &crashes) == trace_of(seed, 3, &again));
    assert_int_equal(crashes, again);
    assert_true(crashes > 0);
    assert_true(trace_of(1, 0, &crashes) != trace_of(2, 0, &crashes));
}

/* Two numbers take two ways, of which either may be the faster one. */
static struct odeon_test *order_world;

static void in_order(void *seed)
{
    struct odeon_test *world =
        odeon_test_open(.plugin = &odeon_plugin_descriptor, .seed = *(uint64_t *)seed);
    order_world = world;
    relay_ref relays[2] = { odeon_test_spawn(world, relay), odeon_test_spawn(world, relay) };
    listener_ref listener = odeon_test_spawn(world, listener);
    for (int i = 0; i < 2; i++)
        odeon_test_send(world, relays[i], relay_pass, .to = listener.ref, .number = i + 1,
                        .port = odeon_test_port_ref(world, 0));
    odeon_test_expect(world, tally_value, .total = 1);
    odeon_test_expect(world, tally_value, .total = 2);
}

static void test_finds_orders(void **state)
{
    (void)state;
    char text[500], again[500];
    unsigned orders[2] = { 0 };
    for (uint64_t seed = 1; seed <= 200; seed++) {
        int failed = odeon_test_catch(in_order, &seed, text, sizeof(text));
        orders[failed]++;
        odeon_test_close(order_world);
        assert_int_equal(odeon_test_catch(in_order, &seed, again, sizeof(again)), failed);
        odeon_test_close(order_world);
        assert_string_equal(text, again);
    }
    assert_true(orders[0] > 0 && orders[1] > 0);
}

/* ---- a plugin that ends the process */

static void dies(struct odeon_test *world, void *how)
{
    deadly_ref deadly = odeon_test_spawn(world, deadly);
    odeon_test_send(world, deadly, deadly_end, .how = *(uint8_t *)how);
    odeon_test_until_idle(world);
}

/* What a process that explores writes, both ways; it has to come to a bad end. */
static void last_words(uint8_t how, char *text, size_t size)
{
    int ends[2], status;
    ssize_t n;
    size_t at = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        signal(SIGABRT, SIG_DFL); /* the framework's */
        signal(SIGSEGV, SIG_DFL);
        prctl(PR_SET_DUMPABLE, 0);
        odeon_test_explore(5, dies, &how, .plugin = &odeon_plugin_descriptor, .seed = 7);
        _exit(0);
    }
    close(ends[1]);
    while ((n = read(ends[0], text + at, size - 1 - at)) > 0)
        at += (size_t)n;
    text[at] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) != 0); /* a sanitizer exits */
}

static void test_deadly(void **state)
{
    (void)state;
    char text[4000];
    for (uint8_t how = 0; how < 4; how++) {
        last_words(how, text, sizeof(text));
        assert_non_null(strstr(text, "dies has ended the process: again with ODEON_TEST_SEED=7\n"));
    }
}

/* What looks at nothing has not passed. */
static void test_explores_nothing(void **state)
{
    (void)state;
    int status;
    fflush(stdout);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (!freopen("/dev/null", "w", stdout))
            _exit(2);
        int r = odeon_test_explore(0, dies, NULL, .plugin = &odeon_plugin_descriptor);
        _exit(r == 1 && odeon_test_done() != 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void fails_there(void)
{
    odeon_test_fail("within a behaviour, %d", 1);
}

static void fails_in_a_behaviour(void *world)
{
    deadly_ref deadly = odeon_test_spawn((struct odeon_test *)world, deadly);
    odeon_test_send((struct odeon_test *)world, deadly, deadly_end,
                    .call = (uint64_t)(uintptr_t)fails_there);
    odeon_test_until_idle((struct odeon_test *)world);
}

static void test_fails_in_a_behaviour(void **state)
{
    (void)state;
    struct odeon_test *world = open_seeded(1);
    const char *what = failure(fails_in_a_behaviour, world);
    assert_non_null(strstr(what, "within a behaviour, 1"));
    odeon_test_close(world);
    world = open_seeded(1);
    odeon_test_close(world);
}

/* ---- a plugin's file */

static void test_file(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct odeon_test *world = odeon_test_open(.plugin_file = counter_file);
        counter_ref counter = odeon_test_spawn(world, counter);
        odeon_test_send(world, counter, counter_add, .amount = 3, .weight = 2);
        odeon_test_signal(world, counter, counter_get);
        odeon_test_expect(world, counter_value, .total = 6);
        odeon_test_crash_now(world);
        odeon_test_send(world, counter, counter_add, .amount = 1, .weight = 1);
        odeon_test_signal(world, counter, counter_get);
        odeon_test_expect(world, counter_value, .total = 1);
        odeon_test_expect_none(world);
        odeon_test_close(world);
    }
}

static int64_t count(struct odeon_test *world, census_ref census)
{
    odeon_test_signal(world, census, census_count);
    return odeon_test_expect_type(world, tally_value)->total;
}

/* A file's begin anew with each executor, as the service's do; a program's do not. */
static void test_static_variables(void **state)
{
    (void)state;
    for (int linked = 0; linked < 2; linked++) {
        struct odeon_test *world =
            odeon_test_open(.plugin = linked ? &odeon_plugin_descriptor : NULL,
                            .plugin_file = linked ? NULL : world_file);
        census_ref census = odeon_test_spawn(world, census);
        int64_t counted = count(world, census);
        assert_int_equal(count(world, census), counted + 1);
        odeon_test_crash_now(world);
        assert_int_equal(count(world, census), linked ? counted + 2 : 1);
        odeon_test_close(world);
    }
}

static void test_detached(void **state)
{
    (void)state;
    struct odeon_test *world =
        odeon_test_open(.plugin = &odeon_plugin_descriptor, .detached = 2, .workers = 1);
    kept_tally_ref tallies[2];
    for (int i = 0; i < 2; i++)
        tallies[i] = odeon_test_spawn(world, kept_tally, .placement = ODEON_PLACE_DETACHED);
    for (int i = 0; i < 2; i++) {
        odeon_test_send(world, tallies[i], tally_add, .amount = i + 1);
        odeon_test_signal(world, tallies[i], tally_get);
    }
    odeon_test_expect_among(world, tally_value, .total = 2);
    odeon_test_expect_among(world, tally_value, .total = 1);
    odeon_test_crash_now(world);
    odeon_test_signal(world, tallies[1], tally_get);
    odeon_test_expect(world, tally_value, .total = 2);
    odeon_test_expect_none(world);
    odeon_test_close(world);
}

static void opens_with(void *options)
{
    odeon_test_open_at(options, __FILE__, __LINE__);
}

static void test_wrong_options(void **state)
{
    (void)state;
    struct odeon_test_options options = { .struct_size = sizeof(options),
                                          .plugin = &odeon_plugin_descriptor,
                                          .workers = 9 };
    assert_string_equal(failure(opens_with, &options),
                        "workers=9 ports=0 detached=0: at most 8 of each");
    options.workers = 1;
    options.plugin_file = world_file;
    assert_non_null(strstr(failure(opens_with, &options), "linked in, or a plugin_file"));
    options.plugin_file = NULL;
    options.struct_size = 8;
    assert_non_null(strstr(failure(opens_with, &options), "options of 8 bytes"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replies),
        cmocka_unit_test(test_ports),
        cmocka_unit_test(test_traces),
        cmocka_unit_test(test_missing),
        cmocka_unit_test(test_another),
        cmocka_unit_test(test_unexpected),
        cmocka_unit_test(test_compares_fields),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_wrong_wishes),
        cmocka_unit_test(test_endless),
        cmocka_unit_test(test_time),
        cmocka_unit_test(test_periods),
        cmocka_unit_test(test_crashes),
        cmocka_unit_test(test_redelivered),
        cmocka_unit_test(test_stops),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_crashes_at_the_end),
        cmocka_unit_test(test_many_dead_letters),
        cmocka_unit_test(test_same_seed),
        cmocka_unit_test(test_finds_orders),
        cmocka_unit_test(test_deadly),
        cmocka_unit_test(test_explores_nothing),
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_static_variables),
        cmocka_unit_test(test_detached),
        cmocka_unit_test(test_wrong_options),
        cmocka_unit_test(test_fails_in_a_behaviour),
    };
    if (argc != 3)
        return 2;
    counter_file = argv[1];
    world_file = argv[2];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
