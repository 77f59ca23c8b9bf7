/* SPDX-License-Identifier: Apache-2.0 */
/* Roles: what users may ask for, and what they are told when they may not. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <odeon/monitor.h>

#include "tests/system/chorus.h"
#include "tests/system/harness.h"
#include "tests/system/probe.h"
#include "tests/system/user.h"

static const struct user somebody = { .uid = 41001, .gid = 41001 },
                         loader = { .uid = 41002, .gid = 41002, .group = 41900 },
                         overflow = { .uid = 65534, .gid = 65534 };

static struct service service;

static void start(const char *config)
{
    service_make_dir(&service);
    assert_int_equal(chmod(service.dir, 0755), 0);
    service_configure(&service, config);
    service_spawn(&service, (const char *const[]){ SMALL_SERVICE, "--plugin", TEST_PROBE, NULL });
    service_wait_ready(&service);
}

static int end(void **state)
{
    (void)state;
    if (service.pid > 0)
        assert_int_equal(service_stop(&service, SIGTERM), 0);
    service_end(&service);
    return 0;
}

static void reload(const char *config)
{
    unsigned before = service_log_count(&service, "read again and applied");

    service_configure(&service, config);
    assert_int_equal(kill(service.pid, SIGHUP), 0);
    assert_true(wait_until(service_log_count(&service, "read again and applied") > before));
}

/* ---- acts ---- */

static int look(struct odeon_client *client, void *argument)
{
    struct odeon_status *status = NULL;
    int r = odeon_service_status(client, &status);

    (void)argument;
    if (r == 0 && (status->your_uid != geteuid() || status->your_pid != (uint32_t)getpid()))
        r = -EBADMSG;
    odeon_result_free(status);
    return r;
}

static int look_at_clients(struct odeon_client *client, void *argument)
{
    struct odeon_list *list = NULL;
    int r = odeon_client_list(client, 0, 0, &list);
    const struct odeon_client_info *rows = r == 0 ? list->rows : NULL;

    for (size_t i = 0; r == 0 && i < list->n; i++)
        if (rows[i].pid == (uint32_t)getpid() &&
            (rows[i].uid != geteuid() || strcmp(rows[i].roles, argument) != 0))
            r = -EBADMSG;
    odeon_result_free(list);
    return r;
}

static int post_and_ask(struct odeon_client *client, void *argument)
{
    struct probe_number number = { .n = 7 };
    struct odeon_delivery reply;
    struct odeon_port *port = NULL;
    odeon_ref echo = ODEON_NOBODY;
    uint32_t type = 0;
    int r = odeon_port_open(client, NULL, &port);

    (void)argument;
    if (r == 0)
        r = odeon_actor_find(client, "access.echo", &echo);
    if (r == 0)
        r = odeon_message_id(client, odeon_message_of(probe_number), &type);
    if (r == 0)
        r = odeon_port_call(port, echo, type, &number, sizeof(number), SECONDS(PATIENCE_S),
                            &reply) == ODEON_CALL_REPLY
                ? 0
                : -EIO;
    odeon_port_close(port);
    return r;
}

/* By a message, not by a request. */
static int poison_echo(struct odeon_client *client, void *argument)
{
    struct odeon_delivery reply;
    struct odeon_port *port = NULL;
    odeon_ref echo = ODEON_NOBODY;
    int r = odeon_port_open(client, NULL, &port), reason = 0;

    (void)argument;
    if (r == 0)
        r = odeon_actor_find(client, "access.echo", &echo);
    if (r == 0)
        r = odeon_port_post(port, echo, ODEON_MSG_POISON_DELETE, NULL, 0);
    if (r == 0 && odeon_port_receive_wait(port, &reply, SECONDS(PATIENCE_S)) == 1) {
        reason = reply.type == ODEON_MSG_REFUSAL
                     ? ((const struct odeon_refusal *)reply.data)->reason
                     : 0;
        odeon_port_release(port);
    }
    odeon_port_close(port);
    return r < 0 ? r : reason;
}

/* What a port's records ask for is looked at by no role but that of its opening: this publishes,
 * and begins and gives up monitors, and is told so by what comes back. */
static int publish(struct odeon_client *client, void *argument)
{
    const struct chorus_song song = { .number = 7, .last = 7 };
    odeon_ref group = ODEON_NOBODY;
    struct odeon_port *port = NULL;
    uint32_t type = 0;
    int r = odeon_port_open(client, NULL, &port);

    (void)argument;
    if (r == 0)
        r = odeon_actor_find(client, "plain", &group);
    if (r == 0)
        r = odeon_message_id(client, odeon_message_of(chorus_song), &type);
    if (r == 0)
        r = odeon_port_post(port, group, type, &song, sizeof(song));
    odeon_port_close(port);
    return r;
}

/* The word that comes next: an end's id, or a refusal's reason with a minus. */
static int next_word(struct odeon_port *port)
{
    struct odeon_delivery word;
    int r = odeon_port_receive_wait(port, &word, SECONDS(PATIENCE_S));

    if (r != 1)
        return -EIO;
    r = word.type == ODEON_MSG_DOWN      ? (int)((const struct odeon_down *)word.data)->monitor
        : word.type == ODEON_MSG_REFUSAL ? -((const struct odeon_refusal *)word.data)->reason
                                         : -EBADMSG;
    odeon_port_release(port);
    return r;
}

static int monitor(struct odeon_client *client, void *argument)
{
    struct odeon_port *port = NULL, *gone = NULL;
    int r = odeon_port_open(client, NULL, &port);

    (void)argument;
    if (r == 0)
        r = odeon_port_open(client, NULL, &gone);
    odeon_ref ref = gone ? odeon_port_ref(gone) : ODEON_NOBODY;
    if (r == 0)
        r = odeon_port_monitor(port, ref, 5);
    odeon_port_close(gone);
    if (r == 0)
        r = next_word(port) == 5 ? odeon_port_demonitor(port, ref, 5) : -EPROTO;
    if (r == 0)
        r = next_word(port) == -ODEON_REASON_NO_SUCH_MONITOR ? 0 : -EPROTO;
    odeon_port_close(port);
    return r;
}

ODEON_MESSAGE(access_unknown, 1, { uint64_t n; });
static int make_type_known(struct odeon_client *client, void *argument)
{
    uint32_t type = 0;

    (void)argument;
    return odeon_message_id(client, odeon_message_of(access_unknown), &type);
}

static int make_actor(struct odeon_client *client, void *argument)
{
    odeon_ref ref = ODEON_NOBODY;
    int r = odeon_actor_spawn(client, "probe_echo", argument, NULL, 0, &ref);

    return r < 0 ? r : odeon_actor_stop(client, ref, ODEON_DELETE);
}

static int stop_echo(struct odeon_client *client, void *argument)
{
    odeon_ref echo = ODEON_NOBODY;
    int r = odeon_actor_find(client, "access.echo", &echo);

    (void)argument;
    return r < 0 ? r : odeon_actor_stop(client, echo, ODEON_DELETE);
}

static int load(struct odeon_client *client, void *argument)
{
    return odeon_plugin_load(client, argument);
}

static int unload(struct odeon_client *client, void *argument)
{
    return unload_plugin(client, argument);
}

static int set_throughput(struct odeon_client *client, void *argument)
{
    static const char *const keys[] = { "throughput" };
    const char *values[] = { argument };

    return odeon_executor_set(client, keys, values, 1, NULL);
}

/* ---- tests ---- */

#define SKIP_UNLESS_ROOT()                                                                         \
    do {                                                                                           \
        if (!user_can_change()) {                                                                  \
            print_message("# skipped: other users can be played by root alone\n");                 \
            skip();                                                                                \
        }                                                                                          \
    } while (0)

static void test_nobody_else_without_configuration(void **state)
{
    int64_t begin_ns;

    (void)state;
    SKIP_UNLESS_ROOT();
    start("socket-mode = 0666\n");
    begin_ns = time_ns();
    user_expects(&service, somebody, look, NULL, -EACCES, "it has no role here");
    user_expects(&service, (struct user){ 0 }, look, NULL, 0, NULL);
    assert_true(service_log_has(&service, "user 41001, is refused"));
    /* who knocks again is not told of again within a minute */
    for (int i = 0; i < 20; i++)
        user_expects(&service, somebody, look, NULL, -EACCES, NULL);
    service_expect_told_once(&service, "user 41001, is refused", begin_ns);
}

#define EVERYBODY_POSTS "socket-mode = 0666\nrole-observe = *\nrole-post = *\n"

static void test_each_verb_needs_its_role(void **state)
{
    struct odeon_client *root;

    (void)state;
    SKIP_UNLESS_ROOT();
    start(EVERYBODY_POSTS "role-load = 41003, @41900\n");
    root = service_connect(&service, "root");
    spawn(root, "probe_echo", "access.echo", NULL, 0);
    user_expects(&service, somebody, look, NULL, 0, NULL);
    user_expects(&service, somebody, look_at_clients, (void *)"observe, post", 0, NULL);
    user_expects(&service, somebody, make_type_known, NULL, -EACCES, "needs the role register");
    (void)message_id(root, odeon_message_of(probe_number));
    user_expects(&service, somebody, post_and_ask, NULL, 0, NULL);
    user_expects(&service, somebody, make_actor, (void *)"access.mine", -EACCES,
                 "spawn needs the role register");
    user_expects(&service, somebody, stop_echo, NULL, -EACCES,
                 "actor_stop needs the role register");
    user_expects(&service, somebody, poison_echo, NULL, ODEON_REASON_NOT_ACCEPTED, NULL);
    user_expects(&service, somebody, post_and_ask, NULL, 0, NULL);
    user_expects(&service, somebody, load, (void *)TEST_STUCK, -EACCES,
                 "plugin_load needs the role load");
    user_expects(&service, somebody, unload, (void *)"probe", -EACCES,
                 "plugin_unload needs the role load");
    user_expects(&service, somebody, set_throughput, (void *)"77", -EACCES,
                 "executor_set needs the role reconfigure");
    /* a group's role, which another group does not have */
    user_expects(&service, loader, load, (void *)TEST_STUCK, 0, NULL);
    user_expects(&service, (struct user){ .uid = 41002, .gid = 41002, .group = 41901 }, unload,
                 (void *)"stuck", -EACCES, "user 41002 has here: observe, post;");
    user_expects(&service, (struct user){ .uid = 41003, .gid = 41900 }, unload, (void *)"stuck", 0,
                 NULL);
    user_expects(&service, loader, set_throughput, (void *)"77", -EACCES,
                 "has here: observe, post, load");
    odeon_client_disconnect(root);
}

/* With `post` alone; and with `observe` alone nobody gets as far. */
static void test_publishing_and_monitoring(void **state)
{
    struct odeon_client *root;
    struct odeon_port *port;
    struct odeon_delivery heard;

    (void)state;
    SKIP_UNLESS_ROOT();
    start("socket-mode = 0666\nrole-post = 41001\nrole-observe = 41002\n");
    root = service_connect(&service, "root");
    port = port_open_or_fail(root, 0, 0, false);
    assert_int_equal(odeon_plugin_load(root, TEST_CHORUS), 0);
    const struct chorus_begin begin = { .port = odeon_port_ref(port) };
    odeon_ref singer = spawn(root, "chorus_plain", NULL, NULL, 0);
    uint32_t begin_type = message_id(root, odeon_message_of(chorus_begin)),
             heard_type = message_id(root, odeon_message_of(chorus_heard));
    assert_int_equal(odeon_port_post(port, singer, begin_type, &begin, sizeof(begin)), 0);
    assert_int_equal(odeon_port_receive_wait(port, &heard, SECONDS(PATIENCE_S)), 1);
    odeon_port_release(port);
    (void)message_id(root, odeon_message_of(chorus_song));
    user_expects(&service, somebody, publish, NULL, 0, NULL);
    assert_int_equal(odeon_port_receive_wait(port, &heard, SECONDS(PATIENCE_S)), 1);
    assert_int_equal(heard.type, heard_type);
    assert_int_equal(((const struct chorus_heard *)heard.data)->number, 7);
    odeon_port_release(port);
    user_expects(&service, somebody, monitor, NULL, 0, NULL);
    user_expects(&service, loader, publish, NULL, -EACCES, "port_open needs the role post");
    user_expects(&service, loader, monitor, NULL, -EACCES, "port_open needs the role post");
    odeon_port_close(port);
    odeon_client_disconnect(root);
}

static void test_user_without_number_is_refused(void **state)
{
    (void)state;
    SKIP_UNLESS_ROOT();
    start(EVERYBODY_POSTS);
    user_expects(&service, overflow, look, NULL, -EACCES, "user namespace");
    reload(EVERYBODY_POSTS "overflow-user = yes\n");
    user_expects(&service, overflow, look, NULL, 0, NULL);
}

struct gate {
    int arrived[2], go[2];
};

/* Looks, waits until the configuration is another, looks again. */
static int look_twice(struct odeon_client *client, void *argument)
{
    const struct gate *gate = argument;
    char byte = 0;
    int r = look(client, NULL);

    if (r < 0 || write(gate->arrived[1], "", 1) != 1 || read(gate->go[0], &byte, 1) != 1)
        return r < 0 ? r : -EIO;
    return look(client, NULL);
}

static void *reload_meanwhile(void *argument)
{
    const struct gate *gate = argument;
    char byte;

    if (read(gate->arrived[0], &byte, 1) != 1 || kill(service.pid, SIGHUP) < 0)
        return NULL;
    if (wait_until(service_log_has(&service, "read again and applied")) &&
        write(gate->go[1], "", 1) != 1)
        return NULL;
    return NULL;
}

static void test_reload_takes_roles_away(void **state)
{
    struct gate gate;
    pthread_t thread;

    (void)state;
    SKIP_UNLESS_ROOT();
    start(EVERYBODY_POSTS);
    service_configure(&service, "socket-mode = 0666\nrole-post = *\nrole-observe = root\n");
    assert_int_equal(pipe2(gate.arrived, O_CLOEXEC), 0);
    assert_int_equal(pipe2(gate.go, O_CLOEXEC), 0);
    assert_int_equal(pthread_create(&thread, NULL, reload_meanwhile, &gate), 0);
    user_expects(&service, somebody, look_twice, &gate, -EACCES, "status needs the role observe");
    pthread_join(thread, NULL);
    for (int i = 0; i < 2; i++) {
        close(gate.arrived[i]);
        close(gate.go[i]);
    }
}

static void test_socket_of_a_group(void **state)
{
    struct stat st;

    (void)state;
    SKIP_UNLESS_ROOT();
    start("socket-mode = 0660\nsocket-group = 41900\nrole-observe = *\n");
    assert_int_equal(stat(service.socket, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0660);
    assert_int_equal(st.st_gid, 41900);
    user_expects(&service, loader, look, NULL, 0, NULL);
    assert_false(user_does(&service, somebody, look, NULL).connected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_nobody_else_without_configuration, end),
        cmocka_unit_test_teardown(test_each_verb_needs_its_role, end),
        cmocka_unit_test_teardown(test_publishing_and_monitoring, end),
        cmocka_unit_test_teardown(test_user_without_number_is_refused, end),
        cmocka_unit_test_teardown(test_reload_takes_roles_away, end),
        cmocka_unit_test_teardown(test_socket_of_a_group, end),
    };

    return cmocka_run_group_tests_name("access", tests, NULL, NULL);
}
