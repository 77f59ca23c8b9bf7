/* SPDX-License-Identifier: Apache-2.0 */
/* The worker's loop: what it keeps between two looks (worker.h, park.h). The worker alone. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct loop {
    bool unstashed; /* a turn has taken messages back (stash.ST2) */
    uint32_t common_from;
    uint32_t fruitless;
    uint32_t idles;  /* so often it had nothing to do */
    uint32_t sleeps; /* since it last found something: which phase of being idle it is in */
    /* the mailbox whose batch ended here last, and where its next one most likely begins: where
     * polled.PO4 looks */
    int64_t ran;
    int64_t polled; /* the mailbox that is looked at while it searches, -1: none */
    const uint8_t *ran_next;
    bool common_first;
    bool stalled; /* the stall timer has chosen this worker to look after ports */
    /* the last look at the doorbells; and the last look of a run at its clock then */
    uint64_t polled_ns, polled_ticks;
};
