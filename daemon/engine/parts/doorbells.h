/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker sleeps on (doorbells.h). */
#pragma once

struct doorbells {
    int epoll_fd, wake_fd;
};
