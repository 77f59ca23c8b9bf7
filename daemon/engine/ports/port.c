/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/ports/port.h"

#include <assert.h>
#include <errno.h>

#include "daemon/common/port_pipe.h"
#include "daemon/engine/actors/actors.h"
#include "daemon/engine/base/client_load.h"
#include "daemon/engine/base/futex.h"
#include "daemon/engine/base/points.h"
#include "daemon/engine/commit/commit.h"
#include "daemon/engine/commit/outbox.h"
#include "daemon/engine/core/budget.h"
#include "daemon/engine/core/events.h"
#include "daemon/engine/core/masks.h"
#include "daemon/engine/core/reclaim.h"
#include "daemon/engine/core/rota.h"
#include "daemon/engine/observe/observe.h"
#include "daemon/engine/ports/drain.h"
#include "daemon/engine/ports/port_later.h"
#include "daemon/engine/ports/port_rate.h"
#include "daemon/engine/ports/port_record.h"
#include "daemon/engine/send/deliver.h"
#include "daemon/engine/send/detour.h"
#include "daemon/engine/send/flush.h"
#include "daemon/engine/send/overflow.h"
#include "daemon/engine/signal/loud.h"
#include "daemon/engine/signal/urgent.h"
#include "daemon/engine/signal/wake.h"
#include "daemon/engine/timers/timers.h"

enum {
    PORT_BATCH_RECORDS = 1024,
    /* a record of so many may be taken directly: one is, several are worth a flush */
    DIRECT_BYTES = 1024,
};
static_assert(ODEON_RING_MIN >= 2 * DIRECT_BYTES + ENVELOPE_SIZE_MAX, "port.R5");

/* Its next record waits for room in a queue, or for its user's quota. */
static bool port_waits(const struct port *port)
{
    return load_relaxed(&port->stalled_on) != 0 || load_relaxed(&port->spent) != 0;
}

bool port_has_work(struct engine *e, uint32_t id)
{
    struct port *port = &e->ports.table[id];
    if (load_acquire(&port->state) != PORT_OPEN)
        return false;
    bool waits = port_waits(port);
    if (load_relaxed(&port->closing) && !waits)
        return true;
    if (load_relaxed(&port->executor_words->backlog) &&
        load_relaxed(&port->client_words->delivery_head) != load_relaxed(&port->delivery_head))
        return true;
    return !waits && port_published_tail(port) != load_relaxed(&e->segment.ports[id].pcur) &&
           !load_relaxed(&e->ports.stopped);
}

bool port_is_drained(struct engine *e, uint32_t id)
{
    struct port *port = &e->ports.table[id];
    return load_acquire(&port->state) != PORT_OPEN ||
           port_published_tail(port) == load_relaxed(&e->segment.ports[id].pcur);
}

uint64_t port_count_published(struct engine *e, uint32_t id)
{
    struct port *port = &e->ports.table[id];
    if (load_acquire(&port->state) != PORT_OPEN)
        return 0;
    uint64_t head = load_relaxed(&e->segment.ports[id].pcur), tail = port_published_tail(port),
             n = 0;
    while (tail - head <= port->submission_bytes && head != tail) {
        struct envelope h = port_record_fetch(port_record_at(port, head));
        if (port_record_check(e, &h, tail - head) != PORT_OK)
            break;
        head += envelope_record_size(&h);
        n++;
    }
    return n;
}

/* Of a record that its receiver would take, and that will take some time: is it more than may wait
 * for its user? */
static __attribute__((noinline)) enum overflow_verdict
port_decide_time(struct worker *w, actor_ref to, uint16_t message_type, uint32_t destination,
                 struct budget_time time)
{
    if (!budget_is_slow(w->engine, w->flush.timed, destination, w->flush.pending_ns, time.ns)) {
        w->flush.pending_ns += time.ns;
        return OVERFLOW_TAKE;
    }
    if (w->flush.pending_ns > 0) /* for other queues, perhaps */
        return OVERFLOW_AGAIN;
    enum overflow_verdict verdict = OVERFLOW_STALL;
    if (!time.is_guessed) /* nobody is turned away by a guess: it is known soon */
        verdict = overflow_decide_budget(w, to, message_type, destination, TURNED_AWAY_BY_TIME);
    if (verdict == OVERFLOW_STALL)
        w->flush.over_ns = time.ns;
    return verdict;
}

/* Of a record that its receiver would take. `urgent`: its size, 0 if it is not. */
static inline enum overflow_verdict port_decide(struct worker *w, const struct envelope *h,
                                                uint64_t key, uint32_t destination, uint64_t urgent,
                                                uint64_t size, enum envelope_reason *ret_reason)
{
    const struct engine *e = w->engine;
    enum overflow_verdict verdict = OVERFLOW_TAKE;
    if (unlikely(actor_key_kind(key) == ACTOR_ASIDE) && detour_is_full(e, h->to)) {
        stat_add(w, STAT_refused_full, 1);
        *ret_reason = REASON_QUEUE_FULL;
        return OVERFLOW_REFUSE;
    }
    if (unlikely(w->outbox.length + size > w->flush.left)) {
        bool all = w->outbox.length + size > budget_left(e, 0);
        verdict = overflow_decide_budget(w, h->to, h->type, destination, TURNED_AWAY_BY_MEMORY);
        if (verdict == OVERFLOW_REFUSE)
            *ret_reason = all ? REASON_MEMORY_FULL : REASON_USER_FULL;
    } else if (unlikely(urgent ? !outbox_urgent_fits(w, destination, urgent)
                               : !outbox_look_for_room(w, destination))) {
        verdict = overflow_decide(w, h->to, h->type, destination);
        if (verdict == OVERFLOW_REFUSE)
            *ret_reason = REASON_QUEUE_FULL;
    }
    return verdict;
}

/* False: there is room by now. */
static bool port_stall(struct worker *w, uint32_t id, uint32_t destination, uint64_t size)
{
    uint64_t ns = w->flush.over_ns;
    bool waits = ns || w->outbox.length + size > w->flush.left
                     ? overflow_stall_for_budget(w, id, destination, size, ns)
                     : overflow_stall(w, id, destination);
    w->flush.over_ns = 0;
    w->flush.pending_ns += waits ? 0 : ns;
    return waits;
}

static void port_commit(struct worker *w)
{
    POINT(port);
    commit_flip(w, w->batch.source, w->batch.cursor, w->batch.tail, w->outbox.length, 0, 0);
    POINT(outbox);
    flush_from(w, 1);
    commit_flip(w, w->batch.source, w->batch.cursor, w->batch.tail, 0, 0, 0);
    outbox_reset(w);
    w->flush.left = budget_left(w->engine, w->flush.account);
    w->flush.pending_ns = 0;
}

/* One record from the ring into the outbox, unless its receiver's queue is full and it waits here:
 * then there is no more of the batch. What its receiver makes of it is found out when it is run.
 * `h`: the copy of its header. `timed`: its user's time is bound. */
static inline __attribute__((always_inline)) enum port_broken
port_route(struct worker *w, uint32_t id, struct port *port, const struct envelope *h, bool timed)
{
    struct engine *e = w->engine;
    const uint8_t *at = port_record_at(port, w->batch.cursor);
    enum port_broken why = port_record_check(e, h, w->batch.tail - w->batch.cursor);
    if (why != PORT_OK)
        return why;
    if (unlikely(h->prefix & PREFIX_AFTER))
        return port_later_route(w, id, port, h);
    uint64_t size = envelope_record_size(h);
    uint64_t key = port_record_key(e, h->to);
    uint32_t destination = actor_key_destination(key);
    enum envelope_reason reason = port_record_reason(e, port, h, key);
    bool urgent = unlikely(h->flags & ENVELOPE_URGENT) && reason == REASON_NONE;
    if (urgent)
        destination = segment_urgent_queue(&e->segment, destination);
    enum overflow_verdict verdict = OVERFLOW_TAKE;
    if (reason == REASON_NONE) {
        verdict = port_decide(w, h, key, destination, urgent ? size : 0, size, &reason);
        struct budget_time time = { 0 };
        if (timed && verdict == OVERFLOW_TAKE)
            time = budget_time_of(e, key, h->type);
        if (timed && unlikely(time.ns))
            verdict = port_decide_time(w, h->to, h->type, destination, time);
        if (timed && unlikely(time.ns) && verdict == OVERFLOW_REFUSE)
            reason = REASON_USER_SLOW;
    } else if (h->type == MESSAGE_TYPE_PORT_DOWN || h->type == MESSAGE_TYPE_PORT_DEMONITOR) {
        return port_later_monitor(w, id, port, h);
    }
    if (timed && verdict == OVERFLOW_AGAIN) {
        port_commit(w);
        return PORT_OK;
    }
    if (unlikely(verdict == OVERFLOW_STALL) && port_stall(w, id, destination, size)) {
        w->batch.tail = w->batch.cursor;
        return PORT_OK;
    }
    w->batch.cursor += size;
    if (unlikely(verdict == OVERFLOW_DROP))
        return PORT_OK;
    if (reason != REASON_NONE) {
        port_record_refuse(w, id, h, port_record_correlation(at, h), reason);
        return PORT_OK;
    }
    port_record_copy(e, id, at, h, outbox_append(w, destination, size));
    w->outbox.sent_urgent += urgent ? size : 0;
    return PORT_OK;
}

static void port_wake_for_room(struct worker *w, struct port *port)
{
    CLIENT_LOAD(WORD, &port->client_words->room_wait);
    uint32_t wait = load_relaxed(&port->client_words->room_wait);
    if (likely(wait == port->room_woken || (wait & PORT_WAIT_KIND) == PORT_WAIT_NONE))
        return;
    port->room_woken = wait;
    deliver_wake(port, wait, &port->executor_words->room_futex);
    stat_add(w, STAT_client_wakeups, 1);
}

/* Whoever waits, for room or for a message: to look at what else has changed. */
static void port_wake_both(struct port_executor *words)
{
    atomic_fetch_add_explicit(&words->delivery_futex, 1, memory_order_release);
    atomic_fetch_add_explicit(&words->room_futex, 1, memory_order_release);
    futex_wake_shared(&words->delivery_futex);
    futex_wake_shared(&words->room_futex);
}

/* The visible head, and whoever waits for room. */
static void port_publish_head(struct worker *w, struct port *port, uint64_t head)
{
    /* seq_cst: port.R2 for the client, and the barrier of port_layout.P4 before looking at
     * room_wait */
    atomic_exchange_explicit(&port->executor_words->submission_head, head, memory_order_seq_cst);
    full_barrier_after_exchange();
    port_wake_for_room(w, port);
}

/* A single record (`h`: the copy of its header) whose receiver's queue is ours, idle and empty,
 * becomes that queue's batch at once, without outbox, lock and gulp: the queue, which the caller
 * then runs; -1: it takes the long way. Nothing of this port waits in the outbox: it is empty. */
static int64_t port_take_directly(struct worker *w, uint32_t id, struct port *port,
                                  const struct envelope *h, uint64_t head, uint64_t tail)
{
    struct engine *e = w->engine;
    if (port_record_check(e, h, tail - head) != PORT_OK || envelope_record_size(h) != tail - head ||
        VALUE(is_urgent, h->flags & ENVELOPE_URGENT) || h->prefix & PREFIX_AFTER)
        /* an urgent one would be in the ordinary lane, and the next urgent one before it */
        return -1;
    uint64_t key = port_record_key(e, h->to);
    uint32_t destination = actor_key_destination(key);
    if (port_record_reason(e, port, h, key) != REASON_NONE ||
        destination >= e->segment.n_mailboxes || rota_is_marked(w, destination) || /* rota.RO1 */
        load_relaxed(e->sources[destination].own) != own_idle(w->id) ||
        !owner_take(&e->sources[destination], w->id, w->id))
        return -1;
    struct segment_queue *queue = &e->segment.queues[destination];
    unsigned active = queue_active(load_relaxed(&queue->sel));
    /* behind the compare-and-swap [DIRECT_NONEMPTY] */
    if (queue_has_work(queue) || urgent_waits(e, destination)) {
        if (source_release(w, destination, source_goes_to(w, destination), true) &&
            urgent_mailbox_has_work(e, destination))
            source_hand_back(e, w, destination);
        return -1;
    }
    port_record_copy(e, id, port_record_at(port, head), h,
                     (struct envelope *)segment_window(&e->segment, destination, active ^ 1));
    POINT(port_direct, queue, tail - head);
    commit_direct(w, destination + 1, tail - head, id,
                  load_relaxed(&e->segment.ports[id].generation), tail);
    POINT(port);
    queue_begin_batch(queue, tail - head); /* behind the flip [DIRECT_EARLY] */
    POINT(port);
    /* before the port is given back [DIRECT_LATE] */
    store_release(&e->segment.ports[id].pcur, tail);
    crash_order();
    /* not by port_publish_head(): port.R5 */
    store_release(&port->executor_words->submission_head, tail);
    port_rate_count(port, 1);
    stat_add(w, STAT_port_batches, 1);
    stat_add(w, STAT_port_messages, 1);
    stat_add(w, STAT_messages_sent, 1);
    stat_add(w, STAT_gulps, 1);
    stat_add(w, STAT_direct_gulps, 1);
    observe_mark_direct(w, destination, active ^ 1);
    return destination;
}

/* As many records as there are, or `most`; how many were taken. `known`, `timed`: as below, and
 * above. */
static inline __attribute__((always_inline)) uint64_t
port_route_some(struct worker *w, uint32_t id, struct port *port, const struct envelope *known,
                uint64_t most, bool timed, enum port_broken *ret_why)
{
    uint64_t n = 0;
    enum port_broken why = PORT_OK;
    while (w->batch.cursor < w->batch.tail && n < most && why == PORT_OK) {
        uint64_t at = w->batch.cursor;
        struct envelope h = likely(!known) ? port_record_fetch(port_record_at(port, at)) : *known;
        known = NULL;
        why = port_route(w, id, port, &h, timed);
        n += w->batch.cursor != at;
        if (w->outbox.length >= OUTBOX_FLUSH_BYTES)
            port_commit(w);
    }
    *ret_why = why;
    return n;
}

/* Of a port whose user's time is bound: apart, since the other ones' loop has no register to
 * spare. */
static __attribute__((noinline)) uint64_t port_route_timed(struct worker *w, uint32_t id,
                                                           struct port *port,
                                                           const struct envelope *known,
                                                           uint64_t most, enum port_broken *ret_why)
{
    return port_route_some(w, id, port, known, most, true, ret_why);
}

/* A batch of the submission ring: attach, route, commit, flush, detach, and only then the visible
 * head. `known`: the copy of the first header, if it has been fetched (port.R1). *ret_used, of a
 * batch that may take long: it has used up a turn (rota.RO5). */
static enum port_broken port_ingest(struct worker *w, uint32_t id, struct port *port,
                                    const struct envelope *known, uint64_t head, uint64_t tail,
                                    uint64_t records, bool *ret_used)
{
    struct segment_port *durable = &w->engine->segment.ports[id];
    enum port_broken why = PORT_OK;
    uint64_t n, most = records < PORT_BATCH_RECORDS ? records : PORT_BATCH_RECORDS;
    bool clocked = tail - head > DIRECT_BYTES;
    uint64_t now = ticks_now();
    rota_begin(w, now);
    store_relaxed(&w->pace.looked, now); /* who takes in small batches alone is not silent */
    w->batch.cursor = head;
    w->batch.tail = tail;
    w->batch.source = segment_port_source(&w->engine->segment, id) + 1;
    w->flush.account = budget_is_accounted(w->engine) ? port->account : 0;
    w->flush.left = budget_left(w->engine, port->account);
    w->flush.timed = load_relaxed(&w->engine->budget.quota_ns) ? port->account : 0;
    w->flush.n_later = 0;
    commit_flip(w, w->batch.source, head, tail, 0, 0, 0);
    POINT(port_attached, w, port, tail);
    n = unlikely(w->flush.timed) ? port_route_timed(w, id, port, known, most, &why)
                                 : port_route_some(w, id, port, known, most, false, &why);
    port_commit(w);
    store_release(&durable->pcur, w->batch.cursor);
    crash_order();
    w->batch.source = 0;
    commit_flip(w, 0, 0, 0, 0, 0, 0);
    port_publish_head(w, port, w->batch.cursor);
    port_rate_count(port, n);
    stat_add(w, STAT_port_batches, 1);
    stat_add(w, STAT_port_messages, n);
    stat_add(w, STAT_messages_sent, n - w->flush.n_later); /* those are sent at their time */
    w->outbox.n_logged = w->outbox.n_flushed = 0;
    w->flush.account = 0;
    if (unlikely(w->flush.turned_away))
        overflow_turned_away(w, id);
    if (clocked) {
        store_relaxed(&w->pace.looked, ticks_now());
        *ret_used = rota_used(w) > 0;
    }
    return why;
}

/* The end: nobody delivers to it behind the lock, its reference is dead. The owner word becomes
 * nobody's, and stays running: no worker looks again, and bits that are left are passed on to
 * nobody. */
static void port_retire(struct worker *w, uint32_t id, struct port *port, enum port_broken why)
{
    struct engine *e = w->engine;
    struct segment_port *durable = &e->segment.ports[id];
    struct segment_queue *backlog = &e->segment.queues[segment_port_destination(&e->segment, id)];
    queue_lock(backlog, w->id);
    store_release(&port->state, PORT_DEAD);
    queue_unlock(backlog);
    if (why != PORT_OK) {
        stat_add(w, STAT_ports_broken, 1); /* before the client can know */
        store_release(&port->executor_words->broken, why);
        port_wake_both(port->executor_words);
    }
    /* what it has posted has been flushed */
    if (actors_ended(w, durable->ref, ACTOR_END_PORT, REASON_CLIENT_GONE) &&
        timers_leave(w, durable->ref))
        timers_watched_leave(w, durable->ref);
    w->ports.hot[id / 64] &= ~(UINT64_C(1) << (id % 64));
    rota_note_port(w, engine_source_of_port(e, id), false);
    /* before the control thread may give the port away again */
    store_release(e->sources[engine_source_of_port(e, id)].own, own_running(OWN_NOBODY));
    if (why != PORT_OK)
        events_push(e, ENGINE_EVENT_PORT_BROKEN, id, port->generation, why);
    events_push(e, ENGINE_EVENT_PORT_REMOVED, id, port->generation, why);
}

static void port_make_hot(struct worker *w, uint32_t id, struct port *port)
{
    uint64_t bit = UINT64_C(1) << (id % 64);
    store_relaxed(&port->idle_polls, 0);
    if (!(w->ports.hot[id / 64] & bit) || load_relaxed(&port->executor_words->need_wakeup)) {
        w->ports.hot[id / 64] |= bit;
        store_relaxed(&port->executor_words->need_wakeup, 0); /* port.R3 */
    }
}

/* Of one that is another's by now, from whom it may end at any time: a visitor that has taken a
 * record directly runs a mailbox, and keeps no port's memory (reap.RP3). */
static bool port_look_behind(struct worker *w, uint32_t id)
{
    struct engine *e = w->engine;
    struct segment_queue *backlog = &e->segment.queues[segment_port_destination(&e->segment, id)];
    STEP(visit_lock, queue_lock(backlog, w->id)); /* a barrier, too, as it happens */
    bool work = port_has_work(e, id);
    STEP(visit_lock, queue_unlock(backlog));
    return work;
}

/* Who visits a port makes it cold, and its home finds out by the bell: nobody polls it in between
 * (port.R3). `cut`: not all that was there has been taken. `used`: a turn. */
static void port_release(struct worker *w, uint32_t id, uint32_t to, bool left, bool cut, bool used)
{
    struct engine *e = w->engine;
    if (unlikely(to != w->id)) {
        w->ports.hot[id / 64] &= ~(UINT64_C(1) << (id % 64));
        store_relaxed(&e->ports.table[id].executor_words->need_wakeup, 1);
    }
    uint32_t source = engine_source_of_port(e, id);
    rota_note_port(w, source, (left && cut) || used);
    /* behind its barrier: port_layout.P4 */
    if (source_release(w, source, to, left) && port_look_behind(w, id))
        source_hand_back(e, w, source);
}

static inline void port_begin_run(struct worker *w, uint32_t id, struct port *port)
{
    struct engine *e = w->engine;
    if (unlikely(load_relaxed(&port->stalled_on)))
        store_relaxed(&port->stalled_on, 0); /* whatever it is run for: it tries again */
    if (deliver_backlog_waits(e, id))
        drain_backlog(w, id);
    else if (unlikely(budget_is_pressed(e)))
        overflow_freed(w, reclaim_idle(w, segment_port_destination(&e->segment, id)));
}

/* Behind a bell: whether it was for something.  `tail`: what the run has found. */
static __attribute__((noinline)) void
port_note_bell(struct worker *w, uint32_t id, const struct port *port, uint64_t tail, bool worked)
{
    CLIENT_LOAD(WORD, &port->client_words->delivery_head);
    loud_note_run(
        w, id,
        &(struct loud_look){ .tail = tail,
                             .head = load_relaxed(&port->client_words->delivery_head),
                             .delivered = load_relaxed(&w->engine->segment.ports[id].dtail),
                             .worked = worked });
}

int64_t port_run(struct worker *w, uint32_t id, bool may_run)
{
    struct engine *e = w->engine;
    struct port *port = &e->ports.table[id];
    uint32_t to = source_goes_to(w, engine_source_of_port(e, id));
    if (load_acquire(&port->state) != PORT_OPEN) {
        owner_release(&e->sources[engine_source_of_port(e, id)], w->id);
        return -1;
    }
    int64_t queue = -1;
    w->batch.queue = NO_QUEUE;
    port_begin_run(w, id, port);
    bool slow = load_acquire(&port->slow);
    /* before the tail: what a client published before it died is below it */
    bool closing = slow || load_acquire(&port->closing);
    uint64_t head = load_relaxed(&e->segment.ports[id].pcur), tail = port_published_tail(port);
    const uint64_t began = head;
    /* a client that goes on publishing without its connection does not keep the port */
    if (closing && !port->closing_seen) {
        port->closing_seen = true;
        port->closing_tail = tail;
    }
    if (closing)
        tail = port->closing_tail;
    enum port_broken why = (enum port_broken)load_relaxed(&port->broken);
    bool stopped = load_relaxed(&e->ports.stopped) && !closing;
    if (why == PORT_OK && (tail - head > port->submission_bytes || tail % 8))
        why = PORT_BROKEN_TAIL;
    /* port.R3 holds for the one who has it now: a thief may find nothing (the owner was quicker),
     * and
     *    its victim has gone cold since */
    if (likely(to == w->id) &&
        (load_relaxed(&port->executor_words->need_wakeup) == 0 || (tail != head && !stopped)))
        port_make_hot(w, id, port);
    bool used = false;
    uint64_t records = why == PORT_OK && tail != head && !stopped ? port_rate_left(w, id) : 0;
    if (records > 0) {
        struct envelope h;
        bool known = may_run && !closing && tail - head <= DIRECT_BYTES;
        if (known) {
            h = port_record_fetch(port_record_at(port, head));
            queue = port_take_directly(w, id, port, &h, head, tail);
        }
        if (queue < 0)
            why = port_ingest(w, id, port, known ? &h : NULL, head, tail, records, &used);
        head = queue < 0 ? w->batch.cursor : tail;
    }
    if (unlikely(load_relaxed(&port->bell.rang)))
        port_note_bell(w, id, port, tail, head != began);
    if (why != PORT_OK || (closing && head == tail)) {
        port_retire(w, id, port, why == PORT_OK && slow ? PORT_BROKEN_SLOW : why);
        return -1;
    }
    port_release(w, id, to,
                 !port_waits(port) && (closing || (head != port_published_tail(port) && !stopped)),
                 head != tail, used);
    return queue;
}

void port_publish_cursors(struct engine *e, uint32_t id)
{
    struct port *port = &e->ports.table[id];
    struct segment_port *durable = &e->segment.ports[id];
    /* [R_NOHEAD] */
    store_release(&port->executor_words->submission_head, load_relaxed(&durable->pcur));
    /* [R_NOVTAIL] */
    store_release(&port->executor_words->delivery_tail, load_relaxed(&durable->dtail));
    store_release(&port->executor_words->need_wakeup, 1);
    store_release(&port->executor_words->backlog, deliver_backlog_waits(e, id));
    store_release(&port->executor_words->epoch, (uint32_t)load_relaxed(&e->segment.header->boots));
    /* A client that slept through the change of executor looks again. */
    port_wake_both(port->executor_words);
    if (port->pipe_fd >= 0)
        port_pipe_wake(port->pipe_fd);
}
