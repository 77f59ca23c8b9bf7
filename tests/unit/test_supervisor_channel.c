/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/supervisor/channel: order, bounds, ends. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/supervisor/channel.h"
#include "proto/control.pb-c.h"

struct fixture {
    uv_loop_t loop;
    struct channel *channel;
    int peer;
    unsigned frames, errors, freed;
    int error;
    bool close_on_frame;
};

static void on_frame(void *userdata, struct frame *frame)
{
    struct fixture *f = userdata;

    (void)frame;
    f->frames++;
    if (f->close_on_frame) {
        channel_free(f->channel, NULL);
        f->channel = NULL;
    }
}

static void on_error(void *userdata, int error)
{
    struct fixture *f = userdata;

    f->errors++;
    f->error = error;
}

static void on_freed(void *userdata)
{
    ((struct fixture *)userdata)->freed++;
}

static const struct channel_ops ops = { .on_frame = on_frame, .on_error = on_error };

static struct fixture *fixture_new(size_t queue_max)
{
    struct fixture *f = calloc(1, sizeof(*f));
    int fds[2];

    assert_int_equal(uv_loop_init(&f->loop), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
    f->peer = fds[1];
    f->channel = channel_new(&f->loop, fds[0], queue_max, &ops, f);
    assert_non_null(f->channel);
    return f;
}

static void fixture_free(struct fixture *f)
{
    if (f->channel)
        channel_free(f->channel, on_freed);
    if (f->peer >= 0)
        close(f->peer);
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    free(f);
}

static int send_number(struct channel *channel, uint32_t number, const int *fds, size_t n_fds)
{
    Odeon__PortClose message = ODEON__PORT_CLOSE__INIT;

    message.port_id = number;
    return channel_send(channel, &message.base, fds, n_fds);
}

static void test_order_over_a_full_socket(void **state)
{
    struct fixture *f = fixture_new(1 << 20);
    struct frame frame;
    uint32_t sent = 0, got = 0;
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

    (void)state;
    while (sent < 3000) { /* more than a socket holds */
        sent++;
        assert_int_equal(send_number(f->channel, sent, &null, sent % 100 == 0), 0);
    }
    close(null); /* what waits has copies */
    while (got < sent) {
        int r = frame_receive(f->peer, &frame);
        Odeon__PortClose *message;

        if (r == -EAGAIN) {
            uv_run(&f->loop, UV_RUN_NOWAIT);
            continue;
        }
        assert_int_equal(r, 1);
        message = odeon__port_close__unpack(NULL, frame.size, frame.data);
        assert_int_equal(message->port_id, ++got);
        assert_int_equal(frame.n_fds, got % 100 == 0);
        odeon__port_close__free_unpacked(message, NULL);
        frame_fini(&frame);
    }
    fixture_free(f);
}

static void test_queue_is_bounded(void **state)
{
    struct fixture *f = fixture_new(100);
    int r;
    unsigned n = 0;

    (void)state;
    while ((r = send_number(f->channel, 1000, NULL, 0)) == 0)
        assert_true(++n < 1000000);
    assert_int_equal(r, -ENOBUFS);
    fixture_free(f);
}

static void test_too_large(void **state)
{
    struct fixture *f = fixture_new(1 << 20);
    Odeon__Hello hello = ODEON__HELLO__INIT;
    char *name = malloc(ODEON_CONTROL_FRAME_MAX + 1);

    (void)state;
    memset(name, 'x', ODEON_CONTROL_FRAME_MAX);
    name[ODEON_CONTROL_FRAME_MAX] = '\0';
    hello.name = name;
    assert_int_equal(channel_send(f->channel, &hello.base, NULL, 0), -EMSGSIZE);
    free(name);
    fixture_free(f);
}

static void test_frames_then_end(void **state)
{
    struct fixture *f = fixture_new(1 << 20);

    (void)state;
    for (int i = 0; i < 100; i++)
        assert_int_equal(send(f->peer, "x", 1, 0), 1);
    close(f->peer);
    f->peer = -1;
    while (f->errors == 0)
        uv_run(&f->loop, UV_RUN_NOWAIT);
    assert_int_equal(f->frames, 100);
    assert_int_equal(f->error, 0);
    for (int i = 0; i < 5; i++)
        uv_run(&f->loop, UV_RUN_NOWAIT);
    assert_int_equal(f->errors, 1);
    fixture_free(f);
}

static void test_rest_of_a_dead_peer(void **state)
{
    struct fixture *f = fixture_new(1 << 20);

    (void)state;
    for (int i = 0; i < 100; i++)
        assert_int_equal(send(f->peer, "x", 1, 0), 1);
    close(f->peer);
    f->peer = -1;
    channel_receive_rest(f->channel);
    assert_int_equal(f->frames, 100);
    assert_int_equal(f->errors, 1);
    fixture_free(f);
}

/* It had something to read: that is a reset, and what it had said is there all the same, whether
 * the reset has been told or not. */
static void test_rest_of_a_peer_that_left_records_unread(void **state)
{
    (void)state;
    for (int told = 0; told < 2; told++) {
        struct fixture *f = fixture_new(1 << 20);

        assert_int_equal(send_number(f->channel, 1, NULL, 0), 0);
        for (int i = 0; i < 100; i++)
            assert_int_equal(send(f->peer, "x", 1, 0), 1);
        close(f->peer);
        f->peer = -1;
        while (told && f->errors == 0)
            uv_run(&f->loop, UV_RUN_NOWAIT);
        channel_receive_rest(f->channel);
        assert_int_equal(f->frames, 100);
        assert_int_equal(f->errors, 1);
        assert_int_equal(f->error, -ECONNRESET);
        fixture_free(f);
    }
}

static void test_back_pressure(void **state)
{
    struct fixture *f = fixture_new(1 << 20);

    (void)state;
    channel_set_reading(f->channel, false);
    assert_int_equal(send(f->peer, "x", 1, 0), 1);
    for (int i = 0; i < 5; i++)
        uv_run(&f->loop, UV_RUN_NOWAIT);
    assert_int_equal(f->frames, 0);
    channel_set_reading(f->channel, true);
    while (f->frames == 0)
        uv_run(&f->loop, UV_RUN_NOWAIT);
    fixture_free(f);
}

/* One that is not read from can go: at once where that is watched, else with what it had said. */
static void test_end_without_reading(void **state)
{
    (void)state;
    for (int watched = 0; watched < 2; watched++) {
        struct fixture *f = fixture_new(1 << 20);

        channel_set_reading(f->channel, false);
        channel_watch_end(f->channel, watched);
        assert_int_equal(send(f->peer, "x", 1, 0), 1);
        for (int i = 0; i < 5; i++)
            uv_run(&f->loop, UV_RUN_NOWAIT);
        assert_int_equal(f->errors, 0);
        close(f->peer);
        f->peer = -1;
        for (int i = 0; i < 5; i++)
            uv_run(&f->loop, UV_RUN_NOWAIT);
        assert_int_equal(f->errors, watched);
        channel_watch_end(f->channel, false);
        channel_set_reading(f->channel, true);
        for (int i = 0; i < 5; i++)
            uv_run(&f->loop, UV_RUN_NOWAIT);
        assert_int_equal(f->errors, 1);
        assert_int_equal(f->error, 0);
        assert_int_equal(f->frames, !watched);
        fixture_free(f);
    }
}

static void test_closed_by_its_own_callback(void **state)
{
    struct fixture *f = fixture_new(1 << 20);

    (void)state;
    f->close_on_frame = true;
    for (int i = 0; i < 10; i++)
        assert_int_equal(send(f->peer, "x", 1, 0), 1);
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(f->frames, 1);
    assert_int_equal(f->errors, 0);
    fixture_free(f);
}

/* The last answer reaches a peer although it had sent more than was read. */
static void test_last_answer_before_the_end(void **state)
{
    struct fixture *f = fixture_new(1 << 20);
    struct frame frame;

    (void)state;
    for (int i = 0; i < 10; i++)
        assert_int_equal(send(f->peer, "x", 1, 0), 1);
    assert_int_equal(send_number(f->channel, 5, NULL, 0), 0);
    channel_free(f->channel, on_freed);
    f->channel = NULL;
    assert_int_equal(f->freed, 0); /* not before the loop has let go */
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(f->freed, 1);
    assert_int_equal(frame_receive(f->peer, &frame), 1);
    assert_int_equal(frame_receive(f->peer, &frame), 0);
    fixture_free(f);
}

static void test_descriptors_that_are_not_read(void **state)
{
    struct fixture *f = fixture_new(1 << 20);
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC), fd;
    const int fds[] = { null, null, null };
    struct frame frame;

    (void)state;
    assert_int_equal(channel_descriptors(f->channel), 0);
    for (uint32_t n = 1; n <= 2; n++)
        assert_int_equal(send_number(f->channel, n, fds, 3), 0);
    assert_int_equal(send_number(f->channel, 3, NULL, 0), 0);
    assert_int_equal(channel_descriptors(f->channel), 6);
    for (int n = 0; n < 3; n++) { /* less is not known before all has been read */
        assert_int_equal(channel_descriptors(f->channel), 6);
        assert_int_equal(frame_receive(f->peer, &frame), 1);
        frame_fini(&frame);
    }
    assert_int_equal(channel_descriptors(f->channel), 0);
    /* what waits counts as well */
    while (send_number(f->channel, 4, fds, 3) == 0 && channel_descriptors(f->channel) < 3000)
        ;
    assert_in_range(channel_descriptors(f->channel), 3000, 3002);
    /* and what is left behind, until the last one has it */
    fd = channel_free_unread(f->channel, on_freed);
    assert_true(fd >= 0);
    assert_in_range(channel_descriptors(f->channel), 3, 2999);
    f->channel = NULL;
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(f->freed, 1);
    assert_false(channel_socket_is_read(fd));
    while (frame_receive(f->peer, &frame) == 1)
        frame_fini(&frame);
    assert_true(channel_socket_is_read(fd));
    close(fd);
    close(null);
    fixture_free(f);
}

/* In a child: a user of its own with few descriptors, all of them in flight. */
static int stuck_for_a_while(void)
{
    enum { FEW = 64 };
    struct fixture *f = fixture_new(1 << 20);
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC), ends[2];
    const int fds[] = { null, null, null, null };
    struct frame frame;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0 ||
        setrlimit(RLIMIT_NOFILE, &(struct rlimit){ FEW, FEW }) < 0 || setgroups(0, NULL) < 0 ||
        setresuid(41777, 41777, 41777) < 0)
        return 1;
    while (frame_send_packed(ends[0], "x", 1, fds, 4) == 0)
        ;
    if (errno != ETOOMANYREFS)
        return 2;
    if (send_number(f->channel, 1, fds, 1) != 0 || send_number(f->channel, 2, NULL, 0) != 0 ||
        channel_lacks(f->channel) != -ETOOMANYREFS || channel_descriptors(f->channel) != 1)
        return 3;
    for (int i = 0; i < 5; i++)
        uv_run(&f->loop, UV_RUN_ONCE); /* the timer alone: no busy loop over a writable socket */
    if (frame_receive(f->peer, &frame) != -EAGAIN || channel_lacks(f->channel) == 0)
        return 4;
    close(ends[0]);
    close(ends[1]);
    while (channel_lacks(f->channel) < 0)
        uv_run(&f->loop, UV_RUN_ONCE);
    if (frame_receive(f->peer, &frame) != 1 || frame.n_fds != 1)
        return 5;
    frame_fini(&frame);
    if (frame_receive(f->peer, &frame) != 1 || frame.n_fds != 0 || f->errors > 0)
        return 6;
    return 0;
}

static void test_what_cannot_be_sent_now(void **state)
{
    int status;
    pid_t pid;

    (void)state;
    if (geteuid() != 0) {
        print_message("# skipped: another user can be played by root alone\n");
        skip();
    }
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(stuck_for_a_while());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* ---- memory of what waits (client.K11) ---- */

static uint64_t room_left;
static size_t told_bytes;

static uint64_t on_room(void *userdata)
{
    (void)userdata;
    return room_left;
}

static void on_waits(void *userdata, size_t bytes)
{
    (void)userdata;
    told_bytes = bytes;
}

/* What waits is told of when it comes and when it goes, and one more goes in as long as there is
 * room for all of it. */
static void test_what_waits_has_room(void **state)
{
    static const struct channel_ops counted = {
        .on_frame = on_frame, .on_error = on_error, .room = on_room, .waits = on_waits
    };
    struct fixture *f = calloc(1, sizeof(*f));
    struct frame frame;
    size_t cost, before;
    int fds[2];

    (void)state;
    assert_int_equal(uv_loop_init(&f->loop), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
    f->peer = fds[1];
    f->channel = channel_new(&f->loop, fds[0], 1 << 20, &counted, f);
    room_left = SIZE_MAX;
    while (told_bytes == 0) /* the socket takes the first ones */
        assert_int_equal(send_number(f->channel, 1000, NULL, 0), 0);
    cost = told_bytes;
    room_left = cost - 1;
    assert_int_equal(send_number(f->channel, 1000, NULL, 0), -EDQUOT);
    assert_int_equal(told_bytes, cost);
    room_left = cost;
    assert_int_equal(send_number(f->channel, 1000, NULL, 0), 0);
    assert_int_equal(told_bytes, 2 * cost);
    /* it is read: nothing waits any more */
    while (told_bytes > 0) {
        while (frame_receive(f->peer, &frame) == 1)
            frame_fini(&frame);
        uv_run(&f->loop, UV_RUN_NOWAIT);
    }
    /* what waits when the connection is given up has gone, too, but for what the socket takes */
    do {
        before = told_bytes;
        assert_int_equal(send_number(f->channel, 1000, NULL, 0), 0);
    } while (told_bytes == before);
    channel_free(f->channel, NULL);
    f->channel = NULL;
    assert_int_equal(told_bytes, 0);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_over_a_full_socket),
        cmocka_unit_test(test_queue_is_bounded),
        cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_frames_then_end),
        cmocka_unit_test(test_rest_of_a_dead_peer),
        cmocka_unit_test(test_rest_of_a_peer_that_left_records_unread),
        cmocka_unit_test(test_back_pressure),
        cmocka_unit_test(test_end_without_reading),
        cmocka_unit_test(test_closed_by_its_own_callback),
        cmocka_unit_test(test_last_answer_before_the_end),
        cmocka_unit_test(test_descriptors_that_are_not_read),
        cmocka_unit_test(test_what_cannot_be_sent_now),
        cmocka_unit_test(test_what_waits_has_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
