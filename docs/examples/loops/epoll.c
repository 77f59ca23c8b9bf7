/* SPDX-License-Identifier: Apache-2.0 */
/* The client in a loop of epoll's: odeon-loop-epoll SOCKET PLUGIN NUMBERS */
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "summer.h"

static void watch(int epoll, int fd)
{
    struct epoll_event event = { .events = EPOLLIN, .data = { .fd = fd } };

    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

int main(int argc, char **argv)
{
    struct summer summer = { 0 };
    int epoll = epoll_create1(EPOLL_CLOEXEC), port = -1;

    if (argc != 4 || epoll < 0) {
        fputs("usage: odeon-loop-epoll SOCKET PLUGIN NUMBERS\n", stderr);
        return 2;
    }
    summer.socket = argv[1];
    summer.plugin = argv[2];
    summer.numbers = strtoull(argv[3], NULL, 10);
    if (summer_begin(&summer) < 0)
        return 1;
    watch(epoll, summer_helper_fd(&summer));
    while (!summer_turn(&summer)) {
        struct epoll_event event;

        if (port < 0 && (port = summer_port_fd(&summer)) >= 0)
            watch(epoll, port);
        (void)epoll_wait(epoll, &event, 1, summer_timeout(&summer));
    }
    return summer_end(&summer);
}
