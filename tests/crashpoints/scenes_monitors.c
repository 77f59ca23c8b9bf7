/* SPDX-License-Identifier: Apache-2.0 */
/* Monitors, of actors and of clients: begun, and told of ends; each end is told once, behind the
 * last words. */
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

/* ... and each time tries to spawn one before that cannot be: whose name is another's. */
static void setup_linked_taken(struct life *life)
{
    struct plan plan = { .act = ACT_SPAWN_TAKEN, .stop_at = 2 };
    actor_ref other;
    row_expect(0, 2, 0, 0);
    must("spawn", engine_actor_spawn(life->engine, cast_type[CAST_SINK], "taken", NULL, 0, &other));
    ledger->live[CAST_SINK]++;
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

/* A client has a row for each of what it sends to two that end with it, what they answer, and what
 * it is told of their ends; and one for the end of one that never was. */
enum { CLIENT_WORDS = 1, CLIENT_DOWNS = CLIENT_WORDS + 2 * WATCHER_ITEMS };
static void setup_client(struct life *life)
{
    actor_ref watched[WATCHER_ITEMS], never = actor_ref_make(400, 7);
    ledger->client[0].generation = 1;
    life_port_add(life, 0);
    for (uint32_t i = 0; i < WATCHER_ITEMS; i++) {
        row_expect(CLIENT_WORDS + i, 1, 0, 0);
        row_expect(CLIENT_WORDS + WATCHER_ITEMS + i, 1, ROW_CLIENT, 0);
    }
    for (uint32_t i = 0; i <= WATCHER_ITEMS; i++)
        row_expect(CLIENT_DOWNS + i, 1, ROW_CLIENT | ROW_DOWN, 0);
    watched[0] = cast_spawn(life->engine, CAST_MORTAL, 1, NULL, 0);
    watched[1] = cast_spawn(life->engine, CAST_FRAIL, 1, NULL, 0);
    life_quiesce(life);
    ledger->live[CAST_MORTAL]--;
    ledger->live[CAST_FRAIL]--;
    for (uint32_t i = 0; i < WATCHER_ITEMS; i++) {
        client_books(0, watched[i], CLIENT_DOWNS + i, 1, true);
        client_books(0, watched[i], CLIENT_WORDS + i, 1, false);
    }
    client_books(0, never, CLIENT_DOWNS + WATCHER_ITEMS, 1, true);
    while (client_post(life, 0)) {
    }
}

static void client_monitors(struct life *life)
{
    life_run_port(life, 0, 0);
}

static void setup_client_monitors(struct life *life)
{
    setup_client(life);
    client_monitors(life);
    timer_fire_due(life->engine, UINT64_MAX / 2); /* the first look */
}

static void setup_client_ended(struct life *life)
{
    setup_client_monitors(life);
    end(life);
}

static void tell_client(struct life *life)
{
    timer_fire_due(life->engine, UINT64_MAX / 2);
}

static void client_from_beginning_to_end(struct life *life)
{
    client_monitors(life);
    end(life);
    tell_client(life);
}

/* It gives up what it has begun, before the end, which it is not told of; nor is it refused, though
 * the record may be taken by two executors. */
static void setup_client_gives_up(struct life *life)
{
    actor_ref watched;
    ledger->client[0].generation = 1;
    life_port_add(life, 0);
    row_expect(CLIENT_WORDS, 1, 0, 0);
    row_expect(CLIENT_WORDS + WATCHER_ITEMS, 1, ROW_CLIENT, 0);
    row_expect(CLIENT_DOWNS, 0, ROW_CLIENT | ROW_DOWN, 0);
    row_expect(CLIENT_DOWNS + 1, 0, ROW_CLIENT | ROW_UNDO, 0);
    watched = cast_spawn(life->engine, CAST_MORTAL, 1, NULL, 0);
    life_quiesce(life);
    ledger->live[CAST_MORTAL]--;
    client_books(0, watched, CLIENT_DOWNS, 1, true);
    client_books(0, watched, CLIENT_DOWNS + 1, 1, true);
    client_books(0, watched, CLIENT_WORDS, 1, false);
    while (client_post(life, 0)) {
    }
}

/* Its monitors end with its port; whether it is told something before is nobody's business. */
static void setup_client_goes(struct life *life)
{
    setup_client_ended(life);
    for (uint32_t i = 0; i < WATCHER_ITEMS; i++)
        ledger->row[CLIENT_WORDS + WATCHER_ITEMS + i].flags |= ROW_PREFIX;
    for (uint32_t i = 0; i <= WATCHER_ITEMS; i++)
        ledger->row[CLIENT_DOWNS + i].flags |= ROW_PREFIX;
}

static void prepare_client_goes(struct life *life)
{
    ledger->client[0].closing = 1;
    must("remove", engine_port_remove(life->engine, 0, 1));
}

static void client_goes(struct life *life)
{
    life_run_port(life, 0, 0);
    timer_fire_due(life->engine, UINT64_MAX / 2);
    life_reap(life);
}

const struct scene scenes_monitors[] = {
    { "actors are monitored", setup_monitors, NULL, begin_monitors, 1, true, NULL, false },
    { "actors that are monitored end", setup_monitored, NULL, end, 1, true, NULL, false },
    { "ends are told", setup_ended, NULL, tell, 1, true, NULL, false },
    { "monitors from beginning to end", setup_monitors, NULL, end_unseen, 1, true, NULL, false },
    { "children cannot begin", setup_failing, NULL, fail_to_begin, 1, true, NULL, false },
    { "linked children are spawned", setup_linked, NULL, begin_monitors, 1, true, NULL, false },
    { "linked children, and some that cannot be", setup_linked_taken, NULL, spawn_and_end, 1, true,
      NULL, false },
    { "linked children end", setup_linked, NULL, spawn_and_end, 1, true, NULL, false },
    { "a client monitors", setup_client, NULL, client_monitors, 1, true, NULL, false },
    { "who a client monitors end", setup_client_monitors, NULL, end, 1, true, NULL, false },
    { "a client is told of ends", setup_client_ended, NULL, tell_client, 0, true, NULL, false },
    { "a client monitors from beginning to end", setup_client, NULL, client_from_beginning_to_end,
      1, true, NULL, false },
    { "a client gives a monitor up", setup_client_gives_up, NULL, client_from_beginning_to_end, 1,
      true, NULL, false },
    { "a client that monitors goes", setup_client_goes, prepare_client_goes, client_goes, 1, true,
      NULL, false },
    { .name = NULL },
};
