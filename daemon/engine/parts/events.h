/* SPDX-License-Identifier: Apache-2.0 */
/* What workers have left for the control thread (events.h). */
#pragma once

#include <pthread.h>
#include <stddef.h>

#include "daemon/engine/engine.h"

struct events {
    pthread_mutex_t mutex;
    struct engine_event *list;
    size_t n, capacity;
    int fd;
};
