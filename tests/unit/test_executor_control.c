/* SPDX-License-Identifier: Apache-2.0 */
/* The connection to the supervisor: what waits for one that does not read. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/executor/control.h"

/* More than the sockets' buffers and the queue between them ever hold. */
enum { COMMANDS_MAX = 1 << 20 };

static struct control *control;
static uint64_t n_heard;

/* Each command is answered, in order. */
static void on_command(void *userdata, const Odeon__Command *command, struct frame *frame)
{
    Odeon__Report report = ODEON__REPORT__INIT;

    (void)userdata;
    (void)frame;
    assert_int_equal(command->id, ++n_heard);
    report.id = command->id;
    control_send(control, &report);
}

static void on_closed(void *userdata, const char *why)
{
    (void)userdata;
    fail_msg("closed: %s", why);
}

/* False: it does not fit now. */
static bool send_command(int fd, uint64_t id)
{
    Odeon__Command command = ODEON__COMMAND__INIT;
    int r;

    command.id = id;
    r = frame_send(fd, &command.base, NULL, 0);
    if (r != -EAGAIN)
        assert_int_equal(r, 0);
    return r == 0;
}

/* Takes every report that is there; the number of all so far. */
static uint64_t take_reports(int fd, uint64_t n)
{
    static struct frame frame;

    while (frame_receive(fd, &frame) == 1) {
        Odeon__Report *report = odeon__report__unpack(NULL, frame.size, frame.data);

        assert_non_null(report);
        assert_int_equal(report->id, ++n);
        odeon__report__free_unpacked(report, NULL);
        frame_fini(&frame);
    }
    return n;
}

/* A supervisor that asks and does not read is listened to until CONTROL_WAITING_MAX reports wait,
 * and no longer (control.C2).  Nothing is lost of what it has asked until then, or asks later. */
static void test_who_does_not_read_is_not_heard(void **state)
{
    static const struct control_handlers handlers = { .command = on_command, .closed = on_closed };
    uint64_t n_sent = 0, n_read = 0, before;
    uv_loop_t loop;
    int fds[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
    assert_int_equal(fcntl(fds[0], F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(control_new(&loop, fds[1], &handlers, NULL, &control), 0);
    do {
        before = n_sent;
        while (n_sent < COMMANDS_MAX && send_command(fds[0], n_sent + 1))
            n_sent++;
        uv_run(&loop, UV_RUN_NOWAIT);
    } while (n_sent > before);
    assert_true(n_sent < COMMANDS_MAX);
    assert_true(n_heard < n_sent);
    assert_true(n_heard > CONTROL_WAITING_MAX);
    do {
        before = n_read;
        n_read = take_reports(fds[0], n_read);
        uv_run(&loop, UV_RUN_NOWAIT);
    } while (n_read > before || n_heard < n_sent);
    assert_int_equal(n_read, n_sent);
    control_free(control);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    close(fds[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_does_not_read_is_not_heard),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
