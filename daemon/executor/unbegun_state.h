/* SPDX-License-Identifier: Apache-2.0 */
/* What the executor keeps of actors that could not begin; only unbegun.c looks into it. Control
 * thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "proto/bounds.h"

struct unbegun_type {
    bool waits;       /* there is something to tell, later */
    uint64_t told_ns; /* when it was last told; 0: never */
};
struct unbegun_types {
    struct unbegun_type types[ODEON_ACTOR_TYPES_MAX];
    unsigned n_waiting;
    uv_timer_t timer;
    bool open;
};
