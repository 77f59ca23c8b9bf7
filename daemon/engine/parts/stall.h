/* SPDX-License-Identifier: Apache-2.0 */
/* Looking after handlers that do not return: the timers, and what was last seen (stall.h, help.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/engine/base/atomic.h"

/* A worker as the control thread last saw it (stall.h). */
struct stall_watch {
    uint64_t count;  /* of its commits */
    uint64_t age_ns; /* for how long that has not changed while its batch runs */
    uint64_t cpu_ns; /* its processor time when that began to be measured, 0: not yet */
    bool told, condemned;
    uint32_t aside_tries;
};

/* Of the engine. */
struct watch {
    _Atomic uint32_t rescue_armed; /* somebody is to look after ports (help.h) */
    int rescue_fd;
    _Atomic uint32_t armed; /* a look at the workers' handlers is due */
    int fd;
    _Atomic uint64_t period_ns;  /* control thread; read by whoever arms */
    uint64_t looked_ns;          /* control thread, as what follows */
    struct stall_watch *workers; /* [workers_max] */
};
