/* SPDX-License-Identifier: Apache-2.0 */
/* A worker at the barrier (barrier.h), and where it goes on from there. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/engine/base/atomic.h"

struct stand {
    _Atomic uint32_t paused_at;
    uint32_t start_epoch; /* control thread, before it makes the thread */
    /* the worker; read by the control thread behind paused_at */
    uint64_t begin_ns, end_ns;
    bool rebind; /* control thread, while the worker stands; the worker */
    int cpu;     /* likewise: to be bound to, -1 none */
};
