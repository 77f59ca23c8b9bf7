/* SPDX-License-Identifier: Apache-2.0 */
/* Turns: gulp, tail append, the outbox and its flush, spawn and stop, park, steal, release. Worker
 * 0 has queues 0 and 1, worker 1 has 2 and 3. */
#include <string.h>

#include "crash.h"
#include "daemon/engine/core/core.h"
#include "daemon/engine/parts/actors.h"

/* What waits first in the scene that is set up has a trace's id. */
static bool traced;

/* Everybody has begun, nothing is under way; then these items wait in the first actor's queue. */
static void settle_and_send(struct life *life, actor_ref to, uint32_t row, uint32_t n)
{
    life_quiesce(life);
    ledger->actor[0] = to;
    if (traced)
        cast_send_traced(life->engine, to, row, n);
    else
        cast_send(life->engine, to, row, n);
}

static void run_queue_0(struct life *life)
{
    life_run_queue(life, 0, 0);
}

static void run_all(struct life *life)
{
    while (life_run_ready(life)) {
    }
}

/* ---- gulp, turns, release ---- */

static void setup_plain(struct life *life)
{
    row_expect(0, 4, 0, 0);
    row_expect(1, 3, 0, 100);
    actor_ref a = sink_make(life, 0), b = sink_make(life, 0);
    settle_and_send(life, a, 0, 2);
    cast_send(life->engine, b, 1, 3);
    cast_send(life->engine, a, 0, 2);
}

/* ---- sends to other queues: the flush, step by step ---- */

static void setup_sends(struct life *life)
{
    struct plan plan = { .act = ACT_SEND };
    row_expect(0, 3, 0, 0);
    for (uint32_t row = 1; row <= 5; row++)
        row_expect(row, 3, 0, row == 4 ? 60 : 0);
    static const uint32_t queue_of[] = { 0, 1, 2, 3, 1, 2 };
    for (uint32_t row = 1; row <= 5; row++)
        plan_out(&plan, sink_make(life, queue_of[row]), row);
    settle_and_send(life, relay_make(life, 0, &plan), 0, 3);
}

/* What it sends to one that has ended are dead letters; what it sends to another comes. */
static void setup_sends_to_nobody(struct life *life)
{
    struct plan plan = { .act = ACT_SEND }, its = { .stop_at = 1 };
    row_expect(0, 3, 0, 0);
    row_expect(1, 3, ROW_DEAD, 20);
    row_expect(2, 3, 0, 0);
    row_expect(3, 1, 0, 0);
    actor_ref ended = relay_make(life, 2, &its);
    plan_out(&plan, ended, 1);
    plan_out(&plan, sink_make(life, 2), 2);
    actor_ref relay = relay_make(life, 0, &plan);
    life_quiesce(life);
    cast_send(life->engine, ended, 3, 1);
    ledger->live[CAST_RELAY]--;
    settle_and_send(life, relay, 0, 3);
}

/* ---- tail append, and the end of it once the queue has gone to the outbox ---- */

static void setup_tail(struct life *life)
{
    row_expect(0, 3, 0, 0);
    row_expect(1, 3, 0, 0);
    row_expect(2, 3, 0, 16);
    row_expect(3, 3, 0, 0);
    struct plan second = { .act = ACT_SEND };
    plan_out(&second, sink_make(life, 0), 2);
    plan_out(&second, sink_make(life, 1), 3);
    struct plan first = { .act = ACT_SEND };
    plan_out(&first, relay_make(life, 0, &second), 1);
    settle_and_send(life, relay_make(life, 0, &first), 0, 3);
}

/* ---- a batch in two pieces ---- */

static void setup_wrap(struct life *life)
{
    row_expect(0, 8, 0, 700);
    row_expect(1, 8, 0, 700);
    row_expect(2, 8, 0, 300);
    struct plan second = { .act = ACT_SEND };
    plan_out(&second, sink_make(life, 0), 2);
    struct plan first = { .act = ACT_SEND };
    plan_out(&first, relay_make(life, 0, &second), 1);
    settle_and_send(life, relay_make(life, 0, &first), 0, 8);
}

/* ---- a flush in the middle of a batch ---- */

static void setup_flush(struct life *life)
{
    struct plan plan = { .act = ACT_SEND };
    actor_ref sinks[2] = { sink_make(life, 1), sink_make(life, 2) };
    row_expect(0, 5, 0, 0);
    for (uint32_t row = 1; row <= PLAN_OUTS; row++) {
        row_expect(row, 5, 0, 600); /* more than 16 KiB with the fourth item */
        plan_out(&plan, sinks[row % 2], row);
    }
    settle_and_send(life, relay_make(life, 0, &plan), 0, 5);
}

/* ---- spawns and ends ---- */

static void spawn_scene(struct life *life, enum plan_act act, uint32_t n)
{
    bool fails = act == ACT_SPAWN_FAILING;
    row_expect(0, n, 0, 0);
    row_expect(1, fails ? 0 : n, 0, 0);        /* what guests say */
    row_expect(2, n, fails ? ROW_DEAD : 0, 0); /* what guests are told */
    row_expect(3, act == ACT_SPAWN_TALK ? n : 0, 0, 0);
    struct plan plan = { .act = act };
    plan_out(&plan, sink_make(life, 2), 1);
    plan_out(&plan, 0, 2);
    plan_out(&plan, sink_make(life, 1), 3);
    settle_and_send(life, relay_make(life, 0, &plan), 0, n);
}

static void setup_spawn(struct life *life)
{
    spawn_scene(life, ACT_SPAWN, 3);
}

static void setup_spawn_named(struct life *life)
{
    spawn_scene(life, ACT_SPAWN_NAMED, 2);
}

static void setup_spawn_talk(struct life *life)
{
    spawn_scene(life, ACT_SPAWN_TALK, 3);
}

static void setup_spawn_failing(struct life *life)
{
    spawn_scene(life, ACT_SPAWN_FAILING, 2);
}

/* Brief lives, once as many have ended as wait behind each other for their slots (brief.h). */
static void setup_spawn_brief(struct life *life)
{
    struct plan plan = { .act = ACT_SPAWN_BRIEF };
    row_expect(0, SLOT_RING + 4, 0, 0);
    row_expect(2, SLOT_RING + 4, 0, 0);
    plan_out(&plan, 0, 0);
    plan_out(&plan, 0, 2);
    actor_ref relay = relay_make(life, 0, &plan);
    life_quiesce(life);
    cast_send(life->engine, relay, 0, SLOT_RING);
    run_all(life);
    settle_and_send(life, relay, 0, 4);
}

static void setup_spawn_kept(struct life *life)
{
    spawn_scene(life, ACT_SPAWN_KEPT, 3);
}

/* States that are kept: one sends to the other, and both elsewhere; the second ends with its last
 * item. */
static void setup_kept(struct life *life)
{
    struct plan second = { .act = ACT_SEND, .stop_at = 3 }, first = { .act = ACT_SEND };
    row_expect(0, 3, 0, 0);
    row_expect(1, 3, 0, 0);
    row_expect(2, 3, 0, 20);
    row_expect(3, 3, 0, 0);
    row_expect(4, 3, 0, 0);
    plan_out(&second, sink_make(life, 2), 2);
    plan_out(&second, sink_make(life, 1), 3);
    actor_ref its_second = cast_spawn(life->engine, CAST_KEPT, 0, &second, sizeof(second));
    plan_out(&first, its_second, 1);
    plan_out(&first, sink_make(life, 2), 4);
    settle_and_send(life, cast_spawn(life->engine, CAST_KEPT, 0, &first, sizeof(first)), 0, 3);
    ledger->live[CAST_KEPT]--;
}

/* A kill while it hangs: the rest of the batch, with what the relay before it has sent behind it,
 * is run before it is tried again. */
static void setup_hung(struct life *life)
{
    struct plan plan = { .act = ACT_SEND };
    actor_ref sink = sink_make(life, 0), hung = cast_spawn(life->engine, CAST_HUNG, 0, NULL, 0);
    row_expect(0, 1, 0, 0);
    row_expect(1, 3, 0, 0);
    row_expect(2, 2, 0, 100);
    row_expect(3, 1, 0, 0);
    row_expect(4, 1, 0, 60);
    row_expect(5, 1, 0, 0);
    plan_out(&plan, sink, 4);
    plan_out(&plan, sink, 3);
    plan_out(&plan, sink_make(life, 2), 5);
    actor_ref relay = relay_make(life, 0, &plan);
    life_quiesce(life);
    ledger->attempts_max = 1;
    cast_send(life->engine, relay, 0, 1);
    cast_send(life->engine, hung, 1, 1);
    cast_send(life->engine, sink, 2, 1);
    cast_send(life->engine, hung, 1, 2);
    cast_send(life->engine, sink, 2, 1);
}

/* An actor ends in the middle of its messages: what comes behind is dead. */
static void setup_stop(struct life *life)
{
    row_expect(0, 5, ROW_DEAD, 0);
    row_expect(1, 3, 0, 0);
    struct plan plan = { .act = ACT_SEND, .stop_at = 3 };
    plan_out(&plan, sink_make(life, 2), 1);
    settle_and_send(life, relay_make(life, 0, &plan), 0, 5);
    ledger->live[CAST_RELAY]--;
}

/* Actors of types in quarantine end by a stop alone: one that keeps its state, one that has never
 * begun. What comes before it and behind is dead. */
static void setup_stop_unrun(struct life *life)
{
    struct plan plan = { .act = ACT_SEND };
    actor_ref ends[2] = { cast_spawn(life->engine, CAST_KEPT, 0, &plan, sizeof(plan)) };
    life_quiesce(life);
    store_relaxed(&life->engine->segment.actor_types[cast_type[CAST_KEPT]].quarantined, 1);
    store_relaxed(&life->engine->segment.actor_types[cast_type[CAST_RELAY]].quarantined, 1);
    ends[1] = relay_make(life, 0, &plan);
    life_quiesce(life);
    for (uint32_t row = 0; row < 2; row++) {
        row_expect(row, 2, ROW_DEAD, 0);
        cast_send(life->engine, ends[row], row, 1);
        must("stop",
             engine_actor_send(life->engine, ends[row], MESSAGE_TYPE_POISON_DELETE, NULL, 0));
        cast_send(life->engine, ends[row], row, 1);
    }
    ledger->live[CAST_KEPT]--;
    ledger->live[CAST_RELAY]--;
}

/* The same, with nobody known to be quick: sends are carried out behind each item and before it. */
static void setup_strange_sends(struct life *life)
{
    setup_sends(life);
    ledger->strange = 1;
}

static void setup_strange_spawn(struct life *life)
{
    setup_spawn(life);
    ledger->strange = 1;
}

static void setup_strange_kept(struct life *life)
{
    setup_kept(life);
    ledger->strange = 1;
}

static void setup_strange_stop(struct life *life)
{
    setup_stop(life);
    ledger->strange = 1;
}

/* Each item of the batch makes urgent ones: for others of the same queue, which are run in its
 * middle, for a kept state, and elsewhere. */
static void setup_urgent(struct life *life)
{
    struct plan plan = { .act = ACT_SEND }, its = { .act = ACT_SEND };
    row_expect(0, 4, 0, 0);
    row_expect(1, 4, ROW_URGENT, 40);
    row_expect(2, 4, ROW_URGENT, 0);
    row_expect(3, 4, ROW_URGENT, 0);
    row_expect(4, 4, 0, 0);
    row_expect(5, 4, 0, 0);
    plan_out(&its, sink_make(life, 1), 5);
    plan_out(&plan, sink_make(life, 0), 1);
    plan_out(&plan, cast_spawn(life->engine, CAST_KEPT, 0, &its, sizeof(its)), 2);
    plan_out(&plan, sink_make(life, 2), 3);
    plan_out(&plan, plan.out[0].to, 4);
    settle_and_send(life, relay_make(life, 0, &plan), 0, 4);
}

/* ---- a batch set aside, and taken over ---- */

static void run_by_two(struct life *life)
{
    engine_set_throughput(life->engine, 2);
    life_run_queue(life, 0, 0);
    life_run_queue(life, 0, 1);
    life_run_queue(life, 0, 0);
}

static void run_two(struct life *life)
{
    engine_set_throughput(life->engine, 2);
    life_run_queue(life, 0, 0);
}

/* ---- giving memory back ---- */

enum { RUNS = 15 };

static void setup_reclaim(struct life *life)
{
    row_expect(0, RUNS + 1, ROW_PREFIX, 0);
    row_expect(1, 1, 0, 30000);
    actor_ref to = sink_make(life, 0);
    settle_and_send(life, to, 1, 1);
    life_quiesce(life); /* one large window once, then small ones */
}

static void prepare_reclaim(struct life *life)
{
    for (uint32_t i = 0; i < RUNS; i++) {
        cast_send(life->engine, ledger->actor[0], 0, 1);
        run_queue_0(life);
    }
    cast_send(life->engine, ledger->actor[0], 0, 1);
}

/* ---- the same with a trace's id ---- */

static void setup_with_a_trace(struct life *life, void (*setup)(struct life *))
{
    traced = true;
    setup(life);
    traced = false;
}

static void setup_traced_sends(struct life *life)
{
    setup_with_a_trace(life, setup_sends);
}

static void setup_traced_tail(struct life *life)
{
    setup_with_a_trace(life, setup_tail);
}

static void setup_traced_spawn(struct life *life)
{
    setup_with_a_trace(life, setup_spawn);
}

static void setup_traced_kept(struct life *life)
{
    setup_with_a_trace(life, setup_kept);
}

/* ---- the control thread sends and spawns ---- */

static void setup_control(struct life *life)
{
    row_expect(0, 3, ROW_PREFIX, 40);
    row_expect(1, 2, ROW_PREFIX, 0);
    struct plan plan = { .act = ACT_SEND };
    plan_out(&plan, sink_make(life, 2), 1);
    settle_and_send(life, sink_make(life, 0), 0, 1);
    ledger->actor[1] = plan.out[0].to;
    ledger->live_more[CAST_GUEST] = 2;
}

static void control_spawns(struct life *life)
{
    struct engine *e = life->engine;
    actor_ref guest;
    struct plan plan = { .act = ACT_SEND };
    plan_out(&plan, ledger->actor[1], 1);
    cast_send(e, ledger->actor[0], 0, 2);
    must("spawn",
         engine_actor_spawn(e, cast_type[CAST_GUEST], "named", &plan, sizeof(plan), &guest));
    must("spawn", engine_actor_spawn(e, cast_type[CAST_GUEST], NULL, &plan, sizeof(plan), &guest));
}

const struct scene scenes_turn[] = {
    { "turns", setup_plain, NULL, run_queue_0, 1, true, NULL, false },
    { "sends to other queues", setup_sends, NULL, run_queue_0, 1, true, NULL, false },
    { "sends to who has ended", setup_sends_to_nobody, NULL, run_queue_0, 1, true, NULL, false },
    { "tail appends", setup_tail, NULL, run_queue_0, 1, true, NULL, false },
    { "a batch in two pieces", setup_wrap, NULL, run_queue_0, 1, true, NULL, false },
    { "a flush in mid-batch", setup_flush, NULL, run_queue_0, 1, false, NULL, false },
    { "spawn and end", setup_spawn, NULL, run_all, 1, true, NULL, false },
    { "named spawn and end", setup_spawn_named, NULL, run_all, 1, true, NULL, false },
    { "spawn, and another send first", setup_spawn_talk, NULL, run_all, 1, true, NULL, false },
    { "spawn with an init that fails", setup_spawn_failing, NULL, run_all, 1, true, NULL, false },
    { "spawn and end, brief", setup_spawn_brief, NULL, run_all, 1, true, NULL, false },
    { "spawn and end, kept", setup_spawn_kept, NULL, run_all, 1, true, NULL, false },
    { "kept states", setup_kept, NULL, run_queue_0, 1, true, NULL, false },
    { "a handler hangs", setup_hung, NULL, run_queue_0, 1, true, NULL, false },
    { "stop", setup_stop, NULL, run_queue_0, 1, true, NULL, false },
    { "stop in quarantine", setup_stop_unrun, NULL, run_queue_0, 1, true, NULL, false },
    { "strangers send", setup_strange_sends, NULL, run_queue_0, 1, true, NULL, false },
    { "strangers spawn and end", setup_strange_spawn, NULL, run_all, 1, true, NULL, false },
    { "strangers' kept states", setup_strange_kept, NULL, run_queue_0, 1, true, NULL, false },
    { "strangers stop", setup_strange_stop, NULL, run_queue_0, 1, true, NULL, false },
    { "urgent messages", setup_urgent, NULL, run_queue_0, 1, true, NULL, false },
    { "urgent messages, parked", setup_urgent, NULL, run_by_two, 1, false, NULL, false },
    { "park", setup_sends, NULL, run_two, 1, true, NULL, false },
    { "park and steal", setup_wrap, NULL, run_by_two, 1, true, NULL, false },
    { "reclaim", setup_reclaim, prepare_reclaim, run_queue_0, 1, true, NULL, false },
    { "traced sends to other queues", setup_traced_sends, NULL, run_queue_0, 1, true, NULL, false },
    { "traced sends to the own queue", setup_traced_tail, NULL, run_queue_0, 1, true, NULL, false },
    { "traced spawn and end", setup_traced_spawn, NULL, run_all, 1, true, NULL, false },
    { "traced kept states", setup_traced_kept, NULL, run_queue_0, 1, true, NULL, false },
    { "control thread: send and spawn", setup_control, NULL, control_spawns, 1, true, NULL, false },
    { .name = NULL },
};
