/* SPDX-License-Identifier: Apache-2.0 */
/* Quotas and roles over the end of odeond: who is at a quota before it is at it behind it, and may
 * ask for what he might ask for. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/system/manager.h"
#include "tests/system/probe.h"
#include "tests/system/user.h"

enum { RING = 1 << 16, PORTS = 3, ACTORS = 4 };

static const char *const arguments[] = { SMALL_SERVICE,
                                         "--executor",
                                         TEST_EXECUTOR,
                                         "--plugin",
                                         TEST_PROBE,
                                         "--set",
                                         "restart-delay-max-ms=20",
                                         "--set",
                                         "drain-timeout-ms=500",
                                         "--set",
                                         "quotas-bind=all",
                                         "--set",
                                         "quota-ports=3",
                                         "--set",
                                         "quota-actors=4",
                                         "--set",
                                         "socket-mode=0666",
                                         "--set",
                                         "role-observe=*",
                                         "--set",
                                         "role-post=*",
                                         "--set",
                                         "role-register=41002",
                                         NULL };

static struct manager *manager;

static void begin(void)
{
    manager = manager_start(&(struct manager_options){ .arguments = arguments });
    assert_int_equal(chmod(manager_service(manager)->dir, 0755), 0);
    manager_wait_ready(manager);
}

static int end(void **state)
{
    (void)state;
    manager = manager_end(manager);
    return 0;
}

/* The ways in which one odeond follows another. */
enum way { RESTART, KILL, KILL_BOTH, WAYS };

static bool follow(enum way way)
{
    struct service *service = manager_service(manager);
    unsigned readies = manager_readies(manager);

    service->figures = odeon_stats_close(service->figures);
    if (way == RESTART) {
        (void)manager_restart(manager);
    } else {
        if (way == KILL_BOTH)
            (void)kill(service_executor(service), SIGKILL);
        (void)manager_kill(manager);
    }
    return wait_until(manager_readies(manager) > readies);
}

static int open_port(struct odeon_client *client, struct odeon_port **ret)
{
    struct odeon_port_options options = { .struct_size = sizeof(options),
                                          .submission_bytes = RING,
                                          .delivery_bytes = RING };

    return odeon_port_open(client, &options, ret);
}

static int make_actor(struct odeon_client *client, odeon_ref *ret)
{
    return odeon_actor_spawn(client, "probe_echo", NULL, NULL, 0, ret);
}

/* ---- quotas ---- */

static struct odeon_usage usage(struct odeon_client *client, const char *name)
{
    struct odeon_client_detail *detail = NULL;
    struct odeon_status *status = NULL;
    struct odeon_usage usage = { 0 };

    assert_int_equal(odeon_service_status(client, &status), 0);
    assert_int_equal(odeon_client_show(client, status->your_id, &detail), 0);
    for (size_t i = 0; i < detail->n_usage; i++)
        if (strcmp(detail->usage[i].name, name) == 0)
            usage = detail->usage[i];
    odeon_result_free(detail);
    odeon_result_free(status);
    return usage;
}

static void expect_usage(struct odeon_client *client, const char *name, uint64_t n, uint64_t limit)
{
    struct odeon_usage found = usage(client, name);

    if (found.user != n || found.limit != limit)
        fail_msg("%s: %llu of %llu, expected %llu of %llu", name, (unsigned long long)found.user,
                 (unsigned long long)found.limit, (unsigned long long)n, (unsigned long long)limit);
}

static void expect_full(struct odeon_client *client)
{
    struct odeon_port *port = NULL;
    odeon_ref ref = ODEON_NOBODY;

    expect_usage(client, "clients", 1, 256);
    expect_usage(client, "ports", PORTS, PORTS);
    expect_usage(client, "ring-bytes", (uint64_t)PORTS * 2 * RING,
                 usage(client, "ring-bytes").limit);
    expect_usage(client, "actors", ACTORS, ACTORS);
    assert_int_equal(open_port(client, &port), -EDQUOT);
    assert_non_null(strstr(odeon_error_text(), "quota-ports"));
    assert_int_equal(make_actor(client, &ref), -EDQUOT);
    assert_non_null(strstr(odeon_error_text(), "quota-actors"));
}

/* Behind each end: nothing is free, and what is given up is free once. */
static void test_quotas(void **state)
{
    struct odeon_port *ports[PORTS];
    struct odeon_client *client;
    odeon_ref actors[ACTORS];

    (void)state;
    begin();
    client = service_connect(manager_service(manager), "full");
    assert_true(wait_until(usage(client, "clients").user == 1)); /* the harness's own has gone */
    for (int i = 0; i < PORTS; i++)
        assert_int_equal(open_port(client, &ports[i]), 0);
    for (int i = 0; i < ACTORS; i++)
        assert_int_equal(make_actor(client, &actors[i]), 0);
    expect_full(client);
    for (enum way way = RESTART; way < WAYS; way++) {
        assert_true(follow(way));
        expect_full(client);
        odeon_port_close(ports[way]);
        assert_true(wait_until(open_port(client, &ports[way]) == 0));
        assert_int_equal(odeon_actor_stop(client, actors[way], ODEON_DELETE), 0);
        assert_true(wait_until(make_actor(client, &actors[way]) == 0));
        expect_full(client);
    }
    for (int i = 0; i < PORTS; i++)
        odeon_port_close(ports[i]);
    assert_true(wait_until(usage(client, "ports").user == 0));
    expect_usage(client, "ring-bytes", 0, usage(client, "ring-bytes").limit);
    odeon_client_disconnect(client);
}

/* ---- roles, and quotas of another user ---- */

struct act {
    const char *roles; /* as client list says */
    int spawn;         /* what becomes of it while there is room */
    int arrived[2], go[2];
};

static bool has_roles(struct odeon_client *client, const char *roles)
{
    struct odeon_list *list = NULL;
    bool has = false;

    if (odeon_client_list(client, 0, 0, &list) < 0)
        return false;
    for (size_t i = 0; i < list->n; i++) {
        const struct odeon_client_info *row = (const struct odeon_client_info *)list->rows + i;

        has |= row->pid == (uint32_t)getpid() && row->uid == geteuid() &&
               strcmp(row->roles, roles) == 0;
    }
    odeon_result_free(list);
    return has;
}

/* 0: as it must be.  In a child: no assertions. */
static int look(struct odeon_client *client, const struct act *act, bool again)
{
    static const char *const key[] = { "throughput" }, *const value[] = { "77" };
    struct odeon_port *port = NULL;
    odeon_ref ref = ODEON_NOBODY;

    if (!has_roles(client, act->roles))
        return -1;
    if (odeon_executor_set(client, key, value, 1, NULL) != -EACCES)
        return -2;
    for (int i = 0; !again && i < PORTS; i++)
        if (open_port(client, &port) < 0)
            return -3;
    if (open_port(client, &port) != -EDQUOT)
        return -4;
    for (int i = 0; !again && act->spawn == 0 && i < ACTORS; i++)
        if (make_actor(client, &ref) < 0)
            return -5;
    return make_actor(client, &ref) == (act->spawn < 0 ? act->spawn : -EDQUOT) ? 0 : -6;
}

static int look_before_and_behind(struct odeon_client *client, void *argument)
{
    const struct act *act = argument;
    int r = look(client, act, false);
    char byte;

    for (int way = RESTART; r == 0 && way < WAYS; way++) {
        if (write(act->arrived[1], "", 1) != 1 || read(act->go[0], &byte, 1) != 1)
            return -EIO;
        r = look(client, act, true) * 10;
    }
    return r;
}

static void *follow_meanwhile(void *argument)
{
    const struct act *act = argument;
    char byte;

    for (enum way way = RESTART; way < WAYS; way++) {
        if (read(act->arrived[0], &byte, 1) != 1)
            return NULL;
        if (!follow(way) || write(act->go[1], "", 1) != 1)
            return NULL;
    }
    return argument;
}

static void check_user(uid_t uid, struct act *act)
{
    pthread_t thread;
    void *followed;

    assert_int_equal(pipe(act->arrived), 0);
    assert_int_equal(pipe(act->go), 0);
    assert_int_equal(pthread_create(&thread, NULL, follow_meanwhile, act), 0);
    user_expects(manager_service(manager), (struct user){ .uid = uid, .gid = (gid_t)uid },
                 look_before_and_behind, act, 0, NULL);
    pthread_join(thread, &followed);
    assert_non_null(followed);
    for (int i = 0; i < 2; i++) {
        close(act->arrived[i]);
        close(act->go[i]);
    }
}

static void test_roles(void **state)
{
    struct act poster = { .roles = "observe, post", .spawn = -EACCES },
               maker = { .roles = "observe, post, register", .spawn = 0 };

    (void)state;
    if (!user_can_change()) {
        print_message("# skipped: other users can be played by root alone\n");
        skip();
    }
    begin();
    check_user(41001, &poster);
    check_user(41002, &maker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_quotas, end),
        cmocka_unit_test_teardown(test_roles, end),
    };

    return cmocka_run_group_tests_name("persist_limits", tests, NULL, NULL);
}
