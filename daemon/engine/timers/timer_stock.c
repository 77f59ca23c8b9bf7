/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/timers/timer_stock.h"

#include <errno.h>

#include "daemon/engine/base/points.h"
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

static uint32_t *timer_stock_at(const struct timer_stock *stock, uint32_t nth)
{
    uint32_t at = stock->first + nth;
    return &stock->ring[at < stock->n_max ? at : at - stock->n_max];
}

void timer_stock_drop(struct timer_stock *stock, uint32_t number)
{
    uint32_t nth = stock->n;
    while (nth > 0 && *timer_stock_at(stock, nth - 1) != number)
        nth--;
    engine_check("timers.TM2", nth > 0); /* what is claimed is among the cancelled */
    if (nth == 0)
        return;
    for (; nth < stock->n; nth++)
        *timer_stock_at(stock, nth - 1) = *timer_stock_at(stock, nth);
    stock->n--;
}
