/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/common/frame: records with descriptors, and what is none. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/common/frame.h"
#include "proto/control.pb-c.h"

struct pair {
    int a, b;
};

static int make_pair(void **state)
{
    static struct pair pair;
    int fds[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
    pair = (struct pair){ fds[0], fds[1] };
    *state = &pair;
    return 0;
}

static int close_pair(void **state)
{
    struct pair *pair = *state;

    close(pair->a);
    if (pair->b >= 0)
        close(pair->b);
    return 0;
}

static void test_message_with_descriptors(void **state)
{
    struct pair *pair = *state;
    Odeon__Hello hello = ODEON__HELLO__INIT, *got;
    struct frame frame;
    struct stat sent, received;
    int fds[2] = { open("/dev/null", O_RDONLY | O_CLOEXEC),
                   open("/proc/self/exe", O_RDONLY | O_CLOEXEC) },
        fd;

    hello.protocol = 7;
    hello.name = (char *)"somebody";
    assert_int_equal(frame_send(pair->a, &hello.base, fds, 2), 0);
    assert_int_equal(frame_receive(pair->b, &frame), 1);
    assert_int_equal(frame.n_fds, 2);
    got = odeon__hello__unpack(NULL, frame.size, frame.data);
    assert_non_null(got);
    assert_int_equal(got->protocol, 7);
    assert_string_equal(got->name, "somebody");
    odeon__hello__free_unpacked(got, NULL);

    fd = frame_take_fd(&frame, 1);
    assert_true(fd >= 0);
    assert_int_equal(frame_take_fd(&frame, 1), -1);
    assert_int_equal(frame_take_fd(&frame, 2), -1);
    fstat(fds[1], &sent);
    fstat(fd, &received);
    assert_int_equal(sent.st_ino, received.st_ino);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    close(fd);
    fd = frame.fds[0];
    frame_fini(&frame); /* closes the one that was left */
    assert_int_equal(fcntl(fd, F_GETFD), -1);
    close(fds[0]);
    close(fds[1]);
}

static void test_nothing_and_end(void **state)
{
    struct pair *pair = *state;
    struct frame frame;

    assert_int_equal(frame_receive(pair->a, &frame), -EAGAIN);
    close(pair->b);
    pair->b = -1;
    assert_int_equal(frame_receive(pair->a, &frame), 0);
    assert_int_equal(frame_send_packed(pair->a, "x", 1, NULL, 0), -EPIPE);
}

static void test_empty_record_is_no_end(void **state)
{
    struct pair *pair = *state;
    struct frame frame;

    assert_int_equal(send(pair->b, "", 0, 0), 0);
    assert_int_equal(frame_receive(pair->a, &frame), 1);
    assert_int_equal(frame.size, 0);
    assert_int_equal(frame_receive(pair->a, &frame), -EAGAIN);
}

static void test_largest_and_larger(void **state)
{
    struct pair *pair = *state;
    struct frame frame;
    char *data = calloc(1, ODEON_CONTROL_FRAME_MAX + 1);
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    assert_int_equal(frame_send_packed(pair->a, data, ODEON_CONTROL_FRAME_MAX, NULL, 0), 0);
    assert_int_equal(frame_receive(pair->b, &frame), 1);
    assert_int_equal(frame.size, ODEON_CONTROL_FRAME_MAX);
    assert_int_equal(frame_send_packed(pair->a, data, ODEON_CONTROL_FRAME_MAX + 1, NULL, 0),
                     -EMSGSIZE);
    /* from somebody who does not use these functions */
    assert_int_equal(send(pair->a, data, ODEON_CONTROL_FRAME_MAX + 1, 0),
                     ODEON_CONTROL_FRAME_MAX + 1);
    assert_int_equal(frame_receive(pair->b, &frame), -EMSGSIZE);
    assert_int_equal(frame.n_fds, 0);
    assert_int_equal(frame_receive(pair->b, &frame), -EAGAIN); /* it is dropped */
    close(fd);
    free(data);
}

static void test_message_too_large_to_pack(void **state)
{
    struct pair *pair = *state;
    Odeon__Hello hello = ODEON__HELLO__INIT;
    char *name = malloc(ODEON_CONTROL_FRAME_MAX + 1);

    memset(name, 'x', ODEON_CONTROL_FRAME_MAX);
    name[ODEON_CONTROL_FRAME_MAX] = '\0';
    hello.name = name;
    assert_int_equal(frame_send(pair->a, &hello.base, NULL, 0), -EMSGSIZE);
    free(name);
}

static int highest_fd(void)
{
    int fd = dup(0);

    close(fd);
    return fd;
}

static void test_too_many_descriptors(void **state)
{
    struct pair *pair = *state;
    int fds[FRAME_FDS_MAX + 1], before;
    struct iovec part = { (void *)"x", 1 };
    char control[CMSG_SPACE(sizeof(fds))];
    struct msghdr record = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
    };
    struct cmsghdr *rights = CMSG_FIRSTHDR(&record);
    struct frame frame;

    for (int i = 0; i <= FRAME_FDS_MAX; i++)
        fds[i] = 0;
    assert_int_equal(frame_send_packed(pair->a, "x", 1, fds, FRAME_FDS_MAX + 1), -EINVAL);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(fds));
    memcpy(CMSG_DATA(rights), fds, sizeof(fds));
    assert_int_equal(sendmsg(pair->a, &record, 0), 1);
    before = highest_fd();
    assert_int_equal(frame_receive(pair->b, &frame), -EPROTO);
    assert_int_equal(frame.n_fds, FRAME_FDS_MAX + 1); /* all came in: they are the caller's */
    frame_fini(&frame);
    assert_int_equal(highest_fd(), before);
}

/* At the end of a connection: what is a record, and which of them brings descriptors. */
static void test_what_comes_next(void **state)
{
    struct pair *pair = *state;
    int null = 0;
    char byte;

    assert_int_equal(frame_next(pair->b), FRAME_NEXT_NONE);
    assert_int_equal(frame_send_packed(pair->a, "", 0, NULL, 0), 0);
    assert_int_equal(frame_send_packed(pair->a, "x", 1, &null, 1), 0);
    assert_int_equal(frame_send_packed(pair->b, "unread", 6, NULL, 0), 0);
    close(pair->a); /* which is a reset, told once */
    shutdown(pair->b, SHUT_RD);
    assert_int_equal(frame_next(pair->b), FRAME_NEXT_PLAIN);
    assert_int_equal(frame_next(pair->b), FRAME_NEXT_PLAIN); /* it stays */
    assert_int_equal(recv(pair->b, &byte, 1, 0), 0);
    assert_int_equal(frame_next(pair->b), FRAME_NEXT_FDS);
    assert_int_equal(recv(pair->b, &byte, 1, 0), 1);
    assert_int_equal(frame_next(pair->b), FRAME_NEXT_NONE);
    pair->a = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void test_full_socket(void **state)
{
    struct pair *pair = *state;
    char data[4096] = { 0 };
    int r, sent = 0;

    while ((r = frame_send_packed(pair->a, data, sizeof(data), NULL, 0)) == 0)
        assert_true(++sent < 100000);
    assert_int_equal(r, -EAGAIN);
    assert_true(sent > 0);
}

/* The record comes all the same: somebody waits for the answer to it. */
static void test_no_room_for_descriptors(void **state)
{
    const struct pair *pair = *state;
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC), next;
    struct rlimit all, few;
    struct frame frame;
    int r;

    assert_true(null >= 0);
    assert_false(frame_next_has_fds(pair->b));
    assert_int_equal(frame_send_packed(pair->a, "x", 1, NULL, 0), 0);
    assert_false(frame_next_has_fds(pair->b));
    assert_int_equal(frame_receive(pair->b, &frame), 1);
    assert_false(frame.fds_lost);
    next = dup(null);
    close(next);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &all), 0);
    for (int room = 0; room < 3; room++) {
        assert_int_equal(frame_send_packed(pair->a, "xy", 2, (int[]){ null, null, null }, 3), 0);
        few = (struct rlimit){ (rlim_t)(next + room), all.rlim_max };
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        assert_true(frame_next_has_fds(pair->b));
        r = frame_receive(pair->b, &frame);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &all), 0);
        assert_int_equal(r, 1);
        assert_int_equal(frame.size, 2);
        assert_true(frame.fds_lost);
        assert_int_equal(frame.n_fds, room);
        frame_fini(&frame);
        assert_int_equal(dup(null), next); /* none has stayed */
        close(next);
    }
    close(null);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_message_with_descriptors, make_pair, close_pair),
        cmocka_unit_test_setup_teardown(test_nothing_and_end, make_pair, close_pair),
        cmocka_unit_test_setup_teardown(test_empty_record_is_no_end, make_pair, close_pair),
        cmocka_unit_test_setup_teardown(test_largest_and_larger, make_pair, close_pair),
        cmocka_unit_test_setup_teardown(test_message_too_large_to_pack, make_pair, close_pair),
        cmocka_unit_test_setup_teardown(test_too_many_descriptors, make_pair, close_pair),
        cmocka_unit_test_setup_teardown(test_what_comes_next, make_pair, close_pair),
        cmocka_unit_test_setup_teardown(test_full_socket, make_pair, close_pair),
        cmocka_unit_test_setup_teardown(test_no_room_for_descriptors, make_pair, close_pair),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
