/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/core/populate.h"

#include <errno.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* since Linux 5.14 */
#endif

void populate_window(struct engine *e, const struct window_history *window, uint8_t *base,
                     uint64_t end)
{
    /* whole pages of the machine's are known; the call rounds the other end up to such a one */
    uint32_t known = load_relaxed(&window->charged) + budget_free_pages(e),
             pages = (uint32_t)((end + BUDGET_PAGE - 1) / BUDGET_PAGE);
    if (pages <= known || load_relaxed(&e->cannot_populate))
        return;
    if (madvise(base + (uint64_t)known * BUDGET_PAGE, (uint64_t)(pages - known) * BUDGET_PAGE,
                MADV_POPULATE_WRITE) < 0 &&
        errno == EINVAL)
        store_relaxed(&e->cannot_populate, true);
}
