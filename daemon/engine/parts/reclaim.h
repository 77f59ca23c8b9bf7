/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a window's pages (reclaim.h), and whose records wait in it (budget.h). */
#pragma once

#include <stdalign.h>
#include <stdint.h>

#include "daemon/engine/base/atomic.h"

enum { BUDGET_NOTES = 6 };

/* Bytes of one user's records. */
struct budget_note {
    uint64_t bytes : 48, account : 16;
};

/* Nanoseconds that what waits for a user will take; the account is in the upper bits, so that who
 * looks without a lock sees both of the same. */
enum { BUDGET_TIME_BITS = 48 };

/* What a window has held and needed, in pages; a cache line. The times are in one of their own. */
struct window_history {
    uint32_t resident; /* no page from here on exists */
    uint32_t need;     /* the most since more than half of that was used */
    uint16_t little;   /* uses since then */
    uint8_t n_notes, n_times;
    /* pages that the budget knows of; who sweeps reads it at any time */
    _Atomic uint32_t charged;
    struct budget_note notes[BUDGET_NOTES];
    /* as the notes; whoever takes records from a port reads them at any time */
    alignas(64) _Atomic uint64_t times[BUDGET_NOTES];
    uint32_t given; /* pages that were given back, and are not touched again yet */
};
_Static_assert(sizeof(struct window_history) == 128, "two cache lines");

/* What a worker may still have to touch again (reclaim.M5). */
struct allowance {
    int64_t pages;
    uint64_t at; /* ticks: it has grown until then */
};
