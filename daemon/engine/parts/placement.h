/* SPDX-License-Identifier: Apache-2.0 */
/* Which queues a worker's new actors get (placement.h). */
#pragma once

#include <stdint.h>

#include "daemon/engine/base/atomic.h"

struct placing {
    uint32_t spread_worker, spread_queue; /* round robin of ordinary spawns: the next block's */
    /* The block that goes on: whose siblings, which queue, how many are still to come
     * (placement.M4); and, of blocks of that length, how many spawns until it is looked whether
     * they are to be longer. */
    uint32_t block_type, block_queue, block_left, block, block_look;
    uint32_t spawn_next; /* of others */
    /* by message queue: actors spawned less actors ended by this worker; read by the control
     * thread */
    _Atomic int32_t *live;
    _Atomic int node; /* control thread; read by all who spawn */
};
