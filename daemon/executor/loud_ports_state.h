/* SPDX-License-Identifier: Apache-2.0 */
/* What the executor keeps of ports that ring without end; only loud_ports.c looks into it. Control
 * thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "proto/bounds.h"

struct loud_port {
    bool muted;
    uint32_t generation;
    unsigned step;     /* it is muted for 1 ms << step */
    uint64_t until_ns; /* until then; when it was listened to again */
};
struct loud_ports {
    struct loud_port ports[ODEON_PORTS_MAX];
    unsigned n_muted;
    uv_timer_t timer;
    bool open;
    uint64_t told_ns;
};
