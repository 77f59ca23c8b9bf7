/* SPDX-License-Identifier: Apache-2.0 */
/* What the actors of the rate limiter are spawned with. */
#pragma once

#include <odeon/plugin.h>

#include "rate.h"

/* `rate` tokens come back every `per_ms` (0: 1000) to each key's bucket, which has room for
 * `burst`. At most `keys` (0: 1000) are known at a time; one that has not been used for `idle_ms`
 * (0: 60000), and is full, is forgotten. `name` is the name that the front is registered by. */
ODEON_ARGUMENTS(rate_front_args, {
    uint32_t rate, per_ms, burst, keys, idle_ms;
    char name[16];
});

struct rate_limiter_args {
    uint64_t token_ns, idle_ns; /* a token comes back in */
    uint32_t burst;
    char front[RATE_FRONT_MAX], key[RATE_KEY_MAX];
};
