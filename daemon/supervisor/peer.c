/* SPDX-License-Identifier: Apache-2.0 */
/* Credentials of a connection; the interface is in peer.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/supervisor/peer.h"

/* Younger than the C library's headers: from kernels 6.5 and 6.16 on; earlier ones answer
 * ENOPROTOOPT. */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif
#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

enum { GROUPS_FEW = 32 }; /* supplementary ones, as most users have them */

static int peer_read_groups(struct peer *peer, int socket)
{
    gid_t few[GROUPS_FEW];
    socklen_t size = sizeof(few);
    bool fit = getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, few, &size) == 0;

    /* The kernel says how much there is when the room is too small; a peer's groups do not
     * change. */
    if (!fit && errno != ERANGE)
        return -errno;
    if (size == 0)
        return 0;
    peer->groups = malloc(size);
    if (!peer->groups)
        return -ENOMEM;
    if (fit)
        memcpy(peer->groups, few, size);
    else if (getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, peer->groups, &size) < 0)
        return -errno;
    peer->n_groups = size / sizeof(peer->groups[0]);
    return 0;
}

static int peer_open_process(int socket)
{
    int pidfd = -1;
    socklen_t size = sizeof(pidfd);

    return getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size) == 0 ? pidfd : -1;
}

static bool peer_process_has_ended(int pidfd)
{
    struct pollfd p = { .fd = pidfd, .events = POLLIN };

    return poll(&p, 1, 0) != 0;
}

/* Of a process that lives on behind the reading, its number was not another's before it. */
static void peer_read_command(struct peer *peer)
{
    char path[40];
    ssize_t n;
    int fd;

    if (peer->pidfd < 0)
        return;
    snprintf(path, sizeof(path), "/proc/%d/comm", (int)peer->pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    n = read(fd, peer->command, sizeof(peer->command) - 1);
    close(fd);
    peer->command[n > 0 && !peer_process_has_ended(peer->pidfd) ? n : 0] = '\0';
    for (char *c = peer->command; *c; c++)
        *c = *c == '\n' ? '\0' : (char)(*c >= 0x20 && *c < 0x7f ? *c : '?');
}

int peer_read(struct peer *peer, int socket)
{
    struct ucred credentials;
    socklen_t size = sizeof(credentials);
    int r;

    *peer = (struct peer){ .pidfd = -1 };
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) < 0)
        return -errno;
    peer->pid = credentials.pid;
    peer->uid = credentials.uid;
    peer->gid = credentials.gid;
    r = peer_read_groups(peer, socket);
    if (r < 0) {
        peer_fini(peer);
        return r;
    }
    peer->pidfd = peer_open_process(socket);
    peer_read_command(peer);
    return 0;
}

void peer_fini(struct peer *peer)
{
    free(peer->groups);
    if (peer->pidfd >= 0)
        close(peer->pidfd);
    *peer = (struct peer){ .pidfd = -1 };
}

bool peer_is_in_group(const struct peer *peer, gid_t group)
{
    for (size_t i = 0; i < peer->n_groups; i++)
        if (peer->groups[i] == group)
            return true;
    return peer->gid == group;
}

void peer_allow_descriptors(int socket, bool allow)
{
    int value = allow;

    (void)setsockopt(socket, SOL_SOCKET, SO_PASSRIGHTS, &value, sizeof(value));
}
