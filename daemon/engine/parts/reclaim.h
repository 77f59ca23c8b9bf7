/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a window's pages (reclaim.h), and whose records wait in it (budget.h). */
#pragma once

#include <stdint.h>

#include "daemon/engine/base/atomic.h"

enum { BUDGET_NOTES = 6 };

/* Bytes of one user's records. */
struct budget_note {
    uint64_t bytes : 48, account : 16;
};

/* What a window has held and needed, in pages; a cache line. */
struct window_history {
    uint32_t resident; /* no page from here on exists */
    uint32_t need;     /* the most since more than half of that was used */
    uint16_t little;   /* uses since then */
    uint8_t n_notes;
    /* pages that the budget knows of; who sweeps reads it at any time */
    _Atomic uint32_t charged;
    struct budget_note notes[BUDGET_NOTES];
};
_Static_assert(sizeof(struct window_history) == 64, "a cache line");
