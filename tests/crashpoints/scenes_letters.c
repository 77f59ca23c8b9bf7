/* SPDX-License-Identifier: Apache-2.0 */
/* Dead letters that people list, replay and purge; an actor with a thread of its own, whose turns
 * are run here in that thread's name; queues that others run and hand back, or take from the common
 * mask. */
#include "crash.h"
#include "daemon/engine/run/mailbox.h"
#include "daemon/engine/run/steal.h"
#include "daemon/engine/run/worker.h"
#include "daemon/engine/segment/owner.h"
#include "daemon/engine/segment/queue.h"
#include "daemon/engine/signal/wake.h"

/* ---- dead letters ---- */

enum { N_ITEMS = 2, REPLAYED = 1, PURGED, KEPT, N_KINDS = KEPT };

static actor_ref nobody(uint32_t row)
{
    return actor_ref_make(400 + row, 7);
}

/* A relay's items for three actors that do not exist. */
static void setup_letters(struct life *life)
{
    struct plan plan = { .act = ACT_SEND };
    row_expect(0, 2 * N_ITEMS, 0, 0);
    for (uint32_t row = REPLAYED; row <= N_KINDS; row++) {
        row_expect(row, 2 * N_ITEMS, ROW_DEAD | (row == PURGED ? ROW_PREFIX | ROW_WHOLE : 0),
                   row == KEPT ? 200 : 0);
        plan_out(&plan, nobody(row), row);
    }
    ledger->actor[1] = sink_make(life, 2);
    ledger->actor[0] = relay_make(life, 1, &plan);
    life_quiesce(life);
    cast_send(life->engine, ledger->actor[0], 0, N_ITEMS);
    life_quiesce(life);
    cast_send(life->engine, ledger->actor[0], 0, N_ITEMS);
    life_quiesce(life);
}

static size_t letters_for(struct life *life, uint32_t row, uint64_t *ids)
{
    struct engine_dead_letter letter[N_KINDS * 2 * N_ITEMS];
    bool more;
    size_t n = engine_dead_letters_list(life->engine, 0, letter, sizeof(letter) / sizeof(letter[0]),
                                        &more),
           found = 0;
    for (size_t i = 0; i < n; i++)
        if (letter[i].to == nobody(row))
            ids[found++] = letter[i].id;
    if (more || found == 0)
        fail("%zu dead letters, %zu of row %u%s", n, found, row, more ? ", and more" : "");
    return found;
}

/* Two sweeps, so that the buffers change places and back. */
static void sweep(struct life *life)
{
    struct engine_dead_letters_done done;
    uint64_t ids[N_KINDS * 2 * N_ITEMS];
    size_t n = letters_for(life, REPLAYED, ids);
    engine_dead_letters_replay(life->engine, ids, n, ledger->actor[1], &done);
    if (done.done != n)
        fail("%llu of %zu letters are replayed", (unsigned long long)done.done, n);
    n = letters_for(life, PURGED, ids);
    engine_dead_letters_purge(life->engine, ids, n, &done);
}

/* ---- with a thread of its own ---- */

static void setup_detached(struct life *life)
{
    struct plan plan = { .act = ACT_SEND, .stop_at = 3 };
    row_expect(0, 4, ROW_DEAD, 0);
    row_expect(1, 3, 0, 0);
    row_expect(2, 3, 0, 100);
    plan_out(&plan, sink_make(life, 0), 1);
    plan_out(&plan, sink_make(life, 3), 2);
    struct engine_spawn spawn = { .placement = PLACE_DETACHED,
                                  .args = &plan,
                                  .args_size = sizeof(plan) };
    must("spawn",
         engine_actor_spawn_placed(life->engine, cast_type[CAST_RELAY], &spawn, &ledger->actor[0]));
    life_quiesce(life);
    cast_send(life->engine, ledger->actor[0], 0, 4);
}

static void run_detached(struct life *life)
{
    const struct segment *s = &life->engine->segment;
    life_run_queue(life, s->detached_first, s->workers_max);
}

/* ---- visits, and the common mask ---- */

static void setup_visit(struct life *life)
{
    struct plan plan = { .act = ACT_SEND };
    row_expect(0, 5, 0, 0);
    row_expect(1, 5, 0, 0);
    row_expect(2, 5, 0, 60);
    plan_out(&plan, sink_make(life, 0), 1);
    plan_out(&plan, sink_make(life, 2), 2);
    actor_ref relay = relay_make(life, 0, &plan);
    life_quiesce(life);
    cast_send(life->engine, relay, 0, 5);
}

static void prepare_visit(struct life *life)
{
    steal_set(life->engine, STEAL_LONGEST_VICTIM, STEAL_VISIT, 1);
    engine_set_throughput(life->engine, 2);
}

/* Worker 1 is the guest; the batch that it leaves is at home again, and so is one that it has
 * finished. */
static void visit(struct life *life)
{
    life_run_queue(life, 0, 1);
    life_run_queue(life, 0, 0);
    life_run_queue(life, 0, 1);
    life_run_queue(life, 2, 0);
}

static void prepare_share(struct life *life)
{
    steal_set(life->engine, STEAL_SHARE, STEAL_KEEP, 1);
    engine_set_throughput(life->engine, 2);
}

/* What is in the common mask is run by the two by turns. */
static void share(struct life *life)
{
    struct engine *e = life->engine;
    life_run_queue(life, 0, 1);
    for (uint32_t turns = 0; turns < 3; turns++)
        for (uint32_t source = 0; source < e->segment.n_mailboxes; source++) {
            uint64_t own = load_relaxed(e->sources[source].own);
            if (ready_clear(e->steal.common, source) &&
                owner_take(&e->sources[source], own_worker(own), turns % N_WORKERS))
                mailbox_run(e->workers[turns % N_WORKERS], source, false);
        }
}

const struct scene scenes_letters[] = {
    { "dead letters are replayed and purged", setup_letters, NULL, sweep, 0, true, NULL, false },
    { "a detached actor", setup_detached, NULL, run_detached, 1, true, NULL, false },
    { "a visit", setup_visit, prepare_visit, visit, 1, true, NULL, false },
    { "the common mask", setup_visit, prepare_share, share, 1, true, NULL, false },
    { .name = NULL },
};
