/* SPDX-License-Identifier: Apache-2.0 */
/* odeonctl listen, as it is run: what it prints of what actors send it, and how it ends. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <odeon/codec.h>

#include "tests/system/manager.h"
#include "tests/system/stage.h"
#include "tests/system/teller.h"
#include "tests/system/user.h"

enum { LINE = 1 << 16, TEXT_MAX = 4096 };

struct listener {
    pid_t pid;
    FILE *out, *err;
    odeon_ref ref;
};

static struct stage stage;
static odeon_ref teller;
static char line[LINE];

static const struct user stranger = { .uid = 41001, .gid = 41001, .group = 41900 };

/* In the child, as `user`; NULL: as the test's. */
static __attribute__((noreturn)) void become_odeonctl(const struct service *service,
                                                      const struct user *user, const char *words,
                                                      const int out[2], const int err[2])
{
    char command[1024];

    snprintf(command, sizeof(command), "exec '%s' --socket '%s' listen %s", TEST_ODEONCTL,
             service->socket, words);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && dup2(out[1], STDOUT_FILENO) >= 0 &&
        dup2(err[1], STDERR_FILENO) >= 0 && (!user || user_become(*user)))
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

static struct listener listener_spawn(const struct service *service, const struct user *user,
                                      const char *words)
{
    struct listener l = { 0 };
    int out[2], err[2];

    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    assert_int_equal(pipe2(err, O_CLOEXEC), 0);
    l.pid = fork();
    assert_true(l.pid >= 0);
    if (l.pid == 0)
        become_odeonctl(service, user, words, out, err);
    close(out[1]);
    close(err[1]);
    l.out = fdopen(out[0], "r");
    l.err = fdopen(err[0], "r");
    assert_non_null(l.out);
    assert_non_null(l.err);
    return l;
}

static void read_line(FILE *from)
{
    if (!fgets(line, sizeof(line), from))
        fail_msg("there is no further line");
}

static void line_has(const char *part)
{
    if (!strstr(line, part))
        fail_msg("'%s' is not in: %s", part, line);
}

static struct listener listener_begin(const char *words)
{
    struct listener l = listener_spawn(&stage.service, NULL, words);
    char ref[ODEON_REF_TEXT];

    read_line(l.err);
    assert_int_equal(sscanf(line, "listening as %39[0-9.]", ref), 1);
    assert_int_equal(odeon_ref_parse(ref, &l.ref), 0);
    return l;
}

/* Its exit status, and in `line` what it said last. */
static int listener_end(struct listener *l)
{
    int status;

    line[0] = '\0';
    while (fgets(line, sizeof(line), l->err))
        ;
    assert_int_equal(waitpid(l->pid, &status, 0), l->pid);
    if (l->out)
        fclose(l->out);
    fclose(l->err);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void tell(odeon_ref to, const char *name, const char *text)
{
    _Alignas(struct teller_tell) char message[sizeof(struct teller_tell) + TEXT_MAX] = { 0 };
    struct teller_tell *told = (struct teller_tell *)message;
    size_t n = strlen(text);

    told->to = to;
    snprintf(told->name, sizeof(told->name), "%s", name);
    memcpy(told->text, text, n);
    stage_post(&stage, teller, odeon_message_of(teller_tell), message, sizeof(*told) + n);
}

static void test_lines(void **state)
{
    struct listener l = listener_begin("--count 3");
    char from[ODEON_REF_TEXT], expected[128];

    (void)state;
    odeon_ref_format(teller, from);
    for (int i = 1; i <= 5; i++) { /* two too many */
        tell(l.ref, "", "hello there");
        if (i > 3)
            continue;
        read_line(l.out);
        snprintf(expected, sizeof(expected), "Z %s teller_said number=%d text=\"hello there\"\n",
                 from, i);
        line_has(expected);
    }
    assert_int_equal(listener_end(&l), 0);
}

static void test_json(void **state)
{
    struct listener l = listener_spawn(&stage.service, NULL, "screen --count 1 --json");
    odeon_ref ref = ODEON_NOBODY;

    (void)state;
    read_line(l.out);
    line_has("{\"version\":1,\"listening\":{\"ref\":\"1.");
    line_has("\"name\":\"screen\"}}\n");
    assert_int_equal(odeon_actor_find(stage.client, "screen", &ref), 0);
    tell(ref, "", "\xc3\xa4 \"\x1b[2J\n");
    read_line(l.out);
    line_has("{\"version\":1,\"received\":{\"time\":\"20");
    line_has("\"message\":\"teller_said\",");
    line_has("\"fields\":{\"number\":1,\"text\":\"\xc3\xa4 \\\"\\u001b[2J\\n\"}}}\n");
    assert_int_equal(listener_end(&l), 0);
}

static void test_name(void **state)
{
    struct listener l = listener_begin("screen"), other;

    (void)state;
    line_has("(screen)");
    tell(ODEON_NOBODY, "screen", "one");
    read_line(l.out);
    line_has("text=one\n");
    stage_kill_executor(&stage);
    tell(ODEON_NOBODY, "screen", "two");
    read_line(l.out);
    line_has("text=two\n");

    other = listener_spawn(&stage.service, NULL, "screen");
    assert_int_equal(listener_end(&other), 1);
    line_has("cannot listen as 'screen': the name 'screen' is taken already");
    other = listener_spawn(&stage.service, NULL, "teller");
    assert_int_equal(listener_end(&other), 1);
    line_has("the name 'teller' is taken already");
    other = listener_spawn(&stage.service, NULL, "1.2.3");
    assert_int_equal(listener_end(&other), 1);
    line_has("'1.2.3' is no name for a port");

    assert_int_equal(kill(l.pid, SIGINT), 0);
    assert_int_equal(listener_end(&l), 0);
    assert_true(wait_until(odeon_actor_find(stage.client, "screen", &(odeon_ref){ 0 }) == -ENOENT));
}

static void test_control_characters(void **state)
{
    struct listener l = listener_begin("--count 1");

    (void)state;
    tell(l.ref, "", "\x1b]0;title\x07\x9b");
    read_line(l.out);
    line_has("text=\"\\x1b]0;title\\x07\\x9b\"\n");
    assert_int_equal(listener_end(&l), 0);
}

/* Also while it waits for a reader. */
static void test_signals(void **state)
{
    static const int signals[] = { SIGINT, SIGTERM };
    char text[TEXT_MAX];

    (void)state;
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    for (unsigned i = 0; i < 4; i++) {
        struct listener l = listener_begin("");

        for (unsigned k = 0; i >= 2 && k < 64; k++)
            tell(l.ref, "", text);
        if (i >= 2)
            read_line(l.out);
        assert_int_equal(kill(l.pid, signals[i % 2]), 0);
        assert_int_equal(listener_end(&l), 0);
    }
}

/* Whether anything comes or not. */
static void test_the_reader_goes(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct listener l = listener_begin("");

        tell(l.ref, "", "one");
        read_line(l.out);
        fclose(l.out);
        l.out = NULL;
        for (int k = 0; k < 10 * i; k++)
            tell(l.ref, "", "two");
        assert_int_equal(listener_end(&l), 0);
        assert_string_equal(line, "");
    }
}

static void test_the_service_stops(void **state)
{
    struct listener l = listener_begin("");

    (void)state;
    tell(l.ref, "", "last words");
    read_line(l.out);
    (void)service_stop(&stage.service, SIGTERM);
    assert_int_equal(listener_end(&l), 3);
    line_has("nothing more can be received: ");
}

static void test_the_service_is_killed(void **state)
{
    struct listener l = listener_begin("");

    (void)state;
    (void)service_stop(&stage.service, SIGKILL);
    assert_int_equal(listener_end(&l), 3);
    line_has("nothing more can be received: ");
}

static void tell_and_read(const struct listener *l, const char *text)
{
    tell(ODEON_NOBODY, "screen", text);
    read_line(l->out);
    line_has(text);
}

/* Port and name go on. */
static void test_over_restarts_of_the_service(void **state)
{
    static const char *const arguments[] = { SMALL_SERVICE, "--plugin", TEST_TELLER, NULL };
    struct manager *manager =
        manager_start(&(struct manager_options){ .arguments = arguments, .activate = true });
    struct listener l;

    (void)state;
    manager_wait_ready(manager);
    stage.client = service_connect(manager_service(manager), "listen");
    stage.port = port_open_or_fail(stage.client, 0, 0, false);
    teller = spawn(stage.client, "teller", "teller", NULL, 0);
    l = listener_spawn(manager_service(manager), NULL, "screen");
    read_line(l.err);
    tell_and_read(&l, "one");
    manager_kill_both(manager);
    tell_and_read(&l, "two");
    manager_kill(manager);
    manager_wait_ready(manager);
    tell_and_read(&l, "three");
    assert_int_equal(manager_restart(manager), 0);
    manager_wait_ready(manager);
    tell_and_read(&l, "four");
    assert_int_equal(kill(l.pid, SIGTERM), 0);
    assert_int_equal(listener_end(&l), 0);
    odeon_port_close(stage.port);
    odeon_client_disconnect(stage.client);
    manager_end(manager);
}

static void test_there_is_no_service(void **state)
{
    struct service nothing = { .socket = "/nonexistent/control.sock" };
    struct listener l = listener_spawn(&nothing, NULL, "");

    (void)state;
    assert_int_equal(listener_end(&l), 3);
    line_has("there is no socket /nonexistent/control.sock");
}

static void test_roles(void **state)
{
    struct service service = { 0 };
    struct listener l;

    (void)state;
    if (!user_can_change())
        skip();
    service_start_for_users(&service, (const char *const[]){ NULL });
    l = listener_spawn(&service, &stranger, "");
    read_line(l.err);
    line_has("listening as 1.");
    assert_int_equal(kill(l.pid, SIGTERM), 0);
    assert_int_equal(listener_end(&l), 0);
    l = listener_spawn(&service, &stranger, "screen");
    assert_int_equal(listener_end(&l), 1);
    line_has("port_register needs the role register; user 41001 has here: post;");
    service_end(&service);
    service_start_for_users(&service, (const char *const[]){ "--set", "role-observe=*", "--set",
                                                             "role-post=root", NULL });
    l = listener_spawn(&service, &stranger, "");
    assert_int_equal(listener_end(&l), 1);
    line_has("cannot open a port to listen at: port_open needs the role post; user 41001 has here: "
             "observe;");
    service_end(&service);
}

static int setup(void **state)
{
    (void)state;
    stage_begin(&stage, TEST_TELLER, "listen");
    teller = spawn(stage.client, "teller", "teller", NULL, 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    stage_end(&stage);
    return 0;
}

#define LISTEN_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LISTEN_TEST(test_lines),
        LISTEN_TEST(test_json),
        LISTEN_TEST(test_name),
        LISTEN_TEST(test_control_characters),
        LISTEN_TEST(test_signals),
        LISTEN_TEST(test_the_reader_goes),
        LISTEN_TEST(test_the_service_stops),
        LISTEN_TEST(test_the_service_is_killed),
        cmocka_unit_test(test_over_restarts_of_the_service),
        cmocka_unit_test(test_there_is_no_service),
        cmocka_unit_test(test_roles),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
