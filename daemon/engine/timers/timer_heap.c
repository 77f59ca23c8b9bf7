/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/timers/timer_heap.h"

#include <errno.h>

#include "daemon/engine/base/points.h"
#include "daemon/engine/base/reserve.h"

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

static bool timer_heap_is_before(const struct timer_node *a, const struct timer_node *b)
{
    return a->due_ns < b->due_ns || (a->due_ns == b->due_ns && a->sequence < b->sequence);
}

static void timer_heap_put(struct timer_heap *heap, uint32_t at, struct timer_node node)
{
    heap->nodes[at] = node;
    heap->place_of[node.timer] = at + 1;
}

/* The node goes to `at`, or above it, or below it: where it belongs. */
static void timer_heap_settle(struct timer_heap *heap, uint32_t at, struct timer_node node)
{
    while (at > 0 && timer_heap_is_before(&node, &heap->nodes[(at - 1) / 2])) {
        timer_heap_put(heap, at, heap->nodes[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child + 1 < heap->n &&
            timer_heap_is_before(&heap->nodes[child + 1], &heap->nodes[child]))
            child++;
        if (child >= heap->n || !timer_heap_is_before(&heap->nodes[child], &node))
            break;
        timer_heap_put(heap, at, heap->nodes[child]);
        at = child;
    }
    timer_heap_put(heap, at, node);
}

void timer_heap_add(struct timer_heap *heap, struct timer_node node)
{
    timer_heap_settle(heap, heap->n++, node);
}

void timer_heap_remove(struct timer_heap *heap, uint32_t timer)
{
    if (heap->place_of[timer] == 0)
        return;
    uint32_t at = heap->place_of[timer] - 1;
    struct timer_node last = heap->nodes[--heap->n];
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
    timer_heap_settle(heap, at, node);
}
