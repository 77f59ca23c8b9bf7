/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/timers/timer_heap.h"

#include <errno.h>

#include "daemon/engine/base/points.h"
#include "daemon/engine/base/reserve.h"

/* The place of a node is looked up and stored for each that moves: a flat heap moves few, and the
 * children of one are beside each other. */
enum { HEAP_CHILDREN = 4 };

int timer_heap_open(struct timer_heap *heap, uint32_t n_max)
{
    if (n_max == 0)
        return 0;
    heap->nodes = reserve((uint64_t)n_max * sizeof(*heap->nodes));
    heap->place_of = reserve((uint64_t)n_max * sizeof(*heap->place_of));
    return heap->nodes && heap->place_of ? 0 : -ENOMEM;
}

void timer_heap_close(struct timer_heap *heap, uint32_t n_max)
{
    reserve_free(heap->nodes, (uint64_t)n_max * sizeof(*heap->nodes));
    reserve_free(heap->place_of, (uint64_t)n_max * sizeof(*heap->place_of));
    *heap = (struct timer_heap){ 0 };
}

static inline bool timer_heap_is_before(const struct timer_node *a, const struct timer_node *b)
{
    return a->due_ns < b->due_ns || (a->due_ns == b->due_ns && a->sequence < b->sequence);
}

static inline void timer_heap_put(struct timer_heap *heap, uint32_t at,
                                  const struct timer_node *node)
{
    heap->nodes[at] = *node;
    heap->place_of[node->timer] = at + 1;
}

/* Whom the node at `at` is to be before goes down by one each; where that ends. */
static inline uint32_t timer_heap_rise(struct timer_heap *heap, uint32_t at,
                                       const struct timer_node *node)
{
    while (at > 0) {
        uint32_t parent = (at - 1) / HEAP_CHILDREN;
        if (!timer_heap_is_before(node, &heap->nodes[parent]))
            break;
        timer_heap_put(heap, at, &heap->nodes[parent]);
        at = parent;
    }
    return at;
}

static inline uint32_t timer_heap_sink(struct timer_heap *heap, uint32_t at,
                                       const struct timer_node *node)
{
    uint32_t child;
    while ((child = HEAP_CHILDREN * at + 1) < heap->n) {
        uint32_t behind = heap->n - child < HEAP_CHILDREN ? heap->n : child + HEAP_CHILDREN,
                 first = child;
        while (++child < behind)
            if (timer_heap_is_before(&heap->nodes[child], &heap->nodes[first]))
                first = child;
        if (!timer_heap_is_before(&heap->nodes[first], node))
            break;
        timer_heap_put(heap, at, &heap->nodes[first]);
        at = first;
    }
    return at;
}

/* The node goes to `at`, or above it, or below it: where it belongs. */
static void timer_heap_settle(struct timer_heap *heap, uint32_t at, const struct timer_node *node)
{
    uint32_t above = timer_heap_rise(heap, at, node);
    timer_heap_put(heap, above == at ? timer_heap_sink(heap, at, node) : above, node);
}

void timer_heap_add(struct timer_heap *heap, struct timer_node node)
{
    timer_heap_put(heap, timer_heap_rise(heap, heap->n++, &node), &node);
}

void timer_heap_remove(struct timer_heap *heap, uint32_t timer)
{
    if (heap->place_of[timer] == 0)
        return;
    uint32_t at = heap->place_of[timer] - 1;
    const struct timer_node *last = &heap->nodes[--heap->n];
    heap->place_of[timer] = 0;
    if (at < heap->n)
        timer_heap_settle(heap, at, last);
}

void timer_heap_move(struct timer_heap *heap, uint32_t timer, uint64_t due_ns)
{
    engine_check("timer_heap.TH1", heap->place_of[timer] != 0);
    uint32_t at = heap->place_of[timer] - 1;
    struct timer_node node = heap->nodes[at];
    node.due_ns = due_ns;
    timer_heap_settle(heap, at, &node);
}
