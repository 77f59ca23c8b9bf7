/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of the library while odeond, or the executor, stands still: each comes to its end when its
 * time is over, and goes well again when the other side goes on. What comes late is nobody's: a
 * port is closed again. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "client-lib/src/port.h"
#include "tests/system/harness.h"
#include "tests/system/probe.h"

enum { SHORT_MS = 50, LATE = 3, MANY = 500 };

static struct service service;
static struct odeon_client *client, *other;
static struct odeon_port *port;

static void begin(void)
{
    service_start(&service, (const char *const[]){ SMALL_SERVICE, "--plugin", TEST_PROBE, NULL });
    client = service_connect(&service, "impatient");
    other = service_connect(&service, "observer");
    port = port_open_or_fail(client, 0, 0, false);
}

static void end(void)
{
    odeon_client_disconnect(client);
    odeon_client_disconnect(other);
    assert_int_equal(service_stop(&service, SIGTERM), 0);
    service_end(&service);
}

static void be_impatient(void)
{
    assert_int_equal(odeon_client_set_timeout(client, MILLISECONDS(SHORT_MS)), 0);
}

static void be_patient(void)
{
    assert_int_equal(odeon_client_set_timeout(client, SECONDS(PATIENCE_S)), 0);
}

static void expect_late(int r)
{
    assert_int_equal(r, -ETIMEDOUT);
    assert_non_null(strstr(odeon_error_text(), "has not answered within 50 ms"));
}

static uint32_t ports_of_client(void)
{
    struct odeon_list *list = NULL;
    uint32_t n = UINT32_MAX;

    assert_int_equal(odeon_client_list(other, 0, 0, &list), 0);
    for (size_t i = 0; i < list->n; i++) {
        const struct odeon_client_info *info = &((const struct odeon_client_info *)list->rows)[i];

        if (strcmp(info->name, "impatient") == 0)
            n = info->ports;
    }
    odeon_list_free(list);
    return n;
}

/* Everything works, and of what came late nothing is left. */
static void expect_well(uint32_t ports)
{
    struct odeon_status *status = NULL;
    odeon_ref echo;

    be_patient();
    assert_int_equal(odeon_service_status(client, &status), 0);
    odeon_result_free(status);
    assert_int_equal(odeon_actor_spawn(client, "probe_echo", NULL, NULL, 0, &echo), 0);
    assert_int_equal(odeon_actor_stop(client, echo, ODEON_DELETE), 0);
    assert_true(wait_until(odeon_port_check(port) == 0 && ports_of_client() == ports));
}

static void test_odeond_stands_still(void **state)
{
    struct odeon_status *status = NULL;
    struct odeon_port *late, *second;
    struct odeon_client *third = NULL;
    uint32_t type;

    (void)state;
    begin();
    second = port_open_or_fail(client, 0, 0, false);
    be_impatient();
    process_stop(service.pid);
    expect_late(odeon_service_status(client, &status));
    expect_late(odeon_message_id(client, odeon_message_of(probe_work), &type));
    for (unsigned i = 0; i < LATE; i++)
        expect_late(odeon_port_open(client, NULL, &late));
    assert_true(odeon_client_epoch(client) == odeon_client_epoch(other));
    assert_null(odeon_port_close(second));
    assert_int_equal(setenv("ODEON_TIMEOUT_MS", "50", 1), 0);
    expect_late(odeon_client_connect(service.socket, "late", &third));
    assert_null(third);
    assert_int_equal(unsetenv("ODEON_TIMEOUT_MS"), 0);
    assert_int_equal(kill(service.pid, SIGCONT), 0);
    expect_well(1);
    end();
}

static void test_the_executor_stands_still(void **state)
{
    struct odeon_port *late;
    odeon_ref echo;
    pid_t executor;

    (void)state;
    begin();
    executor = service_executor(&service);
    be_impatient();
    process_stop(executor);
    expect_late(odeon_actor_spawn(client, "probe_echo", NULL, NULL, 0, &echo));
    expect_late(odeon_actor_find(client, "nobody", &echo));
    for (unsigned i = 0; i < LATE; i++)
        expect_late(odeon_port_open(client, NULL, &late));
    assert_int_equal(kill(executor, SIGCONT), 0);
    expect_well(1);
    end();
}

/* Whoever has left again stays in the queue until somebody accepts. */
static void fill_the_queue(void)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int r = 0;

    snprintf(address.sun_path, sizeof(address.sun_path), "%s", service.socket);
    for (unsigned i = 0; r == 0; i++) {
        int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        assert_true(fd >= 0 && i < 1000000);
        r = connect(fd, (struct sockaddr *)&address, sizeof(address));
        assert_true(r == 0 || errno == EAGAIN);
        close(fd);
    }
}

/* A service whose socket is there, and whose queue of connections is full. */
static void test_nobody_accepts(void **state)
{
    struct odeon_client *third = NULL;

    (void)state;
    begin();
    process_stop(service.pid);
    fill_the_queue();
    assert_int_equal(setenv("ODEON_TIMEOUT_MS", "50", 1), 0);
    assert_int_equal(odeon_client_connect(service.socket, "late", &third), -ETIMEDOUT);
    assert_non_null(strstr(odeon_error_text(), "takes no connections"));
    assert_int_equal(unsetenv("ODEON_TIMEOUT_MS"), 0);
    assert_int_equal(kill(service.pid, SIGCONT), 0);
    expect_well(1);
    end();
}

/* What the port has posted has been answered, and the answers are where they stay: whoever asks
 * `echo` behind them by another port is answered behind them. */
static void settle(struct odeon_port *small, struct odeon_port *second, odeon_ref echo,
                   uint32_t type)
{
    struct probe_number number = { 0 };
    struct odeon_delivery delivery;

    assert_true(
        wait_until(atomic_load(&small->theirs->submission_head) == small->submission_published));
    assert_int_equal(odeon_port_call(second, echo, type, &number, sizeof(number),
                                     SECONDS(PATIENCE_S), &delivery),
                     ODEON_CALL_REPLY);
    odeon_port_release(second);
}

/* How many of so many answers are dropped, with nothing else under way. */
static uint64_t drops_of(unsigned n, struct odeon_port *small, struct odeon_port *second,
                         odeon_ref echo, uint32_t type)
{
    struct probe_number number = { 0 };
    uint64_t before;

    settle(small, second, echo, type);
    before = odeon_port_dropped(small);
    for (unsigned i = 0; i < n; i++)
        assert_int_equal(
            odeon_port_post_wait(small, echo, type, &number, sizeof(number), SECONDS(PATIENCE_S)),
            0);
    settle(small, second, echo, type);
    return odeon_port_dropped(small) - before;
}

/* A delivery that is lent holds up the ring, and what waits behind it is full, of answers no larger
 * than the reply: that is dropped, and a call without a time of its own ends all the same. What
 * waits has two buffers, and there is room again when one of them is taken: full is what drops an
 * answer that comes alone. */
static void test_the_reply_is_dropped(void **state)
{
    struct probe_number number = { 0 };
    struct odeon_delivery delivery;
    uint32_t type;
    struct odeon_port *small, *second;
    odeon_ref echo;

    (void)state;
    service_start(&service, (const char *const[]){ SMALL_SERVICE, "--set", "backlog-bytes=131072",
                                                   "--plugin", TEST_PROBE, NULL });
    client = service_connect(&service, "impatient");
    other = service_connect(&service, "observer");
    small = port_open_or_fail(client, 1 << 16, 1 << 16, false);
    second = port_open_or_fail(client, 1 << 16, 1 << 16, false);
    echo = spawn(client, "probe_echo", NULL, NULL, 0);
    type = message_id(client, odeon_message_of(probe_number));
    do {
        assert_int_equal(
            odeon_port_post_wait(small, echo, type, &number, sizeof(number), SECONDS(PATIENCE_S)),
            0);
        if (number.n++ == 0)
            assert_int_equal(odeon_port_receive_wait(small, &delivery, SECONDS(PATIENCE_S)), 1);
    } while (odeon_port_dropped(small) == 0);
    do
        while (drops_of(MANY, small, second, echo, type) == 0)
            ;
    while (drops_of(1, small, second, echo, type) == 0);
    be_impatient();
    assert_int_equal(odeon_port_call(small, echo, type, &number, sizeof(number), -1, &delivery),
                     ODEON_CALL_EXPIRED);
    assert_non_null(strstr(odeon_error_text(), "dropped"));
    odeon_port_close(small);
    end();
}

static void test_what_the_environment_says(void **state)
{
    static const char *const nonsense[] = { "", "x", "50x", "-2", "99999999999999999999" };
    struct odeon_status *status = NULL;
    struct odeon_client *third;

    (void)state;
    begin();
    for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++) {
        assert_int_equal(setenv("ODEON_TIMEOUT_MS", nonsense[i], 1), 0);
        assert_int_equal(odeon_client_connect(service.socket, "default", &third), 0);
        assert_int_equal(odeon_service_status(third, &status), 0);
        odeon_result_free(status);
        odeon_client_disconnect(third);
    }
    assert_int_equal(unsetenv("ODEON_TIMEOUT_MS"), 0);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_odeond_stands_still),
        cmocka_unit_test(test_the_executor_stands_still),
        cmocka_unit_test(test_nobody_accepts),
        cmocka_unit_test(test_the_reply_is_dropped),
        cmocka_unit_test(test_what_the_environment_says),
    };

    return cmocka_run_group_tests_name("timeouts", tests, NULL, NULL);
}
