/* SPDX-License-Identifier: Apache-2.0 */
/* odeond's own settings, roles and quotas first of all, over its end: behind a crash they are as
 * the former odeond had read them, whatever the file says meanwhile, and whether it can be read;
 * after an orderly end the file counts. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "proto/registry_layout.h"
#include "tests/system/manager.h"
#include "tests/system/user.h"

#define COMMON                                                                                     \
    SMALL_SERVICE, "--set", "restart-delay-max-ms=20", "--set", "drain-timeout-ms=500", "--set",   \
        "quotas-bind=all"
/* Every user may connect; what he may do there is the file's to say. */
#define OPEN    "socket-mode = 0666\n"
#define AS_READ OPEN "role-observe = 41002\nrole-post = 41002\nquota-ports = 3\n"
#define EDITED  OPEN "role-observe = *\nrole-post =\nrole-load = 41001\nquota-ports = 5\n"
#define UNKNOWN "role-register = nobody.has.this.name\n"

static const char *const arguments[] = { COMMON, "--executor", TEST_EXECUTOR, NULL };
static const struct user reader = { .uid = 41002, .gid = 41002 },
                         somebody = { .uid = 41001, .gid = 41001 };

static struct manager *manager;

static void configure(const char *text)
{
    service_configure(manager_service(manager), text);
}

/* The first start is with an empty file, which the harness makes. */
static void begin(const char *text)
{
    manager = manager_start(&(struct manager_options){ .arguments = arguments });
    assert_int_equal(chmod(manager_service(manager)->dir, 0755), 0);
    manager_wait_ready(manager);
    configure(text);
    assert_int_equal(manager_restart(manager), 0);
    manager_wait_ready(manager);
}

static int end(void **state)
{
    (void)state;
    if (manager)
        manager = manager_end(manager);
    return 0;
}

/* The next one serves at its first try. */
static void crash(void)
{
    unsigned readies = manager_readies(manager), failures = manager_failures(manager);

    manager_kill(manager);
    assert_true(
        wait_until(manager_readies(manager) > readies || manager_failures(manager) > failures));
    assert_int_equal(manager_failures(manager), failures);
}

static void reload(void)
{
    static const char applied[] = "the configuration has been read again and applied";
    struct service *service = manager_service(manager);
    unsigned before = service_log_count(service, applied);

    assert_int_equal(kill(manager_pid(manager), SIGHUP), 0);
    assert_true(wait_until(service_log_count(service, applied) > before));
}

/* In a child that is another user, so without assertions: 0 where the service knows it by these
 * roles. */
static int has_roles(struct odeon_client *client, void *roles)
{
    struct odeon_list *list = NULL;
    int r = odeon_client_list(client, 0, 0, &list);
    const struct odeon_client_info *rows = r == 0 ? list->rows : NULL;
    bool has = false;

    for (size_t i = 0; r == 0 && i < list->n; i++)
        has |= rows[i].pid == (uint32_t)getpid() && strcmp(rows[i].roles, roles) == 0;
    odeon_result_free(list);
    return r < 0 ? r : has ? 0 : -EBADMSG;
}

static int sees_roles(struct user user, const char *roles)
{
    return user_does(manager_service(manager), user, has_roles, (void *)roles).r;
}

/* `roles`: NULL: it is not let in. */
static void expect_roles(struct user user, const char *roles)
{
    if (user_can_change())
        user_expects(manager_service(manager), user, has_roles, (void *)roles, roles ? 0 : -EACCES,
                     NULL);
}

static uint64_t ports_quota(void)
{
    struct odeon_client *client = service_connect(manager_service(manager), "quota");
    struct odeon_client_detail *detail = NULL;
    struct odeon_status *status = NULL;
    uint64_t limit = 0;

    assert_int_equal(odeon_service_status(client, &status), 0);
    assert_int_equal(odeon_client_show(client, status->your_id, &detail), 0);
    for (size_t i = 0; i < detail->n_usage; i++)
        if (strcmp(detail->usage[i].name, "ports") == 0)
            limit = detail->usage[i].limit;
    odeon_result_free(detail);
    odeon_result_free(status);
    odeon_client_disconnect(client);
    return limit;
}

static void expect_as_read(void)
{
    assert_int_equal(ports_quota(), 3);
    expect_roles(reader, "observe, post");
    expect_roles(somebody, NULL);
}

static void expect_edited(void)
{
    assert_int_equal(ports_quota(), 5);
    expect_roles(reader, "observe");
    expect_roles(somebody, "observe, load");
}

/* What somebody is just editing is in force by a reload, or by an orderly start; not by a crash,
 * behind which the log says so. */
static void test_an_edit_waits(void **state)
{
    static const char told[] =
        "role-observe, role-post, role-load, quota-ports: the configuration says otherwise than "
        "when the former service read it, which counts until a reload";
    unsigned times;

    (void)state;
    begin(AS_READ);
    expect_as_read();
    crash();
    assert_false(service_log_has(manager_service(manager), "the configuration says otherwise"));
    configure(EDITED);
    for (unsigned i = 0; i < 2; i++) {
        crash();
        expect_as_read();
    }
    manager_kill_both(manager);
    expect_as_read();
    times = service_log_count(manager_service(manager), told);
    assert_int_equal(times, 3);
    reload();
    expect_edited();
    crash();
    assert_int_equal(service_log_count(manager_service(manager), told), times);
    configure(AS_READ);
    crash();
    expect_edited();
    assert_int_equal(manager_restart(manager), 0);
    manager_wait_ready(manager);
    expect_as_read();
}

static void expect_that_a_crash_is_survived(const char *why)
{
    crash();
    assert_true(service_log_has(manager_service(manager), why));
    expect_as_read();
}

/* A name that nobody has any more, an unknown key, and no file at all keep no service down that
 * goes on; a first start, and one behind an orderly end, they do. */
static void test_a_file_that_is_refused(void **state)
{
    struct service *service;
    char path[96];

    (void)state;
    begin(AS_READ);
    service = manager_service(manager);
    configure(AS_READ UNKNOWN);
    expect_that_a_crash_is_survived("conf:5: role-register: there is no user 'nobody.has.this");
    configure(EDITED "[odeond]\nno-such-key = 1\n");
    expect_that_a_crash_is_survived("no-such-key");
    assert_int_equal(kill(manager_pid(manager), SIGHUP), 0);
    assert_true(wait_until(service_log_has(service, "reload: nothing is changed")));
    crash();
    expect_as_read();
    snprintf(path, sizeof(path), "%s/conf", service->dir);
    assert_int_equal(unlink(path), 0);
    expect_that_a_crash_is_survived("No such file");

    configure(EDITED UNKNOWN);
    assert_int_equal(manager_restart(manager), 0);
    assert_true(wait_until(manager_failures(manager) > 1));
    assert_true(service_log_has(service, "the service does not start"));
    configure(EDITED);
    manager_wait_ready(manager);
    expect_edited();
}

static void write_program(char path[96], const char *name, const char *text)
{
    int fd;

    snprintf(path, 96, "%s/%s", manager_service(manager)->dir, name);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

/* Behind a crash one that listens already, and whose executor is never ready. The start behind it
 * has another one. */
static void crash_into_a_start_that_waits(void)
{
    static char program[96];
    static const char *const idle[] = { COMMON, "--executor", program, NULL };
    unsigned listens = service_log_count(manager_service(manager), "executor started, process ");

    write_program(program, "idle", "#!/bin/sh\nexec sleep 600\n");
    manager_set_program(manager, NULL, idle);
    manager_kill(manager);
    assert_true(wait_until(
        service_log_count(manager_service(manager), "executor started, process ") > listens));
    manager_set_program(manager, NULL, arguments);
}

/* Whether the next start serves, and at its first try; else it does not start. */
static bool serves(unsigned readies, unsigned failures)
{
    assert_true(
        wait_until(manager_readies(manager) > readies || manager_failures(manager) > failures));
    return manager_failures(manager) == failures;
}

/* A start that was told to end has been ended in order, also where it never came so far. */
static void test_an_orderly_end_of_a_start(void **state)
{
    (void)state;
    begin(EDITED);
    expect_edited();
    crash_into_a_start_that_waits();
    configure(AS_READ);
    (void)manager_restart(manager);
    manager_wait_ready(manager);
    expect_as_read();
}

static void test_an_orderly_end_of_a_start_and_a_file_that_is_refused(void **state)
{
    unsigned readies;

    (void)state;
    begin(AS_READ);
    crash_into_a_start_that_waits();
    configure(EDITED UNKNOWN);
    readies = manager_readies(manager);
    (void)manager_restart(manager);
    assert_false(serves(readies, manager_failures(manager)));
}

/* The last one. */
static pid_t executor_pid(void)
{
    static const char words[] = "executor started, process ";
    char *log = service_read_log(manager_service(manager)), *last = log;
    pid_t pid;

    for (char *at = log; (at = strstr(at, words)); at += sizeof(words) - 1)
        last = at + sizeof(words) - 1;
    pid = atoi(last);
    free(log);
    assert_true(pid > 0);
    return pid;
}

/* As a service manager does it that has lost its patience. */
static void test_killed_while_it_drains(void **state)
{
    static const char *const patient[] = { COMMON,       "--set",       "drain-timeout-ms=600000",
                                           "--executor", TEST_EXECUTOR, NULL };
    struct service *service;
    unsigned stops;
    pid_t executor;

    (void)state;
    begin(EDITED);
    service = manager_service(manager);
    manager_set_program(manager, NULL, patient);
    assert_int_equal(manager_restart(manager), 0);
    manager_wait_ready(manager);
    expect_edited();
    configure(AS_READ);
    manager_hold(manager, true);
    stops = service_log_count(service, "drains and stops");
    executor = executor_pid();
    assert_int_equal(kill(executor, SIGSTOP), 0);
    assert_int_equal(kill(manager_pid(manager), SIGTERM), 0);
    assert_true(wait_until(service_log_count(service, "drains and stops") > stops));
    manager_kill(manager); /* and the kernel its executor, at its own time */
    manager_hold(manager, false);
    manager_wait_ready(manager);
    expect_as_read();
}

/* The socket is the gate where roles are everybody's: an edited group does not pass through it with
 * the former roles. */
static void test_an_edited_group_waits(void **state)
{
    struct stat st;

    (void)state;
    if (!user_can_change()) {
        print_message("# skipped: other groups can be had by root alone\n");
        skip();
    }
    begin("socket-mode = 0660\nsocket-group = 41004\nrole-load = *\n");
    configure("socket-mode = 0660\nsocket-group = 41001\nrole-load =\n");
    crash();
    assert_int_equal(stat(manager_service(manager)->socket, &st), 0);
    assert_int_equal(st.st_gid, 41004);
    assert_true(service_log_has(manager_service(manager),
                                "role-load, socket-group: the configuration says otherwise"));
    assert_int_equal(manager_restart(manager), 0);
    manager_wait_ready(manager);
    assert_int_equal(stat(manager_service(manager)->socket, &st), 0);
    assert_int_equal(st.st_gid, 41001);
}

/* odeond as one that is in the group 41004, or in none, and may give files to no other one. */
static void write_odeond_in_group(char path[96], const char *name, const char *groups)
{
    char text[1024];

    snprintf(text, sizeof(text),
             "#!/bin/sh\nexec setpriv --bounding-set=-chown --inh-caps=-chown %s -- %s \"$@\"\n",
             groups, TEST_ODEOND);
    write_program(path, name, text);
}

/* The service is no more in the group that its socket had. */
static void test_the_socket_has_no_group_any_more(void **state)
{
    char in[96], out[96];
    unsigned readies, failures;
    struct stat st;

    (void)state;
    if (!user_can_change() || access("/usr/bin/setpriv", X_OK) < 0) {
        print_message("# skipped: it takes root, and setpriv\n");
        skip();
    }
    begin("");
    write_odeond_in_group(in, "in", "--groups=41004");
    write_odeond_in_group(out, "out", "--clear-groups");
    manager_set_program(manager, in, arguments);
    for (int i = 0; i < 2; i++) {
        configure("socket-mode = 0660\nsocket-group = 41004\nquota-ports = 3\n");
        manager_set_program(manager, in, arguments);
        assert_int_equal(manager_restart(manager), 0);
        manager_wait_ready(manager);
        assert_int_equal(stat(manager_service(manager)->socket, &st), 0);
        assert_int_equal(st.st_gid, 41004);
        configure(i == 0 ? "quota-ports = 5\n" : "quota-ports = 5\n" UNKNOWN);
        manager_set_program(manager, out, arguments);
        readies = manager_readies(manager);
        failures = manager_failures(manager);
        manager_kill(manager);
        assert_true(serves(readies, failures));
        assert_int_equal(ports_quota(), 3);
        assert_int_equal(stat(manager_service(manager)->socket, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0600);
        assert_true(st.st_gid != 41004);
        assert_int_equal(service_log_count(manager_service(manager), "it stays at mode 0600"),
                         i + 1);
        configure("");
        assert_int_equal(manager_restart(manager), 0);
        manager_wait_ready(manager);
    }
}

static struct registry *map_registry(void)
{
    int fd = manager_store_get(manager, "registry");
    struct registry *map = mmap(NULL, sizeof(*map), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    assert_true(map != MAP_FAILED);
    close(fd);
    return map;
}

/* What had been read is not known any more: nobody gets a role from a file that may be one that
 * somebody is just editing. */
static void test_spoilt(void **state)
{
    unsigned readies, failures;
    struct registry *map;

    (void)state;
    begin(AS_READ);
    configure(EDITED);
    manager_hold(manager, true);
    manager_kill(manager);
    map = map_registry();
    map->settings[atomic_load(&map->header.settings_copy) & 1].own_bytes--;
    munmap(map, sizeof(*map));
    readies = manager_readies(manager);
    failures = manager_failures(manager);
    manager_hold(manager, false);
    assert_true(serves(readies, failures));
    assert_true(service_log_has(manager_service(manager), "had read them are spoilt"));
    assert_int_equal(ports_quota(), 64);
    expect_roles(somebody, NULL);
    assert_int_equal(manager_restart(manager), 0);
    manager_wait_ready(manager);
    expect_edited();
}

/* One that cannot be gone on with is not gone on with, whatever the file is. */
static void test_a_state_that_waits(void **state)
{
    static const char unread[] = "the configuration cannot be read: ";
    struct service *service;

    (void)state;
    begin(AS_READ);
    service = manager_service(manager);
    manager_hold(manager, true);
    manager_kill(manager);
    manager_store_drop(manager, "segment");
    configure(AS_READ UNKNOWN);
    manager_hold(manager, false);
    assert_true(wait_until(service_log_has(service, unread)));
    assert_true(service_log_has(service, "but no engine segment"));
    assert_false(service_log_has(service, "the service goes on with"));
}

/* A registry of a build that kept none there: the file counts, as it did for that build. */
static void test_a_registry_without_them(void **state)
{
    struct registry *map;
    unsigned failures;

    (void)state;
    begin(AS_READ);
    manager_hold(manager, true);
    manager_kill(manager);
    map = map_registry();
    atomic_fetch_add(&map->header.epoch, 1); /* it has started, and has not taken own_epoch along */
    munmap(map, sizeof(*map));
    configure(EDITED UNKNOWN);
    failures = manager_failures(manager);
    manager_hold(manager, false);
    assert_true(wait_until(manager_failures(manager) > failures));
    configure(EDITED);
    manager_wait_ready(manager);
    expect_edited();
    configure(AS_READ);
    crash();
    expect_edited();
}

/* Who lost a role by a reload does not have it again, also where odeond dies before the executor
 * that it waits for is ready. */
static void test_a_reload_in_the_middle_of_a_start(void **state)
{
    (void)state;
    if (!user_can_change()) {
        print_message("# skipped: other users can be played by root alone\n");
        skip();
    }
    begin(EDITED);
    expect_edited();
    configure(AS_READ);
    crash_into_a_start_that_waits();
    assert_int_equal(sees_roles(somebody, "observe, load"), 0);
    assert_int_equal(kill(manager_pid(manager), SIGHUP), 0);
    assert_true(wait_until(sees_roles(somebody, "") == -EACCES));
    configure(EDITED);
    crash();
    expect_as_read();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_an_edit_waits, end),
        cmocka_unit_test_teardown(test_a_file_that_is_refused, end),
        cmocka_unit_test_teardown(test_a_registry_without_them, end),
        cmocka_unit_test_teardown(test_a_reload_in_the_middle_of_a_start, end),
        cmocka_unit_test_teardown(test_an_orderly_end_of_a_start, end),
        cmocka_unit_test_teardown(test_an_orderly_end_of_a_start_and_a_file_that_is_refused, end),
        cmocka_unit_test_teardown(test_killed_while_it_drains, end),
        cmocka_unit_test_teardown(test_an_edited_group_waits, end),
        cmocka_unit_test_teardown(test_the_socket_has_no_group_any_more, end),
        cmocka_unit_test_teardown(test_spoilt, end),
        cmocka_unit_test_teardown(test_a_state_that_waits, end),
    };

    return cmocka_run_group_tests_name("own_settings", tests, NULL, NULL);
}
