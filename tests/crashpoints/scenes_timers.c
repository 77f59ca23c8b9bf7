/* SPDX-License-Identifier: Apache-2.0 */
/* Timers: armed and cancelled in turns, sent by the control thread. */
#include "crash.h"
#include "daemon/engine/timers/timer_fire.h"

enum { ITEMS = 3 };

static void setup_timers(struct life *life)
{
    struct clock_plan plan = {
        .to = sink_make(life, 1), .row = 1, .cancelled_row = 2, .last = ITEMS
    };
    row_expect(0, ITEMS, 0, 0);
    row_expect(1, ITEMS, 0, 0);
    row_expect(2, 0, 0, 0);
    actor_ref clock = cast_spawn(life->engine, CAST_CLOCK, 0, &plan, sizeof(plan));
    life_quiesce(life);
    ledger->actor[0] = clock;
    cast_send(life->engine, clock, 0, ITEMS);
}

static void arm(struct life *life)
{
    life_run_queue(life, 0, 0);
}

/* They are armed, and none has been sent. */
static void setup_armed(struct life *life)
{
    setup_timers(life);
    arm(life);
}

static void fire(struct life *life)
{
    timer_fire_due(life->engine, UINT64_MAX / 2);
}

static void arm_and_fire(struct life *life)
{
    arm(life);
    fire(life);
    life_run_queue(life, 1, 1);
}

/* Nothing is armed yet: a kill before the first instruction ends no timer. */
static void setup_owner(struct life *life, enum cast_type type)
{
    struct owner_plan plan = { .to = sink_make(life, 1), .row = 1, .life_row = 2 };
    life_quiesce(life);
    actor_ref owner = cast_spawn(life->engine, type, 0, &plan, sizeof(plan));
    ledger->actor[0] = owner;
    cast_send(life->engine, owner, 0, ITEMS);
}

/* What its lives before have armed never comes, what the last one arms does: with its init, which
 * it has at once, and with the items that are left for it. */
static void setup_anew(struct life *life)
{
    row_expect(0, ITEMS, 0, 0);
    row_expect(1, ITEMS, ROW_MAY_SKIP | ROW_PREFIX, 0);
    row_expect(2, 1, 0, 0);
    setup_owner(life, CAST_ANEW);
}

/* It has ended, with its neighbours: nothing that it has armed comes, and what it has not consumed
 * is dead letters. */
static void setup_stops(struct life *life)
{
    row_expect(0, ITEMS, ROW_DEAD, 0);
    row_expect(1, 0, 0, 0);
    row_expect(2, 0, 0, 0);
    setup_owner(life, CAST_STOPS);
    ledger->live[CAST_STOPS] = 0;
}

/* Between others, for two receivers, one of which has ended. */
static void setup_later(struct life *life)
{
    ledger->client[0].generation = 1;
    life_port_add(life, 0);
    row_expect(0, ITEMS, 0, 0);
    row_expect(1, ITEMS, ROW_LATER, 40);
    row_expect(2, 1, ROW_LATER | ROW_REFUSED, 0);
    actor_ref to = sink_make(life, 0), later = sink_make(life, 1), gone = actor_ref_make(400, 7);
    life_quiesce(life);
    for (uint32_t i = 0; i < ITEMS; i++) {
        client_books(0, to, 0, 1, false);
        client_books(0, later, 1, 1, i % 2);
    }
    client_books(0, gone, 2, 1, true);
    while (client_post(life, 0)) {
    }
}

static void take_later(struct life *life)
{
    life_run_port(life, 0, 0);
}

/* They are timers, and none has been sent. */
static void setup_taken(struct life *life)
{
    setup_later(life);
    take_later(life);
}

/* Their receiver ends before they are due: the client is told then. */
static void setup_nobody(struct life *life)
{
    struct plan plan = { .stop_at = 1 };
    ledger->client[0].generation = 1;
    life_port_add(life, 0);
    row_expect(0, 1, 0, 0);
    row_expect(1, ITEMS, ROW_LATER | ROW_REFUSED, 40);
    actor_ref to = relay_make(life, 1, &plan);
    life_quiesce(life);
    client_books(0, to, 1, ITEMS, true);
    while (client_post(life, 0)) {
    }
    take_later(life);
    ledger->live[CAST_RELAY]--;
    cast_send(life->engine, to, 0, 1);
    life_run_queue(life, 1, 1);
}

/* So does the client, before that: they are dead letters. */
static void setup_nobody_at_all(struct life *life)
{
    setup_nobody(life);
    ledger->row[1].flags = ROW_LATER | ROW_DEAD;
    ledger->client[0].closing = 1;
    must("remove", engine_port_remove(life->engine, 0, 1));
    while (ledger->client[0].open) {
        life_run_port(life, 0, 0);
        life_reap(life);
    }
}

const struct scene scenes_timers[] = {
    { "timers are armed and cancelled", setup_timers, NULL, arm, 1, true, NULL, false },
    { "timers are sent", setup_armed, NULL, fire, 0, true, NULL, false },
    { "timers from beginning to end", setup_timers, NULL, arm_and_fire, 1, true, NULL, false },
    { "timers of who begins anew", setup_anew, NULL, arm, 1, true, NULL, false },
    { "timers of who stops", setup_stops, NULL, arm, 1, true, NULL, false },
    { "posts for later", setup_later, NULL, take_later, 1, true, NULL, false },
    { "posts for later are sent", setup_taken, NULL, fire, 0, true, NULL, false },
    { "posts for later find nobody", setup_nobody, NULL, fire, 0, true, NULL, false },
    { "posts for later are nobody's any more", setup_nobody_at_all, NULL, fire, 0, true, NULL,
      false },
    { .name = NULL },
};
