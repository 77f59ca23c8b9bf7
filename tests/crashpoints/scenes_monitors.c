/* SPDX-License-Identifier: Apache-2.0 */
/* Monitors: begun, and told of ends; each end is told once, behind the last words. */
#include "crash.h"
#include "daemon/engine/timers/timer_fire.h"

/* The watcher is in queue 0, those who end in queue 1. */
static void setup_monitors(struct life *life)
{
    struct watcher_plan plan = { .row = 1, .down_row = 1 + 2 * WATCHER_ITEMS };
    row_expect(0, WATCHER_ITEMS, 0, 0);
    for (uint32_t row = 1; row < plan.down_row; row++)
        row_expect(row, 1, 0, 0);
    row_expect(plan.down_row, WATCHER_ITEMS, 0, 0);
    plan.watched[0] = cast_spawn(life->engine, CAST_MORTAL, 1, NULL, 0);
    plan.watched[1] = cast_spawn(life->engine, CAST_FRAIL, 1, NULL, 0);
    actor_ref watcher = cast_spawn(life->engine, CAST_WATCHER, 0, &plan, sizeof(plan));
    life_quiesce(life);
    ledger->live[CAST_MORTAL]--;
    ledger->live[CAST_FRAIL]--;
    cast_send(life->engine, watcher, 0, WATCHER_ITEMS);
}

/* Who has spawned those is told without a monitor (monitor.MO2). */
static void setup_failing(struct life *life)
{
    struct watcher_plan plan = { .down_row = 1 };
    row_expect(0, WATCHER_ITEMS, 0, 0);
    row_expect(plan.down_row, WATCHER_ITEMS, 0, 0);
    actor_ref watcher = cast_spawn(life->engine, CAST_WATCHER, 0, &plan, sizeof(plan));
    life_quiesce(life);
    cast_send(life->engine, watcher, 0, WATCHER_ITEMS);
}

static void fail_to_begin(struct life *life)
{
    life_run_ready(life);
}

static void begin_monitors(struct life *life)
{
    life_run_queue(life, 0, 0);
}

static void setup_monitored(struct life *life)
{
    setup_monitors(life);
    begin_monitors(life);
    timer_fire_due(life->engine, UINT64_MAX / 2); /* the first look */
}

static void end(struct life *life)
{
    life_run_queue(life, 1, 1);
}

static void setup_ended(struct life *life)
{
    setup_monitored(life);
    end(life);
}

static void tell(struct life *life)
{
    timer_fire_due(life->engine, UINT64_MAX / 2);
    life_run_queue(life, 0, 0);
}

static void end_unseen(struct life *life)
{
    begin_monitors(life);
    end(life);
    tell(life);
}

/* The parent does not keep its state: where it begins anew, its children end with recovery, else
 * with it. */
static void setup_linked(struct life *life)
{
    struct plan plan = { .act = ACT_SPAWN_LINKED, .stop_at = 2 };
    row_expect(0, 2, 0, 0);
    actor_ref parent = relay_make(life, 0, &plan);
    life_quiesce(life);
    ledger->live[CAST_RELAY]--;
    cast_send(life->engine, parent, 0, 2);
}

static void spawn_and_end(struct life *life)
{
    begin_monitors(life);
    timer_fire_due(life->engine, UINT64_MAX / 2);
    life_run_ready(life);
}

const struct scene scenes_monitors[] = {
    { "actors are monitored", setup_monitors, NULL, begin_monitors, 1, true, NULL, false },
    { "actors that are monitored end", setup_monitored, NULL, end, 1, true, NULL, false },
    { "ends are told", setup_ended, NULL, tell, 1, true, NULL, false },
    { "monitors from beginning to end", setup_monitors, NULL, end_unseen, 1, true, NULL, false },
    { "children cannot begin", setup_failing, NULL, fail_to_begin, 1, true, NULL, false },
    { "linked children are spawned", setup_linked, NULL, begin_monitors, 1, true, NULL, false },
    { "linked children end", setup_linked, NULL, spawn_and_end, 1, true, NULL, false },
    { .name = NULL },
};
