/* SPDX-License-Identifier: Apache-2.0 */
/* What is scarce and not a matter of bytes: message types, names of actors, threads of their own,
 * ports. One user who takes all that it can get leaves others something, an administrator more; and
 * an executor that is started again knows what the user has.
 */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "proto/bounds.h"
#include "tests/system/harness.h"
#include "tests/system/probe.h"
#include "tests/system/user.h"

enum { DETACHED = 16 };

static const struct user hoarder = { 41001, 41001, 0 }, innocent = { 41002, 41002, 0 },
                         root = { 0, 0, 0 };
static struct service service;

static int begin(void **state)
{
    (void)state;
    if (!user_can_change())
        return 0;
    service_make_dir(&service);
    assert_int_equal(chmod(service.dir, 0755), 0);
    service_spawn(&service,
                  (const char *const[]){ SMALL_SERVICE, "--set", "actors=32768", "--set",
                                         "socket-mode=0666", "--set", "role-post=*", "--set",
                                         "role-register=*", "--set", "quota-requests=0", "--set",
                                         "detached=16", "--plugin", TEST_PROBE, NULL });
    service_wait_ready(&service);
    return 0;
}

static int end(void **state)
{
    (void)state;
    if (service.pid > 0)
        assert_int_equal(service_stop(&service, SIGTERM), 0);
    service_end(&service);
    return 0;
}

/* ---- acts of users: one more of a kind, by its number */

static int declare(struct odeon_client *client, unsigned n)
{
    char name[32];
    struct odeon_message_type type = {
        .struct_size = sizeof(type), .version = 1, .name = name, .fields = ""
    };
    uint32_t id;

    snprintf(name, sizeof(name), "hoard.%u.%u", (unsigned)getuid(), n);
    return odeon_message_id(client, &type, &id);
}

static int take_name(struct odeon_client *client, unsigned n)
{
    odeon_ref ref;
    char name[32];

    snprintf(name, sizeof(name), "hoard.%u.%u", (unsigned)getuid(), n);
    return odeon_actor_spawn(client, "probe_echo", name, NULL, 0, &ref);
}

static int take_thread(struct odeon_client *client, unsigned n)
{
    struct odeon_spawn_where where = { .struct_size = sizeof(where),
                                       .where = ODEON_WHERE_DETACHED };
    odeon_ref ref;

    (void)n;
    return odeon_actor_spawn_at(client, "probe_echo", NULL, NULL, 0, &where, &ref);
}

struct hoard {
    int (*take)(struct odeon_client *client, unsigned n);
    unsigned from, most;
};

/* Until it is refused. */
static int take_all(struct odeon_client *client, void *argument)
{
    const struct hoard *hoard = argument;
    int r = 0;

    (void)odeon_client_set_patience(client, SECONDS(PATIENCE_S));
    for (unsigned n = hoard->from; r == 0 && n < hoard->from + hoard->most; n++)
        r = hoard->take(client, n);
    return r;
}

/* The hoarder takes all that it gets, and no more of another executor, which knows what it has;
 * nobody else is refused, by either. */
static void hoard(struct hoard all, const char *words, const char *logged)
{
    struct hoard one = all;
    pid_t executor = 0;

    if (!user_can_change()) {
        print_message("# skipped: other users can be played by root alone\n");
        skip();
    }
    executor = service_executor(&service);
    for (unsigned round = 0; round < 2; round++) {
        user_expects(&service, hoarder, take_all, &all, -EDQUOT, words);
        assert_true(wait_until(service_log_has(&service, logged)));
        one.most = 1;
        one.from = round;
        user_expects(&service, innocent, take_all, &one, 0, NULL);
        user_expects(&service, root, take_all, &one, 0, NULL);
        if (round > 0)
            break;
        assert_int_equal(kill(executor, SIGKILL), 0);
        service_wait_executor(&service, executor);
        all.from += all.most;
        all.most = 1;
    }
}

static void test_message_types(void **state)
{
    (void)state;
    hoard((struct hoard){ .take = declare, .most = ODEON_MESSAGE_TYPES_MAX }, "message types",
          "is refused a message type");
}

static void test_names(void **state)
{
    (void)state;
    hoard((struct hoard){ .take = take_name, .most = ODEON_NAMES_MAX }, "names of actors",
          "is refused an actor");
}

static void test_threads(void **state)
{
    (void)state;
    hoard((struct hoard){ .take = take_thread, .most = DETACHED }, "a thread of their own",
          "is refused an actor");
}

/* ---- ports, which are held for as long as their holders live */

enum { GREEDY = 4, CLIENTS_EACH = 128 };

static int told[2]; /* a byte from each holder, when it has all that it gets */

static int take_port(struct odeon_client *client, unsigned n)
{
    static const struct odeon_port_options small = { .struct_size = sizeof(small),
                                                     .submission_bytes = ODEON_RING_MIN,
                                                     .delivery_bytes = ODEON_RING_MIN };
    struct odeon_port *port;

    (void)n;
    return odeon_port_open(client, &small, &port); /* ends with its client */
}

/* From connection after connection, until one gets no port at all. */
static int hold_ports(struct odeon_client *client)
{
    for (unsigned i = 0; i < CLIENTS_EACH; i++) {
        unsigned n = 0;

        if (i > 0 && odeon_client_connect(service.socket, "hoarder", &client) < 0)
            return 2;
        while (take_port(client, n) == 0)
            n++;
        if (n > 0)
            continue;
        if (write(told[1], "", 1) == 1)
            for (;;)
                pause();
    }
    return 3;
}

/* Four users, whose quotas are as many ports as there are, leave some to a fifth, and to root. */
static void test_ports(void **state)
{
    struct hoard one = { .take = take_port, .most = 1 };
    pid_t holders[GREEDY];
    char byte;

    (void)state;
    if (!user_can_change()) {
        print_message("# skipped: other users can be played by root alone\n");
        skip();
    }
    assert_int_equal(pipe(told), 0);
    for (unsigned i = 0; i < GREEDY; i++) {
        struct user user = { 41010 + i, 41010 + i, 0 };

        holders[i] = user_begin(&service, user, hold_ports);
        assert_int_equal(
            poll(&(struct pollfd){ .fd = told[0], .events = POLLIN }, 1, PATIENCE_S * 1000), 1);
        assert_int_equal(read(told[0], &byte, 1), 1);
    }
    user_expects(&service, innocent, take_all, &one, 0, NULL);
    user_expects(&service, root, take_all, &one, 0, NULL);
    assert_true(
        wait_until(service_log_has(&service, "its user has its share of the service's ports")));
    for (unsigned i = 0; i < GREEDY; i++)
        user_kill(holders[i]);
    close(told[0]);
    close(told[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_message_types, begin, end),
        cmocka_unit_test_setup_teardown(test_names, begin, end),
        cmocka_unit_test_setup_teardown(test_threads, begin, end),
        cmocka_unit_test_setup_teardown(test_ports, begin, end),
    };

    return cmocka_run_group_tests_name("hoard", tests, NULL, NULL);
}
