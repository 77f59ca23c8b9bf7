/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/timers/timer_stock.h"

#include <errno.h>

#include "daemon/engine/base/reserve.h"

int timer_stock_open(struct timer_stock *stock, uint32_t n_max)
{
    if (n_max == 0)
        return 0;
    stock->ring = reserve((uint64_t)n_max * sizeof(*stock->ring));
    if (!stock->ring)
        return -ENOMEM;
    stock->n_max = n_max;
    return 0;
}

void timer_stock_close(struct timer_stock *stock)
{
    reserve_free(stock->ring, (uint64_t)stock->n_max * sizeof(*stock->ring));
    *stock = (struct timer_stock){ 0 };
}
