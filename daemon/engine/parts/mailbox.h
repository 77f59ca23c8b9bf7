/* SPDX-License-Identifier: Apache-2.0 */
/* The batch that a worker is attached to (mailbox.h): one cache line. */
#pragma once

#include <stdint.h>

#include "daemon/engine/base/atomic.h"

struct batch {
    uint8_t *base;
    /* behind while the loop of the turns runs: there the committed slot's is the record's */
    uint64_t cursor;
    uint64_t tail, wrap; /* of the batch (segment_layout.h) */
    uint64_t tail_limit; /* tail appends must stay below; 0: closed (place.U3) */
    uint64_t ring;       /* of the queue; 0: closed */
    uint64_t probe;      /* the loop stops here, for a sample (observe/marks.h); MARKS_NONE */
    uint32_t source;     /* id + 1 of the attached source, as in the commit record */
    uint32_t queue;      /* message queue whose batch runs, NO_QUEUE: none */
};

enum { NO_QUEUE = 0xffffffffu };
