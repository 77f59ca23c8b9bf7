/* SPDX-License-Identifier: Apache-2.0 */
/* odeonctl doctor: what is broken in a real service is named, and what it says to do mends it. */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/system/faulty.h"
#include "tests/system/harness.h"
#include "tests/system/probe.h"
#include "tests/system/user.h"

enum { OUTPUT = 1 << 14, DONE = 0, ILL = 6 };

static struct service service;
static struct odeon_client *client;
static struct odeon_port *port;
static struct faulty_page *page;
static char page_path[96], output[OUTPUT];

static const struct user stranger = { .uid = 41001, .gid = 41001, .group = 41900 };

static void begin(const char *setting, const char *other)
{
    service_start(&service,
                  (const char *const[]){ SMALL_SERVICE, "--set", "restart-delay-max-ms=10", "--set",
                                         "attempts=1", "--set", setting, "--set", other, "--plugin",
                                         TEST_FAULTY, NULL });
    client = service_connect(&service, "patient\n\033[31m");
    port = port_open_or_fail(client, 0, 0, false);
    page = service_map_page(&service, page_path, sizeof(page_path), sizeof(*page));
}

static int end(void **state)
{
    (void)state;
    client = odeon_client_disconnect(client);
    if (service.pid > 0)
        assert_int_equal(service_stop(&service, SIGTERM), 0);
    if (page)
        munmap(page, sizeof(*page));
    page = NULL;
    service_end(&service);
    return 0;
}

static odeon_ref faulty_spawn(void)
{
    struct faulty_args args = { 0 };

    memcpy(args.page, page_path, sizeof(args.page));
    return spawn(client, "faulty_actor", NULL, &args, sizeof(args));
}

static void post_do(odeon_ref to, enum faulty_how how)
{
    struct faulty_do message = { .how = how, .times = 1 };

    assert_int_equal(odeon_port_post_wait(port, to, message_id(client, odeon_message_of(faulty_do)),
                                          &message, sizeof(message), SECONDS(PATIENCE_S)),
                     0);
}

/* Through an actor that sends it on. */
static void pass_count(odeon_ref to)
{
    struct faulty_pass message = { .to = to, .n = 1 };
    odeon_ref passer;

    load_plugin(client, TEST_PASSER);
    passer = spawn(client, "passer_actor", NULL, NULL, 0);
    assert_int_equal(odeon_port_post_wait(port, passer,
                                          message_id(client, odeon_message_of(faulty_pass)),
                                          &message, sizeof(message), SECONDS(PATIENCE_S)),
                     0);
}

static int doctor(void)
{
    return ctl(&service, output, sizeof(output), "doctor");
}

static void expect(const char *says)
{
    if (!strstr(output, says))
        fail_msg("doctor does not say: %s\n%s", says, output);
}

static void expect_not(const char *says)
{
    if (strstr(output, says))
        fail_msg("doctor says: %s\n%s", says, output);
}

static void test_nothing_is_broken(void **state)
{
    (void)state;
    begin("quarantine-crashes=0", "stall-warn-ms=1000");
    (void)doctor(); /* what machine this is it may well complain of */
    expect_not("broken: ");
    expect_not("restarts");
    expect_not("quarantine");
    expect("odeond was started by hand");
    (void)ctl(&service, output, sizeof(output), "--json doctor");
    expect("{\"version\":1,\"findings\":[");
    expect("\"about\":\"by-hand\"");
}

static void test_quarantine_is_named_and_mended(void **state)
{
    odeon_ref crasher;

    (void)state;
    begin("quarantine-crashes=1", "stall-warn-ms=1000");
    crasher = faulty_spawn();
    post_do(crasher, FAULTY_NULL);
    assert_true(wait_until((doctor(), strstr(output, "is in quarantine")) != NULL));
    assert_int_equal(doctor(), ILL);
    expect("broken: type faulty_actor of plugin faulty is in quarantine");
    expect("odeonctl type release faulty_actor");
    expect("bad: the executor has died");
    assert_true(strstr(output, "broken: ") < strstr(output, "bad: "));
    pass_count(crasher); /* a message that nobody is told of who could send it again */
    assert_true(wait_until((doctor(), strstr(output, "dead letters wait")) != NULL));
    expect("odeonctl dlq list --summary");
    assert_int_equal(ctl(&service, output, sizeof(output), "type release faulty_actor"), DONE);
    assert_int_equal(ctl(&service, output, sizeof(output), "dlq purge all"), DONE);
    (void)doctor();
    expect_not("quarantine");
    expect_not("dead letters wait");
}

static void test_a_handler_that_does_not_return_is_named(void **state)
{
    odeon_ref hanger;

    (void)state;
    begin("quarantine-crashes=0", "stall-warn-ms=50");
    hanger = faulty_spawn();
    post_do(hanger, FAULTY_HANG);
    assert_true(wait_until(atomic_load(&page->entered) == 1));
    assert_true(wait_until((doctor(), strstr(output, "does not return")) != NULL));
    expect("broken: a handler on worker ");
    atomic_store(&page->release, 1);
    syscall(SYS_futex, &page->release, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    assert_true(wait_until((doctor(), strstr(output, "does not return")) == NULL));
}

/* ---- what grows */

static atomic_bool enough;

/* Posts to an actor that is no more, so that each is refused. */
static void *post_in_vain(void *userdata)
{
    odeon_ref gone = *(odeon_ref *)userdata;
    struct faulty_count count = { .n = 1 };
    uint32_t type = message_id(client, odeon_message_of(faulty_count));
    struct odeon_delivery delivery;

    while (!atomic_load(&enough)) {
        (void)odeon_port_post(port, gone, type, &count, sizeof(count));
        while (odeon_port_receive(port, &delivery) == 1)
            ;
        odeon_port_release(port);
        pause_briefly();
    }
    return NULL;
}

static void test_what_grows_is_told(void **state)
{
    pthread_t thread;
    odeon_ref gone;
    bool told;

    (void)state;
    begin("quarantine-crashes=0", "stall-warn-ms=1000");
    gone = faulty_spawn();
    assert_int_equal(odeon_actor_stop(client, gone, ODEON_DELETE), 0);
    atomic_store(&enough, false);
    assert_int_equal(pthread_create(&thread, NULL, post_in_vain, &gone), 0);
    told = wait_until((doctor(), strstr(output, "messages of clients are refused: ")) != NULL);
    atomic_store(&enough, true);
    pthread_join(thread, NULL);
    assert_true(told);
    assert_true(wait_until((doctor(), strstr(output, "messages of clients are refused")) == NULL));
}

/* ---- who cannot be asked */

/* As another user: what is said, and the status. */
static int doctor_as(struct user user)
{
    char file[128];
    int status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    snprintf(file, sizeof(file), "%s/doctor", service.dir);
    if (pid == 0) {
        char command[512];

        snprintf(command, sizeof(command), "exec '%s' --socket '%s' doctor 2>&1", TEST_ODEONCTL,
                 service.socket);
        if (!freopen(file, "w", stdout) || !user_become(user))
            _exit(127);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    FILE *said = fopen(file, "r");
    assert_non_null(said);
    output[fread(output, 1, sizeof(output) - 1, said)] = '\0';
    fclose(said);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_a_role_that_is_missing_is_told(void **state)
{
    (void)state;
    if (!user_can_change())
        skip();
    begin("socket-mode=0666", "role-post=*");
    assert_int_equal(chmod(service.dir, 0700), 0);
    assert_int_equal(doctor_as(stranger), DONE);
    expect("note: cannot reach the service: you may not use ");
    assert_int_equal(chmod(service.dir, 0755), 0);
    assert_int_not_equal(doctor_as(stranger), 127);
    expect("queues and memory: not looked at: ");
    expect("as the user of the service, or as root");
    expect_not("broken: ");
}

static void test_a_service_that_is_away_is_told(void **state)
{
    (void)state;
    begin("quarantine-crashes=0", "stall-warn-ms=1000");
    client = odeon_client_disconnect(client);
    assert_int_equal(service_stop(&service, SIGTERM), 0);
    assert_int_equal(doctor(), ILL);
    expect("broken: cannot reach the service");
    expect("systemctl start odeond");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_nothing_is_broken, end),
        cmocka_unit_test_teardown(test_quarantine_is_named_and_mended, end),
        cmocka_unit_test_teardown(test_a_handler_that_does_not_return_is_named, end),
        cmocka_unit_test_teardown(test_what_grows_is_told, end),
        cmocka_unit_test_teardown(test_a_role_that_is_missing_is_told, end),
        cmocka_unit_test_teardown(test_a_service_that_is_away_is_told, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
