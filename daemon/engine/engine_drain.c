/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting until nothing is under way, and counting what is left. */
#include "daemon/common/clock.h"
#include "daemon/engine/engine.h"

#include <stdlib.h>
#include <time.h>

#include "daemon/engine/core/core.h"
#include "daemon/engine/ports/port.h"
#include "daemon/engine/run/reconfigure.h"
#include "daemon/engine/segment/owner.h"
#include "daemon/engine/segment/queue.h"
#include "daemon/engine/signal/own_thread.h"
#include "daemon/engine/signal/wake.h"
#include "daemon/engine/stuck/hold.h"
#include "daemon/engine/timers/kept.h"
#include "daemon/engine/timers/timer_fire.h"
#include "daemon/engine/timers/timers.h"

enum { HOLD_TRIES = 10, HOLD_NS = 20 * 1000 * 1000 };

/* Not further than records can be: what somebody runs meanwhile may be written over. */
static uint64_t engine_drain_count_records(const uint8_t *base, uint64_t at, uint64_t end)
{
    uint64_t n = 0;
    for (; at < end; n++) {
        uint64_t size = envelope_record_size((const struct envelope *)(base + at));
        if (size < sizeof(struct envelope) || size > end - at)
            break;
        at += size;
    }
    return n;
}

/* `wrap`: segment_queue.wrap. */
static uint64_t engine_drain_count_batch(const uint8_t *base, uint64_t cursor, uint64_t tail,
                                         uint64_t wrap)
{
    return wrap ? engine_drain_count_records(base, cursor, wrap) +
                      engine_drain_count_records(base, 0, tail)
                : engine_drain_count_records(base, cursor, tail);
}

/* The commit record that names the queue, of a thread that is held. NULL: none does, and the
 * queue's own words say where its batch stands (segment_layout.L3); while somebody runs it, where
 * it stood when it was attached. */
static const struct segment_commit *engine_drain_find_record(struct engine *e, uint32_t id,
                                                             const bool *held)
{
    uint64_t own = load_acquire(e->sources[segment_mailbox(&e->segment, id)].own);
    if (!held || !own_is_running(own) || !held[own_worker(own)])
        return NULL;
    const struct segment_commit *record =
        segment_commit_valid(e->workers[own_worker(own)]->durable);
    return record->source == id + 1 ? record : NULL;
}

static void engine_drain_count_queue(struct engine *e, uint32_t id, const bool *held,
                                     struct engine_left *left)
{
    struct segment_queue *queue = &e->segment.queues[id];
    const struct segment_commit *record = engine_drain_find_record(e, id, held);
    queue_lock(queue, e->control->id);
    uint32_t sel = load_acquire(&queue->sel);
    unsigned active = queue_active(sel);
    const uint8_t *batch = segment_window(&e->segment, id, active ^ 1);
    left->waiting += engine_drain_count_records(segment_window(&e->segment, id, active), 0,
                                                load_acquire(&queue->len[active]));
    if (record)
        left->waiting += engine_drain_count_batch(batch, commit_cursor(record), commit_tail(record),
                                                  record->wrap);
    else if (queue_has_batch(sel))
        left->waiting += engine_drain_count_batch(batch, load_relaxed(&queue->cursor),
                                                  load_acquire(&queue->len[active ^ 1]),
                                                  load_relaxed(&queue->wrap));
    queue_unlock(queue);
}

/* What a thread that is held has committed and not carried out. Of the last run the length is
 * not stored. */
static uint64_t engine_drain_count_outbox(const struct engine *e, struct worker *w)
{
    uint64_t out = commit_out(segment_commit_valid(w->durable)), n = 0;
    for (uint64_t at = 0; at < out;) {
        const struct outbox_run *run = (const struct outbox_run *)(w->outbox.log + at);
        at += sizeof(*run);
        uint64_t rest = out - at, bytes = run->bytes * UINT64_C(8);
        if (bytes == 0 || bytes > rest)
            bytes = rest;
        if (run->destination < e->segment.n_queues)
            n += engine_drain_count_records(w->outbox.log, at, at + bytes);
        at += bytes;
    }
    return n;
}

/* A thread that is held is in a handler; its message is the first of its batch. */
static void engine_drain_count_thread(const struct engine *e, struct worker *w,
                                      struct engine_left *left)
{
    const struct segment_commit *record = segment_commit_valid(w->durable);
    if (record->source == 0 || record->source > e->segment.n_queues ||
        !load_relaxed(&w->durable->turn))
        return;
    left->waiting += engine_drain_count_outbox(e, w);
    if (commit_cursor(record) < (record->wrap ? record->wrap : commit_tail(record))) {
        left->waiting--;
        left->running++;
    }
}

static bool engine_drain_has_thread(const struct engine *e, uint32_t id)
{
    return id < engine_workers(e) ||
           (id >= e->segment.workers_max && own_thread_runs(e, id - e->segment.workers_max));
}

bool engine_is_quiet(struct engine *e)
{
    for (uint32_t i = 0; i < e->control->id; i++)
        if (load_acquire(&e->workers[i]->shown.busy))
            return false;
    for (uint32_t i = 0; i < e->segment.n_queues; i++)
        if (queue_has_work(&e->segment.queues[i]))
            return false;
    return kept_count(e) == 0;
}

static bool engine_drain_ports_are_drained(struct engine *e)
{
    for (uint32_t id = 0; id < ODEON_PORTS_MAX; id++)
        if (!port_is_drained(e, id))
            return false;
    return true;
}

static void engine_drain_pause(struct engine *e)
{
    control_waits(e);
    nanosleep(&(struct timespec){ .tv_nsec = 200 * 1000 }, NULL);
}

static uint64_t engine_drain_count_all(struct engine *e, const bool *held, struct engine_left *left)
{
    *left = (struct engine_left){ 0 };
    for (uint32_t id = 0; id < e->segment.n_queues; id++)
        engine_drain_count_queue(e, id, held, left);
    left->waiting += kept_count(e);
    for (uint32_t id = 0; id < ODEON_PORTS_MAX; id++)
        left->untaken += port_count_published(e, id);
    return left->waiting + left->untaken;
}

int engine_drain(struct engine *e, uint64_t timeout_ns, bool stop, uint64_t *ret_unreceived)
{
    uint64_t until = clock_now_ns() + timeout_ns;
    int r = 1, quiet = 0;
    /* what clients have published is accepted: take it first, for half of the time */
    if (stop && timeout_ns > 0)
        while (!engine_drain_ports_are_drained(e) && clock_now_ns() < until - timeout_ns / 2)
            engine_drain_pause(e);
    if (stop)
        store_release(&e->ports.stopped, 1);
    for (;;) {
        /* twice in a row: between two looks a message may have moved */
        quiet = engine_is_quiet(e) ? quiet + 1 : 0;
        if (quiet >= 2)
            r = 0;
        if (r == 0 || clock_now_ns() >= until)
            break;
        engine_drain_pause(e);
        if (kept_count(e) > 0) /* their members have got on: nobody else sends them now */
            timer_fire_due(e, timers_read_clocks(e));
    }
    /* published too late to be taken, or by clients that do not stop */
    if (stop && !engine_drain_ports_are_drained(e))
        r = 1;
    struct engine_left left = { 0 };
    *ret_unreceived =
        r == 0 ? 0 : engine_drain_count_all(e, NULL, &left) - (stop ? 0 : left.untaken);
    return r;
}

static bool engine_drain_has_left(struct engine *e, uint32_t id)
{
    return !engine_drain_has_thread(e, id) || load_acquire(&e->workers[id]->shown.left);
}

/* Those that run, all of them made to look behind their present message: what they store
 * themselves meanwhile may hide the time before. */
static unsigned engine_drain_nudge(struct engine *e)
{
    unsigned n = 0;
    for (uint32_t id = 0; id < e->control->id; id++) {
        struct worker *w = e->workers[id];
        if (engine_drain_has_left(e, id))
            continue;
        store_relaxed(&w->outbox.wanted, 0);
        n++;
    }
    return n;
}

/* False: it has left meanwhile, or cannot be held. One that is between two handlers leaves. */
static bool engine_drain_hold(struct engine *e, uint32_t id)
{
    for (unsigned i = 0; i < HOLD_TRIES && !engine_drain_has_left(e, id); i++) {
        control_waits(e);
        if (hold_begin(e, e->workers[id], HOLD_NS) == 0)
            return true;
        engine_drain_pause(e);
    }
    return false;
}

static void engine_drain_write_books(struct engine *e, struct engine_left *left)
{
    bool *held = calloc(e->control->id + 1, sizeof(*held));
    for (uint32_t id = 0; held && id < e->control->id; id++)
        held[id] = engine_drain_hold(e, id);
    (void)engine_drain_count_all(e, held, left);
    for (uint32_t id = 0; held && id < e->control->id; id++)
        if (held[id]) {
            engine_drain_count_thread(e, e->workers[id], left);
            hold_end(e->workers[id]);
        }
    free(held);
    store_relaxed(&e->stats->unreceived, left->running + left->waiting + left->untaken);
}

void engine_halt(struct engine *e, uint64_t timeout_ns, struct engine_left *ret_left)
{
    uint64_t until = clock_now_ns() + timeout_ns;
    reconfigure_cancel(e);
    store_relaxed(&e->stopping, 1);
    full_barrier();
    for (uint32_t id = 0; id < engine_workers(e); id++)
        wake(e->workers[id]);
    own_thread_wake_all(e);
    while (engine_drain_nudge(e) > 0 && clock_now_ns() < until) {
        own_thread_wake_all(e); /* also those that were made meanwhile */
        engine_drain_pause(e);
    }
    engine_drain_write_books(e, ret_left);
}
