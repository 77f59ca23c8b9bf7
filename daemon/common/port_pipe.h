/* SPDX-License-Identifier: Apache-2.0 */
/* The descriptor that a client polls for its port. It is called a pipe, and is one to its client: a
 * byte is there to read, or the end. But it is a pair of sockets.
 *
 * Who writes into a pipe(2) takes a lock of the kernel's that no O_NONBLOCK passes and no signal
 * ends; and who reads can hold that as long as he likes, by splice() to where there is no room, or
 * by read() into a page that is not there. A socket's sender takes nothing that a receiver sleeps
 * with.
 *
 * No state; any thread.
 */
#pragma once

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

/* `ends[0]` for the client, who can send nothing through it; `ends[1]` for the service. 0 or
 * negative errno. */
static inline int port_pipe_make(int ends[2])
{
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) < 0)
        return -errno;
    if (shutdown(ends[0], SHUT_WR) == 0)
        return 0;
    close(ends[0]);
    close(ends[1]);
    return -EIO;
}

/* One that takes no byte has some, or nobody who wants them. Returns at once, whatever flags its
 * client gives to it. */
static inline void port_pipe_wake(int fd)
{
    ssize_t n = send(fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);

    (void)n;
}
