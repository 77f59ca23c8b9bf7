/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of a window that are about to be written are asked for together.
 *
 * A page that is written for the first time costs a fault, under the queue's lock. Asked for by
 * madvise(MADV_POPULATE_WRITE), one page cost a third of that and sixteen a tenth where it was
 * measured (docs/why/2026-11-28-bursts-keep-their-windows.md).
 *
 * populate.PP1  Only what will be written now is asked for, so a window holds what it would hold
 *     anyhow (the bound of docs/engine/segment.md, Giving back).
 * populate.PP2  Nothing depends on it: what is refused is touched by the copy. A kernel that does
 *     not know the call is asked once.
 *
 * Threads: whoever holds the queue's lock.
 */
#pragma once

#include "daemon/engine/core/budget.h"

/* It will hold its first `end` bytes. */
void populate_window(struct engine *e, const struct window_history *window, uint8_t *base,
                     uint64_t end);

/* Will the window hold more than the pages that are nobody's? They are not worth a call. */
static inline bool populate_is_worth(uint64_t bytes_at_most)
{
    return unlikely(bytes_at_most > BUDGET_FREE_PAGES * BUDGET_PAGE);
}
