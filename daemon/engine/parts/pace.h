/* SPDX-License-Identifier: Apache-2.0 */
/* How often a worker looks at the clock between messages (pace.h). The worker alone, but for what
 * is atomic. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/engine/base/atomic.h"

/* What a run may last, and a message more. */
enum { PACE_SLICE_NS = 5 * 1000 * 1000 };

struct pace {
    uint32_t every;   /* messages from one look to the next: they take about pace.T1's time */
    uint32_t suspect; /* so many looks more, one for each message, to find who is slow */
    /* in ticks (ticks.h): the start of the run that goes on, until when what has been sent may
     * wait, and the last look, which the control thread reads (pace_silent_ns) */
    uint64_t began, due;
    _Atomic uint64_t looked;
    uint64_t run_messages; /* of the last run; 0: the worker has been idle since */
    bool over;             /* the run has had its slice */
    /* 1: somebody else wants a look, behind the message that is run (pace_call); more: and that one
     * ran at this time, in ticks */
    _Atomic uint64_t called;
    /* who has run the message whose commit, the one of this count, was a flip: behind a call it is,
     * and the loop knows no more who it was */
    uint64_t behind, behind_at;
    /* the commit count up to which messages have been counted; the control thread compares it */
    _Atomic uint64_t counted;
};
