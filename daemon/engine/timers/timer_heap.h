/* SPDX-License-Identifier: Apache-2.0 */
/* Which timer is looked at next: a heap, in the process's own memory.
 *
 * Threads: under the mutex of the timers.
 *
 * timer_heap.TH1  No node is due before its parent, and place_of says where each timer's node is.
 */
#pragma once

#include <stdbool.h>

#include "daemon/engine/parts/timers.h"

/* Of `n_max` timers.  0, -ENOMEM. */
int timer_heap_open(struct timer_heap *heap, uint32_t n_max);
void timer_heap_close(struct timer_heap *heap, uint32_t n_max);
/* It has no node yet; there is room for each timer's. */
void timer_heap_add(struct timer_heap *heap, struct timer_node node);
/* If it has one. */
void timer_heap_remove(struct timer_heap *heap, uint32_t timer);
/* It is looked at then, and not when it was to be. */
void timer_heap_move(struct timer_heap *heap, uint32_t timer, uint64_t due_ns);
/* NULL: there is none. */
static inline const struct timer_node *timer_heap_first(const struct timer_heap *heap)
{
    return heap->n > 0 ? &heap->nodes[0] : NULL;
}
