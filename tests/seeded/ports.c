/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong visits of a port. */
#include "daemon/engine/base/futex.h"
#include "daemon/engine/commit/commit.h"
#include "daemon/engine/core/core.h"
#include "daemon/engine/segment/queue.h"
#include "tests/seeded/hooks.h"
#include "tests/seeded/seeds.h"

/* All of the batch is free, says the visible head, and whoever waits for room is woken. */
void seeded_at_port_attached(struct worker *w, struct port *port, uint64_t tail)
{
    if (!SEEDED(head_early))
        return;
    atomic_exchange_explicit(&port->executor_words->submission_head, tail, memory_order_seq_cst);
    full_barrier_after_exchange();
    uint32_t wait = load_relaxed(&port->client_words->room_wait);
    if (wait == port->room_woken || (wait & PORT_WAIT_KIND) == PORT_WAIT_NONE)
        return;
    port->room_woken = wait;
    atomic_fetch_add_explicit(&port->executor_words->room_futex, 1, memory_order_release);
    futex_wake_shared(&port->executor_words->room_futex);
    stat_add(w, STAT_client_wakeups, 1);
}

void seeded_at_port_direct(struct segment_queue *queue, uint64_t bytes)
{
    if (SEEDED(direct_early))
        queue_begin_batch(queue, bytes);
}

void seeded_at_port_later(struct worker *w)
{
    if (SEEDED(later_apart))
        commit_flip(w, w->batch.source, w->batch.cursor, w->batch.tail, w->outbox.length, 0, 0);
}

bool seeded_value_is_urgent(int *ret)
{
    *ret = 0;
    return SEEDED(urgent_direct);
}

bool seeded_skips_cold_fence(void)
{
    return SEEDED(cold_fence);
}

/* Which would be the fence that is missing. */
bool seeded_skips_visit_lock(void)
{
    return SEEDED(visit_fence);
}
