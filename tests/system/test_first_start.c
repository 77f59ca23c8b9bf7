/* SPDX-License-Identifier: Apache-2.0 */
/* registry_layout.G7: a client that asks for a port before the first executor is ready gets it when
 * one is, however many die before that, and although one of them has had the port. And what is
 * known of the death before them all. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/run/scratch.h"
#include "tests/system/manager.h"

static char folder[] = "/tmp/odeon-test.first-XXXXXX";
static char executor[64];

/* The file of the next executor. */
static void point(const char *target)
{
    char beside[96];

    snprintf(beside, sizeof(beside), "%s.new", executor);
    assert_int_equal(symlink(target, beside), 0);
    assert_int_equal(rename(beside, executor), 0);
}

static int make_folder(void **state)
{
    (void)state;
    if (!scratch_make(folder))
        return -1;
    snprintf(executor, sizeof(executor), "%s/executor", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    return unlink(executor) == 0 && rmdir(folder) == 0 ? 0 : -1;
}

/* Of the last line of the log that other_executor.c has written so; 0: there is none. */
static pid_t last_that(const struct service *service, const char *what)
{
    char *log = service_read_log(service), words[64];
    pid_t found = 0;
    int pid;

    for (char *save = NULL, *line = strtok_r(log, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save))
        if (sscanf(line, "other executor %d %63[^\n]", &pid, words) == 2 &&
            strcmp(words, what) == 0)
            found = pid;
    free(log);
    return found;
}

/* One that waits for none dies. odeond gives nobody the port before it knows that its descriptors
 * are kept, which is later than they are: who has started by then waits for none, however long it
 * lives. */
static bool one_waits_for_a_port(const struct service *service, pid_t *died)
{
    pid_t next = last_that(service, "waits for 0 ports");

    if (last_that(service, "waits for 1 ports") != 0)
        return true;
    if (next != *died)
        assert_int_equal(kill(next, SIGKILL), 0);
    *died = next;
    return false;
}

/* Until there is one that is given the port; the last that has died. */
static pid_t kill_those_without_a_port(const struct service *service)
{
    pid_t died = 0;

    assert_true(wait_until(one_waits_for_a_port(service, &died)));
    return died;
}

struct opening {
    struct odeon_client *client;
    struct odeon_port *port;
    int result;
};

static void *open_port(void *userdata)
{
    struct opening *opening = userdata;

    opening->result = odeon_port_open(opening->client, NULL, &opening->port);
    return NULL;
}

static void test_a_port_waits_for_the_first_ready_executor(void **state)
{
    static const char *const arguments[] = { SMALL_SERVICE, "--set",  "restart-delay-max-ms=20",
                                             "--executor",  executor, NULL };
    struct opening opening = { 0 };
    struct manager *manager;
    struct service *service;
    pthread_t thread;
    pid_t without;

    (void)state;
    assert_int_equal(setenv("OTHER_ANSWER", "ports", 1), 0);
    point(TEST_OTHER_EXECUTOR);
    manager = manager_start(&(struct manager_options){ .arguments = arguments });
    service = manager_service(manager);
    assert_true(wait_until(last_that(service, "waits for 0 ports") != 0));
    opening.client = service_connect(service, "early");
    assert_int_equal(pthread_create(&thread, NULL, open_port, &opening), 0);
    /* the request is there: the service manager keeps its port's descriptors */
    assert_true(wait_until(manager_store_count(manager, "port-") > 0));
    without = kill_those_without_a_port(service);
    /* the next one is given the port with its start */
    assert_true(wait_until(last_that(service, "has port 0") != 0));
    assert_int_not_equal(last_that(service, "has port 0"), without);
    point(TEST_EXECUTOR);
    assert_int_equal(kill(last_that(service, "has port 0"), SIGKILL), 0);
    manager_wait_ready(manager);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(opening.result, 0);
    /* all that in one odeond, whose checks hold; the next one goes on with the port */
    assert_int_equal(manager_starts(manager), 1);
    manager_kill(manager);
    manager_wait_ready(manager);
    assert_true(wait_until(odeon_port_check(opening.port) == 0));
    assert_int_equal(manager_store_count(manager, "port-0-1-client"), 1);
    odeon_client_disconnect(opening.client);
    manager_end(manager);
}

/* What is known of a death goes to whoever judges it: who dies before that takes nothing away. */
static void test_a_death_is_explained_until_it_is_judged(void **state)
{
    static const char *const arguments[] = { SMALL_SERVICE, "--set",  "restart-delay-max-ms=20",
                                             "--executor",  executor, NULL };
    struct manager *manager;
    struct service *service;
    pid_t died = 0;

    (void)state;
    assert_int_equal(setenv("OTHER_ANSWER", "ports", 1), 0);
    point(TEST_OTHER_EXECUTOR);
    manager = manager_start(&(struct manager_options){ .arguments = arguments });
    service = manager_service(manager);
    for (unsigned n = 0; n < 3; n++) {
        assert_true(wait_until(last_that(service, "waits for 0 ports") != died));
        died = last_that(service, "waits for 0 ports");
        assert_int_equal(last_that(service, "looks for no suspects"), died);
        if (n == 2)
            point(TEST_EXECUTOR);
        assert_int_equal(kill(died, SIGKILL), 0);
    }
    manager_wait_ready(manager);
    manager_end(manager);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_port_waits_for_the_first_ready_executor),
        cmocka_unit_test(test_a_death_is_explained_until_it_is_judged),
    };

    return cmocka_run_group_tests_name("first_start", tests, make_folder, remove_folder);
}
