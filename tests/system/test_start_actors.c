/* SPDX-License-Identifier: Apache-2.0 */
/* The actors that the configuration names: found or made at each start, before anybody is told that
 * the service is ready, one each, whoever is killed; what cannot be made is told and keeps nobody
 * from going on.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/system/manager.h"
#include "tests/system/starter.h"

#define FIRST  "starter first base=-7 label=\"two words\" list=1,2,39"
#define SECOND "starter second base=0x10"

enum { STEPS_MAX = 400, KILLS = 48, MANY = 600 };

#define WITH_STARTER                                                                               \
    SMALL_SERVICE, "--executor", TEST_EXECUTOR, "--plugin", TEST_STARTER, "--set",                 \
        "restart-delay-max-ms=20"

static const char *const bare[] = { WITH_STARTER, NULL };
static const char *const two[] = { WITH_STARTER, "--set",         "actor=" FIRST,
                                   "--set",      "actor=" SECOND, NULL };

/* Takes arguments, and none are given: zeros. */
static const char *const plain[] = { WITH_STARTER, "--set", "actor=starter plain", NULL };

/* ODEON_NOBODY: there is none. */
static odeon_ref find(const struct service *service, const char *name)
{
    struct odeon_client *client = service_connect(service, "finds");
    odeon_ref ref = ODEON_NOBODY;
    int r = odeon_actor_find(client, name, &ref);

    assert_true(r == 0 || r == -ENOENT);
    odeon_client_disconnect(client);
    return ref;
}

static size_t count(const struct service *service, const char *type)
{
    struct odeon_client *client = service_connect(service, "counts");
    uint64_t after = 0;
    bool more = true;
    size_t n = 0;

    while (more) {
        struct odeon_list *list = NULL;

        assert_int_equal(odeon_actor_list(client, type, after, 0, &list), 0);
        n += list->n;
        more = list->more;
        after = list->next;
        odeon_list_free(list);
    }
    odeon_client_disconnect(client);
    return n;
}

static struct starter_told ask(const struct service *service, odeon_ref ref)
{
    struct odeon_client *client = service_connect(service, "asks");
    struct odeon_port *port = port_open_or_fail(client, 1 << 16, 1 << 16, false);
    uint32_t type = message_id(client, odeon_message_of(starter_ask));
    struct odeon_delivery delivery;
    struct starter_told told;

    assert_int_equal(odeon_port_call(port, ref, type, NULL, 0, SECONDS(PATIENCE_S), &delivery),
                     ODEON_CALL_REPLY);
    memcpy(&told, delivery.data, sizeof(told));
    odeon_port_release(port);
    odeon_port_close(port);
    odeon_client_disconnect(client);
    return told;
}

static void end_actor(const struct service *service, odeon_ref ref)
{
    struct odeon_client *client = service_connect(service, "ends");

    assert_int_equal(odeon_actor_send(client, ref, "starter_end", NULL, 0), 0);
    odeon_client_disconnect(client);
    assert_true(wait_until(count(service, "starter") == 1));
}

/* As they were configured, and no others. */
static void expect_two(const struct service *service)
{
    struct starter_told told;

    assert_int_equal(count(service, "starter"), 2);
    told = ask(service, find(service, "first"));
    assert_int_equal(told.base, -7);
    assert_int_equal(told.sum, 42);
    assert_string_equal(told.label, "two words");
    told = ask(service, find(service, "second"));
    assert_int_equal(told.base, 16);
    assert_int_equal(told.sum, 0);
}

static void reload(struct service *service, const char *conf, const char *outcome)
{
    unsigned before = service_log_count(service, outcome);

    service_configure(service, conf);
    assert_int_equal(kill(service->pid, SIGHUP), 0);
    assert_true(wait_until(service_log_count(service, outcome) == before + 1));
}

static const char applied[] = "has been read again and applied", refused[] = "nothing is changed";

static void test_fields_that_are_not_given_are_zero(void **state)
{
    struct manager *manager = manager_start(&(struct manager_options){ .arguments = plain });
    struct service *service = manager_service(manager);
    struct starter_told told;

    (void)state;
    manager_wait_ready(manager);
    told = ask(service, find(service, "plain"));
    assert_int_equal(told.base, 0);
    assert_int_equal(told.sum, 0);
    assert_string_equal(told.label, "");
    manager_end(manager);
}

/* Whoever connects after READY=1 finds them. */
static void test_there_when_ready(void **state)
{
    struct manager *manager = manager_start(&(struct manager_options){ .arguments = two });
    struct service *service = manager_service(manager);
    odeon_ref first;

    (void)state;
    manager_wait_ready(manager);
    first = find(service, "first");
    assert_true(first != ODEON_NOBODY);
    expect_two(service);
    assert_int_equal(manager_starts(manager), 1);
    assert_int_equal(service_log_count(service, "the actor first of type starter is made"), 1);
    manager_end(manager);
}

static void spawn_with_many(struct service *service)
{
    char conf[64 * MANY] = "";

    for (unsigned i = 0; i < MANY; i++)
        sprintf(conf + strlen(conf), "actor = starter many-%u base=%u\n", i, i);
    service_make_dir(service);
    service_configure(service, conf);
    service_spawn(service, bare);
}

/* All of them, not only the first. */
static void test_many_are_there_when_ready(void **state)
{
    struct service service;
    char name[32];

    (void)state;
    spawn_with_many(&service);
    service_wait_ready(&service);
    snprintf(name, sizeof(name), "many-%d", MANY - 1);
    assert_int_equal(ask(&service, find(&service, name)).base, MANY - 1);
    service_end(&service);
}

static void test_the_same_over_deaths_and_restarts(void **state)
{
    struct manager *manager = manager_start(&(struct manager_options){ .arguments = two });
    struct service *service = manager_service(manager);
    odeon_ref first, second;
    pid_t executor;

    (void)state;
    manager_wait_ready(manager);
    first = find(service, "first");
    second = find(service, "second");
    executor = service_executor(service);
    assert_int_equal(kill(executor, SIGKILL), 0);
    service_wait_executor(service, executor);
    expect_two(service);
    manager_kill(manager);
    manager_wait_ready(manager);
    expect_two(service);
    assert_int_equal(service_log_count(service, "the actor first of type starter is there"), 0);
    assert_int_equal(manager_restart(manager), 0);
    manager_wait_ready(manager);
    expect_two(service);
    assert_int_equal(service_log_count(service, "the actor first of type starter is there"), 1);
    assert_int_equal(find(service, "first"), first);
    assert_int_equal(find(service, "second"), second);
    manager_end(manager);
}

/* start_actors.SA1 */
static void test_one_that_has_ended_comes_with_a_restart(void **state)
{
    struct manager *manager = manager_start(&(struct manager_options){ .arguments = two });
    struct service *service = manager_service(manager);
    pid_t executor;

    (void)state;
    manager_wait_ready(manager);
    end_actor(service, find(service, "first"));
    executor = service_executor(service);
    assert_int_equal(kill(executor, SIGKILL), 0);
    service_wait_executor(service, executor);
    assert_int_equal(count(service, "starter"), 1);
    manager_kill(manager);
    manager_wait_ready(manager);
    assert_int_equal(count(service, "starter"), 1);
    assert_int_equal(find(service, "first"), ODEON_NOBODY);
    assert_int_equal(manager_restart(manager), 0);
    manager_wait_ready(manager);
    expect_two(service);
    manager_end(manager);
}

static void test_reload(void **state)
{
    struct service service;
    odeon_ref first;

    (void)state;
    service_start(&service, bare);
    assert_int_equal(count(&service, "starter"), 0);
    reload(&service, "actor = " FIRST "\nactor = " SECOND "\n", applied);
    expect_two(&service);
    first = find(&service, "first");
    end_actor(&service, find(&service, "second"));
    reload(&service, "[odeond]\nactor = " SECOND "\n", applied);
    assert_true(service_log_has(&service, "the actor first is no longer configured"));
    expect_two(&service);
    reload(&service, "actor = starter first base=3\n", applied);
    assert_int_equal(find(&service, "first"), first);
    reload(&service, "actor = starter first base=4\n", applied);
    assert_true(service_log_has(&service, "the actor first is configured otherwise"));
    assert_int_equal(ask(&service, first).base, -7);
    reload(&service, "actor = starter third\nactor = starter third\n", refused);
    assert_true(service_log_has(&service, ":2: actor: two actors are called 'third'"));
    assert_int_equal(find(&service, "third"), ODEON_NOBODY);
    service_end(&service);
}

static void test_what_cannot_be_made_is_told(void **state)
{
    static const char *const arguments[] = { WITH_STARTER,
                                             "--set",
                                             "actor=nowhere a",
                                             "--set",
                                             "actor=starter b bass=1",
                                             "--set",
                                             "actor=starter c base=x",
                                             "--set",
                                             "actor=starter d list=1,2,3,4",
                                             "--set",
                                             "actor=starter_other e base=1",
                                             "--set",
                                             "actor=starter_other f",
                                             NULL };
    struct service service;

    (void)state;
    service_start(&service, arguments);
    assert_true(service_log_has(&service, "actor = nowhere a: the actor is not made: there is no "
                                          "actor type 'nowhere'"));
    assert_true(service_log_has(&service, "actor = starter b: the actor is not made: there is no "
                                          "field 'bass'. There are base (int64_t)"));
    assert_true(service_log_has(&service, "actor = starter c: the actor is not made: 'x' is not a "
                                          "value of base"));
    assert_true(service_log_has(&service, "actor = starter d: the actor is not made: there are "
                                          "more values for list"));
    assert_true(service_log_has(&service, "actor = starter_other e: the actor is not made: the "
                                          "plugin of starter_other does not say"));
    assert_int_equal(ask(&service, find(&service, "f")).base, -1);
    assert_int_equal(count(&service, "starter"), 0);
    service_end(&service);
}

static void test_a_name_that_another_type_has(void **state)
{
    struct service service;
    odeon_ref ref;

    (void)state;
    service_start(&service, bare);
    reload(&service, "actor = starter_other first\n", applied);
    ref = find(&service, "first");
    reload(&service, "actor = " FIRST "\nactor = " SECOND "\n", applied);
    assert_true(service_log_has(&service, "actor = starter first: the actor is not made: an actor "
                                          "of type starter_other has the name 'first'"));
    assert_int_equal(find(&service, "first"), ref);
    assert_int_equal(count(&service, "starter"), 1);
    service_end(&service);
}

/* A plugin that is left out has no types; when one is there that has, a reload makes its actors. */
static void test_a_plugin_that_is_not_there(void **state)
{
    static const char *const arguments[] = { SMALL_SERVICE,
                                             "--plugin",
                                             TEST_PLUGINS "/crash_in_load.so",
                                             "--set",
                                             "restart-delay-max-ms=20",
                                             "--set",
                                             "actor=" FIRST,
                                             "--set",
                                             "actor=" SECOND,
                                             NULL };
    struct odeon_client *client;
    struct service service;

    (void)state;
    service_start(&service, arguments);
    assert_true(service_log_has(&service, "it is left out"));
    assert_true(service_log_has(&service, "actor = starter first: the actor is not made: there is "
                                          "no actor type 'starter'"));
    client = service_connect(&service, "loads");
    load_plugin(client, TEST_STARTER);
    odeon_client_disconnect(client);
    reload(&service, "", applied);
    expect_two(&service);
    service_end(&service);
}

/* odeond --check, and the start, say what is wrong with a line. */
static void test_lines_that_are_none(void **state)
{
    static const struct {
        const char *line, *why;
    } lines[] = {
        { "starter", "expected TYPE NAME" },
        { "", "expected TYPE NAME" },
        { "starter a b", "'b' is not of the form FIELD=VALUE" },
        { "starter a =1", "'=1' is not of the form FIELD=VALUE" },
        { "starter a base=1 base=2", "the field 'base' is given twice" },
        { "starter a label=\"x", "a quote (\") has no end" },
        { "st/arter a", "'st/arter' is no name for an actor type" },
        { "starter 1.2", "'1.2' is no name for an actor" },
        { "starter aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffgggg",
          "is no name for an actor" },
        { "starter a\nactor = starter_other a", ":3: actor: two actors are called 'a'" },
    };
    static const char *const check[] = { SMALL_SERVICE, "--check", NULL };
    struct service service;
    char text[512];
    unsigned starts = 0;

    (void)state;
    service_make_dir(&service);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        snprintf(text, sizeof(text), "[odeond]\nactor = %s\n", lines[i].line);
        service_configure(&service, text);
        for (unsigned full = 0; full < 2; full++) {
            int status;

            service_spawn(&service, full ? bare : check);
            status = service_wait_end(&service);
            if (!WIFEXITED(status) || WEXITSTATUS(status) != 1 ||
                !service_log_has(&service, lines[i].why))
                fail_msg("'%s': status %d, or not '%s'", lines[i].line, status, lines[i].why);
            assert_int_equal(service_log_count(&service, "the service does not start"),
                             starts += full);
        }
    }
    service_configure(&service, "actor = " FIRST "\nactor = " SECOND "\n");
    service_spawn(&service, check);
    assert_int_equal(service_wait_end(&service), 0);
    service_end(&service);
}

/* False: odeond was not killed, there are no further steps. */
static bool start_with_a_kill(unsigned step, unsigned second)
{
    struct manager *manager;
    struct service *service;
    char at[32];
    bool killed;

    snprintf(at, sizeof(at), "ODEON_CRASH_AT=%u", step);
    manager = manager_start(&(struct manager_options){
        .program = TEST_ODEOND_OTHER, .arguments = two, .environment = at });
    service = manager_service(manager);
    snprintf(at, sizeof(at), "ODEON_CRASH_AT=%u", second);
    manager_set_environment(manager, at);
    manager_wait_ready(manager);
    killed = manager_starts(manager) > 1;
    /* one that is not killed at a step while clients look */
    manager_set_environment(manager, NULL);
    manager_kill(manager);
    manager_wait_ready(manager);
    expect_two(service);
    /* it knows that they are made, so one that has ended stays so */
    end_actor(service, find(service, "first"));
    manager_kill(manager);
    manager_wait_ready(manager);
    assert_int_equal(count(service, "starter"), 1);
    manager_end(manager);
    return killed;
}

static void test_odeond_killed_at_each_step(void **state)
{
    unsigned stride = getenv("ODEON_TEST_QUICK") ? 5 : 1, n = 1;

    (void)state;
    while (n < STEPS_MAX && start_with_a_kill(n, 1 + n * 7 % 30))
        n += stride;
    assert_true(n > 10 && n < STEPS_MAX);
    print_message("# %u steps at which odeond was killed\n", n - 1);
}

/* What a restart asks for is asked for by those that go on after a crash, too. */
static bool restart_with_a_kill(unsigned step)
{
    struct manager *manager =
        manager_start(&(struct manager_options){ .program = TEST_ODEOND_OTHER, .arguments = two });
    struct service *service = manager_service(manager);
    char at[32];
    bool killed;

    manager_wait_ready(manager);
    end_actor(service, find(service, "first"));
    snprintf(at, sizeof(at), "ODEON_CRASH_AT=%u", step);
    manager_set_environment(manager, at);
    (void)manager_restart(manager); /* the status may be that of the next one, which is killed */
    manager_wait_ready(manager);
    killed = manager_starts(manager) > 2;
    manager_kill(manager);
    manager_wait_ready(manager);
    expect_two(service);
    manager_end(manager);
    return killed;
}

static void test_restart_killed_at_each_step(void **state)
{
    unsigned stride = getenv("ODEON_TEST_QUICK") ? 5 : 1, n = 1;

    (void)state;
    while (n < STEPS_MAX && restart_with_a_kill(n))
        n += stride;
    assert_true(n > 10 && n < STEPS_MAX);
}

/* Of the executor that was started last. */
static pid_t last_executor(const struct service *service)
{
    static const char line[] = "executor started, process ";
    char *log = service_read_log(service);
    pid_t last = 0;

    for (const char *at = log; at && (at = strstr(at, line)); at++)
        last = (pid_t)strtol(at + strlen(line), NULL, 10);
    free(log);
    return last;
}

/* A plugin that is loaded while three executors in a row end is left out (safe_mode.h), which is
 * not what this is about: after two of them one may serve, so that it begins from 0. */
static void spare_the_plugin(struct service *service, pid_t former, unsigned *spared)
{
    unsigned blamed = service_log_count(service, "has ended while it loaded plugin");

    if (blamed - *spared < 2)
        return;
    *spared = blamed;
    service_wait_executor(service, former);
}

/* At moments that nobody has chosen, from its first instruction to when it serves. */
static void test_executors_killed_while_they_start(void **state)
{
    struct manager *manager = manager_start(&(struct manager_options){ .arguments = two });
    struct service *service = manager_service(manager);
    odeon_ref first = ODEON_NOBODY;
    pid_t executor = 0;
    unsigned spared = 0;

    (void)state;
    for (unsigned i = 0; i < KILLS; i++) {
        pid_t former = executor;
        int64_t moment;

        assert_true(wait_until((executor = last_executor(service)) != former));
        spare_the_plugin(service, former, &spared);
        moment = time_ns() + (int64_t)(i % 24) * MILLISECONDS(1) / 2;
        while (time_ns() < moment)
            pause_briefly();
        assert_int_equal(kill(executor, SIGKILL), 0);
    }
    manager_wait_ready(manager);
    service_wait_executor(service, executor);
    first = find(service, "first");
    expect_two(service);
    executor = service_executor(service);
    assert_int_equal(kill(executor, SIGKILL), 0);
    service_wait_executor(service, executor);
    expect_two(service);
    assert_int_equal(find(service, "first"), first);
    manager_end(manager);
}

/* Each time some of them have been made, and the answer about one is owed. */
static void test_executors_killed_while_actors_are_made(void **state)
{
    struct service service;
    pid_t executor = 0;

    (void)state;
    spawn_with_many(&service);
    for (unsigned made = 0; made < MANY - MANY / 20; made += MANY / 20) {
        pid_t former = executor;

        assert_true(wait_until((executor = last_executor(&service)) != former));
        assert_true(wait_until(service_log_count(&service, " of type starter is ") > made));
        assert_int_equal(kill(executor, SIGKILL), 0);
    }
    service_wait_ready(&service);
    service_wait_executor(&service, executor);
    assert_int_equal(count(&service, "starter"), MANY);
    service_end(&service);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_there_when_ready),
        cmocka_unit_test(test_fields_that_are_not_given_are_zero),
        cmocka_unit_test(test_many_are_there_when_ready),
        cmocka_unit_test(test_the_same_over_deaths_and_restarts),
        cmocka_unit_test(test_one_that_has_ended_comes_with_a_restart),
        cmocka_unit_test(test_reload),
        cmocka_unit_test(test_what_cannot_be_made_is_told),
        cmocka_unit_test(test_a_name_that_another_type_has),
        cmocka_unit_test(test_a_plugin_that_is_not_there),
        cmocka_unit_test(test_lines_that_are_none),
        cmocka_unit_test(test_odeond_killed_at_each_step),
        cmocka_unit_test(test_restart_killed_at_each_step),
        cmocka_unit_test(test_executors_killed_while_they_start),
        cmocka_unit_test(test_executors_killed_while_actors_are_made),
    };

    return cmocka_run_group_tests_name("start_actors", tests, NULL, NULL);
}
