/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets of clients that have gone and left descriptors unread: whoever holds the other end keeps
 * them in flight, and the kernel counts them to the service. Event loop thread only.
 *
 * unread.U1  What lies there stays on its user's account until it has been read, or the last copy
 *     of the other end is closed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/supervisor/account.h"

struct unread {
    struct unread *next;
    int fd;
    uid_t uid;
    struct holding held; /* of descriptors alone; charged already */
};

struct unreads {
    struct accounts *accounts;
    struct unread *first;
};

/* Takes `unread`, which malloc() made, and its descriptor. */
void unreads_keep(struct unreads *unreads, struct unread *unread);
/* Lets go of those that have been read.  Whether some are left. */
bool unreads_look(struct unreads *unreads);
/* Of all of them. */
void unreads_fini(struct unreads *unreads);
