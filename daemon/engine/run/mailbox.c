/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/run/mailbox.h"

#include "daemon/engine/base/points.h"
#include "daemon/engine/base/probe.h"
#include "daemon/engine/commit/commit.h"
#include "daemon/engine/commit/outbox.h"
#include "daemon/engine/core/reclaim.h"
#include "daemon/engine/core/rota.h"
#include "daemon/engine/observe/observe.h"
#include "daemon/engine/run/turn.h"
#include "daemon/engine/send/overflow.h"
#include "daemon/engine/send/place.h"
#include "daemon/engine/signal/help.h"
#include "daemon/engine/signal/urgent.h"
#include "daemon/engine/signal/wake.h"

/* `id`: of the queue; its mailbox is the one that is run. `gulped`: the batch has been only now. */
static void mailbox_attach(struct worker *w, uint32_t mailbox, uint32_t id,
                           struct segment_queue *queue, bool gulped)
{
    struct engine *e = w->engine;
    bool urgent = id != mailbox;
    uint32_t sel = load_relaxed(&queue->sel);
    unsigned active = queue_active(sel);
    engine_check("owner.O1", load_relaxed(e->sources[mailbox].own) == own_running(w->id));
    w->batch.base = segment_window(&e->segment, id, active ^ 1);
    w->batch.cursor = load_relaxed(&queue->cursor);
    w->batch.tail = load_acquire(&queue->len[active ^ 1]); /* queue.Q2 */
    w->batch.wrap = load_relaxed(&queue->wrap);
    w->batch.ring = load_relaxed(&queue->ring);
    if (unlikely(urgent)) {
        w->batch.ring = 0;           /* closed: urgent.G5 */
    } else if (w->batch.ring == 0) { /* gulped just now, or by an executor that is no more */
        w->batch.ring =
            place_ring_bytes(w, w->batch.wrap > w->batch.tail ? w->batch.wrap : w->batch.tail);
        store_relaxed(&queue->ring, w->batch.ring);
    }
    w->batch.tail_limit = w->batch.wrap ? w->batch.cursor : w->batch.ring;
    observe_attach(w, id, active ^ 1);
    if (gulped && !e->sources[mailbox].tail_free) /* a line that appenders read */
        e->sources[mailbox].tail_free = true;
    if (!e->sources[mailbox].tail_free && load_relaxed(&queue->len[active]) > 0)
        place_close_tail(w); /* [TAIL_RESUMED] */
    w->turn.gives_way =
        &e->urgent[e->segment.n_mailboxes]; /* nobody's: at least one message is run */
    w->turn.gives_way_to = urgent ? w->turn.gives_way : &e->urgent[mailbox];
    w->batch.queue = mailbox;
    w->turn.key_live = actor_key(0, mailbox, 0, ACTOR_LIVE);
    w->batch.source = id + 1;
    commit_flip(w, w->batch.source, w->batch.cursor, w->batch.tail, 0, 0, 0);
}

static uint64_t mailbox_count_records(const uint8_t *batch, uint64_t cursor, uint64_t tail,
                                      uint64_t wrap)
{
    uint64_t n = 0;
    for (uint64_t end = wrap ? wrap : tail; cursor < end; n++)
        cursor += envelope_record_size((const struct envelope *)(batch + cursor));
    return wrap ? n + mailbox_count_records(batch, 0, tail, 0) : n;
}

static void mailbox_detach(struct worker *w, struct segment_queue *queue, bool done)
{
    /* before own goes idle: the next runner's sends must not overtake ours [REL_FLUSH] */
    STEP(release_flush, turn_flush(w));
    if (unlikely(w->batch.ring == 0) && w->engine->sources[w->batch.queue].tail_free)
        /* [TAIL_FORGOT] */
        w->engine->sources[w->batch.queue].tail_free = false;
    POINT(release, w);
    observe_detach(w, done);
    if (done) {
        queue_release_batch(queue);
        queue_blank(w->batch.base);
    } else {
        queue_park_batch(queue, w->batch.cursor, w->batch.tail, w->batch.wrap);
    }
    w->batch.source = 0;
    w->batch.queue = NO_QUEUE;
    w->batch.wrap = 0;
    commit_flip(w, 0, 0, 0, 0, 0, 0);
    if (!done)
        POINT(parked);
}

/* Of a batch that has been parked: is little left of it, so that its end costs next to nothing? */
static bool mailbox_is_short(const struct segment_queue *queue)
{
    uint64_t tail = load_relaxed(&queue->len[queue_active(load_relaxed(&queue->sel)) ^ 1]),
             wrap = load_relaxed(&queue->wrap);
    return tail + wrap - load_relaxed(&queue->cursor) <= PLACE_SHORT_BYTES;
}

/* place.U6.  A run of the ordinary lane has ended; `full`: by its limit. */
static void mailbox_note_waiting(struct worker *w, struct source *source,
                                 const struct segment_queue *queue, bool done, bool full)
{
    if (!done && load_relaxed(&queue->len[queue_active(load_relaxed(&queue->sel))]) > 0) {
        if (w->pace.over || ++source->waited >= PLACE_WAITS || (full && mailbox_is_short(queue)))
            STEP(waits_bound, source->tail_free = false);
    } else if (source->waited) { /* a line that appenders read */
        source->waited = 0;
    }
}

static void mailbox_release(struct worker *w, uint32_t id, bool left)
{
    if (source_release(w, id, source_goes_to(w, id), left) &&
        urgent_mailbox_has_work(w->engine, id))
        source_hand_back(w->engine, w, id); /* [VISIT_RECHECK] */
}

/* What a run of a mailbox has come to. */
struct mailbox_visit {
    uint32_t id; /* of the mailbox: another one behind a message that has been set aside */
    uint64_t n;  /* messages, so far */
    bool left;   /* in its ordinary queue */
    bool cut;    /* a batch, by a limit of runs */
};

/* The ordinary lane, at most `limit` messages. */
static void mailbox_run_ordinary(struct worker *w, struct mailbox_visit *run, bool stolen,
                                 uint64_t limit)
{
    struct engine *e = w->engine;
    uint32_t id = run->id;
    struct segment_queue *queue = &e->segment.queues[id];
    uint32_t sel = load_relaxed(&queue->sel);
    bool gulped = !queue_has_batch(sel);
    run->left = false;
    run->cut = false;
    if (gulped && load_acquire(&queue->len[queue_active(sel)]) == 0) {
        POINT(bit_looked, w, id);
        if (unlikely(budget_is_pressed(e)))
            overflow_freed(w, reclaim_idle(w, id));
        return;
    }
    if (gulped) {
        queue_gulp(queue, w->id);
        PROBE(gulp, w->id, id);
        store_relaxed(&queue->ring, 0);
        POINT(bit_looked, w, id);
    }
    mailbox_attach(w, id, id, queue, gulped);
    overflow_attached(w, id, gulped);
    if (stolen)
        stat_add(
            w, STAT_messages_stolen,
            mailbox_count_records(w->batch.base, w->batch.cursor, w->batch.tail, w->batch.wrap));
    uint64_t appended = load_relaxed(&w->stats->value[STAT_tail_appends]);
    uint64_t n = turn_run_batch(w, limit);
    run->n += n;
    appended = load_relaxed(&w->stats->value[STAT_tail_appends]) - appended;
    /* it has been set aside with one message (set_aside.h): this is the queue of that */
    if (unlikely(w->batch.queue != id)) {
        run->id = id = w->batch.queue;
        queue = &e->segment.queues[id];
        outbox_open_short_way(w); /* closed by who set it aside */
    }
    stat_add(w, STAT_gulps, gulped);
    /* over the life of the batch: all that it held less what was appended */
    stat_add(w, STAT_gulped_messages, n - appended);
    bool done = w->batch.cursor == w->batch.tail && w->batch.wrap == 0;
    bool full = n >= limit;
    /* what a slice, a turn or an urgent message ends is no matter of the setting */
    if (!done && full)
        stat_add(w, STAT_batches_parked, 1);
    mailbox_detach(w, queue, done);
    mailbox_note_waiting(w, &e->sources[id], queue, done, full);
    overflow_freed(w, reclaim_after_run(w, id, queue, done));
    w->loop.ran = id;
    w->loop.ran_next = segment_window(&e->segment, id, queue_active(load_relaxed(&queue->sel)));
    run->cut = !done;
    run->left = !done || load_relaxed(&queue->len[queue_active(load_relaxed(&queue->sel))]) > 0;
}

/* The urgent lane, if there is anything in it. True: its slice ended before its batch did
 * (urgent.G3). */
static bool mailbox_run_urgent(struct worker *w, struct mailbox_visit *run, uint64_t limit)
{
    struct engine *e = w->engine;
    uint32_t mailbox = run->id, id = segment_urgent_queue(&e->segment, mailbox);
    struct segment_queue *queue = &e->segment.queues[id];
    store_relaxed(&e->urgent[mailbox], 0); /* before the gulp: urgent.G1 */
    full_barrier();
    if (!queue_has_batch(load_relaxed(&queue->sel))) {
        if (load_acquire(&queue->len[queue_active(load_relaxed(&queue->sel))]) == 0)
            return false;
        queue_gulp(queue, w->id);
        /* how far it was touched */
        store_relaxed(&queue->ring,
                      load_relaxed(&queue->len[queue_active(load_relaxed(&queue->sel)) ^ 1]));
    }
    mailbox_attach(w, mailbox, id, queue, false);
    uint64_t n = turn_run_batch(w, limit);
    run->n += n;
    stat_add(w, STAT_urgent_messages, n);
    bool done = w->batch.cursor == w->batch.tail;
    mailbox_detach(w, queue, done);
    overflow_freed(w, reclaim_after_run(w, id, queue, done));
    if (VALUE(urgent_left, queue_has_work(queue), done))
        store_relaxed(&e->urgent[mailbox], 1); /* urgent.G2 */
    help_mid_look(w, mailbox); /* the ordinary message that comes next may take long */
    run->cut = !done && w->pace.over;
    return run->cut;
}

/* The urgent lane, and once more what turns of it have taken back from their stash, before any
 * ordinary message (stash.ST2). True: as mailbox_run_urgent(). */
static bool mailbox_run_urgents(struct worker *w, struct mailbox_visit *run, uint64_t limit)
{
    do {
        w->loop.unstashed = false;
        if (mailbox_run_urgent(w, run, limit))
            return true;
    } while (unlikely(w->loop.unstashed) && urgent_waits(w->engine, run->id) && run->n < limit);
    return false;
}

void mailbox_run(struct worker *w, uint32_t id, bool stolen)
{
    struct engine *e = w->engine;
    uint64_t limit = load_relaxed(&e->throughput);
    struct mailbox_visit run = { .id = id };
    do {
        if (unlikely(urgent_waits(e, run.id)) && mailbox_run_urgents(w, &run, limit))
            break;
        mailbox_run_ordinary(w, &run, stolen, run.n < limit ? limit - run.n : 1);
        stolen = false;
    } while (unlikely(urgent_waits(e, run.id)) && run.n < limit && !worker_wants_halt(w));
    run.left = run.left || urgent_waits(e, run.id);
    uint32_t used = run.n > 0 ? rota_used(w) : 0;
    bool full = run.cut && !w->pace.over; /* by the number of its messages */
    rota_note(w, run.id, run.left, full, used);
    STEP(mailbox_release, mailbox_release(w, run.id, run.left));
    POINT(mailbox_over, w, run.id, run.left);
}
