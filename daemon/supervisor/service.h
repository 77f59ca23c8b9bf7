/* SPDX-License-Identifier: Apache-2.0 */
/* What all seats of an odeond share.  Pointers only: the supervisor owns what they lead to, and
 * sets them before anything else runs. Event loop thread only.
 */
#pragma once

#include <stdint.h>
#include <uv.h>

struct accounts;
struct clients;
struct config;
struct persist;
struct runtime;

struct service {
    uv_loop_t *loop;
    const struct config *config; /* as last read */
    const struct runtime *runtime;
    struct accounts *accounts;
    struct clients *clients;
    struct persist *persist;
    uint64_t started_ns;
};
