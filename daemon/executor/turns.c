/* SPDX-License-Identifier: Apache-2.0 */
/* See turns.h. */
#include "daemon/executor/turns.h"

#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "daemon/executor/executor.h"

static uint64_t turns_cpu_ns(void)
{
    struct timespec used;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * UINT64_C(1000000000) + (uint64_t)used.tv_nsec;
}

static void turns_end_piece(struct turns *turns, uint64_t now_ns)
{
    if (turns->piece && now_ns - turns->piece_ns >= turns->most_ns) {
        turns->most_ns = now_ns - turns->piece_ns;
        turns->most = turns->piece;
    }
    turns->piece = NULL;
}

void turns_begin_piece(struct executor *executor, const char *what)
{
    struct turns *turns = &executor->turns;
    uint64_t now_ns = turns_cpu_ns();

    turns_end_piece(turns, now_ns);
    turns->piece = what;
    turns->piece_ns = now_ns;
}

static void turns_publish(const struct executor *executor)
{
    struct stats_header *stats = executor->stats;

    if (!stats)
        return;
    snprintf(stats->control_turn_work, sizeof(stats->control_turn_work), "%s",
             executor->turns.most ? executor->turns.most : "");
    atomic_store_explicit(&stats->control_turn_longest_ns, executor->turns.longest_ns,
                          memory_order_relaxed);
}

/* The loop is about to look for something to do. The turn in which the executor became ready is
 * its start's. */
static void turns_on_prepare(uv_prepare_t *prepare)
{
    struct executor *executor = prepare->data;
    struct turns *turns = &executor->turns;
    uint64_t now_ns = turns_cpu_ns();

    turns_end_piece(turns, now_ns);
    if (turns->counts && now_ns - turns->begin_ns > turns->longest_ns) {
        turns->longest_ns = now_ns - turns->begin_ns;
        turns_publish(executor);
    } else if (!turns->counts && executor->state == EXECUTOR_RUNNING) {
        turns->counts = true;
        turns->most = NULL;
        turns_publish(executor);
    }
    turns->begin_ns = now_ns;
    turns->most_ns = 0;
    turns->most = NULL;
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
