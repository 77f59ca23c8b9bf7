/* SPDX-License-Identifier: Apache-2.0 */
/* More than one thread: two that meet at a queue or a port, the second standing at a chosen point;
 * an actor set aside while its handler runs; workers that run while the control thread changes
 * their number, or stops them. */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "crash.h"
#include "daemon/engine/run/worker.h"
#include "daemon/engine/segment/queue.h"
#include "daemon/engine/stuck/hold.h"
#include "daemon/engine/stuck/relieve.h"
#include "daemon/engine/stuck/set_aside.h"

static void run_queue_0(struct life *life)
{
    life_run_queue(life, 0, 0);
}

static void run_queue_2(struct life *life)
{
    life_run_queue(life, 2, 1);
}

static void run_port_0(struct life *life)
{
    life_run_port(life, 0, 0);
}

/* Relays in queues 0 and 2, run by workers 0 and 1, send to each other's queue, to a third, and, if
 * there is one, to a port. */
static void setup_two(struct life *life, actor_ref port)
{
    struct plan plan[2] = { { .act = ACT_SEND }, { .act = ACT_SEND } };
    actor_ref sink[3] = { sink_make(life, 0), sink_make(life, 2), sink_make(life, 1) }, relay[2];
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t row = 10 * i;
        for (uint32_t out = 0; out < 5; out++)
            row_expect(row + out, 2, out == 3 ? ROW_CLIENT : 0, 0);
        plan_out(&plan[i], sink[1 - i], row + 1);
        plan_out(&plan[i], sink[2], row + 2);
        if (port)
            plan_out(&plan[i], port, row + 3);
        else
            ledger->row[row + 3].end = 0;
        plan_out(&plan[i], sink[i], row + 4);
        relay[i] = relay_make(life, 2 * i, &plan[i]);
    }
    life_quiesce(life);
    for (uint32_t i = 0; i < 2; i++)
        cast_send(life->engine, relay[i], 10 * i, 2);
}

static void setup_two_queues(struct life *life)
{
    setup_two(life, 0);
}

static void setup_two_to_a_port(struct life *life)
{
    ledger->client[0].generation = 1;
    life_port_add(life, 0);
    setup_two(life, ledger->client[0].ref);
}

/* One sends to the queue that the other is about to fill from a port, directly or not. */
static void setup_port_and_sender(struct life *life)
{
    struct plan plan = { .act = ACT_SEND };
    ledger->client[0].generation = 1;
    life_port_add(life, 0);
    for (uint32_t row = 0; row <= 3; row++)
        row_expect(row, row == 3 ? 1 : 2, row == 2 ? ROW_CLIENT : 0, 0);
    actor_ref sink = sink_make(life, 0);
    plan_out(&plan, sink, 1);
    plan_out(&plan, ledger->client[0].ref, 2);
    actor_ref relay = relay_make(life, 2, &plan);
    life_quiesce(life);
    client_books(0, sink, 3, 1, false);
    while (client_post(life, 0)) {
    }
    cast_send(life->engine, relay, 0, 2);
}

/* ---- an actor set aside ---- */

static void setup_aside(struct life *life)
{
    row_expect(0, 2, 0, 0);
    row_expect(1, 2, 0, 0);
    actor_ref stuck = cast_spawn(life->engine, CAST_STUCK, 0, NULL, 0), sink = sink_make(life, 0);
    life_quiesce(life);
    ledger->actor[0] = stuck;
    for (uint32_t i = 0; i < 2; i++) {
        cast_send(life->engine, stuck, 0, 1);
        cast_send(life->engine, sink, 1, 1);
    }
}

/* Worker 0 alone runs, and is inside the handler. */
static void prepare_aside(struct life *life)
{
    struct timespec pause = { .tv_nsec = 100000 };
    hold_install();
    store_release(&cast_hold, 1);
    must("worker", worker_start(life->engine->workers[0], 0));
    while (!load_acquire(&cast_inside))
        nanosleep(&pause, NULL);
}

static void set_aside(struct life *life)
{
    const char *text;
    int r = set_aside_actor(life->engine, 0, ledger->actor[0], UINT64_C(60000000000), &text);
    if (r < 0)
        fail("aside: %s", text);
}

/* ---- ... and what comes for it afterwards ---- */

/* The process dies while the actor is set aside, with one message behind that which it has in hand:
 * from then on nobody runs it, and where it is to be run from stands in the segment alone. More
 * waits in its own queue. */
static void setup_detour(struct life *life)
{
    setup_aside(life);
    actor_ref stuck = ledger->actor[0];
    prepare_aside(life);
    set_aside(life);
    life_run_queue(life, 0, 1);
    ledger->row[0].end = 4;
    cast_send(life->engine, stuck, 0, 2);
    _exit(0);
}

/* All that was sent on has been run. */
static void prepare_back(struct life *life)
{
    const struct segment *s = &life->engine->segment;
    while (queue_has_work(&s->queues[s->aside_first]))
        life_run_queue(life, s->aside_first, 0);
}

static void run_its_queue(struct life *life)
{
    life_run_queue(life, 0, 1);
}

/* ---- a worker relieved ---- */

/* What the relay has sent is in the outbox when the handler behind it does not return. `sends`: and
 * what that one has sent, in part behind the relay's in one run. */
static void relieve_make(struct life *life, bool sends)
{
    row_expect(0, 3, 0, 0);
    row_expect(1, 1, 0, 0);
    row_expect(2, 3, 0, 0);
    row_expect(3, 3, 0, 60);
    struct plan plan = { .act = ACT_SEND };
    struct plan own = { .act = ACT_SEND };
    actor_ref far = sink_make(life, 2), near = sink_make(life, 1);
    plan_out(&plan, far, 2);
    plan_out(&plan, near, 3);
    if (sends) {
        row_expect(4, 1, 0, 60);
        row_expect(5, 1, 0, 0);
        plan_out(&own, near, 4);
        plan_out(&own, far, 5);
    }
    actor_ref relay = relay_make(life, 0, &plan),
              stuck = cast_spawn(life->engine, CAST_STUCK, 0, &own, sizeof(own));
    life_quiesce(life);
    cast_send(life->engine, relay, 0, 2);
    cast_send(life->engine, stuck, 1, 1);
    cast_send(life->engine, relay, 0, 1);
}

static void setup_relieve(struct life *life)
{
    relieve_make(life, false);
}

static void setup_relieve_sends(struct life *life)
{
    relieve_make(life, true);
}

static void relieve(struct life *life)
{
    struct worker *w = life->engine->workers[0];
    if (!relieve_is_wanted(w))
        fail("relieve: nothing has been sent");
    int r = relieve_worker(life->engine, 0, UINT64_C(60000000000));
    if (r < 0 || relieve_is_wanted(w))
        fail("relieve: %s", r < 0 ? strerror(-r) : "something is left");
}

/* ---- with all workers ---- */

enum { HOPS = 40 };

static void setup_live(struct life *life)
{
    actor_ref next = sink_make(life, 0);
    for (uint32_t i = 0; i < 4; i++) {
        struct plan plan = { .act = ACT_SEND };
        plan_out(&plan, next, i);
        row_expect(i, HOPS, 0, 40);
        next = relay_make(life, (i + 1) % 4, &plan);
    }
    row_expect(4, HOPS, 0, 40);
    life_quiesce(life);
    cast_send(life->engine, next, 4, HOPS);
}

static void prepare_live(struct life *life)
{
    engine_set_throughput(life->engine, 3);
    must("start", engine_start(life->engine));
}

static void reconfigure(struct life *life)
{
    struct engine_change change;
    const char *text;
    struct engine_config config = *engine_get_config(life->engine);
    for (uint32_t n = 1; n <= N_WORKERS; n++) {
        config.n_workers = n;
        config.stealing = n == 1 ? STEAL_SHARE : STEAL_RANDOM;
        int r = engine_reconfigure(life->engine, &config, UINT64_C(60000000000), &change, &text);
        if (r < 0)
            fail("reconfigure: %s", text);
    }
}

static void stop(struct life *life)
{
    uint64_t left;
    (void)engine_drain(life->engine, 1000000, true, &left);
    engine_stop(life->engine);
}

const struct scene scenes_threads[] = {
    { "two workers send to each other", setup_two_queues, NULL, run_queue_0, 2, true, run_queue_2,
      false },
    { "two workers send to a port", setup_two_to_a_port, NULL, run_queue_0, 2, false, run_queue_2,
      false },
    { "a port is taken from, another sends", setup_port_and_sender, NULL, run_port_0, 2, true,
      run_queue_2, false },
    { "an actor is set aside", setup_aside, prepare_aside, set_aside, 1, true, NULL, false },
    { "messages are sent on to who is set aside", setup_detour, NULL, run_its_queue, 2, true, NULL,
      false },
    { "who was set aside comes back", setup_detour, prepare_back, run_its_queue, 2, true, NULL,
      false },
    { "a worker is relieved", setup_relieve, prepare_aside, relieve, 1, true, NULL, false },
    { "a worker is relieved, its handler has sent", setup_relieve_sends, prepare_aside, relieve, 1,
      true, NULL, false },
    { "workers run, their number changes", setup_live, prepare_live, reconfigure, 2, true, NULL,
      true },
    { "workers run, and are stopped", setup_live, prepare_live, stop, 2, false, NULL, true },
    { .name = NULL },
};
