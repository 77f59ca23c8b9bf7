/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/supervisor/line: order, who is told what, a manager that takes nothing, has gone, is
 * another. */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/supervisor/line.h"

enum { MANY = 700 /* more than any socket takes */, TEXT_MAX = 64 };

static uv_loop_t loop;
static char folder[32], path[64];
static int manager, barrier, null_fd;

struct told {
    struct line_waiter waiter;
    unsigned n;
    int error;
};

static void on_told(struct line_waiter *waiter, int error)
{
    struct told *told = (struct told *)waiter;

    told->n++;
    told->error = error;
}

static void told_init(struct told *told)
{
    *told = (struct told){ .waiter = { .lost = line_lost(), .passed = on_told } };
}

static void manager_begin(void)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    strcpy(address.sun_path, path);
    manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(manager >= 0);
    assert_int_equal(bind(manager, (struct sockaddr *)&address, sizeof(address)), 0);
}

static void manager_end(void)
{
    close(manager);
    manager = -1;
    unlink(path);
}

/* False: nothing is there. A barrier's descriptor is kept, one at a time. */
static bool manager_take(char text[TEXT_MAX])
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = { .iov_base = text, .iov_len = TEXT_MAX - 1 };
    struct msghdr header = { .msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control) };
    ssize_t n = recvmsg(manager, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    struct cmsghdr *c;
    int fd = -1;

    if (n < 0)
        return false;
    text[n] = '\0';
    c = CMSG_FIRSTHDR(&header);
    if (c)
        memcpy(&fd, CMSG_DATA(c), sizeof(fd));
    if (strcmp(text, "BARRIER=1") == 0) {
        assert_true(fd >= 0 && barrier < 0);
        barrier = fd;
    } else if (fd >= 0) {
        close(fd);
    }
    return true;
}

static void manager_pass_barrier(void)
{
    close(barrier);
    barrier = -1;
}

/* What is ready now, no more. */
static void turn(void)
{
    for (unsigned i = 0; i < 3; i++)
        uv_run(&loop, UV_RUN_NOWAIT);
}

static int setup(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/odeon-line-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/notify", folder);
    assert_int_equal(uv_loop_init(&loop), 0);
    barrier = -1;
    null_fd = dup(0);
    assert_true(null_fd >= 0);
    manager_begin();
    setenv("NOTIFY_SOCKET", path, 1);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    line_stop();
    turn();
    assert_int_equal(uv_loop_close(&loop), 0);
    unsetenv("NOTIFY_SOCKET");
    close(null_fd);
    if (barrier >= 0)
        close(barrier);
    if (manager >= 0)
        manager_end();
    rmdir(folder);
    return 0;
}

static void send_many(unsigned from, unsigned n)
{
    char text[TEXT_MAX];

    for (unsigned i = from; i < from + n; i++) {
        snprintf(text, sizeof(text), "NUMBER=%u", i);
        assert_int_equal(line_send(text, i % 2 ? null_fd : -1), 0);
    }
}

/* Takes until the barrier, turn by turn; what comes are the numbers from `next` on. */
static unsigned take_numbers(unsigned next)
{
    char text[TEXT_MAX], expected[TEXT_MAX];

    for (unsigned idle = 0; barrier < 0 && idle < 3; idle++) {
        while (barrier < 0 && manager_take(text)) {
            idle = 0;
            if (barrier >= 0)
                break;
            snprintf(expected, sizeof(expected), "NUMBER=%u", next++);
            assert_string_equal(text, expected);
        }
        turn();
    }
    return next;
}

static void test_no_manager(void **state)
{
    struct told told;

    (void)state;
    unsetenv("NOTIFY_SOCKET");
    assert_int_equal(line_start(&loop), 0);
    told_init(&told);
    assert_int_equal(line_send("A=1", null_fd), 0);
    assert_int_equal(line_wait(), 0);
    assert_int_equal(line_add(&told.waiter), 0);
    assert_int_equal(told.n, 1);
    assert_int_equal(told.error, 0);
}

/* Nobody is told that something is kept there. */
static void test_one_that_cannot_be_reached(void **state)
{
    struct told told;

    (void)state;
    manager_end();
    assert_int_equal(line_start(&loop), 0);
    told_init(&told);
    assert_int_equal(line_send("A=1", null_fd), -ENOENT);
    assert_int_equal(line_wait(), -ENOENT);
    assert_int_equal(line_add(&told.waiter), -ENOENT);
    assert_true(line_say("STATUS=nobody is there, now or later"));
    line_say_alive();
    turn();
    assert_int_equal(told.n, 0);
}

static void test_in_order(void **state)
{
    struct told first, second, third;

    (void)state;
    assert_int_equal(line_start(&loop), 0);
    told_init(&first);
    told_init(&second);
    told_init(&third);
    send_many(0, MANY);
    assert_false(line_say("STATUS=would have to wait"));
    assert_int_equal(line_add(&first.waiter), 0);
    send_many(MANY, 3);
    assert_int_equal(line_add(&second.waiter), 0);
    assert_int_equal(line_add(&third.waiter), 0);
    line_take_back(&third.waiter);
    assert_int_equal(take_numbers(0), MANY);
    turn();
    assert_int_equal(first.n, 0);
    manager_pass_barrier();
    turn();
    assert_int_equal(first.n, 1);
    assert_int_equal(first.error, 0);
    assert_int_equal(second.n, 0);
    assert_int_equal(take_numbers(MANY), MANY + 3);
    manager_pass_barrier();
    turn();
    assert_int_equal(second.n, 1);
    assert_int_equal(second.error, 0);
    assert_int_equal(third.n, 0);
    assert_int_equal(line_lost(), first.waiter.lost);
}

static void test_it_is_full(void **state)
{
    (void)state;
    assert_int_equal(line_start(&loop), 0);
    send_many(0, LINE_WAITING_MAX);
    assert_false(line_is_full());
    send_many(LINE_WAITING_MAX, MANY);
    assert_true(line_is_full());
    assert_int_equal(take_numbers(0), LINE_WAITING_MAX + MANY);
    assert_false(line_is_full());
}

static void test_the_watchdog_goes_first(void **state)
{
    char text[TEXT_MAX];
    unsigned n = 0, alive = 0, at = 0;

    (void)state;
    assert_int_equal(line_start(&loop), 0);
    send_many(0, MANY);
    line_say_alive();
    line_say_alive();
    for (bool any = true; any; turn())
        for (any = false; manager_take(text); n++) {
            any = true;
            at = strcmp(text, "WATCHDOG=1") == 0 ? n : at;
            alive += strcmp(text, "WATCHDOG=1") == 0;
        }
    assert_int_equal(n, MANY + 1);
    assert_int_equal(alive, 1);
    assert_true(at < MANY);
}

/* What waited is dropped; whoever waited for it is told so, and who comes now, too. */
static void test_the_manager_has_gone(void **state)
{
    struct told told, later;
    uint64_t before = line_lost();

    (void)state;
    assert_int_equal(line_start(&loop), 0);
    told_init(&told);
    send_many(0, MANY);
    assert_int_equal(line_add(&told.waiter), 0);
    manager_end();
    turn();
    assert_int_equal(told.n, 1);
    assert_int_equal(told.error, -EIO);
    assert_true(line_lost() > before);
    told_init(&later);
    assert_int_equal(line_send("A=1", null_fd), -EIO);
    assert_int_equal(line_add(&later.waiter), -EIO);
    assert_int_equal(later.n, 0);
    /* ... until there is one again, which has lost nothing */
    manager_begin();
    before = line_lost();
    assert_int_equal(line_send("B=1", null_fd), 0);
    assert_int_equal(line_lost(), before);
}

/* Of what the former one had taken nobody knows whether it was kept. */
static void test_the_manager_is_another(void **state)
{
    struct told told, later;
    char text[TEXT_MAX];

    (void)state;
    assert_int_equal(line_start(&loop), 0);
    told_init(&told);
    assert_int_equal(line_send("A=1", null_fd), 0);
    manager_end();
    manager_begin();
    assert_int_equal(line_send("B=1", null_fd), 0);
    assert_int_equal(line_add(&told.waiter), 0);
    assert_true(manager_take(text));
    assert_string_equal(text, "B=1");
    assert_true(manager_take(text));
    assert_true(barrier >= 0);
    manager_pass_barrier();
    turn();
    assert_int_equal(told.n, 1);
    assert_int_equal(told.error, -EIO);
    told_init(&later);
    assert_int_equal(line_send("C=1", null_fd), 0);
    assert_int_equal(line_add(&later.waiter), 0);
    assert_true(manager_take(text));
    assert_string_equal(text, "C=1");
    assert_true(manager_take(text));
    manager_pass_barrier();
    turn();
    assert_int_equal(later.n, 1);
    assert_int_equal(later.error, 0);
}

static void test_the_end(void **state)
{
    struct told first, second;

    (void)state;
    assert_int_equal(line_start(&loop), 0);
    told_init(&first);
    told_init(&second);
    send_many(0, MANY);
    assert_int_equal(line_add(&first.waiter), 0);
    assert_int_equal(line_add(&second.waiter), 0);
    line_stop();
    assert_int_equal(first.n, 1);
    assert_int_equal(first.error, -ESHUTDOWN);
    assert_int_equal(second.error, -ESHUTDOWN);
}

#define LINE_TEST(name_) cmocka_unit_test_setup_teardown(name_, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LINE_TEST(test_no_manager),
        LINE_TEST(test_one_that_cannot_be_reached),
        LINE_TEST(test_in_order),
        LINE_TEST(test_it_is_full),
        LINE_TEST(test_the_watchdog_goes_first),
        LINE_TEST(test_the_manager_has_gone),
        LINE_TEST(test_the_manager_is_another),
        LINE_TEST(test_the_end),
    };

    return cmocka_run_group_tests_name("supervisor_line", tests, NULL, NULL);
}
