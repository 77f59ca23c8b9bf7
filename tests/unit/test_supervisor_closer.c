/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/supervisor/closer, with descriptors whose close waits for an hour: a wait in this thread
 * would outlast any limit that the test has. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include <cmocka.h>

#include "daemon/common/frame.h"
#include "daemon/supervisor/channel.h"
#include "daemon/supervisor/closer.h"
#include "tests/run/lingering.h"

enum { LINGERING = 3 };

/* ---- closes that nothing ends */

static atomic_int stuck[CLOSERS_MAX]; /* descriptors; 0: none */
static atomic_uint n_stuck;
static sem_t go_on;

int __wrap_close(int fd);
int __real_close(int fd);

int __wrap_close(int fd)
{
    for (unsigned i = 0; i < CLOSERS_MAX; i++) {
        int expected = fd;

        if (fd > 0 && atomic_compare_exchange_strong(&stuck[i], &expected, 0)) {
            n_stuck++;
            while (sem_wait(&go_on) < 0)
                ; /* not even by a signal */
        }
    }
    return __real_close(fd);
}

/* ---- what is sent */

struct sent {
    int peers[LINGERING]; /* of the sockets that linger */
    int marker;           /* its other end went with them: it hangs up when all have been closed */
};

static void send_record(int socket, const int *fds, size_t n_fds, size_t size)
{
    assert_int_equal(frame_send_packed(socket, "xyz", size, fds, n_fds), 0);
}

/* All in one record, behind an empty one. */
static struct sent send_lingering(int socket)
{
    struct sent sent;
    int fds[LINGERING + 1], ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    for (int i = 0; i < LINGERING; i++) {
        fds[i] = lingering_socket(&sent.peers[i]);
        if (fds[i] < 0)
            skip(); /* there is no TCP here */
    }
    fds[LINGERING] = ends[1];
    sent.marker = ends[0];
    send_record(socket, NULL, 0, 0);
    send_record(socket, fds, LINGERING + 1, 1);
    for (int i = 0; i <= LINGERING; i++)
        close(fds[i]);
    return sent;
}

static void wait_for_hang_up(int fd)
{
    struct pollfd p = { .fd = fd };

    while (poll(&p, 1, -1) < 0)
        ;
    assert_true(p.revents & POLLHUP);
}

static void expect_closed(struct sent *sent)
{
    wait_for_hang_up(sent->marker);
    close(sent->marker);
    for (int i = 0; i < LINGERING; i++)
        close(sent->peers[i]);
}

static void make_pair(int ends[2])
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends),
                     0);
}

/* ---- the tests */

static void test_what_nobody_read_is_closed_elsewhere(void **state)
{
    struct sent sent;
    char byte;
    int ends[2];

    (void)state;
    make_pair(ends);
    sent = send_lingering(ends[1]);
    assert_int_equal(frame_send_packed(ends[0], "answer", 6, NULL, 0), 0);
    shutdown(ends[0], SHUT_RD);
    closer_end(ends[0]);
    expect_closed(&sent);
    wait_for_hang_up(ends[1]);
    /* no reset came before what had been sent to it */
    assert_int_equal(recv(ends[1], &byte, 1, 0), 1);
    assert_int_equal(recv(ends[1], &byte, 1, 0), 0);
    close(ends[1]);
}

/* Nobody else's turn is needed for that. */
static void test_without_descriptors_it_is_closed_at_once(void **state)
{
    int ends[2], same;

    (void)state;
    make_pair(ends);
    send_record(ends[1], NULL, 0, 0);
    send_record(ends[1], NULL, 0, 1);
    shutdown(ends[0], SHUT_RD);
    closer_end(ends[0]);
    same = fcntl(0, F_DUPFD_CLOEXEC, ends[0]);
    assert_int_equal(same, ends[0]);
    close(same);
    close(ends[1]);
}

static void test_what_came_in_is_closed_elsewhere(void **state)
{
    static struct frame frame;
    struct sent sent;
    int ends[2];

    (void)state;
    make_pair(ends);
    sent = send_lingering(ends[1]);
    assert_int_equal(frame_receive(ends[0], &frame), 1);
    assert_int_equal(frame_receive(ends[0], &frame), 1);
    assert_int_equal(frame.n_fds, LINGERING + 1);
    closer_close_frame(&frame);
    assert_int_equal(frame.n_fds, 0);
    expect_closed(&sent);
    close(ends[0]);
    close(ends[1]);
}

static unsigned frames;
static int error;

static void on_frame(void *userdata, struct frame *frame)
{
    (void)userdata;
    (void)frame;
    frames++;
}

static void on_error(void *userdata, int what)
{
    (void)userdata;
    error = what;
}

/* The record stays where it is: to take it is to close what came with it. */
static void test_channel_takes_none(void **state)
{
    static const struct channel_ops ops = { .on_frame = on_frame, .on_error = on_error };
    struct channel *channel;
    struct sent sent;
    uv_loop_t loop;
    int ends[2];

    (void)state;
    make_pair(ends);
    sent = send_lingering(ends[1]);
    assert_int_equal(uv_loop_init(&loop), 0);
    channel = channel_new(&loop, ends[0], 1 << 20, &ops, NULL);
    assert_non_null(channel);
    channel_allow_descriptors(channel, false);
    frames = 0;
    error = 0;
    uv_run(&loop, UV_RUN_ONCE);
    assert_int_equal(error, -EPROTO);
    assert_int_equal(frames, 1); /* the empty one */
    channel_free(channel, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    expect_closed(&sent);
    close(ends[1]);
}

static int close_marked(int *ret_marker)
{
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    *ret_marker = ends[0];
    return ends[1];
}

/* All but one of the places are taken for ever: the last is enough for all others. */
static void test_what_hangs_holds_nobody_up(void **state)
{
    int markers[CLOSERS_MAX], marker;

    (void)state;
    for (unsigned i = 0; i < CLOSERS_MAX - 1; i++) {
        stuck[i] = close_marked(&markers[i]);
        closer_close(stuck[i]);
    }
    for (int i = 0; i < 100; i++) {
        closer_close(close_marked(&marker));
        wait_for_hang_up(marker);
        close(marker);
    }
    while (n_stuck < CLOSERS_MAX - 1)
        ;
    assert_false(closer_has_many_sent());
    for (unsigned i = 0; i < CLOSERS_MAX - 1; i++)
        sem_post(&go_on);
    for (unsigned i = 0; i < CLOSERS_MAX - 1; i++) {
        wait_for_hang_up(markers[i]);
        close(markers[i]);
    }
    n_stuck = 0;
}

/* What waits for a place is closed when there is one, also where nothing more will come. Meanwhile
 * no more is taken, from who may send them, either; connections do not wait for that. */
static void test_behind(void **state)
{
    static const struct channel_ops ops = { .on_frame = on_frame, .on_error = on_error };
    int markers[CLOSER_BEHIND], ends[2];
    struct channel *channel;
    uv_loop_t loop;

    (void)state;
    while (closer_has_many_sent())
        ;
    for (unsigned i = 0; i < CLOSER_BEHIND; i++) {
        int fd = close_marked(&markers[i]);

        if (i < CLOSERS_MAX)
            stuck[i] = fd;
        closer_close(fd);
    }
    while (n_stuck < CLOSERS_MAX)
        ;
    assert_true(closer_has_many_sent());
    assert_false(closer_is_behind());
    make_pair(ends);
    send_record(ends[1], NULL, 0, 1);
    send_record(ends[1], &ends[1], 1, 1);
    assert_int_equal(uv_loop_init(&loop), 0);
    channel = channel_new(&loop, ends[0], 1 << 20, &ops, NULL);
    frames = 0;
    error = 0;
    for (int i = 0; i < 10; i++)
        uv_run(&loop, UV_RUN_ONCE);
    assert_int_equal(frames, 1);
    for (unsigned i = 0; i < CLOSERS_MAX; i++)
        sem_post(&go_on);
    for (unsigned i = 0; i < CLOSER_BEHIND; i++) {
        wait_for_hang_up(markers[i]);
        close(markers[i]);
    }
    while (frames < 2)
        uv_run(&loop, UV_RUN_ONCE);
    assert_int_equal(error, 0);
    channel_free(channel, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    close(ends[1]);
    closer_stop();
}

/* Before it is started, and after it was stopped. */
static void test_in_place(void **state)
{
    int marker, fd = close_marked(&marker), same;

    (void)state;
    closer_close(fd);
    same = fcntl(0, F_DUPFD_CLOEXEC, fd);
    assert_int_equal(same, fd);
    close(same);
    close(marker);
}

static int setup(void **state)
{
    (void)state;
    return sem_init(&go_on, 0, 0) < 0 ? -1 : closer_start();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_nobody_read_is_closed_elsewhere),
        cmocka_unit_test(test_without_descriptors_it_is_closed_at_once),
        cmocka_unit_test(test_what_came_in_is_closed_elsewhere),
        cmocka_unit_test(test_channel_takes_none),
        cmocka_unit_test(test_what_hangs_holds_nobody_up),
        cmocka_unit_test(test_behind), /* which stops it */
        cmocka_unit_test(test_in_place),
    };

    return cmocka_run_group_tests_name("closer", tests, setup, NULL);
}
