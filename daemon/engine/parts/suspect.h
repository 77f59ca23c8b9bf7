/* SPDX-License-Identifier: Apache-2.0 */
/* Messages that are suspected of having ended the executor (run/suspect.h). */
#pragma once

#include <pthread.h>
#include <stdint.h>

#include "daemon/engine/engine.h"

struct suspects {
    pthread_mutex_t mutex;
    struct worker *on_trial; /* whose suspect has had its turn last, NULL: none has; under mutex */
    uint64_t since_ns;
    /* what recovery has found */
    struct engine_suspect *list;
    uint32_t n;
};
