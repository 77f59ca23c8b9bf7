/* SPDX-License-Identifier: Apache-2.0 */
/* The init record that waits to be spared (place.h); the trace of what is run (core/tag.h). */
#pragma once

#include <stdint.h>

#include "proto/envelope.h"

struct place {
    actor_ref newborn; /* the actor whose init record waits to be spared, 0: none (place.h) */
    /* where the first record for its queue since the spawn will stand: behind the batch, or in the
     * outbox */
    uint64_t *newborn_first;
    uint64_t held_wanted;
    uint32_t newborn_queue;
    /* since the counters were last published */
    uint64_t n_tail_appends, n_failed;
    uint64_t trace; /* the running message's, 0: it has none */
};
