/* SPDX-License-Identifier: Apache-2.0 */
/* Admits clients: accepts connections, looks at who they are, refuses with a reason. Event loop
 * thread only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "daemon/supervisor/told.h"

struct clients;

struct listener {
    int fd; /* the socket */
    struct clients *clients;
    uv_poll_t poll;
    uv_timer_t pause; /* after running out of descriptors, and while too many are being closed */
    bool open;
    uint64_t behind_told_ns; /* that it waits for the closer; once a minute */
    struct told strangers;   /* users who were refused */
};

/* 0 or negative errno.  The socket stays the runtime's. */
int listener_start(struct listener *listener, int fd, struct clients *clients);
void listener_stop(struct listener *listener);
