/* SPDX-License-Identifier: Apache-2.0 */
/* See turns.h. */
#include "daemon/executor/turns.h"

#include <stdatomic.h>
#include <stdio.h>

#include "daemon/executor/executor.h"

void turns_begin_piece(struct executor *executor, const char *what)
{
    turn_count_piece(&executor->turns.count, what);
}

static void turns_publish(const struct executor *executor)
{
    const struct turn_count *count = &executor->turns.count;
    struct stats_header *stats = executor->stats;

    if (!stats)
        return;
    snprintf(stats->control_turn_work, sizeof(stats->control_turn_work), "%s",
             count->longest_work ? count->longest_work : "");
    atomic_store_explicit(&stats->control_turn_longest_ns, count->longest_ns, memory_order_relaxed);
}

/* The turn in which the executor became ready is its start's. */
static void turns_on_prepare(uv_prepare_t *prepare)
{
    struct executor *executor = prepare->data;
    struct turn_count *count = &executor->turns.count;

    if (turn_count_end(count)) {
        turns_publish(executor);
    } else if (!count->counts && executor->state == EXECUTOR_RUNNING) {
        count->counts = true;
        turns_publish(executor);
    }
}

void turns_start(struct executor *executor)
{
    uv_prepare_init(&executor->loop, &executor->turns.prepare);
    executor->turns.prepare.data = executor;
    uv_prepare_start(&executor->turns.prepare, turns_on_prepare);
    uv_unref((uv_handle_t *)&executor->turns.prepare);
}

void turns_stop(struct executor *executor)
{
    uv_close((uv_handle_t *)&executor->turns.prepare, NULL);
}
