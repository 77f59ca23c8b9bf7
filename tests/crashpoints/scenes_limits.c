/* SPDX-License-Identifier: Apache-2.0 */
/* What is too much: full queues with each policy, full dead letters. */
#include "crash.h"
#include "daemon/engine/core/budget.h"

enum { FULL = 52 }; /* items of 632 bytes: just above 32 KB */

static void run_queue(struct life *life)
{
    life_run_queue(life, 0, 0);
}

static void run_queue_1(struct life *life)
{
    life_run_queue(life, 1, 0);
}

static void run_port(struct life *life)
{
    life_run_port(life, 0, 0);
}

static actor_ref full_make(struct life *life, enum cast_type type)
{
    actor_ref full = cast_spawn(life->engine, type, 0, NULL, 0);
    row_expect(0, FULL, 0, 600);
    life_quiesce(life);
    return full;
}

/* What has waited longest goes; of the sink in the same queue nothing does. */
static void setup_oldest(struct life *life)
{
    enum { N = 70, BYTES = 632, KEPT = 32768 / BYTES - 1 };
    actor_ref sink = sink_make(life, 0), oldest = full_make(life, CAST_OLDEST);
    row_expect(0, N, ROW_MAY_SKIP, 600);
    row_expect(1, 2, 0, 0);
    ledger->row[0].least = KEPT;
    cast_send(life->engine, sink, 1, 2);
    cast_send(life->engine, oldest, 0, N);
}

/* A handler sends to a full queue, and to others. */
static void handler_scene(struct life *life, enum cast_type type, uint32_t flags)
{
    struct plan plan = { .act = ACT_SEND };
    actor_ref full = full_make(life, type);
    row_expect(1, 3, 0, 0);
    row_expect(2, 3, flags, 0);
    row_expect(3, 3, 0, 0);
    plan_out(&plan, full, 2);
    plan_out(&plan, sink_make(life, 2), 3);
    actor_ref relay = relay_make(life, 1, &plan);
    life_quiesce(life);
    cast_send(life->engine, full, 0, FULL);
    cast_send(life->engine, relay, 1, 3);
}

static void setup_newest(struct life *life)
{
    handler_scene(life, CAST_NEWEST, ROW_MAY_SKIP | ROW_PREFIX);
}

/* A client's records for a full queue come back, or wait, or are forgotten; behind a kill they may
 * find room. */
static void client_scene(struct life *life, enum cast_type type, uint32_t flags)
{
    ledger->client[0].generation = 1;
    life_port_add(life, 0);
    actor_ref sink = sink_make(life, 2), full = full_make(life, type);
    for (uint32_t row = 1; row <= 3; row++) {
        row_expect(row, 1, row == 2 ? 0 : flags, 0);
        client_books(0, row == 2 ? sink : full, row, 1, flags & ROW_REFUSED && row != 2);
    }
    cast_send(life->engine, full, 0, FULL);
    while (client_post(life, 0)) {
    }
}

static void setup_client_reject(struct life *life)
{
    client_scene(life, CAST_SINK, ROW_REFUSED);
}

static void setup_client_newest(struct life *life)
{
    client_scene(life, CAST_NEWEST, ROW_PREFIX);
}

static void setup_client_stall(struct life *life)
{
    client_scene(life, CAST_STALL, 0);
}

/* A user's records wait until what is there of his has been run: nobody knows yet how long it
 * takes. */
static void setup_client_slow(struct life *life)
{
    enum { N = BUDGET_SLOW_LEAST + 4 };
    ledger->client[0].generation = 1;
    ledger->client[0].user = 7;
    life_port_add(life, 0);
    row_expect(0, N, 0, 0);
    row_expect(1, N, 0, 0);
    actor_ref sink = sink_make(life, 0), other = sink_make(life, 2);
    for (uint32_t i = 0; i < N; i++) {
        client_books(0, sink, 0, 1, false);
        client_books(0, other, 1, 1, false);
    }
    while (client_post(life, 0)) {
    }
}

/* More dead letters than are kept: the last ones are dropped. */
static void setup_dead(struct life *life)
{
    enum { FIRST = 3, N = 5 };
    struct plan plan = { .act = ACT_SEND };
    row_expect(0, N, 0, 0);
    for (uint32_t row = 1; row <= PLAN_OUTS; row++) {
        row_expect(row, N, ROW_DEAD | ROW_PREFIX | ROW_MAY_SKIP, 1100);
        plan_out(&plan, actor_ref_make(400, 7), row);
    }
    actor_ref relay = relay_make(life, 1, &plan);
    life_quiesce(life);
    cast_send(life->engine, relay, 0, FIRST);
    life_quiesce(life);
    cast_send(life->engine, relay, 0, N - FIRST);
    life_run_queue(life, 1, 0);
}

const struct scene scenes_limits[] = {
    { "drop-oldest", setup_oldest, NULL, run_queue, 1, true, NULL, false },
    { "drop-newest, a handler's", setup_newest, NULL, run_queue_1, 1, true, NULL, false },
    { "drop-newest, a client's", setup_client_newest, NULL, run_port, 1, true, NULL, false },
    { "reject, a client's", setup_client_reject, NULL, run_port, 1, true, NULL, false },
    { "stall, a client's", setup_client_stall, NULL, run_port, 1, true, NULL, false },
    { "user's time, a client's", setup_client_slow, NULL, run_port, 1, true, NULL, false },
    { "dead letters, too many", setup_dead, NULL, run_queue, 1, true, NULL, false },
    { .name = NULL },
};
