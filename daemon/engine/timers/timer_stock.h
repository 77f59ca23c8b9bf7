/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that are free, first in, first out: so that a timer's number comes again late, and its
 * generations are spent evenly. Of timers so many are kept back as long as there are fresh ones
 * (`rests`): who arms one again and again would else alternate between two numbers, and the few
 * bits of a generation that a periodic timer's records carry (timer_tag()) come round soon.
 *
 * Threads: under the mutex of the timers.
 */
#pragma once

#include <stdbool.h>

#include "daemon/engine/parts/timers.h"

/* Of the numbers below `n_max`, all of which are fresh. 0, -ENOMEM. */
int timer_stock_open(struct timer_stock *stock, uint32_t n_max);
void timer_stock_close(struct timer_stock *stock);
/* A number that is there goes: it is looked for from the one that was put last. */
void timer_stock_drop(struct timer_stock *stock, uint32_t number);

static inline void timer_stock_put(struct timer_stock *stock, uint32_t number)
{
    uint32_t at = stock->first + stock->n++;
    stock->ring[at < stock->n_max ? at : at - stock->n_max] = number;
}
/* The one that was put first. False: there is none. */
static inline bool timer_stock_pop(struct timer_stock *stock, uint32_t *ret_number)
{
    if (stock->n == 0)
        return false;
    *ret_number = stock->ring[stock->first];
    stock->first = stock->first + 1 < stock->n_max ? stock->first + 1 : 0;
    stock->n--;
    return true;
}
/* Is one that was used taken next, and not one that never was? */
static inline bool timer_stock_takes_used(const struct timer_stock *stock)
{
    return stock->n > stock->rests || stock->fresh == stock->n_max;
}
/* The one that is taken next; n_max: there is none. */
static inline uint32_t timer_stock_next(const struct timer_stock *stock)
{
    return stock->n && timer_stock_takes_used(stock) ? stock->ring[stock->first] : stock->fresh;
}
static inline bool timer_stock_take(struct timer_stock *stock, uint32_t *ret_number)
{
    if (timer_stock_takes_used(stock))
        return timer_stock_pop(stock, ret_number);
    *ret_number = stock->fresh++;
    return true;
}
