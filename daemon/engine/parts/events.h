/* SPDX-License-Identifier: Apache-2.0 */
/* What workers have left for the control thread (events.h). */
#pragma once

#include <pthread.h>
#include <stddef.h>

#include "daemon/engine/engine.h"

/* Of each port: that it is broken, that it has ended, and what is told again and again; of each
 * type, that actors of it could not begin. */
enum { EVENTS_MAX = 4 * ODEON_PORTS_MAX + ODEON_ACTOR_TYPES_MAX };

struct events {
    pthread_mutex_t mutex;
    struct engine_event *list; /* EVENTS_MAX of them */
    size_t n;
    int fd;
};
