/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/timers/timer_stock.h"

#include <errno.h>
#include <sys/mman.h>

int timer_stock_open(struct timer_stock *stock, uint32_t n_max)
{
    if (n_max == 0)
        return 0;
    void *at = mmap(NULL, (uint64_t)n_max * sizeof(*stock->ring), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return -ENOMEM;
    stock->ring = at;
    stock->n_max = n_max;
    return 0;
}

void timer_stock_close(struct timer_stock *stock)
{
    if (stock->ring)
        munmap(stock->ring, (uint64_t)stock->n_max * sizeof(*stock->ring));
    *stock = (struct timer_stock){ 0 };
}
