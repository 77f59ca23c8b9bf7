/* SPDX-License-Identifier: Apache-2.0 */
/* Holding a worker inside a handler, and condemning that (hold.h, stall.h). */
#pragma once

#include <stdint.h>

#include "daemon/engine/base/atomic.h"

struct hold {
    _Atomic uint32_t state; /* enum hold_state; futex of the worker and of the control thread */
    /* control thread: the count, plus 1, of the message that is to end the executor; the worker's
     * signal handler */
    _Atomic uint64_t condemned;
    uint64_t count; /* control thread: of commits, when it was held */
};
