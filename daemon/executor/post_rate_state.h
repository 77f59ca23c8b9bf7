/* SPDX-License-Identifier: Apache-2.0 */
/* What the executor keeps for the quota of posts; only post_rate.c looks into
 * it. Control thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "daemon/executor/rate.h"

struct post_rate_port {
    bool bound, waits;
    uint32_t generation;
};
struct post_rate {
    struct rates rates;
    struct post_rate_port ports[ODEON_PORTS_MAX];
    uint32_t next; /* where the timer begins: not always with the same port */
    uv_timer_t timer;
    bool open, lifted;
    uint64_t told_ns;
};
