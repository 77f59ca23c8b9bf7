/* SPDX-License-Identifier: Apache-2.0 */
/* The service manager takes nothing that it is told, as one that is stopped: whoever opens a port
 * waits for it, and nobody else does. Judged by the system calls in which odeond's one thread is
 * seen to wait, and by answers. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/system/loop_watch.h"
#include "tests/system/manager.h"
#include "tests/system/probe.h"

/* Of each wave: together they tell the manager more than its socket takes. */
enum {
    ASKS = 50,
    WAVES = 3,
    CHILDREN = 40,
    KEPT = 4 /* registry, segment, stats, plugin */
};

static const char *const arguments[] = { SMALL_SERVICE, "--executor", TEST_EXECUTOR,
                                         "--plugin",    TEST_PROBE,   NULL };

struct opener {
    pthread_t thread;
    struct odeon_client *client;
    struct odeon_port *port;
    int result;
    atomic_bool asks, done;
};

static void *open_port(void *userdata)
{
    struct opener *opener = userdata;

    atomic_store(&opener->asks, true);
    opener->result = odeon_port_open(opener->client, NULL, &opener->port);
    atomic_store(&opener->done, true);
    return NULL;
}

/* The test has failed, and is to end. */
static void let_it_end(void *manager)
{
    manager_set_deaf(manager, false);
}

static void watch_begin(struct loop_watch *watch, struct manager *manager)
{
    *watch = (struct loop_watch){ .on_often = let_it_end, .userdata = manager };
    loop_watch_begin(watch, manager_pid(manager));
}

static void watch_end(struct loop_watch *watch)
{
    loop_watch_end(watch);
    print_message("check=deaf looks=%u blocked=%u\n", watch->looks,
                  watch->blocked + watch->writing);
    assert_int_equal(watch->blocked + watch->writing, 0);
}

static void ask_often(struct odeon_client *client)
{
    struct odeon_status *status;

    for (unsigned i = 0; i < ASKS; i++) {
        status = NULL;
        assert_int_equal(odeon_service_status(client, &status), 0);
        assert_string_equal(status->state, "running");
        odeon_result_free(status);
    }
}

static struct manager *start(void)
{
    struct manager *manager = manager_start(&(struct manager_options){ .arguments = arguments });

    manager_wait_ready(manager);
    return manager;
}

/* The figures say that odeond has taken the request. */
static bool is_being_opened(struct odeon_client *client)
{
    struct odeon_list *list = NULL;
    bool any = false;

    assert_int_equal(odeon_client_list(client, 0, 0, &list), 0);
    for (size_t i = 0; i < list->n; i++)
        any |= ((const struct odeon_client_info *)list->rows)[i].ports > 0;
    odeon_list_free(list);
    return any;
}

static void test_one_waits_others_are_answered(void **state)
{
    struct manager *manager = start();
    struct odeon_client *other = service_connect(manager_service(manager), "other");
    struct opener opener = { .client = service_connect(manager_service(manager), "opens") };
    struct odeon_delivery delivery;
    odeon_ref echo = spawn(other, "probe_echo", NULL, NULL, 0);
    uint32_t number = message_id(other, odeon_message_of(probe_number));
    struct loop_watch watch;

    (void)state;
    manager_set_deaf(manager, true);
    watch_begin(&watch, manager);
    assert_int_equal(pthread_create(&opener.thread, NULL, open_port, &opener), 0);
    assert_true(wait_until(is_being_opened(other)));
    ask_often(other);
    watch_end(&watch);
    assert_false(atomic_load(&opener.done));
    manager_set_deaf(manager, false);
    assert_true(wait_until(atomic_load(&opener.done)));
    pthread_join(opener.thread, NULL);
    assert_int_equal(opener.result, 0);
    /* what it waited for is there: the port outlives odeond */
    manager_kill(manager);
    manager_wait_ready(manager);
    assert_int_equal(odeon_port_post(opener.port, echo, number, &(struct probe_number){ 7, 0 }, 16),
                     0);
    assert_int_equal(odeon_port_receive_wait(opener.port, &delivery, SECONDS(PATIENCE_S)), 1);
    odeon_port_release(opener.port);
    odeon_client_disconnect(opener.client);
    odeon_client_disconnect(other);
    assert_true(wait_until(manager_store_count(manager, "") == KEPT));
    manager_end(manager);
    if (loop_watch_was_blind(&watch))
        skip();
}

static pid_t start_child(const struct service *service)
{
    pid_t parent = getpid(), pid = fork();
    struct odeon_client *client = NULL;
    struct odeon_port *port = NULL;

    if (pid != 0)
        return pid;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent ||
        odeon_client_connect(service->socket, "child", &client) < 0)
        _exit(1);
    (void)odeon_port_open(client, NULL, &port);
    for (;;)
        pause();
}

/* Their ports end on the way into the store. */
static void test_many_who_leave_meanwhile(void **state)
{
    struct manager *manager = start();
    struct odeon_client *other = service_connect(manager_service(manager), "other");
    struct odeon_port *port = NULL;
    pid_t children[CHILDREN];
    struct loop_watch watch;

    (void)state;
    manager_set_deaf(manager, true);
    watch_begin(&watch, manager);
    for (unsigned wave = 0; wave < WAVES; wave++) {
        for (unsigned i = 0; i < CHILDREN; i++)
            assert_true((children[i] = start_child(manager_service(manager))) > 0);
        ask_often(other);
        assert_true(wait_until(is_being_opened(other)));
        for (unsigned i = 0; i < CHILDREN; i++)
            kill(children[i], SIGKILL);
        for (unsigned i = 0; i < CHILDREN; i++)
            assert_int_equal(waitpid(children[i], NULL, 0), children[i]);
        ask_often(other);
    }
    watch_end(&watch);
    manager_set_deaf(manager, false);
    assert_int_equal(odeon_port_open(other, NULL, &port), 0);
    odeon_port_close(port);
    odeon_client_disconnect(other);
    assert_true(wait_until(manager_store_count(manager, "") == KEPT));
    assert_int_equal(manager_starts(manager), 1);
    manager_end(manager);
    if (loop_watch_was_blind(&watch))
        skip();
}

/* What waited for it may be lost then: nobody has a port that is not kept. */
static void test_the_manager_is_another(void **state)
{
    struct manager *manager = start();
    struct odeon_client *other = service_connect(manager_service(manager), "other");
    struct opener opener = { .client = service_connect(manager_service(manager), "opens") };
    struct odeon_port *port = NULL;
    struct odeon_delivery delivery;
    odeon_ref echo = spawn(other, "probe_echo", NULL, NULL, 0);
    uint32_t number = message_id(other, odeon_message_of(probe_number));

    (void)state;
    manager_set_deaf(manager, true);
    manager_fill(manager);
    assert_int_equal(pthread_create(&opener.thread, NULL, open_port, &opener), 0);
    assert_true(wait_until(is_being_opened(other)));
    ask_often(other);
    assert_false(atomic_load(&opener.done));
    manager_replace_socket(manager);
    manager_set_deaf(manager, false);
    assert_true(wait_until(atomic_load(&opener.done)));
    pthread_join(opener.thread, NULL);
    assert_int_equal(opener.result, -EIO);
    /* the next one is kept, its client's process, too */
    assert_int_equal(odeon_port_open(opener.client, NULL, &port), 0);
    manager_kill(manager);
    manager_wait_ready(manager);
    assert_int_equal(odeon_port_post(port, echo, number, &(struct probe_number){ 7, 0 }, 16), 0);
    assert_int_equal(odeon_port_receive_wait(port, &delivery, SECONDS(PATIENCE_S)), 1);
    odeon_port_release(port);
    odeon_client_disconnect(opener.client);
    odeon_client_disconnect(other);
    assert_true(wait_until(manager_store_count(manager, "") == KEPT));
    manager_end(manager);
}

/* The end does not wait for it either. */
static void test_the_end(void **state)
{
    struct manager *manager = start();
    struct opener opener = { .client = service_connect(manager_service(manager), "opens") };
    struct odeon_client *other = service_connect(manager_service(manager), "other");
    int ended;

    (void)state;
    manager_set_deaf(manager, true);
    odeon_client_set_patience(opener.client, 0);
    assert_int_equal(pthread_create(&opener.thread, NULL, open_port, &opener), 0);
    assert_true(wait_until(is_being_opened(other)));
    odeon_client_disconnect(other);
    ended = manager_stop(manager);
    assert_true(WIFEXITED(ended) && WEXITSTATUS(ended) == 0);
    pthread_join(opener.thread, NULL);
    assert_true(opener.result < 0);
    odeon_client_disconnect(opener.client);
    manager_end(manager);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_waits_others_are_answered),
        cmocka_unit_test(test_many_who_leave_meanwhile),
        cmocka_unit_test(test_the_manager_is_another),
        cmocka_unit_test(test_the_end),
    };

    return cmocka_run_group_tests_name("deaf", tests, NULL, NULL);
}
