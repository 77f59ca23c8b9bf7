/* SPDX-License-Identifier: Apache-2.0 */
/* A descriptor whose last close waits; see lingering.h. */
#include "tests/run/lingering.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

static bool lingering_connect(int listener, int *ret_fd, int *ret_peer)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(address);

    if (bind(listener, (struct sockaddr *)&address, size) < 0 || listen(listener, 1) < 0 ||
        getsockname(listener, (struct sockaddr *)&address, &size) < 0)
        return false;
    *ret_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (*ret_fd < 0)
        return false;
    *ret_peer = connect(*ret_fd, (struct sockaddr *)&address, size) < 0
                    ? -1
                    : accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (*ret_peer < 0)
        close(*ret_fd);
    return *ret_peer >= 0;
}

int lingering_socket(int *ret_peer)
{
    static const char bytes[65536];
    const struct linger linger = { .l_onoff = 1, .l_linger = 3600 };
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fd = -1;
    bool connected = listener >= 0 && lingering_connect(listener, &fd, ret_peer);

    if (listener >= 0)
        close(listener);
    if (!connected)
        return -1;
    while (send(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0) /* more than its peer has room for */
        ;
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
    return fd;
}
