/* SPDX-License-Identifier: Apache-2.0 */
/* The init record that waits to be spared (place.h). */
#pragma once

#include <stdint.h>

#include "proto/envelope.h"

struct place {
    actor_ref newborn; /* the actor whose init record waits to be spared, 0: none (place.h) */
    actor_ref newborn_by;
    uint32_t newborn_queue;
    /* where the first record for that queue since the spawn stands: behind the batch, or in the
     * outbox */
    uint64_t newborn_tail, newborn_length;
    uint64_t held_wanted;
    /* since the counters were last published */
    uint64_t n_tail_appends, n_failed;
};
