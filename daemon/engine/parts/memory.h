/* SPDX-License-Identifier: Apache-2.0 */
/* Where workers run and memory lies: own copies (memory.h); config points to them, or is NULL. */
#pragma once

#include <stdint.h>

struct memory_places {
    int *cpus, *nodes;  /* [workers_max] */
    uint8_t *distances; /* [workers_max][workers_max] */
    uint64_t binds_failed;
};
