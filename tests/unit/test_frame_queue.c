/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/common/frame_queue: order, counts, descriptors, a socket that is full, and one that
 * breaks. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/common/frame_queue.h"
#include "proto/control.pb-c.h"

struct fixture {
    struct frame_queue queue;
    int ours, theirs;
};

static int set_up(void **state)
{
    static struct fixture f;
    int fds[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
    f = (struct fixture){ .ours = fds[0], .theirs = fds[1] };
    frame_queue_init(&f.queue);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    frame_queue_clear(&f->queue);
    assert_true(frame_queue_is_empty(&f->queue));
    assert_int_equal(f->queue.bytes, 0);
    close(f->ours);
    if (f->theirs >= 0)
        close(f->theirs);
    return 0;
}

static void add(struct fixture *f, uint32_t number, const int *fds, size_t n_fds)
{
    Odeon__Hello hello = ODEON__HELLO__INIT;
    char padding[4001];

    memset(padding, 'p', sizeof(padding) - 1);
    padding[sizeof(padding) - 1] = '\0';
    hello.protocol = number;
    hello.name = padding;
    assert_int_equal(frame_queue_add(&f->queue, &hello.base, fds, n_fds), 0);
}

static uint32_t take(struct fixture *f, struct frame *frame)
{
    Odeon__Hello *hello;
    uint32_t number;

    assert_int_equal(frame_receive(f->theirs, frame), 1);
    hello = odeon__hello__unpack(NULL, frame->size, frame->data);
    assert_non_null(hello);
    number = hello->protocol;
    odeon__hello__free_unpacked(hello, NULL);
    return number;
}

/* More than the socket takes at once: nothing is lost, doubled or overtaken. */
static void test_order_through_a_full_socket(void **state)
{
    enum { FRAMES = 300 };
    struct fixture *f = *state;
    struct frame frame;
    uint32_t next = 1;
    int r;

    for (uint32_t i = 1; i <= FRAMES; i++)
        add(f, i, NULL, 0);
    assert_int_equal(f->queue.n_frames, FRAMES);
    assert_true(f->queue.bytes > FRAMES * 4000 && f->queue.bytes < FRAMES * 4100);
    assert_int_equal(frame_queue_flush(&f->queue, f->ours), -EAGAIN);
    assert_true(f->queue.n_frames > 0 && f->queue.n_frames < FRAMES);
    do {
        r = frame_queue_flush(&f->queue, f->ours);
        assert_true(r == 0 || r == -EAGAIN);
        while (recv(f->theirs, NULL, 0, MSG_PEEK | MSG_DONTWAIT) >= 0) {
            assert_int_equal(take(f, &frame), next++);
            frame_fini(&frame);
        }
    } while (r < 0);
    assert_int_equal(next, FRAMES + 1);
    assert_true(frame_queue_is_empty(&f->queue));
    assert_int_equal(f->queue.bytes, 0);
    add(f, next, NULL, 0); /* an emptied queue works as a new one */
    assert_int_equal(frame_queue_flush(&f->queue, f->ours), 0);
    assert_int_equal(take(f, &frame), next);
    frame_fini(&frame);
}

static void test_descriptors_are_its_own(void **state)
{
    struct fixture *f = *state;
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC), bad[] = { fd, -1 };
    Odeon__Hello hello = ODEON__HELLO__INIT;
    struct stat sent, received;
    struct frame frame;

    assert_true(fd >= 0 && fstat(fd, &sent) == 0);
    assert_int_equal(frame_queue_add(&f->queue, &hello.base, bad, 2), -EBADF);
    assert_true(frame_queue_is_empty(&f->queue));
    add(f, 1, &fd, 1);
    close(fd);
    assert_int_equal(frame_queue_flush(&f->queue, f->ours), 0);
    assert_int_equal(take(f, &frame), 1);
    assert_int_equal(frame.n_fds, 1);
    assert_int_equal(fstat(frame.fds[0], &received), 0);
    assert_true(sent.st_rdev == received.st_rdev);
    frame_fini(&frame);
}

static void test_broken_socket(void **state)
{
    struct fixture *f = *state;

    add(f, 1, NULL, 0);
    add(f, 2, NULL, 0);
    close(f->theirs);
    f->theirs = -1;
    assert_int_equal(frame_queue_flush(&f->queue, f->ours), -EPIPE);
    assert_int_equal(f->queue.n_frames, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_order_through_a_full_socket, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_descriptors_are_its_own, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_broken_socket, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
