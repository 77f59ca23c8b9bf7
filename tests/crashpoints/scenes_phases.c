/* SPDX-License-Identifier: Apache-2.0 */
/* Phases: an actor that is in another one with each message; and one that puts messages off. */
#include "crash.h"
#include "daemon/engine/core/core.h"
#include "daemon/engine/timers/timer_fire.h"

enum { ITEMS = 4 };

static void setup_moods(struct life *life)
{
    row_expect(0, ITEMS, 0, 0);
    actor_ref moody = cast_spawn(life->engine, CAST_MOODY, 0, NULL, 0);
    life_quiesce(life);
    cast_send(life->engine, moody, 0, ITEMS);
}

static void run_moods(struct life *life)
{
    life_run_queue(life, 0, 0);
}

/* One is in the first phase, of which its slot says nothing so far, one in another; and then a
 * plugin is loaded whose first phase has another name. */
static void setup_renamed(struct life *life)
{
    row_expect(0, ITEMS, 0, 0);
    row_expect(1, ITEMS, 0, 0);
    actor_ref calm = cast_spawn(life->engine, CAST_MOODY, 0, NULL, 0),
              cross = cast_spawn(life->engine, CAST_MOODY, 0, NULL, 0);
    cast_send(life->engine, cross, 1, 1);
    life_quiesce(life);
    cast_send(life->engine, calm, 0, ITEMS);
    cast_send(life->engine, cross, 1, ITEMS - 1);
}

/* Each process behind this one has the new plugin, wherever this one is killed. */
static void prepare_renamed(struct life *life)
{
    ledger->renamed = 1;
    store_relaxed(&life->engine->types.known[cast_type[CAST_MOODY]], NULL);
}

static void rename_first(struct life *life)
{
    cast_register_one(life->engine, CAST_MOODY);
    run_moods(life);
}

/* Those of row 0 are noted in their order, which is what shows that those that were put off come
 * before those that wait. */
static void setup_porter(struct life *life)
{
    struct plan plan = { 0 };
    row_expect(0, 6, 0, 0);
    row_expect(PORTER_ROW, 3, 0, 0);
    actor_ref porter = cast_spawn(life->engine, CAST_PORTER, 0, &plan, sizeof(plan));
    life_quiesce(life);
    cast_send(life->engine, porter, 0, 2);
    cast_send(life->engine, porter, PORTER_ROW, 1);
    cast_send(life->engine, porter, 0, 1);
    cast_send(life->engine, porter, PORTER_ROW, 1);
    cast_send(life->engine, porter, 0, 2);
    cast_send(life->engine, porter, PORTER_ROW, 1);
    cast_send(life->engine, porter, 0, 1);
}

/* It ends with two that it has put off. */
static void setup_leaving(struct life *life)
{
    struct plan plan = { .stop_at = 1 };
    row_expect(0, 2, ROW_DEAD, 0);
    row_expect(PORTER_ROW, 1, 0, 0);
    actor_ref porter = cast_spawn(life->engine, CAST_PORTER, 0, &plan, sizeof(plan));
    life_quiesce(life);
    ledger->live[CAST_PORTER]--;
    cast_send(life->engine, porter, 0, 2);
    cast_send(life->engine, porter, PORTER_ROW, 1);
}

static void setup_left(struct life *life)
{
    setup_leaving(life);
    run_moods(life);
}

static void end_stash(struct life *life)
{
    timer_fire_due(life->engine, UINT64_MAX / 2);
}

static void leave(struct life *life)
{
    run_moods(life);
    end_stash(life);
}

const struct scene scenes_phases[] = {
    { "phases change", setup_moods, NULL, run_moods, 1, true, NULL, false },
    { "the first phase has another name", setup_renamed, prepare_renamed, rename_first, 1, true,
      NULL, false },
    { "messages are stashed", setup_porter, NULL, run_moods, 1, true, NULL, false },
    { "a stash ends", setup_left, NULL, end_stash, 0, true, NULL, false },
    { "a stash from beginning to end", setup_leaving, NULL, leave, 1, true, NULL, false },
    { .name = NULL },
};
