/* SPDX-License-Identifier: Apache-2.0 */
/* The groups of who is at the other end: none, few, many, and from who answers in the kernel's
 * place. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/supervisor/peer.h"

enum { GROUPS_MAX = 1000, FIRST_GROUP = 41000 };

static socklen_t answered; /* so many groups, instead of one's own */
static int asks;           /* how often they were asked for */
static int error;          /* ... in vain; 0: not */

int __real_getsockopt(int socket, int level, int name, void *value, socklen_t *size);
int __wrap_getsockopt(int socket, int level, int name, void *value, socklen_t *size);

/* As the kernel, but where there is no room at all: qemu's user emulator takes that for a mistake,
 * even if there is nothing to be put there. */
static int answer(void *value, socklen_t *size)
{
    socklen_t has = *size, wants = answered * (socklen_t)sizeof(gid_t);
    gid_t groups[GROUPS_MAX];

    asks++;
    if (error != 0 || !value) {
        errno = error != 0 ? error : EFAULT;
        return -1;
    }
    *size = wants;
    if (has < wants) {
        errno = ERANGE;
        return -1;
    }
    for (socklen_t i = 0; i < answered; i++)
        groups[i] = FIRST_GROUP + i;
    memcpy(value, groups, wants);
    return 0;
}

int __wrap_getsockopt(int socket, int level, int name, void *value, socklen_t *size)
{
    return level == SOL_SOCKET && name == SO_PEERGROUPS
               ? answer(value, size)
               : __real_getsockopt(socket, level, name, value, size);
}

/* Of a connection to oneself. */
static int read_own(struct peer *ret_peer, socklen_t n, int fails_with)
{
    int ends[2], r;

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    answered = n;
    asks = 0;
    error = fails_with;
    r = peer_read(ret_peer, ends[0]);
    close(ends[0]);
    close(ends[1]);
    return r;
}

static void expect_groups(socklen_t n, int most_asks)
{
    struct peer peer;

    assert_int_equal(read_own(&peer, n, 0), 0);
    assert_int_equal(peer.uid, geteuid());
    assert_int_equal(peer.n_groups, n);
    assert_true(asks <= most_asks);
    for (socklen_t i = 0; i < n; i++)
        assert_true(peer_is_in_group(&peer, FIRST_GROUP + i));
    assert_false(peer_is_in_group(&peer, FIRST_GROUP + n));
    assert_true(peer_is_in_group(&peer, getegid()));
    peer_fini(&peer);
}

static void test_groups(void **state)
{
    (void)state;
    expect_groups(0, 1);
    expect_groups(1, 1);
    expect_groups(32, 1);
    expect_groups(33, 2);
    expect_groups(GROUPS_MAX, 2);
}

static void test_failures(void **state)
{
    struct peer peer;

    (void)state;
    assert_int_equal(read_own(&peer, 1, EINVAL), -EINVAL);
    assert_int_equal(peer.pidfd, -1);
    assert_null(peer.groups);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_failures),
    };

    return cmocka_run_group_tests_name("supervisor: peers", tests, NULL, NULL);
}
